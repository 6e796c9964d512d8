/* tests/fuzz/fuzz_json_reader.c: any bytes as JSON. */
#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_token(const struct json_token *t, const char *begin, const char *end)
{
    if (t->type == JSON_NUMBER && !isfinite(t->number))
        abort();
    if (t->text && (t->text < begin || t->text + t->len > end))
        abort();
    if (t->type != JSON_STRING && t->type != JSON_KEY)
        return;
    struct buf text = BUF_INIT;
    json_token_text(t, &text);
    if (text.len > t->len)
        abort();
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_reader r;
    struct json_token t;
    const char *text = (const char *) data;
    json_reader_init(&r, text, size);
    while (json_next(&r, &t) == 0 && t.type != JSON_END)
        check_token(&t, text, text + size);
    if (r.pos > size || r.depth > 64)
        abort();
    json_reader_init(&r, text, size);
    json_skip(&r);
    return r.pos > size ? abort(), 0 : 0;
}

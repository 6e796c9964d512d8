/* tests/fuzz/fuzz_status_row.c: any bytes as a program's terminal output; the first byte is the
 * size of the pieces. */
#include "launch/relay.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct status_row *a, const struct status_row *b)
{
    return a->state == b->state && a->follow == b->follow && a->mid_line == b->mid_line &&
           a->other_screen == b->other_screen && a->saved_cursor == b->saved_cursor &&
           a->own_region == b->own_region && a->held == b->held &&
           a->sequence_len == b->sequence_len &&
           memcmp(a->sequence, b->sequence, a->sequence_len) == 0;
}

static struct status_row new_row(void)
{
    return (struct status_row){.size = {.ws_row = 24, .ws_col = 80}, .line = "status"};
}

/* A drawing has no NUL, and whatever draws something holds the row. */
static void check_drawing(struct status_row *s)
{
    struct buf out = BUF_INIT;
    if (status_row_is_between(s))
        status_row_draw(s, &out);
    if (strlen(buf_text(&out)) != out.len || (out.len > 0 && !s->held))
        abort();
    buf_clear(&out);
    status_row_drop(s, &out);
    if (s->held)
        abort();
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct status_row whole = new_row(), pieces = new_row(), without = new_row();
    size_t piece = size > 0 && data[0] ? data[0] : 1;
    if (size > 1)
        status_row_feed(&whole, (const char *) data + 1, size - 1);
    for (size_t at = 1; at < size; at += piece)
        status_row_feed(&pieces, (const char *) data + at, size - at < piece ? size - at : piece);
    for (size_t at = 1; at < size; at++)
        if (data[at] != 0)
            status_row_feed(&without, (const char *) data + at, 1);
    if (!is_same(&whole, &pieces) || !is_same(&whole, &without))
        abort();
    if (whole.sequence_len > sizeof(whole.sequence) || whole.follow > 3)
        abort();
    check_drawing(&pieces);
    /* After a terminal reset the row can be drawn again, whatever the program wrote. */
    status_row_feed(&whole, "\033c", 2);
    if (!status_row_is_between(&whole))
        abort();
    return 0;
}

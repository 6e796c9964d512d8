/* symbol/answer.c: what the reader of a file answers, as bytes. */
#include "symbol/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static uint8_t *put(uint8_t *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    to[length] = '\0';
    return to + length + 1;
}

bool answer_write(struct answer_writer *w, size_t index, const struct symbol_frame *f)
{
    size_t function = strnlen(f->function, ANSWER_MOST_FUNCTION);
    size_t file = strnlen(f->file, ANSWER_MOST_FILE);
    const struct answer_record r = {
        .index = (uint32_t) index,
        .line = f->line,
        .function_length = (uint16_t) function,
        .file_length = (uint16_t) file,
        .is_inlined = f->is_inlined,
    };
    size_t length = sizeof r + function + 1 + file + 1;
    if (length > w->size - w->used)
        return false;
    memcpy(w->bytes + w->used, &r, sizeof r);
    put(put(w->bytes + w->used + sizeof r, f->function, function), f->file, file);
    w->used += length;
    return true;
}

/* ---- parsing ---- */

struct parser {
    const uint8_t *at;
    size_t left;
};

static const char *next_text(struct parser *p, size_t length)
{
    const char *text = (const char *) p->at;
    if (length >= p->left || memchr(text, '\0', length + 1) != text + length)
        return NULL;
    p->at += length + 1;
    p->left -= length + 1;
    return text;
}

/* 1: a record, whose texts are in the bytes; 0: the end; -EPROTO. */
static int next_record(struct parser *p, struct answer_record *ret, struct symbol_frame *ret_frame)
{
    struct answer_record r;
    if (p->left == 0)
        return 0;
    if (p->left < sizeof r)
        return -EPROTO;
    memcpy(&r, p->at, sizeof r);
    p->at += sizeof r;
    p->left -= sizeof r;
    const char *function = next_text(p, r.function_length);
    const char *file = function ? next_text(p, r.file_length) : NULL;
    if (!file || r.line < 0 || r.function_length > ANSWER_MOST_FUNCTION ||
        r.file_length > ANSWER_MOST_FILE)
        return -EPROTO;
    *ret = r;
    *ret_frame = (struct symbol_frame){function, file, r.line, r.is_inlined != 0};
    return 1;
}

/* The number of records. */
static int check(struct parser p, size_t count, size_t *ret)
{
    struct answer_record r;
    struct symbol_frame f;
    size_t records = 0, last = 0;
    int more;
    for (; (more = next_record(&p, &r, &f)) > 0; records++) {
        if (r.index >= count || r.index < last)
            return -EPROTO;
        last = r.index;
    }
    if (more == 0)
        *ret = records;
    return more;
}

static const char *keep(struct buf *b, const char *text)
{
    size_t at = b->len;
    utf8_add_clean(b, text, false);
    buf_addc(b, '\0');
    return b->text + at;
}

/* Cleaned texts are not longer: with room for all bytes, the buffer never moves. */
static void fill(struct parser p, struct answer *a)
{
    struct answer_record r;
    struct symbol_frame f;
    buf_repeat(&a->text, " ", p.left);
    buf_clear(&a->text);
    for (size_t n = 0; next_record(&p, &r, &f) > 0; n++) {
        struct answer_entry *e = &a->entries[r.index];
        if (e->count++ == 0)
            e->first = n;
        a->frames[n] = (struct symbol_frame){keep(&a->text, f.function), keep(&a->text, f.file),
                                             f.line, f.is_inlined};
    }
}

int answer_parse(const void *bytes, size_t size, size_t count, struct answer *ret)
{
    const struct parser p = {bytes, size};
    struct answer a = {.text = BUF_INIT};
    int r = check(p, count, &a.frame_count);
    if (r < 0)
        return r;
    a.entries = calloc(count + 1, sizeof *a.entries);
    a.frames = calloc(a.frame_count + 1, sizeof *a.frames);
    if (!a.entries || !a.frames) {
        answer_release(&a);
        return -ENOMEM;
    }
    fill(p, &a);
    *ret = a;
    return 0;
}

void answer_release(struct answer *a)
{
    free(a->entries);
    free(a->frames);
    buf_release(&a->text);
    *a = (struct answer){.text = BUF_INIT};
}

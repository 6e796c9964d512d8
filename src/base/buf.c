/* base/buf.c: a growable string. */
#include "base/buf.h"

#include "base/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void buf_reserve(struct buf *b, size_t more)
{
    if (b->cap - b->len > more)
        return;
    size_t cap = b->cap ? b->cap * 2 : 128;
    while (cap - b->len <= more)
        cap *= 2;
    char *text = realloc(b->text, cap);
    if (!text)
        base_out_of_memory();
    b->text = text;
    b->cap = cap;
}

void buf_release(struct buf *b)
{
    free(b->text);
    *b = BUF_INIT;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->text)
        b->text[0] = '\0';
}

const char *buf_text(const struct buf *b)
{
    return b->text ? b->text : "";
}

void buf_add(struct buf *b, const char *text, size_t len)
{
    buf_reserve(b, len);
    if (len > 0)
        memcpy(b->text + b->len, text, len);
    b->len += len;
    b->text[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_addc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vaddf(b, format, args);
    va_end(args);
}

void buf_vaddf(struct buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0)
        abort(); /* a format of ours is wrong */
    buf_reserve(b, (size_t) len);
    vsnprintf(b->text + b->len, (size_t) len + 1, format, args);
    b->len += (size_t) len;
}

void buf_repeat(struct buf *b, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buf_adds(b, text);
}

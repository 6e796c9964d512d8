/* base/lines.c: a stream of bytes as lines, in bounded memory. */
#include "base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_CHUNK ((size_t) 64 << 10)

/* text[begin, end) is not yet returned; its bytes before `scanned` hold no line end. */
struct lines {
    int fd;
    char *text;
    size_t capacity; /* one byte more is allocated, for the NUL */
    size_t begin, scanned, end;
    uint64_t number;   /* of the line being read */
    bool at_start;     /* nothing returned yet: a byte-order mark may come */
    bool after_return; /* a \n now belongs to the \r before it */
    bool passing_over; /* skipping the rest of a truncated line */
};

int lines_new(int fd, struct lines **ret)
{
    struct lines *l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->text = malloc(LINES_CHUNK + 1);
    if (!l->text) {
        free(l);
        return -ENOMEM;
    }
    l->fd = fd;
    l->capacity = LINES_CHUNK;
    l->number = 1;
    l->at_start = true;
    *ret = l;
    return 0;
}

struct lines *lines_free(struct lines *l)
{
    if (l)
        free(l->text);
    free(l);
    return NULL;
}

/* Room for another read. The line is shorter than LINES_MAX_BYTES here. -ENOMEM. */
static int make_room(struct lines *l)
{
    if (l->begin > 0) {
        memmove(l->text, l->text + l->begin, l->end - l->begin);
        l->scanned -= l->begin;
        l->end -= l->begin;
        l->begin = 0;
    }
    if (l->end < l->capacity)
        return 0;
    size_t capacity = l->capacity * 2 < LINES_MAX_BYTES ? l->capacity * 2 : LINES_MAX_BYTES;
    char *text = realloc(l->text, capacity + 1);
    if (!text)
        return -ENOMEM;
    l->text = text;
    l->capacity = capacity;
    return 0;
}

/* Bytes read, 0 at the end of the stream, or -errno. */
static ssize_t fill(struct lines *l)
{
    int r = make_room(l);
    if (r < 0)
        return r;
    /* Small reads limit what make_room() must move, even after one very long line. */
    size_t room = l->capacity - l->end;
    ssize_t n;
    do {
        n = read(l->fd, l->text + l->end, room < LINES_CHUNK ? room : LINES_CHUNK);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    l->end += (size_t) n;
    return n;
}

static bool find_line_end(struct lines *l)
{
    const char *p = l->text + l->scanned, *end = l->text + l->end;
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    l->scanned = (size_t) (p - l->text);
    return p < end;
}

static void give(struct lines *l, size_t end, struct line *ret)
{
    if (l->at_start && end - l->begin >= 3 && memcmp(l->text + l->begin, "\xef\xbb\xbf", 3) == 0)
        l->begin += 3;
    l->at_start = false;
    size_t len = end - l->begin;
    *ret = (struct line){
        .text = l->text + l->begin,
        .len = len,
        .number = l->number,
        .has_nul = memchr(l->text + l->begin, '\0', len) != NULL,
    };
}

/* Takes the line that ends at `scanned`, which is a line end. False: nothing to return. */
static bool take(struct lines *l, struct line *ret)
{
    char c = l->text[l->scanned];
    bool empty_tail = l->scanned == l->begin && c == '\n' && l->after_return;
    bool given = !empty_tail && !l->passing_over;
    if (given) {
        give(l, l->scanned, ret);
        ret->complete = true;
    }
    l->text[l->scanned] = '\0';
    l->scanned++;
    l->begin = l->scanned;
    l->number += c == '\n';
    l->after_return = c == '\r';
    l->passing_over = false;
    return given;
}

static bool is_full(const struct lines *l)
{
    return l->end - l->begin >= LINES_MAX_BYTES;
}

/* The line has reached its limit: returns what was read of it. */
static void cut(struct lines *l, struct line *ret)
{
    give(l, l->end, ret);
    l->text[l->end] = '\0';
    ret->cut = true;
    l->begin = l->scanned = l->end;
    l->passing_over = true;
}

int lines_next(struct lines *l, bool partial_ok, struct line *ret)
{
    for (;;) {
        while (find_line_end(l)) {
            if (take(l, ret))
                return 1;
        }
        if (l->passing_over) {
            l->begin = l->scanned = l->end = 0;
        } else if (is_full(l)) {
            cut(l, ret);
            return 1;
        }
        ssize_t n = fill(l);
        if (n < 0)
            return (int) n;
        if (n > 0)
            continue;
        if (!partial_ok || l->begin == l->end)
            return 0;
        give(l, l->end, ret);
        l->text[l->end] = '\0';
        l->begin = l->scanned = l->end;
        return 1;
    }
}

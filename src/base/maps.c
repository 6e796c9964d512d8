/* base/maps.c: /proc/PID/maps, parsed. */
#include "base/maps.h"

#include <string.h>
#include <sys/sysmacros.h>

struct cursor {
    const char *at, *end;
};

static bool take_number(struct cursor *c, unsigned base, uint64_t *ret)
{
    const char *begin = c->at;
    uint64_t number = 0;
    for (; c->at < c->end; c->at++) {
        char letter = *c->at;
        unsigned digit = letter >= '0' && letter <= '9'   ? (unsigned) (letter - '0')
                         : letter >= 'a' && letter <= 'f' ? (unsigned) (letter - 'a') + 10
                                                          : 99;
        if (digit >= base)
            break;
        if (number > (UINT64_MAX - digit) / base)
            return false;
        number = number * base + digit;
    }
    *ret = number;
    return c->at > begin;
}

static bool take(struct cursor *c, char letter)
{
    if (c->at >= c->end || *c->at != letter)
        return false;
    c->at++;
    return true;
}

static bool take_rights(struct cursor *c, struct maps_entry *m)
{
    if (c->end - c->at < 4)
        return false;
    m->read = c->at[0] == 'r';
    m->write = c->at[1] == 'w';
    m->execute = c->at[2] == 'x';
    m->private = c->at[3] == 'p';
    c->at += 4;
    return true;
}

static void take_path(struct cursor *c, struct maps_entry *m)
{
    static const char gone[] = " (deleted)";
    const size_t gone_len = sizeof gone - 1;
    while (c->at < c->end && *c->at == ' ')
        c->at++;
    m->path = c->at;
    m->path_len = (size_t) (c->end - c->at);
    if (m->path_len > gone_len && memcmp(c->end - gone_len, gone, gone_len) == 0)
        m->path_len -= gone_len;
}

/* 7f8b75000000-7f8b75087000 r--p 00000000 fe:00 1234567    /lib/libc.so.6 */
static bool parse_line(struct cursor *c, struct maps_entry *m)
{
    uint64_t major, minor;
    if (!take_number(c, 16, &m->start) || !take(c, '-') || !take_number(c, 16, &m->end) ||
        !take(c, ' ') || !take_rights(c, m) || !take(c, ' ') || !take_number(c, 16, &m->offset) ||
        !take(c, ' ') || !take_number(c, 16, &major) || !take(c, ':') ||
        !take_number(c, 16, &minor) || !take(c, ' ') || !take_number(c, 10, &m->inode) ||
        m->end <= m->start || major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    m->device = makedev((unsigned) major, (unsigned) minor);
    take_path(c, m);
    return true;
}

int maps_next(const char *text, size_t len, size_t *position, struct maps_entry *ret)
{
    while (*position < len) {
        const char *begin = text + *position;
        const char *newline = memchr(begin, '\n', len - *position);
        struct cursor c = {begin, newline ? newline : text + len};
        *position = (size_t) (c.end - text) + (newline ? 1 : 0);
        struct maps_entry m = {0};
        if (parse_line(&c, &m)) {
            *ret = m;
            return 1;
        }
    }
    return 0;
}

bool maps_is_named(const struct maps_entry *m, const char *begin)
{
    const char *slash = memrchr(m->path, '/', m->path_len);
    if (!slash)
        return false;
    size_t left = m->path_len - (size_t) (slash + 1 - m->path), want = strlen(begin);
    return left >= want && memcmp(slash + 1, begin, want) == 0;
}

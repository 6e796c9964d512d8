/* serve/address.c: what a request asks for. */
#include "serve/address.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- paths and queries ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char) (c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes one character at *at and moves past it. Negative: it is not encoded well. */
static int decode(const char **at, const char *end)
{
    const char *s = *at;
    if (*s != '%') {
        *at = s + 1;
        return (unsigned char) *s;
    }
    if (end - s < 3 || hex_digit(s[1]) < 0 || hex_digit(s[2]) < 0)
        return -EINVAL;
    *at = s + 3;
    return hex_digit(s[1]) * 16 + hex_digit(s[2]);
}

static int decode_path(const char *s, const char *end, struct buf *out)
{
    while (s < end) {
        bool is_encoded = *s == '%';
        int c = decode(&s, end);
        if (c < ' ' || c == 0x7f || (is_encoded && c == '/'))
            return -EINVAL;
        buf_addc(out, (char) c);
    }
    return 0;
}

static bool is_plain_segment(const char *segment, size_t len)
{
    return len > 0 && !(len == 1 && segment[0] == '.') &&
           !(len == 2 && memcmp(segment, "..", 2) == 0);
}

/* Segments between slashes; the last one may be empty. */
static bool has_plain_segments(const char *path)
{
    if (path[0] != '/')
        return false;
    for (const char *s = path + 1; *s;) {
        size_t len = strcspn(s, "/");
        if (!is_plain_segment(s, len))
            return false;
        s += len + (s[len] == '/');
    }
    return true;
}

int address_path(const char *target, struct buf *ret)
{
    struct buf path = BUF_INIT;
    int r = decode_path(target, target + strcspn(target, "?#"), &path);
    if (r == 0 && !has_plain_segments(buf_text(&path)))
        r = -EINVAL;
    if (r == 0)
        buf_adds(ret, buf_text(&path));
    buf_release(&path);
    return r;
}

static int decode_value(const char *s, const char *end, struct buf *out)
{
    while (s < end) {
        int c = decode(&s, end);
        if (c < ' ' || c == 0x7f)
            return -EINVAL;
        buf_addc(out, (char) c);
    }
    return 0;
}

int address_parameter(const char *target, const char *name, struct buf *ret)
{
    const char *s = target + strcspn(target, "?");
    size_t name_len = strlen(name);
    struct buf value = BUF_INIT;
    int r = -ENOENT;
    while (*s && r != -EINVAL) {
        s++;
        size_t len = strcspn(s, "&");
        if (len > name_len && s[name_len] == '=' && memcmp(s, name, name_len) == 0)
            r = r == 0 ? -EINVAL : decode_value(s + name_len + 1, s + len, &value);
        s += len;
    }
    if (r == 0)
        buf_adds(ret, buf_text(&value));
    buf_release(&value);
    return r;
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("/-._~", c));
}

void address_encode(struct buf *out, const char *path)
{
    for (; *path; path++) {
        if (is_unreserved(*path))
            buf_addc(out, *path);
        else
            buf_addf(out, "%%%02X", (unsigned char) *path);
    }
}

/* ---- what is where ---- */

static const struct {
    const char *name;
    enum route_part part;
    bool of_run; /* of a run only */
} parts[] = {
    {"", ROUTE_PAGE, false},
    {"data.json", ROUTE_DATA, false},
    {"events", ROUTE_EVENTS, false},
    {"span.json", ROUTE_SPAN, true},
    {"answer.json", ROUTE_ANSWER, true},
};

static bool find_part(const char *name, bool of_run, enum route_part *ret)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(name, parts[i].name) == 0 && (of_run || !parts[i].of_run)) {
            *ret = parts[i].part;
            return true;
        }
    return false;
}

static void find_at_top(const char *name, struct route *ret)
{
    static const struct {
        const char *name;
        enum route_place place;
    } places[] = {{"page.js", ROUTE_SCRIPT}, {"page.css", ROUTE_STYLE}, {"healthz", ROUTE_HEALTH}};
    if (find_part(name, false, &ret->part))
        ret->place = ROUTE_RUNS;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (strcmp(name, places[i].name) == 0)
            ret->place = places[i].place;
}

void route_find(const char *path, struct route *ret)
{
    static const char runs[] = "/runs/";
    const size_t skip = sizeof(runs) - 1;
    *ret = (struct route){ROUTE_NOWHERE, ROUTE_PAGE, BUF_INIT};
    if (path[0] != '/')
        return;
    if (strncmp(path, runs, skip) != 0 || path[skip] == '\0') {
        find_at_top(path + 1, ret);
        return;
    }
    const char *name = path + skip, *last = strrchr(name, '/');
    ret->place = ROUTE_RUN;
    if (last && last > name && find_part(last + 1, true, &ret->part)) {
        buf_add(&ret->run, name, (size_t) (last - name));
        return;
    }
    ret->part = ROUTE_SLASH;
    buf_adds(&ret->run, name);
}

void route_add_up(struct buf *out, const struct route *from)
{
    if (from->place != ROUTE_RUN)
        return;
    buf_adds(out, "../../");
    for (const char *s = buf_text(&from->run); *s; s++)
        buf_adds(out, *s == '/' ? "../" : "");
}

/* ---- a span ---- */

/* Digits and what belongs to a number alone: no "inf", no hexadecimal. */
static int parse_number(const char *target, const char *name, double *ret)
{
    struct buf text = BUF_INIT;
    int r = address_parameter(target, name, &text);
    const char *s = buf_text(&text);
    if (r == 0 && (*s == '\0' || strlen(s) > 32 || s[strspn(s, "0123456789.eE+-")] != '\0'))
        r = -EINVAL;
    if (r == 0) {
        char *end;
        double value = strtod(s, &end);
        r = *end == '\0' && isfinite(value) ? 0 : -EINVAL;
        if (r == 0)
            *ret = value;
    }
    buf_release(&text);
    return r < 0 ? -EINVAL : 0;
}

int span_parse(const char *target, struct span_wanted *ret)
{
    double series, points, from, to;
    if (parse_number(target, "series", &series) < 0 || parse_number(target, "from", &from) < 0 ||
        parse_number(target, "to", &to) < 0 || parse_number(target, "points", &points) < 0)
        return -EINVAL;
    if (!(series >= 0 && series <= 1e9 && points >= 1 && to > from && fabs(from) < 1e12 &&
          fabs(to) < 1e12))
        return -EINVAL;
    *ret = (struct span_wanted){
        .series = (unsigned) series,
        .points = points > SPAN_POINTS_MOST ? SPAN_POINTS_MOST : (unsigned) points,
        .from = from,
        .to = to,
    };
    return 0;
}

/* input/progress_bar.c: progress bars as tqdm, rich and Keras draw them. */
#include "input/progress_bar.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define BAR_MAX 512 /* bytes of a bar that fills a wide terminal */
#define UNIT_MAX 24 /* the longest known unit */

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

static const char *skip_blanks_back(const char *text, const char *p)
{
    while (p > text && p[-1] == ' ')
        p--;
    return p;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "00:05" of "[00:05<00:40"; "1:02:03". */
static bool is_time(const char *p)
{
    size_t n = strspn(p, "0123456789");
    return n > 0 && n < 6 && p[n] == ':' && is_digit(p[n + 1]) && is_digit(p[n + 2]);
}

/* The strokes that rich and Keras draw: U+2501, U+2578, U+257A. */
static bool is_stroke(const char *p)
{
    return strncmp(p, "\xe2\x94\x81", 3) == 0 || strncmp(p, "\xe2\x95\xb8", 3) == 0 ||
           strncmp(p, "\xe2\x95\xba", 3) == 0;
}

/* The bracket that closes the one at `p`; NULL: missing. */
static const char *find_close(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += *p == '[';
        depth -= *p == ']';
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* "B", "kB", "MiB": bytes. */
static bool is_bytes(const char *unit, size_t len)
{
    return len > 0 && len <= 3 && unit[len - 1] == 'B' && strspn(unit, "kKMGTi") >= len - 1;
}

static enum bar_unit judge_unit(const char *unit, size_t len)
{
    static const char *const data[] = {"ba",    "ex",  "example", "table", "file",   "row",  "doc",
                                       "token", "tok", "shard",   "image", "sample", "char", NULL};
    if (is_bytes(unit, len))
        return BAR_BYTES;
    for (size_t i = 0; data[i]; i++) {
        size_t n = strlen(data[i]);
        bool is_same = len == n || (len == n + 1 && unit[n] == 's');
        if (is_same && strncasecmp(unit, data[i], n) == 0)
            return BAR_DATA;
    }
    return BAR_STEPS;
}

/* The unit of the rate in "[00:01<00:09, 9.3it/s, loss=0.5]"; "1.2s/it" has the same unit. */
static enum bar_unit unit_of(const char *bracket)
{
    const char *p = strchr(bracket, ',');
    if (!p)
        return BAR_STEPS;
    p += 1 + strspn(p + 1, " 0123456789.?");
    size_t len = strcspn(p, "/,]");
    if (p[len] == '/' && len == 1 && *p == 's') {
        p += 2;
        len = strcspn(p, "/,]");
    }
    /* "3.1kex/s": rescaled. */
    bool is_scaled = len > 2 && strchr("kMG", *p) && !is_bytes(p, len);
    if (len >= UNIT_MAX || !p[len])
        return BAR_STEPS;
    return is_scaled ? judge_unit(p + 1, len - 1) : judge_unit(p, len);
}

/* tqdm's "12/100 [00:05<" or, without a known total, "12it [00:05, 4.0it/s]". */
static const char *find_clock(const struct progress_count *c)
{
    const char *p = c->end;
    if (isnan(c->total)) {
        size_t len = 0;
        while (len < UNIT_MAX && (isalpha((unsigned char) p[len]) || p[len] == ' '))
            len++;
        if (len < 2)
            return NULL;
        p += len;
    }
    p = skip_blanks(p);
    return *p == '[' && is_time(p + 1) ? p : NULL;
}

static bool is_tqdm(const struct progress_count *c, struct progress_bar *ret)
{
    const char *bracket = find_clock(c);
    if (!bracket)
        return false;
    const char *close = find_close(bracket);
    ret->unit = unit_of(bracket);
    ret->is_closed = close != NULL;
    ret->end = close ? close + 1 : bracket + strlen(bracket);
    return true;
}

/* Keras' "12/100 [=>....]" or, since version 3, strokes; "12/Unknown - 3s". */
static bool is_keras(const char *text, const struct progress_count *c)
{
    const char *p = skip_blanks_back(text, c->begin);
    if (p != text)
        return false;
    p = skip_blanks(c->end);
    bool is_drawn = (*p == '[' && p[1] && strchr("=>.", p[1])) || is_stroke(p);
    return isnan(c->total) ? strncmp(p, "/Unknown", 8) == 0 : is_drawn;
}

/* rich's "Epoch 0/9 ━━━╸ 12/100 0:00:01 • 0:00:09", or tqdm's "12%|███ | 12/100" cut short. */
static bool is_behind_strokes(const char *text, const struct progress_count *c,
                              struct progress_bar *ret)
{
    if (isnan(c->total))
        return false;
    const char *p = skip_blanks_back(text, c->begin);
    size_t reach = p - text < BAR_MAX ? (size_t) (p - text) : BAR_MAX;
    const char *percent = reach > 0 && p[-1] == '|' ? memrchr(p - reach, '%', reach) : NULL;
    ret->is_rich = p - text >= 3 && is_stroke(p - 3) && is_time(skip_blanks(c->end));
    return (percent && percent[1] == '|') || ret->is_rich;
}

bool progress_bar_parse(const char *text, const struct progress_count *count,
                        struct progress_bar *ret)
{
    *ret = (struct progress_bar){.unit = BAR_STEPS, .end = count->end + strlen(count->end)};
    return is_tqdm(count, ret) || is_keras(text, count) || is_behind_strokes(text, count, ret);
}

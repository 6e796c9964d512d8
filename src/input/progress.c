/* input/progress.c: the progress of a running program, from its own output. */
#include "input/progress_clock.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 4096
#define BRACKET_REACH 16 /* escape sequences may follow the bracket that closes a bar */

/* What a byte is, regardless of its neighbours. */
enum { BYTE_BREAK = 1, BYTE_DIGIT = 2, BYTE_CONTROL = 4 };

struct progress {
    struct progress_clock clock;
    struct progress_mark last; /* the last mark returned */
    bool has_last, has_regex;
    regex_t regex;
    unsigned seen;                    /* BYTE_ bits found in the segment */
    size_t len;                       /* of the unfinished segment */
    char segment[LINE_MAX_BYTES + 1]; /* unchanged */
    char clean[LINE_MAX_BYTES + 1];   /* without escape sequences */
};

static int refuse(char error[160], regex_t *regex, const char *why)
{
    snprintf(error, 160, "%s", why);
    if (regex)
        regfree(regex);
    return -EINVAL;
}

static int compile(const char *text, char error[160], regex_t *ret)
{
    int r = regcomp(ret, text, REG_EXTENDED);
    if (r == REG_ESPACE)
        return -ENOMEM;
    if (r != 0) {
        regerror(r, ret, error, 160);
        return -EINVAL;
    }
    if (ret->re_nsub == 0)
        return refuse(error, ret, "needs a group: (\xe2\x80\xa6) around the step");
    return 0;
}

int progress_new(const char *regex, char error[160], struct progress **ret)
{
    struct progress *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    int r = regex ? compile(regex, error, &p->regex) : 0;
    if (r < 0) {
        free(p);
        return r;
    }
    p->has_regex = regex != NULL;
    progress_clock_init(&p->clock, p->has_regex);
    *ret = p;
    return 0;
}

struct progress *progress_free(struct progress *p)
{
    if (p && p->has_regex)
        regfree(&p->regex);
    free(p);
    return NULL;
}

/* ---- a line of text ---- */

static double group_number(const char *text, const regmatch_t *group)
{
    char digits[32];
    double number;
    bool is_whole;
    if (group->rm_so < 0)
        return NAN;
    snprintf(digits, sizeof digits, "%.*s", (int) (group->rm_eo - group->rm_so),
             text + group->rm_so);
    return progress_number(digits, &number, &is_whole) ? floor(number) : NAN;
}

/* Only the user's pattern counts. */
static bool match_line(const struct progress *p, const char *text, struct progress_line *ret)
{
    regmatch_t groups[3] = {{-1, -1}, {-1, -1}, {-1, -1}};
    if (regexec(&p->regex, text, 3, groups, 0) != 0)
        return false;
    double step = group_number(text, &groups[1]), epoch = group_number(text, &groups[2]);
    *ret = (struct progress_line){
        .step = step,
        .total = NAN,
        .epoch = epoch,
        .epoch_total = NAN,
        .kind = PROGRESS_STEP,
        .shape = 1,
        .is_per_epoch = isfinite(epoch),
    };
    return isfinite(step);
}

/*
 * An unfinished line counts only if it is a whole bar: "step 1" may become "step 12". Another line
 * may follow a bar, printed to the same terminal.
 */
static void read_text(struct progress *p, const char *text, bool has_ended)
{
    struct progress_line line, matched;
    for (; *text; text += line.length) {
        bool counts = progress_line_parse(text, &line);
        if (!has_ended && !line.is_bar)
            return;
        if (p->has_regex)
            counts = match_line(p, text, &matched);
        if (counts)
            progress_clock_note(&p->clock, p->has_regex ? &matched : &line);
        if (p->has_regex)
            return;
    }
}

/* ---- terminals ---- */

/* The length of the escape sequence at `text`; *ret_moves: it moves the cursor. */
static size_t escape_length(const char *text, size_t len, bool *ret_moves)
{
    size_t n = 2;
    *ret_moves = false;
    if (len < 2)
        return len;
    if (text[1] == ']') {
        while (n < len && text[n] != '\a' && text[n] != '\x1b')
            n++;
        return n < len && text[n] == '\a' ? n + 1 : n;
    }
    if (text[1] != '[')
        return n;
    while (n < len && (unsigned char) text[n] >= 0x20 && (unsigned char) text[n] < 0x40)
        n++;
    *ret_moves = n < len && text[n] != 'm';
    return n < len ? n + 1 : len;
}

/* Reads a segment without its terminal control sequences; a cursor movement ends a line. */
static void read_drawn(struct progress *p, bool has_ended)
{
    size_t len = 0;
    for (size_t i = 0; i < p->len;) {
        unsigned char c = (unsigned char) p->segment[i];
        if (c != '\x1b') {
            p->clean[len++] = c < ' ' && c != '\t' ? ' ' : (char) c;
            i++;
            continue;
        }
        bool moves;
        i += escape_length(p->segment + i, p->len - i, &moves);
        if (moves && len > 0) {
            p->clean[len] = '\0';
            read_text(p, p->clean, has_ended);
            len = 0;
        }
    }
    p->clean[len] = '\0';
    read_text(p, p->clean, has_ended);
}

static void read_segment(struct progress *p, bool has_ended)
{
    p->segment[p->len] = '\0';
    if (p->seen & BYTE_CONTROL)
        read_drawn(p, has_ended);
    else
        read_text(p, p->segment, has_ended);
}

/* ---- pieces ---- */

static unsigned byte_class(unsigned char c)
{
    if (c >= ' ')
        return c >= '0' && c <= '9' ? BYTE_DIGIT : 0;
    if (c == '\n' || c == '\r' || c == '\b')
        return BYTE_BREAK;
    return c == '\t' ? 0 : BYTE_CONTROL;
}

/* The length of the part before the next line end; records its kinds of bytes. */
static size_t find_break(struct progress *p, const char *bytes, size_t len)
{
    unsigned seen = 0;
    size_t n = 0;
    for (; n < len; n++) {
        unsigned class = byte_class((unsigned char) bytes[n]);
        if (class == BYTE_BREAK)
            break;
        seen |= class;
    }
    p->seen |= seen;
    return n;
}

static void add_bytes(struct progress *p, const char *bytes, size_t len)
{
    size_t room = LINE_MAX_BYTES - p->len;
    size_t n = len < room ? len : room;
    memcpy(p->segment + p->len, bytes, n);
    p->len += n;
}

static void end_segment(struct progress *p)
{
    if (p->seen & BYTE_DIGIT)
        read_segment(p, true);
    p->len = 0;
    p->seen = 0;
}

/* A bar has no line end until it is drawn again. */
static void read_unfinished(struct progress *p)
{
    size_t reach = p->len < BRACKET_REACH ? p->len : BRACKET_REACH;
    if ((p->seen & BYTE_DIGIT) && memchr(p->segment + p->len - reach, ']', reach))
        read_segment(p, false);
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Whether the clock has moved since the last mark. */
static bool take_mark(struct progress *p, struct progress_mark *ret)
{
    struct progress_mark mark;
    if (!progress_clock_mark(&p->clock, &mark))
        return false;
    bool stands = p->has_last && !mark.restarted && is_same(mark.step, p->last.step) &&
                  is_same(mark.epoch, p->last.epoch);
    if (stands)
        return false;
    p->last = *ret = mark;
    p->has_last = true;
    return true;
}

bool progress_feed(struct progress *p, const char *bytes, size_t len, struct progress_mark *ret)
{
    while (len > 0) {
        size_t n = find_break(p, bytes, len);
        add_bytes(p, bytes, n);
        if (n < len) {
            end_segment(p);
            n++;
        }
        bytes += n;
        len -= n;
    }
    read_unfinished(p);
    return take_mark(p, ret);
}

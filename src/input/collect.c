/* input/collect.c: what all readers share: the series found so far, and the summary. */
#include "input/collect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A clock that falls by more than this many strides is not just a line out of order. */
#define FALL_STRIDES 8

/* After this many samples in a row that each precede the last, the rows are in reverse order. */
#define BACKWARDS_MOST 8

static size_t bucket_of(const struct collector *c, const char *key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *key; key++)
        hash = (hash ^ (unsigned char) *key) * 16777619u;
    return hash % (sizeof c->buckets / sizeof *c->buckets);
}

struct track *collect_find(const struct collector *c, const char *key)
{
    struct track *t = c->buckets[bucket_of(c, key)];
    while (t && strcmp(t->key, key) != 0)
        t = t->next;
    return t;
}

static struct track *track_new(const char *key, enum series_clock clock)
{
    struct track *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->key = strdup(key);
    if (!t->key) {
        free(t);
        return NULL;
    }
    t->clock = clock;
    t->epoch = NAN;
    return t;
}

static void track_free(struct track *t)
{
    free(t->key);
    free(t);
}

int collect_open(struct collector *c, const char *key, const struct series_info *info,
                 const struct input_hints *hints, struct track **ret)
{
    if (c->tracks >= COLLECT_MAX_TRACKS)
        return -E2BIG;
    struct track *t = track_new(key, info->clock);
    if (!t)
        return -ENOMEM;
    static const struct input_hints none;
    t->series = c->sink->series(c->sink->context, info, hints ? hints : &none);
    if (t->series < 0) {
        int r = t->series;
        track_free(t);
        return r;
    }
    struct track **bucket = &c->buckets[bucket_of(c, key)];
    t->next = *bucket;
    *bucket = t;
    c->tracks++;
    c->opened++;
    *ret = t;
    return 0;
}

bool track_fell_back(const struct track *t, double at)
{
    if (t->samples == 0 || !(at < t->last))
        return false;
    return at <= t->first || t->last - at > FALL_STRIDES * t->stride;
}

enum fall { FALL_NONE, FALL_EPOCH, FALL_RESTART };

/* A counter that falls while the epoch advances, or from its total, starts the next epoch. */
static enum fall judge_fall(const struct track *t, struct position at, double position)
{
    if (t->samples == 0 || !(position <= t->last))
        return FALL_NONE;
    if (at.epoch < t->epoch)
        return FALL_RESTART;
    /* "100/100" may appear in every epoch. */
    if (position == t->last && !(floor(at.epoch) > floor(t->epoch)))
        return FALL_NONE;
    if (at.epoch > t->epoch)
        return t->clock == CLOCK_STEP ? FALL_EPOCH : FALL_RESTART;
    if (isfinite(at.total) && t->last - t->offset >= 0.9 * at.total)
        return FALL_EPOCH;
    return track_fell_back(t, position) ? FALL_RESTART : FALL_NONE;
}

static void advance(struct track *t, double at)
{
    if (t->samples == 0)
        t->first = at;
    else if (at - t->last > t->stride)
        t->stride = at - t->last;
    t->last = at;
    t->samples++;
}

/* Tells epochs from restarts; *ret is the position on the track's clock. */
static int place(struct collector *c, struct track *t, struct position at, double *ret)
{
    double raw = t->clock == CLOCK_STEP ? at.step : at.seconds;
    double position = t->clock == CLOCK_STEP ? raw + t->offset : raw;
    bool epoch_rose = floor(at.epoch) > floor(t->epoch);
    enum fall fall = judge_fall(t, at, position);
    if (fall == FALL_EPOCH) {
        double begin = t->last + (t->stride > 0 ? t->stride : 1) - raw;
        t->offset =
            at.total > 0 && t->last < t->offset + at.total + raw ? t->offset + at.total : begin;
        position = raw + t->offset;
        epoch_rose = true;
    } else if (fall == FALL_RESTART) {
        t->backwards = t->samples == 1 ? t->backwards + 1 : 0;
        if (t->backwards == BACKWARDS_MOST)
            return collect_error(c, 0,
                                 "the clock falls from row to row: expected the oldest row first "
                                 "(tac reverses a file)");
        int r = collect_restart(c, t);
        if (r < 0)
            return r;
        position = raw;
        epoch_rose = false;
    }
    *ret = position;
    return epoch_rose && t->samples > 0 ? collect_epoch(c, t, t->last) : 0;
}

int collect_sample(struct collector *c, struct track *t, struct position at, double value)
{
    double position = NAN;
    int r = place(c, t, at, &position);
    if (r < 0)
        return r;
    if (!isfinite(position) || !isfinite(value))
        return 0;
    if (!isfinite(at.epoch))
        at.epoch = t->epoch;
    advance(t, position);
    t->epoch = at.epoch;
    c->summary->samples++;
    double step = t->clock == CLOCK_STEP ? position : at.step;
    return c->sink->sample(c->sink->context, t->series, step, at.seconds, value);
}

int collect_restart(struct collector *c, struct track *t)
{
    t->samples = 0;
    t->stride = t->offset = 0;
    t->epoch = NAN;
    return c->sink->restart(c->sink->context, t->series);
}

int collect_epoch(struct collector *c, struct track *t, double at)
{
    return c->sink->epoch(c->sink->context, t->series, at);
}

int collect_end(struct collector *c, struct track *t)
{
    struct track **link = &c->buckets[bucket_of(c, t->key)];
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    c->tracks--;
    int series = t->series;
    track_free(t);
    return c->sink->end(c->sink->context, series);
}

int collect_each(struct collector *c,
                 int (*visit)(struct collector *c, struct track *t, void *context), void *context)
{
    for (size_t i = 0; i < sizeof c->buckets / sizeof *c->buckets; i++) {
        for (struct track *t = c->buckets[i], *next; t; t = next) {
            next = t->next;
            int r = visit(c, t, context);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int compare_series(const void *a, const void *b)
{
    int x = (*(struct track *const *) a)->series, y = (*(struct track *const *) b)->series;
    return (x > y) - (x < y);
}

static int add_to_list(struct collector *c, struct track *t, void *context)
{
    (void) c;
    struct track ***next = context;
    *(*next)++ = t;
    return 0;
}

int collect_end_all(struct collector *c)
{
    /* In the order in which they began: the output must not depend on hashing. */
    struct track *list[COLLECT_MAX_TRACKS], **end = list;
    size_t count = c->tracks;
    collect_each(c, add_to_list, &end);
    qsort(list, count, sizeof *list, compare_series);
    for (size_t i = 0; i < count; i++) {
        int r = collect_end(c, list[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int discard(struct collector *c, struct track *t, void *context)
{
    (void) c;
    (void) context;
    track_free(t);
    return 0;
}

void collect_release(struct collector *c)
{
    collect_each(c, discard, NULL);
    memset(c->buckets, 0, sizeof c->buckets);
    c->tracks = 0;
}

void collect_skip(struct collector *c, uint64_t line, const char *format, ...)
{
    if (c->summary->skipped++ > 0)
        return;
    c->summary->first_skipped = line;
    va_list args;
    va_start(args, format);
    vsnprintf(c->summary->skip_reason, sizeof c->summary->skip_reason, format, args);
    va_end(args);
}

bool collect_skip_damaged(struct collector *c, const struct line *line)
{
    if (line->cut)
        collect_skip(c, line->number, "a line of more than 64 MB");
    else if (line->has_nul)
        collect_skip(c, line->number, "a NUL byte");
    return line->cut || line->has_nul;
}

void collect_guess(struct collector *c, const char *format, ...)
{
    char *guesses = c->summary->guesses;
    size_t used = strlen(guesses), room = sizeof c->summary->guesses - used;
    size_t begin = used > 0 ? 2 : 0;
    if (room <= begin)
        return;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(guesses + used + begin, room - begin, format, args);
    va_end(args);
    if (len < 0 || (size_t) len >= room - begin)
        guesses[used] = '\0';
    else if (begin > 0)
        memcpy(guesses + used, "; ", 2);
}

int collect_error(struct collector *c, uint64_t line, const char *format, ...)
{
    c->summary->error_line = line;
    va_list args;
    va_start(args, format);
    vsnprintf(c->summary->error, sizeof c->summary->error, format, args);
    va_end(args);
    return -EINVAL;
}

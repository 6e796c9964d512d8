/* view/patterns.c: finds what only looks like a leak: sawtooth, spikes, bounded caches and so on.
 */
#include "view/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A warm-up lasts at most this many horizons, and brings most of the growth. */
#define FADED_HORIZONS 1.2

/* In the order in which they are named if they moved by the same amount. */
static const enum pattern look_alikes[] = {
    PATTERN_ALLOCATOR_RETENTION, PATTERN_BOUNDED_CACHE, PATTERN_COPY_ON_WRITE, PATTERN_SAWTOOTH,
    PATTERN_PAGE_CACHE,          PATTERN_SPIKES,        PATTERN_WARM_UP,
};

struct candidate {
    enum pattern pattern;
    const struct view_series *series; /* the one that moved most */
    double moved;
    unsigned others;
};

static double moved_by(const struct view_series *s)
{
    return s->info.unit == SERIES_BYTES ? s->answer.max - s->answer.min : 0;
}

/* "cuda:0", "gpu1"; a file system has a name, too. */
static bool is_on_device(const struct view_series *s)
{
    return s->info.device && strncmp(s->info.kind, "host.", 5) != 0;
}

/* The most that a process held of the host's memory. */
static double held_at_most(const struct view *v)
{
    double most = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->series[i].info.unit == SERIES_BYTES && v->series[i].part == PART_MAIN &&
            !is_on_device(&v->series[i]))
            most = fmax(most, v->series[i].answer.max);
    return most;
}

/* The least movement worth a name: of device memory by its own level, not the host's. */
static double worth_a_name(const struct view *v, const struct view_series *s)
{
    return fmax(LEAST_RISE, LEDGER_SMALL * (is_on_device(s) ? s->answer.max : held_at_most(v)));
}

/* It still grows, ever more slowly, and has done so for longer than any warm-up. Whether it will
 * stop is open. */
static bool fades(const struct answer *a)
{
    return a->verdict == VERDICT_INCONCLUSIVE && a->phase_count >= 2 &&
           a->phases[a->phase_count - 2].name == PHASE_WARM_UP &&
           a->phases[a->phase_count - 1].name == PHASE_GROWING &&
           a->warm_up_end - a->first_at > FADED_HORIZONS * a->horizon;
}

static double floor_rise(const struct view_series *s)
{
    return s->answer.floor_last - s->answer.floor_first;
}

static bool is_of_the_same(const struct series_info *a, const struct series_info *b)
{
    const char *device = a->device ? a->device : "";
    return a->pid == b->pid && strcmp(device, b->device ? b->device : "") == 0;
}

/* Torch reserves what its tensors need. Only memory reserved beyond that is retained. */
static bool follows_tensors(const struct view *v, const struct view_series *reserved)
{
    if (strcmp(reserved->info.kind, "torch.reserved") != 0)
        return false;
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        if (strcmp(s->info.kind, "torch.allocated") == 0 &&
            is_of_the_same(&s->info, &reserved->info))
            return floor_rise(s) > LEDGER_MOST * floor_rise(reserved);
    }
    return false;
}

/* tidemark's census shares memory with its child: spikes of it are ours. */
static bool may_be_ours(const struct view_series *s)
{
    return strcmp(s->info.kind, "host.shmem") == 0 && s->answer.pattern == PATTERN_SPIKES;
}

/* The lowest level since the longest possible warm-up ended. */
static double lowest_since(const struct view_series *s)
{
    double low = INFINITY, since = s->answer.first_at + FADED_HORIZONS * s->answer.horizon;
    for (unsigned i = 1; i < s->history.count; i++) /* the first has the beginning, wide as it is */
        if (s->history.blocks[i].at > since)
            low = fmin(low, s->history.blocks[i].min);
    return low;
}

/* It grew at the beginning, at once or gradually, and has been flat or has come back to that level
 * since: gradients, an optimizer's state. */
static bool has_warmed_up(const struct view *v, const struct view_series *s)
{
    const struct answer *a = &s->answer;
    bool may_have = a->pattern == PATTERN_FLAT || a->pattern == PATTERN_LEVEL_SHIFT ||
                    a->pattern == PATTERN_SPIKES || a->pattern == PATTERN_SAWTOOTH;
    double rise = lowest_since(s) - a->floor_first;
    return a->verdict == VERDICT_NO_LEAK && may_have && isfinite(rise) &&
           rise >= fmax(worth_a_name(v, s), LEDGER_MOST * floor_rise(s));
}

static bool does(const struct view *v, const struct view_series *s, enum pattern pattern)
{
    if (follows_tensors(v, s) || may_be_ours(s))
        return false;
    return pattern == (fades(&s->answer) ? PATTERN_BOUNDED_CACHE : s->answer.pattern) ||
           (pattern == PATTERN_WARM_UP && has_warmed_up(v, s));
}

static struct candidate find(const struct view *v, enum pattern pattern)
{
    struct candidate c = {.pattern = pattern};
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        if (!does(v, s, pattern) || moved_by(s) < worth_a_name(v, s))
            continue;
        c.others += c.series != NULL;
        if (moved_by(s) > c.moved) {
            c.series = s;
            c.moved = moved_by(s);
        }
    }
    return c;
}

/* After a warm-up it may have grown for another reason. */
static double level_after(const struct candidate *c)
{
    double last = c->series->answer.floor_last;
    return c->pattern == PATTERN_WARM_UP ? fmin(last, lowest_since(c->series)) : last;
}

static void describe(struct buf *out, const struct candidate *c)
{
    const struct answer *a = &c->series->answer;
    bool returns = c->pattern == PATTERN_SAWTOOTH || c->pattern == PATTERN_SPIKES;
    const struct pattern_facts facts = {
        .pattern = c->pattern,
        .series = c->series->info.name,
        .low = returns ? a->floor_last : a->floor_first,
        .high = returns ? a->max : level_after(c),
        .returns = returns,
        .slows = a->verdict == VERDICT_INCONCLUSIVE,
        .others = c->others,
    };
    pattern_describe(out, &facts);
}

static void add(struct view *v, enum pattern pattern, struct buf *text)
{
    char *copy = strdup(buf_text(text));
    if (!copy)
        base_out_of_memory();
    v->patterns[v->pattern_count++] = (struct view_pattern){pattern, copy};
    buf_release(text);
}

static bool is_named(const struct view *v, enum pattern pattern)
{
    for (unsigned i = 0; i < v->pattern_count; i++)
        if (v->patterns[i].pattern == pattern)
            return true;
    return false;
}

/* Workers may have copied all they will before the first sample: then no series moves. */
static void name_copies(struct job *j, struct view *v)
{
    struct worker_copies most;
    if (is_named(v, PATTERN_COPY_ON_WRITE) || workers_find_most(j, &most) == 0 ||
        most.facts.spawned)
        return;
    struct buf text = BUF_INIT;
    pattern_describe_copies(&text, most.facts.workers, most.parent, most.facts.all);
    add(v, PATTERN_COPY_ON_WRITE, &text);
}

/* ---- in-use memory that goes up and down inside the heap ---- */

/* A turn goes back by a material part of the whole range. */
#define TURNS_LEAST 3u

struct swing {
    double low, high;
    unsigned turns; /* up, down, up: 3 */
};

static struct swing swing_of(const struct evidence *f)
{
    struct swing s = {.low = INFINITY, .high = -INFINITY};
    for (unsigned i = 0; i < f->heap_count; i++) {
        s.low = fmin(s.low, f->heap[i].in_use);
        s.high = fmax(s.high, f->heap[i].in_use);
    }
    double least = LEDGER_PART * (s.high - s.low), low = INFINITY, high = -INFINITY;
    int direction = 0;
    for (unsigned i = 0; i < f->heap_count; i++) {
        double value = f->heap[i].in_use;
        low = fmin(low, value);
        high = fmax(high, value);
        if (direction <= 0 && value > low + least) {
            direction = 1;
            high = value;
            s.turns++;
        } else if (direction >= 0 && value < high - least) {
            direction = -1;
            low = value;
            s.turns++;
        }
    }
    return s;
}

/* malloc retains what the program frees, so the memory of the process does not show the swing. */
static void name_swings(const struct job *j, struct view *v)
{
    double least = fmax(LEAST_RISE, LEDGER_SMALL * held_at_most(v));
    for (size_t i = 0; i < j->member_count && !is_named(v, PATTERN_SAWTOOTH); i++) {
        const struct member *m = j->members[i];
        struct swing s = m->evidence ? swing_of(m->evidence) : (struct swing){.turns = 0};
        char label[MEMBER_LABEL];
        if (s.turns < TURNS_LEAST || s.high - s.low < least || v->pattern_count == VIEW_PATTERNS)
            continue;
        struct buf text = BUF_INIT;
        member_label(m, label);
        pattern_describe_heap(&text, label, s.low, s.high);
        add(v, PATTERN_SAWTOOTH, &text);
    }
}

void view_patterns(struct job *j, struct view *v)
{
    struct candidate found[VIEW_PATTERNS];
    unsigned count = 0;
    if (v->answer.verdict == VERDICT_LEAK)
        return;
    for (size_t i = 0; i < sizeof(look_alikes) / sizeof(look_alikes[0]); i++) {
        struct candidate c = find(v, look_alikes[i]);
        unsigned at = count;
        if (!c.series)
            continue;
        for (; at > 0 && found[at - 1].moved < c.moved; at--)
            found[at] = found[at - 1];
        found[at] = c;
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        struct buf text = BUF_INIT;
        describe(&text, &found[i]);
        add(v, found[i].pattern, &text);
    }
    name_copies(j, v);
    name_swings(j, v);
}

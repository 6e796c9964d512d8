/* tests/unit/traced_program.h: a program whose sites allocate and free in rounds, its trace file,
 * and what it really keeps. */
#ifndef TIDEMARK_TEST_TRACED_PROGRAM_H
#define TIDEMARK_TEST_TRACED_PROGRAM_H

#include "sites/sites.h"

#include "sampled_program.h"
#include "trace_file.h"

/*
 * One site: in every round from `first` to `last` it allocates `count` objects of `size` bytes. Of
 * these `kept` per thousand live for `rounds` rounds, the others until the round after.
 */
struct traced_site {
    uint64_t size, count;
    unsigned kept, rounds, first, last;
};

#define FOREVER 1000000u
#define PROGRAM_SITES 16u

struct traced_program {
    const struct traced_site *sites;
    unsigned site_count, round;
    struct countdown countdown;
    struct wire_trace_layout *trace;
    uint32_t stacks[PROGRAM_SITES];
    unsigned dies[WIRE_TRACE_LIVE]; /* at the beginning of that round, by slot */
    size_t top;                     /* slots that were ever used */
};

/* A round is a second; the first one is 1. */
static inline void program_begin(struct traced_program *p, const struct traced_site *sites,
                                 unsigned count, double interval, uint64_t seed)
{
    struct wire_trace_layout *t = p->trace;
    for (size_t i = 0; i < p->top; i++)
        t->addresses[i] = 0;
    *p = (struct traced_program){.sites = sites, .site_count = count, .trace = t};
    if (!t)
        t = p->trace = trace_file_new(65536);
    memset(t->stacks, 0, 4096);
    t->text_used = t->frames_used = 1;
    t->interval = (uint64_t) interval;
    for (unsigned i = 0; i < count; i++) {
        uint64_t word = trace_python(t, "train", "/home/me/train.py", i + 1);
        p->stacks[i] = trace_stack(t, WIRE_TRACE_PYTHON, &word, 1);
    }
    countdown_begin(&p->countdown, seed, interval);
}

static inline void program_end(struct traced_program *p)
{
    free(p->trace);
}

static inline bool lives_long(const struct traced_site *s, uint64_t object)
{
    return object * 7919 % 1000 < s->kept;
}

static inline void program_sample(struct traced_program *p, unsigned site, bool is_long)
{
    const struct traced_site *s = &p->sites[site];
    double weight = wire_trace_weight(s->size, p->countdown.interval);
    double second = 1 + p->round + random_uniform(&p->countdown.random);
    size_t slot = trace_sample(p->trace, p->stacks[site], s->size, weight, second);
    p->dies[slot] = p->round + (is_long ? s->rounds : 1);
    p->top = slot >= p->top ? slot + 1 : p->top;
}

static inline void program_site(struct traced_program *p, unsigned site)
{
    const struct traced_site *s = &p->sites[site];
    uint64_t done = 0;
    if (p->round < s->first || p->round > s->last)
        return;
    while ((done += countdown_pass(&p->countdown, s->size, s->count - done)) < s->count)
        program_sample(p, site, lives_long(s, done++));
}

static inline void program_round(struct traced_program *p)
{
    p->round++;
    for (size_t i = 0; i < p->top; i++)
        if (p->dies[i] <= p->round)
            p->trace->addresses[i] = 0;
    for (unsigned i = 0; i < p->site_count; i++)
        program_site(p, i);
}

/* At the end of the round. */
static inline int program_look(const struct traced_program *p, struct site_looks *l)
{
    return site_looks_take(l, p->trace, sizeof(*p->trace), TRACE_ORIGIN, trace_time(2 + p->round));
}

/* What the site keeps at the end of that round. */
static inline double program_truth(const struct traced_site *s, unsigned round)
{
    double bytes = 0, per_round = (double) (s->size * s->count);
    for (unsigned made = s->first; made <= round && made <= s->last; made++) {
        double share = s->kept / 1000.0;
        bytes += per_round *
                 ((round < made + s->rounds ? share : 0) + (round < made + 1 ? 1 - share : 0));
    }
    return bytes;
}

/* The interval grows: a live sample stays with the chance that it has under the longer one. */
static inline void program_thin(struct traced_program *p, double interval)
{
    for (size_t i = 0; i < p->top; i++) {
        struct wire_trace_sample *s = &p->trace->live_samples[i];
        double weight = wire_trace_weight(s->size, interval);
        if (!p->trace->addresses[i])
            continue;
        if (random_uniform(&p->countdown.random) > (double) s->weight / weight)
            p->trace->addresses[i] = 0;
        s->weight = (float) weight;
    }
    p->trace->interval = (uint64_t) interval;
    p->countdown.interval = interval;
    countdown_draw(&p->countdown);
}

/* The site with that line. */
static inline const struct site *site_of_line(const struct sites *s, int line)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].frame_count && s->list[i].frames[0].line == line)
            return &s->list[i];
    return NULL;
}

#endif

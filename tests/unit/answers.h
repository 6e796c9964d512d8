/* tests/unit/answers.h: answers built by hand, for tests of what is made of them. */
#ifndef TIDEMARK_TEST_ANSWERS_H
#define TIDEMARK_TEST_ANSWERS_H

#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KB 1024.0
#define MB (1024.0 * KB)
#define GB (1024.0 * MB)

/* A series with everything it needs; `s` points at the other members. */
struct made_series {
    struct series_info info;
    struct answer answer;
    struct history history;
    struct report_series s;
};

/* A series of `count` values, every `every` from `first` on the clock; extremes are filled in. */
static inline void make_series(struct made_series *m, const char *name, const char *kind,
                               enum series_clock clock, const double *values, size_t count,
                               double first, double every)
{
    m->info = (struct series_info){.name = name, .kind = kind, .clock = clock};
    answer_clear(&m->answer);
    history_init(&m->history);
    m->s = (struct report_series){&m->info, &m->answer, &m->history};

    struct answer *a = &m->answer;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        history_push(&m->history, first + every * (double) i, NAN, values[i]);
        a->min = fmin(a->min, values[i]);
        a->max = fmax(a->max, values[i]);
        sum += values[i];
    }
    a->mean = sum / (double) count;
    a->samples = count;
    a->first_at = first;
    a->last_at = first + every * (double) (count - 1);
    a->floor_first = values[0];
    a->floor_last = a->last = values[count - 1];
}

static inline void made_series_release(struct made_series *m)
{
    history_release(&m->history);
}

/* The documents' first run: 7 samples, cut off while it grew. */
static inline void make_run_1(struct made_series *m)
{
    static const double mb[] = {5552, 7159, 8851, 10515, 12227, 13919, 15736};
    double bytes[7];
    for (size_t i = 0; i < 7; i++)
        bytes[i] = mb[i] * MB;
    make_series(m, "Run 1", "memory", CLOCK_STEP, bytes, 7, 10, 10);
    m->info.pid = 177381;

    struct answer *a = &m->answer;
    a->verdict = VERDICT_INCONCLUSIVE;
    a->suspect = true;
    a->suspect_at = 40;
    a->rate = 170 * MB;
    a->phases[a->phase_count++] =
        (struct phase){PHASE_WARM_UP, 10, 70, 5552 * MB, 15736 * MB, 170 * MB, 166 * MB, 174 * MB};
    a->needs.at_least = 152;
    strcpy(a->needs.why, "a cache that fills may look like this");
    strcpy(a->why[a->why_count++], "every sample is higher than the one before");
}

/* A leak of one block a step on torch's exact counter. */
static inline void make_leak(struct made_series *m)
{
    double bytes[100];
    for (size_t i = 0; i < 100; i++)
        bytes[i] = 25 * MB + 512.0 * 20 * (double) i;
    make_series(m, "vram", "torch.allocated", CLOCK_STEP, bytes, 100, 1, 20);
    m->info.device = "cuda:0";

    struct answer *a = &m->answer;
    a->verdict = VERDICT_LEAK;
    a->severity = SEVERITY_LOW;
    a->pattern = PATTERN_LINEAR;
    a->confidence = 0.99;
    a->rate = a->rate_low = a->rate_high = a->rate_per_step = 512;
    a->rate_per_epoch = 782 * 512;
    a->epoch_length = 782;
    a->onset_at = 1;
    a->suspect_at = 90;
    a->alarm_at = 1150;
    a->phases[a->phase_count++] =
        (struct phase){PHASE_GROWING, 1, 1981, 25 * MB, 25 * MB + 512.0 * 1980, 512, 512, 512};
    strcpy(a->why[a->why_count++], "grew in each of 1,980 steps");
}

/* The documents' second run, shortened: warm-up, then a plateau. */
static inline void make_run_2(struct made_series *m)
{
    static const double mb[] = {5434,  7017,  8721,  10375, 12000, 13757, 15559, 17412,
                                17658, 17693, 17694, 17694, 17437, 17437, 17437, 17378};
    double bytes[16];
    for (size_t i = 0; i < 16; i++)
        bytes[i] = mb[i] * MB;
    make_series(m, "Run 2", "memory", CLOCK_STEP, bytes, 16, 10, 10);

    struct answer *a = &m->answer;
    a->verdict = VERDICT_NO_LEAK;
    a->pattern = PATTERN_WARM_UP;
    a->warm_up_end = 80;
    a->warm_up_epochs = 80 / 83.0;
    a->epoch_length = 83;
    a->rate = 0;
    a->rate_upper = 1.2 * KB;
    a->limit = 32 * GB;
    a->forecast.limit_at = INFINITY;
    a->phases[a->phase_count++] =
        (struct phase){PHASE_WARM_UP, 10, 80, 5434 * MB, 17412 * MB, 171 * MB, 169 * MB, 173 * MB};
    a->phases[a->phase_count++] =
        (struct phase){PHASE_STABLE, 80, 160, 17412 * MB, 17378 * MB, 0, -1 * KB, 1.2 * KB};
    a->naive.misleads = true;
    a->naive.rate = 50.8 * MB;
    a->naive.warm_up_share = 0.97;
}

/* Whether `text` holds `part`; prints the text where it does not, for the failing test. */
static inline bool holds(const char *text, const char *part)
{
    if (strstr(text, part))
        return true;
    printf("  not found: \"%s\" in:\n%s\n", part, text);
    return false;
}

#endif

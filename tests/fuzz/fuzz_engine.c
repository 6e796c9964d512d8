/* tests/fuzz/fuzz_engine.c: bytes as a program for the engine: options, samples, marks, restarts.
 */
#include "verdict/verdict.h"
#include "words/words.h"

#include "../unit/same_answer.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* Longer programs find nothing new and are slow. */
#define MOST_SAMPLES 4000
#define MOST_ASKS 3

/* ---- the program ---- */

struct program {
    const uint8_t *data;
    size_t size, next;
};

static uint8_t take_byte(struct program *p)
{
    return p->next < p->size ? p->data[p->next++] : 0;
}

/* Any double. */
static double take_double(struct program *p)
{
    uint8_t bytes[sizeof(double)];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = take_byte(p);
    double number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* A length from 0 to very large, from one byte. */
static double take_size(struct program *p)
{
    uint8_t byte = take_byte(p);
    int exponent = byte / 16 - 3;
    return byte == 0 ? 0 : (1 + byte % 16) * pow(10, exponent);
}

static struct engine_options take_options(struct program *p)
{
    uint8_t choice = take_byte(p);
    return (struct engine_options){
        .clock = choice & 1 ? CLOCK_SECONDS : CLOCK_STEP,
        .unit = choice & 2 ? SERIES_COUNT : SERIES_BYTES,
        .resolution = choice & 4 ? take_size(p) : -1,
        .epoch_length = choice & 8 ? take_size(p) : 0,
        .horizon = choice & 16 ? take_size(p) : 0,
        .plan = choice & 32 ? take_size(p) : 0,
        .limit = choice & 64 ? take_size(p) : 0,
        .rounding = choice & 128 ? take_size(p) : 0,
        .job_series = take_byte(p),
    };
}

/* The engine, and what it must have counted. */
struct run {
    struct engine *engine;
    enum series_clock clock;
    unsigned asks; /* how many more answers to request on the way */
    double step, seconds, value;
    uint64_t samples, refused, restarts, of_this_run;
};

/* ---- invariants ---- */

static void require_finite(const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        REQUIRE(!isinf(numbers[i]));
}

static bool ordered(double a, double b)
{
    return isnan(a) || isnan(b) || a <= b;
}

static void check_phases(const struct answer *a, const struct run *r)
{
    REQUIRE(a->phase_count <= ANSWER_PHASES && (a->phase_count > 0) == (r->of_this_run > 0));
    double before = a->first_at;
    for (unsigned i = 0; i < a->phase_count; i++) {
        const struct phase *p = &a->phases[i];
        REQUIRE(p->name <= PHASE_LEVEL_SHIFT && phase_name(p->name));
        REQUIRE(before <= p->from && p->from <= p->to && p->to <= a->last_at);
        const double numbers[] = {p->level_from, p->level_to, p->rate, p->rate_low, p->rate_high};
        require_finite(numbers, sizeof numbers / sizeof numbers[0]);
        REQUIRE(ordered(p->rate_low, p->rate) && ordered(p->rate, p->rate_high));
        before = p->to;
    }
}

static void check_numbers(const struct answer *a)
{
    const double numbers[] = {
        a->confidence,
        a->first_at,
        a->last_at,
        a->first_seconds,
        a->last_seconds,
        a->epoch_length,
        a->horizon,
        a->plan,
        a->limit,
        a->min,
        a->max,
        a->mean,
        a->last,
        a->floor_first,
        a->floor_last,
        a->noise,
        a->suspect_at,
        a->alarm_at,
        a->onset_at,
        a->onset_seconds,
        a->rate,
        a->rate_low,
        a->rate_high,
        a->rate_upper,
        a->rate_per_step,
        a->rate_per_epoch,
        a->rate_per_second,
        a->warm_up_end,
        a->warm_up_epochs,
        a->needs.at_least,
        a->needs.seconds,
        a->naive.rate,
        a->spikes.height,
        a->forecast.plan_value,
        a->forecast.plan_low,
        a->forecast.plan_high,
    };
    require_finite(numbers, sizeof numbers / sizeof numbers[0]);
    REQUIRE(ordered(a->rate_low, a->rate) && ordered(a->rate, a->rate_high));
    REQUIRE(ordered(a->forecast.limit_low, a->forecast.limit_at));
    REQUIRE(ordered(a->forecast.limit_at, a->forecast.limit_high));
    REQUIRE(ordered(a->forecast.plan_low, a->forecast.plan_value));
    REQUIRE(ordered(a->forecast.plan_value, a->forecast.plan_high));
    REQUIRE(ordered(a->min, a->floor_first) && ordered(a->floor_first, a->max));
    REQUIRE(ordered(a->min, a->floor_last) && ordered(a->floor_last, a->max));
    REQUIRE(ordered(0, a->confidence) && ordered(a->confidence, 1));
    REQUIRE(ordered(0, a->naive.warm_up_share) && ordered(a->naive.warm_up_share, 1));
    REQUIRE(ordered(0, a->needs.at_least) && ordered(0, a->noise) && ordered(0, a->spikes.height));
}

static void check_verdict(const struct answer *a)
{
    bool leak = a->verdict == VERDICT_LEAK, open = a->verdict == VERDICT_INCONCLUSIVE;
    REQUIRE(verdict_name(a->verdict) && severity_name(a->severity) && pattern_name(a->pattern));
    REQUIRE((a->severity != SEVERITY_NONE) == leak);
    REQUIRE(!leak || (!a->suspect && !isnan(a->alarm_at) && !isnan(a->onset_at)));
    REQUIRE(!leak || a->rate > 0);
    REQUIRE(open == (a->needs.why[0] != '\0') && open == !isnan(a->needs.at_least));
    REQUIRE(open == isnan(a->confidence));
    REQUIRE(a->why_count > 0 && a->why_count <= ANSWER_WHY);
    for (unsigned i = 0; i < a->why_count; i++)
        REQUIRE(a->why[i][0] != '\0' && memchr(a->why[i], '\0', ANSWER_WHY_LENGTH));
}

static void check_counts(const struct answer *a, const struct run *r)
{
    REQUIRE(a->samples == r->samples && a->refused == r->refused && a->restarts == r->restarts);
    REQUIRE(isnan(a->min) == (r->samples == 0) && isnan(a->last) == (r->of_this_run == 0));
    const struct history *h = engine_history(r->engine);
    uint64_t held = 0;
    for (unsigned i = 0; i < h->count; i++)
        held += h->blocks[i].count;
    REQUIRE(h->count <= HISTORY_BLOCKS && held == r->of_this_run);
}

static void check(const struct run *r, struct answer *ret)
{
    memset(ret, 0, sizeof *ret);
    engine_answer(r->engine, ret);
    REQUIRE(ret->reason_count > 0 && ret->reason_count <= ANSWER_WHY);
    reasons_write(ret, SERIES_BYTES, CLOCK_STEP);
    REQUIRE(engine_bytes(r->engine) <= ENGINE_MAX_BYTES);
    check_counts(ret, r);
    check_phases(ret, r);
    check_numbers(ret);
    check_verdict(ret);
}

/* ---- the steps of a program ---- */

static void push(struct run *r, double step, double seconds, double value)
{
    int result = engine_push(r->engine, step, seconds, value);
    REQUIRE(result == 0 || result == -ERANGE || result == -EINVAL);
    if (result < 0) {
        r->refused++;
        return;
    }
    r->samples++;
    r->of_this_run++;
    r->step = step;
    r->seconds = seconds;
    r->value = value;
}

/* A stretch of samples with a slope and some noise. */
static void push_stretch(struct run *r, struct program *p)
{
    uint8_t count = take_byte(p), unrest = take_byte(p);
    double every = take_size(p), slope = take_size(p), step = r->step, seconds = r->seconds;
    double value = isnan(r->value) ? 0 : r->value, sign = unrest & 1 ? -1 : 1;
    step = isnan(step) ? 0 : step;
    for (unsigned i = 0; i < 4U * count && r->samples < MOST_SAMPLES; i++) {
        double jitter = (double) ((i * 37U) % (1U + unrest / 2));
        step += every;
        seconds += 0.5;
        value += sign * slope;
        push(r, step, r->clock == CLOCK_SECONDS ? step : seconds, value + jitter * slope);
    }
}

static void do_next(struct run *r, struct program *p)
{
    uint8_t order = take_byte(p);
    switch (order % 8) {
    case 0:
        engine_restart(r->engine);
        r->restarts++;
        r->of_this_run = 0;
        r->step = r->seconds = 0;
        break;
    case 1:
        engine_epoch_mark(r->engine, order & 8 ? take_double(p) : r->step);
        break;
    case 2: {
        double step = take_double(p), seconds = take_double(p);
        push(r, step, seconds, take_double(p));
        break;
    }
    case 3: {
        double step = r->step + take_size(p);
        push(r, step, step, take_double(p));
        break;
    }
    case 4:
        if (r->asks > 0) {
            struct answer a;
            check(r, &a);
            r->asks--;
        }
        break;
    default:
        push_stretch(r, p);
        break;
    }
}

static void run_program(const uint8_t *data, size_t size, unsigned asks, struct answer *ret)
{
    struct program p = {data, size, 0};
    struct engine_options options = take_options(&p);
    struct run r = {.clock = options.clock, .asks = asks};
    REQUIRE(engine_new(&options, &r.engine) == 0);
    while (p.next < p.size && r.samples < MOST_SAMPLES)
        do_next(&r, &p);
    check(&r, ret);
    engine_free(r.engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct answer asked, left_alone;
    run_program(data, size, MOST_ASKS, &asked);
    run_program(data, size, 0, &left_alone);
    REQUIRE(same_answer(&asked, &left_alone));
    return 0;
}

/* tests/unit/test_stairs.c: floors that climb in stairs, with and without a leak. */
#include "verdict/stairs.h"

#include "runs.h"
#include "unit.h"

/* ---- the stairs of a history ---- */

/* Blocks at 10, 20, ...: `width` blocks for each level. */
struct made_floor {
    struct history h;
    double at;
};

static void lay(struct made_floor *f, double level, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (history_push(&f->h, f->at += 10, NAN, level) < 0)
            abort();
}

/* Treads of `width` blocks; each but the first is one stair. */
static struct made_floor floor_with(const double *levels, size_t count, size_t width)
{
    struct made_floor f = {.at = 0};
    history_init(&f.h);
    for (size_t i = 0; i < count; i++)
        lay(&f, levels[i], width);
    return f;
}

#define FLOOR(width, ...)                                                                          \
    floor_with((const double[]){__VA_ARGS__},                                                      \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double), width)

static bool is_habit(struct made_floor f, struct stairs *ret)
{
    struct stairs all;
    bool habit = stairs_find(&f.h, 1, &all) && stairs_habit(&all, &f.h, ret);
    history_release(&f.h);
    return habit;
}

TEST(stairs__are_what_was_never_undercut_again)
{
    struct made_floor f = FLOOR(5, 100, 150, 110, 190, 120, 300, 130);
    struct stairs s;
    CHECK(stairs_find(&f.h, 1, &s));
    CHECK(s.count == 3 && s.usual_height == 10);
    CHECK(s.level[0] == 100 && s.level[1] == 110 && s.level[3] == 130);
    CHECK(s.at[1] == 55 && s.at[2] == 155);
    history_release(&f.h);
}

TEST(stairs__leave_out_a_rise_that_may_be_a_spike)
{
    struct made_floor f = FLOOR(8, 100, 110, 120, 130);
    lay(&f, 500, 3);
    struct stairs s;
    CHECK(stairs_find(&f.h, 1, &s));
    CHECK(s.count == 3 && s.reached == 130);
    lay(&f, 500, 3);
    CHECK(stairs_find(&f.h, 1, &s));
    CHECK(s.count == 4 && s.reached == 500);
    history_release(&f.h);
}

TEST(stairs__need_two_rises)
{
    struct made_floor none = {.at = 0}, once = FLOOR(8, 100, 110);
    struct stairs s;
    history_init(&none.h);
    CHECK(!stairs_find(&none.h, 1, &s) && !stairs_find(&once.h, 1, &s));
    history_release(&none.h);
    history_release(&once.h);
}

TEST(stairs__are_a_habit_after_five_of_a_kind)
{
    struct stairs s;
    CHECK(!is_habit(FLOOR(8, 100, 110, 120, 130, 140), &s));
    CHECK(is_habit(FLOOR(8, 100, 110, 120, 130, 140, 150), &s));
    CHECK(s.count == 5 && s.usual_interval == 80 && s.usual_height == 10);
    CHECK_NEAR(s.slope, 10.0 / 80, 1e-9);
    CHECK(s.error > 0 && s.error < 0.2 * s.slope);
}

TEST(stairs__have_a_rate_that_one_high_stair_does_not_change)
{
    struct stairs s;
    CHECK(is_habit(FLOOR(8, 100, 110, 120, 130, 140, 240, 250, 260), &s));
    CHECK_NEAR(s.slope, 10.0 / 80, 0.2 * 10 / 80);
}

TEST(stairs__that_get_lower_are_no_habit)
{
    struct stairs s;
    CHECK(!is_habit(FLOOR(8, 100, 200, 250, 275, 288, 294, 297), &s));
    CHECK(!is_habit(FLOOR(8, 100, 140, 170, 190, 204, 214, 221, 226), &s));
}

TEST(stairs__that_get_rarer_are_no_habit)
{
    struct made_floor f = {.at = 0};
    struct stairs s;
    history_init(&f.h);
    size_t width = 2;
    for (int i = 0; i <= 6; i++, width += width / 2 + 1)
        lay(&f, 100 + 10 * i, width);
    CHECK(!is_habit(f, &s));
}

TEST(stairs__of_all_heights_are_no_habit)
{
    struct stairs s;
    CHECK(!is_habit(FLOOR(8, 100, 102, 150, 155, 235, 247, 400), &s));
}

TEST(stairs__back_to_where_the_floor_was_are_no_habit)
{
    struct stairs s;
    CHECK(!is_habit(FLOOR(8, 150, 140, 160, 150, 100, 110, 120, 130, 140, 150), &s));
    CHECK(is_habit(FLOOR(8, 100, 100, 100, 100, 100, 110, 120, 130, 140, 150), &s));
    CHECK_NEAR(s.at[0], 325, 1e-9); /* as long before the first stair as others lie apart */
}

TEST(stairs__may_pause_for_as_long_as_a_high_one_lasts)
{
    struct stairs s;
    struct made_floor f = FLOOR(8, 100, 110, 120, 130, 140, 180);
    lay(&f, 180, 24);
    lay(&f, 190, 8);
    CHECK(is_habit(f, &s) && s.count == 6);
    f = FLOOR(8, 100, 110, 120, 130, 140, 150);
    lay(&f, 150, 24);
    lay(&f, 160, 8);
    CHECK(!is_habit(f, &s));
}

TEST(stairs__know_how_far_behind_they_are)
{
    struct stairs s;
    CHECK(is_habit(FLOOR(8, 100, 110, 120, 130, 140, 150), &s));
    CHECK_NEAR(stairs_behind(&s, s.at[5]), 0, 1e-9);
    CHECK_NEAR(stairs_behind(&s, s.at[5] + 240), 3, 1e-9);
}

/* ---- jobs that evaluate ---- */

/* What an evaluation leaves free, as a share of what it took. */
typedef double left_free(unsigned evaluation, struct random *r);

/* A heap: a leak fills free memory first; an evaluation takes memory and leaves some of it free.
 * Sizes in MB. */
struct job {
    double every;  /* steps between evaluations */
    double leak;   /* from one evaluation to the next */
    double spike;  /* what one takes, plus or minus a fifth */
    double kept;   /* by each evaluation itself */
    double shrink; /* the next one keeps this share of it; 0: the same */
    double noise;
    left_free *left;
};

struct heap {
    double used, held;
    unsigned evaluations;
};

static void evaluate(const struct job *j, struct heap *heap, struct engine *e, double at,
                     struct random *r)
{
    double top = heap->used + j->spike * (0.8 + 0.4 * random_uniform(r));
    double kept = j->kept * (j->shrink > 0 ? pow(j->shrink, heap->evaluations) : 1);
    heap->held = fmax(heap->held, top);
    for (int i = 1; i <= 3; i++)
        if (engine_push(e, at, NAN, heap->held * MB) < 0)
            abort();
    heap->evaluations++;
    heap->used += kept;
    heap->held = fmin(heap->held, heap->used + j->left(heap->evaluations, r) * j->spike);
}

static void train(const struct job *j, struct heap *heap, struct engine *e, double from, double to,
                  struct random *r)
{
    for (double at = from; at <= to; at++) {
        heap->used += j->leak / j->every;
        heap->held = fmax(heap->held, heap->used);
        double value = heap->held + j->noise * fabs(random_normal(r));
        if (engine_push(e, at, NAN, 4 * KB * floor(value * 256)) < 0)
            abort();
        if (fmod(at, j->every) == 0)
            evaluate(j, heap, e, at, r);
    }
}

static struct answer judge_job(const struct job *j, double evaluations, bool knows_epoch,
                               uint64_t seed)
{
    struct engine *e = engine_for(BY_STEP(.epoch_length = knows_epoch ? j->every : 0));
    struct heap heap = {400, 400, 0};
    struct random r = {seed};
    train(j, &heap, e, 1, (evaluations + 0.6) * j->every, &r);
    engine_finish(e);
    struct answer a = ask(e);
    engine_free(e);
    return a;
}

static const double distances[] = {100, 200, 500};

/* Of 24 runs with known and unknown epochs: how many have that verdict, and how many ever raised
 * an alarm. */
struct tally {
    int leaks, clean, alarms, right_rates;
};

static struct tally count(struct job j, double evaluations)
{
    struct tally t = {0};
    for (uint64_t run = 0; run < 24; run++) {
        j.every = distances[run % 3];
        struct answer a = judge_job(&j, evaluations, run % 2 != 0, run + 1);
        t.leaks += a.verdict == VERDICT_LEAK;
        t.clean += a.verdict == VERDICT_NO_LEAK;
        t.alarms += !isnan(a.alarm_at);
        t.right_rates += fabs(a.rate * j.every / MB / (j.leak + j.kept) - 1) < 0.25;
    }
    return t;
}

static double nothing(unsigned evaluation, struct random *r)
{
    (void) evaluation;
    (void) r;
    return 0;
}

/* What leaks until the next evaluation, in jobs that leak two fifths of a spike. */
static double as_much_as_leaks(unsigned evaluation, struct random *r)
{
    (void) evaluation;
    (void) r;
    return 0.4;
}

static double about_as_much(unsigned evaluation, struct random *r)
{
    (void) evaluation;
    return 0.4 * (0.7 + 0.6 * random_uniform(r));
}

static double now_and_then_more(unsigned evaluation, struct random *r)
{
    (void) evaluation;
    return random_uniform(r) < 0.15 ? 0.8 : 0.4;
}

TEST(jobs__that_leak_into_what_evaluations_free_are_told)
{
    left_free *const ways[] = {as_much_as_leaks, about_as_much, now_and_then_more};
    const double noises[] = {0, 0.1, 0.5};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            struct tally t = count(
                (struct job){.leak = 8, .spike = 20, .noise = noises[k], .left = ways[i]}, 14);
            CHECK(t.leaks >= 23 && t.clean == 0 && t.right_rates >= 23);
        }
}

TEST(jobs__whose_evaluations_keep_something_are_told)
{
    struct tally t = count((struct job){.kept = 5, .spike = 60, .noise = 0.1, .left = nothing}, 12);
    CHECK(t.leaks == 24 && t.right_rates == 24);
}

/* ---- jobs that do not leak ---- */

static double once(unsigned evaluation, struct random *r)
{
    (void) r;
    return evaluation < 2 ? 0 : 0.5;
}

static double three_times(unsigned evaluation, struct random *r)
{
    (void) r;
    return 0.25 * fmin(evaluation, 3);
}

static double at_random(unsigned evaluation, struct random *r)
{
    (void) evaluation;
    return floor(4 * random_uniform(r)) / 4;
}

TEST(jobs__that_find_their_level_are_not_accused)
{
    left_free *const ways[] = {nothing, once, three_times};
    for (size_t i = 0; i < 3; i++) {
        struct tally t = count((struct job){.spike = 60, .noise = 0.1, .left = ways[i]}, 14);
        CHECK(t.leaks == 0 && t.alarms == 0 && t.clean == 24);
    }
}

TEST(jobs__whose_level_changes_with_every_evaluation_are_not_accused)
{
    struct tally t = count((struct job){.spike = 60, .noise = 0.1, .left = at_random}, 30);
    CHECK(t.leaks == 0 && t.alarms <= 1 && t.clean >= 18);
}

TEST(jobs__whose_stairs_get_lower_are_not_accused)
{
    struct job j = {.kept = 20, .shrink = 0.55, .spike = 30, .noise = 0.05, .left = nothing};
    struct tally t = count(j, 18);
    CHECK(t.leaks == 0 && t.alarms <= 1 && t.clean == 24);
}

/* ---- what was called a leak, and what cannot be decided yet ---- */

TEST(jobs__that_leaked_are_acquitted_in_their_own_rhythm)
{
    struct job j = {.every = 500, .kept = 10, .spike = 20, .left = nothing};
    struct engine *e = engine_for(&by_step); /* its horizon is shorter than the rhythm */
    struct heap heap = {400, 400, 0};
    struct random r = {1};
    train(&j, &heap, e, 1, 5000, &r);
    j.kept = 0;
    train(&j, &heap, e, 5001, 5700, &r);
    CHECK(ask(e).verdict == VERDICT_LEAK); /* the next stair is just late */
    train(&j, &heap, e, 5701, 6400, &r);
    CHECK(ask(e).verdict == VERDICT_INCONCLUSIVE);
    train(&j, &heap, e, 6401, 7000, &r);
    CHECK(ask(e).verdict == VERDICT_NO_LEAK);
    engine_free(e);
}

/* Three stairs of 8 MB, one of 68 MB, then level. */
static double stairs_and_reserve(double at, struct random *r)
{
    (void) r;
    return 400 * MB + 8 * MB * fmin(3, floor(at / 200)) + (at < 800 ? 0 : 68 * MB);
}

TEST(stairs__that_free_memory_may_hide_are_not_called_over)
{
    const struct engine_options *o = BY_STEP(.epoch_length = 200);
    struct answer a = judge(o, 1, 2200, 1, stairs_and_reserve);
    CHECK(a.verdict == VERDICT_INCONCLUSIVE);
    CHECK(a.needs.at_least > 0 && a.needs.at_least < 1600);
    CHECK(judge(o, 1, 2200 + 1.1 * a.needs.at_least, 1, stairs_and_reserve).verdict ==
          VERDICT_NO_LEAK);
}

TEST(stairs__are_not_excused_by_a_length_that_the_job_tells)
{
    struct engine_options o = *BY_STEP(.epoch_length = 200, .limit = 64 * GB, .plan = 2300);
    CHECK(judge(&o, 1, 2200, 1, stairs_and_reserve).verdict == VERDICT_NO_LEAK);
    o.plan_reported = true;
    CHECK(judge(&o, 1, 2200, 1, stairs_and_reserve).verdict == VERDICT_INCONCLUSIVE);
}

/* tests/unit/test_reasons.c: every kind of reason has its sentence. */
#include "words/reasons.h"

#include "unit.h"

#include <math.h>
#include <string.h>

#define KB 1024.0
#define MB 1048576.0
#define GB 1073741824.0

/* An answer for a series in bytes from step 1 to step 1,000. */
static struct answer an_answer(void)
{
    struct answer a;
    answer_clear(&a);
    a.verdict = VERDICT_LEAK;
    a.first_at = 1;
    a.last_at = 1000;
    a.horizon = 150;
    a.onset_at = 200;
    a.rate = 2 * KB;
    a.rate_upper = 16;
    a.rate_high = 3 * KB;
    a.last = a.floor_last = 1 * GB;
    a.limit = 8 * GB;
    a.plan = 2000;
    return a;
}

static char text[ANSWER_WHY_LENGTH];

static const char *said_of(struct answer a, struct reason r, enum series_unit unit,
                           enum series_clock clock)
{
    answer_add_reason(&a, r);
    reasons_write(&a, unit, clock);
    strcpy(text, a.why[0]);
    return a.why_count == 1 ? text : "not one sentence";
}

static const char *said(struct answer a, struct reason r)
{
    return said_of(a, r, SERIES_BYTES, CLOCK_STEP);
}

#define SAID(...) said(an_answer(), (struct reason){.kind = __VA_ARGS__})

TEST(reasons__every_kind_has_a_sentence)
{
    for (int kind = 0; kind < REASON_KINDS; kind++) {
        struct reason r = {.kind = (enum reason_kind) kind, .count = 2, .times = 1};
        const char *sentence = said(an_answer(), r);
        if (strlen(sentence) < 10 || strlen(sentence) >= ANSWER_WHY_LENGTH - 1 ||
            sentence[strlen(sentence) - 1] != '.')
            UNIT_FAIL("kind %d: \"%s\"", kind, sentence);
    }
}

TEST(reasons__of_a_leak)
{
    struct answer a = an_answer();
    CHECK_TEXT(SAID(REASON_GREW, .value = 1.5 * MB, .length = 800),
               "The floor has grown by 2.00 KB/step since step 200: 1.50 MB over 800 steps.");
    a.phases[a.phase_count++] =
        (struct phase){.from = 200, .to = 1000, .level_from = 0, .level_to = 800 * KB};
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_GREW, .value = 800 * KB, .length = 800}),
               "The floor has grown by 800 KB over 800 steps since step 200: 1.00 KB/step on "
               "average, and 2.00 KB/step at the end.");
    CHECK_TEXT(SAID(REASON_EPOCHS, .times = 3),
               "That is 3.0 epochs; a cache is full after one pass over the data.");
    CHECK_TEXT(SAID(REASON_HORIZONS, .times = 5.33),
               "That is 5.3 times the longest harmless ramp (150 steps).");
    CHECK_TEXT(SAID(REASON_ROSE_OFTEN, .count = 5, .value = 10 * MB, .length = 100, .at = 900),
               "It rose 5 times by about 10.0 MB, about every 100 steps, last at step 900, and "
               "never fell back.");
    CHECK_TEXT(SAID(REASON_LINE_FITS, .times = 80),
               "The slope is 80 standard errors from zero; a line fits better than steps or a "
               "fading curve.");
    CHECK_TEXT(SAID(REASON_ACCELERATES),
               "The growth is accelerating; the rate is the current one.");
    CHECK_TEXT(SAID(REASON_JUMPS),
               "It climbs in jumps: something is kept now and then, not at every step.");
    CHECK_TEXT(SAID(REASON_LEAKED_BEFORE, .length = 40),
               "The run before the restart leaked 2.00 KB/step; the 40 steps since are too short "
               "to clear it.");
    CHECK_TEXT(SAID(REASON_SHARED_LIMIT, .count = 2),
               "2 leaking processes share the limit; the time left counts the growth of all of "
               "them.");
}

TEST(reasons__of_a_leak_that_is_negligible)
{
    struct answer a = an_answer();
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_NEGLIGIBLE}),
               "It is negligible: it adds 1.95 MB by the plan's end at step 2,000, 0.027 % of the "
               "7.00 GB that are free.");
    a.plan = a.limit = NAN;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_NEGLIGIBLE}),
               "It is negligible: it adds 19.5 MB in a run 10 times as long, 1.9 % of 1.00 GB (no "
               "limit is known).");
}

TEST(reasons__of_no_leak)
{
    struct answer a = an_answer();
    a.warm_up_end = 100;
    a.warm_up_epochs = NAN;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_WARMED_UP}),
               "The warm-up ended at step 100.");
    a.warm_up_epochs = 1.1;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_WARMED_UP}),
               "The warm-up ended at step 100, about one pass over the data: a cache was filling.");
    CHECK_TEXT(SAID(REASON_FLAT, .length = 900),
               "The floor has been flat within noise for the last 900 steps.");
    a.rate = -2 * KB;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_FALLS}), "It falls by 2.00 KB/step.");
    CHECK_TEXT(SAID(REASON_NO_GROWTH), "It does not grow at all.");
    CHECK_TEXT(SAID(REASON_GROWTH_BOUND),
               "It grows by at most 16 B/step: 1 GB would take 67 million steps.");
    a.rate_upper = 0.5;
    CHECK_TEXT(
        said_of(a, (struct reason){.kind = REASON_GROWTH_BOUND}, SERIES_COUNT, CLOCK_SECONDS),
        "It grows by at most 30/min: a million would take 23 days.");
    CHECK_TEXT(SAID(REASON_PLAN_FITS),
               "By the plan's end at step 2,000 it adds at most 15.6 KB; 7.00 GB are free.");
    CHECK_TEXT(SAID(REASON_PLAN_ONLY), "This holds for that plan only: nothing shows that the "
                                       "growth of the last phase (2.00 KB/step) stops.");
}

TEST(reasons__of_a_run_that_is_too_short)
{
    CHECK_TEXT(SAID(REASON_NO_SAMPLE), "There is no sample yet.");
    CHECK_TEXT(SAID(REASON_ONE_SAMPLE), "There is only one sample.");
    CHECK_TEXT(SAID(REASON_FEW_SAMPLES, .count = 7),
               "7 samples are too few to tell growth from chance.");
    CHECK_TEXT(SAID(REASON_STILL_GROWS, .length = 60),
               "It grew by 2.00 KB/step for 60 steps, up to the end; a cache may take 150 "
               "steps to fill.");
    CHECK_TEXT(SAID(REASON_SHORT, .length = 60),
               "It was measured for 60 steps; it takes 150 steps to tell a leak from a warm-up.");
}

TEST(reasons__of_an_open_question)
{
    CHECK_TEXT(SAID(REASON_ROUNDED, .value = 2 * MB, .bound = 1 * MB),
               "It rose by 2.00 MB, but the values are rounded to 1.00 MB: finer values would tell "
               "growth from rounding.");
    CHECK_TEXT(SAID(REASON_MAY_FILL, .at = 521),
               "It has grown by 2.00 KB/step since step 521; it may still be a cache filling.");
    CHECK_TEXT(
        SAID(REASON_FLOOR_ROSE),
        "The floor rose within the last 150 steps; too early to say whether it stays there.");
    CHECK_TEXT(SAID(REASON_STOPPED, .at = 487), "It grew like a leak, then stopped at about step "
                                                "487. Too early to say whether for good.");
    CHECK_TEXT(SAID(REASON_NEW_MAXIMUM), "The last samples are the highest of all: a jump to a new "
                                         "level, or a spike that will pass.");
    CHECK_TEXT(SAID(REASON_WEAK, .rate = 1 * KB, .times = 5.1, .bound = 5.6),
               "It seems to grow by 1.00 KB/step, at 5.1 standard errors; 5.6 are required.");
    CHECK_TEXT(SAID(REASON_UNSTEADY, .rate = 1 * KB),
               "It seems to grow by 1.00 KB/step, but not steadily enough to be called a leak.");
    CHECK_TEXT(SAID(REASON_STAIRS_REST, .count = 3, .value = 10 * MB, .at = 300),
               "It rose 3 times, usually by 10.0 MB, last at step 300, and stayed there; at that "
               "pace it is too early to say whether it goes on.");
    CHECK_TEXT(SAID(REASON_LIMIT_PASSED), "It is at 1.00 GB already, and the limit is 8.00 GB.");
    CHECK_TEXT(SAID(REASON_PLAN_TOO_LONG), "Growth of up to 3.00 KB/step cannot be ruled out; by "
                                           "step 2,000 that could add 2.93 MB.");
}

TEST(reasons__of_any_verdict)
{
    struct answer a = an_answer();
    a.spikes.count = 12;
    a.spikes.height = 200 * MB;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_SPIKES}),
               "Spikes rise about 200 MB above the floor.");
    a.spikes.recovered = true;
    a.spikes.during[a.spikes.during_count++] = (struct spike_activity){"evaluate", 10};
    a.spikes.during[a.spikes.during_count++] = (struct spike_activity){"save", 1};
    a.spikes.during[a.spikes.during_count++] = (struct spike_activity){"log", 1};
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_SPIKES}),
               "Spikes rise about 200 MB above the floor and all fall back: 10 of 12 during "
               "evaluate, 1 during save.");
    a.restarts = 1;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_RESTARTS}),
               "The process was restarted once; only the last run is judged.");
    a.restarts = 2;
    CHECK_TEXT(said(a, (struct reason){.kind = REASON_RESTARTS}),
               "The process was restarted 2 times; only the last run is judged.");
    CHECK_TEXT(SAID(REASON_HEAP_USED), "This is malloc's in-use memory: the process itself does "
                                       "not grow while this fills free heap memory.");
}

TEST(reasons__of_growth_that_the_ledger_excuses)
{
    CHECK_TEXT(SAID(REASON_BOUNDED_HOLDER),
               "A bounded container is filling; the growth ends when it is full.");
    CHECK_TEXT(SAID(REASON_FREE_HEAP),
               "malloc's in-use bytes are flat: the growth is free heap memory. Set "
               "MALLOC_ARENA_MAX=2, call malloc_trim(0) now and then, or use another malloc "
               "(jemalloc).");
    CHECK_TEXT(SAID(REASON_FREE_ARENAS),
               "The growth is free memory in Python's arenas, which stay allocated while any "
               "object in them lives; later objects reuse it.");
    CHECK_TEXT(SAID(REASON_FIRST_TOUCH),
               "The program touches memory that it allocated before, as when it fills an array bit "
               "by bit, and allocates no more. The growth ends when all of it has been touched.");
    CHECK_TEXT(SAID(REASON_FILE_PAGES),
               "These are pages of files: the kernel reclaims them when memory is needed.");
    CHECK_TEXT(SAID(REASON_COPIED),
               "Pages shared at fork become private as they are touched. The process itself does "
               "not grow, so this cannot exceed what was shared.");
    CHECK_TEXT(SAID(REASON_RESERVED), "This is what torch's allocator reserves, in use or not; "
                                      "torch.allocated shows what the program holds.");
    CHECK_TEXT(SAID(REASON_OTHER_JOB), "Most of the growth belongs to another job: no process of "
                                       "this one maps it or has it open.");
    CHECK_TEXT(SAID(REASON_SITE_STOPPED),
               "The tracer saw which lines allocated it: they have stopped growing.");
    CHECK_TEXT(SAID(REASON_UNBOUNDED_SMALL, .value = 100 * KB, .bound = 1 * MB),
               "At most 100 KB of the growth may have no bound; a leak takes 1.00 MB.");
}

TEST(reasons__of_growth_that_the_ledger_leaves_open)
{
    CHECK_TEXT(SAID(REASON_LIBRARIES, .value = 2 * MB, .bound = 4 * MB),
               "It has grown by 2.00 MB, and no Python object holds it; libraries keep up to 4.00 "
               "MB in their first thousands of calls.");
    CHECK_TEXT(SAID(REASON_BOUND_TOO_HIGH, .value = 9 * GB, .bound = 8 * GB),
               "The growth has a bound, but reaches 9.00 GB by then; the limit is 8.00 GB.");
    CHECK_TEXT(SAID(REASON_CENSUS_QUIET), "It grew like a leak, but not at the last censuses. Too "
                                          "early to say whether it has stopped for good.");
    CHECK_TEXT(SAID(REASON_INTERVAL, .value = 1 * MB, .bound = 3 * MB),
               "At least 1.00 MB of the growth has no bound; more than 3.00 MB would be a leak, "
               "but the rest may have a bound.");
    CHECK_TEXT(SAID(REASON_UNEXPLAINED, .value = 1.25, .bound = 3),
               "The censuses do not explain the growth, which has lasted 1.2 horizons. A library's "
               "pool can fill for as long, so 3 are required.");
}

TEST(reasons__the_first_may_say_what_is_missing)
{
    struct answer a = an_answer();
    answer_add_reason(&a, (struct reason){.kind = REASON_NO_SAMPLE});
    answer_add_reason(&a, (struct reason){.kind = REASON_HEAP_USED});
    a.needs.is_first_reason = true;
    reasons_write(&a, SERIES_BYTES, CLOCK_STEP);
    CHECK(a.why_count == 2);
    CHECK_TEXT(a.needs.why, "There is no sample yet.");
    a.needs.is_first_reason = false;
    reasons_write(&a, SERIES_BYTES, CLOCK_STEP);
    CHECK(a.why_count == 2);
    CHECK_TEXT(a.needs.why, "");
}

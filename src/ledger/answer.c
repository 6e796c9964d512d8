/* ledger/answer.c: the engine's answer, as the ledger judges it. */
#include "base/base.h"
#include "ledger/ledger.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum pattern pattern;
    bool ends; /* at some level: there is no forecast beyond that */
    const char *why;
} excuses[LEDGER_KINDS] = {
    [LEDGER_HOLDER] = {PATTERN_BOUNDED_CACHE, true,
                       "A container with a bound fills: it ends when it is full."},
    [LEDGER_FREE_HEAP] = {PATTERN_ALLOCATOR_RETENTION, false,
                          "malloc's in-use bytes stand still: the growth is free heap memory. Set "
                          "MALLOC_ARENA_MAX=2, call malloc_trim(0) now and then, or use another "
                          "malloc (jemalloc)."},
    [LEDGER_FREE_ARENAS] = {PATTERN_ALLOCATOR_RETENTION, false,
                            "Python keeps arenas of which a part is still in use: the growth is "
                            "free memory in them, which later objects use."},
    [LEDGER_FIRST_TOUCH] = {PATTERN_BOUNDED_CACHE, true,
                            "Memory that was allocated before is used for the first time, as when "
                            "an array is filled bit by bit, and no more is allocated: it ends when "
                            "all of it has been used."},
    [LEDGER_FILE_PAGES] = {PATTERN_PAGE_CACHE, false,
                           "Pages of files: the kernel takes them back when memory is needed."},
    [LEDGER_COPIED] = {PATTERN_COPY_ON_WRITE, false,
                       "Pages shared at the fork become private as they are touched; the process "
                       "itself does not grow, so that ends."},
    [LEDGER_RESERVED] = {PATTERN_ALLOCATOR_RETENTION, false,
                         "What the allocator of torch keeps, in use or not: torch.allocated says "
                         "what the program holds."},
    [LEDGER_OTHERS] = {PATTERN_UNKNOWN, false,
                       "Most of the growth is another job's: no process of this one maps it or has "
                       "it open."},
    [LEDGER_REST] = {PATTERN_UNKNOWN, false, ""},
};

/* The engine's reasons speak for another verdict. */
static void replace_reasons(struct answer *a, const char *why)
{
    a->why_count = 1;
    snprintf(a->why[0], sizeof(a->why[0]), "%s", why);
    a->needs.at_least = a->needs.seconds = NAN;
    a->needs.why[0] = '\0';
}

static void clear_alarm(struct answer *a)
{
    a->severity = SEVERITY_NONE;
    a->suspect = false;
    a->alarm_at = a->suspect_at = NAN;
}

static void say_small(const struct ledger_judgement *j, struct buf *why)
{
    buf_adds(why, "What may be endless of the growth is ");
    units_add_bytes(why, j->value);
    buf_adds(why, " in all, less than ");
    units_add_bytes(why, j->bound);
    buf_addc(why, '.');
}

static void explain(const struct ledger_judgement *j, struct answer *a)
{
    struct buf small = BUF_INIT;
    a->verdict = VERDICT_NO_LEAK;
    clear_alarm(a);
    a->rate_upper = NAN;
    if (excuses[j->excuse].ends && !isnan(a->forecast.limit_at)) { /* before the limit */
        a->forecast.limit_at = a->forecast.limit_low = a->forecast.limit_high = INFINITY;
        a->forecast.limit_seconds = INFINITY;
    }
    a->pattern = excuses[j->excuse].pattern;
    if (j->rule == RULE_SMALL)
        say_small(j, &small);
    replace_reasons(a, j->rule == RULE_SMALL ? buf_text(&small) : excuses[j->excuse].why);
    buf_release(&small);
}

/* What would settle it, in units of the clock. */
static double missing(const struct ledger_judgement *j, const struct answer *a)
{
    if (j->rule == RULE_LITTLE)
        return (j->bound - j->value) / a->rate;
    return j->rule == RULE_TOO_SHORT ? (j->bound - j->value) * a->horizon : (double) NAN;
}

static void say_open(const struct ledger_judgement *j, struct buf *why)
{
    struct buf value = BUF_INIT, bound = BUF_INIT;
    units_add_bytes(&value, j->value);
    units_add_bytes(&bound, j->bound);
    if (j->rule == RULE_LITTLE)
        buf_addf(why,
                 "It has grown by %s, and no Python object holds it: libraries keep up to %s of "
                 "their first thousands of calls.",
                 buf_text(&value), buf_text(&bound));
    else if (j->rule == RULE_DOES_NOT_FIT)
        buf_addf(why, "It has a bound, but reaches %s by then, and the limit is %s.",
                 buf_text(&value), buf_text(&bound));
    else if (j->rule == RULE_OPEN)
        buf_adds(why, "It grew like a leak, but not at the last censuses. Too early to say whether "
                      "it has stopped for good.");
    else if (j->rule == RULE_TOO_WIDE)
        buf_addf(why,
                 "At least %s of the growth has no bound, and more than %s would be a leak: the "
                 "rest may have one.",
                 buf_text(&value), buf_text(&bound));
    else
        buf_addf(why,
                 "The censuses do not explain the growth, which has lasted %.1f horizons: a "
                 "library's pool fills for as long. %.0f horizons are required.",
                 j->value, j->bound);
    buf_release(&value);
    buf_release(&bound);
}

static void leave_open(const struct ledger_judgement *j, struct answer *a)
{
    struct buf why = BUF_INIT;
    double units = missing(j, a);
    say_open(j, &why);
    a->verdict = VERDICT_INCONCLUSIVE;
    a->pattern = PATTERN_UNKNOWN;
    a->confidence = NAN;
    clear_alarm(a);
    a->suspect = j->rule != RULE_LITTLE;
    replace_reasons(a, buf_text(&why));
    a->needs.at_least = units;
    a->needs.seconds = units * a->rate / a->rate_per_second;
    buf_release(&why);
}

/* Objects that are counted matter by the bytes they take. */
static enum severity severity_by_weight(const struct ledger_weight *x, enum series_clock clock,
                                        const struct answer *a)
{
    struct answer bytes = *a;
    bytes.rate = a->rate * x->each;
    bytes.floor_last = x->level;
    bytes.limit = x->limit > 0 ? x->limit : (double) NAN;
    return severity_of(&bytes, SERIES_BYTES, clock);
}

void ledger_answer(const struct ledger_judgement *j, enum series_clock clock, bool has_grown,
                   struct answer *a)
{
    if (j->verdict == VERDICT_LEAK && a->verdict == VERDICT_LEAK && j->weight.each > 0)
        a->severity = severity_by_weight(&j->weight, clock, a);
    if (j->verdict == VERDICT_NO_LEAK && j->rule != RULE_NO_GROWTH && has_grown)
        explain(j, a);
    else if (j->verdict == VERDICT_INCONCLUSIVE && a->verdict == VERDICT_LEAK)
        leave_open(j, a);
}

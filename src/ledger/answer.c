/* ledger/answer.c: the engine's answer, corrected by the ledger's judgement. */
#include "base/base.h"
#include "ledger/ledger.h"

#include <math.h>

static const struct {
    enum pattern pattern;
    bool ends; /* the growth ends: no forecast beyond that */
    enum reason_kind reason;
} excuses[LEDGER_KINDS] = {
    [LEDGER_HOLDER] = {PATTERN_BOUNDED_CACHE, true, REASON_BOUNDED_HOLDER},
    [LEDGER_FREE_HEAP] = {PATTERN_ALLOCATOR_RETENTION, false, REASON_FREE_HEAP},
    [LEDGER_FREE_ARENAS] = {PATTERN_ALLOCATOR_RETENTION, false, REASON_FREE_ARENAS},
    [LEDGER_FIRST_TOUCH] = {PATTERN_BOUNDED_CACHE, true, REASON_FIRST_TOUCH},
    [LEDGER_FILE_PAGES] = {PATTERN_PAGE_CACHE, false, REASON_FILE_PAGES},
    [LEDGER_COPIED] = {PATTERN_COPY_ON_WRITE, false, REASON_COPIED},
    [LEDGER_RESERVED] = {PATTERN_ALLOCATOR_RETENTION, false, REASON_RESERVED},
    [LEDGER_OTHERS] = {PATTERN_UNKNOWN, false, REASON_OTHER_JOB},
    [LEDGER_SITE] = {PATTERN_WARM_UP, true, REASON_SITE_STOPPED},
    [LEDGER_REST] = {PATTERN_UNKNOWN, false, REASON_UNBOUNDED_SMALL},
};

/* The engine's reasons are for another verdict. */
static void replace_reasons(struct answer *a, struct reason reason)
{
    a->reason_count = 0;
    answer_add_reason(a, reason);
    a->needs.at_least = a->needs.seconds = NAN;
    a->needs.is_first_reason = false;
}

static void clear_alarm(struct answer *a)
{
    a->severity = SEVERITY_NONE;
    a->suspect = false;
    a->alarm_at = a->suspect_at = NAN;
}

static void acquit(const struct ledger_judgement *j, struct answer *a)
{
    enum ledger_kind excuse = j->rule == RULE_SMALL ? LEDGER_REST : j->excuse;
    a->verdict = VERDICT_NO_LEAK;
    clear_alarm(a);
    a->rate_upper = NAN;
    if (excuses[j->excuse].ends && !isnan(a->forecast.limit_at)) { /* it ends before the limit */
        a->forecast.limit_at = a->forecast.limit_low = a->forecast.limit_high = INFINITY;
        a->forecast.limit_seconds = INFINITY;
    }
    a->pattern = excuses[j->excuse].pattern;
    replace_reasons(
        a, (struct reason){.kind = excuses[excuse].reason, .value = j->value, .bound = j->bound});
}

/* How much more would settle it, in units of the clock. */
static double missing(const struct ledger_judgement *j, const struct answer *a)
{
    if (j->rule == RULE_LITTLE)
        return (j->bound - j->value) / a->rate;
    return j->rule == RULE_TOO_SHORT ? (j->bound - j->value) * a->horizon : (double) NAN;
}

static enum reason_kind open_reason(enum ledger_rule rule)
{
    switch (rule) {
    case RULE_LITTLE:
        return REASON_LIBRARIES;
    case RULE_DOES_NOT_FIT:
        return REASON_BOUND_TOO_HIGH;
    case RULE_OPEN:
        return REASON_CENSUS_QUIET;
    case RULE_TOO_WIDE:
        return REASON_INTERVAL;
    default:
        return REASON_UNEXPLAINED;
    }
}

static void leave_open(const struct ledger_judgement *j, struct answer *a)
{
    double units = missing(j, a);
    a->verdict = VERDICT_INCONCLUSIVE;
    a->pattern = PATTERN_UNKNOWN;
    a->confidence = NAN;
    clear_alarm(a);
    a->suspect = j->rule != RULE_LITTLE;
    replace_reasons(
        a, (struct reason){.kind = open_reason(j->rule), .value = j->value, .bound = j->bound});
    a->needs.at_least = units;
    a->needs.seconds = units * a->rate / a->rate_per_second;
}

/* A leak of counted objects matters by the bytes they take. */
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
        acquit(j, a);
    else if (j->verdict == VERDICT_INCONCLUSIVE && a->verdict == VERDICT_LEAK)
        leave_open(j, a);
}

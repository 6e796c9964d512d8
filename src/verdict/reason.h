/* verdict/reason.h: why an answer is as it is, as facts. words/reasons.c has their sentences. */
#ifndef TIDEMARK_VERDICT_REASON_H
#define TIDEMARK_VERDICT_REASON_H

/*
 * One kind is one sentence. A comment in brackets names the members of struct reason that the kind
 * fills; the sentence takes its other numbers from the answer.
 */
enum reason_kind {
    /* Leak. */
    REASON_GREW,       /* since its onset: by so much, over so long [value, length] */
    REASON_EPOCHS,     /* for so many epochs [times] */
    REASON_HORIZONS,   /* for so many horizons [times] */
    REASON_ROSE_OFTEN, /* number, height, interval and last of its rises
                          [count, value, length, at] */
    REASON_LINE_FITS,  /* slope in standard errors [times] */
    REASON_ACCELERATES,
    REASON_JUMPS,
    REASON_NEGLIGIBLE,    /* what it adds, against the headroom */
    REASON_LEAKED_BEFORE, /* before the restart; length of the run since [length] */
    REASON_SHARED_LIMIT,  /* number of leaking processes [count] */

    /* No leak. */
    REASON_WARMED_UP,
    REASON_FLAT, /* for so long [length] */
    REASON_FALLS,
    REASON_NO_GROWTH,
    REASON_GROWTH_BOUND, /* the rate is at most rate_upper */
    REASON_PLAN_FITS,    /* what it may add by the plan's end fits */
    REASON_PLAN_ONLY,    /* it may go on growing beyond the plan */

    /* Inconclusive. */
    REASON_NO_SAMPLE,
    REASON_ONE_SAMPLE,
    REASON_FEW_SAMPLES, /* number of samples [count] */
    REASON_STILL_GROWS, /* at the end, for so long [length] */
    REASON_SHORT,       /* length of the run [length] */
    REASON_ROUNDED,     /* the rise, and one unit of rounding [value, bound] */
    REASON_MAY_FILL,    /* a cache may be filling since [at] */
    REASON_FLOOR_ROSE,  /* within the last horizon */
    REASON_STOPPED,     /* growth stopped lately [at] */
    REASON_NEW_MAXIMUM, /* at the end */
    REASON_WEAK,        /* slope, its standard errors, those required [rate, times, bound] */
    REASON_UNSTEADY,    /* slope of significant but unsteady growth [rate] */
    REASON_STAIRS_REST, /* number, height and last of the rises [count, value, at] */
    REASON_LIMIT_PASSED,
    REASON_PLAN_TOO_LONG, /* growth that cannot be ruled out may matter by the plan's end */

    /* Any verdict. */
    REASON_SPIKES,
    REASON_RESTARTS,
    REASON_HEAP_USED, /* the series is malloc's in-use bytes, beside the process's memory */

    /* The ledger: growth that is not a leak ... */
    REASON_BOUNDED_HOLDER,
    REASON_FREE_HEAP,
    REASON_FREE_ARENAS,
    REASON_FIRST_TOUCH,
    REASON_FILE_PAGES,
    REASON_COPIED,
    REASON_RESERVED,
    REASON_OTHER_JOB,
    REASON_SITE_STOPPED,
    REASON_UNBOUNDED_SMALL, /* bytes without a bound, bytes that would be a leak [value, bound] */
    /* ... and growth that may be one. */
    REASON_LIBRARIES,      /* bytes grown, bytes that libraries keep [value, bound] */
    REASON_BOUND_TOO_HIGH, /* bytes at its end, the limit [value, bound] */
    REASON_CENSUS_QUIET,   /* the last censuses found no growth */
    REASON_INTERVAL,       /* bytes without a bound, bytes that would be a leak [value, bound] */
    REASON_UNEXPLAINED,    /* horizons it has lasted, horizons required [value, bound] */

    REASON_KINDS,
};

/* Members that the kind does not fill are 0. */
struct reason {
    enum reason_kind kind;
    unsigned count;
    double at;           /* a position on the clock */
    double length;       /* of a stretch of the clock */
    double value, bound; /* in the series' unit, where the kind says nothing else */
    double rate;
    double times;
};

#endif

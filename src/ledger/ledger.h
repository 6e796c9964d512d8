/* ledger/ledger.h: the parts of a growth, and the judgement from them. Pure: no I/O, no clock. */
#ifndef TIDEMARK_LEDGER_H
#define TIDEMARK_LEDGER_H

#include "verdict/verdict.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The engine says whether a series grows. A ledger says what the growth is made of: parts with
 * intervals that add up to it, each with a fate. What no part explains is a part too. One rule
 * turns a ledger into a judgement. docs/LEDGER.md has the reasons.
 */

/* Shares of a whole: below SMALL it does not matter, below PART the rest explains it, above MOST it
 * is most of it. */
#define LEDGER_SMALL 0.05
#define LEDGER_PART 0.25
#define LEDGER_MOST 0.5

/* `high` is INFINITY where part of it could not be measured. */
struct interval {
    double low, high;
};

enum fate {
    FATE_ENDLESS,   /* has outlasted the horizon, still grows, nothing bounds it */
    FATE_ENDS,      /* bounded: `to_come` is what it may still grow by */
    FATE_KEPT_FREE, /* free inside an allocator, or kept by the kernel: reusable */
    FATE_UNKNOWN,   /* measured but not explained, or not long enough */
};

const char *fate_name(enum fate fate); /* "endless" */

enum ledger_kind {
    LEDGER_HOLDER,      /* items that a named holder gained */
    LEDGER_FREE_HEAP,   /* free bytes of malloc's */
    LEDGER_FREE_ARENAS, /* free blocks and pools of Python's arenas */
    LEDGER_FIRST_TOUCH, /* pages mapped earlier, touched for the first time */
    LEDGER_FILE_PAGES,  /* pages of files, which the kernel can reclaim */
    LEDGER_COPIED,      /* pages shared at a fork that became private */
    LEDGER_RESERVED,    /* memory that torch's allocator reserves */
    LEDGER_OTHERS,      /* shared memory of other jobs */
    LEDGER_SITE,        /* what the tracer saw one line of the program allocate and keep */
    LEDGER_REST,        /* growth that nothing explains */
    LEDGER_KINDS,
};

/* Why nothing explains the rest. */
enum ledger_rest {
    REST_NOT_EXAMINED, /* no complete census */
    REST_NOT_FOUND,    /* censuses name nothing */
    REST_NATIVE,       /* most of the growth is in use by malloc, and no Python object holds it */
};

/* ---- evidence: all amounts are differences over one window ---- */

enum engine_says { ENGINE_NO_GROWTH, ENGINE_OPEN, ENGINE_LASTING };

struct ledger_holder {
    size_t source;        /* the caller's number for it */
    double gained;        /* items */
    struct interval each; /* bytes of an item */
    double missing;       /* items until it is full; NAN: it has no bound */
    bool is_held;         /* false: no holder was found, or the collector may free them */
    bool is_tally;        /* counted by type: another holder may have them too */
};

/* Who allocates does not tell who keeps it, or whether there is a bound. So a site names growth
 * that would be unknown, and needs as much patience. */
struct ledger_site {
    size_t source;          /* the caller's number for it */
    struct interval gained; /* bytes */
    bool has_stopped;       /* it gains no more */
};

struct ledger_evidence {
    enum engine_says engine;
    double growth;       /* of the series, over the window */
    double rise;         /* of the series, since the growth began */
    double resolution;   /* smallest growth the counter can show */
    double unnamed;      /* a smaller rise without a named holder may end soon */
    double horizons;     /* how long it has grown, or was measured where that is open */
    double level, limit; /* of the series at the end; limit 0: not known */

    /* NAN: not known. */
    double heap_used, heap_free;     /* malloc's */
    double arenas_used, arenas_free; /* Python's; malloc counts none of them */
    double asked;                    /* requested from the kernel, touched or not */
    double untouched;                /* at the end: bytes that were never touched */

    bool has_census;  /* any */
    bool is_censused; /* completely, and often enough */
    const struct ledger_holder *holders;
    size_t holder_count;
    const struct ledger_site *sites; /* where it was allocated, the largest first */
    size_t site_count;
};

/* ---- the ledger ---- */

#define LEDGER_PARTS 88u

struct ledger_part {
    enum ledger_kind kind;
    enum fate fate;
    struct interval bytes, to_come;
    double missing; /* of a holder: items until its bound, for each that it gained */
    size_t source;  /* of a holder, or a site */
    bool is_tally;
};

/*
 * `total` is the growth of the series, plus what meanwhile filled free memory of malloc or of
 * Python's arenas: a slow leak inside that does not make the process grow. `endless` is what
 * remains of it without all parts that end or are free. The parts' lower ends never add up to
 * more than the total.
 */
struct ledger {
    double growth, total;
    struct ledger_part parts[LEDGER_PARTS]; /* the largest first, the rest last */
    unsigned count;
    enum ledger_rest rest;
    struct interval endless, to_come;
};

void ledger_build(const struct ledger_evidence *e, struct ledger *ret);

/* ---- the rule ---- */

enum ledger_rule {
    RULE_NO_GROWTH,    /* no leak: the engine sees none */
    RULE_EXPLAINED,    /* no leak: nearly all of it ends or is free, and it fits */
    RULE_SMALL,        /* no leak: the part that may be endless is too small to count */
    RULE_DOES_NOT_FIT, /* inconclusive: the growth to come may not fit */
    RULE_ENDLESS,      /* leak: an endless part is large enough */
    RULE_PINNED,       /* leak: items of an endless part may pin all free memory */
    RULE_LASTING,      /* leak: nothing explains it, and it has lasted */
    RULE_TOO_SHORT,    /* inconclusive: nothing explains it, and it has not lasted */
    RULE_OPEN,         /* inconclusive: the engine leaves it open, and nothing explains it */
    RULE_LITTLE,       /* inconclusive: nothing explains it, but libraries keep as much */
    RULE_TOO_WIDE,     /* inconclusive: the intervals allow both */
};

struct ledger_judgement {
    enum verdict verdict;
    enum ledger_rule rule;
    double value, bound;     /* the deciding amount, and the bound it was compared with */
    size_t widest;           /* the part with the widest interval; SIZE_MAX: none */
    enum ledger_kind excuse; /* the largest excused part; LEDGER_REST: none */
    struct ledger_weight {
        double each, level, limit; /* bytes: of an object, of the memory they are in, its limit */
    } weight;                      /* where the series counts objects; else each is 0 */
};

void ledger_judge(const struct ledger *l, const struct ledger_evidence *e,
                  struct ledger_judgement *ret);

/* A ledger of one part: everything this counter counts is of that kind. */
struct ledger_judgement ledger_excuse(enum ledger_kind kind);

/*
 * Changes the engine's answer to the judgement's verdict, pattern and reasons; the numbers stay
 * the engine's. `has_grown`: by enough to mention.
 */
void ledger_answer(const struct ledger_judgement *j, enum series_clock clock, bool has_grown,
                   struct answer *a);

#endif

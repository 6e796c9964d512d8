/* ledger/ledger.h: what growth is made of, and what follows from that. Pure: no I/O, no clock. */
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

/* Of a whole: less does not matter, less leaves the whole explained, more is the most of it. */
#define LEDGER_SMALL 0.05
#define LEDGER_PART 0.25
#define LEDGER_MOST 0.5

/* `high` INFINITY: not all of it could be measured. */
struct interval {
    double low, high;
};

enum fate {
    FATE_ENDLESS,   /* has outlasted the horizon, still grows, nothing bounds it */
    FATE_ENDS,      /* bounded: `to_come` says what is still missing */
    FATE_KEPT_FREE, /* free inside an allocator, or kept by the kernel: reusable */
    FATE_UNKNOWN,   /* measured, not explained, or not for long enough */
};

const char *fate_name(enum fate fate); /* "endless" */

enum ledger_kind {
    LEDGER_HOLDER,      /* items that a named holder gained */
    LEDGER_FREE_HEAP,   /* free bytes of malloc's */
    LEDGER_FREE_ARENAS, /* free blocks and pools of Python's arenas */
    LEDGER_FIRST_TOUCH, /* pages that were mapped before and are used for the first time */
    LEDGER_FILE_PAGES,  /* pages of files, which the kernel takes back */
    LEDGER_COPIED,      /* pages shared at a fork that have become private */
    LEDGER_RESERVED,    /* what torch's allocator keeps */
    LEDGER_OTHERS,      /* shared memory of other jobs */
    LEDGER_REST,        /* what nothing explains */
    LEDGER_KINDS,
};

/* Why nothing explains the rest. */
enum ledger_rest {
    REST_NOT_EXAMINED, /* no complete census */
    REST_NOT_FOUND,    /* censuses name nothing */
    REST_NATIVE,       /* malloc gave out most of the growth, and no Python object has it */
};

/* ---- evidence: all amounts are differences over one window ---- */

enum engine_says { ENGINE_NO_GROWTH, ENGINE_OPEN, ENGINE_LASTING };

struct ledger_holder {
    size_t source;        /* the caller's number for it */
    double gained;        /* items */
    struct interval each; /* bytes of an item */
    double missing;       /* items until its bound; NAN: it has none */
    bool is_held;  /* false: nobody was found who holds them, or the collector may take them */
    bool is_tally; /* counted by their type: they may be another holder's items, once more */
};

struct ledger_evidence {
    enum engine_says engine;
    double growth;       /* of the series, over the window */
    double rise;         /* of the series, since it grows */
    double resolution;   /* least growth that its counter can be held to */
    double unnamed;      /* a rise of less, of which censuses name nothing, may end soon */
    double horizons;     /* for so many it has grown, or was seen where that is open */
    double level, limit; /* of the series at the end; limit 0: not known */

    /* NAN: not known. */
    double heap_used, heap_free;     /* malloc's */
    double arenas_used, arenas_free; /* Python's; malloc counts none of them */
    double asked;                    /* of the kernel, touched or not */
    double untouched;                /* at the end: what can still be touched */

    bool has_census;  /* any */
    bool is_censused; /* completely, and often enough */
    const struct ledger_holder *holders;
    size_t holder_count;
};

/* ---- the ledger ---- */

#define LEDGER_PARTS 72u

struct ledger_part {
    enum ledger_kind kind;
    enum fate fate;
    struct interval bytes, to_come;
    double missing; /* of a holder: items until its bound, for each that it gained */
    size_t source;  /* of a holder */
    bool is_tally;
};

/*
 * `total` is the growth of the series, and what filled free memory of malloc's or in Python's
 * arenas meanwhile: a slow leak inside that moves no process. `endless` is what is left of it once
 * all parts that end or lie free are taken away; the parts' lower ends never add up to more than
 * the total.
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
    RULE_EXPLAINED,    /* no leak: nearly all of it ends or is free, and fits */
    RULE_SMALL,        /* no leak: what may be endless is less than its counter can be held to */
    RULE_DOES_NOT_FIT, /* inconclusive: what is to come may not fit */
    RULE_ENDLESS,      /* leak: something endless is in it */
    RULE_PINNED,       /* leak: what something endless keeps may pin all that is free */
    RULE_LASTING,      /* leak: nothing explains it, and it has lasted */
    RULE_TOO_SHORT,    /* inconclusive: nothing explains it, and it has not lasted */
    RULE_OPEN,         /* inconclusive: the engine leaves it open, and nothing explains it */
    RULE_LITTLE,       /* inconclusive: nothing explains it, and libraries keep as much */
    RULE_TOO_WIDE,     /* inconclusive: the intervals leave both open */
};

struct ledger_judgement {
    enum verdict verdict;
    enum ledger_rule rule;
    double value, bound;     /* what decided, and what it was held against */
    size_t widest;           /* the part whose interval leaves most open; SIZE_MAX: none does */
    enum ledger_kind excuse; /* the largest part that is excused; LEDGER_REST: none */
    struct ledger_weight {
        double each, level, limit; /* bytes: of an object, of the memory they are in, its limit */
    } weight;                      /* where the series counts objects; each 0: it does not */
};

void ledger_judge(const struct ledger *l, const struct ledger_evidence *e,
                  struct ledger_judgement *ret);

/* All growth of a counter is such a part, by what it counts: a ledger of one part. */
struct ledger_judgement ledger_excuse(enum ledger_kind kind);

/*
 * The engine's answer with the judgement's verdict, pattern and reasons; the numbers stay the
 * engine's. `has_grown`: by enough to speak of.
 */
void ledger_answer(const struct ledger_judgement *j, enum series_clock clock, bool has_grown,
                   struct answer *a);

#endif

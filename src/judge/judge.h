/* judge/judge.h: from the state of a job to its ledgers and judgements. Pure. */
#ifndef TIDEMARK_JUDGE_JUDGE_H
#define TIDEMARK_JUDGE_JUDGE_H

#include "ledger/ledger.h"
#include "verdict/verdict.h"
#include "wire/wire.h"

#include <stdbool.h>

struct job;
struct member;
struct track;

/*
 * The engines of a job's tracks find growth. For each growth, an account gathers the evidence of
 * one window (looks.c compares two moments, account.c adds the holders' gains between them), and
 * the ledger judges it. settle.c gives every track its judgement.
 */

/* ---- the account of a process's memory ---- */

#define ACCOUNT_HOLDERS 64u

/* The engine's answer, the measurements of one window, the parts and the judgement. Must not be
 * copied: the evidence points into it. */
struct account {
    struct answer engine;   /* the answer of the series that decides ... */
    const struct track *by; /* ... and that series */
    bool is_by_heap;        /* the process does not grow; malloc's in-use bytes grow inside it */
    double from, to;        /* the window, in seconds of the run */
    struct ledger_holder holders[ACCOUNT_HOLDERS];
    const struct wire_census_growing
        *growing[ACCOUNT_HOLDERS]; /* of each holder; owned by the job */
    struct ledger_evidence evidence;
    struct ledger ledger;
    struct ledger_judgement judgement;
};

/* The account of a track's growth; `m` NULL: the job's own track. False: the track has no evidence.
 */
bool account_of(struct job *j, struct member *m, struct track *t, struct account *ret);

/* Whether graphs were walked often enough to see whether they grow, or are too small to matter.
 * Needs a census. */
bool account_knows_graphs(const struct member *m, const struct ledger_evidence *e);

/* The memory that is certainly free; and the growth without it, because free memory may be the
 * holes of a leak. */
double account_kept_free(const struct account *a);
double account_whole(const struct account *a);
/* The growth that nothing explains, and the bytes of its items: none where they are not part of it.
 */
struct interval account_rest(const struct account *a);
struct interval account_bytes_of(const struct account *a, const struct wire_census_growing *g);

/* Judges every track by the ledger of its growth, as known by now. */
void settle_job(struct job *j);
/* The same only for tracks whose engine finds growth: nothing else can raise an alarm. */
void settle_growth(struct job *j);

/* ---- how fast something grows, from census to census ---- */

/* Growth needs this many censuses in a row, each with more than the one before. */
#define RISE_LEAST_POINTS 3u

/* How steadily something grows, and how fast on both clocks. */
struct rise {
    bool steady;
    unsigned points;
    double first, last;      /* amounts at both ends */
    double from, to;         /* on the clock; NAN: not known */
    double rate, per_second; /* of the clock; NAN: not known */
};

/*
 * The rise of one growing object of the member's census. In a short run, steps arrive in few
 * pieces and some points have no step of their own: then steadiness is judged on the seconds,
 * and the rate uses the mean time of a clock unit.
 */
struct rise rise_of(const struct job *j, const struct member *m, unsigned growing,
                    enum series_clock clock, double seconds_a_unit);

/* Only the largest graph is counted, and each census may have met a different one, as large as its
 * step's input. */
bool rise_may_be_another_graph(const struct wire_census_growing *g);

#endif

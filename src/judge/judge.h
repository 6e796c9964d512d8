/* judge/judge.h: from what is known of a job to its ledgers and judgements. Pure. */
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
 * The engines of a job's tracks say what grows. For each that does, an account gathers the evidence
 * of one window (looks.c compares two moments, account.c adds what holders gained between them),
 * and the ledger judges it. settle.c gives every track its judgement.
 */

/* ---- the account of a process's memory ---- */

#define ACCOUNT_HOLDERS 64u

/* What the engine saw, what was measured over one window, the parts, and what follows. Not to be
 * copied: the evidence points into it. */
struct account {
    struct answer engine;   /* of the series that speaks loudest ... */
    const struct track *by; /* ... which is the one that is judged */
    bool is_by_heap;        /* the process stands still; malloc's in-use bytes grow inside it */
    double from, to;        /* the window, in seconds of the run */
    struct ledger_holder holders[ACCOUNT_HOLDERS];
    const struct wire_census_growing *growing[ACCOUNT_HOLDERS]; /* of each; the run's own */
    struct ledger_evidence evidence;
    struct ledger ledger;
    struct ledger_judgement judgement;
};

/* What a track's growth is made of; `m` NULL: the job's own. False: no evidence is kept of it. */
bool account_of(struct job *j, struct member *m, struct track *t, struct account *ret);

/* Graphs were walked often enough to see whether they grow, or are too small to matter. There is a
 * census. */
bool account_knows_graphs(const struct member *m, const struct ledger_evidence *e);

/* What is free for certain, and the growth without that: free memory may be the holes that a leak
 * makes. */
double account_kept_free(const struct account *a);
double account_whole(const struct account *a);
/* What nothing explains, and what those items have: none where they are not in it. */
struct interval account_rest(const struct account *a);
struct interval account_bytes_of(const struct account *a, const struct wire_census_growing *g);

/* Every track is judged by the ledger of its growth, as known by now. */
void settle_job(struct job *j);
/* Only of what grows by its engine: nothing else can raise an alarm. */
void settle_growth(struct job *j);

/* ---- how fast something grows, from census to census ---- */

/* Censuses at which something has to be more, each time. */
#define RISE_LEAST_POINTS 3u

/* How steadily, and how fast on both clocks. */
struct rise {
    bool steady;
    unsigned points;
    double first, last;      /* what there was */
    double from, to;         /* on the clock; NAN: not known */
    double rate, per_second; /* of the clock; NAN: not known */
};

/*
 * Of what is at that place of the member's census. A short run tells its steps in few pieces: some
 * points have no step of their own. Then it is steady by the seconds, and its rate by how long a
 * unit of the clock takes.
 */
struct rise rise_of(const struct job *j, const struct member *m, unsigned growing,
                    enum series_clock clock, double seconds_a_unit);

/* The largest of all graphs is counted, and each census may have met another: they are as large as
 * the step's input wants them. */
bool rise_may_be_another_graph(const struct wire_census_growing *g);

#endif

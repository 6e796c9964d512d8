/* judge/judge.h: from the state of a job to its ledgers and judgements. Pure. */
#ifndef TIDEMARK_JUDGE_JUDGE_H
#define TIDEMARK_JUDGE_JUDGE_H

#include "ledger/ledger.h"
#include "sites/sites.h"
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

/* ---- where the memory was allocated ---- */

#define TRACED_LINES 16u

/* A line of the program, or a function of native code: all sites whose own frame (site_own_frame())
 * it is, of host memory or of one device. */
struct traced_line {
    const struct site *site; /* the one that gained most; owned by the job */
    struct site_gain gain;
    struct interval gained; /* the same in bytes, with its error and what may only be replaced */
    bool has_stopped;       /* it surely gained no more in the last half of that time */
    enum site_habit habit;  /* of all its sites together */
};

/* What the tracer of a process saw, from the moment it was armed until it was read last: of its
 * host memory, or of one memory whose blocks torch lists. */
struct traced {
    const struct site_memory *memory; /* NULL: host memory that is not pinned */
    double from, to;                  /* seconds */
    double grown; /* of the memory in use, as measured without the tracer, and at the process's rate
                   * where nobody measured; NAN: unknown */
    struct site_gain gain; /* of all sites there */
    double whole; /* what lines have shares of: the growth, or more if the sites gained more */
    struct traced_line lines[TRACED_LINES]; /* those that surely gained, the largest first */
    unsigned count;
};

/* `since`: second from which the process's memory grows (NAN: not known); `rate_per_second`: how
 * fast. False: it was not traced while it grew. */
bool traced_of(const struct member *m, double since, double rate_per_second, struct traced *ret);
/*
 * The process is known to grow at that rate up to now. If its lines have not gained as much of
 * late, it uses memory that was requested before: a vector of twice the size is filled, say. Then
 * none of them has stopped.
 */
void traced_heed_growth(const struct member *m, double rate_per_second, struct traced *t);
/* traced_of() of torch's memory on a device, or of pinned memory (`device` ""). */
bool traced_of_memory(const struct member *m, enum site_kind kind, const char *device,
                      struct traced *ret);

/* The share of the growth that the line allocated, 0 to 1, whoever holds it. */
struct interval traced_share(const struct traced *t, const struct traced_line *l);

bool traced_is_of_line(const struct site *s, const struct traced_line *l);

/* Judges what the line keeps by an engine of its own. */
void traced_judge(const struct job *j, const struct member *m, const struct traced_line *l,
                  struct answer *ret);

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
    struct traced traced;
    struct ledger_site sites[TRACED_LINES]; /* its lines, scaled to the window */
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
/* The growth that nothing is known to hold, whoever allocated it. */
struct interval account_unheld(const struct account *a);
/* The bytes of its items: none where they are not part of the growth. */
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

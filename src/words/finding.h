/* words/finding.h: findings (growth and its holder) and what else censuses show, in words. */
#ifndef TIDEMARK_WORDS_FINDING_H
#define TIDEMARK_WORDS_FINDING_H

#include "base/base.h"
#include "wire/wire.h"
#include "words/causes.h"
#include "words/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINDING_TEXTS 4u
#define FINDINGS_MOST 8u

/*
 * A growth in a process, its holder, and the fix. The view owns the texts; NULL and NAN: not known.
 * Without steps, nothing "per step" is known.
 */
struct finding {
    int64_t pid;
    unsigned processes; /* that have the same finding; the numbers are of the first */
    char *sentence;     /* all of it in one sentence; never NULL */
    char *what;         /* "tensor float32 [] cuda:0" */
    char *holder;       /* "list 'loss_history'" */
    char *name;         /* of the holder, as its author calls it: "loss_history", "Net.outputs" */
    char *kind;         /* of the holder: "local", "global", "attribute", ...; "allocation": the
                           place is not a holder's, but the line that allocates */
    char *gain;         /* "+1.00 tensors a step (float32 [] cpu)" */
    char *where;        /* "train_with_leak (demo.py:31)" */
    char *file;
    char *cause;        /* NULL for a cache, as the next two: nothing is wrong with it */
    char *fix, *advice; /* what to write instead; the same and its reason */
    char *allocated;    /* the line that allocates it: "train.py:41 train → step" */
    double line;
    double count_per_step, count_per_second;
    double bytes_per_step, bytes_per_second; /* on the host and on devices */
    double host_bytes_per_step, device_bytes_per_step;
    double share;     /* of the growth that this explains, 0 to 1 */
    double points;    /* censuses that saw it grow */
    double bound;     /* of a cache: its most items */
    double full_step; /* of a cache: the step at which it is full, at this rate */
    char *evidence[FINDING_TEXTS];
    unsigned evidence_count;
    char *also[FINDING_TEXTS]; /* its other holders */
    unsigned also_count;
};

#define CENSUS_VIEW_DEVICES 8u
#define CENSUS_VIEW_PURPOSES 16u

/* What a process holds by its last census, and what the censuses cost. NAN: not known. */
struct census_view {
    int64_t pid;
    char *process; /* "trainer 4242" */
    double objects;
    bool complete;
    struct census_tensors {
        char *device;
        double count, bytes;
    } tensors[CENSUS_VIEW_DEVICES];
    unsigned device_count;
    struct census_purpose {
        char *name, *device;
        double count, bytes;
    } purposes[CENSUS_VIEW_PURPOSES];
    unsigned purpose_count;
    double censuses, searches;
    double pause_seconds, longest_pause_seconds, child_seconds;
    char *notes[FINDING_TEXTS]; /* what a census could not do */
    unsigned note_count;
};

/* A running process that tidemark attached to, or could not attach to. NULL: not so; NAN: not
 * known. */
struct attached_process {
    int64_t pid;
    char *process; /* "trainer 4242" */
    char *command; /* redacted */
    char *python;  /* its version; NULL: not attached */
    char *why;     /* why it could not attach, and what to do */
    double stops, stopped_seconds, longest_stop_seconds; /* pauses */
    double attached_seconds;                             /* from attaching to the last sample */
    bool counted; /* it took a census: it came to a safe point */
    bool left;    /* detached: only the library stays loaded */
    bool ended;   /* the process has ended */
};

struct findings {
    struct finding *findings; /* by the share they explain, largest first */
    size_t count;
    struct finding *caches; /* bounded caches that fill */
    size_t cache_count;
    struct census_view *censuses;
    size_t census_count;
    struct attached_process *entered;
    size_t entered_count;
    struct site_view *sites; /* lines whose allocations stay, process by process */
    size_t site_count;
    struct tracer_view *tracers;
    size_t tracer_count;
    char *undecided[FINDING_TEXTS]; /* what is not known, and what would settle it */
    unsigned undecided_count;
    bool so_far; /* no leak is proven: these are growing so far */
};

/* ---- put into words ---- */

/* What is known of a growth; NULL and NAN: not known. */
struct finding_facts {
    const struct wire_census_growing *growing; /* NULL: known from counters alone */
    int line; /* that adds to it; 0: only the holder's own is known */
    enum series_clock clock;
    double count_rate, host_rate, device_rate; /* per unit of the clock */
    bool is_whole; /* the rates are of the whole process: items hold more than a census sees */
    const char *process; /* "trainer 4242" */
    const struct cause_words *cause;
    const char *evidence;
};

/* Fills in the texts. */
void finding_words(const struct finding_facts *f, struct finding *ret);

/* The sentence without its advice: what grows, its holder, how fast. */
void finding_add_growth(struct buf *out, const struct finding *f);

/* What one of its items is: "tuple of tensor float32 [1024, 1024] cpu". */
void finding_words_add_item(struct buf *out, const struct wire_census_growing *g);

/* "demo.py:31", relative to the current folder; nothing without a file. */
void finding_add_place(struct buf *out, const char *file, double line);

#endif

/* words/finding.h: what grows in the processes of a job and who holds it, as a person reads it. */
#ifndef TIDEMARK_WORDS_FINDING_H
#define TIDEMARK_WORDS_FINDING_H

#include "base/base.h"
#include "wire/wire.h"
#include "words/causes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINDING_TEXTS 4u
#define FINDINGS_MOST 8u

/*
 * Something that grows in a process, what holds it and how to mend it. Texts are owned by the
 * view; NULL and NAN: not known. Where the job tells no steps, "per step" is not known.
 */
struct finding {
    int64_t pid;
    unsigned processes; /* in so many the same was found; the numbers are of the first */
    char *sentence;     /* all of it for a person */
    char *what;         /* "tensor float32 [] cuda:0" */
    char *holder;       /* "list 'loss_history'" */
    char *name;         /* of the holder, as one says it: "loss_history", "Net.outputs" */
    char *kind;         /* of the holder: "local", "global", "attribute", ... */
    char *gain;         /* "+1.00 tensors a step (float32 [] cpu)" */
    char *where;        /* "train_with_leak (demo.py:31)" */
    char *file;
    char *cause;        /* of a cache NULL, as the next two: nothing is wrong with it */
    char *fix, *advice; /* what to write instead; the same with its reason */
    double line;
    double count_per_step, count_per_second;
    double bytes_per_step, bytes_per_second; /* on the host and on devices */
    double host_bytes_per_step, device_bytes_per_step;
    double share;     /* of the growth that it explains, 0 to 1 */
    double points;    /* censuses that saw it grow */
    double bound;     /* of a cache: how many items it takes */
    double full_step; /* and where it is full at this rate */
    char *evidence[FINDING_TEXTS];
    unsigned evidence_count;
    char *also[FINDING_TEXTS]; /* who else holds it */
    unsigned also_count;
};

#define CENSUS_VIEW_DEVICES 8u
#define CENSUS_VIEW_PURPOSES 16u

/* What a process holds, by its last census, and what it took to count it. NAN: not known. */
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
    char *notes[FINDING_TEXTS]; /* what could not be done */
    unsigned note_count;
};

/* A process that was entered while it ran, or could not be. NULL: not so; NAN: not known. */
struct attached_process {
    int64_t pid;
    char *process;                                       /* "trainer 4242" */
    char *command;                                       /* redacted */
    char *python;                                        /* its version; NULL: it was not entered */
    char *why;                                           /* why not, and what to do */
    double stops, stopped_seconds, longest_stop_seconds; /* it stood still */
    double attached_seconds;                             /* from attaching to the last look */
    bool counted; /* it has counted its objects at least once: it came to a safe point */
    bool left;    /* all that was brought in is out again, but for the library */
    bool ended;   /* it has ended meanwhile */
};

struct findings {
    struct finding *findings; /* the one that speaks loudest first */
    size_t count;
    struct finding *caches; /* what fills and has a bound */
    size_t cache_count;
    struct census_view *censuses;
    size_t census_count;
    struct attached_process *entered;
    size_t entered_count;
    char *undecided[FINDING_TEXTS]; /* what cannot be told, and what would tell */
    unsigned undecided_count;
    bool so_far; /* nothing is proven to leak yet: this grows so far */
};

struct field_table;
extern const struct field_table finding_fields, census_view_fields, attached_process_fields,
    findings_fields;

void findings_release(struct findings *f);

/* ---- put into words ---- */

/* What is known of something that grows; NULL and NAN: not known. */
struct finding_facts {
    const struct wire_census_growing *growing; /* NULL: seen from the counters alone */
    int line; /* that adds to it; 0: the holder's own is all there is */
    enum series_clock clock;
    double count_rate, host_rate, device_rate; /* per unit of the clock */
    bool is_whole;       /* the rates are of the whole process: it holds more than can be seen */
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

/* "demo.py:31", as one would name it from here; nothing without a file. */
void finding_add_place(struct buf *out, const char *file, double line);

#endif

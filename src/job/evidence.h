/* job/evidence.h: what was measured inside a process: its heap, censuses, traced allocations. */
#ifndef TIDEMARK_JOB_EVIDENCE_H
#define TIDEMARK_JOB_EVIDENCE_H

#include "sites/sites.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct job;
struct member;

#define HEAP_USED "heap.used" /* the series of malloc's in-use bytes */
#define HEAP_ASKED "heap.asked"
#define HEAP_POINTS 64u
#define HEAP_SAME_SECONDS 0.001 /* points closer than this are one */

/* malloc's in-use and free bytes. `anon` is the memory of the process as last sampled by then;
 * `asked` is what it has mapped, touched or not. */
struct heap_point {
    double seconds, in_use, free, anon, asked;
    double arenas_used, arenas_free; /* blocks in Python's own arenas; NAN: not measured then */
};

/* The steps at which a growing type was counted; NAN: not known. */
typedef double census_steps[WIRE_CENSUS_POINTS];

#define EVIDENCE_TENSORS 3u /* censuses */

struct evidence {
    struct wire_census *census;   /* the latest; NULL: none yet */
    struct wire_census *searched; /* an earlier one, whose holders it borrowed; NULL: none */
    census_steps *steps;          /* of each growing type, set when the process ends; NULL before */
    struct heap_point heap[HEAP_POINTS];
    unsigned heap_count;
    double heap_spacing;              /* minimum seconds between two points, except for the last */
    bool has_new_heap_points;         /* not yet in the run file */
    double tensors[EVIDENCE_TENSORS]; /* in the last censuses, newest first; NAN: none */
    struct sites *sites;              /* where it allocates; NULL: it was not traced */
    bool has_new_sites;               /* not yet in the run file */
};

struct evidence *evidence_free(struct evidence *e); /* accepts NULL, returns NULL */
struct evidence *evidence_of(struct member *m);     /* creates it if missing */

/*
 * Adds a heap sample with the bytes mapped at that moment (NAN: not known). A step maps and unmaps
 * more than it keeps, so a value sampled from outside at another moment would show growth where
 * there is none. The ring and the census report the same samples, in either order.
 */
void evidence_add_heap_point(struct member *m, double seconds, double in_use, double free,
                             double asked);

/* ---- censuses ---- */

/* Takes ownership of a new census. One without holders borrows those of the last search. Returns
 * true if it has holders of its own. */
bool evidence_take(struct job *j, struct member *m, struct wire_census *c);

/* ---- allocation sites ---- */

/* Takes ownership of what the tracer has found so far, and adds what it has not seen. */
void evidence_take_sites(struct member *m, struct sites *s);

/* Growth of the allocators' bytes in use between two seconds, which are moved together to when they
 * were measured. Of Python's own allocators, what the sites gained has to do where no two censuses
 * measured it. NAN: not measured there. */
double evidence_use_growth(const struct evidence *e, const struct sites *s, double *from,
                           double *to);

/* Restores from a run file; returns what wire_census_parse() does. `origin`: second 0 of its
 * times. */
void evidence_restore_heap_point(struct member *m, const struct heap_point *look);
int evidence_restore_census(struct job *j, struct member *m, uint64_t origin, const char *text);
int evidence_restore_sites(struct member *m, const char *text); /* as sites_parse() */

/* The process has ended: keeps the steps of its points as the clock knows them now. */
void evidence_end(struct job *j, struct member *m);

/* Each of the last censuses counted more tensors than the one before, and the total rise is not
 * chance. */
bool evidence_tensors_grow(const struct evidence *e);
/* The last census is not from the very beginning of the process. Requires a census. */
bool evidence_is_of_late(const struct job *j, const struct member *m);

/* The steps at which a growing type was counted, by the step clock. */
void evidence_steps_of(const struct job *j, const struct member *m, unsigned growing,
                       census_steps ret);
/* The step of that second; after the last mark, the last one. NAN: not known. */
double evidence_step_at(const struct job *j, double seconds);
/* Converts a census time to seconds of the run. */
double evidence_seconds(const struct job *j, uint64_t time);

#endif

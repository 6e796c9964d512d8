/* job/evidence.h: what was measured inside a process: points of its heap, and censuses. */
#ifndef TIDEMARK_JOB_EVIDENCE_H
#define TIDEMARK_JOB_EVIDENCE_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct job;
struct member;

#define HEAP_USED "heap.used" /* the series of malloc's in-use bytes */
#define HEAP_ASKED "heap.asked"
#define HEAP_POINTS 64u
#define HEAP_SAME_SECONDS 0.001 /* two points that differ by less are one */

/* malloc's in-use and free bytes, and, as last read by then, the memory of the process and what it
 * has mapped, touched or not. */
struct heap_point {
    double seconds, in_use, free, anon, asked;
    double arenas_used, arenas_free; /* blocks of Python's own arenas; NAN: not asked then */
};

/* The steps at which something that grows was counted; NAN: not known. */
typedef double census_steps[WIRE_CENSUS_POINTS];

#define EVIDENCE_TENSORS 3u /* censuses */

struct evidence {
    struct wire_census *census;   /* the last one; NULL: none yet */
    struct wire_census *searched; /* an earlier one, whose holders it has; NULL: none */
    census_steps *steps;          /* of each that grows, once the process has ended; NULL before */
    struct heap_point heap[HEAP_POINTS];
    unsigned heap_count;
    double heap_spacing;              /* seconds between two points at least, but for the last */
    bool has_new_heap_points;         /* the run file lacks some */
    double tensors[EVIDENCE_TENSORS]; /* of the last censuses, the newest first; NAN: none */
};

struct evidence *evidence_free(struct evidence *e); /* accepts NULL, returns NULL */
struct evidence *evidence_of(struct member *m);     /* made where there is none */

/* A point of the heap, and the bytes mapped at that moment. A step maps and unmaps more than it
 * keeps, so a value sampled from outside, at another moment, would show growth that is none. NAN:
 * not known. The ring and the census report the same, and either may come first. */
void evidence_add_heap_point(struct member *m, double seconds, double in_use, double free,
                             double asked);

/* ---- censuses ---- */

/* Takes a new census over. One without holders borrows those of the last search. True: it has
 * holders of its own. */
bool evidence_take(struct job *j, struct member *m, struct wire_census *c);

/* From a run file. As wire_census_parse(); `origin`: second 0 of its times. */
void evidence_restore_heap_point(struct member *m, const struct heap_point *look);
int evidence_restore_census(struct job *j, struct member *m, uint64_t origin, const char *text);

/* The process has ended: keeps the steps of its points as the clock knows them now. */
void evidence_end(struct job *j, struct member *m);

/* Each of the last censuses counted more tensors than the one before; enough more in all. */
bool evidence_tensors_grow(const struct evidence *e);
/* Its last census is not of its very beginning. There is a census. */
bool evidence_is_of_late(const struct job *j, const struct member *m);

/* When the points of something that grows were, by the step clock. */
void evidence_steps_of(const struct job *j, const struct member *m, unsigned growing,
                       census_steps ret);
/* A time of the census, in seconds of the run. */
double evidence_seconds(const struct job *j, uint64_t time);

#endif

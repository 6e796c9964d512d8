/* watch/found.h: the last census of each process. Private to watch/. */
#ifndef TIDEMARK_WATCH_FOUND_H
#define TIDEMARK_WATCH_FOUND_H

#include "wire/wire.h"

#include <sys/stat.h>

struct watch;
struct member;
struct track;
struct ring;

#define HEAP_USED "heap.used" /* the series of what malloc has given out */
#define HEAP_ASKED "heap.asked"
#define HEAP_POINTS 64u
#define HEAP_SAME_SECONDS 0.001 /* two points that differ by less are one */

/* What malloc has given out, what lies free in its heap, and of the process, as last read by then,
 * its memory and what it has asked the kernel for, touched or not. */
struct heap_point {
    double seconds, in_use, free, anon, asked;
    double arenas_used, arenas_free; /* blocks of Python's own arenas; NAN: not asked then */
};

/* By how much a process has grown, what malloc has in use there, what is free, and what it has
 * asked the kernel for; and between which moments. */
struct heap_growth {
    double anon, in_use, free, asked, arenas_used, arenas_free;
    double from, to; /* seconds */
};

/* The steps at which something that grows was counted; NAN: not known. */
typedef double found_steps[WIRE_CENSUS_POINTS];

#define FOUND_TENSORS 3u /* censuses */

/* What a process last told of its objects. */
struct found {
    struct wire_census *census;   /* NULL: none yet */
    struct wire_census *searched; /* an earlier one, whose holders it has; NULL: none */
    struct stat file;             /* that it was read from */
    found_steps *steps;           /* of each that grows, once the process has ended; NULL before */
    struct heap_point heap[HEAP_POINTS];
    unsigned heap_count;
    double heap_spacing; /* seconds between two points at least, but for the last */
    /* What the run file lacks: points, the last census, and the last that was searched for. */
    bool heap_is_new;
    char *last_text, *searched_text; /* owned; NULL: nothing */
    double tensors[FOUND_TENSORS];   /* of the last censuses, the newest first; NAN: none */
};

struct found *found_free(struct found *f); /* accepts NULL, returns NULL */

/* Whose process it is, while it can be asked: its source may be read after its end. */
void found_note_owner(const struct watch *w, struct member *m);
/* Reads it where there is a new one. The ring's process is known. */
void found_read(struct watch *w, struct ring *r);
/* The same of a text that the process has handed over. */
void found_take(struct watch *w, struct member *m, const char *text, size_t len);
/* What the run file lacks of it goes there. */
void found_store(struct watch *w, struct member *m);
/* What a run file has of it. */
void found_restore_look(struct member *m, const struct heap_point *look);
/* As wire_census_parse(). */
int found_restore_census(struct watch *w, struct member *m, uint64_t origin, const char *text);
/* What malloc told of its heap, and what the process has asked the kernel for at that moment. A
 * step maps and unmaps more than it keeps: seen from outside, at any other moment, that would be
 * the growth of nothing. NAN: not told. */
void found_add_heap(struct member *m, double seconds, double in_use, double free, double asked);
/* Waits, a second and a half at most, for a child of the process that still works on its census. */
void found_await(const struct ring *r);
/* The process has ended: the steps of its points are those of its own time. */
void found_end(struct watch *w, struct member *m);
/* Its file is of no use any more. */
void found_remove(struct watch *w, const struct ring *r);
/* There were more tensors at each of the last censuses, by some. */
bool found_tensors_rise(const struct found *f);
/* Its objects were not only counted at its very beginning. There is a census. */
bool found_is_of_late(const struct watch *w, const struct member *m);
/* Every process shall find out what is worth its time now. */
void found_want(struct watch *w);

/* Since then (NAN: from the beginning), and until the last census where that saw most of the
 * growth. `may_stop`: it has grown, and whether it still does is not known. False: there are too
 * few looks. (looks.c) */
bool looks_compare(const struct watch *w, const struct found *f, double since, bool may_stop,
                   struct heap_growth *ret);

/* When the points of something that grows were, by the step clock. */
void found_steps_of(const struct watch *w, const struct member *m, unsigned growing,
                    found_steps ret);
/* A time of the census, in seconds of the watch. */
double found_seconds(const struct watch *w, uint64_t time);

#endif

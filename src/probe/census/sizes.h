/* probe/census/sizes.h: bytes by the place that holds them. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_SIZES_H
#define TIDEMARK_PROBE_CENSUS_SIZES_H

#include "probe/census/reach.h"
#include "probe/census/survey.h"

/*
 * An array, a text or a tensor that a larger one replaces grows by its place, whichever object is
 * there. Where the growth of a container is spread over many places, the container is what grows.
 * A place that was empty at the census before adds nothing: what is filled once has a bound. The
 * same goes for containers in one, and for those of objects in one, as the histories of a list of
 * meters: where many of them get a few items each, it is the outer one.
 */
#define SIZES_LARGEST 4u
#define SIZES_GROUPS 64u

/* Containers without a bound that have one owner, or whose owners are in one container. */
struct sizes_inner {
    uint64_t items;
    int64_t gained;            /* since the census before */
    unsigned growing;          /* so many of them did */
    py_object *part, *another; /* that have gained most of them; NULL: no other has gained any */
    int64_t most;
};

struct sizes {
    struct survey *survey;
    py_object *owner;  /* whose references are being met; NULL: variables' */
    py_object *around; /* the nearest container above it; NULL: there is none */
    uint64_t bytes;    /* in its places */
    int64_t gained;    /* in those that were taken at the census before */
    struct sizes_place {
        uintptr_t key;
        py_object *object;
        uint64_t before, now;
    } largest[SIZES_LARGEST]; /* by what they gained */
    unsigned count, places;   /* places: all of those */
    unsigned reference;       /* of the last that was met */
    struct sizes_inner inner; /* of the owner */
    struct sizes_group {
        py_object *around;
        struct sizes_inner inner; /* of all owners that are in it */
    } groups[SIZES_GROUPS];
    unsigned group_count;
};

/* What has been met, with all that one owner refers to in a row. True: it has a size of its own, or
 * has gained items. */
bool sizes_meet(struct sizes *s, py_object *o, const struct reach_place *place);
/* After the last: what its owner has, and all groups. */
void sizes_end(struct sizes *s);

#endif

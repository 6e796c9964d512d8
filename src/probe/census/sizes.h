/* probe/census/sizes.h: bytes by the place that holds them. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_SIZES_H
#define TIDEMARK_PROBE_CENSUS_SIZES_H

#include "probe/census/reach.h"
#include "probe/census/survey.h"

/*
 * An array, a text or a tensor that a larger one replaces grows by its place, whichever object is
 * there. Where the growth of a container is spread over many places, the container is what grows.
 * A place that was empty at the census before adds nothing: what is filled once has a bound. The
 * same goes for containers in one: where many of them get a few items each, it is the outer one.
 */
#define SIZES_LARGEST 4u

struct sizes {
    struct survey *survey;
    py_object *owner; /* whose references are being met; NULL: variables' */
    uint64_t bytes;   /* in its places */
    int64_t gained;   /* in those that were taken at the census before */
    struct sizes_place {
        uintptr_t key;
        py_object *object;
        uint64_t before, now;
    } largest[SIZES_LARGEST]; /* by what they gained */
    unsigned count, places;   /* places: all of those */
    unsigned reference;       /* of the last that was met */
    struct {
        uint64_t items;   /* of containers without a bound */
        int64_t gained;   /* since the census before */
        unsigned growing; /* so many of them did */
        py_object *part;  /* that has gained most of them */
        int64_t most;
    } inner;
};

/* What has been met, with all that one owner refers to in a row. True: it has a size of its own, or
 * has gained items. */
bool sizes_meet(struct sizes *s, py_object *o, const struct reach_place *place);
/* After the last. */
void sizes_end(struct sizes *s);

#endif

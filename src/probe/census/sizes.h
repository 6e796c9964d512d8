/* probe/census/sizes.h: growth in bytes, by the place that holds the object. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_SIZES_H
#define TIDEMARK_PROBE_CENSUS_SIZES_H

#include "probe/census/reach.h"
#include "probe/census/survey.h"

/*
 * If a larger array, text or tensor replaces another in the same place, that place grows, whichever
 * object is in it. If the growth of a container is spread over many places, the container grows. A
 * place that was empty at the previous census adds nothing: what is filled once is bounded. Items
 * of containers inside a container work the same way, and so do those of objects inside one, as the
 * histories of a list of meters: if many of them gain a few each, the outer one grows.
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
    py_object *owner;  /* its references are being visited; NULL: variables */
    py_object *around; /* the nearest container above it; NULL: none */
    uint64_t bytes;    /* in all its places */
    int64_t gained;    /* by places that were taken at the previous census */
    struct sizes_place {
        uintptr_t key;
        py_object *object;
        uint64_t before, now;
    } largest[SIZES_LARGEST]; /* by growth */
    unsigned count, places;   /* places: with a known previous size */
    unsigned reference;       /* the number of the last reference visited */
    const py_object *type;    /* of the last object; the facts below are its type's */
    enum heap_kind kind;
    bool is_tensor;
    struct sizes_inner inner; /* of the owner */
    struct sizes_group {
        py_object *around;
        struct sizes_inner inner; /* of all owners in it */
    } groups[SIZES_GROUPS];
    unsigned group_count;
};

/* Call it for every object of the walk; references of one owner come in a row. True: the object has
 * a size, or gained items. */
bool sizes_meet(struct sizes *s, py_object *o, const struct reach_place *place);
/* Call it after the last object: notes the last owner and all groups. */
void sizes_end(struct sizes *s);

#endif

/* probe/census/survey.h: counting what there is, and what has grown since. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_SURVEY_H
#define TIDEMARK_PROBE_CENSUS_SURVEY_H

#include "probe/base/allocator.h"
#include "probe/base/arenas.h"
#include "probe/base/heap.h"
#include "probe/base/places.h"
#include "probe/base/spare.h"
#include "probe/census/tensors.h"

/*
 * A census counts the objects that the collector tracks: by type, tensors by what they are, and of
 * every list, dict, set and deque its items. From one to the next it keeps numbers and addresses,
 * in memory that is shared with forked children, so that a child can take a census for its parent;
 * no reference is ever taken.
 *
 * What has grown is known by points: (time, count). A *survivor* is an object that was not there at
 * the census before the last, was there at the last, and is there now: born in between, and not for
 * one step only.
 *
 * A *pair* of censuses tells what came in between. It is for those who ask, and takes its time:
 * what the collector does not track counts too where something refers to it, every container is
 * followed whatever its length, and a survivor is an object that was not there at the first.
 */

#define SURVEY_POINTS 16u
#define SURVEY_SAMPLES 8u

struct survey_points {
    unsigned count;
    struct {
        uint64_t time, value;
    } at[SURVEY_POINTS];
};

/* Objects of one type, or tensors that are alike. */
struct survey_tally {
    uintptr_t key; /* the type's address; of tensors a number made of what they are */
    unsigned census;
    uint64_t count, bytes, survivors; /* bytes: of tensors those of their storages, each once */
    uint64_t count_before;            /* at the census before */
    py_object
        *samples[SURVEY_SAMPLES]; /* some survivors, the newest; valid while the GIL is held */
    struct tensor_facts facts;    /* of tensors */
    enum heap_kind kind;          /* of objects */
    bool is_tensor, is_optimizer;
};

enum survey_form {
    FORM_CONTAINER, /* points count its items */
    FORM_OBJECTS,   /* those of a type */
    FORM_TENSORS,   /* those alike */
    FORM_GRAPH,     /* nodes behind the one tensor that has most of them */
    FORM_SIZE,      /* bytes of what is in one place: it grows, or a larger one replaces it */
    FORM_ITEMS,     /* items of the containers in one: it holds many, and each grows a little */
};

struct survey_grown {
    uintptr_t key; /* the container's address, or that of a tally; 0: free */
    enum survey_form form;
    unsigned last_grown; /* at that census */
    bool is_new;         /* of a pair: it was not there at the first */
    struct survey_points points;
};

#define SURVEY_DEVICES 16u
struct survey_device {
    bool is_used;
    int type, index;
    uint64_t count, bytes, requires_grad, with_graph;
};

enum survey_purpose { PURPOSE_OTHER, PURPOSE_PARAMETERS, PURPOSE_GRADIENTS, PURPOSE_OPTIMIZER };
#define SURVEY_PURPOSES 4u

#define SURVEY_TYPES 4096u /* powers of two */
#define SURVEY_GROUPS 1024u
#define SURVEY_GROWN 256u
#define SURVEY_LARGE 8u
#define SURVEY_GRAPHS 256u
#define SURVEY_SIZES 64u
#define SURVEY_NAMED 32u
#define SURVEY_SPARE 512u

struct survey {
    bool is_pair;
    unsigned number;                              /* censuses taken; 0: none */
    uint64_t time, time_before;                   /* of this and the last: CLOCK_MONOTONIC, ns */
    uint64_t objects, bytes, tensors, containers; /* of the last */
    bool is_complete;      /* false: it was cut off by its time limit, or its child died */
    bool follows_complete; /* the one before was: their counts compare */
    unsigned in_a_row;     /* complete ones, to the last */
    bool knows_tensors;
    bool knows_heap; /* the caller's to fill in, at the same moment */
    struct allocator_facts heap;
    double asked;      /* of the kernel, at that moment; 0: not known */
    bool knows_arenas; /* likewise, in a child */
    struct arenas_facts arenas;
    bool has_profiler;  /* torch's is switched on; the caller's, too */
    bool is_of_the_end; /* taken when the program had ended */

    struct survey_tally types[SURVEY_TYPES], groups[SURVEY_GROUPS]; /* hashed by key */
    struct survey_grown grown[SURVEY_GROWN];
    struct survey_device devices[SURVEY_DEVICES];
    struct {
        uint64_t count, bytes;
    } purposes[SURVEY_PURPOSES][SURVEY_DEVICES];
    struct tensor_facts large[SURVEY_LARGE]; /* the largest storages, the largest first */
    unsigned large_count;
    struct spare spare[SURVEY_SPARE]; /* values of tensors on the host */
    unsigned spare_count;
    struct survey_graph {
        py_object *tensor;   /* that has it behind it */
        uint64_t nodes;      /* 0: they were not counted, or it is new */
        bool is_new;         /* all of it was made since the walk before: nothing is carried */
    } graphs[SURVEY_GRAPHS], /* some */
        named_graphs[SURVEY_NAMED]; /* those that names of the program lead to */
    unsigned graph_count, named_graph_count;
    uint64_t newest_node; /* the number of the newest, at the last walk */
    struct survey_sized {
        uintptr_t key;
        py_object *object;
        py_object *part;    /* of FORM_ITEMS: a container in it, or in an object in it; */
        py_object *another; /* then this is that of another object */
    } sizes[SURVEY_SIZES];  /* what grows by its place; valid while the GIL is held */
    unsigned size_count;
    py_object *largest_graph; /* the one of them that carries most nodes, by survey_walk_graphs() */
    uint64_t graph_nodes, graph_time; /* its nodes, and when that was */
    unsigned graph_walks;             /* so far */
    uint64_t moments, graph_moments;  /* at which one was possible; at the last walk */
    py_object *largest_named;         /* the same of those that names lead to */
    uint64_t named_nodes;

    struct places lengths, lengths_before; /* of containers, by address */
    ptrdiff_t items_least;                 /* of those that are followed */
    uint64_t *seen_memory;
    uint64_t *seen[3]; /* bits of addresses: now, at the last, before that */
    size_t seen_bits;
    unsigned seen_censuses; /* since the bits have this size */
};

/* NULL: no memory, or the interpreter cannot be walked. */
struct survey *survey_new(uint64_t expected_objects);
/* For a pair. */
struct survey *survey_new_pair(void);
struct survey *survey_free(struct survey *c); /* accepts NULL, returns NULL */

/*
 * Makes room for the next census; in the process that will take the ones after it, before a fork.
 * False: no memory.
 */
bool survey_prepare(struct survey *c);

/*
 * How gradients are read: they are torch's own, and a backward() in another thread replaces them
 * without the GIL. In a child nothing moves.
 */
enum survey_gradients { GRADIENTS_NONE, GRADIENTS_IN_PROCESS, GRADIENTS_OF_SNAPSHOT };

/* Takes it. Gives up when the thread has had so much processor time (ns). The GIL is held. */
void survey_take(struct survey *c, uint64_t now, uint64_t give_up_at,
                 enum survey_gradients gradients);

/* How large the graphs behind tensors are that are carried from one walk to the next; of the first
 * walk all. A graph is torch's own, and may change without the GIL: in a child only. */
void survey_walk_graphs(struct survey *c);

/* Was the graph behind that tensor walked, and all of it made since the walk before? */
bool survey_graph_is_new(const struct survey *c, const py_object *tensor);

/* What is in the place of a grown thing of FORM_SIZE or FORM_ITEMS; NULL: it is not there. */
const struct survey_sized *survey_sized_in(const struct survey *c, const struct survey_grown *g);

/* The tally of a grown thing that is no container; NULL: it has gone. */
struct survey_tally *survey_tally_of(struct survey *c, const struct survey_grown *g);

#endif

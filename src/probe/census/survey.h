/* probe/census/survey.h: counts the objects of the heap, and notes what grows. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_CENSUS_SURVEY_H
#define TIDEMARK_PROBE_CENSUS_SURVEY_H

#include "probe/base/allocator.h"
#include "probe/base/arenas.h"
#include "probe/base/heap.h"
#include "probe/base/places.h"
#include "probe/base/spare.h"
#include "probe/census/tensors.h"

/*
 * A census counts the objects that the collector tracks: objects by type, tensors by dtype, shape
 * and device, and the items of every list, dict, set and deque. Between censuses it keeps counts
 * and addresses, in memory shared with forked children, so that a child can take a census for its
 * parent. No reference is ever taken.
 *
 * A growth is known by its points (time, count). A *survivor* is an object that did not exist at
 * the census before the last, existed at the last, and exists now: born in between, and kept for
 * more than one step.
 *
 * A *pair* of censuses shows what was added between them. It is taken on request and may take its
 * time: untracked objects count too if something refers to them, every container is followed
 * whatever its length, and a survivor is any object that did not exist at the first census.
 */

#define SURVEY_POINTS 16u
#define SURVEY_SAMPLES 8u

struct survey_points {
    unsigned count;
    struct {
        uint64_t time, value;
    } at[SURVEY_POINTS];
};

/* Objects of one type, or similar tensors. */
struct survey_tally {
    uintptr_t key; /* the address of the type; for tensors a hash of their facts */
    unsigned census;
    uint64_t count, bytes, survivors; /* bytes: for tensors, of their storages, each once */
    uint64_t count_before;            /* at the previous census */
    py_object
        *samples[SURVEY_SAMPLES]; /* some of the newest survivors; valid while the GIL is held */
    struct tensor_facts facts;    /* for tensors */
    enum heap_kind kind;          /* for objects */
    bool is_tensor, is_optimizer;
};

enum survey_form {
    FORM_CONTAINER, /* points: the items of a container */
    FORM_OBJECTS,   /* objects of one type */
    FORM_TENSORS,   /* similar tensors */
    FORM_GRAPH,     /* nodes of the largest graph behind one tensor */
    FORM_SIZE,  /* bytes of the object in one place, which grows or is replaced by larger ones */
    FORM_ITEMS, /* items of all containers inside one, each of which grows a little */
};

struct survey_growth {
    uintptr_t key; /* address of the container, or key of a tally; 0: free */
    enum survey_form form;
    unsigned last_growth; /* the census with the newest point */
    bool is_new;          /* in a pair: it did not exist at the first census */
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
#define SURVEY_GROWTHS 256u
#define SURVEY_LARGE 8u
#define SURVEY_GRAPHS 256u
#define SURVEY_SIZES 64u
#define SURVEY_NAMED 32u
#define SURVEY_SPARE 512u

struct survey {
    bool is_pair;
    unsigned number;            /* censuses so far; 0: none */
    uint64_t time, time_before; /* this census and the previous one: CLOCK_MONOTONIC, ns */
    uint64_t objects, bytes, tensors, containers; /* at the last census */
    bool is_complete;      /* false: it hit its time limit, or its child died */
    bool follows_complete; /* the previous census was complete, so counts are comparable */
    unsigned in_a_row;     /* complete censuses in a row */
    bool knows_tensors;
    bool knows_heap; /* set by the caller, as of this census */
    struct allocator_facts heap;
    double asked;      /* bytes the kernel was asked for; 0: not known */
    bool knows_arenas; /* set in a child */
    struct arenas_facts arenas;
    bool has_profiler;  /* torch's profiler is on; set by the caller */
    bool is_of_the_end; /* taken after the program had ended */

    struct survey_tally types[SURVEY_TYPES], groups[SURVEY_GROUPS]; /* hashed by key */
    struct survey_growth growths[SURVEY_GROWTHS];
    struct survey_device devices[SURVEY_DEVICES];
    struct {
        uint64_t count, bytes;
    } purposes[SURVEY_PURPOSES][SURVEY_DEVICES];
    struct tensor_facts large[SURVEY_LARGE]; /* the largest storages, the largest first */
    unsigned large_count;
    struct spare spare[SURVEY_SPARE]; /* tensor values on the host */
    unsigned spare_count;
    struct survey_graph {
        py_object *tensor;   /* the tensor with the graph */
        uint64_t nodes;      /* 0: not counted, or a new graph */
        bool is_new;         /* all of it was made since the previous walk, so nothing is carried */
    } graphs[SURVEY_GRAPHS], /* a sample */
        named_graphs[SURVEY_NAMED]; /* reached from names of the program */
    unsigned graph_count, named_graph_count;
    uint64_t newest_node; /* the highest node number at the last walk */
    struct survey_sized {
        uintptr_t key;
        py_object *object;
        py_object *part;    /* for FORM_ITEMS: a container in it, or in an object in it ... */
        py_object *another; /* ... and then the same of another object */
    } sizes[SURVEY_SIZES];  /* growths by place; valid while the GIL is held */
    unsigned size_count;
    py_object *largest_graph; /* the graph carried from step to step, by survey_walk_graphs() */
    uint64_t graph_nodes, graph_time; /* its nodes, and the time of that walk */
    unsigned graph_walks;             /* so far */
    uint64_t moments, graph_moments;  /* possible moments so far, and at the last walk */
    py_object *largest_named;         /* the same for graphs reached from names */
    uint64_t named_nodes;

    struct places lengths, lengths_before; /* of containers, by address */
    ptrdiff_t items_least;                 /* shorter containers are not followed */
    uint64_t *seen_memory;
    uint64_t *seen[3]; /* Bloom filters of addresses: now, previous census, the one before */
    size_t seen_bits;
    unsigned seen_censuses; /* censuses since the filters have this size */
};

/* NULL: no memory, or this interpreter's objects cannot be walked. */
struct survey *survey_new(uint64_t expected_objects);
/* For a pair. */
struct survey *survey_new_pair(void);
struct survey *survey_free(struct survey *c); /* accepts NULL, returns NULL */

/*
 * Makes room for the next census. Call it in the process that takes the later ones, before a fork.
 * False: no memory.
 */
bool survey_prepare(struct survey *c);

/*
 * How gradients are read. They belong to torch, and a backward() in another thread may replace them
 * without the GIL. In a child nothing changes.
 */
enum survey_gradients { GRADIENTS_NONE, GRADIENTS_IN_PROCESS, GRADIENTS_OF_SNAPSHOT };

/* Takes a census. Stops early once the thread's CPU time reaches `give_up_at` (ns). The GIL is
 * held. */
void survey_take(struct survey *c, uint64_t now, uint64_t give_up_at,
                 enum survey_gradients gradients);

/* Measures the graphs behind tensors that are carried from one walk to the next; at the first walk,
 * all graphs. A graph belongs to torch and may change without the GIL, so walk it only in a child.
 */
void survey_walk_graphs(struct survey *c);

/* True: that tensor's graph was walked, and all of it was made since the previous walk. */
bool survey_graph_is_new(const struct survey *c, const py_object *tensor);

/* What is in the place of a growth of FORM_SIZE or FORM_ITEMS; NULL: it is gone. */
const struct survey_sized *survey_sized_in(const struct survey *c, const struct survey_growth *g);

/* The tally of a growth of objects or tensors; NULL: it is gone. */
struct survey_tally *survey_tally_of(struct survey *c, const struct survey_growth *g);

#endif

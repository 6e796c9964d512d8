/* wire/census.h: the census of a process, the text beside its ring. Pure. */
#ifndef TIDEMARK_WIRE_CENSUS_H
#define TIDEMARK_WIRE_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * UTF-8, one record a line, fields separated by tabs. In a field `\\`, `\t`, `\n` stand for a
 * backslash, a tab, a line end. An unknown field is empty. Times are of wire_now().
 *
 *   tidemark census 2
 *   census   NUMBER TIME OBJECTS COMPLETE IN_A_ROW
 *   cost     CENSUSES SEARCHES PAUSE_NS LONGEST_PAUSE_NS CHILD_NS
 *   types    NAME COUNT BYTES
 *   tensors  DEVICE COUNT BYTES REQUIRES_GRAD GRAD_FN
 *   group    DEVICE DTYPE SHAPE COUNT BYTES REQUIRES_GRAD GRAD_FN
 *   purpose  NAME DEVICE COUNT BYTES
 *   large    DEVICE DTYPE SHAPE STORAGE_BYTES VIEW_BYTES PATH
 *   heap     IN_USE FREE MAPPED ASKED          ASKED: requested from the kernel, touched or not
 *   arenas   IN_USE FREE           blocks in Python's own arenas; no record without a forked child
 *   acted    NAME TIMES OBJECTS BYTES NS       "gc" or "trim": what it freed in total
 *   growing  ID FORM HOST_PER_ITEM DEVICE_PER_ITEM FLAGS POINTS
 *            HOST_LOW HOST_HIGH DEVICE_LOW DEVICE_HIGH   "inf": no upper end
 *   what     ID KIND TYPE DTYPE DIMENSIONS SHAPE DEVICE  the growing object, such as a list
 *   item     the same fields: the item added; then the heaviest object in it, and in that one
 *   holder   ID SHARE KIND PATH FUNCTION FILE LINE
 *   caller ID LINE FILE            the function of the program that what a library keeps leads to
 *   addition ID LINE WHOSE         the source line that adds to it; only the watcher writes this,
 *                                  into the census it keeps
 *                                  WHOSE: "caller", or the position of its holder, from 1
 *   profiler 1                     torch's profiler is on
 *   graphs   WALKS NODES           how often they were walked; nodes of the largest
 *   ended    1                     the program had come to its end
 *   note     TEXT
 *
 * FLAGS, separated by commas: grad_fn, exception, function, extension, bounded=ITEMS, view=BYTES,
 * tensors=COUNT. POINTS, separated by blanks: TIME:COUNT. The names of kinds are those of
 * wire_thing_kind_name() and wire_holder_kind_name(). Only tensors have DTYPE, DIMENSIONS, SHAPE
 * and DEVICE: "float32", "2", "[64, 256]", "cuda:0". WHAT, ITEM and HOLDER follow the GROWING
 * record they belong to.
 *
 * A reader skips unknown records, unknown further fields, and records of a kind beyond its room.
 * It reads an unknown name as "other" and refuses another version in the first line. Unknown
 * numbers are NAN; unknown texts are empty, never NULL.
 */
#define WIRE_CENSUS_NAME "tidemark census "
#define WIRE_CENSUS_FIRST_LINE WIRE_CENSUS_NAME "2"
#define WIRE_CENSUS_MOST_BYTES ((size_t) 256 << 10)

#define WIRE_CENSUS_TYPES 64u
#define WIRE_CENSUS_DEVICES 17u
#define WIRE_CENSUS_GROUPS 64u
#define WIRE_CENSUS_PURPOSES 64u
#define WIRE_CENSUS_LARGE 32u
#define WIRE_CENSUS_GROWING 64u
#define WIRE_CENSUS_POINTS 16u
#define WIRE_CENSUS_ITEM_DEPTH 3u
#define WIRE_CENSUS_HOLDERS_MOST 4u
#define WIRE_CENSUS_NOTES 8u

struct wire_census_type {
    const char *name;
    double count, bytes;
};

struct wire_census_tensors {
    const char *device;
    double count, bytes, requires_grad, grad_fn;
};

struct wire_census_group {
    const char *device, *dtype, *shape;
    double count, bytes;
    bool requires_grad, grad_fn;
};

struct wire_census_purpose {
    const char *name, *device;
    double count, bytes;
};

struct wire_census_large {
    const char *device, *dtype, *shape, *path;
    double storage_bytes, view_bytes;
};

/* What the points of a growing object count. */
enum wire_census_form {
    WIRE_CENSUS_CONTAINER, /* items of a list, dict, set, deque */
    WIRE_CENSUS_OBJECTS,   /* objects of a type that no growing container explains */
    WIRE_CENSUS_TENSORS,   /* likewise, tensors that are alike */
    WIRE_CENSUS_GRAPH,     /* nodes of the graph behind one tensor */
    WIRE_CENSUS_SIZE,      /* bytes of one object that grows or is replaced by a larger one */
    WIRE_CENSUS_FORMS,
};

/* What an object is. LIST, TUPLE, DICT and SET (frozenset too) are exactly Python's own types, not
 * types derived from them. */
enum wire_thing_kind {
    WIRE_THING_OTHER, /* not known */
    WIRE_THING_NONE,  /* Python's None */
    WIRE_THING_NUMBER,
    WIRE_THING_TEXT,
    WIRE_THING_BYTES, /* also a bytearray */
    WIRE_THING_LIST,
    WIRE_THING_TUPLE,
    WIRE_THING_DICT,
    WIRE_THING_SET,
    WIRE_THING_CONTAINER, /* a deque, or of a type derived from one of those */
    WIRE_THING_TENSOR,    /* torch's, or of a class derived from it */
    WIRE_THING_ARRAY,     /* numpy's, likewise */
    WIRE_THING_SCALAR,    /* a single value from a library: a date, a numpy number */
    WIRE_THING_FUNCTION,  /* also a method */
    WIRE_THING_LANGUAGE,  /* cells, types, descriptors, weak references: what they hold is seen */
    WIRE_THING_OBJECT,    /* an instance of a class */
    WIRE_THING_EXTENSION, /* of an extension's class: what it holds may lie elsewhere */
    WIRE_THING_KINDS,
};

struct wire_census_thing {
    enum wire_thing_kind kind;
    const char *type;                   /* "collections.deque" */
    const char *dtype, *shape, *device; /* of a tensor */
    int dimensions;                     /* of a tensor; -1: not known */
    bool on_device;                     /* a tensor whose memory is not host memory */
};

/* How an object is held: what the holder's path leads through. */
enum wire_holder_kind {
    WIRE_HOLDER_OTHER,     /* not known */
    WIRE_HOLDER_LOCAL,     /* a variable of a running function; "(unnamed)": a temporary value */
    WIRE_HOLDER_GLOBAL,    /* path `module.name`; `name` in the program itself */
    WIRE_HOLDER_ATTRIBUTE, /* path `trainer.callbacks[2].history`; function: the last owner's
                              class */
    WIRE_HOLDER_CLASS,     /* path `Class.name` */
    WIRE_HOLDER_CLOSURE,   /* path: the variable; function: the closure */
    WIRE_HOLDER_LRU_CACHE, /* path: the cached function */
    WIRE_HOLDER_EXCEPTION, /* an exception's traceback; path: the exception; "": the one being
                              handled */
    WIRE_HOLDER_GENERATOR, /* path: a variable of the generator */
    WIRE_HOLDER_THREAD,    /* path: its name and its part; function: what it runs */
    WIRE_HOLDER_DEFAULT,   /* path: the parameter; function: its function */
    WIRE_HOLDER_NATIVE,    /* nothing that Python knows of: C or C++ code */
    WIRE_HOLDER_GARBAGE,   /* referenced only by each other, waiting for the collector */
    WIRE_HOLDER_KINDS,
};

struct wire_census_point {
    uint64_t time;
    double count;
};

/* A holder of growing objects. The largest share comes first. */
struct wire_census_holder {
    double share; /* of the objects traced back */
    enum wire_holder_kind kind;
    const char *path, *function, *file;
    int line; /* 0: not known */
};

struct wire_census_growing {
    uint64_t id;
    enum wire_census_form form;
    struct wire_census_thing what;
    struct wire_census_thing item[WIRE_CENSUS_ITEM_DEPTH]; /* from the outside in */
    unsigned item_depth;                                   /* 0: not known */
    double host_per_item, device_per_item;                 /* bytes */
    /* Intervals for both; NAN if the probe gives none. High is INFINITY if Python cannot see part
     * of an item: the nodes of a graph, the buffers of an extension. */
    double host_low, host_high, device_low, device_high;
    bool grad_fn, exception;
    bool function;  /* an item is or contains a function */
    bool extension; /* an item is or contains an object of an extension */
    double bound;   /* the most items it takes; NAN: no bound */
    double view;    /* bytes that an item pins beyond those it shows; NAN: not a view */
    double tensors; /* in an item; NAN: none */
    struct wire_census_point points[WIRE_CENSUS_POINTS]; /* oldest first */
    unsigned point_count;
    struct wire_census_holder holders[WIRE_CENSUS_HOLDERS_MOST];
    unsigned holder_count;
    /* If a library is the holder: a file of the program that may add to it, and the line of a
     * function there that an item leads to. NULL: not known; 0: none. */
    const char *caller;
    int caller_line;
    unsigned put_first; /* the former position, from 0, of the holder put first by its source */
    int addition;       /* the line that adds to it, in the first holder's file; 0: not found */
};

struct wire_census {
    char *text; /* all texts point into it */
    double number, objects;
    uint64_t time;
    bool complete;
    double in_a_row;           /* complete censuses in a row, up to this one: they are comparable */
    double censuses, searches; /* so far */
    double pause_seconds, longest_pause_seconds, child_seconds;
    double heap_in_use, heap_free, heap_mapped, asked;
    double arenas_in_use, arenas_free;
    double graph_walks, graph_nodes; /* walks so far; nodes of the largest graph in the last walk */
    bool profiler;                   /* torch's profiler is on */
    bool ended;                      /* the program had ended: what it released is missing */
    struct wire_census_act {
        double times, objects, bytes, seconds; /* times is NAN: not tried */
    } gc, trim;
    struct wire_census_type types[WIRE_CENSUS_TYPES];
    struct wire_census_tensors tensors[WIRE_CENSUS_DEVICES];
    struct wire_census_group groups[WIRE_CENSUS_GROUPS];
    struct wire_census_purpose purposes[WIRE_CENSUS_PURPOSES];
    struct wire_census_large large[WIRE_CENSUS_LARGE];
    struct wire_census_growing growing[WIRE_CENSUS_GROWING];
    const char *notes[WIRE_CENSUS_NOTES];
    unsigned type_count, tensors_count, group_count, purpose_count, large_count, growing_count,
        note_count;
};

/* The names in a census: "tuple", "lru_cache". */
const char *wire_thing_kind_name(enum wire_thing_kind kind);
const char *wire_holder_kind_name(enum wire_holder_kind kind);

/* Puts that holder first: of several names for one object, the one that the source adds to. */
void wire_census_put_first(struct wire_census_growing *g, unsigned holder);

/* Whether an item, or an object in it that weighs most, is of that kind. */
bool wire_census_item_has(const struct wire_census_growing *g, enum wire_thing_kind kind);

/* The caller owns *ret. -EPROTO: not a census; -EPROTONOSUPPORT: a census of another version;
 * -E2BIG; -ENOMEM. */
int wire_census_parse(const char *text, size_t len, struct wire_census **ret);
struct wire_census *wire_census_free(struct wire_census *c); /* accepts NULL, returns NULL */

#endif

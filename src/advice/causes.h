/* advice/causes.h: why the memory of a process grows: causes, ranked by what speaks for each. */
#ifndef TIDEMARK_ADVICE_CAUSES_H
#define TIDEMARK_ADVICE_CAUSES_H

#include "ledger/ledger.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Facts of one process in, causes out. A cause is named only where something that was measured
 * speaks for it; what could be one of two is said to be so, with what would tell. Only a process
 * that leaks, or is suspect, has causes: to ask for others is the caller's mistake.
 */
enum cause {
    CAUSE_RETAINED_LOSS,
    CAUSE_RETAINED_GRAPH,
    CAUSE_LINGERING_GRADIENTS,
    CAUSE_TENSOR_CLONES,
    CAUSE_SAMPLE_CACHE,
    CAUSE_GROWING_CONTAINER,
    CAUSE_GROWING_OBJECT,
    CAUSE_LRU_CACHE,
    CAUSE_HOOKS,
    CAUSE_CALLBACK_STATE,
    CAUSE_CLOSURE,
    CAUSE_TRACEBACKS,
    CAUSE_CYCLE,
    CAUSE_AUTOGRAD_CYCLE,
    CAUSE_NATIVE_TENSORS,
    CAUSE_REGISTERED,
    CAUSE_COMPILE_CACHE,
    CAUSE_STAGED_CHECKPOINTS,
    CAUSE_PROFILER,
    CAUSE_LOG_QUEUE,
    CAUSE_FILES,
    CAUSE_THREADS,
    CAUSE_PROCESSES,
    CAUSE_SHARED_MEMORY,
    CAUSE_PINNED,
    CAUSE_RETENTION,
    CAUSE_FRAGMENTATION,
    CAUSE_OUTSIDE_TORCH,
    CAUSE_NATIVE,
    CAUSES,
};

/* Something that has grown steadily, by the census. Rates are per unit of the clock. */
struct growth_facts {
    const struct wire_census_growing *growing;
    double count_rate;             /* of what its points count */
    double host_rate, device_rate; /* bytes, as far as they can be seen; NAN: not known */
    /* Of the growth there, by its ledger, 0 to 1; 0 where nothing grows there. */
    struct interval host_share, device_share;
};

/* Rates are per unit of the clock, of what leaks or is suspect; NAN: it does neither. */
struct cause_facts {
    const struct growth_facts *growths;
    size_t growth_count;
    double host_rate;       /* host.anon */
    double allocated_rate;  /* torch.allocated, all devices */
    double tensors_rate;    /* py.tensors, all devices */
    double gpu_rate;        /* gpu.used, all devices */
    double shared_rate;     /* host.shmem */
    double fds_rate;        /* fds */
    double threads_rate;    /* threads */
    double processes_rate;  /* of the whole job, where this process is one that starts them */
    bool shared_is_pinned;  /* most of it is memory that torch has pinned */
    double reserved_growth; /* torch.reserved, whatever its verdict; NAN: not known */
    bool allocated_known;   /* there is torch.allocated */
    bool censused;          /* its objects were counted often enough to see what grows */
    /* Of the growth of host memory, by its ledger, 0 to 1. */
    struct interval unexplained;
    double heap_used, heap_free;            /* malloc's in-use bytes, free memory; NAN: not known */
    struct interval device_unexplained;     /* of that of allocated_rate */
    double graph_tensors;                   /* that are or may be in a graph, at the last census */
    bool profiler;                          /* an object of one is there */
    double model_bytes, model_tensors;      /* its parameters; NAN: not known */
    const struct wire_census_group *groups; /* tensors that are alike, those that take most */
    size_t group_count;
};

#define CAUSES_MOST 16u
#define CAUSE_EVIDENCE 3u
#define CAUSE_TEXT_LENGTH 240u

struct cause_found {
    enum cause cause;
    const struct growth_facts *growth; /* of the facts; NULL: seen from the counters alone */
    double weight;   /* 0 to 1, of all the memory that grows: the causes are in the order of it */
    double share;    /* of the growth of one memory it explains, 0 to 1, at least; NAN: not known */
    bool holds_more; /* than is seen at its items */
    char evidence[CAUSE_EVIDENCE][CAUSE_TEXT_LENGTH];
    unsigned evidence_count;
};

struct causes {
    struct cause_found list[CAUSES_MOST];
    unsigned count;
    char undecided[CAUSE_EVIDENCE][CAUSE_TEXT_LENGTH]; /* what cannot be told, and what would */
    unsigned undecided_count;
};

/* Its items take memory that is not seen at them: a graph, or outside Python's own. */
bool causes_hold_more(const struct wire_census_growing *g);

/* Not for bounded containers: these are caches, and the caller tells where they end. */
void causes_rank(const struct cause_facts *facts, struct causes *ret);

#endif

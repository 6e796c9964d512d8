/* advice/causes.h: why a process's memory grows: causes, ranked by their evidence. */
#ifndef TIDEMARK_ADVICE_CAUSES_H
#define TIDEMARK_ADVICE_CAUSES_H

#include "ledger/ledger.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Facts of one process in, causes out. A cause is named only where a measurement supports it. Where
 * it could be one of two, `undecided` says so and what would decide it. The caller must ask only
 * about a process that leaks or is suspect: only these have causes.
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
    CAUSE_ALLOCATION, /* a line allocates what stays; its holder is not known */
    CAUSES,
};

/* Objects that grow steadily, according to the census. Rates are per unit of the clock. */
struct growth_facts {
    const struct wire_census_growing *growing;
    double count_rate;             /* of the counts of its points */
    double host_rate, device_rate; /* bytes, as far as the census can see them; NAN: not known */
    /* Its share of the memory's growth, by that memory's ledger, 0 to 1; 0 where that memory does
     * not grow. */
    struct interval host_share, device_share;
};

/* Rates are per unit of the clock; NAN: this counter is neither leaking nor suspect. */
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
    double processes_rate;  /* of the whole job, where this process starts processes */
    bool shared_is_pinned;  /* most of the shared memory is memory that torch pinned */
    double reserved_growth; /* torch.reserved, whatever its verdict; NAN: not known */
    bool allocated_known;   /* torch.allocated was reported */
    bool censused;          /* enough censuses to see what grows */
    /* Share of the growth of host memory, by its ledger, 0 to 1. */
    struct interval unexplained;
    double heap_used, heap_free; /* malloc's in-use bytes, free heap memory; NAN: not known */
    struct interval device_unexplained; /* share of the growth of allocated_rate */
    double graph_tensors; /* tensors that are or may be in a graph, at the last census */
    bool profiler;        /* a profiler object exists */
    double model_bytes, model_tensors; /* its parameters; NAN: not known */
    /* Share of the growth that the first traced line allocates, 0: none: of host memory, of torch's
     * on a device. */
    struct interval traced, device_traced;
    const struct wire_census_group *groups; /* groups of similar tensors, the largest */
    size_t group_count;
};

#define CAUSES_MOST 16u
#define CAUSE_EVIDENCE 3u
#define CAUSE_TEXT_LENGTH 240u

struct cause_found {
    enum cause cause;
    const struct growth_facts *growth; /* of the facts; NULL: only counters show it */
    double weight;   /* 0 to 1, share of all growing memory; causes are ranked by it */
    double share;    /* share of one memory's growth that it explains, 0 to 1, lower bound; NAN: not
                        known */
    bool holds_more; /* it holds more than the census sees in its items */
    bool is_traced;  /* its place is the first traced line ... */
    bool is_of_device; /* ... of torch's memory on a device, not of host memory */
    char evidence[CAUSE_EVIDENCE][CAUSE_TEXT_LENGTH];
    unsigned evidence_count;
};

struct causes {
    struct cause_found list[CAUSES_MOST];
    unsigned count;
    char undecided[CAUSE_EVIDENCE][CAUSE_TEXT_LENGTH]; /* what is open, and what would decide it */
    unsigned undecided_count;
};

/* Whether its items hold memory that the census does not see: a graph, or memory outside Python. */
bool causes_hold_more(const struct wire_census_growing *g);

/* Not for bounded containers: these are caches, and the caller reports their bounds. */
void causes_rank(const struct cause_facts *facts, struct causes *ret);

#endif

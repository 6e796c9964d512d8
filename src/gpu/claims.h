/* gpu/claims.h: what a driver says each process holds, before it is told apart. Inside gpu only. */
#ifndef TIDEMARK_GPU_CLAIMS_H
#define TIDEMARK_GPU_CLAIMS_H

#include "gpu/gpu.h"

#include <stdint.h>

/* The part of a device that is the whole device. */
#define GPU_WHOLE UINT64_MAX

/*
 * A driver names a process once for each kind of context and for each part (MIG instance) it is
 * on. Two claims on one part are about the same memory, those on different parts add up.
 */
struct gpu_claim {
    pid_t pid;
    uint64_t part;
    double used_bytes; /* NAN: not told */
};

/* Initialise with zeros. One owner. */
struct gpu_claims {
    struct gpu_claim *list;
    size_t count, cap;
};

void gpu_claims_release(struct gpu_claims *c);
int gpu_claims_add(struct gpu_claims *c, const struct gpu_claim *claim); /* -ENOMEM */

/*
 * Sorts the claims and writes each process once to `ret`, which holds at least c->count. Memory of
 * a process on several parts of which one is not told is not told. The number of processes. Pure.
 */
size_t gpu_claims_fold(struct gpu_claims *c, struct gpu_process *ret);

#endif

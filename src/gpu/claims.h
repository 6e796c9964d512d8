/* gpu/claims.h: what a driver reports per context and part, before it is merged. Inside gpu only.
 * */
#ifndef TIDEMARK_GPU_CLAIMS_H
#define TIDEMARK_GPU_CLAIMS_H

#include "gpu/gpu.h"

#include <stdint.h>

/* The part that stands for the whole device. */
#define GPU_WHOLE UINT64_MAX

/*
 * A driver lists a process once for each kind of context and for each part (MIG instance) it uses.
 * Two claims on one part are about the same memory; claims on different parts add up.
 */
struct gpu_claim {
    pid_t pid;
    uint64_t part;
    double used_bytes; /* NAN: not reported */
};

/* Initialize with zeros. One owner. */
struct gpu_claims {
    struct gpu_claim *list;
    size_t count, cap;
};

void gpu_claims_release(struct gpu_claims *c);
int gpu_claims_add(struct gpu_claims *c, const struct gpu_claim *claim); /* -ENOMEM */

/*
 * Sorts the claims and writes each process once to `ret`, which has room for at least c->count. If
 * one of several parts has unknown memory, so has the process. Returns the number of processes.
 * Pure.
 */
size_t gpu_claims_fold(struct gpu_claims *c, struct gpu_process *ret);

#endif

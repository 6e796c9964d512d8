/* gpu/gpu.h: GPU memory by process and device. NVML is loaded at run time, never linked. */
#ifndef TIDEMARK_GPU_H
#define TIDEMARK_GPU_H

#include "base/base.h"

#include <stddef.h>
#include <sys/types.h>

/*
 * One owner, one thread. A machine without a driver is no error of ours: gpu_open() says why in
 * one line, and there are no GPU series.
 */
struct gpu;

#define GPU_WHY_LENGTH 160

/*
 * Loads libnvidia-ml.so.1 (or the file that TIDEMARK_NVML names, for tests: a path with a slash;
 * not heeded in a setuid program). -ENOENT: no driver library; -ENODEV: no device or the driver
 * does not answer; -ENOMEM. `why` says it in words ("no NVIDIA driver"); untouched on success.
 *
 * May take seconds where the driver has to wake the GPUs first (no persistence mode), and does not
 * come back from a driver that hangs: call it where that harms nobody but the watcher. The reads
 * below ask the driver too and may hang like it.
 */
int gpu_open(struct gpu **ret, char why[GPU_WHY_LENGTH]);

/* Accepts NULL, returns NULL. In the child of a fork the driver is left alone: what is open there
 * is the parent's, and to close it would close the parent's. */
struct gpu *gpu_free(struct gpu *g);

struct gpu_device {
    unsigned index; /* NVML's, in PCI order; CUDA's numbers may differ: the uuid is the identity */
    char uuid[96];  /* "GPU-..." or "MIG-..."; "": not told */
    char name[96];  /* "": not told */
    double total_bytes; /* NAN: not told (memory shared with the host) */
};

/*
 * The devices, each MIG-enabled one followed by its instances: they have its `index`, a uuid that
 * begins with "MIG-", and what they hold is part of what it holds (do not add both up). Fixed as
 * long as `g` is open; an instance made later is not seen, one destroyed fails to read.
 */
size_t gpu_device_count(const struct gpu *g);
const struct gpu_device *gpu_device(const struct gpu *g, size_t device);

struct gpu_load {
    double used_bytes, total_bytes;         /* of the whole device; NAN: not told */
    double utilization, memory_utilization; /* percent; NAN: not told */
};

/* -ENODEV: lost; -EIO: the driver failed otherwise. */
int gpu_read_device(struct gpu *g, size_t device, struct gpu_load *ret);

struct gpu_process {
    pid_t pid;         /* as the driver numbers them: the host's, which a container may not know */
    double used_bytes; /* NAN: not told */
};

/*
 * The processes with a context on the device, compute (MPS's clients too) and graphics, each once,
 * by ascending pid. The list belongs to `g` and is valid until the next call. -ENOTSUP: the driver
 * does not tell here (why: some containers, MIG without rights); -ENODEV: lost; -EIO; -ENOMEM.
 * Other containers get no error but an empty list, or pids that mean nothing to them.
 */
int gpu_read_processes(struct gpu *g, size_t device, const struct gpu_process **ret_list,
                       size_t *ret_count);

/*
 * The devices a process may use by its CUDA_VISIBLE_DEVICES (NULL: not set, all of them), in the
 * order that CUDA numbers them: indices, or uuids and their unique beginnings, ended by the first
 * that fits none, as CUDA reads it; a device named twice makes the list empty. Pure. The number of
 * devices written to `ret`, which has room for `count` and is scratch beyond that; -EINVAL where
 * it cannot be told: an index while a device is MIG-enabled (CUDA then counts instances),
 * "MIG-GPU-.../1/0" where the driver names instances otherwise.
 *
 * Indices are read as under CUDA_DEVICE_ORDER=PCI_BUS_ID. By default CUDA puts the fastest first:
 * that is the same order only among devices of one name, which is for the caller to see to.
 */
int gpu_visible_parse(const char *visible, const struct gpu_device *devices, size_t count,
                      size_t *ret);

#endif

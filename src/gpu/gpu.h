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
 * Loads libnvidia-ml.so.1 (or what TIDEMARK_NVML names, for tests). -ENOENT: no driver library;
 * -ENODEV: no device or the driver does not answer; `why` says it in words ("no NVIDIA driver").
 */
int gpu_open(struct gpu **ret, char why[GPU_WHY_LENGTH]);
struct gpu *gpu_free(struct gpu *g); /* accepts NULL, returns NULL */

struct gpu_device {
    unsigned index; /* NVML's, in PCI order; CUDA's numbers may differ: the uuid is the identity */
    char uuid[96];  /* "GPU-..." or "MIG-..." */
    char name[96];
    double total_bytes;
};

/* The devices (of a MIG-enabled one its instances as well). Fixed as long as `g` is open. */
size_t gpu_device_count(const struct gpu *g);
const struct gpu_device *gpu_device(const struct gpu *g, size_t device);

struct gpu_load {
    double used_bytes, total_bytes;         /* of the whole device; NAN: not told */
    double utilization, memory_utilization; /* percent; NAN: not told */
};

int gpu_read_device(struct gpu *g, size_t device, struct gpu_load *ret); /* -EIO, -ENODEV: lost */

struct gpu_process {
    pid_t pid;         /* as the driver numbers them: the host's, which a container may not know */
    double used_bytes; /* NAN: not told */
};

/*
 * The processes with a context on the device, compute and graphics, each once. The list belongs to
 * `g` and is valid until the next call. -ENOTSUP: the driver does not tell here (why: some
 * containers, MIG without rights).
 */
int gpu_read_processes(struct gpu *g, size_t device, const struct gpu_process **ret_list,
                       size_t *ret_count);

/*
 * The devices a process may use by its CUDA_VISIBLE_DEVICES: numbers (in the order that
 * CUDA_DEVICE_ORDER gives: PCI_BUS_ID, else unknown), uuids or their unique beginnings, ended by
 * the first that fits none, as CUDA reads it. Pure. The number of devices written to `ret`, at
 * most `count`; -EINVAL where it cannot be told.
 */
int gpu_visible_parse(const char *visible, const struct gpu_device *devices, size_t count,
                      size_t *ret);

#endif

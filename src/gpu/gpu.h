/* gpu/gpu.h: GPU memory by process and device. NVML is loaded at run time, never linked. */
#ifndef TIDEMARK_GPU_H
#define TIDEMARK_GPU_H

#include "base/base.h"

#include <stddef.h>
#include <sys/types.h>

/*
 * One owner, one thread. A machine without a driver is not an error: gpu_open() says why in one
 * line, and there are no GPU series.
 */
struct gpu;

#define GPU_WHY_LENGTH 160

/*
 * Loads libnvidia-ml.so.1, or the file that TIDEMARK_NVML names (for tests: a path with a slash;
 * ignored in a setuid program). -ENOENT: no driver library; -ENODEV: no device, or the driver does
 * not answer; -ENOMEM. `why` gets a short reason ("no NVIDIA driver") and is untouched on success.
 *
 * May take seconds if the driver must wake the GPUs first (no persistence mode), and never returns
 * if the driver hangs: call it where that blocks only the watcher. The reads below also call the
 * driver and may hang too.
 */
int gpu_open(struct gpu **ret, char why[GPU_WHY_LENGTH]);

/* Accepts NULL, returns NULL. In a forked child it leaves the driver alone: the open handles are
 * the parent's, and closing them would close the parent's. */
struct gpu *gpu_free(struct gpu *g);

struct gpu_device {
    unsigned index; /* NVML's, in PCI order; CUDA's numbers may differ: the uuid is the identity */
    char uuid[96];  /* "GPU-..." or "MIG-..."; "": not reported */
    char name[96];  /* "": not reported */
    double total_bytes; /* NAN: not reported (memory shared with the host) */
};

/*
 * The devices. Each MIG-enabled device is followed by its instances, which have its `index` and a
 * uuid that begins with "MIG-". Their memory is part of the device's memory, so do not add both.
 * The list is fixed while `g` is open: it misses instances created later, and reading a destroyed
 * one fails.
 */
size_t gpu_device_count(const struct gpu *g);
const struct gpu_device *gpu_device(const struct gpu *g, size_t device);

struct gpu_load {
    double used_bytes, total_bytes;         /* of the whole device; NAN: not reported */
    double utilization, memory_utilization; /* percent; NAN: not reported */
};

/* -ENODEV: lost; -EIO: the driver failed otherwise. */
int gpu_read_device(struct gpu *g, size_t device, struct gpu_load *ret);

struct gpu_process {
    pid_t pid;         /* the host's pid, which may not exist in a container */
    double used_bytes; /* NAN: not reported */
};

/*
 * The processes with a context on the device, compute (including MPS clients) and graphics, each
 * once, by ascending pid. The list belongs to `g` and is valid until the next call. -ENOTSUP: the
 * driver does not report them here (some containers, MIG without rights); -ENODEV: lost; -EIO;
 * -ENOMEM. Some containers get no error but an empty list, or pids of another namespace.
 */
int gpu_read_processes(struct gpu *g, size_t device, const struct gpu_process **ret_list,
                       size_t *ret_count);

/*
 * The devices that CUDA_VISIBLE_DEVICES lets a process use (NULL: not set, all of them), in CUDA's
 * order. The list has indices, or uuids and their unique prefixes; as in CUDA it ends at the first
 * entry that matches nothing, and a device named twice makes it empty. Pure. Returns the number of
 * devices written to `ret`, which has room for `count` and is working space beyond that. -EINVAL
 * where the answer is unknown: an index while a device is MIG-enabled (CUDA then counts instances),
 * or "MIG-GPU-.../1/0" where the driver names instances otherwise.
 *
 * Indices are read as under CUDA_DEVICE_ORDER=PCI_BUS_ID. By default CUDA puts the fastest device
 * first. The caller must check that all devices have one name, where both orders agree.
 */
int gpu_visible_parse(const char *visible, const struct gpu_device *devices, size_t count,
                      size_t *ret);

#endif

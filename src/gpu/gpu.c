/* gpu/gpu.c: GPU memory by process and device, over a vendor's driver. */
#include "gpu/gpu.h"

#include "gpu/driver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct gpu {
    const struct gpu_driver *driver;
    void *state;
    struct gpu_claims claims; /* of the last gpu_read_processes() */
    struct gpu_process *processes;
    size_t cap;
    pid_t owner; /* the process that opened it */
};

int gpu_open(struct gpu **ret, char why[GPU_WHY_LENGTH])
{
    struct gpu *g = calloc(1, sizeof *g);
    int r = g ? gpu_nvml.open(&g->state, why) : -ENOMEM;
    if (r == -ENOMEM)
        snprintf(why, GPU_WHY_LENGTH, "not enough memory");
    if (r < 0) {
        free(g);
        return r;
    }
    g->driver = &gpu_nvml;
    g->owner = getpid();
    *ret = g;
    return 0;
}

struct gpu *gpu_free(struct gpu *g)
{
    if (!g)
        return NULL;
    if (g->owner == getpid())
        g->driver->close(g->state);
    gpu_claims_release(&g->claims);
    free(g->processes);
    free(g);
    return NULL;
}

size_t gpu_device_count(const struct gpu *g)
{
    return g->driver->device_count(g->state);
}

const struct gpu_device *gpu_device(const struct gpu *g, size_t device)
{
    assert(device < gpu_device_count(g));
    return g->driver->device(g->state, device);
}

int gpu_read_device(struct gpu *g, size_t device, struct gpu_load *ret)
{
    assert(device < gpu_device_count(g));
    return g->driver->read_device(g->state, device, ret);
}

static int reserve(struct gpu *g, size_t count)
{
    if (count <= g->cap)
        return 0;
    struct gpu_process *processes = realloc(g->processes, count * sizeof *processes);
    if (!processes)
        return -ENOMEM;
    g->processes = processes;
    g->cap = count;
    return 0;
}

int gpu_read_processes(struct gpu *g, size_t device, const struct gpu_process **ret_list,
                       size_t *ret_count)
{
    assert(device < gpu_device_count(g));
    g->claims.count = 0;
    int r = g->driver->read_claims(g->state, device, &g->claims);
    if (r == 0)
        r = reserve(g, g->claims.count);
    if (r < 0)
        return r;
    *ret_count = gpu_claims_fold(&g->claims, g->processes);
    *ret_list = g->processes;
    return 0;
}

/* gpu/driver.h: what gpu.c needs from a vendor's driver. Inside gpu only. */
#ifndef TIDEMARK_GPU_DRIVER_H
#define TIDEMARK_GPU_DRIVER_H

#include "gpu/claims.h"
#include "gpu/gpu.h"

/* The contracts are those of gpu.h; `state` is what open() returned, `device` is below its count.
 * */
struct gpu_driver {
    int (*open)(void **ret_state, char why[GPU_WHY_LENGTH]);
    void (*close)(void *state);
    size_t (*device_count)(const void *state);
    const struct gpu_device *(*device)(const void *state, size_t device);
    int (*read_device)(void *state, size_t device, struct gpu_load *ret);
    int (*read_claims)(void *state, size_t device, struct gpu_claims *claims); /* adds */
};

extern const struct gpu_driver gpu_nvml;

#endif

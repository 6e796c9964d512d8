/* gpu/nvml_api.h: the few calls of NVIDIA's management library that tidemark uses. Inside gpu only.
 * */
#ifndef TIDEMARK_GPU_NVML_API_H
#define TIDEMARK_GPU_NVML_API_H

#include "gpu/gpu.h"

#include <stdint.h>

/*
 * Written from NVML's reference manual (docs.nvidia.com/deploy/nvml-api), without nvml.h or copies
 * from it. The layout of a struct is part of NVML's ABI and never changes under one name, except
 * for the lists of processes (see below).
 */
typedef int nvml_return; /* an `enum` that newer drivers extend */
typedef struct nvml_handle *nvml_device;

enum {
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_DEPRECATED = 26,
    NVML_GPU_NOT_FOUND = 28,
};

#define NVML_NOT_AVAILABLE UINT64_MAX /* a number that the driver does not know */

struct nvml_memory {
    uint64_t total, free, used;
};

struct nvml_memory_v2 {
    uint32_t version; /* NVML_MEMORY_V2, set by the caller */
    uint64_t total, reserved, free, used;
};

/* NVML's versions of structs: the size, and the number in the top byte. */
#define NVML_MEMORY_V2 ((uint32_t) sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_utilization {
    uint32_t gpu, memory; /* percent */
};

/*
 * An entry of a list of processes: pid at 0 (32 bits), memory at 8 (64), and from version 2 on GPU
 * instance at 16 and compute instance at 20 (32 each). Version 3 is like 2 in most drivers, but
 * 535.43 to 535.86 append 8 bytes, and some libraries in containers answer a version 3 call with
 * version 1. nvml_processes_stride() finds out.
 */
enum { NVML_PROCESS_V1 = 16, NVML_PROCESS_V2 = 24, NVML_PROCESS_LONGEST = 32 };

enum nvml_context { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS, NVML_CONTEXTS };
enum { NVML_LIST_V3, NVML_LIST_V2, NVML_LIST_V1, NVML_LIST_VERSIONS };

/* *count: in, the room in `entries`; out, the number of processes (also on INSUFFICIENT_SIZE). */
typedef nvml_return nvml_list(nvml_device device, uint32_t *count, void *entries);

/* The library. NULL: this driver lacks the call. */
struct nvml_api {
    void *library; /* NULL: closed */
    nvml_return (*init)(void);
    nvml_return (*shutdown)(void);
    const char *(*error_string)(nvml_return code);
    nvml_return (*device_count)(uint32_t *ret);
    nvml_return (*device_by_index)(uint32_t index, nvml_device *ret);
    nvml_return (*device_uuid)(nvml_device device, char *ret, uint32_t size);
    nvml_return (*device_name)(nvml_device device, char *ret, uint32_t size);
    nvml_return (*memory)(nvml_device device, struct nvml_memory *ret);
    nvml_return (*memory_v2)(nvml_device device, struct nvml_memory_v2 *ret);
    nvml_return (*utilization)(nvml_device device, struct nvml_utilization *ret);
    nvml_return (*mig_mode)(nvml_device device, uint32_t *ret_current, uint32_t *ret_pending);
    nvml_return (*mig_most)(nvml_device device, uint32_t *ret_count);
    nvml_return (*mig_by_index)(nvml_device device, uint32_t index, nvml_device *ret);
    nvml_list *list[NVML_CONTEXTS][NVML_LIST_VERSIONS];
};

/* Loads the library without calling it. -ENOENT, with the reason in `why`. */
int nvml_api_open(struct nvml_api *ret, char why[GPU_WHY_LENGTH]);
void nvml_api_close(struct nvml_api *api);

/* The error message, never NULL. */
const char *nvml_api_error(const struct nvml_api *api, nvml_return code);

/*
 * The bytes per entry of a list of `count` that the driver wrote over `size` bytes of
 * NVML_UNTOUCHED; `documented` where that does not show. Pure.
 */
#define NVML_UNTOUCHED 0xa5
size_t nvml_processes_stride(const unsigned char *bytes, size_t size, size_t count,
                             size_t documented);

#endif

/* gpu/nvml.c: NVIDIA's devices and the processes that use their memory. */
#include "gpu/driver.h"
#include "gpu/nvml_api.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gives up on a list that is still too short after this many tries, or longer than this. */
#define LIST_TRIES 8
#define LIST_MOST 65536u

struct unit {
    nvml_device handle;
    struct gpu_device device;
};

struct nvml {
    struct nvml_api api;
    struct unit *units;
    size_t count;
    unsigned char *entries; /* a list of processes as the driver writes it */
    uint32_t cap;           /* entries of NVML_PROCESS_LONGEST bytes */
};

static int error_of(nvml_return code)
{
    switch (code) {
    case NVML_SUCCESS:
        return 0;
    case NVML_NOT_SUPPORTED:
    case NVML_NO_PERMISSION:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_ARGUMENT_VERSION_MISMATCH:
    case NVML_DEPRECATED:
        return -ENOTSUP;
    case NVML_NOT_FOUND: /* a MIG instance that was destroyed */
    case NVML_GPU_IS_LOST:
    case NVML_RESET_REQUIRED:
    case NVML_GPU_NOT_FOUND:
        return -ENODEV;
    default:
        return -EIO;
    }
}

/* ---- memory and load ---- */

static double known_bytes(uint64_t bytes)
{
    return bytes == NVML_NOT_AVAILABLE ? NAN : (double) bytes;
}

/* -ENOTSUP: a GPU without memory of its own, or MIG without the rights to read it. */
static int read_memory(const struct nvml_api *api, nvml_device handle, struct gpu_load *ret)
{
    if (api->memory_v2) {
        struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
        int r = error_of(api->memory_v2(handle, &memory));
        if (r == 0) {
            ret->used_bytes = known_bytes(memory.used);
            ret->total_bytes = known_bytes(memory.total);
        }
        if (r != -ENOTSUP)
            return r;
    }
    struct nvml_memory memory;
    int r = api->memory ? error_of(api->memory(handle, &memory)) : -ENOTSUP;
    if (r == 0) {
        ret->used_bytes = known_bytes(memory.used);
        ret->total_bytes = known_bytes(memory.total);
    }
    return r;
}

/* Only a lost device is an error: MIG fails to report utilization in several ways. */
static int read_utilization(const struct nvml_api *api, nvml_device handle, struct gpu_load *ret)
{
    struct nvml_utilization utilization;
    int r = api->utilization ? error_of(api->utilization(handle, &utilization)) : -ENOTSUP;
    if (r == 0) {
        ret->utilization = utilization.gpu;
        ret->memory_utilization = utilization.memory;
    }
    return r == -ENODEV ? r : 0;
}

static int nvml_read_device(void *state, size_t device, struct gpu_load *ret)
{
    const struct nvml *n = state;
    nvml_device handle = n->units[device].handle;
    struct gpu_load load = {NAN, NAN, NAN, NAN};
    int r = read_memory(&n->api, handle, &load);
    if (r == 0 || r == -ENOTSUP)
        r = read_utilization(&n->api, handle, &load);
    if (r == 0)
        *ret = load;
    return r;
}

/* ---- processes ---- */

static int reserve_entries(struct nvml *n, uint32_t count)
{
    if (count <= n->cap)
        return 0;
    unsigned char *entries = realloc(n->entries, (size_t) count * NVML_PROCESS_LONGEST);
    if (!entries)
        return -ENOMEM;
    n->entries = entries;
    n->cap = count;
    return 0;
}

/* Fetches the list as the driver writes it, into n->entries. */
static int fetch_entries(struct nvml *n, nvml_list *list, nvml_device handle, uint32_t *ret_count)
{
    uint32_t room = n->cap ? n->cap : 64;
    for (int tries = 0; tries < LIST_TRIES; tries++) {
        int r = reserve_entries(n, room);
        if (r < 0)
            return r;
        memset(n->entries, NVML_UNTOUCHED, (size_t) n->cap * NVML_PROCESS_LONGEST);
        uint32_t count = n->cap;
        nvml_return code = list(handle, &count, n->entries);
        if (code == NVML_SUCCESS && count <= n->cap) {
            *ret_count = count;
            return 0;
        }
        if (code != NVML_INSUFFICIENT_SIZE)
            return code == NVML_SUCCESS ? -EIO : error_of(code);
        if (count > LIST_MOST)
            return -EIO;
        /* Room for processes that start meanwhile. */
        room = (count > n->cap ? count : n->cap) + 32;
    }
    return -EIO;
}

static struct gpu_claim entry_claim(const unsigned char *entry, size_t stride)
{
    uint32_t pid, gpu_instance, compute_instance;
    uint64_t used;
    memcpy(&pid, entry, sizeof pid);
    memcpy(&used, entry + 8, sizeof used);
    struct gpu_claim claim = {(pid_t) pid, GPU_WHOLE, known_bytes(used)};
    if (stride >= NVML_PROCESS_V2) {
        memcpy(&gpu_instance, entry + 16, sizeof gpu_instance);
        memcpy(&compute_instance, entry + 20, sizeof compute_instance);
        claim.part = (uint64_t) gpu_instance << 32 | compute_instance;
    }
    return claim;
}

static int add_claims(const struct nvml *n, uint32_t count, size_t documented,
                      struct gpu_claims *claims)
{
    size_t stride = nvml_processes_stride(n->entries, (size_t) n->cap * NVML_PROCESS_LONGEST, count,
                                          documented);
    for (uint32_t i = 0; i < count; i++) {
        struct gpu_claim claim = entry_claim(n->entries + i * stride, stride);
        /* 0: a process that this container may not see. */
        int r = claim.pid > 0 ? gpu_claims_add(claims, &claim) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Uses the newest version that works: a driver may have the symbol without the function. */
static int read_context(struct nvml *n, nvml_device handle, enum nvml_context context,
                        struct gpu_claims *claims)
{
    static const size_t documented[NVML_LIST_VERSIONS] = {
        [NVML_LIST_V3] = NVML_PROCESS_V2,
        [NVML_LIST_V2] = NVML_PROCESS_V2,
        [NVML_LIST_V1] = NVML_PROCESS_V1,
    };
    int r = -ENOTSUP;
    for (int version = 0; version < NVML_LIST_VERSIONS && r == -ENOTSUP; version++) {
        nvml_list *list = n->api.list[context][version];
        uint32_t count = 0;
        if (!list)
            continue;
        r = fetch_entries(n, list, handle, &count);
        if (r == 0)
            r = add_claims(n, count, documented[version], claims);
    }
    return r;
}

static int nvml_read_claims(void *state, size_t device, struct gpu_claims *claims)
{
    struct nvml *n = state;
    nvml_device handle = n->units[device].handle;
    int r = read_context(n, handle, NVML_COMPUTE, claims);
    for (enum nvml_context context = NVML_GRAPHICS; r == 0 && context < NVML_CONTEXTS; context++) {
        /* Many GPUs for computing have no graphics, and many drivers do not report MPS clients. */
        r = read_context(n, handle, context, claims);
        if (r == -ENOTSUP || r == -EIO)
            r = 0;
    }
    return r;
}

/* ---- devices ---- */

static void ask_text(nvml_return (*call)(nvml_device, char *, uint32_t), nvml_device handle,
                     char *ret, size_t size)
{
    if (!call || call(handle, ret, (uint32_t) size) != NVML_SUCCESS)
        ret[0] = '\0';
    ret[size - 1] = '\0';
}

static int add_unit(struct nvml *n, nvml_device handle, uint32_t index)
{
    struct unit *units = realloc(n->units, (n->count + 1) * sizeof *units);
    if (!units)
        return -ENOMEM;
    n->units = units;
    struct unit *unit = &units[n->count++];
    memset(unit, 0, sizeof *unit);
    unit->handle = handle;
    unit->device.index = index;
    ask_text(n->api.device_uuid, handle, unit->device.uuid, sizeof unit->device.uuid);
    ask_text(n->api.device_name, handle, unit->device.name, sizeof unit->device.name);
    struct gpu_load load = {NAN, NAN, NAN, NAN};
    (void) read_memory(&n->api, handle, &load);
    unit->device.total_bytes = load.total_bytes;
    return 0;
}

static bool is_mig_enabled(const struct nvml_api *api, nvml_device handle)
{
    uint32_t current = 0, pending;
    return api->mig_mode && api->mig_most && api->mig_by_index &&
           api->mig_mode(handle, &current, &pending) == NVML_SUCCESS && current == 1;
}

static int add_instances(struct nvml *n, nvml_device parent, uint32_t index)
{
    uint32_t most;
    if (!is_mig_enabled(&n->api, parent) || n->api.mig_most(parent, &most) != NVML_SUCCESS)
        return 0;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < most; i++) {
        nvml_device instance;
        /* Not every slot has an instance. */
        if (n->api.mig_by_index(parent, i, &instance) == NVML_SUCCESS)
            r = add_unit(n, instance, index);
    }
    return r;
}

/* An unusable device (lost, or without rights) does not stop the others from being listed. */
static int add_device(struct nvml *n, uint32_t index, nvml_return *ret_refused)
{
    nvml_device handle;
    nvml_return code = n->api.device_by_index(index, &handle);
    if (code != NVML_SUCCESS) {
        *ret_refused = code;
        return 0;
    }
    int r = add_unit(n, handle, index);
    return r < 0 ? r : add_instances(n, handle, index);
}

static int add_devices(struct nvml *n, char why[GPU_WHY_LENGTH])
{
    uint32_t count = 0;
    nvml_return refused = n->api.device_count(&count);
    if (refused != NVML_SUCCESS)
        count = 0;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = add_device(n, i, &refused);
    if (r < 0 || n->count > 0)
        return r;
    if (refused == NVML_SUCCESS)
        snprintf(why, GPU_WHY_LENGTH, "no NVIDIA device");
    else
        snprintf(why, GPU_WHY_LENGTH, "no NVIDIA device: %s", nvml_api_error(&n->api, refused));
    return -ENODEV;
}

static int start(const struct nvml_api *api, char why[GPU_WHY_LENGTH])
{
    if (!api->init || !api->device_count || !api->device_by_index) {
        snprintf(why, GPU_WHY_LENGTH, "the NVIDIA driver is too old: its library has no %s",
                 !api->init           ? "nvmlInit"
                 : !api->device_count ? "nvmlDeviceGetCount"
                                      : "nvmlDeviceGetHandleByIndex");
        return -ENODEV;
    }
    nvml_return code = api->init();
    if (code == NVML_SUCCESS)
        return 0;
    snprintf(why, GPU_WHY_LENGTH, "the NVIDIA driver does not answer: %s",
             nvml_api_error(api, code));
    return -ENODEV;
}

static void nvml_free(struct nvml *n)
{
    nvml_api_close(&n->api);
    free(n->units);
    free(n->entries);
    free(n);
}

static void nvml_close(void *state)
{
    struct nvml *n = state;
    if (n->api.shutdown)
        n->api.shutdown();
    nvml_free(n);
}

static int nvml_open(void **ret_state, char why[GPU_WHY_LENGTH])
{
    struct nvml *n = calloc(1, sizeof *n);
    if (!n)
        return -ENOMEM;
    int r = nvml_api_open(&n->api, why);
    if (r == 0)
        r = start(&n->api, why);
    if (r < 0) {
        nvml_free(n);
        return r;
    }
    r = add_devices(n, why);
    if (r < 0) {
        nvml_close(n);
        return r;
    }
    *ret_state = n;
    return 0;
}

static size_t nvml_device_count(const void *state)
{
    return ((const struct nvml *) state)->count;
}

static const struct gpu_device *nvml_device_info(const void *state, size_t device)
{
    return &((const struct nvml *) state)->units[device].device;
}

const struct gpu_driver gpu_nvml = {
    .open = nvml_open,
    .close = nvml_close,
    .device_count = nvml_device_count,
    .device = nvml_device_info,
    .read_device = nvml_read_device,
    .read_claims = nvml_read_claims,
};

/* gpu/nvml_api.c: NVIDIA's management library, loaded at run time. */
#include "gpu/nvml_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

/* If a call has several names, the first one in the library is used. */
static const struct symbol {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(member, name)                                                                       \
    {                                                                                              \
        name, offsetof(struct nvml_api, member)                                                    \
    }
    SYMBOL(init, "nvmlInit_v2"),
    SYMBOL(init, "nvmlInit"),
    SYMBOL(shutdown, "nvmlShutdown"),
    SYMBOL(error_string, "nvmlErrorString"),
    SYMBOL(device_count, "nvmlDeviceGetCount_v2"),
    SYMBOL(device_count, "nvmlDeviceGetCount"),
    SYMBOL(device_by_index, "nvmlDeviceGetHandleByIndex_v2"),
    SYMBOL(device_by_index, "nvmlDeviceGetHandleByIndex"),
    SYMBOL(device_uuid, "nvmlDeviceGetUUID"),
    SYMBOL(device_name, "nvmlDeviceGetName"),
    SYMBOL(memory, "nvmlDeviceGetMemoryInfo"),
    SYMBOL(memory_v2, "nvmlDeviceGetMemoryInfo_v2"),
    SYMBOL(utilization, "nvmlDeviceGetUtilizationRates"),
    SYMBOL(mig_mode, "nvmlDeviceGetMigMode"),
    SYMBOL(mig_most, "nvmlDeviceGetMaxMigDeviceCount"),
    SYMBOL(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex"),
#define LISTS(context, name)                                                                       \
    SYMBOL(list[context][NVML_LIST_V3], name "_v3"),                                               \
        SYMBOL(list[context][NVML_LIST_V2], name "_v2"), SYMBOL(list[context][NVML_LIST_V1], name)
    LISTS(NVML_COMPUTE, "nvmlDeviceGetComputeRunningProcesses"),
    LISTS(NVML_GRAPHICS, "nvmlDeviceGetGraphicsRunningProcesses"),
    LISTS(NVML_MPS, "nvmlDeviceGetMPSComputeRunningProcesses"),
#undef LISTS
#undef SYMBOL
};

static void find_symbols(struct nvml_api *api)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        char *member = (char *) api + symbols[i].offset;
        void *call;
        memcpy(&call, member, sizeof call);
        if (!call)
            call = dlsym(api->library, symbols[i].name);
        memcpy(member, &call, sizeof call);
    }
}

static int load(const char *name, void **ret_library, char why[GPU_WHY_LENGTH])
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        *ret_library = library;
        return 0;
    }
    const char *error = dlerror();
    if (!error || strstr(error, "No such file"))
        snprintf(why, GPU_WHY_LENGTH, "no NVIDIA driver");
    else
        snprintf(why, GPU_WHY_LENGTH, "the NVIDIA driver library cannot be loaded: %s", error);
    return -ENOENT;
}

int nvml_api_open(struct nvml_api *ret, char why[GPU_WHY_LENGTH])
{
    const char *name = secure_getenv("TIDEMARK_NVML");
    if (!name || !*name)
        name = LIBRARY;
    else if (!strchr(name, '/')) {
        snprintf(why, GPU_WHY_LENGTH, "TIDEMARK_NVML must be a path with a slash, not %s", name);
        return -ENOENT;
    }
    struct nvml_api api = {0};
    int r = load(name, &api.library, why);
    if (r < 0)
        return r;
    find_symbols(&api);
    *ret = api;
    return 0;
}

void nvml_api_close(struct nvml_api *api)
{
    if (api->library)
        dlclose(api->library);
    *api = (struct nvml_api){0};
}

const char *nvml_api_error(const struct nvml_api *api, nvml_return code)
{
    const char *text = api->error_string ? api->error_string(code) : NULL;
    return text ? text : "unknown error";
}

size_t nvml_processes_stride(const unsigned char *bytes, size_t size, size_t count,
                             size_t documented)
{
    static const size_t known[] = {NVML_PROCESS_V1, NVML_PROCESS_V2, NVML_PROCESS_LONGEST};
    size_t end = size;
    while (end > 0 && bytes[end - 1] == NVML_UNTOUCHED)
        end--;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (end == count * known[i])
            return known[i];
    return documented;
}

/* tests/standin/nvml.c: a stand-in for libnvidia-ml.so.1 that plays the devices of a text file. */

/*
 * TIDEMARK_NVML=build/tests/libnvml_standin.so TIDEMARK_STANDIN=gpus.txt tidemark run -- ...
 *
 * The file is read anew at every call, so that a test, or the watched command itself, can let
 * memory grow: write a new file and rename it over the old one, or append lines. Without the
 * variable or the file nvmlInit fails: driver not loaded.
 *
 * One thing a line, `#` begins a comment; words are separated by blanks, in any order:
 *
 *   driver  [init=CODE] [entry=BYTES] [v3=CODE]: v3 of the lists of version 3
 *   device  uuid=UUID [name=NAME] [total=SIZE] [used=SIZE] [reserved=SIZE] [util=N] [memutil=N]
 *           [open=CODE] [memory=CODE] [utilization=CODE] [processes=CODE] [graphics=CODE] [lost]
 *           [mig]
 *   mig     the words of `device`, and [gi=N] [ci=N]: an instance of the device above it
 *   process pid=PID used=SIZE [type=C|G|M|CG] [gi=N] [ci=N]: on the device or instance above it
 *
 *   CODE    a number of nvmlReturn_t that the call returns: 3 not supported, 4 no permission,
 *           7 the list is too small (whatever its size), 13 function not found, 999 unknown
 *   BYTES   of an entry in the lists of version 3: 24, or 16 or 32 as some drivers have it
 *   NAME    an underscore is a blank: NVIDIA_H100
 *   SIZE    bytes, with K, M or G times 1024, ...; N/A: not available
 *   PID     a number, or `self`: the process that loaded the library
 *   type    compute (the default), graphics, MPS, or compute and graphics
 *   lost    every call on the device fails so, but the one that opens it
 *   mig     MIG is enabled; the device then lists the processes of its instances as well
 *
 * A device's `used`, where not given, is what its processes hold. At most 64 devices and
 * instances, and 1024 processes.
 *
 * Built with STANDIN_OLD it is an old driver: no MIG, no MPS, no utilization, no texts of errors,
 * lists and memory of version 1 only. With STANDIN_BARE it has nothing but nvmlInit.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NOT_AVAILABLE UINT64_MAX
#define NO_INSTANCE UINT32_MAX
#define MOST_UNITS 64
#define MOST_PROCESSES 1024

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    GPU_IS_LOST = 15,
    ARGUMENT_VERSION_MISMATCH = 25,
};

/* A device or an instance of one. */
struct unit {
    int parent; /* -1: a device */
    char uuid[80], name[64];
    uint64_t total, used, reserved;
    uint32_t util, memutil;
    uint32_t gi, ci;
    int open, memory, utilization, processes, graphics;
    bool lost, mig, has_used, has_util;
};

struct process {
    int unit;
    uint32_t pid, gi, ci;
    uint64_t used;
    char type[4];
};

static struct world {
    struct unit units[MOST_UNITS];
    int unit_count;
    struct process processes[MOST_PROCESSES];
    int process_count;
    int init, v3;
    uint32_t entry_bytes;
} world;

/* ---- the file ---- */

static uint64_t read_size(const char *text)
{
    if (strcmp(text, "N/A") == 0)
        return NOT_AVAILABLE;
    char *end;
    uint64_t size = strtoull(text, &end, 10);
    return size << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

static void copy_name(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    for (char *c = to; *c; c++)
        if (*c == '_')
            *c = ' ';
}

static void driver_word(const char *key, const char *value)
{
    if (strcmp(key, "init") == 0)
        world.init = atoi(value);
    else if (strcmp(key, "entry") == 0)
        world.entry_bytes = (uint32_t) atoi(value);
    else if (strcmp(key, "v3") == 0)
        world.v3 = atoi(value);
}

static bool unit_code(struct unit *u, const char *key, const char *value)
{
    const struct {
        const char *key;
        int *code;
    } codes[] = {
        {"open", &u->open},           {"memory", &u->memory},     {"utilization", &u->utilization},
        {"processes", &u->processes}, {"graphics", &u->graphics},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(key, codes[i].key) == 0) {
            *codes[i].code = atoi(value);
            return true;
        }
    }
    return false;
}

static void unit_word(struct unit *u, const char *key, const char *value)
{
    if (unit_code(u, key, value))
        return;
    if (strcmp(key, "uuid") == 0)
        snprintf(u->uuid, sizeof u->uuid, "%s", value);
    else if (strcmp(key, "name") == 0)
        copy_name(u->name, sizeof u->name, value);
    else if (strcmp(key, "total") == 0)
        u->total = read_size(value);
    else if (strcmp(key, "reserved") == 0)
        u->reserved = read_size(value);
    else if (strcmp(key, "memutil") == 0)
        u->memutil = (uint32_t) atoi(value);
    else if (strcmp(key, "gi") == 0)
        u->gi = (uint32_t) atoi(value);
    else if (strcmp(key, "ci") == 0)
        u->ci = (uint32_t) atoi(value);
    else if (strcmp(key, "lost") == 0)
        u->lost = true;
    else if (strcmp(key, "mig") == 0)
        u->mig = true;
    else if (strcmp(key, "used") == 0) {
        u->used = read_size(value);
        u->has_used = true;
    } else if (strcmp(key, "util") == 0) {
        u->util = (uint32_t) atoi(value);
        u->has_util = true;
    }
}

static void process_word(struct process *p, const char *key, const char *value)
{
    if (strcmp(key, "pid") == 0)
        p->pid = strcmp(value, "self") == 0 ? (uint32_t) getpid() : (uint32_t) atoi(value);
    else if (strcmp(key, "used") == 0)
        p->used = read_size(value);
    else if (strcmp(key, "type") == 0)
        snprintf(p->type, sizeof p->type, "%s", value);
    else if (strcmp(key, "gi") == 0)
        p->gi = (uint32_t) atoi(value);
    else if (strcmp(key, "ci") == 0)
        p->ci = (uint32_t) atoi(value);
}

static struct unit *new_unit(bool is_instance)
{
    int parent = world.unit_count - 1;
    while (is_instance && parent >= 0 && world.units[parent].parent >= 0)
        parent--;
    struct unit *u = &world.units[world.unit_count++];
    *u = (struct unit){.parent = is_instance ? parent : -1, .gi = NO_INSTANCE, .ci = NO_INSTANCE};
    return u;
}

static struct process *new_process(void)
{
    struct process *p = &world.processes[world.process_count++];
    const struct unit *u = &world.units[world.unit_count - 1];
    *p = (struct process){.unit = world.unit_count - 1, .gi = u->gi, .ci = u->ci, .type = "C"};
    return p;
}

static void read_line(char *line)
{
    char *rest;
    line[strcspn(line, "#")] = '\0';
    const char *what = strtok_r(line, " \t\n", &rest);
    if (!what)
        return;
    bool is_instance = strcmp(what, "mig") == 0;
    struct unit *u = NULL;
    struct process *p = NULL;
    if ((is_instance || strcmp(what, "device") == 0) && world.unit_count < MOST_UNITS)
        u = new_unit(is_instance);
    if (strcmp(what, "process") == 0 && world.unit_count > 0 &&
        world.process_count < MOST_PROCESSES)
        p = new_process();
    for (char *key; (key = strtok_r(NULL, " \t\n", &rest));) {
        char *equals = strchr(key, '=');
        if (equals)
            *equals = '\0';
        const char *value = equals ? equals + 1 : "";
        if (u)
            unit_word(u, key, value);
        else if (p)
            process_word(p, key, value);
        else
            driver_word(key, value);
    }
}

/* What a process holds of an instance, its device holds. */
static bool is_on(const struct process *p, int unit)
{
    return p->unit == unit || (world.units[unit].mig && world.units[p->unit].parent == unit);
}

static void add_up(int unit)
{
    struct unit *u = &world.units[unit];
    for (int i = 0; i < world.process_count && !u->has_used; i++)
        if (is_on(&world.processes[i], unit) && world.processes[i].used != NOT_AVAILABLE)
            u->used += world.processes[i].used;
}

static int read_world(void)
{
    const char *path = getenv("TIDEMARK_STANDIN");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file)
        return DRIVER_NOT_LOADED;
    memset(&world, 0, sizeof world);
    world.entry_bytes = 24;
    char line[512];
    while (fgets(line, sizeof line, file))
        read_line(line);
    fclose(file);
    for (int i = 0; i < world.unit_count; i++)
        add_up(i);
    return SUCCESS;
}

/* ---- what every driver has ---- */

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    int code = read_world();
    return code == SUCCESS ? world.init : code;
}

#ifndef STANDIN_BARE

/* A handle is the address of one of these: it outlives the file's being read anew. */
static char handles[MOST_UNITS];

EXPORT int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return SUCCESS;
}

#ifndef STANDIN_OLD
EXPORT const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
    switch (code) {
    case DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case GPU_IS_LOST:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}
#endif

/* The unit of a handle, also of one that is lost. */
static int unit_of(const char *handle, struct unit **ret)
{
    int code = read_world();
    if (code != SUCCESS)
        return code;
    if (handle < handles || handle >= handles + world.unit_count)
        return INVALID_ARGUMENT;
    *ret = &world.units[handle - handles];
    return (*ret)->lost ? GPU_IS_LOST : SUCCESS;
}

/* The `index`th unit of `parent`: -1 of the driver. */
static int unit_by_index(int parent, uint32_t index)
{
    for (int i = 0; i < world.unit_count; i++)
        if (world.units[i].parent == parent && index-- == 0)
            return i;
    return -1;
}

EXPORT int nvmlDeviceGetCount_v2(uint32_t *count);
int nvmlDeviceGetCount_v2(uint32_t *count)
{
    int code = read_world();
    *count = 0;
    while (code == SUCCESS && unit_by_index(-1, *count) >= 0)
        ++*count;
    return code;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t index, char **handle);
int nvmlDeviceGetHandleByIndex_v2(uint32_t index, char **handle)
{
    int code = read_world();
    if (code != SUCCESS)
        return code;
    int unit = unit_by_index(-1, index);
    if (unit < 0)
        return INVALID_ARGUMENT;
    *handle = &handles[unit];
    return world.units[unit].open;
}

static int give_text(const char *text, char *to, uint32_t size)
{
    if (!*text)
        return NOT_SUPPORTED;
    if (strlen(text) >= size)
        return INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetUUID(const char *handle, char *uuid, uint32_t size);
int nvmlDeviceGetUUID(const char *handle, char *uuid, uint32_t size)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    return code == SUCCESS ? give_text(u->uuid, uuid, size) : code;
}

EXPORT int nvmlDeviceGetName(const char *handle, char *name, uint32_t size);
int nvmlDeviceGetName(const char *handle, char *name, uint32_t size)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    return code == SUCCESS ? give_text(u->name, name, size) : code;
}

/* ---- memory ---- */

struct memory {
    uint64_t total, free, used;
};

/* Version 1 counts what the driver keeps for itself as used. */
EXPORT int nvmlDeviceGetMemoryInfo(const char *handle, struct memory *memory);
int nvmlDeviceGetMemoryInfo(const char *handle, struct memory *memory)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code != SUCCESS || u->memory != SUCCESS)
        return code != SUCCESS ? code : u->memory;
    uint64_t used = u->used + u->reserved;
    *memory = (struct memory){u->total, u->total - used, used};
    return SUCCESS;
}

#ifndef STANDIN_OLD
struct memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};

EXPORT int nvmlDeviceGetMemoryInfo_v2(const char *handle, struct memory_v2 *memory);
int nvmlDeviceGetMemoryInfo_v2(const char *handle, struct memory_v2 *memory)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code != SUCCESS || u->memory != SUCCESS)
        return code != SUCCESS ? code : u->memory;
    if (memory->version != (sizeof *memory | 2 << 24))
        return ARGUMENT_VERSION_MISMATCH;
    memory->total = u->total;
    memory->reserved = u->reserved;
    memory->used = u->used;
    memory->free = u->total - u->used - u->reserved;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetUtilizationRates(const char *handle, uint32_t percent[2]);
int nvmlDeviceGetUtilizationRates(const char *handle, uint32_t percent[2])
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code != SUCCESS || u->utilization != SUCCESS)
        return code != SUCCESS ? code : u->utilization;
    if (!u->has_util)
        return NOT_SUPPORTED;
    percent[0] = u->util;
    percent[1] = u->memutil;
    return SUCCESS;
}
#endif

/* ---- processes ---- */

static void write_entry(char *to, const struct process *p, size_t bytes)
{
    const uint64_t protected_bytes = 0;
    memset(to, 0, bytes);
    memcpy(to, &p->pid, 4);
    memcpy(to + 8, &p->used, 8);
    if (bytes >= 24) {
        memcpy(to + 16, &p->gi, 4);
        memcpy(to + 20, &p->ci, 4);
    }
    if (bytes >= 32)
        memcpy(to + 24, &protected_bytes, 8);
}

static int list(const char *handle, char type, uint32_t *count, char *entries, size_t bytes)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code == SUCCESS)
        code = type == 'G' && u->graphics ? u->graphics : u->processes;
    if (code == INSUFFICIENT_SIZE)
        ++*count;
    if (code != SUCCESS)
        return code;
    uint32_t room = *count;
    *count = 0;
    for (int i = 0; i < world.process_count; i++) {
        const struct process *p = &world.processes[i];
        if (!is_on(p, (int) (u - world.units)) || !strchr(p->type, type))
            continue;
        if (*count < room)
            write_entry(entries + *count * bytes, p, bytes);
        ++*count;
    }
    return *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

#define LIST(name, code, type, bytes)                                                              \
    EXPORT int name(const char *handle, uint32_t *count, char *entries);                           \
    int name(const char *handle, uint32_t *count, char *entries)                                   \
    {                                                                                              \
        return (code) ? (code) : list(handle, type, count, entries, bytes);                        \
    }
#define LIST_V3(name, type) LIST(name, world.v3, type, world.entry_bytes)

LIST(nvmlDeviceGetComputeRunningProcesses, SUCCESS, 'C', 16)
LIST(nvmlDeviceGetGraphicsRunningProcesses, SUCCESS, 'G', 16)

#ifndef STANDIN_OLD
LIST(nvmlDeviceGetComputeRunningProcesses_v2, SUCCESS, 'C', 24)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, SUCCESS, 'G', 24)
LIST_V3(nvmlDeviceGetComputeRunningProcesses_v3, 'C')
LIST_V3(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G')
LIST_V3(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M')

/* ---- MIG ---- */

EXPORT int nvmlDeviceGetMigMode(const char *handle, uint32_t *current, uint32_t *pending);
int nvmlDeviceGetMigMode(const char *handle, uint32_t *current, uint32_t *pending)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code == SUCCESS)
        *current = *pending = u->mig;
    return code;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(const char *handle, uint32_t *count);
int nvmlDeviceGetMaxMigDeviceCount(const char *handle, uint32_t *count)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code == SUCCESS)
        *count = 7;
    return code;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(const char *handle, uint32_t index, char **instance);
int nvmlDeviceGetMigDeviceHandleByIndex(const char *handle, uint32_t index, char **instance)
{
    struct unit *u;
    int code = unit_of(handle, &u);
    if (code != SUCCESS)
        return code;
    int unit = unit_by_index((int) (u - world.units), index);
    if (unit < 0)
        return NOT_FOUND;
    *instance = &handles[unit];
    return SUCCESS;
}
#endif
#endif

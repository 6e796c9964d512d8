/* tests/probe/python_trace.c: the tracer's Python side, for an interpreter to load. Stands in for
 * probe/trace/sampling.c: it takes every allocation, and knows exactly which are live. */
#include "probe/trace/python_alloc.h"
#include "probe/trace/python_stack.h"
#include "probe/trace/sampling.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SHOWN __attribute__((visibility("default")))
#define FRAMES_MOST 4096

SAMPLING_THREAD struct sampling_thread sampling_here;
_Atomic uint8_t sampling_filter[1u << SAMPLING_FILTER_BITS];
_Atomic bool sampling_is_used = true;

/* ---- stacks ---- */

/* Lines: name, file, line, first line, whether it is an entry; separated by tabs. */
static size_t write_stack(char *ret, size_t most)
{
    static struct python_stack_frame frames[FRAMES_MOST];
    char name[256], file[512];
    size_t count = python_stack(frames, FRAMES_MOST), used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < count && used < most; i++) {
        python_stack_name(frames[i].code, name, sizeof(name));
        python_stack_file(frames[i].code, file, sizeof(file));
        int n = snprintf(ret + used, most - used, "%s\t%s\t%d\t%d\t%d\n", name, file, frames[i].line,
                         python_stack_first_line(frames[i].code), frames[i].is_entry);
        used += (size_t) n;
    }
    return count;
}

SHOWN size_t trace_stack(char *ret, size_t most)
{
    return write_stack(ret, most);
}

/* How many calls of the interpreter's loop the native stack has, and how many the Python stack. */
SHOWN void trace_loops(int ret[2])
{
    struct python_stack_frame frames[FRAMES_MOST];
    void *addresses[FRAMES_MOST];
    int native = backtrace(addresses, FRAMES_MOST);
    size_t count = python_stack(frames, FRAMES_MOST);
    ret[0] = ret[1] = 0;
    for (int i = 0; i < native; i++)
        ret[0] += python_stack_is_loop((uintptr_t) addresses[i]);
    for (size_t i = 0; i < count; i++)
        ret[1] += frames[i].is_entry;
}

static void *count_frames(void *ret)
{
    struct python_stack_frame frame;
    *(size_t *) ret = python_stack(&frame, 1);
    return NULL;
}

/* In a thread that Python does not know. */
SHOWN int trace_stack_elsewhere(void)
{
    pthread_t thread;
    size_t count = 1;
    if (pthread_create(&thread, NULL, count_frames, &count) != 0)
        return -1;
    pthread_join(thread, NULL);
    return (int) count;
}

SHOWN uint64_t trace_key(void)
{
    struct python_stack_frame frame;
    return python_stack(&frame, 1) ? python_stack_key(frame.code) : 0;
}

/* Nanoseconds of one python_stack(), the best of `rounds`; *ret_frames: how many it read. */
SHOWN double trace_cost(int rounds, size_t most, size_t *ret_frames)
{
    static struct python_stack_frame frames[FRAMES_MOST];
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int j = 0; j < 1000; j++)
            *ret_frames = python_stack(frames, most);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double ns = ((double) (b.tv_sec - a.tv_sec) * 1e9 + (double) (b.tv_nsec - a.tv_nsec)) / 1e3;
        best = ns < best ? ns : best;
    }
    return best;
}

/* ---- samples ---- */

#define PLACES (1u << 20)

struct live {
    void *address;
    size_t size;
};

static struct live *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t taken, taken_bytes, live_count, watched_size, mismatches;
static int sees_stacks;
static char watched[1 << 16];

static size_t place_of(const void *address)
{
    size_t i = ((uintptr_t) address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 44;
    while (table[i].address && table[i].address != address)
        i = (i + 1) % PLACES;
    return i;
}

static void count_filter(const void *address, int change)
{
    _Atomic uint8_t *count = &sampling_filter[sampling_hash(address)];
    if (atomic_load(count) < UINT8_MAX)
        atomic_fetch_add(count, (uint8_t) change);
}

/* Addresses stay in the table with size 0: there are few of them, they are used again. */
static void put(void *address, size_t size)
{
    struct live *l = &table[place_of(address)];
    if (l->size == 0) {
        live_count++;
        count_filter(address, 1);
    }
    *l = (struct live){address, size ? size : 1};
}

static void look_at_stacks(void)
{
    int counts[2];
    if (__atomic_add_fetch(&taken, 0, __ATOMIC_RELAXED) % 64 != 0)
        return;
    trace_loops(counts);
    if (counts[0] != counts[1])
        __atomic_add_fetch(&mismatches, 1, __ATOMIC_RELAXED);
}

void sampling_take(void *address, size_t size, enum wire_trace_kind kind)
{
    sampling_here.left = 0;
    if (!address || sampling_here.is_busy || !table || kind != WIRE_TRACE_PYTHON)
        return;
    sampling_here.is_busy = true;
    pthread_mutex_lock(&lock);
    taken++;
    taken_bytes += size;
    put(address, size);
    if (watched_size && size >= watched_size && size < watched_size + 64) {
        write_stack(watched, sizeof(watched));
        watched_size = 0;
    }
    pthread_mutex_unlock(&lock);
    if (sees_stacks)
        look_at_stacks();
    sampling_here.is_busy = false;
}

struct sampling_record sampling_remove(void *address)
{
    struct sampling_record r = {.address = address};
    if (!table)
        return r;
    pthread_mutex_lock(&lock);
    struct live *l = &table[place_of(address)];
    r.sample.size = l->size;
    if (l->size) {
        live_count--;
        count_filter(address, -1);
        l->size = 0;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void sampling_forget(void *address)
{
    sampling_remove(address);
}

void sampling_restore(const struct sampling_record *r)
{
    pthread_mutex_lock(&lock);
    put(r->address, r->sample.size);
    pthread_mutex_unlock(&lock);
}

/* ---- what a program may ask ---- */

SHOWN int trace_learn(void)
{
    void *none[1];
    backtrace(none, 1); /* loads what it needs */
    if (!table) {
        void *memory = mmap(NULL, PLACES * sizeof(*table), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        table = memory == MAP_FAILED ? NULL : memory;
    }
    return table && python_stack_learn();
}

SHOWN int trace_may_change(void)
{
    return python_alloc_may_change();
}

SHOWN int trace_arm(void)
{
    return python_alloc_may_change() && python_alloc_arm();
}

SHOWN int trace_disarm(void)
{
    if (!python_alloc_may_change())
        return 0;
    python_alloc_disarm();
    return !python_alloc_is_armed();
}

/* Every allocation is sampled, as armed processes with an interval of one byte would do; or none. */
SHOWN void trace_take_all(int all)
{
    sampling_here.left = all ? 0 : INT64_MAX / 2;
}

SHOWN void trace_counts(size_t ret[4])
{
    pthread_mutex_lock(&lock);
    ret[0] = taken;
    ret[1] = taken_bytes;
    ret[2] = live_count;
    ret[3] = mismatches;
    pthread_mutex_unlock(&lock);
}

SHOWN size_t trace_live_size(void *address)
{
    return table[place_of(address)].size;
}

SHOWN void trace_watch(size_t size)
{
    watched[0] = '\0';
    watched_size = size;
}

SHOWN const char *trace_watched(void)
{
    return watched;
}

SHOWN void trace_see_stacks(int sees)
{
    sees_stacks = sees;
}

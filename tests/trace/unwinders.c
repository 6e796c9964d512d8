/*
 * tests/trace/unwinders.c: our unwinder beside others on the same stacks; a library.
 *
 * Preloaded with UNWINDERS_REPORT=FILE, every EVERY-th malloc() of a process takes its stack twice,
 * by ours and by glibc's backtrace(), and compares: for unwinder.py. Loaded by ctypes, it measures:
 * for bench/unwind.py. libunwind is loaded for that alone; linked, it would replace backtrace().
 */
#include "probe/trace/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default"), noinline))
#define NOINLINE __attribute__((noinline))
#define MOST 400
#define EVERY 61

void *__libc_malloc(size_t size);

static __thread bool is_busy;
static __thread uintptr_t known_end;

static uintptr_t stack_end(void)
{
    pthread_attr_t a;
    void *start = NULL;
    size_t size = 0;
    if (known_end == 0 && pthread_getattr_np(pthread_self(), &a) == 0) {
        pthread_attr_getstack(&a, &start, &size);
        pthread_attr_destroy(&a);
        known_end = (uintptr_t) start + size;
    }
    return known_end;
}

/* ---- comparing ---- */

static atomic_bool compares;
static bool is_spoilt; /* one frame of ours is wrong, to see that it is found */
static atomic_ulong requests, compared, different, shorter, longer, complete, frames_seen, deepest;
static char first_fault[2000];

/* Ours may go on by the frame pointer where code made at run time has no information. */
static bool is_in_a_file(uintptr_t address)
{
    Dl_info info;
    return dladdr((void *) address, &info) != 0; /* NOLINT(performance-no-int-to-ptr) */
}

static void describe(const uintptr_t *ours, size_t count, void *const *theirs, size_t their_count,
                     size_t at)
{
    size_t used = 0;
    for (size_t i = at > 2 ? at - 2 : 0; i < at + 3 && used < sizeof first_fault - 200; i++) {
        Dl_info info = {0};
        uintptr_t address = i < their_count ? (uintptr_t) theirs[i] : 0;
        (void) dladdr((void *) address, &info); /* NOLINT(performance-no-int-to-ptr) */
        used += (size_t) snprintf(
            first_fault + used, 200, "frame %zu: ours %zx, theirs %zx %.60s; ", i,
            i < count ? ours[i] : 0, address, info.dli_fname ? info.dli_fname : "");
    }
}

static void judge(const uintptr_t *ours, size_t count, void *const *theirs, size_t their_count)
{
    size_t same = 0;
    while (same < count && same < their_count && ours[same] == (uintptr_t) theirs[same])
        same++;
    if (same == count && same == their_count)
        return;
    bool may_go_on = same == their_count && same > 0 && !is_in_a_file(ours[same - 1]);
    atomic_fetch_add(may_go_on ? &longer : same == count ? &shorter : &different, 1);
    if (!may_go_on && !first_fault[0])
        describe(ours, count, theirs, their_count, same);
}

/* backtrace() has one frame more: this function's. */
NOINLINE static void compare(void)
{
    uintptr_t ours[MOST], end = stack_end();
    void *theirs[MOST + 1];
    bool is_complete = false;
    unwind_review();
    size_t count = unwind(end, ours, MOST, &is_complete);
    ours[count / 2] += is_spoilt;
    int their_count = backtrace(theirs, MOST + 1);
    judge(ours, count, theirs + 1, their_count > 0 ? (size_t) their_count - 1 : 0);
    atomic_fetch_add(&compared, 1);
    atomic_fetch_add(&complete, is_complete);
    atomic_fetch_add(&frames_seen, count);
    if (count > atomic_load(&deepest))
        atomic_store(&deepest, count);
}

SHOWN void *malloc(size_t size)
{
    if (atomic_load(&compares) && !is_busy && atomic_fetch_add(&requests, 1) % EVERY == 0) {
        is_busy = true;
        compare();
        is_busy = false;
    }
    return __libc_malloc(size);
}

static void report(void)
{
    const char *path = getenv("UNWINDERS_REPORT");
    char text[3000];
    atomic_store(&compares, false);
    int length =
        snprintf(text, sizeof text,
                 "compared %lu\ndifferent %lu\nshorter %lu\nlonger %lu\ncomplete %lu\n"
                 "frames %lu\ndeepest %lu\nfault %s\n",
                 compared, different, shorter, longer, complete, frames_seen, deepest, first_fault);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void) !write(fd, text, (size_t) length);
        close(fd);
    }
}

/* backtrace() loads a library at its first call. */
__attribute__((constructor)) static void begin(void)
{
    void *frames[4];
    if (!getenv("UNWINDERS_REPORT"))
        return;
    (void) backtrace(frames, 4);
    is_spoilt = getenv("UNWINDERS_SPOIL") != NULL;
    unsetenv("LD_PRELOAD");
    atexit(report);
    atomic_store(&compares, true);
}

/* ---- measuring ---- */

static int (*unw_backtrace)(void **frames, int most);
static size_t found;

NOINLINE static void take_ours(void)
{
    uintptr_t frames[MOST];
    bool is_complete;
    found = unwind(known_end, frames, MOST, &is_complete);
}

NOINLINE static void take_libunwind(void)
{
    void *frames[MOST];
    found = (size_t) unw_backtrace(frames, MOST);
}

NOINLINE static void take_glibc(void)
{
    void *frames[MOST];
    found = (size_t) backtrace(frames, MOST);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void (*const takes[])(void) = {take_ours, take_libunwind, take_glibc};

NOINLINE static double measure(unsigned which, unsigned rounds)
{
    double before = seconds();
    for (unsigned i = 0; i < rounds; i++)
        takes[which]();
    return rounds ? 1e9 * (seconds() - before) / rounds : 0;
}

NOINLINE static double measure_below(unsigned which, unsigned rounds, unsigned depth)
{
    double ns = depth ? measure_below(which, rounds, depth - 1) : measure(which, rounds);
    __asm__ volatile("");
    return ns;
}

/* CPU nanoseconds of one stack with `depth` C frames more, of unwinder 0 (ours), 1 (libunwind), 2
 * (glibc); below 0: it is not there. */
SHOWN double unwinders_measure(unsigned which, unsigned rounds, unsigned depth);
SHOWN double unwinders_measure(unsigned which, unsigned rounds, unsigned depth)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "unw_backtrace") : NULL;
    memcpy(&unw_backtrace, &symbol, sizeof symbol);
    if (which == 1 && !symbol)
        return -1;
    stack_end();
    unwind_review();
    return measure_below(which, rounds, depth);
}

/* Frames of the last stack. */
SHOWN size_t unwinders_found(void);
SHOWN size_t unwinders_found(void)
{
    return found;
}

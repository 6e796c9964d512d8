/* tests/unit/lib_program.h: a small training program that watches itself, for the library's tests.
 */
#ifndef TIDEMARK_TEST_LIB_PROGRAM_H
#define TIDEMARK_TEST_LIB_PROGRAM_H

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <tidemark.h>
#include <time.h>

#define BLOCK ((size_t) 32 << 10) /* what a leaking step keeps */

static inline void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* What leaking steps keep: pages of the kernel's, since a sanitizer's malloc() has its own ways. */
struct kept {
    struct kept *next;
};

static struct kept *all_kept;

static inline struct kept *take_block(void)
{
    void *memory = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static inline void keep_one(void)
{
    struct kept *k = take_block();
    k->next = all_kept;
    all_kept = k;
}

static inline void free_kept(void)
{
    while (all_kept) {
        struct kept *next = all_kept->next;
        munmap(all_kept, BLOCK);
        all_kept = next;
    }
}

/* A step of a millisecond that takes memory, and gives it back or not. */
static inline int make_step(tidemark_watcher *w, int leaks)
{
    if (leaks)
        keep_one();
    else
        munmap(take_block(), BLOCK);
    sleep_ms(1);
    return tidemark_step(w, NAN);
}

static inline void make_steps(tidemark_watcher *w, unsigned steps, int leaks)
{
    for (unsigned i = 0; i < steps; i++)
        (void) make_step(w, leaks);
}

/* A watcher without the GPU's driver; NULL: it could not be opened. */
static inline tidemark_watcher *open_plain_watcher(const char *run_file)
{
    const struct tidemark_options o = {.size = sizeof(o), .run_file = run_file, .no_gpu = 1};
    tidemark_watcher *w = NULL;
    return tidemark_open(&o, &w) < 0 ? NULL : w;
}

static inline struct tidemark_verdict judge(tidemark_watcher *w)
{
    struct tidemark_verdict v = {.size = sizeof(v)};
    if (tidemark_judge(w, &v) < 0)
        v.size = 0;
    return v;
}

#endif

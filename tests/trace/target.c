/* tests/trace/target.c: MODE SECONDS THREADS: runs one mode, and says what it did.
 *
 * The last line is "ok N", N allocations. Exit status 99: memory was not as it should be, which
 * stands on standard error. */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t counted;
static double end;
unsigned thread_count;

uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

_Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    _exit(99);
}

void require(bool holds, const char *what)
{
    if (!holds)
        fail(what);
}

static __thread uint64_t counted_here;

void count(uint64_t allocations)
{
    counted_here += allocations;
    if (counted_here < 1000)
        return;
    atomic_fetch_add(&counted, counted_here);
    counted_here = 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

bool is_over(void)
{
    return now() >= end;
}

static char paths[FILES][4096];

static void find_files(void)
{
    static const char *const names[FILES] = {"trace_target", "trace_loaded_a.so",
                                             "trace_loaded_b.so"};
    for (unsigned i = 0; i < FILES; i++) {
        ssize_t n = readlink("/proc/self/exe", paths[i], sizeof(paths[i]) - 64);
        char *slash = n > 0 ? strrchr(paths[i], '/') : NULL;
        require(slash != NULL, "no path");
        strcpy(slash + 1, names[i]);
    }
}

const char *beside(enum file which)
{
    return paths[which];
}

#define MOST_THREADS 256u
void in_threads(unsigned threads, size_t stack, void *(*run)(void *number))
{
    pthread_t list[MOST_THREADS];
    pthread_attr_t a;
    require(threads <= MOST_THREADS && pthread_attr_init(&a) == 0, "attributes");
    if (stack)
        require(pthread_attr_setstacksize(&a, stack) == 0, "size of a stack");
    for (unsigned i = 0; i < threads; i++)
        require(pthread_create(&list[i], &a, run, (void *) (uintptr_t) (i + 1)) == 0, "no thread");
    for (unsigned i = 0; i < threads; i++)
        pthread_join(list[i], NULL);
    pthread_attr_destroy(&a);
}

/* ---- every kind of block, from thread to thread ---- */

#define SHARED 512u
static _Atomic(struct block *) shared[SHARED];

/* Frees what another thread left there. */
static void exchange(struct block *mine, uint64_t *random)
{
    struct block *copy = malloc(sizeof(*copy));
    require(copy != NULL, "no memory");
    *copy = *mine;
    *mine = (struct block){0};
    struct block *other = atomic_exchange(&shared[random_next(random) % SHARED], copy);
    if (other)
        block_free(other);
    free(other);
}

static void empty_shared(void)
{
    for (unsigned i = 0; i < SHARED; i++) {
        struct block *left = atomic_exchange(&shared[i], NULL);
        if (left)
            block_free(left);
        free(left);
    }
}

#define OWN 64u
static void change_one(struct block *b, uint64_t *random)
{
    uint64_t what = random_next(random) % 16;
    if (!b->at)
        *b = block_new(random);
    else if (what < 3)
        block_resize(b, random);
    else if (what < 5)
        exchange(b, random);
    else
        block_free(b);
}

void allocate_some(uint64_t seed, unsigned rounds)
{
    struct block own[OWN] = {{0}};
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned i = 0; i < rounds; i++)
        change_one(&own[random_next(&random) % OWN], &random);
    for (unsigned i = 0; i < OWN; i++)
        if (own[i].at)
            block_free(&own[i]);
}

static void *allocate_until_over(void *number)
{
    uint64_t seed = (uintptr_t) number;
    while (!is_over())
        allocate_some(seed += MOST_THREADS, 2000);
    return NULL;
}

/* Still there at the end, so that the samples can be compared with what is known. */
#define KEPT 2048u
#define KEPT_BYTES 16000u
static void *kept[KEPT];

static void keep_some(void)
{
    for (unsigned i = 0; i < KEPT; i++)
        memset(kept[i] = malloc(KEPT_BYTES), 1, KEPT_BYTES);
}

static void allocate_and_keep(void)
{
    keep_some();
    in_threads(thread_count, 0, allocate_until_over);
    printf("kept %u\n", KEPT * KEPT_BYTES);
}

void mode_other_allocator(void)
{
    leaves_out_pvalloc = true;
    allocate_and_keep();
}

void mode_family(void)
{
    blocks_of_all_kinds();
    allocate_and_keep();
}

/* ---- main ---- */

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"family", mode_family},
    {"other-allocator", mode_other_allocator},
    {"mappings", mode_mappings},
    {"forks", mode_forks},
    {"small-stack", mode_small_stack},
    {"signals", mode_signals},
    {"loading", mode_loading},
    {"stacks", mode_stacks},
    {"jumps", mode_jumps},
    {"coroutines", mode_coroutines},
    {"overflow", mode_overflow},
    {"segfault", mode_segfault},
    {"abort", mode_abort},
    {"exit", mode_exit},
};

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    find_files();
    end = now() + strtod(argv[2], NULL);
    thread_count = (unsigned) strtoul(argv[3], NULL, 10);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            empty_shared();
            printf("ok %llu\n", (unsigned long long) atomic_load(&counted));
            return 0;
        }
    return 2;
}

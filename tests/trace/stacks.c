/* tests/trace/stacks.c: stacks of every kind, and ends of the program. */
#include "target.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- libraries that come and go ---- */

static void load_one(uint64_t turn)
{
    void *(*work)(unsigned, size_t);
    void *library = dlopen(beside(turn % 2 ? FILE_LIBRARY_A : FILE_LIBRARY_B), RTLD_NOW);
    require(library != NULL, "dlopen() failed");
    void *found = dlsym(library, "loaded_work");
    memcpy(&work, &found, sizeof(work));
    for (unsigned i = 0; i < 20; i++) {
        struct block b = {work(i, 10000), 10000, NULL};
        block_fill(&b);
        block_check(&b);
        free(b.at);
    }
    count(20);
    dlclose(library);
}

static void *load_until_over(void *number)
{
    uintptr_t turn = (uintptr_t) number;
    if (turn % 4 != 0)
        for (uint64_t seed = turn; !is_over(); seed += 1000)
            allocate_some(seed, 500);
    else
        while (!is_over())
            load_one(turn += 1 + turn % 3);
    return NULL;
}

void mode_loading(void)
{
    in_threads(thread_count, 0, load_until_over);
}

/* ---- deep and small stacks ---- */

__attribute__((noinline)) static void deep(unsigned depth)
{
    volatile char frame[64];
    frame[0] = 1;
    if (depth > 0) {
        deep(depth - 1);
    } else {
        struct block b = {malloc(20000), 20000, NULL};
        block_fill(&b);
        block_check(&b);
        free(b.at);
    }
    frame[1] = frame[0];
}

static void *allocate_deep(void *number)
{
    for (unsigned i = 0; i < 20; i++)
        deep(30000);
    count(20);
    return number;
}

/* As small as they may be: what the tracer needs must be little. */
static void *allocate_small(void *number)
{
    uint64_t random = (uintptr_t) number * 7919;
    for (unsigned i = 0; i < 200; i++) {
        struct block b = {malloc(1000 + random_next(&random) % 9000), 1000, NULL};
        block_fill(&b);
        block_check(&b);
        free(b.at);
    }
    count(200);
    return number;
}

static void *end_by_exit(void *number)
{
    free(malloc(10000 * (size_t) (uintptr_t) number));
    pthread_exit(number);
}

void mode_stacks(void)
{
    in_threads(2, 8 << 20, allocate_deep);
    while (!is_over()) {
        in_threads(thread_count, (size_t) sysconf(_SC_THREAD_STACK_MIN), allocate_small);
        in_threads(thread_count, 0, end_by_exit);
    }
}

/* ---- coroutines ---- */

#define COROUTINES 16u
#define STACK_BYTES 65536u

struct coroutine {
    ucontext_t here, back;
    unsigned char *stack; /* a guard page before it, and one after it */
    bool is_done;
    uint64_t seed;
};

static __thread struct coroutine *running;

static void yield(void)
{
    struct coroutine *c = running;
    swapcontext(&c->here, &c->back);
}

static void be_coroutine(void)
{
    struct coroutine *c = running;
    for (unsigned i = 0; i < 4; i++) {
        struct block b = {malloc(20000), 20000, NULL};
        block_fill(&b);
        yield();
        block_check(&b);
        free(b.at);
        allocate_some(c->seed + i, 50);
    }
    c->is_done = true;
    yield();
}

/* Its neighbours may be unmapped at any moment. */
static void make(struct coroutine *c, uint64_t seed)
{
    c->stack = mmap(NULL, STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(c->stack != MAP_FAILED, "no stack");
    mprotect(c->stack + 4096, STACK_BYTES - 8192, PROT_READ | PROT_WRITE);
    c->is_done = false;
    c->seed = seed;
    getcontext(&c->here);
    c->here.uc_stack = (stack_t){.ss_sp = c->stack + 4096, .ss_size = STACK_BYTES - 8192};
    makecontext(&c->here, be_coroutine, 0);
}

static void *run_coroutines(void *number)
{
    struct coroutine *list = calloc(COROUTINES, sizeof(*list));
    for (uint64_t turn = (uintptr_t) number; !is_over(); turn++) {
        struct coroutine *c = running = &list[turn % COROUTINES];
        if (!c->stack)
            make(c, turn);
        swapcontext(&c->back, &c->here);
        if (!c->is_done)
            continue;
        munmap(c->stack, STACK_BYTES);
        c->stack = NULL;
    }
    for (unsigned i = 0; i < COROUTINES; i++)
        if (list[i].stack)
            munmap(list[i].stack, STACK_BYTES);
    free(list);
    return NULL;
}

void mode_coroutines(void)
{
    in_threads(thread_count, 0, run_coroutines);
}

/* ---- ends ---- */

static volatile int zero;

__attribute__((noinline)) static int overflow(int depth)
{
    volatile char frame[1000];
    frame[0] = (char) depth;
    void *volatile at = malloc(5000);
    free(at);
    return zero ? 0 : overflow(depth + 1) + frame[0];
}

void mode_overflow(void)
{
    allocate_some(1, 20000);
    require(overflow(1) == 0, "it ended");
}

static void *allocate_for_ever(void *number)
{
    for (uint64_t seed = (uintptr_t) number;; seed += 1000)
        allocate_some(seed, 500);
    return NULL;
}

static void die_among_threads(int signal)
{
    pthread_t one;
    for (uintptr_t i = 0; i < thread_count; i++)
        pthread_create(&one, NULL, allocate_for_ever, (void *) i);
    usleep(100000);
    if (signal == SIGABRT)
        abort();
    *(volatile int *) (uintptr_t) zero = 1;
}

void mode_segfault(void)
{
    die_among_threads(SIGSEGV);
}

void mode_abort(void)
{
    die_among_threads(SIGABRT);
}

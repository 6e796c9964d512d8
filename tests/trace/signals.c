/* tests/trace/signals.c: signal handlers that allocate, fork and jump, as often as possible in the
 * middle of a sample. */
#include "target.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* In quiet_malloc.c, which is preloaded behind the tracer: this thread is inside the allocator,
 * where no handler may allocate. Outside of it, and so in all of the tracer, it may. */
extern _Bool is_in_allocator(void) __attribute__((weak));

static _Atomic uint64_t heard, allocated, forked;

static void allocate_a_little(void)
{
    void *list[8];
    for (unsigned i = 0; i < 8; i++)
        list[i] = malloc(5000 + i * 1000);
    for (unsigned i = 0; i < 8; i++) {
        memset(list[i], 5, 5000);
        free(list[i]);
    }
    atomic_fetch_add(&allocated, 8);
}

static bool may_allocate(void)
{
    return is_in_allocator && !is_in_allocator();
}

static void on_signal(int number)
{
    int kept = errno;
    (void) number;
    atomic_fetch_add(&heard, 1);
    if (may_allocate())
        allocate_a_little();
    errno = kept;
}

static void on_fork_signal(int number)
{
    int kept = errno, status;
    (void) number;
    if (may_allocate() && atomic_fetch_add(&forked, 1) % 16 == 0) {
        pid_t child = _Fork();
        if (child == 0) {
            alarm(60);
            _exit(7);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        require(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child of a handler failed");
    }
    errno = kept;
}

static void hear(int number, void (*handler)(int), int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
    sigaction(number, &a, NULL);
}

static void tick(__itimer_which_t which, int microseconds)
{
    struct itimerval t = {{0, microseconds}, {0, microseconds}};
    setitimer(which, &t, NULL);
}

/* As a thread ends, the C library frees its caches, past is_in_allocator(). */
static void hear_no_more(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void *allocate(void *number)
{
    stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&alternate, NULL);
    for (uint64_t seed = (uintptr_t) number; !is_over(); seed += 1000)
        allocate_some(seed, 500);
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    free(alternate.ss_sp);
    hear_no_more();
    return NULL;
}

void mode_signals(void)
{
    hear(SIGALRM, on_signal, 0);
    hear(SIGPROF, on_signal, SA_ONSTACK);
    hear(SIGVTALRM, on_fork_signal, 0);
    tick(ITIMER_REAL, 1000);
    tick(ITIMER_PROF, 1000);
    tick(ITIMER_VIRTUAL, 5000);
    in_threads(thread_count, 0, allocate);
    tick(ITIMER_REAL, 0);
    tick(ITIMER_PROF, 0);
    tick(ITIMER_VIRTUAL, 0);
    require(heard > 0, "no signal was heard");
    fprintf(stderr, "heard %llu, allocated %llu\n", (unsigned long long) heard,
            (unsigned long long) allocated);
}

/* ---- a stack that is hardly large enough ---- */

#define GUARD 4096u
#define SMALL 8192u /* SIGSTKSZ, as it was when processors had fewer registers */

static void on_small_stack(int number)
{
    int kept = errno;
    (void) number;
    for (unsigned i = 0; i < 16; i++) {
        char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(at != MAP_FAILED, "no memory");
        at[0] = 1;
        munmap(at, 65536);
    }
    count(16);
    atomic_fetch_add(&heard, 1);
    errno = kept;
}

void mode_small_stack(void)
{
    char *memory = mmap(NULL, SMALL + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED && mprotect(memory + GUARD, SMALL, PROT_READ | PROT_WRITE) == 0,
            "no stack");
    stack_t alternate = {.ss_sp = memory + GUARD, .ss_size = SMALL};
    require(sigaltstack(&alternate, NULL) == 0, "no alternate stack");
    hear(SIGALRM, on_small_stack, SA_ONSTACK);
    tick(ITIMER_REAL, 1000);
    for (uint64_t seed = 1; !is_over(); seed += 1000)
        allocate_some(seed, 500);
    tick(ITIMER_REAL, 0);
    require(heard > 0, "no signal was heard");
}

/* ---- jumps out of the middle, and threads that are ended ---- */

static __thread sigjmp_buf way_out;
static __thread volatile bool may_jump;

static void on_jump(int number)
{
    (void) number;
    if (may_jump && may_allocate()) {
        may_jump = false;
        siglongjmp(way_out, 1);
    }
}

/* What is allocated when it jumps is lost: nothing here is checked but that all goes on. */
static void *jump_until_over(void *number)
{
    volatile uint64_t size = (uintptr_t) number;
    while (!is_over()) {
        if (sigsetjmp(way_out, 1) == 0) {
            may_jump = true;
            for (unsigned i = 0; i < 100000; i++) {
                free(malloc(size % 50000 + 1));
                size += 97;
            }
            may_jump = false;
        }
        count(1000);
    }
    return NULL;
}

static void *allocate_for_ever(void *unused)
{
    volatile size_t size = 1;
    while (size > 0) {
        free(malloc(size % 50000));
        size += 97;
        pthread_testcancel();
    }
    return unused;
}

/* A thread that is cancelled at any point might hold malloc()'s lock: these wait for a call. */
static void *cancel_until_over(void *number)
{
    pthread_t one;
    (void) number;
    while (!is_over()) {
        require(pthread_create(&one, NULL, allocate_for_ever, NULL) == 0, "no thread");
        usleep(500);
        pthread_cancel(one);
        pthread_join(one, NULL);
    }
    return NULL;
}

static void *run(void *number)
{
    return (uintptr_t) number % 4 ? jump_until_over(number) : cancel_until_over(number);
}

void mode_jumps(void)
{
    hear(SIGPROF, on_jump, SA_NODEFER);
    tick(ITIMER_PROF, 1000);
    in_threads(thread_count, 0, run);
    tick(ITIMER_PROF, 0);
}

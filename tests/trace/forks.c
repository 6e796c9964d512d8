/* tests/trace/forks.c: storms of forks while threads allocate. */
#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A child that does not end is killed by its alarm, which fails the test. */
#define CHILD_SECONDS 60
#define ROUNDS 3000u

static void wait_for(pid_t child, int status)
{
    int got;
    require(child > 0, "no child");
    while (waitpid(child, &got, 0) < 0)
        require(errno == EINTR, "waitpid() failed");
    if (WIFSIGNALED(got) && WTERMSIG(got) == SIGALRM)
        fail("a child hung");
    require(WIFEXITED(got) && WEXITSTATUS(got) == status, "a child failed");
}

static int see(struct dl_phdr_info *info, size_t size, void *count)
{
    (void) info;
    (void) size;
    ++*(int *) count;
    return 0;
}

/* The loader's locks must be free in a child. */
static void load_one(void)
{
    int files = 0;
    dl_iterate_phdr(see, &files);
    void *library = dlopen(beside(FILE_LIBRARY_A), RTLD_NOW);
    require(files > 0 && library != NULL, "dlopen() in a child");
    dlclose(library);
}

_Noreturn static void be_child(uint64_t seed, unsigned depth)
{
    alarm(CHILD_SECONDS);
    allocate_some(seed, ROUNDS);
    load_one();
    if (depth > 0) {
        pid_t child = fork();
        if (child == 0)
            be_child(seed + 1, depth - 1);
        wait_for(child, 7);
    }
    if (seed % 2)
        _exit(7);
    exit(7); /* flushes nothing: the parent flushed before */
}

static void fork_one(uint64_t seed)
{
    pid_t child = fork();
    if (child == 0)
        be_child(seed, (unsigned) (seed % 3));
    wait_for(child, 7);
}

static void exec_self(bool by_vfork)
{
    const char *self = beside(FILE_SELF);
    char *const arguments[] = {(char *) self, "exit", "0", "1", NULL};
    pid_t child = by_vfork ? vfork() : fork();
    if (child == 0) {
        execv(self, arguments);
        _exit(1);
    }
    wait_for(child, 23);
}

static void spawn_self(void)
{
    const char *self = beside(FILE_SELF);
    char *const arguments[] = {(char *) self, "exit", "0", "1", NULL};
    pid_t child;
    require(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0, "posix_spawn()");
    wait_for(child, 23);
}

/* A copy that no handler of fork() hears of. Only what needs none of malloc()'s locks is allowed in
 * it. */
static void clone_one(void)
{
    pid_t child = (pid_t) syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(7);
    wait_for(child, 7);
}

static int run_shared(void *unused)
{
    (void) unused;
    return 7;
}

#define CLONE_STACK 32768u
static void clone_sharing(void)
{
    char *stack = aligned_alloc(64, CLONE_STACK);
    wait_for(clone(run_shared, stack + CLONE_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), 7);
    free(stack);
}

static void *allocate_until_over(void *number)
{
    for (uint64_t seed = (uintptr_t) number; !is_over(); seed += 1000)
        allocate_some(seed, 500);
    return NULL;
}

static void *fork_until_over(void *number)
{
    for (uint64_t seed = (uintptr_t) number; !is_over(); seed++) {
        fork_one(seed);
        if (seed % 4 == 0)
            exec_self(seed % 8 == 0);
        else if (seed % 4 == 1)
            spawn_self();
        else if (seed % 4 == 2)
            clone_one();
        else
            clone_sharing();
    }
    return NULL;
}

/* Half of the threads fork. */
static void *run(void *number)
{
    return (uintptr_t) number % 2 ? allocate_until_over(number) : fork_until_over(number);
}

void mode_forks(void)
{
    in_threads(thread_count, 0, run);
}

void mode_exit(void)
{
    allocate_some(5, 20000);
    exit(23);
}

/* tests/unit/test_lib_memory.c: a program that runs out of memory survives watching itself. */
#include "lib_program.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer's malloc() ends the program by itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MALLOC_FAILS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MALLOC_FAILS 0
#endif
#endif
#ifndef MALLOC_FAILS
#define MALLOC_FAILS 1
#endif

struct hoard {
    struct hoard *next;
};

/* Allocates all memory but about `spare` bytes. */
static struct hoard *take_all(size_t spare)
{
    struct rlimit none = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    struct hoard *all = NULL, *h;
    void *kept = malloc(spare);
    setrlimit(RLIMIT_DATA, &none);
    for (size_t size = 64 << 10; size >= sizeof(*h); size /= 2)
        while ((h = malloc(size)) != NULL) {
            h->next = all;
            all = h;
        }
    free(kept);
    return all;
}

static void free_all(struct hoard *all)
{
    struct rlimit any = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_DATA, &any);
    while (all) {
        struct hoard *next = all->next;
        free(all);
        all = next;
    }
}

static int is_done_or_refused(int r)
{
    return r >= 0 || r == -ENOMEM;
}

/* Whether a lost watcher stays lost. */
static int stays_lost(tidemark_watcher *w)
{
    struct tidemark_verdict v = {.size = sizeof(v)};
    return tidemark_step(w, 1) == -ENOMEM && tidemark_judge(w, &v) == -ENOMEM &&
           tidemark_epoch_end(w) == -ENOMEM && tidemark_finish(w) == -ENOMEM;
}

/* Whether another watcher can be opened and queried once memory is available again. */
static int can_watch(void)
{
    tidemark_watcher *w = NULL;
    struct tidemark_verdict v = {.size = sizeof(v)};
    int r = tidemark_open(NULL, &w);
    if (r == 0)
        r = tidemark_judge(w, &v);
    tidemark_close(w);
    return r == 0;
}

/* Makes calls with `spare` bytes left. False: one behaved wrongly. */
static int calls_are_harmless(size_t spare, unsigned *lost)
{
    tidemark_watcher *w = NULL, *late = NULL;
    struct tidemark_verdict v = {.size = sizeof(v)};
    char *json = NULL;
    if (tidemark_open(NULL, &w) < 0)
        return 0;
    make_step(w, 0);
    struct hoard *hoard = take_all(spare);
    errno = 4711;
    int fine = is_done_or_refused(tidemark_open(NULL, &late));
    int judged = tidemark_judge(w, &v), written = tidemark_json(w, &json);
    fine = fine && errno == 4711;
    free_all(hoard);
    fine = fine && is_done_or_refused(judged) && is_done_or_refused(written);
    if (judged == -ENOMEM)
        fine = fine && written == -ENOMEM && stays_lost(w) && ++*lost;
    tidemark_free(json);
    tidemark_close(w);
    tidemark_close(late);
    return fine && can_watch();
}

enum { HARMLESS = 0, HARMFUL = 1, NEVER_LOST = 2 };

static int run_out_everywhere(void)
{
    unsigned lost = 0;
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    for (size_t spare = 64; spare < (size_t) 1 << 20; spare += spare / 4)
        if (!calls_are_harmless(spare, &lost))
            return HARMFUL;
    return lost > 5 ? HARMLESS : NEVER_LOST;
}

/* In a child, because lost memory does not come back, and a signal would end the other cases. */
TEST(lib__a_program_goes_on_where_memory_runs_out)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(MALLOC_FAILS ? run_out_everywhere() : HARMLESS);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) != NEVER_LOST);
    CHECK(WEXITSTATUS(status) == HARMLESS);
}

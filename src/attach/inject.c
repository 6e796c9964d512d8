/* attach/inject.c: queues a call in the interpreter, and removes what that left behind. */
#include "attach/inject.h"

#include "attach/trace.h"
#include "attach/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* How often a thread is stopped to find it at a safe point, and the pause in between. */
#define MOST_TRIES 60
#define PAUSE_NS 10000000
/* A stop takes a fraction of a millisecond: one that takes longer than this is blocked. */
static const double longest_work = 3;
/* From 3.13 on the main thread notices a call queued by another thread at once; before, only when
 * it next takes the GIL. But only from 3.13 on can waiting for the lock release the GIL. */
#define FIRST_BY_ANY_THREAD 13

/* ---- a safe point ---- */

/*
 * Py_AddPendingCall takes one lock, for a few instructions. The stopped thread may call it if it
 * does not hold the lock itself: the lock is free, or the thread was blocked in a system call,
 * which nobody is while holding it. A thread in the lock's queue must not be queued twice.
 */
static bool may_call(struct trace *x, const struct python *p)
{
    if (!trace_is_interruptible(x))
        return false;
    int is_free = python_lock_is_free(x->target, p);
    if (is_free >= 0)
        return is_free == 1;
    return arch_where(x->state) == ARCH_BLOCKED && !arch_waits_on_own_stack(x->state);
}

/* ---- the region ---- */

static int make_region(struct trace *x, uint64_t *ret)
{
    const struct arch_call call = {
        SYS_mmap,
        {0, REGION_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t) -1, 0}};
    int64_t result;
    int r = trace_system_call(x, &call, &result);
    if (r < 0)
        return r;
    if (result < 0 && result > -4096)
        return -ENOMEM;
    *ret = (uint64_t) result;
    return 0;
}

static int remove_region(struct trace *x, uint64_t region)
{
    const struct arch_call call = {SYS_munmap, {region, REGION_LEN, 0, 0, 0, 0}};
    int64_t result;
    int r = trace_system_call(x, &call, &result);
    return r < 0 ? r : (int) result;
}

/* Called with the thread stopped. Removes the region again if it proves unusable. */
static int queue_here(struct trace *x, struct injection *i)
{
    static uint8_t page[REGION_PAGE];
    const struct target *t = x->target;
    uint64_t region;
    size_t after;
    int64_t result = -1;
    int r = make_region(x, &region);
    if (r < 0)
        return r;
    arch_make_page(x->state, region, i->python->add_call, page, &after);
    r = target_write(t, region, page, sizeof page);
    if (r == 0)
        r = target_write(t, region + REGION_DATA, &i->data, sizeof i->data);
    i->region = region;
    if (r == 0)
        r = trace_run_page(x, region, after, &result);
    i->queued = r == 0 && result == 0;
    if (i->queued)
        return 0;
    if (r == 0 || r == -EACCES || r == -EPERM) {
        i->region = 0;
        remove_region(x, region);
    }
    return r < 0 ? (r == -EACCES || r == -EPERM ? -ENOTSUP : r) : -EAGAIN; /* the queue is full */
}

/* ---- trying ---- */

static void leave(struct trace *x, struct injection *i)
{
    double stopped = trace_release_thread(x);
    i->stopped += stopped;
    i->stops++;
    if (stopped > i->longest_stop)
        i->longest_stop = stopped;
}

/* -EAGAIN: not at a safe point; other codes: impossible. */
static int try_thread(struct trace *x, pid_t thread, struct injection *i)
{
    int r = trace_seize(x, thread);
    if (r == 0)
        r = trace_stop(x);
    if (r < 0)
        return r;
    r = may_call(x, i->python) ? queue_here(x, i) : -EAGAIN;
    leave(x, i);
    i->left = r == 0;
    return r;
}

/* The first sleeping thread other than the main one; else the main one. */
static pid_t choose_thread(const struct target *t, const struct python *p, unsigned attempt)
{
    pid_t *threads, chosen = t->pid;
    size_t count;
    if (p->minor < FIRST_BY_ANY_THREAD || target_threads(t, &threads, &count) < 0)
        return t->pid;
    size_t skip = attempt; /* a thread at an unsafe point may stay there */
    for (size_t i = 1; i < count && chosen == t->pid; i++)
        if (target_thread_state(t, threads[i]) == 'S' && skip-- == 0)
            chosen = threads[i];
    free(threads);
    return chosen;
}

static void pause_a_while(void)
{
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
}

/* Waits while another tidemark is attaching. */
static int get_ready(struct trace *x, const struct target *t)
{
    int r = -EBUSY;
    for (unsigned attempt = 0; r == -EBUSY && attempt < MOST_TRIES; attempt++) {
        if (attempt > 0)
            pause_a_while();
        r = trace_init(x, t);
    }
    return r;
}

static int queue_work(void *context)
{
    struct injection *i = context;
    struct trace x;
    int r = arch_saved_len() == 0 || arch_saved_len() > REGION_SAVED_LEN ? -ENOTSUP : 0;
    if (r == 0)
        r = get_ready(&x, i->target);
    for (unsigned attempt = 0; r == 0 && attempt < MOST_TRIES; attempt++) {
        pid_t thread = choose_thread(i->target, i->python, attempt);
        r = try_thread(&x, thread, i);
        if (r == 0)
            return 0;
        bool thread_ended = r == -ESRCH && thread != i->target->pid;
        if (r == -EAGAIN || thread_ended) {
            pause_a_while();
            r = 0;
        }
    }
    return r < 0 ? r : -EAGAIN;
}

int inject_queue(struct injection *i)
{
    return tracer_run(queue_work, i, longest_work);
}

/* ---- cleaning up ---- */

/* Only the main thread runs the call: while it is elsewhere, nobody uses the region. */
static bool may_remove(struct trace *x, const struct injection *i)
{
    uint64_t nonce;
    return trace_is_interruptible(x) && !trace_is_within(x, i->region, REGION_LEN) &&
           target_read(x->target, i->region + REGION_DATA, &nonce, sizeof nonce) == 0 &&
           nonce == i->data.nonce;
}

static int clean_up_work(void *context)
{
    struct injection *i = context;
    struct trace x;
    int r = get_ready(&x, i->target);
    for (unsigned attempt = 0; r == 0 && attempt < MOST_TRIES; attempt++) {
        r = trace_seize(&x, i->target->pid);
        if (r == 0)
            r = trace_stop(&x);
        if (r < 0)
            return r;
        bool removed = may_remove(&x, i) && (r = remove_region(&x, i->region)) == 0;
        leave(&x, i);
        if (removed)
            return 0;
        pause_a_while();
    }
    return r < 0 ? r : -EAGAIN;
}

int inject_clean_up(struct injection *i)
{
    if (!i->left)
        return -EBUSY;
    return tracer_run(clean_up_work, i, longest_work);
}

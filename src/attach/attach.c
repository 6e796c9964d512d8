/* attach/attach.c: loads a library into a CPython process that is already running. */
#include "attach/attach.h"

#include "attach/inject.h"
#include "attach/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

/* The wait for an answer polls ever more rarely, in seconds. */
static const double first_poll = 0.0005, rarest_poll = 0.02;
/* After this many seconds a slow attach is announced. */
static const double long_wait = 1;
/* How much longer to wait, when giving up, for a call that has begun. */
static const double grace = 10;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void nap(double seconds)
{
    nanosleep(&(struct timespec){(time_t) seconds, (long) (seconds * 1e9) % 1000000000}, NULL);
}

/* Examines the process. If it ends meanwhile, everything in it seems to be missing, so the
 * reason given is its end. */
static int examine(pid_t pid, struct target *t, struct python *p, struct buf *why)
{
    struct buf words = BUF_INIT;
    int r = target_open(pid, t, why);
    if (r < 0)
        return r;
    r = python_find(t, p, &words);
    if (r < 0 && !target_is_there(t)) {
        buf_addf(why, "Process %d (%s) has just ended or started another program.", (int) pid,
                 t->name);
        r = -ESRCH;
    } else {
        buf_adds(why, buf_text(&words));
    }
    buf_release(&words);
    return r;
}

int attach_check(pid_t pid, struct buf *why)
{
    struct target t;
    struct python p;
    int r = examine(pid, &t, &p, why);
    target_release(&t);
    return r;
}

/* ---- queueing ---- */

static int explain_queueing(int r, const struct target *t, struct buf *why)
{
    static const char unharmed[] = "The process was not changed.";
    if (!target_is_there(t)) {
        buf_addf(why, "Process %d (%s) has ended or started another program.", (int) t->pid,
                 t->name);
        return -ESRCH;
    }
    switch (r) {
    case -EPERM:
        buf_addf(
            why,
            "could not attach to process %d (%s): another program traces it (a debugger, strace or "
            "another profiler), or the kernel refuses. Try again when that has ended.",
            (int) t->pid, t->name);
        return -EBUSY;
    case -EBUSY:
        buf_addf(why,
                 "could not attach to process %d (%s): it is being stopped. Resume it (kill -CONT "
                 "%d). %s",
                 (int) t->pid, t->name, (int) t->pid, unharmed);
        return r;
    case -ENOSPC:
        buf_addf(why, "could not attach to process %d (%s): it has no room after its code. %s",
                 (int) t->pid, t->name, unharmed);
        return -ENOTSUP;
    case -ENOTSUP:
        buf_addf(why,
                 "could not attach to process %d (%s): it may not run code from outside a file (a "
                 "rule such "
                 "as SELinux's execmem), or its processor is unknown. %s Start the job with "
                 "`tidemark run` instead.",
                 (int) t->pid, t->name, unharmed);
        return r;
    case -ETIMEDOUT:
    case -EAGAIN:
        buf_addf(
            why,
            "could not attach to process %d (%s): its threads reached no safe point, because they "
            "are blocked in the kernel or busy without a pause. %s Try again later.",
            (int) t->pid, t->name, unharmed);
        return -EAGAIN;
    default:
        buf_addf(why, "could not attach to process %d (%s): %s.", (int) t->pid, t->name,
                 error_words(-r));
        return -EIO;
    }
}

static int fill_data(const struct target *t, const struct python *p, const struct attach_options *o,
                     const char *library, struct region_data *d)
{
    *d = (struct region_data){.own_pid = t->own_pid,
                              .errno_location = p->errno_location,
                              .dlopen = p->dlopen,
                              .dlsym = p->dlsym,
                              .dlerror = p->dlerror};
    if (strlen(library) >= sizeof d->library || strlen(o->entry) >= sizeof d->entry ||
        strlen(o->argument) >= sizeof d->argument)
        return -ENAMETOOLONG;
    memcpy(d->library, library, strlen(library) + 1);
    memcpy(d->entry, o->entry, strlen(o->entry) + 1);
    memcpy(d->argument, o->argument, strlen(o->argument) + 1);
    return getrandom(&d->nonce, sizeof d->nonce, 0) == sizeof d->nonce ? 0 : -EIO;
}

/* ---- waiting ---- */

static int read_head(const struct injection *i, struct region_data *ret)
{
    return target_read(i->target, i->region + REGION_DATA, ret,
                       offsetof(struct region_data, error));
}

static bool is_over(uint32_t state)
{
    return state == REGION_DONE || state == REGION_FAILED || state == REGION_CANCELLED;
}

static bool is_cancelled(const struct attach_options *o)
{
    return o && o->is_cancelled && atomic_load(o->is_cancelled);
}

/* Waits until the call is over, `seconds` have passed, or it is cancelled. Its state, or -ESRCH. */
static int wait_for(const struct injection *i, double seconds, const struct attach_options *o)
{
    struct region_data d = {0};
    double begun = now(), pause = first_poll;
    bool is_announced = false;
    for (;;) {
        if (read_head(i, &d) < 0 || d.nonce != i->data.nonce)
            return -ESRCH;
        double waited = now() - begun;
        if (is_over(d.state) || waited >= seconds || is_cancelled(o))
            return (int) d.state;
        if (!is_announced && o && o->waiting && waited >= long_wait) {
            o->waiting(o->context, "the main thread is inside a long call");
            is_announced = true;
        }
        nap(pause);
        pause = pause * 1.5 < rarest_poll ? pause * 1.5 : rarest_poll;
    }
}

/* From here on the call does nothing when its turn comes, unless it has already begun. */
static int cancel(const struct injection *i)
{
    const uint32_t yes = 1;
    int r =
        target_write(i->target, i->region + REGION_DATA + offsetof(struct region_data, cancelled),
                     &yes, sizeof yes);
    if (r < 0)
        return r;
    r = wait_for(i, 0, NULL);
    return r == REGION_STARTED ? wait_for(i, grace, NULL) : r;
}

static int explain_end(int state, const struct injection *i, const struct attach_options *o,
                       struct attach_result *ret, struct buf *why)
{
    const struct target *t = i->target;
    struct region_data d = {0};
    if (state < 0 ||
        (is_over((uint32_t) state) && target_read(t, i->region + REGION_DATA, &d, sizeof d) < 0)) {
        buf_addf(why, "Process %d (%s) ended before its main thread ran the call.", (int) t->pid,
                 t->name);
        return -ESRCH;
    }
    if (state == REGION_DONE) {
        ret->answer = d.answer;
        return 0;
    }
    if (state == REGION_FAILED) {
        d.error[sizeof d.error - 1] = '\0';
        buf_addf(why, "could not attach: process %d (%s) cannot load the library: %s.",
                 (int) t->pid, t->name, d.error[0] ? d.error : "no reason given");
        return -ELIBBAD;
    }
    if (is_cancelled(o)) {
        buf_addf(why,
                 "You stopped tidemark while the main thread of process %d (%s) was inside a long "
                 "call. Nothing more will happen in it; %u KB of its memory stay in use.",
                 (int) t->pid, t->name, REGION_LEN / 1024);
        return -ECANCELED;
    }
    buf_addf(
        why,
        "could not attach: the main thread of process %d (%s) was inside one long call for %.0f "
        "seconds, and Python accepts no request until the call returns. %s, and the job runs on "
        "unchanged; %u KB of its memory stay in use. Try again, or wait longer.",
        (int) t->pid, t->name, o->seconds,
        state == REGION_STARTED ? "The probe has started, but tidemark did not wait for it"
                                : "The probe will not start",
        REGION_LEN / 1024);
    return -ETIMEDOUT;
}

/* ---- all of it ---- */

/* The call is queued: waits for its outcome. */
static int await(struct injection *i, const struct attach_options *o, struct attach_result *ret,
                 struct buf *why)
{
    double begun = now();
    int state = wait_for(i, o->seconds, o);
    if (state >= 0 && !is_over((uint32_t) state))
        state = cancel(i);
    ret->waited = now() - begun;
    int r = explain_end(state, i, o, ret, why);
    if (state >= 0 && is_over((uint32_t) state))
        inject_clean_up(i);
    return r;
}

static void fill_result(const struct injection *i, struct attach_result *ret)
{
    ret->stopped += i->stopped;
    ret->stops += i->stops;
    if (i->longest_stop > ret->longest_stop)
        ret->longest_stop = i->longest_stop;
}

/* `i` is shared with the tracing processes. */
static int load_from(struct injection *i, const char *library, const struct attach_options *o,
                     struct attach_result *ret, struct buf *why)
{
    *i = (struct injection){.target = i->target, .python = i->python};
    int r = fill_data(i->target, i->python, o, library, &i->data);
    if (r < 0) {
        buf_adds(why, "The path of the library or its argument is too long.");
        return r;
    }
    r = inject_queue(i);
    /* If the tracer was killed after queueing the call, the call still runs. */
    r = r < 0 && !i->queued ? explain_queueing(r, i->target, why) : await(i, o, ret, why);
    fill_result(i, ret);
    return r;
}

/* Loads the library from its own path or, if that fails, from a copy. */
static int load_placed(struct injection *i, const struct deputy *d, const struct attach_options *o,
                       struct attach_result *ret, struct buf *why)
{
    int r = 0;
    for (int must_copy = 0; must_copy <= 1; must_copy++) {
        struct place place = PLACE_INIT;
        struct buf words = BUF_INIT;
        r = place_library(i->target, d, o->library, must_copy, &place, &words);
        bool last = must_copy || r < 0 || strcmp(place.path, o->library) != 0;
        if (r == 0)
            r = load_from(i, place.path, o, ret, &words);
        place_release(&place, d);
        bool done = r != -ELIBBAD || last;
        if (r < 0 && done)
            buf_adds(why, buf_text(&words));
        buf_release(&words);
        if (done)
            break;
    }
    return r;
}

/* The tracing processes share their state with this one. */
static int load_as(const struct deputy *d, struct target *t, struct python *p,
                   const struct attach_options *o, struct attach_result *ret, struct buf *why)
{
    struct injection *i =
        mmap(NULL, sizeof *i, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (i == MAP_FAILED) {
        buf_adds(why, "Out of memory.");
        return -ENOMEM;
    }
    i->target = t;
    i->python = p;
    int r = load_placed(i, d, o, ret, why);
    munmap(i, sizeof *i);
    return r;
}

int attach_load(pid_t pid, const struct attach_options *o, struct attach_result *ret,
                struct buf *why)
{
    struct target t;
    struct python p;
    struct deputy *d = NULL;
    *ret = (struct attach_result){.pid = pid};
    int r = examine(pid, &t, &p, why);
    if (r == 0) {
        snprintf(ret->python, sizeof ret->python, "%s", p.version);
        r = deputy_new(pid, &d, why);
    }
    if (r == 0)
        r = load_as(d, &t, &p, o, ret, why);
    deputy_free(d);
    target_release(&t);
    return r;
}

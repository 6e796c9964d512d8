/*
 * probe/attach/attach.c: the probe in a process that was already running when it attached.
 *
 * Nothing was prepared there: the environment says nothing, write() is not interposed. A thread of
 * the probe, unknown to Python, queues a pending call now and then. The interpreter runs it in its
 * main thread between two instructions, and everything else happens there. The thread also checks
 * that a watcher exists. Without one, the pending call detaches, and the thread ends last.
 *
 * Before Python 3.13 a main thread that never releases the GIL does not notice a queued call: it
 * checks for calls only when it takes the GIL again. So the thread takes and releases the GIL, once
 * for each call still waiting at the next poll. It may do so only while the interpreter exists.
 * Therefore a function registered with `atexit`, which runs before the interpreter begins to end,
 * waits until the thread stays out of the interpreter, and detaches.
 */
#include "probe/probe.h"

#include "probe/attach/tracing.h"
#include "probe/base/child.h"
#include "probe/base/ending.h"
#include "probe/base/frames.h"
#include "probe/base/heap.h"
#include "probe/base/libc.h"
#include "probe/census/whole.h"
#include "probe/hook/ring.h"
#include "probe/hook/torch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define POLL_NS 50000000                 /* between two polls of the thread */
#define READER_NS UINT64_C(200000000)    /* between two checks for the watcher */
#define PATIENCE_NS UINT64_C(3000000000) /* wait for the first step, and for the next */
#define PLACE_NS UINT64_C(500000000)     /* wait for a moment at the usual depth */
#define SEARCH_NS 5000000                /* between two polls meanwhile */
#define OUT_NS 100000                    /* between two checks that the thread stays out */
#define STACK_BYTES ((size_t) 128 << 10)

#define THREAD_NAME "tidemark"

static atomic_bool is_pending;

#define NOTICED_SINCE 13 /* Python 3.x: since then a busy main thread notices such a call */

/* From attaching to detaching. The thread and the interpreter's side share it; the thread frees it,
 * if there is one. */
struct attachment {
    char *directory;
    uint64_t since;
    _Atomic uint64_t last_step; /* 0: none */
    atomic_bool is_unwatched;   /* the watcher is gone */
    atomic_bool is_over;        /* the interpreter's side has detached; the thread closes `ring` */
    struct wire_ring *ring;
    bool has_thread;
    atomic_bool is_inside; /* the thread is using the interpreter */
    atomic_bool keeps_out; /* it must not any more, because the interpreter is about to end */
    bool may_nudge;        /* nudging is needed, and `atexit` will announce the end */
    bool is_nudged;        /* for the pending call; used by the thread only */
    bool is_hooked;        /* torch is hooked */
    bool is_counted;       /* the whole heap was counted, if requested */
    pid_t whole;           /* the child that counts it; 0: none */
    uint64_t checked;      /* note_step() last checked for a watcher */
    unsigned depth;        /* Python functions on the stack at good moments; 0: none yet */
    uint64_t last_place;
    atomic_bool seeks_place; /* a moment is due, and none was good so far */
};

static struct attachment *attachment; /* NULL: not attached. Used with the GIL. */

/* ---- detaching ---- */

static void end_attachment(struct attachment *a)
{
    if (a->ring) {
        wire_say_left(a->ring);
        wire_close(a->ring);
    }
    free(a->directory);
    free(a);
}

static void end_count(struct attachment *a, bool wait)
{
    uint64_t cpu;
    bool was_well;
    if (a->whole > 0 && wait)
        kill(a->whole, SIGKILL);
    if (a->whole > 0 && child_has_ended(a->whole, wait, &cpu, &was_well)) {
        ring_report_by(0);
        a->whole = 0;
    }
}

static void before_the_end(void);

/* If torch is running its hooks now, or another thread loads a file, the next pending call tries
 * again. */
static void detach(bool at_once)
{
    struct attachment *a = attachment;
    if (!torch_unhook() || !tracing_end(at_once))
        return;
    end_count(a, true);
    inspect_detach();
    ending_unregister(before_the_end);
    attachment = NULL;
    ring_on_step(NULL);
    a->ring = ring_detach();
    if (a->has_thread)
        atomic_store(&a->is_over, true);
    else
        end_attachment(a);
}

/*
 * Called by `atexit`, with the GIL. A thread that is waiting for the GIL gets it here. Later,
 * Python would end it while it waits, or there would be no interpreter. A thread that asks after
 * this point sees `keeps_out` first.
 */
static void before_the_end(void)
{
    if (!attachment)
        return;
    atomic_store(&attachment->keeps_out, true);
    if (atomic_load(&attachment->is_inside)) {
        void *thread = py.PyEval_SaveThread();
        while (atomic_load(&attachment->is_inside))
            nanosleep(&(struct timespec){.tv_nsec = OUT_NS}, NULL);
        py.PyEval_RestoreThread(thread);
    }
    detach(true);
}

/* ---- moments ---- */

static void count_all(struct attachment *a)
{
    if (a->is_counted)
        return;
    a->is_counted = true;
    a->whole = whole_count(ring_replace_report);
    if (a->whole > 0)
        ring_report_by(a->whole);
}

/* With torch imported, a step may still come, and a step is the better moment. */
static bool is_without_steps(const struct attachment *a, uint64_t now)
{
    uint64_t last = atomic_load(&a->last_step);
    if (last == 0 && !python_module("torch"))
        return true;
    return now >= (last ? last : a->since) + PATIENCE_NS;
}

/*
 * Moments in the training loop itself are comparable, and a holder found there has the program's
 * own name for it, not that of a library's local variable. So a good moment has at most as many
 * functions on the stack as any before. If none comes for PLACE_NS, any moment will do.
 */
static bool is_good_place(struct attachment *a, uint64_t now)
{
    unsigned depth = frames_depth();
    bool is_good = a->depth == 0 || depth <= a->depth || now >= a->last_place + PLACE_NS;
    atomic_store(&a->seeks_place, !is_good);
    if (is_good) {
        a->depth = depth;
        a->last_place = now;
    }
    return is_good;
}

static void use_moment(struct attachment *a)
{
    uint64_t now = wire_now();
    a->is_hooked = a->is_hooked || torch_hook_steps();
    end_count(a, false);
    tracing_look();
    if (ring_wanted() == WIRE_CENSUS_WHOLE)
        count_all(a);
    else if (is_without_steps(a, now) && inspect_is_due() && is_good_place(a, now))
        ring_moment(INSPECT_TIME);
}

static int on_pending(void *context)
{
    (void) context;
    atomic_store(&is_pending, false);
    if (!attachment)
        return 0;
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    if (atomic_load(&attachment->is_unwatched))
        detach(false);
    else if (attachment->has_thread)
        use_moment(attachment);
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    /* As after a line (prints.c): a signal that arrived meanwhile reaches the program at once. */
    return py.PyErr_CheckSignals() < 0 ? -1 : 0;
}

/* False: a call is already pending. */
static bool ask(void)
{
    if (atomic_exchange(&is_pending, true))
        return false;
    if (py.Py_AddPendingCall(on_pending, NULL) != 0)
        atomic_store(&is_pending, false);
    return true;
}

/* From now on steps are the moments. In a fork, which has no thread of ours, this also notices that
 * the watcher is gone. Costs some nanoseconds. The GIL is held. */
static void note_step(void)
{
    if (!attachment)
        return;
    uint64_t now = wire_now();
    atomic_store_explicit(&attachment->last_step, now, memory_order_relaxed);
    tracing_look();
    if (attachment->has_thread || now < attachment->checked + READER_NS)
        return;
    attachment->checked = now;
    if (!wire_has_reader(attachment->directory)) {
        atomic_store(&attachment->is_unwatched, true);
        ask();
    }
}

/* ---- the thread ---- */

/* Once is enough: a main thread that is in a call without the GIL checks when it takes the GIL
 * back. */
static void nudge(struct attachment *a)
{
    if (!a->may_nudge || a->is_nudged)
        return;
    a->is_nudged = true;
    py.PyGILState_Release(py.PyGILState_Ensure());
}

/* Nobody waits for a thread that Python ends in here: that happens after the functions of `atexit`
 * have run. */
static void approach(struct attachment *a)
{
    atomic_store(&a->is_inside, true);
    if (!atomic_load(&a->keeps_out) && py.Py_IsInitialized()) {
        if (ask())
            a->is_nudged = false;
        else
            nudge(a);
    }
    atomic_store(&a->is_inside, false);
}

/* At first always, to hook torch and to see what the watcher wants. */
static bool is_due(const struct attachment *a, uint64_t now)
{
    uint64_t last = atomic_load_explicit(&a->last_step, memory_order_relaxed);
    return now < a->since + PATIENCE_NS || (now >= last + PATIENCE_NS && inspect_is_due());
}

static void *keep_watch(void *context)
{
    struct attachment *a = context;
    uint64_t checked = 0;
    prctl(PR_SET_NAME, THREAD_NAME);
    while (!atomic_load(&a->is_over)) {
        bool seeks = atomic_load_explicit(&a->seeks_place, memory_order_relaxed);
        nanosleep(&(struct timespec){.tv_nsec = seeks ? SEARCH_NS : POLL_NS}, NULL);
        uint64_t now = wire_now();
        if (now >= checked + READER_NS) {
            checked = now;
            if (!wire_has_reader(a->directory))
                atomic_store(&a->is_unwatched, true);
        }
        if (atomic_load(&a->is_unwatched) || is_due(a, now) || tracing_is_behind())
            approach(a);
    }
    end_attachment(a);
    return NULL;
}

/* Programs whose libraries have much thread-local memory need a larger stack. */
static bool create(struct attachment *a, size_t stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool fine = (stack == 0 || pthread_attr_setstacksize(&attributes, stack) == 0) &&
                pthread_create(&thread, &attributes, keep_watch, a) == 0;
    pthread_attr_destroy(&attributes);
    return fine;
}

/* The thread blocks all signals: they are the program's. */
static bool start_thread(struct attachment *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    a->has_thread = create(a, STACK_BYTES) || create(a, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return a->has_thread;
}

/* ---- attaching ---- */

/* The child of a fork has no thread of ours. It reports its steps as its parent does. A pending
 * call belonged to the parent's interpreter. */
static void in_child(void)
{
    ring_forget();
    torch_forget();
    inspect_forget();
    tracing_forked();
    atomic_store(&is_pending, false);
    if (attachment) {
        attachment->has_thread = false;
        atomic_store(&attachment->is_inside, false);
        attachment->whole = 0;
    }
}

static void heed_forks(void)
{
    (void) libc_at_fork(in_child);
}

/* Is another watcher attached, or still detaching? */
static int make_way(void)
{
    const char *run = getenv(WIRE_DIRECTORY_VARIABLE);
    if (inspect_watches_itself() || (run && wire_has_reader(run)))
        return -EALREADY;
    if (!attachment)
        return 0;
    if (wire_has_reader(attachment->directory))
        return -EBUSY;
    detach(false);
    return attachment ? -EAGAIN : 0;
}

static int begin_attachment(const char *directory)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct attachment *a = calloc(1, sizeof(*a));
    if (!a || !(a->directory = strdup(directory))) {
        free(a);
        return -ENOMEM;
    }
    int r = ring_attach(directory);
    if (r == 0)
        r = -pthread_once(&once, heed_forks);
    if (r < 0) {
        end_attachment(a);
        return r;
    }
    inspect_forget();
    torch_forget();
    a->since = wire_now();
    attachment = a;
    ring_on_step(note_step);
    tracing_begin(directory);
    ending_import();
    a->may_nudge = ending_register(before_the_end) && python_minor_version() < NOTICED_SINCE;
    if (!start_thread(a)) {
        detach(true);
        return -EAGAIN;
    }
    a->is_hooked = torch_hook_steps();
    return 0;
}

static int attach(const char *directory)
{
    int r = make_way();
    if (r == 0 && !heap_learn())
        r = -ENOTSUP;
    if (r == 0 && !wire_has_reader(directory))
        r = -ENOENT;
    return r < 0 ? r : begin_attachment(directory);
}

__attribute__((visibility("default"))) int tidemark_probe_attach(const char *directory)
{
    if (!python_find() || !py.Py_IsInitialized())
        return -ENOSYS;
    int kept = errno;
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    int r = attach(directory);
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    errno = kept;
    return r;
}

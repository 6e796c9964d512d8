/*
 * probe/attach/enter.c: a process that was entered while it ran.
 *
 * Nobody prepared it: there is no word in its environment and write() is not heard. A thread of
 * ours, of which Python knows nothing, asks the interpreter now and then to call us when it is next
 * between two instructions, in its main thread; all else is done there. It also looks whether there
 * is a watcher. When there is none, everything is taken out again, and the thread ends last.
 *
 * Before Python 3.13 a main thread that never lets go of the GIL does not notice a call that
 * another thread has queued: it looks for calls when it takes the GIL back. So the thread takes and
 * releases the GIL, once for each call that is still waiting when the thread next looks. It may do
 * so only while there is an interpreter: the function that `atexit` calls, before the interpreter
 * begins to end, waits until the thread keeps out of it and takes everything out.
 */
#include "probe/probe.h"

#include "probe/base/child.h"
#include "probe/base/ending.h"
#include "probe/base/frames.h"
#include "probe/base/heap.h"
#include "probe/base/libc.h"
#include "probe/census/whole.h"
#include "probe/hook/ring.h"
#include "probe/hook/torch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define POLL_NS 50000000                 /* between two looks of the thread */
#define READER_NS UINT64_C(200000000)    /* between two looks for the watcher */
#define PATIENCE_NS UINT64_C(3000000000) /* for the first step, and after the last */
#define PLACE_NS UINT64_C(500000000)     /* for a moment as far out as the ones before */
#define SEARCH_NS 5000000                /* between two looks meanwhile */
#define OUT_NS 100000                    /* between two looks whether the thread keeps out */
#define STACK_BYTES ((size_t) 128 << 10)

#define THREAD_NAME "tidemark"

typedef int pending_call(void *context);

static int (*add_pending_call)(pending_call *function, void *context);
static atomic_bool is_pending;

#define NOTICED_SINCE 13 /* minor version of Python 3: a busy main thread notices such a call */

/* From entering to leaving. The thread and the interpreter's side both know it; the thread, where
 * there is one, frees it. */
struct attachment {
    char *directory;
    uint64_t since;
    _Atomic uint64_t last_step; /* 0: none */
    atomic_bool is_unwatched;   /* there is no watcher any more */
    atomic_bool is_over;        /* the interpreter's side is out: `ring` is the thread's to close */
    struct wire_ring *ring;
    bool has_thread;
    atomic_bool is_inside; /* the thread is at work with the interpreter */
    atomic_bool keeps_out; /* and is not to be any more: the interpreter is about to end */
    bool may_nudge;        /* it is needed here, and the end of the interpreter will be heard */
    bool is_nudged;        /* for the call that is pending; the thread alone knows it */
    bool is_hooked;        /* to torch */
    bool is_counted;       /* everything, as far as that was wanted */
    pid_t whole;           /* the child that does; 0: none */
    uint64_t checked;      /* whether it is deserted, by note_step() */
    unsigned depth;        /* of the functions at the moments that count; 0: none yet */
    uint64_t last_place;
    atomic_bool seeks_place; /* a moment is due, and the ones that came were none */
};

static struct attachment
    *attachment; /* NULL: nobody is here. The GIL is held by whoever uses it. */

static bool find_pending_call(void)
{
    void *address = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    memcpy(&add_pending_call, &address, sizeof(address));
    return add_pending_call != NULL;
}

/* ---- leaving ---- */

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

/* Where torch is at work with its hooks it is tried again at the next look. */
static void detach(void)
{
    struct attachment *a = attachment;
    if (!torch_unhook())
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
 * Called by `atexit`, with the GIL. The thread may be waiting for the GIL, and gets it here: later
 * it would be ended while it waits, or find no interpreter. A thread that asks for the GIL after
 * that has seen that it is to keep out.
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
    detach();
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

/* Where torch is there, a step may come, and that is the better moment. */
static bool is_without_steps(const struct attachment *a, uint64_t now)
{
    uint64_t last = atomic_load(&a->last_step);
    if (last == 0 && !python_module("torch"))
        return true;
    return now >= (last ? last : a->since) + PATIENCE_NS;
}

/*
 * A moment in the loop itself compares with others there, and what is found has the names that the
 * program gives it, not those that a library's functions have for it: one with as few functions
 * around it as there ever were. Where none comes for long, what comes will do.
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
        detach();
    else if (attachment->has_thread)
        use_moment(attachment);
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    /* As after a line (lines.c): a signal that came meanwhile is the program's at once. */
    return py.PyErr_CheckSignals() < 0 ? -1 : 0;
}

/* False: it is asked already. */
static bool ask(void)
{
    if (atomic_exchange(&is_pending, true))
        return false;
    if (add_pending_call(on_pending, NULL) != 0)
        atomic_store(&is_pending, false);
    return true;
}

/* Steps are the moments from now on. Also notices, where a fork has no thread of ours, that nobody
 * reads any more. The GIL is held; some nanoseconds. */
static void note_step(void)
{
    if (!attachment)
        return;
    uint64_t now = wire_now();
    atomic_store_explicit(&attachment->last_step, now, memory_order_relaxed);
    if (attachment->has_thread || now < attachment->checked + READER_NS)
        return;
    attachment->checked = now;
    if (!wire_has_reader(attachment->directory)) {
        atomic_store(&attachment->is_unwatched, true);
        ask();
    }
}

/* ---- the thread ---- */

/* One is enough: a main thread that is in a call without the GIL looks when it takes it back. */
static void nudge(struct attachment *a)
{
    if (!a->may_nudge || a->is_nudged)
        return;
    a->is_nudged = true;
    py.PyGILState_Release(py.PyGILState_Ensure());
}

/* Nobody waits for a thread that is ended in here: the interpreter does that after the functions of
 * `atexit` have been called. */
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

/* At first for torch to be hooked, and for what the watcher wants. */
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
        if (atomic_load(&a->is_unwatched) || is_due(a, now))
            approach(a);
    }
    end_attachment(a);
    return NULL;
}

/* A program whose libraries have much thread-local memory needs a larger stack. */
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

/* No signal of the program is for it. */
static bool start_thread(struct attachment *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    a->has_thread = create(a, STACK_BYTES) || create(a, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return a->has_thread;
}

/* ---- entering ---- */

/* The child of a fork has no thread of ours. If it makes steps, it tells them as its parent does;
 * what is asked of its interpreter was the parent's. */
static void in_child(void)
{
    ring_forget();
    torch_forget();
    inspect_forget();
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

/* Is somebody here already, or on the way out? */
static int make_way(void)
{
    const char *run = getenv(WIRE_DIRECTORY_VARIABLE);
    if (inspect_watches_itself() || (run && wire_has_reader(run)))
        return -EALREADY;
    if (!attachment)
        return 0;
    if (wire_has_reader(attachment->directory))
        return -EBUSY;
    detach();
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
    ending_import();
    a->may_nudge = ending_register(before_the_end) && python_minor_version() < NOTICED_SINCE;
    if (!start_thread(a)) {
        detach();
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
    if (!python_find() || !find_pending_call() || !py.Py_IsInitialized())
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

/* launch/visit.c: attaches to running processes, one after the other. */
#include "attach/attach.h"
#include "launch/launch.h"
#include "proc/proc.h"
#include "wire/wire.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY "tidemark_probe_attach"

struct visit {
    struct buf library;
    double patience;

    struct deputy *deputy; /* of the first process; NULL: no folder yet */
    struct deputy_folder folder;

    pthread_t thread;
    bool has_thread;
    atomic_bool is_done;
    atomic_bool is_cancelled;
    atomic_bool has_to_wait; /* it takes long, and that was not reported yet */
    pid_t pids[VISIT_MOST];
    size_t count;
    struct visit_result results[VISIT_MOST];
    atomic_size_t ready;
    size_t taken;
};

struct visit *visit_new(double patience)
{
    struct visit *v = calloc(1, sizeof(*v));
    if (!v)
        base_out_of_memory();
    v->folder = DEPUTY_FOLDER_NONE;
    v->patience = patience;
    return v;
}

/* ---- the directory ---- */

/* In memory if possible, as for `run`; where the process sees it, and owned by its user. */
static int make_directory(struct visit *v, pid_t pid, struct buf *why)
{
    int r = deputy_new(pid, &v->deputy, why);
    if (r < 0)
        return r;
    r = deputy_make_folder(v->deputy, WIRE_WAKE_FILE, &v->folder);
    if (r < 0) {
        buf_addf(why, "No folder for it can be made in its /dev/shm%s as its user (%u): %s.",
                 deputy_is_foreign(v->deputy) ? "" : " or /tmp", (unsigned) deputy_uid(v->deputy),
                 error_words(-r));
        v->deputy = deputy_free(v->deputy);
    }
    return r;
}

/* Checks first whether attaching is possible at all: that error explains more. */
int visit_prepare(struct visit *v, pid_t pid, struct buf *why)
{
    if (v->library.len == 0 && inside_find_probe(false, &v->library, why) < 0)
        return -ENOENT;
    if (v->deputy)
        return 0;
    int r = attach_check(pid, why);
    return r < 0 ? r : make_directory(v, pid, why);
}

struct deputy_folder *visit_folder(struct visit *v)
{
    return &v->folder;
}

/* ---- one process ---- */

/* > 0: the process sees the folder; 0: it is in another container or another user's; -errno. */
static int sees_directory(const struct visit *v, const struct deputy *d)
{
    return deputy_uid(d) == v->folder.st.st_uid ? deputy_sees(d, v->folder.path, &v->folder.st) : 0;
}

/* Whether a `tidemark run` that started it still watches it. */
static bool is_watched(pid_t pid, const struct deputy *d)
{
    struct proc_stat stat;
    struct proc *proc = NULL;
    struct buf run = BUF_INIT;
    bool watched = proc_stat_read("/proc", pid, &stat) == 0 &&
                   proc_open("/proc", stat.id, &proc) == 0 &&
                   proc_read_variable(proc, WIRE_DIRECTORY_VARIABLE, &run) == 0 &&
                   deputy_has_reader(d, buf_text(&run), WIRE_WAKE_FILE);
    proc_free(proc);
    buf_release(&run);
    return watched;
}

static void say_watched(struct buf *why)
{
    buf_adds(why, "Tidemark watches it already, by `tidemark run` or tidemark.Watcher in the "
                  "program: that report names the holders.");
}

/* Explains the probe's answer. */
static void say_answer(const struct visit *v, int answer, struct buf *why)
{
    switch (answer) {
    case -EALREADY:
        say_watched(why);
        break;
    case -EBUSY:
        buf_adds(why, "Another tidemark is in it at this moment. Try again when that has ended.");
        break;
    case -EAGAIN:
        buf_adds(why, "What another tidemark brought in is on its way out. Try again.");
        break;
    case -ENOTSUP:
        buf_adds(why, "The objects of this build of Python cannot be walked.");
        break;
    case -ENOSYS:
        buf_adds(why, "This build of Python lacks what is needed, as free-threaded ones do.");
        break;
    default:
        buf_addf(why, "It could not use %s: %s.", v->folder.path, strerror(-answer));
    }
}

static void note_waiting(void *context, const char *what)
{
    (void) what;
    atomic_store(&((struct visit *) context)->has_to_wait, true);
}

/* Whether it could report to us: no other watch is attached, and it can reach the folder. */
static int check(const struct visit *v, struct visit_result *r, struct buf *why)
{
    struct deputy *d;
    int e = deputy_new(r->pid, &d, why);
    if (e < 0)
        return e;
    r->uid = deputy_uid(d);
    if (is_watched(r->pid, d)) {
        say_watched(why);
        e = -EALREADY;
    } else if ((e = sees_directory(v, d)) < 0) {
        buf_addf(why, "Process %d cannot be read: %s.", (int) r->pid, error_words(-e));
    } else if (e == 0) {
        buf_adds(why, "It is in another container, or another user's, than the first that was "
                      "entered. Give its own pid.");
        e = -EXDEV;
    }
    deputy_free(d);
    return e < 0 ? e : 0;
}

static int enter(struct visit *v, struct visit_result *r, struct buf *why)
{
    int e = check(v, r, why);
    if (e < 0)
        return e;
    const struct attach_options options = {
        .library = buf_text(&v->library),
        .entry = ENTRY,
        .argument = v->folder.path,
        .seconds = v->patience,
        .is_cancelled = &v->is_cancelled,
        .waiting = note_waiting,
        .context = v,
    };
    struct attach_result entered = {.answer = 0};
    e = attach_load(r->pid, &options, &entered, why);
    snprintf(r->python, sizeof(r->python), "%s", entered.python);
    r->stopped = entered.stopped;
    r->longest_stop = entered.longest_stop;
    r->stops = entered.stops;
    if (e == 0 && entered.answer < 0) {
        say_answer(v, entered.answer, why);
        e = entered.answer;
    }
    return e;
}

/* ---- all of them ---- */

static void *work(void *context)
{
    struct visit *v = context;
    for (size_t i = 0; i < v->count && !atomic_load(&v->is_cancelled); i++) {
        struct visit_result *r = &v->results[i];
        struct buf why = BUF_INIT;
        *r = (struct visit_result){.pid = v->pids[i]};
        r->error = enter(v, r, &why);
        snprintf(r->why, sizeof(r->why), "%s", buf_text(&why));
        buf_release(&why);
        atomic_store(&v->ready, i + 1);
    }
    atomic_store(&v->is_done, true);
    return NULL;
}

int visit_enter(struct visit *v, const pid_t *pids, size_t count)
{
    sigset_t all, before;
    v->count = count < VISIT_MOST ? count : VISIT_MOST;
    memcpy(v->pids, pids, v->count * sizeof(*pids));
    v->taken = 0;
    atomic_store(&v->ready, 0);
    atomic_store(&v->is_done, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int e = pthread_create(&v->thread, NULL, work, v);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    v->has_thread = e == 0;
    return -e;
}

static void end_thread(struct visit *v)
{
    if (v->has_thread)
        pthread_join(v->thread, NULL);
    v->has_thread = false;
}

void visit_cancel(struct visit *v)
{
    atomic_store(&v->is_cancelled, true);
}

bool visit_is_busy(const struct visit *v)
{
    return v->has_thread;
}

bool visit_has_to_wait(struct visit *v)
{
    return atomic_exchange(&v->has_to_wait, false);
}

bool visit_next(struct visit *v, struct visit_result *ret)
{
    if (v->has_thread && v->taken < atomic_load(&v->ready)) {
        *ret = v->results[v->taken++];
        return true;
    }
    if (v->has_thread && atomic_load(&v->is_done))
        end_thread(v);
    return false;
}

bool visit_await(struct visit *v, struct visit_result *ret)
{
    while (v->has_thread) {
        if (visit_next(v, ret))
            return true;
        usleep(1000);
    }
    return false;
}

struct visit *visit_free(struct visit *v)
{
    if (!v)
        return NULL;
    end_thread(v);
    if (v->deputy)
        deputy_remove_folder(v->deputy, &v->folder);
    deputy_free(v->deputy);
    buf_release(&v->library);
    free(v);
    return NULL;
}

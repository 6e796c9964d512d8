/* watch/visit.c: going into processes that run already, one after the other. */
#include "attach/attach.h"
#include "watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY "tidemark_probe_enter"
#define DIRECTORY_NAME "tidemark-"

struct visit {
    struct buf library;
    double patience;

    int place;      /* the folder that holds the directory; -1: there is none yet */
    int directory;  /* -1: there is none yet */
    char *name;     /* of the directory, in its place */
    char *as_seen;  /* its path, as the processes see it */
    struct stat st; /* of the directory */

    pthread_t thread;
    bool has_thread;
    atomic_bool is_done;
    atomic_bool has_to_wait; /* it takes long, and nobody was told yet */
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
        abort();
    v->place = v->directory = -1;
    v->patience = patience;
    return v;
}

/* ---- the directory ---- */

/* Whose it is to be: the user that the process acts as. */
static int owner_of(pid_t pid, uid_t *ret_uid, gid_t *ret_gid)
{
    char path[64], line[256];
    unsigned uid = UINT_MAX, gid = UINT_MAX;
    snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -ESRCH;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Uid: %*u %u", &uid) != 1)
            (void) sscanf(line, "Gid: %*u %u", &gid);
    }
    fclose(file);
    *ret_uid = uid;
    *ret_gid = gid;
    return uid == UINT_MAX || gid == UINT_MAX ? -ESRCH : 0;
}

static bool make_in(struct visit *v, pid_t pid, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int) pid, folder);
    int place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d/" DIRECTORY_NAME "XXXXXX", place);
    if (!mkdtemp(path)) {
        close(place);
        return false;
    }
    char swept[64];
    snprintf(swept, sizeof(swept), "/proc/self/fd/%d", place);
    inside_sweep(swept);
    v->place = place;
    v->name = strdup(strrchr(path, '/') + 1);
    if (!v->name || asprintf(&v->as_seen, "%s/%s", folder, v->name) < 0)
        abort();
    v->directory = openat(place, v->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return true;
}

static void remove_directory(struct visit *v)
{
    char path[PATH_MAX];
    if (v->place < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", v->place, v->name);
    inside_remove(path);
    if (v->directory >= 0)
        close(v->directory);
    close(v->place);
    free(v->name);
    free(v->as_seen);
    v->name = v->as_seen = NULL;
    v->place = v->directory = -1;
}

/* In memory where that is possible, as for `run`; where the process sees it, and for its user. */
static int make_directory(struct visit *v, pid_t pid, struct buf *why)
{
    uid_t uid;
    gid_t gid;
    if (owner_of(pid, &uid, &gid) < 0) {
        buf_adds(why, "It has ended.");
        return -ESRCH;
    }
    if (!make_in(v, pid, "/dev/shm") && !make_in(v, pid, "/tmp")) {
        buf_addf(why, "No directory can be made in its /dev/shm or /tmp: %s.", strerror(errno));
        return -EACCES;
    }
    if (v->directory < 0 || (uid != geteuid() && fchown(v->directory, uid, gid) < 0) ||
        fstat(v->directory, &v->st) < 0) {
        buf_addf(why, "The directory for it cannot be given to its user (%u): %s.", (unsigned) uid,
                 strerror(errno));
        remove_directory(v);
        return -EPERM;
    }
    return 0;
}

/* Whether it may be entered at all is asked first: that has the better reasons. */
int visit_prepare(struct visit *v, pid_t pid, struct buf *why)
{
    if (v->library.len == 0 && inside_find_probe(&v->library, why) < 0)
        return -ENOENT;
    if (v->directory >= 0)
        return 0;
    int r = attach_check(pid, why);
    return r < 0 ? r : make_directory(v, pid, why);
}

int visit_directory(const struct visit *v)
{
    return v->directory;
}

/* ---- one process ---- */

/* It may be in another container, or another user's. */
static bool sees_directory(const struct visit *v, pid_t pid)
{
    char path[PATH_MAX];
    struct stat st;
    uid_t uid;
    gid_t gid;
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int) pid, v->as_seen);
    return stat(path, &st) == 0 && st.st_dev == v->st.st_dev && st.st_ino == v->st.st_ino &&
           owner_of(pid, &uid, &gid) == 0 && (uid == v->st.st_uid || uid == 0);
}

/* The directory of a `tidemark run` that it was started under, if that still watches. */
static bool is_watched(pid_t pid)
{
    struct proc_stat stat;
    struct proc *proc = NULL;
    struct buf run = BUF_INIT, path = BUF_INIT;
    bool watched = false;
    if (proc_stat_read("/proc", pid, &stat) == 0 && proc_open("/proc", stat.id, &proc) == 0 &&
        proc_read_variable(proc, WIRE_DIRECTORY_VARIABLE, &run) == 0) {
        buf_addf(&path, "/proc/%d/root%s", (int) pid, buf_text(&run));
        watched = wire_has_reader(buf_text(&path));
    }
    proc_free(proc);
    buf_release(&run);
    buf_release(&path);
    return watched;
}

static void say_watched(struct buf *why)
{
    buf_adds(why, "Tidemark watches it already, by `tidemark run` or tidemark.Watcher in the "
                  "program: that report names the holders.");
}

/* What the probe answered, in words. */
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
        buf_addf(why, "It could not use %s: %s.", v->as_seen, strerror(-answer));
    }
}

static void note_waiting(void *context, const char *what)
{
    (void) what;
    atomic_store(&((struct visit *) context)->has_to_wait, true);
}

static int enter(struct visit *v, struct visit_result *r, struct buf *why)
{
    if (is_watched(r->pid)) {
        say_watched(why);
        return -EALREADY;
    }
    if (!sees_directory(v, r->pid)) {
        buf_adds(why, "It is in another container, or another user's, than the first that was "
                      "entered. Give its own pid.");
        return -EXDEV;
    }
    const struct attach_options options = {
        .library = buf_text(&v->library),
        .entry = ENTRY,
        .argument = v->as_seen,
        .seconds = v->patience,
        .waiting = note_waiting,
        .context = v,
    };
    struct attach_result entered = {.answer = 0};
    int e = attach_enter(r->pid, &options, &entered, why);
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
    for (size_t i = 0; i < v->count; i++) {
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
    remove_directory(v);
    buf_release(&v->library);
    free(v);
    return NULL;
}

/* watch/shared.c: what lies in /dev/shm, which all jobs of a machine share: looked at, told apart.
 */
#include "watch/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM_PATH "/dev/shm"

/* Folders in folders that are looked into. */
#define DEPTH 8

/* Rings of any tidemark lie there in folders of such names: they are nobody's job. */
#define RINGS_BEGIN "tidemark-"

/* Looks take this share of a core, or of the time of a program that watches itself, after a first
 * burst in CPU seconds; so does asking all processes of the machine, 65 us each, by itself. */
#define LOOK_SHARE 0.002
#define OWN_LOOK_SHARE 0.0002
#define LOOK_BURST 0.1
#define OWN_LOOK_BURST 0.01

/* A number in a name that is shorter counts files, not processes. */
#define LEAST_PID 100

/* ---- what lies there ---- */

static void see_file(struct watch *w, const char *folder, const char *name, const struct stat *st)
{
    struct shm_file *x = shm_files_meet(&w->shm.files, st->st_ino);
    x->bytes = 512.0 * (double) st->st_blocks;
    x->size = (double) st->st_size;
    x->uid = st->st_uid;
    if (!w->shm.is_begun)
        x->before = x->bytes;
    if (x->name)
        return;
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s%s", folder, name);
    x->name = strdup(buf_text(&path));
    buf_release(&path);
    if (!x->name)
        base_out_of_memory();
}

static void list_folder(struct watch *w, int fd, const char *folder, unsigned depth);

static void open_below(struct watch *w, int above, const char *folder, const char *name,
                       unsigned depth)
{
    bool is_rings = depth == 0 && strncmp(name, RINGS_BEGIN, strlen(RINGS_BEGIN)) == 0;
    int fd = is_rings || depth == DEPTH
                 ? -1
                 : openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s%s/", folder, name);
    list_folder(w, fd, buf_text(&path), depth + 1);
    buf_release(&path);
}

/* Closes it. */
static void list_folder(struct watch *w, int fd, const char *folder, unsigned depth)
{
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != w->shm.device)
            continue;
        if (S_ISREG(st.st_mode))
            see_file(w, folder, entry->d_name, &st);
        else if (S_ISDIR(st.st_mode))
            open_below(w, fd, folder, entry->d_name, depth);
    }
    closedir(directory);
}

static void list_all(struct watch *w)
{
    int fd = open(SHM_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        list_folder(w, fd, "", 0);
}

/* ---- who holds it ---- */

/* One without a name is there for as long as somebody holds it. Where it is only mapped its length
 * is all that is known. */
static struct shm_file *find_or_meet(struct watch *w, const struct proc_held *h)
{
    struct shm_file *x = shm_files_find(&w->shm.files, h->inode);
    if (x && x->is_there && x->name)
        return x;
    x = shm_files_meet(&w->shm.files, h->inode);
    free(x->name);
    x->name = NULL;
    if (isfinite(h->bytes)) {
        x->bytes = h->bytes;
        x->size = h->size;
    } else if (x->bytes == 0) {
        x->bytes = x->size = h->extent;
    }
    return x;
}

static void job_holds(void *context, const struct proc_held *h)
{
    struct watch *w = context;
    struct shm_file *x = find_or_meet(w, h);
    if (x->owner == SHM_UNKNOWN)
        x->owner = SHM_JOB;
    x->is_held = true;
    x->was_held = x->was_held || x->owner == SHM_JOB;
    /* Of a job that ran before it was watched all that it held is its own. */
    if (!w->shm.was_looked_at && x->owner == SHM_JOB)
        x->before = 0;
}

/* What is asked of all other processes of the machine. */
struct survey {
    struct watch *watch;
    struct shm_writers writers;
};

static void others_hold(void *context, const struct proc_held *h)
{
    struct survey *s = context;
    struct shm_file *x = shm_files_find(&s->watch->shm.files, h->inode);
    if (!x || (x->owner == SHM_JOB && x->was_held))
        return;
    x->owner = SHM_OTHERS;
    x->is_held = x->was_held = true;
}

static void other_wrote(void *context, struct proc_id id, double bytes)
{
    struct survey *s = context;
    shm_writers_add(&s->writers, &s->watch->shm.writers, id, bytes);
}

static bool is_of_job(const struct watch *w, pid_t pid)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (w->members[i]->id.pid == pid)
            return true;
    return false;
}

/* Of the job, which was asked already, or the watcher, which may look at the rings. */
static bool is_passed_over(void *context, pid_t pid)
{
    const struct survey *s = context;
    return pid == getpid() || is_of_job(s->watch, pid);
}

static void ask_job(struct watch *w)
{
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (member_is_alive(m))
            (void) proc_read_held(m->proc, w->shm.device, SHM_PATH, m->now.shmem > 0, job_holds, w);
    }
}

/* ---- what nobody holds ---- */

static bool is_user_of_job(const struct watch *w, uid_t uid)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (w->members[i]->now.uid == (int64_t) uid)
            return true;
    return false;
}

/* Many programs write their number into the names of their files. */
static enum shm_owner owner_by_name(const struct watch *w, const struct shm_file *x)
{
    enum shm_owner owner = SHM_UNKNOWN;
    size_t position = 0;
    for (pid_t pid; x->name && (pid = shm_name_number(x->name, &position)) > 0;) {
        struct proc_stat stat;
        if (is_of_job(w, pid))
            return SHM_JOB;
        if (pid >= LEAST_PID && proc_stat_read(w->options.proc_root, pid, &stat) == 0 &&
            stat.rss > 0)
            owner = SHM_OTHERS;
    }
    return owner;
}

/* The job can have written so much in all; of who came or left meanwhile that is not known, and it
 * can have been anything. */
static void ask_what_job_wrote(struct watch *w, double seconds)
{
    struct shm *s = &w->shm;
    bool is_known = w->came_or_left < s->looked_seconds;
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        double written;
        if (!member_is_alive(m))
            continue;
        if (proc_read_written(m->proc, &written) < 0) {
            is_known = false;
            continue;
        }
        s->wrote += written - m->written;
        m->written = written;
    }
    if (!is_known)
        s->wrote = INFINITY;
    s->looked_seconds = seconds;
}

static bool is_open_question(const struct shm_file *x)
{
    return x->is_there && x->owner == SHM_UNKNOWN && x->bytes > x->before;
}

static bool any_question(const struct watch *w)
{
    for (size_t i = 0; i < w->shm.files.count; i++)
        if (is_open_question(&w->shm.files.list[i]))
            return true;
    return false;
}

/* Who else holds it, and what others can have written. */
static void ask_others(struct watch *w)
{
    struct survey s = {.watch = w};
    const struct proc_held_hooks hooks = {&s, is_passed_over, others_hold, other_wrote};
    (void) proc_survey_held(w->options.proc_root, w->shm.device, SHM_PATH, &hooks);
    shm_writers_release(&w->shm.writers);
    w->shm.writers = s.writers;
}

static void ask_names(struct watch *w)
{
    for (size_t i = 0; i < w->shm.files.count; i++) {
        struct shm_file *x = &w->shm.files.list[i];
        if (is_open_question(x))
            x->owner = owner_by_name(w, x);
    }
}

static bool can_afford(const struct watch *w, double spent, double seconds)
{
    double burst = w->inside ? OWN_LOOK_BURST : LOOK_BURST;
    double share = w->inside ? OWN_LOOK_SHARE : LOOK_SHARE;
    return spent < burst + share * seconds;
}

/* What nobody was seen to hold; the bytes that it has become. */
static double gather_guesses(struct watch *w)
{
    double bytes = 0;
    for (size_t i = 0; i < w->shm.files.count; i++) {
        struct shm_file *x = &w->shm.files.list[i];
        x->is_guessed = x->is_there && (x->is_guessed || is_open_question(x)) && !x->was_held;
        bytes += x->is_guessed ? x->bytes - x->before : 0;
    }
    return bytes;
}

/*
 * All were asked just now. Guesses are made anew each time: the longer all were watched, the less
 * one can be taken for another. What was written is counted from the first time on, what came of it
 * from the second, so that it cannot be more.
 */
static void renew_guess(struct watch *w, double bytes)
{
    struct shm *s = &w->shm;
    s->surveys++;
    if (s->surveys == 1)
        s->wrote = 0;
    if (s->surveys == 2)
        s->guessed_first = bytes;
    double grown = s->surveys < 2 ? 0 : bytes - s->guessed_first;
    if (grown > 0)
        s->guess = shm_judge(&s->files, s->wrote >= grown, shm_writers_could(&s->writers, grown));
}

/*
 * What has grown and nobody of the job holds: whose user it belongs to, who else holds it, whose
 * number it carries, and who can have written it.
 */
static void attribute_rest(struct watch *w, double seconds)
{
    ask_what_job_wrote(w, seconds);
    for (size_t i = 0; i < w->shm.files.count; i++) {
        struct shm_file *x = &w->shm.files.list[i];
        if (is_open_question(x) && !is_user_of_job(w, x->uid))
            x->owner = SHM_OTHERS;
    }
    ask_names(w);
    if (!any_question(w))
        return;
    double before = watch_cpu_seconds();
    gather_guesses(w);
    /* Who has waited for the end of a process is told what that has written as its own. */
    if (w->alive > 0 && can_afford(w, w->shm.survey_spent, seconds)) {
        ask_others(w);
        renew_guess(w, gather_guesses(w));
        w->shm.survey_spent += watch_cpu_seconds() - before;
    }
    for (size_t i = 0; i < w->shm.files.count; i++)
        if (w->shm.files.list[i].is_guessed)
            w->shm.files.list[i].owner = w->shm.guess;
}

/* ---- looks ---- */

/* Of all jobs, but for the rings of this watch. */
static int read_used(const struct watch *w, double *ret_used, double *ret_size)
{
    int r = proc_tmpfs_read(SHM_PATH, ret_used, ret_size);
    if (r == 0)
        *ret_used = fmax(0, *ret_used - rings_bytes(w, w->shm.device));
    return r;
}

static void look(struct watch *w, double seconds)
{
    struct shm *s = &w->shm;
    double before = watch_cpu_seconds(), survey_before = s->survey_spent;
    shm_files_begin(&s->files);
    list_all(w);
    ask_job(w);
    attribute_rest(w, seconds);
    shm_files_end(&s->files);
    s->spent += watch_cpu_seconds() - before - (s->survey_spent - survey_before);
}

/*
 * Files that had their size before are filled, as a ring of frames is, and nothing else came: their
 * sizes rose once at most since anything grew. It fits once all are full. What has come to an end
 * stays explained.
 */
static bool shm_fills(struct watch *w, double all, double room)
{
    struct shm *s = &w->shm;
    const struct track *t = &w->job[JOB_SHM];
    double sizes = all + room;
    bool grows = all > s->all;
    s->creations += sizes > s->sizes + LEAST_RISE;
    s->is_filled = grows ? sizes <= s->sizes : s->is_filled;
    s->all = all;
    s->sizes = fmax(s->sizes, sizes);
    return s->is_filled && s->creations <= 1 && !(t->limit > 0 && t->last + room >= t->limit);
}

static void judge(struct track *t, bool fills)
{
    if (fills)
        track_excuse(t, LEDGER_FIRST_TOUCH);
    else
        track_judge(t, NULL);
}

/* What a process has of it is the same memory, unless it has more than was ever to lie there. */
static void explain_shared(struct watch *w, bool fills)
{
    for (size_t i = 0; i < w->member_count; i++) {
        struct track *t = w->members[i]->has_tracks ? &w->members[i]->tracks[MEMBER_SHMEM] : NULL;
        if (t)
            judge(t, fills && t->last - t->first <= w->shm.sizes + LEAST_RISE);
    }
}

/* What others have there the job cannot have. */
static void push_growth(struct watch *w, double seconds, double size)
{
    struct track *t = &w->job[JOB_SHM];
    double room, bytes = shm_files_bytes(&w->shm.files, SHM_JOB, &room);
    t->limit = isfinite(size) ? fmax(bytes, size - (w->shm.used - bytes)) : 0;
    watch_push(w, t, seconds, bytes);
    if (!(t->max - t->first > 0))
        return;
    bool fills = shm_fills(w, bytes, room);
    judge(t, fills);
    explain_shared(w, fills);
}

void shared_open(struct watch *w)
{
    struct stat st;
    double size;
    w->shm.first = w->shm.used = NAN;
    if (stat(SHM_PATH, &st) < 0)
        return;
    w->shm.device = st.st_dev;
    if (read_used(w, &w->shm.first, &size) < 0)
        w->shm.first = NAN;
    list_all(w);
    w->shm.is_begun = true;
}

void shared_release(struct watch *w)
{
    shm_files_release(&w->shm.files);
    shm_writers_release(&w->shm.writers);
}

void shared_tick(struct watch *w, double seconds, bool finally)
{
    struct shm *s = &w->shm;
    double used, size;
    if (read_used(w, &used, &size) < 0)
        return;
    bool stands = used == s->used && !finally;
    if (!stands && !finally && !can_afford(w, s->spent, seconds))
        return;
    s->used = used;
    if (!stands)
        look(w, seconds);
    s->was_looked_at = true;
    push_growth(w, seconds, size);
}

static void describe_left(const struct watch *w, struct buf *out)
{
    const struct shm_file *first;
    double bytes;
    size_t count = shm_files_left(&w->shm.files, &bytes, &first);
    if (count == 0 || bytes < LEAST_RISE)
        return;
    units_add_bytes(out, bytes);
    buf_addf(out,
             " of this job are left behind in " SHM_PATH ", in %zu file%s that no process of "
             "it maps or has open: " SHM_PATH "/",
             count, count == 1 ? "" : "s");
    utf8_add_clean(out, first->name, false);
    buf_addf(out, "%s. What is not unlinked stays until somebody deletes it",
             count == 1 ? "" : " and others");
}

static void describe_unknown(const struct watch *w, struct buf *out)
{
    double bytes = shm_files_bytes(&w->shm.files, SHM_UNKNOWN, NULL);
    if (bytes < LEAST_RISE)
        return;
    buf_adds(out, out->len > 0 ? ". " : "");
    units_add_bytes(out, bytes);
    buf_adds(out, " came into " SHM_PATH " in files that no process maps or has open: this job can "
                  "have written them, and so can another, so they count for none. "
                  "ls -lt " SHM_PATH " shows them");
}

bool shared_describe(const struct watch *w, struct buf *out)
{
    describe_left(w, out);
    describe_unknown(w, out);
    return out->len > 0;
}

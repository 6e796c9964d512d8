/* sample/shared.c: files in /dev/shm, which all jobs of a machine share, by owner. */
#include "sample/sampler.h"

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

/* Depth of nested folders that are read. */
#define DEPTH 8

/* Rings of any tidemark are in folders with such names: they belong to no job. */
#define RINGS_BEGIN "tidemark-"

/*
 * Checks take this share of a core, or of the program's time if it watches itself, after a first
 * burst in CPU seconds. Surveys of all processes, 65 us each, have the same budget for themselves.
 */
#define LOOK_SHARE 0.002
#define OWN_LOOK_SHARE 0.0002
#define LOOK_BURST 0.1
#define OWN_LOOK_BURST 0.01

/* A smaller number in a name counts files, not processes. */
#define LEAST_PID 100

/* ---- which files there are ---- */

static void see_file(struct sampler *sam, const char *folder, const char *name,
                     const struct stat *st)
{
    struct shm_file *x = shm_files_meet(&sam->shm.files, st->st_ino);
    x->bytes = 512.0 * (double) st->st_blocks;
    x->size = (double) st->st_size;
    x->uid = st->st_uid;
    if (!sam->shm.is_begun)
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

static void list_folder(struct sampler *sam, int fd, const char *folder, unsigned depth);

static void open_below(struct sampler *sam, int above, const char *folder, const char *name,
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
    list_folder(sam, fd, buf_text(&path), depth + 1);
    buf_release(&path);
}

/* Closes `fd`. */
static void list_folder(struct sampler *sam, int fd, const char *folder, unsigned depth)
{
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_dev != sam->shm.device)
            continue;
        if (S_ISREG(st.st_mode))
            see_file(sam, folder, entry->d_name, &st);
        else if (S_ISDIR(st.st_mode))
            open_below(sam, fd, folder, entry->d_name, depth);
    }
    closedir(directory);
}

static void list_all(struct sampler *sam)
{
    int fd = open(SHM_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        list_folder(sam, fd, "", 0);
}

/* ---- who holds it ---- */

/* What the probe and the tracer write is no memory of the job's. */
static bool is_ours(const struct sampler *sam, const struct proc_held *h)
{
    const struct shm_file *x = shm_files_find(&sam->shm.files, h->inode);
    return !(x && x->name) && rings_have_file(sam, h->inode);
}

/* A file without a name exists while somebody holds it. If it is only mapped, only its length is
 * known. */
static struct shm_file *find_or_meet(struct sampler *sam, const struct proc_held *h)
{
    struct shm_file *x = shm_files_find(&sam->shm.files, h->inode);
    if (x && x->is_there && x->name)
        return x;
    x = shm_files_meet(&sam->shm.files, h->inode);
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
    struct sampler *sam = context;
    if (is_ours(sam, h))
        return;
    struct shm_file *x = find_or_meet(sam, h);
    if (x->owner == SHM_UNKNOWN)
        x->owner = SHM_JOB;
    x->is_held = true;
    x->was_held = x->was_held || x->owner == SHM_JOB;
    /* If the job ran before it was watched, all that it held is its own. */
    if (!sam->shm.was_looked_at && x->owner == SHM_JOB)
        x->before = 0;
}

/* A survey of all other processes of the machine. */
struct survey {
    struct sampler *sampler;
    struct shm_writers writers;
};

static void others_hold(void *context, const struct proc_held *h)
{
    struct survey *s = context;
    struct shm_file *x = shm_files_find(&s->sampler->shm.files, h->inode);
    if (!x || (x->owner == SHM_JOB && x->was_held))
        return;
    x->owner = SHM_OTHERS;
    x->is_held = x->was_held = true;
}

static void other_wrote(void *context, struct proc_id id, double bytes)
{
    struct survey *s = context;
    shm_writers_add(&s->writers, &s->sampler->shm.writers, id, bytes);
}

static bool is_of_job(const struct sampler *sam, pid_t pid)
{
    return job_find_last(sam->job, pid) != NULL;
}

/* Skips the job, which was already checked, and the watcher, which may read the rings. */
static bool is_passed_over(void *context, pid_t pid)
{
    const struct survey *s = context;
    return pid == getpid() || is_of_job(s->sampler, pid);
}

static void ask_job(struct sampler *sam)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        if (member_is_alive(m))
            (void) proc_read_held(m->reading->proc, sam->shm.device, SHM_PATH, m->now.shmem > 0,
                                  job_holds, sam);
    }
}

/* ---- what nobody holds ---- */

static bool is_user_of_job(const struct sampler *sam, uid_t uid)
{
    for (size_t i = 0; i < sam->job->member_count; i++)
        if (sam->job->members[i]->now.uid == (int64_t) uid)
            return true;
    return false;
}

/* Many programs put their pid into the names of their files. */
static enum shm_owner owner_by_name(const struct sampler *sam, const struct shm_file *x)
{
    enum shm_owner owner = SHM_UNKNOWN;
    size_t position = 0;
    for (pid_t pid; x->name && (pid = shm_name_number(x->name, &position)) > 0;) {
        struct proc_stat stat;
        if (is_of_job(sam, pid))
            return SHM_JOB;
        if (pid >= LEAST_PID && proc_stat_read(sam->options.proc_root, pid, &stat) == 0 &&
            stat.rss > 0)
            owner = SHM_OTHERS;
    }
    return owner;
}

/* Adds up what the job can have written. That is not known of processes that joined or ended
 * meanwhile: they may have written anything. */
static void ask_what_job_wrote(struct sampler *sam, double seconds)
{
    struct shm *s = &sam->shm;
    bool is_known = sam->job->came_or_left < s->looked_seconds;
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        double written;
        if (!member_is_alive(m))
            continue;
        if (proc_read_written(m->reading->proc, &written) < 0) {
            is_known = false;
            continue;
        }
        s->wrote += written - m->reading->written;
        m->reading->written = written;
    }
    if (!is_known)
        s->wrote = INFINITY;
    s->looked_seconds = seconds;
}

static bool is_open_question(const struct shm_file *x)
{
    return x->is_there && x->owner == SHM_UNKNOWN && x->bytes > x->before;
}

static bool any_question(const struct sampler *sam)
{
    for (size_t i = 0; i < sam->shm.files.count; i++)
        if (is_open_question(&sam->shm.files.list[i]))
            return true;
    return false;
}

/* Finds who else holds files, and how much others can have written. */
static void ask_others(struct sampler *sam)
{
    struct survey s = {.sampler = sam};
    const struct proc_held_hooks hooks = {&s, is_passed_over, others_hold, other_wrote};
    (void) proc_survey_held(sam->options.proc_root, sam->shm.device, SHM_PATH, &hooks);
    shm_writers_release(&sam->shm.writers);
    sam->shm.writers = s.writers;
}

static void ask_names(struct sampler *sam)
{
    for (size_t i = 0; i < sam->shm.files.count; i++) {
        struct shm_file *x = &sam->shm.files.list[i];
        if (is_open_question(x))
            x->owner = owner_by_name(sam, x);
    }
}

static bool can_afford(const struct sampler *sam, double spent, double seconds)
{
    double burst = sam->job->is_inside ? OWN_LOOK_BURST : LOOK_BURST;
    double share = sam->job->is_inside ? OWN_LOOK_SHARE : LOOK_SHARE;
    return spent < burst + share * seconds;
}

/* Collects files that nobody was seen to hold; returns by how many bytes they grew. */
static double gather_guesses(struct sampler *sam)
{
    double bytes = 0;
    for (size_t i = 0; i < sam->shm.files.count; i++) {
        struct shm_file *x = &sam->shm.files.list[i];
        x->is_guessed = x->is_there && (x->is_guessed || is_open_question(x)) && !x->was_held;
        bytes += x->is_guessed ? x->bytes - x->before : 0;
    }
    return bytes;
}

/*
 * A survey has just finished. Every survey renews the guesses: the longer all were watched, the
 * harder it is to mistake one process for another. Written bytes count from the first survey on,
 * growth from the second, so that growth cannot exceed them.
 */
static void renew_guess(struct sampler *sam, double bytes)
{
    struct shm *s = &sam->shm;
    s->surveys++;
    if (s->surveys == 1)
        s->wrote = 0;
    if (s->surveys == 2)
        s->guessed_first = bytes;
    double grown = s->surveys < 2 ? 0 : bytes - s->guessed_first;
    if (grown > 0)
        s->guess = shm_judge(&s->files, s->wrote >= grown, shm_writers_could(&s->writers, grown));
}

/* Attributes growth that no process of the job holds: by the user it belongs to, who else holds
 * it, whose pid is in its name, and who can have written it. */
static void attribute_rest(struct sampler *sam, double seconds)
{
    ask_what_job_wrote(sam, seconds);
    for (size_t i = 0; i < sam->shm.files.count; i++) {
        struct shm_file *x = &sam->shm.files.list[i];
        if (is_open_question(x) && !is_user_of_job(sam, x->uid))
            x->owner = SHM_OTHERS;
    }
    ask_names(sam);
    if (!any_question(sam))
        return;
    double before = sampler_cpu_seconds();
    gather_guesses(sam);
    /* A process that waited for the end of another gets that one's written bytes as its own. */
    if (sam->job->alive > 0 && can_afford(sam, sam->shm.survey_spent, seconds)) {
        ask_others(sam);
        renew_guess(sam, gather_guesses(sam));
        sam->shm.survey_spent += sampler_cpu_seconds() - before;
    }
    for (size_t i = 0; i < sam->shm.files.count; i++)
        if (sam->shm.files.list[i].is_guessed)
            sam->shm.files.list[i].owner = sam->shm.guess;
}

/* ---- checks ---- */

/* Use by all jobs, without the rings of this watch. */
static int read_used(const struct sampler *sam, double *ret_used, double *ret_size)
{
    int r = proc_tmpfs_read(SHM_PATH, ret_used, ret_size);
    if (r == 0)
        *ret_used = fmax(0, *ret_used - rings_bytes(sam, sam->shm.device));
    return r;
}

static void look(struct sampler *sam, double seconds)
{
    struct shm *s = &sam->shm;
    double before = sampler_cpu_seconds(), survey_before = s->survey_spent;
    shm_files_begin(&s->files);
    list_all(sam);
    ask_job(sam);
    attribute_rest(sam, seconds);
    shm_files_end(&s->files);
    s->spent += sampler_cpu_seconds() - before - (s->survey_spent - survey_before);
}

/*
 * Whether existing files are being filled, such as a ring of frames, and nothing else came: their
 * sizes rose once at most since anything grew, and all of them fit when full. Growth that has ended
 * stays explained.
 */
static bool shm_fills(struct sampler *sam, double all, double room)
{
    struct shm *s = &sam->shm;
    const struct track *t = &sam->job->sums[JOB_SHM];
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

/* A process's share of it is the same memory, unless it has more than the files could ever hold. */
static void explain_shared(struct sampler *sam, bool fills)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct track *t =
            sam->job->members[i]->has_tracks ? &sam->job->members[i]->tracks[MEMBER_SHMEM] : NULL;
        if (t)
            judge(t, fills && t->last - t->first <= sam->shm.sizes + LEAST_RISE);
    }
}

/* What others have there is not available to the job. */
static void push_growth(struct sampler *sam, double seconds, double size)
{
    struct track *t = &sam->job->sums[JOB_SHM];
    double room, bytes = shm_files_bytes(&sam->shm.files, SHM_JOB, &room);
    t->limit = isfinite(size) ? fmax(bytes, size - (sam->machine.around.shm_used - bytes)) : 0;
    sampler_push(sam, t, seconds, bytes);
    if (!(t->max - t->first > 0))
        return;
    bool fills = shm_fills(sam, bytes, room);
    judge(t, fills);
    explain_shared(sam, fills);
}

void shared_open(struct sampler *sam)
{
    struct stat st;
    double size;
    sam->machine.around.shm_first = sam->machine.around.shm_used = NAN;
    if (stat(SHM_PATH, &st) < 0)
        return;
    sam->shm.device = st.st_dev;
    if (read_used(sam, &sam->machine.around.shm_first, &size) < 0)
        sam->machine.around.shm_first = NAN;
    list_all(sam);
    sam->shm.is_begun = true;
}

void shared_release(struct sampler *sam)
{
    shm_files_release(&sam->shm.files);
    shm_writers_release(&sam->shm.writers);
}

void shared_tick(struct sampler *sam, double seconds, bool finally)
{
    struct shm *s = &sam->shm;
    double used, size;
    if (read_used(sam, &used, &size) < 0)
        return;
    bool stands = used == sam->machine.around.shm_used && !finally;
    if (!stands && !finally && !can_afford(sam, s->spent, seconds))
        return;
    sam->machine.around.shm_used = used;
    if (!stands)
        look(sam, seconds);
    s->was_looked_at = true;
    push_growth(sam, seconds, size);
}

void shared_gather_notes(const struct sampler *sam, struct shm_notes *ret)
{
    const struct shm_file *first = NULL;
    double left, unknown = shm_files_bytes(&sam->shm.files, SHM_UNKNOWN, NULL);
    size_t count = shm_files_left(&sam->shm.files, &left, &first);
    *ret = (struct shm_notes){
        .left = count > 0 && left >= LEAST_RISE ? left : (double) NAN,
        .left_count = count,
        .left_first = first ? first->name : NULL,
        .unknown = unknown >= LEAST_RISE ? unknown : (double) NAN,
    };
}

/* sample/members.c: samples the processes of the job: their identity, roles and memory. It judges
 * nothing. */
#include "advice/advice.h"
#include "sample/sampler.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Ended processes whose series are kept. */
#define ENDED_KEPT 128u

/* One reading of shares may hold a process up for this share of the time; a round over all
 * processes may take that share of a core. */
#define STALL_SHARE 0.001
#define ROUND_SHARE 0.001
#define LEAST_ROUND_SECONDS 0.5

/* A program that watches itself makes the rounds in its own time: all of them together take this
 * share of it. */
#define OWN_TIME_SHARE 0.0002

/*
 * All readings of shares together may take this share of a core, after a first burst: enough for
 * the processes of an ordinary job, and a bound for one of thousands, whose rounds take longer
 * instead. CPU time counts, not the wall clock: on a busy machine a reading waits for a core ten
 * times as long as it works, and a budget that counts the wait would leave young forks unread.
 */
#define SHARES_SHARE 0.005
#define SHARES_BURST 0.1

/* A fork copies most while it is young, so its shares are read again when it is twice as old, as
 * long as that takes no more than this share of a core. */
#define YOUNG_SHARE 0.02
#define YOUNG_SECONDS 0.25

/* The age at which shares are first read: the next reading may have to wait. */
#define FIRST_SHARES 0.2

/* What has not changed is read again after a share of the time it has been unchanged. */
#define STILL_SHARE 2.0

/* Shares are read again when this much more of files or shared memory is mapped. */
#define MAPPED_BYTES (1024.0 * 1024)

/* A process that has less than this share of its anonymous memory for itself shares some. */
#define OWN_SHARE 0.99

/* A process that has reported nothing for this long is sampled from outside again. */
#define REPORTED_SECONDS 3.0

/* A process that lives shorter than this has no series of its own: it is part of the job's sums.
 * Helpers come and go; a fork that runs no other program works for the job. */
static double grace_of(const struct member *m, double seconds)
{
    return fmin(0.1 + seconds / (m->forked ? 100 : 30), 1);
}

/* ---- coming and going ---- */

static void read_variable(struct member *m, const char *name, char *ret, size_t size)
{
    struct buf value = BUF_INIT;
    if (proc_read_variable(m->reading->proc, name, &value) == 0 && value.len < size)
        memcpy(ret, buf_text(&value), value.len + 1);
    buf_release(&value);
}

static bool same_arguments(const struct member *a, const struct member *b)
{
    return a->reading->arguments.len > 0 &&
           a->reading->arguments.len == b->reading->arguments.len &&
           memcmp(buf_text(&a->reading->arguments), buf_text(&b->reading->arguments),
                  a->reading->arguments.len) == 0;
}

/* Read again while it is young: between fork and exec it still looks like its parent. */
static void read_identity(struct sampler *sam, struct member *m)
{
    struct buf arguments = BUF_INIT, command = BUF_INIT;
    if (proc_read_arguments(m->reading->proc, &arguments) < 0 || arguments.len == 0) {
        buf_release(&arguments);
        return;
    }
    buf_release(&m->reading->arguments);
    m->reading->arguments = arguments;
    proc_add_command(&command, buf_text(&arguments), arguments.len);
    free(m->command);
    m->command = strdup(buf_text(&command));
    buf_release(&command);
    read_variable(m, "RANK", m->rank, sizeof(m->rank));
    read_variable(m, "LOCAL_RANK", m->local_rank, sizeof(m->local_rank));
    const struct member *parent = job_find(sam->job, m->parent);
    m->forked = parent && same_arguments(m, parent);
    m->origin = m->forked ? parent->origin : m->id;
}

/* Its start in ticks since boot, as a time of day. */
static void format_start(uint64_t ticks, char ret[32])
{
    struct timespec wall, boot;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    time_t start = wall.tv_sec - boot.tv_sec + (time_t) (ticks / (uint64_t) sysconf(_SC_CLK_TCK));
    strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&start, &parts));
}

static struct member_reading *new_reading(struct proc *proc, double now)
{
    struct member_reading *r = calloc(1, sizeof(*r));
    if (!r)
        base_out_of_memory();
    r->proc = proc;
    r->anon_reported = r->fds = NAN;
    r->counts_seconds = r->changed_seconds = now;
    return r;
}

void members_joined(void *context, struct proc_member *found)
{
    struct sampler *sam = context;
    struct proc *proc;
    int r = proc_open(sam->options.proc_root, found->stat.id, &proc);
    if (error_lacks_files(-r))
        sam->unread = r;
    if (r < 0)
        return;
    struct member *m = member_new(found->stat.id);
    m->reading = new_reading(proc, sam->job->now);
    m->parent = found->parent;
    format_start(m->id.start, m->start);
    m->is_root = found->parent.pid == 0;
    m->joined = sam->job->came_or_left = sam->job->now;
    job_add_member(sam->job, m);
    read_identity(sam, m);
    /* Of a program that watches itself before its first step, while nobody waits. */
    bool at_once = sam->job->is_inside && m->is_root;
    m->shares.next = m->joined + (at_once ? 0 : fmax(FIRST_SHARES, grace_of(m, m->joined)));
    found->user = m;
    sam->job->alive++;
    sam->wants_roles = true;
}

static void reading_free(struct member_reading *r)
{
    free(r->cuda);
    proc_free(r->proc);
    buf_release(&r->arguments);
    free(r->last_text);
    free(r->searched_text);
    trace_reading_release(&r->trace);
    free(r);
}

void members_release(struct sampler *sam)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        reading_free(sam->job->members[i]->reading);
        sam->job->members[i]->reading = NULL;
    }
}

static void forget(struct sampler *sam, size_t index)
{
    struct member *m = sam->job->members[index];
    job_remove_member(sam->job, index);
    sam->job->folded++;
    reading_free(m->reading);
    member_free(m);
}

static bool matters(const struct member *m)
{
    return member_is_alive(m) || member_is_trainer(m) || member_leaks(m);
}

/* The oldest ended process that does not matter goes. */
static void keep_ended_few(struct sampler *sam)
{
    size_t ended = sam->job->member_count - sam->job->alive;
    for (size_t i = 0; i < sam->job->member_count && ended > ENDED_KEPT; i++) {
        if (matters(sam->job->members[i]))
            continue;
        forget(sam, i--);
        ended--;
    }
}

/* Unchanged values were not pushed. Now they are, up to the last tick that found it alive. */
static void catch_up(struct sampler *sam, struct member *m)
{
    static const enum member_kind kinds[] = {MEMBER_ANON, MEMBER_SHMEM, MEMBER_FILE, MEMBER_RSS,
                                             MEMBER_VSIZE};
    for (unsigned i = 0; m->has_tracks && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct track *t = &m->tracks[kinds[i]];
        bool is_reported = kinds[i] == MEMBER_ANON && isfinite(m->reading->anon_reported);
        if (m->seen_seconds > t->last_seconds && !is_reported)
            sampler_push(sam, t, m->seen_seconds, t->last);
    }
}

static void finish_track(struct job *j, struct track *t, void *c)
{
    (void) c;
    track_mark(t, &j->terms);
    track_finish(t);
}

void members_left(void *context, struct proc_member *found)
{
    struct sampler *sam = context;
    struct member *m = found->user;
    if (!m)
        return;
    traces_end(sam, m);
    rings_end(sam, m, sam->job->now);
    m->ended = sam->job->came_or_left = sam->job->now;
    m->reading->proc = proc_free(m->reading->proc);
    sam->job->alive--;
    catch_up(sam, m);
    recorder_store_member(sam, m);
    censuses_store(sam, m);
    traces_store(sam, m);
    member_each_track(sam->job, m, finish_track, NULL);
    if (!m->has_tracks)
        for (size_t i = sam->job->member_count; i-- > 0;)
            if (sam->job->members[i] == m) {
                forget(sam, i);
                break;
            }
    keep_ended_few(sam);
}

/* ---- roles ---- */

static int index_of(const struct sampler *sam, struct proc_id id)
{
    for (size_t i = 0; i < sam->job->member_count; i++)
        if (proc_id_equal(sam->job->members[i]->id, id))
            return (int) i;
    return -1;
}

static void gather(const struct sampler *sam, const struct member *m, double seconds,
                   struct role_evidence *ret)
{
    struct proc_stat stat;
    bool alive = member_is_alive(m) && proc_read_stat(m->reading->proc, &stat) == 0;
    *ret = (struct role_evidence){
        .arguments = buf_text(&m->reading->arguments),
        .arguments_len = m->reading->arguments.len,
        .rank = m->rank[0] ? m->rank : NULL,
        .local_rank = m->local_rank[0] ? m->local_rank : NULL,
        .parent = m->parent.pid > 0 ? index_of(sam, m->parent) : -1,
        .anon = m->now.anon,
        .peak_anon = m->has_tracks ? m->tracks[MEMBER_ANON].max : m->now.anon,
        .cpu_seconds = alive ? (double) stat.cpu_ticks / (double) sysconf(_SC_CLK_TCK) : NAN,
        .age_seconds = (member_is_alive(m) ? seconds : m->ended) - m->joined,
        .forked = m->forked,
        .counts_steps = m->counts_steps,
    };
}

/* Ended processes keep their roles. */
void members_judge_roles(struct sampler *sam, double seconds)
{
    size_t n = sam->job->member_count;
    if (n == 0 || sam->job->alive == 0)
        return;
    struct role_evidence *evidence = calloc(n, sizeof(*evidence));
    struct role_finding *found = calloc(n, sizeof(*found));
    if (!evidence || !found)
        base_out_of_memory();
    for (size_t i = 0; i < n; i++) {
        if (member_is_alive(sam->job->members[i]) && seconds - sam->job->members[i]->joined < 5)
            read_identity(sam, sam->job->members[i]);
        gather(sam, sam->job->members[i], seconds, &evidence[i]);
    }
    roles_judge(evidence, n, found);
    for (size_t i = 0; i < n; i++) {
        struct member *m = sam->job->members[i];
        if (!member_is_alive(m))
            continue;
        bool changed = m->role.role != found[i].role || m->role.rank != found[i].rank;
        m->role = found[i];
        if (changed)
            recorder_store_member(sam, m);
    }
    free(evidence);
    free(found);
}

/* ---- samples ---- */

/* 0: none, or not for us to know. */
static double limit_of(pid_t pid, enum __rlimit_resource what)
{
    struct rlimit limit;
    if (prlimit(pid, what, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return (double) limit.rlim_cur;
}

void member_start_tracks(struct sampler *sam, struct member *m)
{
    member_init_tracks(m);
    /* What a forked process shares turns private by being touched. */
    if (m->forked) {
        m->tracks[MEMBER_PRIVATE].use = m->tracks[MEMBER_COPIED].use = TRACK_JUDGED;
        track_excuse(&m->tracks[MEMBER_PRIVATE], LEDGER_COPIED);
        track_excuse(&m->tracks[MEMBER_COPIED], LEDGER_COPIED);
    }
    recorder_store_member(sam, m);
    m->tracks[MEMBER_FDS].limit = limit_of(m->id.pid, RLIMIT_NOFILE);
    m->tracks[MEMBER_THREADS].limit = limit_of(m->id.pid, RLIMIT_NPROC);
    sam->job->sums[JOB_PROCESSES].limit = m->tracks[MEMBER_THREADS].limit;
}

void member_push(struct sampler *sam, struct member *m, struct track *t, double seconds,
                 double value)
{
    if (isfinite(value))
        recorder_open_series(sam, m, t);
    sampler_push(sam, t, seconds, value);
    m->moves = m->moves || t->moves;
}

static void push(struct sampler *sam, struct member *m, enum member_kind kind, double seconds,
                 double value)
{
    member_push(sam, m, &m->tracks[kind], seconds, value);
}

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* Inherited memory that is private by now. */
static double taken_over(const struct member *m)
{
    return fmax(0, m->shares.rollup.private_bytes - fmax(0, m->now.anon - m->inherited));
}

/*
 * Of that what it was left alone with: those it shared a page with have freed it, or written to it
 * and have a copy now. To copy a page itself it has to write to it, which is a fault: between two
 * readings of its shares it has copied a page for each at most.
 */
static void see_what_was_left_to_it(struct member *m, const struct proc_stat *before)
{
    struct proc_stat after;
    double taken = taken_over(m), page = (double) sysconf(_SC_PAGESIZE);
    if (proc_read_stat(m->reading->proc, &after) == 0)
        m->reading->left_to_it =
            fmin(taken, copies_left(m->reading->left_to_it, taken - m->reading->taken_over,
                                    page * (double) (after.faults - m->reading->faults_at_shares)));
    m->reading->taken_over = taken;
    m->reading->faults_at_shares = before->faults;
}

/* Once its parent has ended, shared pages are its own without a copy. */
static void push_copied(struct sampler *sam, struct member *m, double seconds)
{
    const struct member *parent = job_find(sam->job, m->parent);
    if (!m->forked || !parent || !member_is_alive(parent))
        return;
    push(sam, m, MEMBER_COPIED, seconds, fmax(0, taken_over(m) - m->reading->left_to_it));
    if (m->reading->left_to_it > 0 || m->tracks[MEMBER_LEFT].samples > 0)
        push(sam, m, MEMBER_LEFT, seconds, fmin(taken_over(m), m->reading->left_to_it));
}

static void push_shares(struct sampler *sam, struct member *m, double seconds)
{
    if (!m->has_tracks)
        return;
    double moved = m->now.anon - m->shares.anon;
    push(sam, m, MEMBER_PSS, seconds, m->shares.rollup.pss + moved);
    push(sam, m, MEMBER_PRIVATE, seconds, m->shares.rollup.private_bytes + moved);
    push_copied(sam, m, seconds);
}

/* Seconds to the next reading of its shares. */
static double shares_spacing(const struct sampler *sam, const struct member *m, double seconds,
                             double took, double cpu)
{
    double round = (double) sam->job->alive * cpu;
    double spacing = fmax(fmax(LEAST_ROUND_SECONDS, seconds / 500),
                          fmax(took / STALL_SHARE, round / ROUND_SHARE));
    double young = fmax(fmax(YOUNG_SECONDS, seconds - m->joined), round / YOUNG_SHARE);
    return m->forked && !sam->job->is_inside ? fmin(spacing, young) : spacing;
}

/* ---- what the probe keeps in the process ---- */

/* Of its shared memory. */
static double own_bytes(const struct sampler *sam, struct member *m)
{
    return m->reading->own_shared + traces_shared(sam, m);
}

static int read_status(const struct sampler *sam, struct member *m)
{
    int r = proc_read_status(m->reading->proc, &m->now);
    double own = r < 0 ? 0 : fmin(own_bytes(sam, m), m->now.shmem);
    m->now.shmem -= own;
    m->now.rss -= own;
    return r;
}

/* Only the process itself and the watcher have these files, and the watcher maps none. */
static int read_rollup(const struct sampler *sam, struct member *m, struct proc_rollup *ret)
{
    int r = proc_read_rollup(m->reading->proc, ret);
    double own = r < 0 ? 0 : fmin(own_bytes(sam, m), ret->pss_shmem);
    ret->pss -= own;
    ret->pss_shmem -= own;
    ret->private_bytes = fmax(0, ret->private_bytes - own);
    return r;
}

/* Half of the budget is for processes whose shares were never read. */
static bool can_afford_shares(const struct sampler *sam, const struct member *m, double seconds)
{
    double allowed = SHARES_BURST + SHARES_SHARE * seconds;
    return sam->shares_spent < (isnan(m->shares.seconds) ? allowed : allowed / 2);
}

static void read_shares(struct sampler *sam, struct member *m, double seconds)
{
    double begin = monotonic(), cpu = sampler_cpu_seconds();
    struct proc_stat before = {.faults = m->reading->faults_at_shares};
    if (m->forked)
        (void) proc_read_stat(m->reading->proc, &before);
    m->shares.error = read_rollup(sam, m, &m->shares.rollup);
    double took = monotonic() - begin;
    cpu = sampler_cpu_seconds() - cpu;
    sam->stall_seconds += took;
    sam->shares_spent += cpu;
    sam->shares_cpu += cpu;
    sam->next_round = sam->job->is_inside ? seconds + took / OWN_TIME_SHARE : 0;
    m->reading->shares_rest = shares_spacing(sam, m, seconds, took, cpu);
    /* Those that came at the same time are spread over the round. */
    bool first = isnan(m->shares.seconds);
    m->shares.next =
        seconds + (first ? 0.5 + 0.5 * (m->id.pid % 16) / 16 : 1) * m->reading->shares_rest;
    if (m->shares.error < 0)
        return;
    m->shares.seconds = seconds;
    m->shares.anon = m->now.anon;
    m->reading->mapped_at_shares = m->now.file + m->now.shmem;
    if (isnan(m->shares.pss_first))
        m->shares.pss_first = m->shares.rollup.pss;
    if (m->forked)
        see_what_was_left_to_it(m, &before);
    push_shares(sam, m, seconds);
}

/* ---- what is read when ---- */

/* Seconds until something unchanged since then is read again. */
static double rest_of(double since, double seconds)
{
    return fmin((seconds - since) / STILL_SHARE, SHARES_LATE);
}

/*
 * The sizes that tell whether to look say nothing of descriptors, threads and swap. Those are read
 * for themselves: at every tick once they move, the more rarely the longer they stand still.
 */
static void plan_counts(struct member *m, double seconds, bool changed)
{
    if (changed)
        m->reading->counts_seconds = seconds;
    bool moves = m->tracks[MEMBER_FDS].moves || m->tracks[MEMBER_THREADS].moves;
    m->reading->next_counts = seconds + (moves ? 0 : rest_of(m->reading->counts_seconds, seconds));
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void read_counts(struct sampler *sam, struct member *m, double seconds,
                        const struct proc_status *before)
{
    double fds;
    if (proc_read_fds(m->reading->proc, &fds) < 0)
        fds = NAN;
    bool changed = !same(fds, m->reading->fds) || !same(before->threads, m->now.threads) ||
                   !same(before->swap, m->now.swap);
    m->reading->fds = fds;
    push(sam, m, MEMBER_FDS, seconds, fds);
    plan_counts(m, seconds, changed);
}

/* Notes what it holds between two samples: a peak in an activity may make the track move. */
static void see_anon(struct sampler *sam, struct member *m)
{
    struct track *t = &m->tracks[MEMBER_ANON];
    job_see(sam->job, t, member_held(m));
    m->moves = m->moves || t->moves;
}

static void push_status(struct sampler *sam, struct member *m, double seconds)
{
    const struct proc_status *s = &m->now;
    /* Reported from inside, it is of the same place in every step, which no tick of ours is. */
    if (!(seconds - m->reading->anon_reported < REPORTED_SECONDS))
        push(sam, m, MEMBER_ANON, seconds, member_held(m));
    else
        see_anon(sam, m);
    push(sam, m, MEMBER_SHMEM, seconds, s->shmem);
    push(sam, m, MEMBER_FILE, seconds, s->file);
    push(sam, m, MEMBER_THREADS, seconds, s->threads);
    if (s->swap > 0 || m->tracks[MEMBER_SWAP].samples > 0)
        push(sam, m, MEMBER_SWAP, seconds, s->swap);
    push(sam, m, MEMBER_RSS, seconds, s->rss);
    push(sam, m, MEMBER_VSIZE, seconds, s->vsize);
    push(sam, m, MEMBER_PEAK, seconds, s->peak);
}

/* Nothing has changed. Only engines get the value, which would take silence for a gap, and
 * activities. */
static void push_same(struct sampler *sam, struct member *m, double seconds)
{
    static const enum member_kind kinds[] = {MEMBER_ANON, MEMBER_SHMEM, MEMBER_FILE};
    for (unsigned i = 0; m->moves && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct track *t = &m->tracks[kinds[i]];
        bool is_anon = kinds[i] == MEMBER_ANON,
             is_reported = seconds - m->reading->anon_reported < REPORTED_SECONDS;
        if (t->moves && !(is_anon && is_reported))
            sampler_push(sam, t, seconds, is_anon ? member_held(m) : t->last);
    }
    if (sam->job->activities.count > 0)
        see_anon(sam, m);
}

/* -ESRCH: it has ended. */
static int look_at(struct sampler *sam, struct member *m, double seconds)
{
    struct proc_status before = m->now;
    int r = read_status(sam, m);
    if (r < 0)
        return r;
    m->reading->is_seen_aside = false;
    if (isnan(m->inherited)) {
        const struct member *parent = job_find(sam->job, m->parent);
        m->inherited = fmin(m->now.anon, parent ? parent->now.anon : m->now.anon);
    }
    if (!m->has_tracks && (m->is_root || seconds - m->joined >= grace_of(m, seconds)))
        member_start_tracks(sam, m);
    if (!m->has_tracks)
        return 0;
    push_status(sam, m, seconds);
    if (seconds >= m->reading->next_counts)
        read_counts(sam, m, seconds, &before);
    return 0;
}

/* They may have pages in common. */
static bool are_kin(const struct member *a, const struct member *b)
{
    return proc_id_equal(a->origin, b->origin) || (a->now.shmem > 0 && b->now.shmem > 0);
}

/*
 * Pages that it shares are counted by how many share them: that changes when it, or one that has
 * pages in common with it, touches some or gives them up. While nobody did, the last reading holds.
 * Anonymous pages of one that has none in common are all its own, as the last reading has to show:
 * its share moves as they do.
 */
static bool shares_have_changed(struct sampler *sam, struct member *m, double seconds)
{
    struct proc_stat stat;
    if (proc_read_stat(m->reading->proc, &stat) < 0)
        return true;
    if (stat.faults != m->reading->faults)
        m->reading->changed_seconds = seconds;
    m->reading->faults = stat.faults;
    if (isnan(m->shares.seconds) || sam->job->came_or_left >= m->shares.seconds)
        return true;
    bool is_alone = m->shares.rollup.pss_anon >= OWN_SHARE * m->shares.anon, changed = false;
    for (size_t i = 0; i < sam->job->member_count; i++) {
        const struct member *other = sam->job->members[i];
        if (!member_is_alive(other) || !are_kin(m, other))
            continue;
        is_alone = is_alone && other == m;
        changed = changed || other->reading->changed_seconds > m->shares.seconds;
    }
    double mapped = m->now.file + m->now.shmem - m->reading->mapped_at_shares;
    return is_alone ? fabs(mapped) > MAPPED_BYTES : changed;
}

/* While a census is made of a process, its pages are shared with the child that makes it. */
#define CENSUS_SECONDS 0.2

static void look_at_shares(struct sampler *sam, struct member *m, double seconds)
{
    if (rings_have_copy(sam, m)) {
        m->shares.next = seconds + CENSUS_SECONDS;
    } else if (!can_afford_shares(sam, m, seconds)) {
        return;
    } else if (shares_have_changed(sam, m, seconds)) {
        read_shares(sam, m, seconds);
    } else {
        push_shares(sam, m, seconds);
        m->shares.next =
            seconds + fmax(m->reading->shares_rest, rest_of(m->shares.seconds, seconds));
    }
}

/* Trainers are read at every tick: one may have peaked and come back to the same size. */
static void tick(struct sampler *sam, struct member *m, double seconds)
{
    int changed = proc_has_changed(m->reading->proc);
    if (changed > 0 || m->reading->is_seen_aside)
        m->reading->changed_seconds = seconds;
    bool looks = changed > 0 || m->reading->is_seen_aside || !m->has_tracks ||
                 member_is_trainer(m) || seconds >= m->reading->next_counts;
    if (changed < 0 || (looks && look_at(sam, m, seconds) < 0)) {
        sam->wants_scan = true;
        return;
    }
    m->seen_seconds = seconds;
    if (!looks)
        push_same(sam, m, seconds);
    climb_push(&m->climb, seconds, member_held(m));
    if (seconds >= fmax(m->shares.next, sam->next_round) &&
        (m->shares.error == 0 || m->shares.error == -EAGAIN))
        look_at_shares(sam, m, seconds);
}

void members_sample_memory(struct sampler *sam)
{
    double anon = 0;
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        if (!member_is_alive(m))
            continue;
        int changed = proc_has_changed(m->reading->proc);
        if (changed > 0 && read_status(sam, m) == 0)
            m->reading->is_seen_aside = true;
        else if (changed < 0)
            sam->wants_scan = true;
        if (m->has_tracks)
            see_anon(sam, m);
        anon += isnan(m->now.anon) ? 0 : member_own_anon(m);
    }
    job_see(sam->job, &sam->job->sums[JOB_ANON], anon);
}

void members_finish(struct sampler *sam)
{
    for (size_t i = 0; i < sam->job->member_count; i++)
        catch_up(sam, sam->job->members[i]);
}

void members_tick(struct sampler *sam, double seconds)
{
    double anon = 0, pss = 0;
    bool whole = sam->job->alive > 0;
    for (size_t i = 0; i < sam->job->member_count; i++) {
        struct member *m = sam->job->members[i];
        if (!member_is_alive(m))
            continue;
        tick(sam, m, seconds);
        anon += isnan(m->now.anon) ? 0 : member_own_anon(m);
        double share = member_pss(m);
        whole = whole && (!isnan(share) || !m->has_tracks);
        pss += isnan(share) ? 0 : share;
    }
    if (sam->job->alive == 0)
        return;
    sampler_push(sam, &sam->job->sums[JOB_ANON], seconds, anon);
    sampler_push(sam, &sam->job->sums[JOB_PROCESSES], seconds, (double) sam->job->alive);
    if (whole)
        sampler_push(sam, &sam->job->sums[JOB_PSS], seconds, pss);
}

/* watch/members.c: the processes of the job: who they are and what they use. */
#include "watch/session.h"

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

/* A round may hold up a process for this share of time, and cost that share of a core in all. */
#define STALL_SHARE 0.001
#define ROUND_SHARE 0.001
#define LEAST_ROUND_SECONDS 0.5

/* A program that watches itself makes the rounds in its own time: all of them together take this
 * share of it. */
#define OWN_TIME_SHARE 0.0002

/* Reading all shares together may hold processes up for so much of the time, and so take no more of
 * a core either, after a first burst: enough for the processes of an ordinary job, and a bound for
 * one of thousands, whose rounds take longer instead. */
#define SHARES_SHARE 0.005
#define SHARES_BURST 0.1

/* A fork copies most while it is young: it is looked at again when it is twice as old, as long as
 * that costs no more of a core than this, which is not the training's own. */
#define YOUNG_SHARE 0.02
#define YOUNG_SECONDS 0.25

/* So old a process is when it is looked at first: the next look may have to wait. */
#define FIRST_ROLLUP 0.2

/* What stands still is read again after a share of the time it has stood, at most after so long. */
#define STILL_SHARE 2.0
#define STILL_MOST 30.0

/* So much more of files or shared memory, and the shares of a process are read again. */
#define MAPPED_BYTES (1024.0 * 1024)

/* Of its anonymous memory it has this share for itself, or it shares some with others. */
#define OWN_SHARE 0.99

/* A process that has told nothing from inside for so long is looked at from outside again. */
#define TOLD_SECONDS 3.0

static const struct {
    const char *kind;
    enum series_unit unit;
    enum track_use use;
} member_kinds[MEMBER_KINDS] = {
    [MEMBER_ANON] = {"host.anon", SERIES_BYTES, TRACK_JUDGED},
    [MEMBER_SHMEM] = {"host.shmem", SERIES_BYTES, TRACK_JUDGED},
    [MEMBER_FDS] = {"fds", SERIES_COUNT, TRACK_JUDGED},
    [MEMBER_THREADS] = {"threads", SERIES_COUNT, TRACK_JUDGED},
    [MEMBER_FILE] = {"host.file", SERIES_BYTES, TRACK_JUDGED},
    [MEMBER_PRIVATE] = {"host.private", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_PSS] = {"host.pss", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_SWAP] = {"host.swap", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_RSS] = {"host.rss", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_VSIZE] = {"host.vsize", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_PEAK] = {"host.peak", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_COPIED] = {"host.copied", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_LEFT] = {"host.left", SERIES_BYTES, TRACK_SHOWN},
};

/* A process that lives less long has no series of its own: it is part of the job's sums. Helpers
 * come and go; what is forked and goes on as it is works for the job. */
static double grace_of(const struct member *m, double seconds)
{
    return fmin(0.1 + seconds / (m->forked ? 100 : 30), 1);
}

bool member_is_alive(const struct member *m)
{
    return isnan(m->ended);
}

bool member_was_there(const struct member *m, double seconds)
{
    /* Who ended and who came were found by the same look: one went before the other came. */
    return m->joined <= seconds && (member_is_alive(m) || seconds < m->ended);
}

bool member_is_trainer(const struct member *m)
{
    return m->role.role == ROLE_TRAINER || m->role.role == ROLE_RANK;
}

void member_label(const struct member *m, char ret[MEMBER_LABEL])
{
    if (m->role.rank >= 0)
        snprintf(ret, MEMBER_LABEL, "rank %d (%d)", m->role.rank, (int) m->id.pid);
    else
        snprintf(ret, MEMBER_LABEL, "%s %d", proc_role_name(m->role.role), (int) m->id.pid);
}

/* ---- coming and going ---- */

static void read_variable(struct member *m, const char *name, char *ret, size_t size)
{
    struct buf value = BUF_INIT;
    if (proc_read_variable(m->proc, name, &value) == 0 && value.len < size)
        memcpy(ret, buf_text(&value), value.len + 1);
    buf_release(&value);
}

struct member *member_find(struct watch *w, struct proc_id id)
{
    for (size_t i = w->member_count; i-- > 0;)
        if (proc_id_equal(w->members[i]->id, id))
            return w->members[i];
    return NULL;
}

static bool same_arguments(const struct member *a, const struct member *b)
{
    return a->arguments.len > 0 && a->arguments.len == b->arguments.len &&
           memcmp(buf_text(&a->arguments), buf_text(&b->arguments), a->arguments.len) == 0;
}

/* Read again while it is young: between fork and exec it still looks like its parent. */
static void read_identity(struct watch *w, struct member *m)
{
    struct buf arguments = BUF_INIT, command = BUF_INIT;
    if (proc_read_arguments(m->proc, &arguments) < 0 || arguments.len == 0) {
        buf_release(&arguments);
        return;
    }
    buf_release(&m->arguments);
    m->arguments = arguments;
    proc_add_command(&command, buf_text(&arguments), arguments.len);
    free(m->command);
    m->command = strdup(buf_text(&command));
    buf_release(&command);
    read_variable(m, "RANK", m->rank, sizeof(m->rank));
    read_variable(m, "LOCAL_RANK", m->local_rank, sizeof(m->local_rank));
    const struct member *parent = member_find(w, m->parent);
    m->forked = parent && same_arguments(m, parent);
    m->origin = m->forked ? parent->origin : m->id;
}

static void remember(struct watch *w, struct member *m)
{
    if ((w->member_count & (w->member_count - 1)) == 0) {
        size_t capacity = w->member_count ? 2 * w->member_count : 1;
        w->members = realloc(w->members, capacity * sizeof(*w->members));
        if (!w->members)
            base_out_of_memory();
    }
    w->members[w->member_count++] = m;
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

void members_joined(void *context, struct proc_member *found)
{
    struct watch *w = context;
    struct proc *proc;
    int r = proc_open(w->options.proc_root, found->stat.id, &proc);
    if (error_lacks_files(-r))
        w->unread = r;
    if (r < 0)
        return;
    struct member *m = calloc(1, sizeof(*m));
    if (!m)
        base_out_of_memory();
    m->id = m->origin = found->stat.id;
    m->parent = found->parent;
    format_start(m->id.start, m->start);
    m->proc = proc;
    m->is_root = found->parent.pid == 0;
    m->joined = w->last_tick;
    m->ended = NAN;
    m->rollup.pss = m->rollup.private_bytes = m->pss_first = NAN;
    m->rollup_seconds = m->anon_at_rollup = m->inherited = m->anon_told = m->fds = NAN;
    m->counts_seconds = m->changed_seconds = w->came_or_left = m->joined;
    m->now = (struct proc_status){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, -1};
    m->role.rank = -1;
    remember(w, m);
    read_identity(w, m);
    /* Of a program that watches itself before its first step, while nobody waits. */
    bool at_once = w->inside && m->is_root;
    m->next_rollup = m->joined + (at_once ? 0 : fmax(FIRST_ROLLUP, grace_of(m, m->joined)));
    found->user = m;
    w->alive++;
    w->next_roles = w->last_tick;
}

struct member *member_free(struct member *m)
{
    for (unsigned i = 0; m->has_tracks && i < MEMBER_KINDS; i++)
        track_release(&m->tracks[i]);
    for (size_t i = 0; i < m->gpu_count; i++)
        track_release(&m->gpu[i]);
    for (size_t i = 0; i < m->told_count; i++)
        track_release(&m->told[i]);
    free(m->gpu);
    free(m->told);
    free(m->cuda);
    found_free(m->found);
    proc_free(m->proc);
    buf_release(&m->arguments);
    free(m->command);
    free(m);
    return NULL;
}

static bool any_track(const struct member *m, bool (*holds)(const struct track *t))
{
    for (unsigned i = 0; m->has_tracks && i < MEMBER_KINDS; i++)
        if (holds(&m->tracks[i]))
            return true;
    for (size_t i = 0; i < m->gpu_count; i++)
        if (holds(&m->gpu[i]))
            return true;
    for (size_t i = 0; i < m->told_count; i++)
        if (holds(&m->told[i]))
            return true;
    return false;
}

bool member_is_wary(const struct member *m)
{
    return any_track(m, track_is_wary);
}

bool member_climbs(const struct member *m)
{
    return climb_is_even(&m->climb, LEAST_RISE);
}

const struct track *member_told(const struct member *m, const char *kind)
{
    for (size_t i = 0; i < m->told_count; i++)
        if (strcmp(m->told[i].kind, kind) == 0)
            return &m->told[i];
    return NULL;
}

struct track *member_heap(struct member *m)
{
    for (size_t i = 0; i < m->told_count; i++)
        if (strcmp(m->told[i].kind, HEAP_USED) == 0)
            return &m->told[i];
    return NULL;
}

bool member_is_told_quietly(const struct member *m)
{
    const struct track *heap = member_told(m, HEAP_USED);
    return (m->has_tracks && m->tracks[MEMBER_ANON].quiet) || (heap && heap->quiet);
}

bool member_is_told_soon(const struct member *m)
{
    const struct track *heap = member_told(m, HEAP_USED);
    return (m->has_tracks && track_is_told_soon(&m->tracks[MEMBER_ANON])) ||
           (heap && track_is_told_soon(heap));
}

static void forget(struct watch *w, size_t index)
{
    member_free(w->members[index]);
    w->folded++;
    w->member_count--;
    memmove(&w->members[index], &w->members[index + 1],
            (w->member_count - index) * sizeof(*w->members));
}

static bool matters(const struct member *m)
{
    return member_is_alive(m) || member_is_trainer(m) || any_track(m, track_leaks);
}

/* The oldest ended process that does not matter goes. */
static void keep_ended_few(struct watch *w)
{
    size_t ended = w->member_count - w->alive;
    for (size_t i = 0; i < w->member_count && ended > ENDED_KEPT; i++) {
        if (matters(w->members[i]))
            continue;
        forget(w, i--);
        ended--;
    }
}

static void store_member(struct watch *w, struct member *m)
{
    if (!w->options.store || !m->has_tracks)
        return;
    struct store_process p = {
        .pid = m->id.pid,
        .start = m->id.start,
        .parent_pid = m->parent.pid,
        .role = proc_role_name(m->role.role),
        .rank = m->role.rank,
        .command = m->command,
        .why = m->role.why,
        .first_seconds = m->joined,
        .last_seconds = member_is_alive(m) ? w->last_tick : m->ended,
        .exit_status = NAN,
    };
    w->unsaved = true;
    if (m->stored == 0)
        m->stored = store_add_process(w->options.store, &p);
    else
        store_update_process(w->options.store, m->stored, &p);
}

/* What did not change was not pushed: now it is, up to where it was seen last. */
void member_catch_up(struct watch *w, struct member *m)
{
    static const enum member_kind kinds[] = {MEMBER_ANON, MEMBER_SHMEM, MEMBER_FILE, MEMBER_RSS,
                                             MEMBER_VSIZE};
    for (unsigned i = 0; m->has_tracks && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct track *t = &m->tracks[kinds[i]];
        bool is_told = kinds[i] == MEMBER_ANON && isfinite(m->anon_told);
        if (m->seen_seconds > t->last_seconds && !is_told)
            watch_push(w, t, m->seen_seconds, t->last);
    }
}

static void finish_track(struct watch *w, struct track *t, void *c)
{
    (void) c;
    track_mark(t, &w->terms);
    track_finish(t);
}

void members_left(void *context, struct proc_member *found)
{
    struct watch *w = context;
    struct member *m = found->user;
    if (!m)
        return;
    rings_end(w, m, w->last_tick);
    m->ended = w->came_or_left = w->last_tick;
    m->proc = proc_free(m->proc);
    w->alive--;
    member_catch_up(w, m);
    store_member(w, m);
    found_store(w, m);
    member_each_track(w, m, finish_track, NULL);
    if (!m->has_tracks)
        for (size_t i = w->member_count; i-- > 0;)
            if (w->members[i] == m) {
                forget(w, i);
                break;
            }
    keep_ended_few(w);
}

/* ---- roles ---- */

static int index_of(const struct watch *w, struct proc_id id)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (proc_id_equal(w->members[i]->id, id))
            return (int) i;
    return -1;
}

static void gather(const struct watch *w, const struct member *m, double seconds,
                   struct role_evidence *ret)
{
    struct proc_stat stat;
    bool alive = member_is_alive(m) && proc_read_stat(m->proc, &stat) == 0;
    *ret = (struct role_evidence){
        .arguments = buf_text(&m->arguments),
        .arguments_len = m->arguments.len,
        .rank = m->rank[0] ? m->rank : NULL,
        .local_rank = m->local_rank[0] ? m->local_rank : NULL,
        .parent = m->parent.pid > 0 ? index_of(w, m->parent) : -1,
        .anon = m->now.anon,
        .peak_anon = m->has_tracks ? m->tracks[MEMBER_ANON].max : m->now.anon,
        .cpu_seconds = alive ? (double) stat.cpu_ticks / (double) sysconf(_SC_CLK_TCK) : NAN,
        .age_seconds = (member_is_alive(m) ? seconds : m->ended) - m->joined,
        .forked = m->forked,
        .counts_steps = m->counts_steps,
    };
}

/* Of ended processes the roles stay as they were. */
void members_judge_roles(struct watch *w, double seconds)
{
    size_t n = w->member_count;
    if (n == 0 || w->alive == 0)
        return;
    struct role_evidence *evidence = calloc(n, sizeof(*evidence));
    struct role_finding *found = calloc(n, sizeof(*found));
    if (!evidence || !found)
        base_out_of_memory();
    for (size_t i = 0; i < n; i++) {
        if (member_is_alive(w->members[i]) && seconds - w->members[i]->joined < 5)
            read_identity(w, w->members[i]);
        gather(w, w->members[i], seconds, &evidence[i]);
    }
    roles_judge(evidence, n, found);
    for (size_t i = 0; i < n; i++) {
        struct member *m = w->members[i];
        if (!member_is_alive(m))
            continue;
        bool changed = m->role.role != found[i].role || m->role.rank != found[i].rank;
        m->role = found[i];
        if (changed)
            store_member(w, m);
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

void member_init_tracks(struct member *m)
{
    for (unsigned i = 0; i < MEMBER_KINDS; i++)
        track_init(&m->tracks[i], member_kinds[i].kind, member_kinds[i].unit, member_kinds[i].use);
    track_excuse(&m->tracks[MEMBER_FILE], LEDGER_FILE_PAGES);
    m->has_tracks = true;
}

enum member_kind member_kind_of(const char *kind)
{
    unsigned i = 0;
    while (i < MEMBER_KINDS && strcmp(member_kinds[i].kind, kind) != 0)
        i++;
    return (enum member_kind) i;
}

void member_start_tracks(struct watch *w, struct member *m)
{
    member_init_tracks(m);
    /* What a forked process shares turns private by being touched. */
    if (m->forked) {
        m->tracks[MEMBER_PRIVATE].use = m->tracks[MEMBER_COPIED].use = TRACK_JUDGED;
        track_excuse(&m->tracks[MEMBER_PRIVATE], LEDGER_COPIED);
        track_excuse(&m->tracks[MEMBER_COPIED], LEDGER_COPIED);
    }
    store_member(w, m);
    m->tracks[MEMBER_FDS].limit = limit_of(m->id.pid, RLIMIT_NOFILE);
    m->tracks[MEMBER_THREADS].limit = limit_of(m->id.pid, RLIMIT_NPROC);
    w->job[JOB_PROCESSES].limit = m->tracks[MEMBER_THREADS].limit;
}

void member_push(struct watch *w, struct member *m, struct track *t, double seconds, double value)
{
    if (isfinite(value) && t->stored == 0 && w->options.store && m->stored > 0) {
        struct store_series s = {.process = m->stored,
                                 .kind = t->kind,
                                 .device = t->device,
                                 .unit = t->unit,
                                 .rule = track_reading(t)};
        t->stored = store_add_series(w->options.store, &s);
        t->stored_reading = track_reading(t);
    }
    watch_push(w, t, seconds, value);
    m->moves = m->moves || t->moves;
}

static void push(struct watch *w, struct member *m, enum member_kind kind, double seconds,
                 double value)
{
    member_push(w, m, &m->tracks[kind], seconds, value);
}

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* What it has for itself, and did not get since the fork. */
static double taken_over(const struct member *m)
{
    return fmax(0, m->rollup.private_bytes - fmax(0, m->now.anon - m->inherited));
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
    if (proc_read_stat(m->proc, &after) == 0)
        m->left_to_it =
            fmin(taken, copies_left(m->left_to_it, taken - m->taken_over,
                                    page * (double) (after.faults - m->faults_at_rollup)));
    m->taken_over = taken;
    m->faults_at_rollup = before->faults;
}

/* Where its parent has ended, what they shared is its own without being copied. */
static void push_copied(struct watch *w, struct member *m, double seconds)
{
    const struct member *parent = member_find(w, m->parent);
    if (!m->forked || !parent || !member_is_alive(parent))
        return;
    push(w, m, MEMBER_COPIED, seconds, fmax(0, taken_over(m) - m->left_to_it));
    if (m->left_to_it > 0 || m->tracks[MEMBER_LEFT].samples > 0)
        push(w, m, MEMBER_LEFT, seconds, fmin(taken_over(m), m->left_to_it));
}

static void push_shares(struct watch *w, struct member *m, double seconds)
{
    if (!m->has_tracks)
        return;
    double moved = m->now.anon - m->anon_at_rollup;
    push(w, m, MEMBER_PSS, seconds, m->rollup.pss + moved);
    push(w, m, MEMBER_PRIVATE, seconds, m->rollup.private_bytes + moved);
    push_copied(w, m, seconds);
}

/* Seconds to the next look at its shares. */
static double rollup_spacing(const struct watch *w, const struct member *m, double seconds,
                             double took, double cpu)
{
    double round = (double) w->alive * cpu;
    double spacing = fmax(fmax(LEAST_ROUND_SECONDS, seconds / 500),
                          fmax(took / STALL_SHARE, round / ROUND_SHARE));
    double young = fmax(fmax(YOUNG_SECONDS, seconds - m->joined), round / YOUNG_SHARE);
    return m->forked && !w->inside ? fmin(spacing, young) : spacing;
}

/* Half of what may be spent is for those that were never read. */
static bool can_afford_rollup(const struct watch *w, const struct member *m, double seconds)
{
    double allowed = SHARES_BURST + SHARES_SHARE * seconds;
    return w->stall_seconds < (isnan(m->rollup_seconds) ? allowed : allowed / 2);
}

static bool shares_are_due(const struct watch *w, const struct member *m)
{
    return m->has_tracks && m->rollup_error == 0 && w->last_tick > m->next_rollup + 1;
}

bool member_awaits_shares(const struct watch *w, const struct member *m)
{
    return shares_are_due(w, m) && isnan(m->rollup_seconds);
}

double member_shares_age(const struct watch *w, const struct member *m)
{
    double age = w->last_tick - m->rollup_seconds;
    return shares_are_due(w, m) && age > STILL_MOST ? age : (double) NAN;
}

static void read_rollup(struct watch *w, struct member *m, double seconds)
{
    double begin = monotonic(), cpu = watch_cpu_seconds();
    struct proc_stat before = {.faults = m->faults_at_rollup};
    if (m->forked)
        (void) proc_read_stat(m->proc, &before);
    m->rollup_error = proc_read_rollup(m->proc, &m->rollup);
    double took = monotonic() - begin;
    cpu = watch_cpu_seconds() - cpu;
    w->stall_seconds += took;
    w->rollup_cpu += cpu;
    w->next_round = w->inside ? seconds + took / OWN_TIME_SHARE : 0;
    m->rollup_rest = rollup_spacing(w, m, seconds, took, cpu);
    /* Those that came at the same time are spread over the round. */
    bool first = isnan(m->rollup_seconds);
    m->next_rollup = seconds + (first ? 0.5 + 0.5 * (m->id.pid % 16) / 16 : 1) * m->rollup_rest;
    if (m->rollup_error < 0)
        return;
    m->rollup_seconds = seconds;
    m->anon_at_rollup = m->now.anon;
    m->mapped_at_rollup = m->now.file + m->now.shmem;
    if (isnan(m->pss_first))
        m->pss_first = m->rollup.pss;
    if (m->forked)
        see_what_was_left_to_it(m, &before);
    push_shares(w, m, seconds);
}

double member_pss(const struct member *m)
{
    return isnan(m->rollup.pss) ? NAN : m->rollup.pss + (m->now.anon - m->anon_at_rollup);
}

/* Anonymous memory, resident or swapped out. */
static double held(const struct member *m)
{
    return m->now.anon + (m->now.swap > 0 ? m->now.swap : 0);
}

/* ---- what is read when ---- */

/* Until what has stood still since then is worth another look. */
static double rest_of(double since, double seconds)
{
    return fmin((seconds - since) / STILL_SHARE, STILL_MOST);
}

/*
 * The sizes that tell whether to look say nothing of descriptors, threads and swap. Those are read
 * for themselves: at every tick once they move, the more rarely the longer they stand still.
 */
static void plan_counts(struct member *m, double seconds, bool changed)
{
    if (changed)
        m->counts_seconds = seconds;
    bool moves = m->tracks[MEMBER_FDS].moves || m->tracks[MEMBER_THREADS].moves;
    m->next_counts = seconds + (moves ? 0 : rest_of(m->counts_seconds, seconds));
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void read_counts(struct watch *w, struct member *m, double seconds,
                        const struct proc_status *before)
{
    double fds;
    if (proc_read_fds(m->proc, &fds) < 0)
        fds = NAN;
    bool changed = !same(fds, m->fds) || !same(before->threads, m->now.threads) ||
                   !same(before->swap, m->now.swap);
    m->fds = fds;
    push(w, m, MEMBER_FDS, seconds, fds);
    plan_counts(m, seconds, changed);
}

/* What it holds between two samples; a peak in a phase may make it move. */
static void see_anon(struct watch *w, struct member *m)
{
    struct track *t = &m->tracks[MEMBER_ANON];
    phases_see(w, t, held(m));
    m->moves = m->moves || t->moves;
}

static void push_status(struct watch *w, struct member *m, double seconds)
{
    const struct proc_status *s = &m->now;
    /* Told from inside it is of the same place in every step: better than any moment of ours. */
    if (!(seconds - m->anon_told < TOLD_SECONDS))
        push(w, m, MEMBER_ANON, seconds, held(m));
    else
        see_anon(w, m);
    push(w, m, MEMBER_SHMEM, seconds, fmax(0, s->shmem - m->own_shared));
    push(w, m, MEMBER_FILE, seconds, s->file);
    push(w, m, MEMBER_THREADS, seconds, s->threads);
    if (s->swap > 0 || m->tracks[MEMBER_SWAP].samples > 0)
        push(w, m, MEMBER_SWAP, seconds, s->swap);
    push(w, m, MEMBER_RSS, seconds, s->rss);
    push(w, m, MEMBER_VSIZE, seconds, s->vsize);
    push(w, m, MEMBER_PEAK, seconds, s->peak);
}

/* Nothing has changed: only engines are told so, lest they take it for a gap, and phases. */
static void push_same(struct watch *w, struct member *m, double seconds)
{
    static const enum member_kind kinds[] = {MEMBER_ANON, MEMBER_SHMEM, MEMBER_FILE};
    for (unsigned i = 0; m->moves && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct track *t = &m->tracks[kinds[i]];
        bool is_anon = kinds[i] == MEMBER_ANON, is_told = seconds - m->anon_told < TOLD_SECONDS;
        if (t->moves && !(is_anon && is_told))
            watch_push(w, t, seconds, is_anon ? held(m) : t->last);
    }
    if (w->phases.count > 0)
        see_anon(w, m);
}

/* -ESRCH: it has ended. */
static int look_at(struct watch *w, struct member *m, double seconds)
{
    struct proc_status before = m->now;
    int r = proc_read_status(m->proc, &m->now);
    if (r < 0)
        return r;
    m->is_seen_aside = false;
    if (isnan(m->inherited)) {
        const struct member *parent = member_find(w, m->parent);
        m->inherited = fmin(m->now.anon, parent ? parent->now.anon : m->now.anon);
    }
    if (!m->has_tracks && (m->is_root || seconds - m->joined >= grace_of(m, seconds)))
        member_start_tracks(w, m);
    if (!m->has_tracks)
        return 0;
    push_status(w, m, seconds);
    if (seconds >= m->next_counts)
        read_counts(w, m, seconds, &before);
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
static bool shares_have_changed(struct watch *w, struct member *m, double seconds)
{
    struct proc_stat stat;
    if (proc_read_stat(m->proc, &stat) < 0)
        return true;
    if (stat.faults != m->faults)
        m->changed_seconds = seconds;
    m->faults = stat.faults;
    if (isnan(m->rollup_seconds) || w->came_or_left >= m->rollup_seconds)
        return true;
    bool is_alone = m->rollup.pss_anon >= OWN_SHARE * m->anon_at_rollup, changed = false;
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *other = w->members[i];
        if (!member_is_alive(other) || !are_kin(m, other))
            continue;
        is_alone = is_alone && other == m;
        changed = changed || other->changed_seconds > m->rollup_seconds;
    }
    double mapped = m->now.file + m->now.shmem - m->mapped_at_rollup;
    return is_alone ? fabs(mapped) > MAPPED_BYTES : changed;
}

/* While a census is made of a process, its pages are shared with the child that makes it. */
#define CENSUS_SECONDS 0.2

static void look_at_shares(struct watch *w, struct member *m, double seconds)
{
    if (rings_have_copy(w, m)) {
        m->next_rollup = seconds + CENSUS_SECONDS;
    } else if (!can_afford_rollup(w, m, seconds)) {
        return;
    } else if (shares_have_changed(w, m, seconds)) {
        read_rollup(w, m, seconds);
    } else {
        push_shares(w, m, seconds);
        m->next_rollup = seconds + fmax(m->rollup_rest, rest_of(m->rollup_seconds, seconds));
    }
}

/* What trains is read at every tick: it may have had a peak, and be where it was again. */
static void tick(struct watch *w, struct member *m, double seconds)
{
    int changed = proc_has_changed(m->proc);
    if (changed > 0 || m->is_seen_aside)
        m->changed_seconds = seconds;
    bool looks = changed > 0 || m->is_seen_aside || !m->has_tracks || member_is_trainer(m) ||
                 seconds >= m->next_counts;
    if (changed < 0 || (looks && look_at(w, m, seconds) < 0)) {
        w->wants_scan = true;
        return;
    }
    m->seen_seconds = seconds;
    if (!looks)
        push_same(w, m, seconds);
    climb_push(&m->climb, seconds, held(m));
    if (seconds >= fmax(m->next_rollup, w->next_round) &&
        (m->rollup_error == 0 || m->rollup_error == -EAGAIN))
        look_at_shares(w, m, seconds);
}

/*
 * What it adds to the job's memory. A forked process begins with its parent's pages: they are there
 * once, so only what came since counts. That a page of them becomes private is no growth either.
 */
double member_own_anon(const struct member *m)
{
    return m->forked ? fmax(0, held(m) - m->inherited) : held(m);
}

void members_look(struct watch *w)
{
    double anon = 0;
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (!member_is_alive(m))
            continue;
        int changed = proc_has_changed(m->proc);
        if (changed > 0 && proc_read_status(m->proc, &m->now) == 0)
            m->is_seen_aside = true;
        else if (changed < 0)
            w->wants_scan = true;
        if (m->has_tracks)
            see_anon(w, m);
        anon += isnan(m->now.anon) ? 0 : member_own_anon(m);
    }
    phases_see(w, &w->job[JOB_ANON], anon);
}

void members_tick(struct watch *w, double seconds)
{
    double anon = 0, pss = 0;
    bool whole = w->alive > 0;
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (!member_is_alive(m))
            continue;
        tick(w, m, seconds);
        anon += isnan(m->now.anon) ? 0 : member_own_anon(m);
        double share = member_pss(m);
        whole = whole && (!isnan(share) || !m->has_tracks);
        pss += isnan(share) ? 0 : share;
    }
    if (w->alive == 0)
        return;
    watch_push(w, &w->job[JOB_ANON], seconds, anon);
    watch_push(w, &w->job[JOB_PROCESSES], seconds, (double) w->alive);
    if (whole)
        watch_push(w, &w->job[JOB_PSS], seconds, pss);
}

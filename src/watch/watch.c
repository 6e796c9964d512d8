/* watch/watch.c: what is done when: samples, marks of the clock, news. */
#include "watch/session.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Ticks and scans may cost so large a share of one core. */
#define TICK_SHARE 0.002
#define SCAN_SHARE 0.001

/* And so large a one while a run may be over soon. */
#define EARLY_SHARE 0.05
#define EARLY_SECONDS 5.0

/* Scans are left out while nobody came or left, but for one after so long. */
#define FULL_SCAN_SECONDS 60.0

/* What surrounds the job is looked at this often; every second where the job's memory has changed
 * by such a share since, or where there is little left. */
#define REVIEW_MOST 5.0
#define REVIEW_CHANGE 0.01

/* Seconds after which a value that does not change is recorded again: a share of the run. */
#define SAME_LEAST 0.05
#define SAME_SHARE 16.0
#define SAME_MOST 10.0
#define SAME_MOST_STILL 60.0 /* for one that never moved */

/* A value that changed is in the run file a second later; while none does, steps and repetitions
 * wait for so many seconds. */
#define COMMIT_SECONDS 1.0
#define COMMIT_CALM_SECONDS 5.0

/* Used up to this share of the limit, a warning comes; below the second it may come again. */
#define NEAR_LIMIT 0.9
#define NEAR_LIMIT_OVER 0.8

/* A negligible leak is looked at again after this share of the run, and this many seconds at most:
 * it costs a whole answer, and may have come to matter. */
#define LOOK_AGAIN_SHARE 0.05
#define LOOK_AGAIN_MOST 60.0

/* ---- series ---- */

/*
 * A value that stays the same is written now and then only; before it changes, how long it had
 * stayed.
 */
static void record(struct watch *w, struct track *t, double seconds, double value)
{
    bool same = value == t->written;
    double most = t->moves ? SAME_MOST : SAME_MOST_STILL;
    double rest = fmin(fmax(SAME_LEAST, seconds / SAME_SHARE), most);
    if (same && seconds - t->written_seconds < rest)
        return;
    if (!same && t->last_seconds > t->written_seconds)
        store_add_sample(w->options.store, t->stored, t->last_seconds, t->last);
    store_add_sample(w->options.store, t->stored, seconds, value);
    w->unsaved = w->unsaved || !same;
    t->written = value;
    t->written_seconds = seconds;
}

void watch_push(struct watch *w, struct track *t, double seconds, double value)
{
    if (t->stored > 0 && isfinite(value))
        record(w, t, seconds, value);
    track_push(t, &w->terms, seconds, value);
    phases_see(w, t, value);
}

void watch_each_track(struct watch *w, void (*visit)(struct watch *w, struct track *t, void *c),
                      void *c)
{
    for (unsigned i = 0; i < JOB_KINDS; i++)
        visit(w, &w->job[i], c);
    for (size_t i = 0; i < w->device_count; i++)
        visit(w, &w->devices[i], c);
    for (size_t i = 0; i < w->member_count; i++)
        member_each_track(w, w->members[i], visit, c);
}

static void visit_moving(struct watch *w, struct track *tracks, size_t count,
                         void (*visit)(struct watch *w, struct track *t, void *c), void *c)
{
    for (size_t i = 0; i < count; i++)
        if (tracks[i].moves)
            visit(w, &tracks[i], c);
}

void watch_each_moving_track(struct watch *w, bool of_ended,
                             void (*visit)(struct watch *w, struct track *t, void *c), void *c)
{
    visit_moving(w, w->job, JOB_KINDS, visit, c);
    visit_moving(w, w->devices, w->device_count, visit, c);
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (!m->moves || (!of_ended && !member_is_alive(m)))
            continue;
        visit_moving(w, m->tracks, m->has_tracks ? MEMBER_KINDS : 0, visit, c);
        visit_moving(w, m->gpu, m->gpu_count, visit, c);
        visit_moving(w, m->told, m->told_count, visit, c);
    }
}

void member_each_track(struct watch *w, struct member *m,
                       void (*visit)(struct watch *w, struct track *t, void *c), void *c)
{
    for (unsigned k = 0; m->has_tracks && k < MEMBER_KINDS; k++)
        visit(w, &m->tracks[k], c);
    for (size_t k = 0; k < m->gpu_count; k++)
        visit(w, &m->gpu[k], c);
    for (size_t k = 0; k < m->told_count; k++)
        visit(w, &m->told[k], c);
}

/* ---- beginning and end ---- */

void watch_init_job(struct watch *w)
{
    static const struct {
        const char *kind;
        enum series_unit unit;
        enum track_use use;
    } kinds[JOB_KINDS] = {
        [JOB_ANON] = {"host.anon", SERIES_BYTES, TRACK_JUDGED},
        [JOB_PSS] = {"host.pss", SERIES_BYTES, TRACK_SHOWN},
        [JOB_PROCESSES] = {"processes", SERIES_COUNT, TRACK_JUDGED},
        [JOB_SHM] = {"host.shmem", SERIES_BYTES, TRACK_JUDGED},
        [JOB_CGROUP] = {"cgroup.used", SERIES_BYTES, TRACK_SHOWN},
        [JOB_SYSTEM] = {"system.used", SERIES_BYTES, TRACK_SHOWN},
    };
    for (unsigned i = 0; i < JOB_KINDS; i++) {
        struct track *t = &w->job[i];
        track_init(t, kinds[i].kind, kinds[i].unit, kinds[i].use);
        if (i == JOB_SHM)
            t->device = strdup("/dev/shm");
        struct store_series s = {.kind = t->kind, .unit = t->unit, .device = t->device};
        if (w->options.store)
            t->stored = store_add_series(w->options.store, &s);
    }
}

int watch_new(const struct watch_options *options, struct watch **ret)
{
    struct watch *w = calloc(1, sizeof(*w));
    if (!w)
        base_out_of_memory();
    w->options = *options;
    w->ended = NAN;
    clock_init(&w->clock);
    steps_init(&w->steps);
    phases_init(&w->phases);
    w->terms = (struct track_terms){
        .clock = &w->clock,
        .horizon = options->horizon,
        .epoch = options->epoch,
        .plan_steps = options->plan_steps,
        .plan_seconds = options->plan_seconds,
        .series = 1,
        .activities = w->phases.names,
    };
    struct proc_tree_hooks hooks = {w, members_joined, members_left};
    int r = proc_tree_new(options->proc_root, &hooks, &w->tree);
    if (r == 0 && options->hears_forks)
        (void) proc_tree_hear_forks(w->tree);
    char error[160];
    if (r == 0)
        r = progress_new(options->step_regex, error, &w->progress);
    if (r < 0) {
        watch_free(w);
        return r;
    }
    watch_init_job(w);
    rings_open(w);
    machine_open(w);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    w->started = (double) wall.tv_sec + 1e-9 * (double) wall.tv_nsec;
    w->last_scan = -INFINITY;
    w->next_survey = 2;
    *ret = w;
    return 0;
}

struct watch *watch_free(struct watch *w)
{
    if (!w)
        return NULL;
    for (size_t i = 0; i < w->member_count; i++)
        member_free(w->members[i]);
    free(w->members);
    for (unsigned i = 0; i < JOB_KINDS; i++)
        track_release(&w->job[i]);
    machine_release(w);
    rings_release(w);
    entries_release(w);
    phases_release(&w->phases);
    proc_tree_free(w->tree);
    progress_free(w->progress);
    sheet_release(&w->sheet);
    watch_release_info(&w->status_series);
    buf_release(&w->elsewhere);
    for (unsigned i = 0; i < sizeof(w->news_texts) / sizeof(w->news_texts[0]); i++)
        buf_release(&w->news_texts[i]);
    free(w);
    return NULL;
}

int watch_add_root(struct watch *w, pid_t pid, bool children_only)
{
    w->joined_late = !children_only;
    /* The watcher is no part of the job, except where the job watches itself. */
    w->inside = pid == getpid();
    if (!w->inside)
        proc_tree_exclude(w->tree, getpid());
    proc_tree_exclude_name(w->tree, WIRE_CENSUS_PROCESS);
    return proc_tree_add_root(w->tree, pid, children_only);
}

void watch_census_by(struct watch *w, pid_t pid)
{
    proc_tree_exclude_one(w->tree, pid);
}

/* A new limit is recorded at once, one that wanders when it has gone so far. */
#define RECORDED_CHANGE 0.05

static void record_track(struct watch *w, struct track *t, void *finally)
{
    double moved = fabs(t->limit - t->stored_limit);
    bool changed = finally ? moved > 0 : moved > RECORDED_CHANGE * t->stored_limit;
    if (t->stored == 0 || (!changed && track_reading(t) == t->stored_reading))
        return;
    store_update_series(w->options.store, t->stored, t->limit, track_reading(t));
    t->stored_limit = t->limit;
    t->stored_reading = track_reading(t);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* What the run file is judged by when it is read again; the whole truth with `finally`. */
static void record_terms(struct watch *w, bool finally)
{
    const struct recorded_terms now = {w->limit, w->clock.total, w->clock.epoch_length};
    const struct recorded_terms *then = &w->recorded;
    if (!same(now.limit, then->limit) || !same(now.total, then->total) ||
        !same(now.epoch_length, then->epoch_length))
        store_set_terms(w->options.store, now.limit, w->limit_source,
                        w->options.plan_steps > 0 ? (double) NAN : now.total,
                        w->options.epoch > 0 ? (double) NAN : now.epoch_length);
    w->recorded = now;
    watch_each_track(w, record_track, finally ? w : NULL);
}

static void finish_track(struct watch *w, struct track *t, void *c)
{
    (void) c;
    if (t->stored > 0 && t->last_seconds > t->written_seconds)
        store_add_sample(w->options.store, t->stored, t->last_seconds, t->last);
    track_mark(t, &w->terms);
    track_finish(t);
}

static void store_evidence(struct watch *w)
{
    for (size_t i = 0; i < w->member_count; i++)
        found_store(w, w->members[i]);
}

void watch_finish(struct watch *w, double seconds, const struct watch_end *end)
{
    w->ended = w->last_tick = seconds;
    w->end = *end;
    rings_find(w, seconds);
    proc_tree_scan(w->tree);
    w->rings.next_objects = 0;
    rings_read(w, seconds);
    machine_tick(w, seconds);
    machine_attribute_gpu(w);
    machine_look_elsewhere(w, seconds);
    for (size_t i = 0; i < w->member_count; i++)
        member_catch_up(w, w->members[i]);
    watch_each_track(w, finish_track, NULL);
    watch_settle(w);
    if (w->options.store) {
        store_evidence(w);
        record_terms(w, true);
    }
}

/* ---- the step clock ---- */

/* The first seconds of training may be all there are. */
static bool is_early(const struct watch *w, double seconds)
{
    const struct clock_mark *first = clock_first(&w->clock);
    return first && seconds - first->seconds < EARLY_SECONDS;
}

static double tick_share(const struct watch *w, double seconds)
{
    return is_early(w, seconds) ? EARLY_SHARE : TICK_SHARE;
}

/*
 * The moment a step is over is the best one to look. At first every millisecond if steps are that
 * fast, since the whole run may be short; the longer it lasts the more rarely.
 */
static double mark_spacing(const struct watch *w, double seconds)
{
    const struct clock_mark *first = clock_first(&w->clock);
    double since = first ? seconds - first->seconds : 0;
    return fmin(fmax(fmax(0.001, since / 1000), w->tick_cost / tick_share(w, seconds)), 1);
}

bool watch_feed_output(struct watch *w, double seconds, const char *bytes, size_t len)
{
    struct progress_mark mark;
    if (!progress_feed(w->progress, bytes, len, &mark))
        return false;
    if (w->steps.source != WIRE_NOBODY) {
        /* What it prints may count other things: micro-batches, samples. */
        if (isnan(w->steps.leader ? w->steps.leader->plan : NAN) && steps_agree(w, mark.step))
            w->clock.total = mark.total;
        return false;
    }
    w->clock.epoch_length = mark.epoch_length;
    w->clock.total = mark.total;
    w->steps.printed = mark.made;
    w->steps.prints_each = mark.is_each;
    steps_mark(w, &(struct step_mark){.seconds = fmax(seconds, w->clock.now.seconds),
                                      .step = mark.step,
                                      .epoch = mark.epoch,
                                      .restarted = mark.restarted,
                                      .epoch_ended = mark.epoch > w->clock.epoch});
    if (w->options.interval == 0)
        w->next_tick = fmin(w->next_tick, w->last_tick + mark_spacing(w, seconds));
    return true;
}

void watch_signal(struct watch *w, int number)
{
    proc_tree_scan(w->tree);
    for (size_t i = 0; i < w->member_count; i++)
        if (member_is_alive(w->members[i]))
            kill(w->members[i]->id.pid, number);
}

size_t watch_alive(const struct watch *w)
{
    return w->alive;
}

int watch_unread(const struct watch *w)
{
    return w->unread < 0 ? w->unread : proc_tree_unread(w->tree);
}

/* ---- news ---- */

void watch_add_news(struct watch *w, enum watch_news_kind kind, size_t series, const char *format,
                    ...)
{
    if (w->news_count == sizeof(w->news) / sizeof(w->news[0]))
        return;
    struct buf *text = &w->news_texts[w->news_count];
    va_list args;
    buf_clear(text);
    va_start(args, format);
    buf_vaddf(text, format, args);
    va_end(args);
    w->news[w->news_count++] = (struct watch_news){kind, series, buf_text(text)};
}

struct watch_news watch_next_news(struct watch *w)
{
    if (w->news_count == 0)
        return (struct watch_news){.kind = NEWS_END};
    w->unsaved = true; /* the caller will note it in the run file */
    struct watch_news first = w->news[0];
    struct buf text = w->news_texts[0];
    w->news_count--;
    memmove(&w->news[0], &w->news[1], w->news_count * sizeof(w->news[0]));
    memmove(&w->news_texts[0], &w->news_texts[1], w->news_count * sizeof(w->news_texts[0]));
    w->news_texts[w->news_count] = text;
    return first;
}

/* Of one that has ended nothing more will be told. */
static bool any_alive(const struct watch *w, bool (*has)(const struct member *m))
{
    for (size_t i = 0; i < w->member_count; i++)
        if (member_is_alive(w->members[i]) && has(w->members[i]))
            return true;
    return false;
}

/* A track and the number it has among all. */
struct numbered {
    const struct track *wanted;
    size_t passed, number;
};

static void number_track(struct watch *w, struct track *t, void *c)
{
    (void) w;
    struct numbered *n = c;
    if (t == n->wanted)
        n->number = n->passed;
    n->passed++;
}

/* The member whose heap this is; NULL: it is another counter. */
static struct member *member_of_heap(const struct watch *w, const struct track *t)
{
    if (strcmp(t->kind, HEAP_USED) != 0)
        return NULL;
    for (size_t i = 0; i < w->member_count; i++)
        if (w->members[i]->has_tracks && member_told(w->members[i], HEAP_USED) == t)
            return w->members[i];
    return NULL;
}

/* The member whose tensors this counts; NULL: it is another counter. */
static const struct member *member_of_tensors(const struct watch *w, const struct track *t)
{
    for (size_t i = 0; i < w->member_count && strcmp(t->kind, "py.tensors") == 0; i++)
        if (t >= w->members[i]->told && t < w->members[i]->told + w->members[i]->told_count)
            return w->members[i];
    return NULL;
}

/* In the process or on a device: what its tensors take. */
static bool memory_is_told_soon(const struct member *m)
{
    bool soon = track_is_told_soon(&m->tracks[MEMBER_ANON]);
    for (size_t i = 0; i < m->told_count; i++)
        soon = soon ||
               (strcmp(m->told[i].kind, "torch.allocated") == 0 && track_is_told_soon(&m->told[i]));
    return soon;
}

/* The sum is announced only where none of its parts is on the way to be, and a heap or a number of
 * tensors where the memory itself is not. Negligible parts do not speak for a sum that may be more.
 */
static bool is_told_by_another(const struct watch *w, const struct track *t)
{
    const struct member *m = member_of_heap(w, t), *counts = member_of_tensors(w, t);
    if (m)
        return track_is_told_soon(&m->tracks[MEMBER_ANON]);
    if (counts)
        return memory_is_told_soon(counts);
    return t == &w->job[JOB_ANON] && any_alive(w, member_is_told_soon);
}

/* That it is negligible is known. */
static bool is_told_quietly(const struct watch *w, const struct track *t)
{
    const struct member *m = member_of_heap(w, t);
    if (t->quiet || (m && m->tracks[MEMBER_ANON].quiet))
        return true;
    return t == &w->job[JOB_ANON] && any_alive(w, member_is_told_quietly);
}

static bool is_to_be_told(const struct watch *w, const struct track *t)
{
    return (!t->alarmed || t->quiet) && track_leaks(t) && !is_told_by_another(w, t);
}

/* An alarm stays set for a while after the growth has stopped: who looks late finds that. */
static enum severity severity_by_now(struct watch *w, struct track *t)
{
    struct answer a;
    const struct history *history;
    track_answer(t, &w->terms, &a, &history);
    return a.severity;
}

/* The process's memory and its heap: a leak of one is a leak of the other. NULL: it has none. */
static struct track *partner_of(const struct watch *w, const struct track *t)
{
    struct member *m = member_of_heap(w, t);
    if (m)
        return &m->tracks[MEMBER_ANON];
    for (size_t i = 0; i < w->member_count; i++)
        if (w->members[i]->has_tracks && t == &w->members[i]->tracks[MEMBER_ANON])
            return member_heap(w->members[i]);
    return NULL;
}

static void note_told(struct watch *w, struct track *t, bool quiet)
{
    struct track *partner = partner_of(w, t);
    t->alarmed = true;
    t->quiet = quiet;
    if (partner) {
        partner->alarmed = true;
        partner->quiet = quiet;
    }
    w->leak_told = w->leak_told || !quiet;
}

static void look_for_leak(struct watch *w, struct track *t, void *c)
{
    double seconds = *(const double *) c;
    if ((t->quiet && seconds < t->next_look) || !is_to_be_told(w, t))
        return;
    t->next_look = seconds + fmin(fmax(1, LOOK_AGAIN_SHARE * seconds), LOOK_AGAIN_MOST);
    enum severity severity = severity_by_now(w, t);
    if (severity == SEVERITY_NONE)
        return;
    watch_settle_growth(w); /* by what has been read since it last was */
    if (!is_to_be_told(w, t))
        return;
    bool quiet = severity == SEVERITY_NEGLIGIBLE, is_news = !quiet || !is_told_quietly(w, t);
    note_told(w, t, quiet);
    if (!is_news)
        return;
    struct numbered n = {.wanted = t};
    watch_each_track(w, number_track, &n);
    watch_add_news(w, NEWS_LEAK, n.number, "%s", t->kind);
}

/* It does not leak after all; another leak of it will be announced anew. */
static void withdraw(struct watch *w, struct track *t, struct track *partner)
{
    t->alarmed = t->quiet = false;
    if (partner)
        partner->alarmed = partner->quiet = false;
    struct numbered n = {.wanted = t};
    watch_each_track(w, number_track, &n);
    watch_add_news(w, NEWS_WITHDRAWN, n.number, "%s", t->kind);
}

static bool is_acquitted(struct watch *w, struct track *t)
{
    struct answer a;
    const struct history *history;
    track_answer(t, &w->terms, &a, &history);
    return a.verdict == VERDICT_NO_LEAK;
}

/* While it is open whether it leaks, what was announced stands; and it is not withdrawn of a heap,
 * which nobody may have been shown. */
static void look_for_withdrawal(struct watch *w, struct track *t, void *c)
{
    double seconds = *(const double *) c;
    struct track *partner = partner_of(w, t);
    if (!t->alarmed || track_leaks(t) || seconds < t->next_look || member_of_heap(w, t) ||
        (partner && track_grows(partner)))
        return;
    t->next_look = seconds + fmin(fmax(1, LOOK_AGAIN_SHARE * seconds), LOOK_AGAIN_MOST);
    if (is_acquitted(w, t))
        withdraw(w, t, partner);
}

void watch_look_for_alarms(struct watch *w, double seconds)
{
    watch_each_moving_track(w, true, look_for_leak, &seconds);
    watch_each_moving_track(w, true, look_for_withdrawal, &seconds);
}

static void check_limit(struct watch *w)
{
    double used = machine_used(w), share = used / w->limit;
    if (share < NEAR_LIMIT_OVER)
        w->near_limit_told = false;
    if (!(share >= NEAR_LIMIT) || w->near_limit_told)
        return;
    w->near_limit_told = true;
    struct buf text = BUF_INIT;
    units_add_bytes(&text, used);
    buf_adds(&text, " of ");
    units_add_bytes(&text, w->limit);
    buf_addf(&text, " (%s) are in use, %.0f %%", w->limit_source, 100 * share);
    watch_add_news(w, NEWS_NEAR_LIMIT, 0, "%s", buf_text(&text));
    buf_release(&text);
}

/* ---- what is due ---- */

static void count_engine(struct watch *w, struct track *t, void *c)
{
    (void) c;
    w->terms.series += track_is_judged(t);
}

/* What a host series may take: what it has, and what nobody has. */
static void renew_terms(struct watch *w, struct track *t, void *c)
{
    double used = *(const double *) c;
    if (watch_shares_limit(w, t) && isfinite(used))
        t->limit = fmax(0, t->last + w->limit - used);
    track_renew_terms(t, &w->terms);
}

/* Whether what costs more than a tick is worth a look every second. */
static bool is_restless(const struct watch *w)
{
    double moved = fabs(w->job[JOB_ANON].last - w->anon_at_review);
    return moved > REVIEW_CHANGE * w->anon_at_review ||
           machine_used(w) > NEAR_LIMIT_OVER * w->limit;
}

static double least_review(const struct watch *w, double seconds)
{
    return fmax(fmin(1, fmax(0.25, seconds / 20)), fmin(w->options.interval, 5));
}

/* What costs more than a tick, and changes slowly. */
static void review(struct watch *w, double seconds)
{
    machine_tick(w, seconds);
    machine_attribute_gpu(w);
    w->terms.series = 0;
    watch_each_moving_track(w, true, count_engine, NULL);
    double used = machine_used(w);
    watch_each_moving_track(w, true, renew_terms, &used);
    check_limit(w);
    workers_review(w);
    sheet_take(w, seconds);
    if (w->options.store)
        record_terms(w, false);
    w->anon_at_review = w->job[JOB_ANON].last;
    w->next_review = seconds + fmax(least_review(w, seconds), fmin(seconds / 4, REVIEW_MOST));
}

static void look_around(struct watch *w, double seconds)
{
    if (seconds >= w->next_review || (seconds >= w->next_restless && is_restless(w)))
        review(w, seconds);
    else if (seconds >= w->next_restless && w->job[JOB_SHM].moves)
        shared_tick(w, seconds, false);
    else
        return;
    w->next_restless = seconds + least_review(w, seconds);
}

static void commit(struct watch *w, double seconds)
{
    w->next_commit = seconds + COMMIT_SECONDS;
    if (!w->options.store || (!w->unsaved && seconds - w->last_commit < COMMIT_CALM_SECONDS))
        return;
    w->unsaved = false;
    w->last_commit = seconds;
    store_evidence(w);
    int r = store_commit(w->options.store, seconds);
    if (r < 0 && w->store_error == 0)
        watch_add_news(w, NEWS_STORE, 0, "the run file cannot be written (%s): watching goes on",
                       strerror(-r));
    else if (r == 0 && w->store_error < 0)
        watch_add_news(w, NEWS_STORE, 0, "the run file is written again, with a gap");
    w->store_error = r;
}

double watch_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* 20 ms at first, stretching to a second, and less in the first seconds of training; never more of
 * a core than TICK_SHARE. */
static double tick_interval(const struct watch *w, double seconds)
{
    if (w->options.interval > 0)
        return w->options.interval;
    const struct clock_mark *first = clock_first(&w->clock);
    double wanted = fmin(fmax(0.02, seconds / 500), 1);
    if (first)
        wanted = fmin(wanted, fmax(0.005, (seconds - first->seconds) / 250));
    return fmax(wanted, fmin(w->tick_cost / tick_share(w, seconds), 5));
}

static void tick(struct watch *w, double seconds)
{
    double before = watch_cpu_seconds();
    w->last_tick = seconds;
    w->rollup_cpu = 0;
    members_tick(w, seconds);
    if (w->alive > w->most_processes)
        w->most_processes = (unsigned) w->alive;
    w->job[JOB_ANON].parts = fmax(1, w->most_processes);
    /* Shares are read at a pace of their own. */
    double cost = watch_cpu_seconds() - before - w->rollup_cpu;
    w->tick_cost = w->tick_cost == 0 ? cost : 0.8 * w->tick_cost + 0.2 * cost;
    w->next_tick = seconds + tick_interval(w, seconds);
}

static bool scan_is_needed(struct watch *w, double seconds)
{
    return w->wants_scan || seconds - w->last_scan >= FULL_SCAN_SECONDS ||
           proc_tree_has_grown(w->tree);
}

static void scan(struct watch *w, double seconds)
{
    double share = seconds < EARLY_SECONDS ? EARLY_SHARE : SCAN_SHARE;
    double allowed = w->last_scan + fmin(w->scan_cost / share, 5);
    if (seconds < allowed) {
        w->next_scan = allowed;
        return;
    }
    w->next_scan = seconds + fmax(fmin(fmax(0.05, seconds / 50), 1), fmin(w->options.interval, 5));
    if (!scan_is_needed(w, seconds))
        return;
    double before = watch_cpu_seconds();
    w->last_tick = w->last_scan = seconds;
    w->wants_scan = false;
    proc_tree_scan(w->tree);
    w->scan_cost = watch_cpu_seconds() - before;
}

/* Ticks, what the rings hold and phases are worth waking up for; the rest has a second's time. */
static double next_call(const struct watch *w, double seconds)
{
    double rest = fmin(w->next_scan, w->next_review);
    if (w->gpu)
        rest = fmin(rest, w->next_gpu);
    double next = fmin(fmin(w->next_tick, w->rings.next), w->phases.next);
    return fmin(next, fmax(rest, seconds + 1));
}

/* As often as it is cheap, and at both ends of a phase. */
static void look_at_gpu(struct watch *w, double seconds)
{
    bool is_due = seconds >= w->next_gpu;
    if (!is_due && !(w->phases.changed && phases_may_look(w, seconds)))
        return;
    double before = watch_cpu_seconds();
    machine_read_gpu(w, seconds);
    double cost = watch_cpu_seconds() - before;
    w->phases.changed = false;
    w->phases.spent += is_due ? 0 : cost;
    bool hurries = is_early(w, seconds) && !w->inside;
    double wanted = hurries ? 0.01 : fmin(fmax(0.1, seconds / 500), 1);
    w->next_gpu = seconds + fmax(wanted, cost / (hurries ? EARLY_SHARE : TICK_SHARE));
}

static double do_what_is_due(struct watch *w, double seconds)
{
    rings_find(w, seconds);
    if (seconds >= w->next_scan || w->wants_scan)
        scan(w, seconds);
    rings_read(w, seconds);
    if (seconds >= w->next_roles) {
        members_judge_roles(w, seconds);
        w->next_roles = seconds + fmin(fmax(0.5, seconds / 2), 60);
    }
    bool ticks = seconds >= w->next_tick;
    if (ticks)
        tick(w, seconds);
    if (w->wants_scan)
        scan(w, seconds);
    phases_look(w, seconds);
    findings_review(w);
    if (w->gpu)
        look_at_gpu(w, seconds);
    look_around(w, seconds);
    if (seconds >= w->next_survey)
        machine_look_elsewhere(w, seconds);
    if (ticks || w->rings.count > 0)
        watch_look_for_alarms(w, seconds);
    if (seconds >= w->next_commit)
        commit(w, seconds);
    return next_call(w, seconds);
}

double watch_tick(struct watch *w, double seconds)
{
    double before = watch_cpu_seconds();
    double next = do_what_is_due(w, seconds);
    w->cpu_seconds += watch_cpu_seconds() - before;
    return next;
}

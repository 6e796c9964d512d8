/* sample/recorder.c: writes what was read into the run file. */
#include "sample/sampler.h"

#include <math.h>
#include <string.h>

/* Seconds after which an unchanged value is recorded again, as a share of the run. */
#define SAME_LEAST 0.05
#define SAME_SHARE 16.0
#define SAME_MOST 10.0
#define SAME_MOST_STILL 60.0 /* for one that never moved */

#define COMMIT_CALM_SECONDS 5.0

/* A new limit is recorded at once, a drifting one after it moved by this share. */
#define RECORDED_CHANGE 0.05

/* ---- series ---- */

static void open_job_series(struct sampler *sam, struct track *t)
{
    struct store_series s = {.kind = t->kind, .unit = t->unit, .device = t->device};
    t->stored = store_add_series(sam->options.store, &s);
}

void recorder_open(struct sampler *sam)
{
    for (unsigned i = 0; sam->options.store && i < JOB_KINDS; i++)
        open_job_series(sam, &sam->job->sums[i]);
}

void recorder_open_device(struct sampler *sam, struct track *t)
{
    if (t->stored == 0 && sam->options.store)
        open_job_series(sam, t);
}

void recorder_open_series(struct sampler *sam, const struct member *m, struct track *t)
{
    if (t->stored > 0 || !sam->options.store || m->stored == 0)
        return;
    struct store_series s = {.process = m->stored,
                             .kind = t->kind,
                             .device = t->device,
                             .unit = t->unit,
                             .rule = track_reading(t)};
    t->stored = store_add_series(sam->options.store, &s);
    t->stored_reading = track_reading(t);
}

/* Writes an unchanged value only now and then. Before a change it writes how long the old value
 * lasted. */
void recorder_add(struct sampler *sam, struct track *t, double seconds, double value)
{
    bool same = value == t->written;
    double most = t->moves ? SAME_MOST : SAME_MOST_STILL;
    double rest = fmin(fmax(SAME_LEAST, seconds / SAME_SHARE), most);
    if (t->stored == 0 || (same && seconds - t->written_seconds < rest))
        return;
    if (!same && t->last_seconds > t->written_seconds)
        store_add_sample(sam->options.store, t->stored, t->last_seconds, t->last);
    store_add_sample(sam->options.store, t->stored, seconds, value);
    sam->recorder.unsaved = sam->recorder.unsaved || !same;
    t->written = value;
    t->written_seconds = seconds;
}

void recorder_add_last(struct sampler *sam, const struct track *t)
{
    if (t->stored > 0 && t->last_seconds > t->written_seconds)
        store_add_sample(sam->options.store, t->stored, t->last_seconds, t->last);
}

/* ---- processes, steps, evidence ---- */

void recorder_store_member(struct sampler *sam, struct member *m)
{
    if (!sam->options.store || !m->has_tracks)
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
        .last_seconds = member_is_alive(m) ? sam->job->now : m->ended,
        .exit_status = NAN,
    };
    sam->recorder.unsaved = true;
    if (m->stored == 0)
        m->stored = store_add_process(sam->options.store, &p);
    else
        store_update_process(sam->options.store, m->stored, &p);
}

void recorder_mark(struct sampler *sam, double seconds, double step, double epoch)
{
    if (sam->options.store)
        store_add_mark(sam->options.store, seconds, step, epoch);
}

void recorder_add_activity(struct sampler *sam, double seconds, const char *text)
{
    store_add_event(sam->options.store, seconds, "phase", text);
    sam->recorder.unsaved = true;
}

void recorder_store_evidence(struct sampler *sam)
{
    for (size_t i = 0; i < sam->job->member_count; i++) {
        censuses_store(sam, sam->job->members[i]);
        traces_store(sam, sam->job->members[i]);
    }
}

/* ---- terms ---- */

/* The share by which a limit must have moved. */
struct changed {
    struct sampler *sam;
    double share;
};

static void record_track(struct job *j, struct track *t, void *context)
{
    (void) j;
    const struct changed *c = context;
    bool changed = fabs(t->limit - t->stored_limit) > c->share * t->stored_limit;
    if (t->stored == 0 || (!changed && track_reading(t) == t->stored_reading))
        return;
    store_update_series(c->sam->options.store, t->stored, t->limit, track_reading(t));
    t->stored_limit = t->limit;
    t->stored_reading = track_reading(t);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

void recorder_set_terms(struct sampler *sam, bool finally)
{
    const struct job *j = sam->job;
    struct recorded_terms now = {j->limit, j->clock.total, j->clock.epoch_length};
    const struct recorded_terms *then = &sam->recorder.terms;
    if (!sam->options.store)
        return;
    if (!same(now.limit, then->limit) || !same(now.total, then->total) ||
        !same(now.epoch_length, then->epoch_length))
        store_set_terms(sam->options.store, now.limit, j->limit_source,
                        j->terms.plan_steps > 0 ? (double) NAN : now.total,
                        j->terms.epoch > 0 ? (double) NAN : now.epoch_length);
    sam->recorder.terms = now;
    job_each_track(sam->job, record_track, &(struct changed){sam, finally ? 0 : RECORDED_CHANGE});
}

/* ---- commits ---- */

void recorder_note_news(struct sampler *sam)
{
    sam->recorder.unsaved = true;
}

int recorder_error(const struct sampler *sam)
{
    return sam->recorder.error;
}

static void report_error(struct job *j, int before, int now)
{
    struct buf text = BUF_INIT;
    if (now < 0 && before == 0)
        note_store_failed(&text, strerror(-now));
    else if (now == 0 && before < 0)
        note_store_works_again(&text);
    if (text.len > 0)
        job_add_news(j, NEWS_STORE, 0, "%s", buf_text(&text));
    buf_release(&text);
}

void recorder_commit(struct sampler *sam, double seconds)
{
    struct recorder *r = &sam->recorder;
    if (!sam->options.store || (!r->unsaved && seconds - r->last_commit < COMMIT_CALM_SECONDS))
        return;
    r->unsaved = false;
    r->last_commit = seconds;
    recorder_store_evidence(sam);
    int e = store_commit(sam->options.store, seconds);
    report_error(sam->job, r->error, e);
    r->error = e;
}

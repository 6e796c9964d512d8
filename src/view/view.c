/* view/view.c: what is known about the job, for a report. */
#include "view/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        base_out_of_memory();
    return result;
}

/* ---- which series, and what they are to the job ---- */

/* Whether another trainer ran twice as long and ended later: then open questions about this one
 * stay open. */
static bool was_outlived(const struct job *j, const struct member *m)
{
    if (member_is_alive(m))
        return false;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *other = j->members[i];
        double end = member_is_alive(other) ? j->now : other->ended;
        if (other != m && member_is_trainer(other) && end > m->ended &&
            end - other->joined > 2 * (m->ended - m->joined))
            return true;
    }
    return false;
}

/* Tensors that keep increasing while memory is flat are filling free heap memory, unless they
 * stop. */
static bool tensors_rise(const struct subject *s)
{
    return strcmp(s->track->kind, "py.tensors") == 0 && s->track->is_accounted &&
           track_is_wary(s->track) && evidence_tensors_grow(s->member->evidence);
}

static enum job_part part_of(const struct job *j, const struct subject *s)
{
    const char *kind = s->track->kind;
    if (s->member && was_outlived(j, s->member))
        return PART_BYSTANDER;
    if (strcmp(kind, "torch.allocated") == 0)
        return PART_MAIN;
    if (strcmp(kind, "gpu.used") == 0)
        return s->member && member_reported(s->member, "torch.allocated") ? PART_BYSTANDER
                                                                          : PART_MAIN;
    if (!s->member)
        return s->track == &j->sums[JOB_ANON] ? PART_TOTAL : PART_BYSTANDER;
    bool is_main =
        strcmp(kind, "host.anon") == 0 || strcmp(kind, HEAP_USED) == 0 || tensors_rise(s);
    return is_main && member_is_trainer(s->member) ? PART_MAIN : PART_BYSTANDER;
}

/* A device whose users are unknown counts once this much more of it is in use than at the start. */
#define DEVICE_BYTES (64.0 * 1024 * 1024)

bool view_device_is_used(const struct job *j, const struct track *t)
{
    return !j->gpu_has_pids && t->max - t->first > DEVICE_BYTES;
}

/* Device memory that torch does not know about, and that still grows. */
static bool grows_beside_torch(const struct job *j, const struct subject *s, const struct answer *a)
{
    return s->member && track_is_judged(s->track) && strcmp(s->track->kind, "gpu.used") == 0 &&
           !was_outlived(j, s->member) && a->phase_count > 0 &&
           a->phases[a->phase_count - 1].name == PHASE_GROWING &&
           a->floor_last - a->floor_first > DEVICE_BYTES;
}

/* Processes, or a trainer's descriptors or threads, that still increase at the end: flat memory
 * alone does not make that NO LEAK. */
static bool counts_rise(const struct job *j, const struct subject *s, const struct answer *a)
{
    const struct track *t = s->track;
    bool is_main = t == &j->sums[JOB_PROCESSES];
    if (s->member && member_is_trainer(s->member) && !was_outlived(j, s->member))
        is_main = t == &s->member->tracks[MEMBER_FDS] || t == &s->member->tracks[MEMBER_THREADS];
    return is_main && a->suspect && a->verdict == VERDICT_INCONCLUSIVE &&
           a->floor_last - a->floor_first >= LEAST_RISE_OF_COUNTS;
}

static enum job_part part_by_now(const struct job *j, const struct subject *s,
                                 const struct answer *a)
{
    return grows_beside_torch(j, s, a) || counts_rise(j, s, a) ? PART_MAIN : part_of(j, s);
}

/* Whether the pages that turned private existed before and were copied: the process itself grew
 * by much less, and other processes gave up few pages to it. */
static bool is_copied(const struct member *m)
{
    const struct track *private = &m->tracks[MEMBER_PRIVATE], *anon = &m->tracks[MEMBER_ANON];
    double left = m->tracks[MEMBER_LEFT].samples > 0 ? m->tracks[MEMBER_LEFT].last : 0;
    return anon->last - anon->first + left < 0.5 * (private->last - private->first);
}

/* With more processes than this, only moving ones are shown. */
#define STILL_SHOWN 64

/* Of flat series, shows only memory, but all of a trainer's. */
static bool is_worth_showing(const struct job *j, const struct subject *s)
{
    const struct track *t = s->track;
    if (track_is_silent(t) || t->samples == 0)
        return false;
    if (t->asked)
        return true;
    /* part of host.private, and reported in words */
    if (s->member && t == &s->member->tracks[MEMBER_COPIED])
        return false;
    if (!s->member && t->device && t != &j->sums[JOB_SHM])
        return view_device_is_used(j, t);
    if (!s->member) {
        bool sums_one = t == &j->sums[JOB_ANON] && j->most_processes < 2;
        return !sums_one && (t->moves || t == &j->sums[JOB_ANON]);
    }
    if (t == &s->member->tracks[MEMBER_PRIVATE] && !is_copied(s->member))
        return false;
    bool memory = t == &s->member->tracks[MEMBER_ANON] && j->member_count <= STILL_SHOWN;
    return t->moves || memory || member_has_reported(s->member, t) ||
           (member_is_trainer(s->member) && track_is_judged(t));
}

static void add_name(struct buf *out, const struct job *j, const struct subject *s)
{
    const struct track *t = s->track;
    if (s->member && s->member->role.rank >= 0)
        buf_addf(out, "rank %d (%d) %s", s->member->role.rank, (int) s->member->id.pid, t->kind);
    else if (s->member)
        buf_addf(out, "%s %d %s", proc_role_name(s->member->role.role), (int) s->member->id.pid,
                 t->kind);
    else if (t == &j->sums[JOB_SHM])
        buf_adds(out, t->device);
    else if (t == &j->sums[JOB_PROCESSES])
        buf_adds(out, "number of processes");
    else if (t->device)
        buf_addf(out, "%s of all processes", t->kind);
    else
        buf_addf(out, "whole job %s", t->kind);
    if (t->device && t != &j->sums[JOB_SHM])
        buf_addf(out, " %s", t->device);
}

void view_fill_info(const struct job *j, const struct subject *s, struct series_info *ret)
{
    const struct track *t = s->track;
    struct buf name = BUF_INIT;
    add_name(&name, j, s);
    *ret = (struct series_info){
        .name = copy(buf_text(&name)),
        .kind = copy(t->kind),
        .device = copy(t->device),
        .unit = t->unit,
        .clock = track_clock(t, &j->terms),
    };
    buf_release(&name);
    if (!s->member)
        return;
    char rank[16];
    snprintf(rank, sizeof(rank), "%d", s->member->role.rank);
    ret->pid = s->member->id.pid;
    ret->role = copy(proc_role_name(s->member->role.role));
    ret->rank = s->member->role.rank >= 0 ? copy(rank) : NULL;
    ret->command = copy(s->member->command);
    ret->start = s->member->start[0] ? copy(s->member->start) : NULL;
}

void view_release_info(struct series_info *info)
{
    fields_release(&series_info_fields, info);
}

/* Visits every track in the order of job_each_track(), with its owner. */
static void each_subject(struct job *j, void (*visit)(struct job *j, struct subject *s, void *c),
                         void *c)
{
    struct subject s = {.id = 0};
    for (unsigned i = 0; i < JOB_KINDS; i++, s.id++) {
        s.track = &j->sums[i];
        visit(j, &s, c);
    }
    for (size_t i = 0; i < j->device_count; i++, s.id++) {
        s.track = &j->devices[i];
        visit(j, &s, c);
    }
    for (size_t i = 0; i < j->member_count; i++) {
        struct member *m = j->members[i];
        s.member = m;
        for (unsigned k = 0; m->has_tracks && k < MEMBER_KINDS; k++, s.id++) {
            s.track = &m->tracks[k];
            visit(j, &s, c);
        }
        for (size_t k = 0; k < m->gpu_count; k++, s.id++) {
            s.track = &m->gpu[k];
            visit(j, &s, c);
        }
        for (size_t k = 0; k < m->reported_count; k++, s.id++) {
            s.track = &m->reported[k];
            visit(j, &s, c);
        }
    }
}

static void copy_history(const struct history *from, struct history *ret)
{
    history_init(ret);
    if (!from || from->count == 0)
        return;
    ret->blocks = malloc(from->count * sizeof(*ret->blocks));
    if (!ret->blocks)
        base_out_of_memory();
    memcpy(ret->blocks, from->blocks, from->count * sizeof(*ret->blocks));
    ret->count = ret->capacity = from->count;
    ret->width = from->width;
}

/* A view being filled, and the tracks of its series. */
struct filling {
    struct view *view;
    struct track **tracks;
    const struct member **members; /* their owners; NULL: the job itself */
};

static void add_series(struct job *j, struct subject *s, void *context)
{
    struct filling *f = context;
    struct view *v = f->view;
    if (!is_worth_showing(j, s))
        return;
    v->series = reallocarray(v->series, v->count + 1, sizeof(*v->series));
    f->tracks = reallocarray(f->tracks, v->count + 1, sizeof(struct track *));
    f->members = reallocarray(f->members, v->count + 1, sizeof(const struct member *));
    if (!v->series || !f->tracks || !f->members)
        base_out_of_memory();
    f->tracks[v->count] = s->track;
    f->members[v->count] = s->member;
    struct view_series *series = &v->series[v->count++];
    const struct history *history;
    series->id = s->id;
    track_answer(s->track, &j->terms, &series->answer, &history);
    if (j->limit > 0 && !isnan(series->answer.limit) && job_shares_limit(j, s->track))
        series->answer.limit_shared = j->limit;
    series->part = part_by_now(j, s, &series->answer);
    if (strcmp(s->track->kind, HEAP_USED) == 0 && series->answer.verdict != VERDICT_NO_LEAK)
        answer_add_reason(&series->answer, (struct reason){.kind = REASON_HEAP_USED});
    view_fill_info(j, s, &series->info);
    copy_history(history, &series->history);
}

/* Memory of processes, on the host or on one device: what one uses is missing for the others. */
static bool share_one_limit(const struct series_info *a, const struct series_info *b)
{
    const char *on = a->device ? a->device : "", *other = b->device ? b->device : "";
    return a->pid && b->pid && strcmp(a->kind, b->kind) == 0 && strcmp(on, other) == 0 &&
           (strcmp(a->kind, "host.anon") == 0 || strcmp(a->kind, "gpu.used") == 0);
}

static void share_limits(struct view *v)
{
    struct answer **group = calloc(v->count + 1, sizeof(struct answer *));
    bool *is_done = calloc(v->count + 1, sizeof(*is_done));
    if (!group || !is_done)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++) {
        size_t count = 0;
        for (size_t k = i; !is_done[i] && k < v->count; k++)
            if (share_one_limit(&v->series[i].info, &v->series[k].info)) {
                group[count++] = &v->series[k].answer;
                is_done[k] = k > i;
            }
        answers_share_limit(group, count);
    }
    free(group);
    free(is_done);
}

static void judge(struct view *v)
{
    const struct answer **answers = calloc(v->count + 1, sizeof(*answers));
    enum job_part *parts = calloc(v->count + 1, sizeof(*parts));
    if (!answers || !parts)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++) {
        answers[i] = &v->series[i].answer;
        parts[i] = v->series[i].part;
    }
    job_judge(answers, parts, v->count, &v->answer);
    free(answers);
    free(parts);
}

static void write_reasons(struct view *v)
{
    for (size_t i = 0; i < v->count; i++)
        reasons_write(&v->series[i].answer, v->series[i].info.unit, v->series[i].info.clock);
}

static bool grows(const struct answer *a)
{
    return a->verdict == VERDICT_LEAK || a->suspect;
}

static bool are_alike(const struct filling *f, size_t a, size_t b)
{
    const struct view_series *x = &f->view->series[a], *y = &f->view->series[b];
    return f->members[a] && f->members[b] && member_is_sibling(f->members[a], f->members[b]) &&
           strcmp(x->info.kind, y->info.kind) == 0 && x->info.clock == y->info.clock &&
           grows(&y->answer) && track_grows_alike(&x->answer, &y->answer);
}

/* A process counts once, however many devices it grows on. */
static void find_groups(const struct filling *f)
{
    for (size_t i = 0; i < f->view->count; i++) {
        struct view_series *s = &f->view->series[i];
        const struct member *last = NULL;
        s->group = (struct series_group){1, s->answer.rate, s->answer.rate};
        for (size_t k = 0; grows(&s->answer) && k < f->view->count; k++) {
            double rate = f->view->series[k].answer.rate;
            if (!are_alike(f, i, k) || f->members[k] == last)
                continue;
            last = f->members[k];
            s->group.processes++;
            s->group.low = fmin(s->group.low, rate);
            s->group.high = fmax(s->group.high, rate);
        }
    }
}

void view_judge(struct job *j, struct view *v)
{
    struct filling f = {.view = v};
    each_subject(j, add_series, &f);
    share_limits(v);
    write_reasons(v);
    judge(v);
    find_groups(&f);
    view_activities(j, f.tracks, v);
    free(f.tracks);
    free(f.members);
}

/* ---- the status line ---- */

/* A leak ranks before a suspicion, and that before a negligible leak; a part of the job ranks
 * before the sum. */
static int urgency(const struct job *j, const struct subject *s)
{
    const struct track *t = s->track;
    enum job_part part = part_of(j, s);
    if (!is_worth_showing(j, s) || !track_is_judged(t))
        return 0;
    if (track_leaks(t) && !t->quiet)
        return part == PART_TOTAL ? 10 : 11;
    if (track_leaks(t))
        return part == PART_TOTAL ? 4 : 5;
    if (track_is_wary(t))
        return part == PART_TOTAL ? 6 : part == PART_MAIN ? 8 : 7;
    return part == PART_MAIN ? 3 : part == PART_TOTAL ? 2 : 0;
}

static double seconds_to_limit(const struct job *j, const struct subject *s)
{
    struct answer answer;
    const struct history *history;
    track_answer(s->track, &j->terms, &answer, &history);
    double seconds = answer.forecast.limit_seconds;
    return isfinite(seconds) ? seconds : INFINITY;
}

/* Of two equally urgent ones, takes the one that reaches its limit first. */
static void choose(struct job *j, struct subject *s, void *context)
{
    struct subject *best = context;
    int more = best->track ? urgency(j, s) - urgency(j, best) : 1;
    bool sooner =
        more == 0 && track_leaks(s->track) && seconds_to_limit(j, s) < seconds_to_limit(j, best);
    if (more > 0 || sooner)
        *best = *s;
}

void view_fill_status(struct job *j, double step, struct view_status *ret)
{
    struct subject best = {0};
    each_subject(j, choose, &best);
    const struct track *pss = &j->sums[JOB_PSS];
    struct answer answer;
    const struct history *history;
    *ret = (struct view_status){
        .total = pss->samples > 0 ? pss->last : j->sums[JOB_ANON].last,
        .step = step,
        .step_total = j->terms.plan_steps > 0 ? j->terms.plan_steps : j->clock.total,
        .processes = j->alive,
        .limit = j->limit,
    };
    track_answer(&j->sums[JOB_ANON], &j->terms, &answer, &history);
    double all_seconds = answer.verdict == VERDICT_LEAK ? answer.forecast.limit_seconds : NAN;
    /* Shares may be older than the moment the job freed memory. */
    double floor = answer.floor_last + (ret->total - j->sums[JOB_ANON].last);
    ret->floor = floor < 0 ? 0 : floor;
    track_answer(best.track, &j->terms, &answer, &history);
    ret->verdict = answer.verdict;
    ret->severity = answer.severity;
    ret->suspect = answer.suspect;
    ret->rate = answer.rate;
    ret->needs = answer.verdict == VERDICT_INCONCLUSIVE ? answer.needs.at_least : NAN;
    /* The growth of the other processes counts too. */
    bool shares = answer.verdict == VERDICT_LEAK && job_shares_limit(j, best.track);
    ret->limit_seconds =
        shares ? fmin(answer.forecast.limit_seconds, all_seconds) : answer.forecast.limit_seconds;
    view_fill_info(j, &best, &ret->series);
}

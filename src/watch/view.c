/* watch/view.c: what is known about the job, for a report. */
#include "watch/session.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        base_out_of_memory();
    return result;
}

/* ---- which series, and what they are to the job ---- */

/* Another trainer was there for twice as long, and after it: what is open about it stays so. */
static bool was_outlived(const struct watch *w, const struct member *m)
{
    if (member_is_alive(m))
        return false;
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *other = w->members[i];
        double end = member_is_alive(other) ? w->last_tick : other->ended;
        if (other != m && member_is_trainer(other) && end > m->ended &&
            end - other->joined > 2 * (m->ended - m->joined))
            return true;
    }
    return false;
}

/* More and more tensors while the memory stands still fill free heap memory, unless that ends. */
static bool tensors_rise(const struct subject *s)
{
    return strcmp(s->track->kind, "py.tensors") == 0 && s->track->is_accounted &&
           track_is_wary(s->track) && found_tensors_rise(s->member->found);
}

static enum job_part part_of(const struct watch *w, const struct subject *s)
{
    const char *kind = s->track->kind;
    if (s->member && was_outlived(w, s->member))
        return PART_BYSTANDER;
    if (strcmp(kind, "torch.allocated") == 0)
        return PART_MAIN;
    if (strcmp(kind, "gpu.used") == 0)
        return s->member && member_told(s->member, "torch.allocated") ? PART_BYSTANDER : PART_MAIN;
    if (!s->member)
        return s->track == &w->job[JOB_ANON] ? PART_TOTAL : PART_BYSTANDER;
    bool is_main =
        strcmp(kind, "host.anon") == 0 || strcmp(kind, HEAP_USED) == 0 || tensors_rise(s);
    return is_main && member_is_trainer(s->member) ? PART_MAIN : PART_BYSTANDER;
}

/* A device whose users are not told counts when more of it is used than when watching began. */
#define DEVICE_BYTES (64.0 * 1024 * 1024)

static bool device_is_used(const struct watch *w, const struct track *t)
{
    return !w->gpu_has_pids && t->max - t->first > DEVICE_BYTES;
}

/* Memory of a device that torch knows nothing of, and that still grows. */
static bool grows_beside_torch(const struct watch *w, const struct subject *s,
                               const struct answer *a)
{
    return s->member && track_is_judged(s->track) && strcmp(s->track->kind, "gpu.used") == 0 &&
           !was_outlived(w, s->member) && a->phase_count > 0 &&
           a->phases[a->phase_count - 1].name == PHASE_GROWING &&
           a->floor_last - a->floor_first > DEVICE_BYTES;
}

/* Processes, or a trainer's descriptors or threads, that become more and more at the end: memory
 * that stands still meanwhile does not make it no leak. */
static bool counts_rise(const struct watch *w, const struct subject *s, const struct answer *a)
{
    const struct track *t = s->track;
    bool is_main = t == &w->job[JOB_PROCESSES];
    if (s->member && member_is_trainer(s->member) && !was_outlived(w, s->member))
        is_main = t == &s->member->tracks[MEMBER_FDS] || t == &s->member->tracks[MEMBER_THREADS];
    return is_main && a->suspect && a->verdict == VERDICT_INCONCLUSIVE &&
           a->floor_last - a->floor_first >= LEAST_RISE_OF_COUNTS;
}

static enum job_part part_by_now(const struct watch *w, const struct subject *s,
                                 const struct answer *a)
{
    return grows_beside_torch(w, s, a) || counts_rise(w, s, a) ? PART_MAIN : part_of(w, s);
}

/* What turned private was there before, and the process copied it: it grew by much less, and little
 * was left to it by others. */
static bool is_copied(const struct member *m)
{
    const struct track *private = &m->tracks[MEMBER_PRIVATE], *anon = &m->tracks[MEMBER_ANON];
    double left = m->tracks[MEMBER_LEFT].samples > 0 ? m->tracks[MEMBER_LEFT].last : 0;
    return anon->last - anon->first + left < 0.5 * (private->last - private->first);
}

/* Processes beyond so many are told only where they move. */
#define STILL_SHOWN 64

/* What a program tells of itself it wants to see. */
static bool is_told(const struct member *m, const struct track *t)
{
    return m->told_count > 0 && t >= m->told && t < m->told + m->told_count;
}

/* Of what stands still only the memory is told, of trainers all. */
static bool is_worth_showing(const struct watch *w, const struct subject *s)
{
    const struct track *t = s->track;
    if (track_is_silent(t) || t->samples == 0)
        return false;
    if (t->asked)
        return true;
    /* Part of host.private, and told in words. */
    if (s->member && t == &s->member->tracks[MEMBER_COPIED])
        return false;
    if (!s->member && t->device && t != &w->job[JOB_SHM])
        return device_is_used(w, t);
    if (!s->member) {
        bool sums_one = t == &w->job[JOB_ANON] && w->most_processes < 2;
        return !sums_one && (t->moves || t == &w->job[JOB_ANON]);
    }
    if (t == &s->member->tracks[MEMBER_PRIVATE] && !is_copied(s->member))
        return false;
    bool memory = t == &s->member->tracks[MEMBER_ANON] && w->member_count <= STILL_SHOWN;
    return t->moves || memory || is_told(s->member, t) ||
           (member_is_trainer(s->member) && track_is_judged(t));
}

static void add_name(struct buf *out, const struct watch *w, const struct subject *s)
{
    const struct track *t = s->track;
    if (s->member && s->member->role.rank >= 0)
        buf_addf(out, "rank %d (%d) %s", s->member->role.rank, (int) s->member->id.pid, t->kind);
    else if (s->member)
        buf_addf(out, "%s %d %s", proc_role_name(s->member->role.role), (int) s->member->id.pid,
                 t->kind);
    else if (t == &w->job[JOB_SHM])
        buf_adds(out, t->device);
    else if (t == &w->job[JOB_PROCESSES])
        buf_adds(out, "number of processes");
    else if (t->device)
        buf_addf(out, "%s of all processes", t->kind);
    else
        buf_addf(out, "whole job %s", t->kind);
    if (t->device && t != &w->job[JOB_SHM])
        buf_addf(out, " %s", t->device);
}

void watch_fill_info(const struct watch *w, const struct subject *s, struct series_info *ret)
{
    const struct track *t = s->track;
    struct buf name = BUF_INIT;
    add_name(&name, w, s);
    *ret = (struct series_info){
        .name = copy(buf_text(&name)),
        .kind = copy(t->kind),
        .device = copy(t->device),
        .unit = t->unit,
        .clock = track_clock(t, &w->terms),
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

void watch_release_info(struct series_info *info)
{
    fields_release(&series_info_fields, info);
}

/* Every track in the order of watch_each_track(), with whose it is. */
static void each_subject(struct watch *w,
                         void (*visit)(struct watch *w, struct subject *s, void *c), void *c)
{
    struct subject s = {.id = 0};
    for (unsigned i = 0; i < JOB_KINDS; i++, s.id++) {
        s.track = &w->job[i];
        visit(w, &s, c);
    }
    for (size_t i = 0; i < w->device_count; i++, s.id++) {
        s.track = &w->devices[i];
        visit(w, &s, c);
    }
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        s.member = m;
        for (unsigned k = 0; m->has_tracks && k < MEMBER_KINDS; k++, s.id++) {
            s.track = &m->tracks[k];
            visit(w, &s, c);
        }
        for (size_t k = 0; k < m->gpu_count; k++, s.id++) {
            s.track = &m->gpu[k];
            visit(w, &s, c);
        }
        for (size_t k = 0; k < m->told_count; k++, s.id++) {
            s.track = &m->told[k];
            visit(w, &s, c);
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
    struct watch_view *view;
    struct track **tracks;
};

bool watch_shares_limit(const struct watch *w, const struct track *t)
{
    return (strncmp(t->kind, "host.", 5) == 0 && t != &w->job[JOB_SHM]) ||
           strcmp(t->kind, "torch.pinned") == 0 || strcmp(t->kind, HEAP_USED) == 0;
}

/* Why it is told beside the process's own memory. */
static void explain_heap_used(struct answer *a)
{
    if (a->verdict != VERDICT_NO_LEAK && a->why_count < ANSWER_WHY)
        snprintf(a->why[a->why_count++], ANSWER_WHY_LENGTH,
                 "This is what malloc has given out: the process itself does not grow while that "
                 "fills what lay free in its heap.");
}

static void add_series(struct watch *w, struct subject *s, void *context)
{
    struct filling *f = context;
    struct watch_view *v = f->view;
    if (!is_worth_showing(w, s))
        return;
    v->series = reallocarray(v->series, v->count + 1, sizeof(*v->series));
    f->tracks = reallocarray(f->tracks, v->count + 1, sizeof(struct track *));
    if (!v->series || !f->tracks)
        base_out_of_memory();
    f->tracks[v->count] = s->track;
    struct watch_series *series = &v->series[v->count++];
    const struct history *history;
    series->id = s->id;
    track_answer(s->track, &w->terms, &series->answer, &history);
    if (w->limit > 0 && !isnan(series->answer.limit) && watch_shares_limit(w, s->track))
        series->answer.limit_shared = w->limit;
    series->part = part_by_now(w, s, &series->answer);
    if (strcmp(s->track->kind, HEAP_USED) == 0)
        explain_heap_used(&series->answer);
    watch_fill_info(w, s, &series->info);
    copy_history(history, &series->history);
}

/* Memory of processes, on the host or on one device: what one takes the others lack. */
static bool share_one_limit(const struct series_info *a, const struct series_info *b)
{
    const char *on = a->device ? a->device : "", *other = b->device ? b->device : "";
    return a->pid && b->pid && strcmp(a->kind, b->kind) == 0 && strcmp(on, other) == 0 &&
           (strcmp(a->kind, "host.anon") == 0 || strcmp(a->kind, "gpu.used") == 0);
}

static void share_limits(struct watch_view *v)
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

static void judge(struct watch_view *v)
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

void watch_judge(struct watch *w, struct watch_view *v)
{
    struct filling f = {.view = v};
    each_subject(w, add_series, &f);
    share_limits(v);
    judge(v);
    phases_view(w, f.tracks, v);
    free(f.tracks);
}

/* ---- the balance sheet ---- */

static void copy_sheet(const struct watch *w, struct watch_view *v)
{
    const struct sheet *s = &w->sheet;
    v->rows = calloc(s->count + 1, sizeof(*v->rows));
    if (!v->rows)
        base_out_of_memory();
    for (size_t i = 0; i < s->count; i++) {
        v->rows[i] = s->rows[i];
        v->rows[i].label = copy(s->rows[i].label);
    }
    v->row_count = s->count;
    v->total = s->total;
    v->system_first = w->memory_first.total - w->memory_first.available;
    v->system_last = s->system;
    v->system_total = w->memory_now.total;
    v->shm_first = w->shm.first;
    v->shm_last = s->shm;
    v->unexplained = NAN;
    if (s->count == 0)
        return;
    /* Pages of files count as available; what lies in /dev/shm and is mapped is in the rows. */
    double job = s->total.anon + s->total.shmem - w->held_first;
    double unmapped = fmax(0, s->shm - w->shm.first - s->total.shmem);
    v->unexplained = s->system - v->system_first - job - (isnan(unmapped) ? 0 : unmapped);
}

/* ---- how it ended ---- */

static void describe_end(const struct watch *w, struct watch_view *v)
{
    const struct watch_end *e = &w->end;
    const struct ending_facts facts = {
        .known = e->known,
        .status = e->status,
        .interrupted = e->interrupted,
        .by = e->by,
        .cgroup_kills = w->cgroup_now.oom_kills - w->cgroup_first.oom_kills,
        .cgroup_limit = w->cgroup_now.limit,
        .machine_kills = machine_oom_kills(w->options.proc_root) - w->oom_kills_first,
    };
    struct buf text = BUF_INIT;
    v->ended = e->known;
    v->status = e->status;
    ending_words(&text, &facts);
    v->ending = text.len > 0 ? copy(buf_text(&text)) : NULL;
    buf_release(&text);
}

/* ---- notes ---- */

static void add_note(struct watch_view *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_note(struct watch_view *v, const char *format, ...)
{
    if (v->note_count == WATCH_NOTES)
        return;
    struct buf text = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vaddf(&text, format, args);
    va_end(args);
    v->notes[v->note_count++] = copy(buf_text(&text));
    buf_release(&text);
}

static unsigned count_without_pss(const struct watch *w)
{
    unsigned count = 0;
    for (size_t i = 0; i < w->member_count; i++)
        count += w->members[i]->rollup_error < 0;
    return count;
}

/* The last value of a told counter, over all devices and processes; NAN: nobody tells it. */
static double sum_told(const struct watch *w, const char *kind)
{
    double sum = NAN;
    for (size_t i = 0; i < w->member_count; i++)
        for (size_t k = 0; k < w->members[i]->told_count; k++) {
            const struct track *t = &w->members[i]->told[k];
            if (strcmp(t->kind, kind) == 0 && t->samples > 0)
                sum = (isfinite(sum) ? sum : 0) + t->last;
        }
    return sum;
}

static void add_cleanup(const struct watch *w, const char *action, struct buf *out)
{
    char kind[64];
    snprintf(kind, sizeof(kind), "cleanup.%s.freed", action);
    double freed = sum_told(w, kind);
    snprintf(kind, sizeof(kind), "cleanup.%s.seconds", action);
    double seconds = sum_told(w, kind);
    if (!isfinite(freed) || !isfinite(seconds))
        return;
    buf_addf(out, "%s %s freed ", out->len > 0 ? ";" : "", action);
    if (freed > 0)
        units_add_bytes(out, freed);
    else
        buf_adds(out, "nothing");
    buf_addf(out, " in %.3g s", seconds);
}

/* What the probe was asked to clean up (probe/cleanup.h), and what came of it. */
static void add_cleanup_notes(const struct watch *w, struct watch_view *v)
{
    struct buf text = BUF_INIT;
    add_cleanup(w, "zero_grad", &text);
    add_cleanup(w, "gc", &text);
    add_cleanup(w, "empty_cache", &text);
    add_cleanup(w, "trim", &text);
    if (text.len > 0)
        add_note(v, "cleanup:%s", buf_text(&text));
    if (isfinite(sum_told(w, "cleanup.refused")))
        add_note(v, "TIDEMARK_CLEANUP could not be understood: the job ran as if it were not set. "
                    "It is written like every=10,gc=1,trim=0");
    buf_release(&text);
}

/* Why there is no step clock. */
static void add_clock_note(const struct watch *w, struct watch_view *v)
{
    if (clock_runs(&w->clock))
        return;
    if (clock_first(&w->clock))
        add_note(v, "all its steps were told at one moment: nothing was seen between them");
    else if (w->inside)
        add_note(v, "no steps were told: judged by time");
    else
        add_note(v, "no steps were found in the output: judged by time. If it tells them, "
                    "--step-regex 'step ([0-9]+)' says how; tidemark.Watcher counts any loop's");
}

/* Of those that were entered their entries say it. */
static void add_foreign_notes(const struct watch *w, struct watch_view *v)
{
    for (size_t i = 0; i < w->rings.foreign_count; i++) {
        struct buf name = BUF_INIT;
        watch_name_process(w, w->rings.foreign[i].pid, &name);
        if (!entries_have(w, w->rings.foreign[i]))
            add_note(v, "%s " RINGS_FOREIGN, buf_text(&name));
        buf_release(&name);
    }
}

static void add_notes(struct watch *w, struct watch_view *v)
{
    unsigned without = count_without_pss(w);
    if (v->unread)
        add_note(v, "processes of the job are missing here that could not be read: %s", v->unread);
    if (w->elsewhere.len > 0)
        add_note(v, "%s", buf_text(&w->elsewhere));
    add_clock_note(w, v);
    add_foreign_notes(w, v);
    struct buf shared = BUF_INIT;
    if (shared_describe(w, &shared))
        add_note(v, "%s", buf_text(&shared));
    buf_release(&shared);
    struct buf copies = BUF_INIT;
    if (workers_describe(w, &copies))
        add_note(v, "%s", buf_text(&copies));
    buf_release(&copies);
    if (w->options.note)
        add_note(v, "%s", w->options.note);
    if (w->gpu_why[0] && !w->gpu)
        add_note(v, "no GPU series: %s", w->gpu_why);
    bool blind = false;
    for (size_t i = 0; i < w->device_count; i++)
        blind = blind || device_is_used(w, &w->devices[i]);
    if (blind)
        add_note(v, "the driver names no process of this job: GPU memory is of whole devices");
    if (without > 0)
        add_note(v,
                 "the shares (PSS) of %u process%s cannot be read: resident memory stands in, and "
                 "counts what they share once for each",
                 without, without == 1 ? "" : "es");
    if (w->sheet.unread > 0)
        add_note(v,
                 "the shares (PSS) of %u of %u processes were not read: reading so many would hold "
                 "the job up. A fork without them counts what it allocated itself",
                 w->sheet.unread, w->sheet.total.processes);
    if (w->sheet.late > 0)
        add_note(
            v,
            "the shares (PSS) of %u of %u processes were read up to %.0f s ago: reading so many "
            "more often would hold the job up. Since then they move with what each allocates",
            w->sheet.late, w->sheet.total.processes, w->sheet.late_most);
    add_cleanup_notes(w, v);
    if (w->store_error < 0)
        add_note(v, "the run file lacks the end: %s", store_words(w->store_error));
    if (isfinite(w->ended) && w->end.known && w->alive > 0)
        add_note(v, "%zu process%s of the job still run%s", w->alive, w->alive == 1 ? "" : "es",
                 w->alive == 1 ? "s" : "");
}

/* ---- the status line ---- */

/* A leak before a suspicion, that before a negligible leak; a part of the job before the sum. */
static int urgency(const struct watch *w, const struct subject *s)
{
    const struct track *t = s->track;
    enum job_part part = part_of(w, s);
    if (!is_worth_showing(w, s) || !track_is_judged(t))
        return 0;
    if (track_leaks(t) && !t->quiet)
        return part == PART_TOTAL ? 10 : 11;
    if (track_leaks(t))
        return part == PART_TOTAL ? 4 : 5;
    if (track_is_wary(t))
        return part == PART_TOTAL ? 6 : part == PART_MAIN ? 8 : 7;
    return part == PART_MAIN ? 3 : part == PART_TOTAL ? 2 : 0;
}

static double seconds_to_limit(const struct watch *w, const struct subject *s)
{
    struct answer answer;
    const struct history *history;
    track_answer(s->track, &w->terms, &answer, &history);
    double seconds = answer.forecast.limit_seconds;
    return isfinite(seconds) ? seconds : INFINITY;
}

/* Of two that are equally urgent, the one that reaches its limit first. */
static void choose(struct watch *w, struct subject *s, void *context)
{
    struct subject *best = context;
    int more = best->track ? urgency(w, s) - urgency(w, best) : 1;
    bool sooner =
        more == 0 && track_leaks(s->track) && seconds_to_limit(w, s) < seconds_to_limit(w, best);
    if (more > 0 || sooner)
        *best = *s;
}

void watch_status(struct watch *w, struct watch_status *ret)
{
    struct subject best = {0};
    each_subject(w, choose, &best);
    const struct track *pss = &w->job[JOB_PSS];
    struct answer answer;
    const struct history *history;
    *ret = (struct watch_status){
        .total = pss->samples > 0 ? pss->last : w->job[JOB_ANON].last,
        .step = steps_now(w),
        .step_total = w->terms.plan_steps > 0 ? w->terms.plan_steps : w->clock.total,
        .processes = w->alive,
        .limit = w->limit,
    };
    track_answer(&w->job[JOB_ANON], &w->terms, &answer, &history);
    double all_seconds = answer.verdict == VERDICT_LEAK ? answer.forecast.limit_seconds : NAN;
    /* Shares may have been read before the job gave memory back. */
    double floor = answer.floor_last + (ret->total - w->job[JOB_ANON].last);
    ret->floor = floor < 0 ? 0 : floor;
    track_answer(best.track, &w->terms, &answer, &history);
    ret->verdict = answer.verdict;
    ret->severity = answer.severity;
    ret->suspect = answer.suspect;
    ret->rate = answer.rate;
    ret->needs = answer.verdict == VERDICT_INCONCLUSIVE ? answer.needs.at_least : NAN;
    /* The growth of the others counts, too. */
    bool shares = answer.verdict == VERDICT_LEAK && watch_shares_limit(w, best.track);
    ret->limit_seconds =
        shares ? fmin(answer.forecast.limit_seconds, all_seconds) : answer.forecast.limit_seconds;
    watch_release_info(&w->status_series);
    watch_fill_info(w, &best, &w->status_series);
    ret->series = w->status_series;
}

/* ---- all of it ---- */

static void fill_facts(struct watch *w, double seconds, struct watch_view *v)
{
    struct rusage usage;
    struct proc_stat self;
    v->command = copy(w->options.command);
    v->arguments = copy(w->options.arguments);
    v->started = w->started;
    v->seconds = seconds;
    v->step = steps_now(w);
    v->steps = watch_steps(w);
    v->steps_from = isfinite(v->steps) ? copy(steps_source_name(w->steps.source)) : NULL;
    v->epochs = w->clock.epoch;
    v->processes = (unsigned) w->alive;
    v->most_processes = w->most_processes;
    v->processes_seen = proc_tree_seen(w->tree);
    v->unread = watch_unread(w) < 0 ? copy(error_words(-watch_unread(w))) : NULL;
    v->limit = w->limit;
    v->limit_source = copy(w->limit_source);
    v->stall_seconds = w->stall_seconds;
    if (w->inside) {
        v->watcher_cpu_seconds = w->cpu_seconds;
        v->watcher_bytes = NAN;
        return;
    }
    getrusage(RUSAGE_SELF, &usage);
    v->watcher_cpu_seconds = (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                             1e-6 * (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    v->watcher_bytes = proc_stat_read("/proc", getpid(), &self) == 0 ? self.rss : NAN;
}

void watch_view_init(struct watch *w, double seconds, struct watch_view *ret)
{
    *ret = (struct watch_view){0};
    watch_settle(w);
    watch_judge(w, ret);
    findings_view(w, ret);
    patterns_view(w, ret);
    fill_facts(w, seconds, ret);
    copy_sheet(w, ret);
    describe_end(w, ret);
    add_notes(w, ret);
}

/* watch/surroundings.c: a report's facts besides the series: machine, end, notes, costs. */
#include "watch/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        base_out_of_memory();
    return result;
}

/* ---- the balance sheet ---- */

static void add_sheet(const struct watch *w, struct view *v)
{
    const struct sheet *s = &w->sheet;
    const struct surroundings *around = sampler_surroundings(w->sampler);
    sheet_view(s, v);
    v->system_first = around->memory_first.total - around->memory_first.available;
    v->system_last = s->system;
    v->system_total = around->memory_now.total;
    v->shm_first = around->shm_first;
    v->shm_last = s->shm;
}

/* ---- how it ended ---- */

static void describe_end(const struct watch *w, struct view *v)
{
    const struct watch_end *e = &w->end;
    const struct surroundings *around = sampler_surroundings(w->sampler);
    const struct ending_facts facts = {
        .known = e->known,
        .status = e->status,
        .interrupted = e->interrupted,
        .by = e->by,
        .cgroup_kills = around->cgroup_now.oom_kills - around->cgroup_first.oom_kills,
        .cgroup_limit = around->cgroup_now.limit,
        .machine_kills = machine_oom_kills(w->options.proc_root) - around->oom_kills_first,
    };
    struct buf text = BUF_INIT;
    v->ended = e->known;
    v->status = e->status;
    ending_words(&text, &facts);
    v->ending = text.len > 0 ? copy(buf_text(&text)) : NULL;
    buf_release(&text);
}

/* ---- notes ---- */

/* Takes ownership of the sentence; an empty one is no note. */
static void add_note(struct view *v, struct buf *text)
{
    if (text->len > 0 && v->note_count < VIEW_NOTES)
        v->notes[v->note_count++] = copy(buf_text(text));
    buf_release(text);
}

static unsigned count_without_pss(const struct job *j)
{
    unsigned count = 0;
    for (size_t i = 0; i < j->member_count; i++)
        count += j->members[i]->shares.error < 0;
    return count;
}

/* The last value of a reported counter, over all devices and processes; NAN: nobody reports it. */
static double sum_reported(const struct job *j, const char *kind)
{
    double sum = NAN;
    for (size_t i = 0; i < j->member_count; i++)
        for (size_t k = 0; k < j->members[i]->reported_count; k++) {
            const struct track *t = &j->members[i]->reported[k];
            if (strcmp(t->kind, kind) == 0 && t->samples > 0)
                sum = (isfinite(sum) ? sum : 0) + t->last;
        }
    return sum;
}

/* What the probe was asked to clean up (probe/cleanup.h), and what each action freed. */
static void add_cleanup_notes(const struct job *j, struct view *v)
{
    static const char *const actions[] = {"zero_grad", "gc", "empty_cache", "trim"};
    struct buf text = BUF_INIT;
    bool first = true;
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        char kind[64];
        snprintf(kind, sizeof(kind), "cleanup.%s.freed", actions[i]);
        double freed = sum_reported(j, kind);
        snprintf(kind, sizeof(kind), "cleanup.%s.seconds", actions[i]);
        double seconds = sum_reported(j, kind);
        if (!isfinite(freed) || !isfinite(seconds))
            continue;
        if (first)
            note_cleanup_begin(&text);
        note_cleanup_action(&text, first, actions[i], freed, seconds);
        first = false;
    }
    add_note(v, &text);
}

/* Why there is no step clock. */
static void add_clock_note(const struct job *j, struct view *v)
{
    struct buf text = BUF_INIT;
    if (clock_runs(&j->clock))
        return;
    note_no_clock(&text, clock_first(&j->clock) ? NO_CLOCK_ONE_MOMENT
                         : j->is_inside         ? NO_CLOCK_INSIDE
                                                : NO_CLOCK_OUTPUT);
    add_note(v, &text);
}

/* Processes that tidemark attached to have an entry, which says it. */
static void add_foreign_notes(const struct watch *w, struct view *v)
{
    size_t count;
    const struct proc_id *foreign = sampler_foreign(w->sampler, &count);
    for (size_t i = 0; i < count; i++) {
        struct buf name = BUF_INIT, text = BUF_INIT;
        job_name_process(&w->job, foreign[i].pid, &name);
        if (!entries_have(w, foreign[i]))
            note_foreign_probe(&text, buf_text(&name));
        add_note(v, &text);
        buf_release(&name);
    }
}

static void add_gpu_notes(const struct watch *w, struct view *v)
{
    const struct surroundings *around = sampler_surroundings(w->sampler);
    struct buf none = BUF_INIT, blind = BUF_INIT;
    bool is_blind = false;
    if (around->gpu_why[0] && !around->has_gpu)
        note_no_gpu(&none, around->gpu_why);
    for (size_t i = 0; i < w->job.device_count; i++)
        is_blind = is_blind || view_device_is_used(&w->job, &w->job.devices[i]);
    if (is_blind)
        note_gpu_without_pids(&blind);
    add_note(v, &none);
    add_note(v, &blind);
}

static void add_shares_notes(const struct watch *w, struct view *v)
{
    unsigned without = count_without_pss(&w->job);
    const struct sheet *s = &w->sheet;
    struct buf forbidden = BUF_INIT, unread = BUF_INIT, late = BUF_INIT;
    if (without > 0)
        note_shares_forbidden(&forbidden, without);
    if (s->unread > 0)
        note_shares_unread(&unread, s->unread, s->total.processes);
    if (s->late > 0)
        note_shares_late(&late, s->late, s->total.processes, s->late_most);
    add_note(v, &forbidden);
    add_note(v, &unread);
    add_note(v, &late);
}

static void add_end_notes(const struct watch *w, struct view *v)
{
    struct buf store = BUF_INIT, running = BUF_INIT;
    if (recorder_error(w->sampler) < 0)
        note_store_incomplete(&store, store_words(recorder_error(w->sampler)));
    if (isfinite(w->job.ended) && w->end.known && w->job.alive > 0)
        note_still_running(&running, w->job.alive);
    add_note(v, &store);
    add_note(v, &running);
}

/* What the user requested or counts on, but tidemark did not do: a short report that hides it
 * would mislead. */
static void add_warnings(const struct watch *w, struct view *v)
{
    struct buf asked = BUF_INIT, refused = BUF_INIT, untraced = BUF_INIT;
    add_foreign_notes(w, v);
    buf_adds(&asked, w->options.note ? w->options.note : "");
    if (isfinite(sum_reported(&w->job, "cleanup.refused")))
        note_cleanup_refused(&refused);
    if (w->options.trace_bytes > 0 && v->found.tracer_count == 0 && isfinite(w->job.ended))
        note_not_traced(&untraced);
    add_note(v, &asked);
    add_note(v, &refused);
    add_note(v, &untraced);
    v->warning_count = v->note_count;
}

static void add_notes(struct watch *w, struct view *v)
{
    struct buf unread = BUF_INIT, other = BUF_INIT, left = BUF_INIT, copies = BUF_INIT;
    const struct elsewhere_facts *elsewhere = &sampler_surroundings(w->sampler)->elsewhere;
    struct shm_notes shm;
    add_warnings(w, v);
    if (v->unread)
        note_unread(&unread, v->unread);
    if (elsewhere->pid != 0)
        note_elsewhere(&other, elsewhere);
    shared_gather_notes(w->sampler, &shm);
    note_shm(&left, &shm);
    workers_describe(&w->job, &copies);
    add_note(v, &unread);
    add_note(v, &other);
    add_clock_note(&w->job, v);
    add_note(v, &left);
    add_note(v, &copies);
    add_gpu_notes(w, v);
    add_shares_notes(w, v);
    add_cleanup_notes(&w->job, v);
    add_end_notes(w, v);
}

/* ---- all of it ---- */

/* Adds the watcher's own costs; of the whole process if it is one of its own. */
static void add_own_costs(const struct watch *w, struct view *v)
{
    struct rusage usage;
    struct proc_stat self;
    v->stall_seconds = sampler_stall_seconds(w->sampler);
    if (w->job.is_inside) {
        v->watcher_cpu_seconds = w->cpu_seconds;
        v->watcher_bytes = NAN;
        return;
    }
    getrusage(RUSAGE_SELF, &usage);
    v->watcher_cpu_seconds = (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                             1e-6 * (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    v->watcher_bytes = proc_stat_read("/proc", getpid(), &self) == 0 ? self.rss : NAN;
}

static void add_facts(const struct watch *w, double seconds, struct view *v)
{
    v->command = copy(w->options.command);
    v->arguments = copy(w->options.arguments);
    v->started = w->started;
    v->seconds = seconds;
    v->step = sampler_step(w->sampler);
    v->steps = sampler_steps(w->sampler);
    v->steps_from = isfinite(v->steps) ? copy(sampler_steps_from(w->sampler)) : NULL;
    v->epochs = w->job.clock.epoch;
    v->processes = (unsigned) w->job.alive;
    v->most_processes = w->job.most_processes;
    v->processes_seen = sampler_processes_seen(w->sampler);
    v->unread = watch_unread(w) < 0 ? copy(error_words(-watch_unread(w))) : NULL;
    v->limit = w->job.limit;
    v->limit_source = copy(w->job.limit_source);
}

void watch_view_init(struct watch *w, double seconds, struct view *ret)
{
    *ret = (struct view){0};
    settle_job(&w->job);
    sampler_count_activities(w->sampler);
    view_judge(&w->job, ret);
    view_findings(&w->job, ret);
    entries_view(w, &ret->found);
    view_patterns(&w->job, ret);
    add_facts(w, seconds, ret);
    add_own_costs(w, ret);
    add_sheet(w, ret);
    describe_end(w, ret);
    add_notes(w, ret);
}

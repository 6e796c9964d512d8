/* watch/surroundings.c: what a report says beside the series: the machine, the end, notes, costs.
 */
#include "watch/state.h"

#include <math.h>
#include <stdarg.h>
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
    v->unexplained = NAN;
    if (s->count == 0)
        return;
    /* Pages of files count as available; what lies in /dev/shm and is mapped is in the rows. */
    double job = s->total.anon + s->total.shmem - w->held_first;
    double unmapped = fmax(0, s->shm - around->shm_first - s->total.shmem);
    v->unexplained = s->system - v->system_first - job - (isnan(unmapped) ? 0 : unmapped);
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

static void add_note(struct view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_note(struct view *v, const char *format, ...)
{
    if (v->note_count == VIEW_NOTES)
        return;
    struct buf text = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vaddf(&text, format, args);
    va_end(args);
    v->notes[v->note_count++] = copy(buf_text(&text));
    buf_release(&text);
}

static unsigned count_without_pss(const struct job *j)
{
    unsigned count = 0;
    for (size_t i = 0; i < j->member_count; i++)
        count += j->members[i]->shares.error < 0;
    return count;
}

/* The last value of a told counter, over all devices and processes; NAN: nobody tells it. */
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

static void add_cleanup(const struct job *j, const char *action, struct buf *out)
{
    char kind[64];
    snprintf(kind, sizeof(kind), "cleanup.%s.freed", action);
    double freed = sum_reported(j, kind);
    snprintf(kind, sizeof(kind), "cleanup.%s.seconds", action);
    double seconds = sum_reported(j, kind);
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
static void add_cleanup_notes(const struct job *j, struct view *v)
{
    struct buf text = BUF_INIT;
    add_cleanup(j, "zero_grad", &text);
    add_cleanup(j, "gc", &text);
    add_cleanup(j, "empty_cache", &text);
    add_cleanup(j, "trim", &text);
    if (text.len > 0)
        add_note(v, "cleanup:%s", buf_text(&text));
    if (isfinite(sum_reported(j, "cleanup.refused")))
        add_note(v, "TIDEMARK_CLEANUP could not be understood: the job ran as if it were not set. "
                    "It is written like every=10,gc=1,trim=0");
    buf_release(&text);
}

/* Why there is no step clock. */
static void add_clock_note(const struct job *j, struct view *v)
{
    if (clock_runs(&j->clock))
        return;
    if (clock_first(&j->clock))
        add_note(v, "all its steps were told at one moment: nothing was seen between them");
    else if (j->is_inside)
        add_note(v, "no steps were told: judged by time");
    else
        add_note(v, "no steps were found in the output: judged by time. If it tells them, "
                    "--step-regex 'step ([0-9]+)' says how; tidemark.Watcher counts any loop's");
}

/* Of those that were attached to their entries say it. */
static void add_foreign_notes(const struct watch *w, struct view *v)
{
    size_t count;
    const struct proc_id *foreign = sampler_foreign(w->sampler, &count);
    for (size_t i = 0; i < count; i++) {
        struct buf name = BUF_INIT;
        job_name_process(&w->job, foreign[i].pid, &name);
        if (!entries_have(w, foreign[i]))
            add_note(v, "%s " RINGS_FOREIGN, buf_text(&name));
        buf_release(&name);
    }
}

/* A text that is empty says nothing. Releases it. */
static void add_text_note(struct view *v, struct buf *text)
{
    if (text->len > 0)
        add_note(v, "%s", buf_text(text));
    buf_release(text);
}

static void add_gpu_notes(const struct watch *w, struct view *v)
{
    const struct surroundings *around = sampler_surroundings(w->sampler);
    bool is_blind = false;
    if (around->gpu_why[0] && !around->has_gpu)
        add_note(v, "no GPU series: %s", around->gpu_why);
    for (size_t i = 0; i < w->job.device_count; i++)
        is_blind = is_blind || view_device_is_used(&w->job, &w->job.devices[i]);
    if (is_blind)
        add_note(v, "the driver names no process of this job: GPU memory is of whole devices");
}

static void add_shares_notes(const struct watch *w, struct view *v)
{
    unsigned without = count_without_pss(&w->job);
    const struct sheet *s = &w->sheet;
    if (without > 0)
        add_note(v,
                 "the shares (PSS) of %u process%s cannot be read: resident memory stands in, and "
                 "counts what they share once for each",
                 without, without == 1 ? "" : "es");
    if (s->unread > 0)
        add_note(v,
                 "the shares (PSS) of %u of %u processes were not read: reading so many would hold "
                 "the job up. A fork without them counts what it allocated itself",
                 s->unread, s->total.processes);
    if (s->late > 0)
        add_note(
            v,
            "the shares (PSS) of %u of %u processes were read up to %.0f s ago: reading so many "
            "more often would hold the job up. Since then they move with what each allocates",
            s->late, s->total.processes, s->late_most);
}

static void add_end_notes(const struct watch *w, struct view *v)
{
    size_t alive = w->job.alive;
    if (recorder_error(w->sampler) < 0)
        add_note(v, "the run file lacks the end: %s", store_words(recorder_error(w->sampler)));
    if (isfinite(w->job.ended) && w->end.known && alive > 0)
        add_note(v, "%zu process%s of the job still run%s", alive, alive == 1 ? "" : "es",
                 alive == 1 ? "s" : "");
}

static void add_notes(struct watch *w, struct view *v)
{
    struct buf shared = BUF_INIT, copies = BUF_INIT;
    const struct buf *elsewhere = &sampler_surroundings(w->sampler)->elsewhere;
    if (v->unread)
        add_note(v, "processes of the job are missing here that could not be read: %s", v->unread);
    if (elsewhere->len > 0)
        add_note(v, "%s", buf_text(elsewhere));
    add_clock_note(&w->job, v);
    add_foreign_notes(w, v);
    shared_describe(w->sampler, &shared);
    add_text_note(v, &shared);
    workers_describe(&w->job, &copies);
    add_text_note(v, &copies);
    if (w->options.note)
        add_note(v, "%s", w->options.note);
    add_gpu_notes(w, v);
    add_shares_notes(w, v);
    add_cleanup_notes(&w->job, v);
    add_end_notes(w, v);
}

/* ---- all of it ---- */

/* The watcher's own, where it is a process of its own. */
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

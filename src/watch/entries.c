/* watch/entries.c: attaching: which processes are worth it, the result, and detaching. */
#include "watch/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AWAITED_MICROSECONDS 5000

/* ---- which are worth attaching to ---- */

static struct process_entry *find_entry(const struct watch *w, struct proc_id id)
{
    for (size_t i = 0; i < w->entry_count; i++)
        if (proc_id_equal(w->entries[i].id, id))
            return &w->entries[i];
    return NULL;
}

bool entries_have(const struct watch *w, struct proc_id id)
{
    return find_entry(w, id) != NULL;
}

#define AGAIN_SECONDS 60

/* Attaching was not tried yet, or failed some time ago. */
static bool is_time(const struct watch *w, const struct process_entry *e)
{
    return !e || w->job.now >= e->again;
}

static bool is_root_that_works(const struct member *m)
{
    return m->is_root && m->role.role != ROLE_WRAPPER;
}

static bool is_worth_it(const struct watch *w, const struct member *m, bool all)
{
    bool is_lead = member_is_trainer(m) || is_root_that_works(m);
    if (all)
        return is_lead;
    return member_is_wary(m) || member_climbs(m) ||
           (is_lead && track_is_wary(&w->job.sums[JOB_ANON]));
}

size_t watch_worth_attaching(struct watch *w, bool all, pid_t *ret, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < w->job.member_count && count < most; i++) {
        const struct member *m = w->job.members[i];
        if (member_is_alive(m) && m->role.role != ROLE_UNKNOWN && is_worth_it(w, m, all) &&
            is_time(w, find_entry(w, m->id)))
            ret[count++] = m->id.pid;
    }
    return count;
}

/* ---- the result ---- */

static void entry_clear(struct process_entry *e)
{
    free(e->command);
    free(e->python);
    free(e->why);
}

/* Where attaching is tried again, the last try counts. */
static struct process_entry *entry_for(struct watch *w, struct proc_id id)
{
    struct process_entry *known = find_entry(w, id);
    if (known) {
        entry_clear(known);
        return known;
    }
    w->entries = reallocarray(w->entries, w->entry_count + 1, sizeof(*w->entries));
    if (!w->entries)
        base_out_of_memory();
    return &w->entries[w->entry_count++];
}

void watch_note_entry(struct watch *w, const struct watch_entry *e)
{
    struct member *m = job_find_last(&w->job, e->pid);
    if (!m)
        return;
    m->is_attached = true;
    struct process_entry *x = entry_for(w, m->id);
    *x =
        (struct process_entry){.id = m->id,
                               .stopped = e->stopped,
                               .longest_stop = e->longest_stop,
                               .stops = e->stops,
                               .at = w->job.now,
                               .again = e->passes ? w->job.now + AGAIN_SECONDS : (double) INFINITY};
    member_label(m, x->label);
    x->python = e->why ? NULL : strdup(e->python);
    x->why = e->why ? strdup(e->why) : NULL;
    x->command = strdup(m->command ? m->command : "");
    if (!x->command || (!x->python && !x->why))
        base_out_of_memory();
}

/* ---- the end ---- */

static bool has_ended(const struct watch *w, const struct process_entry *e)
{
    struct proc_stat stat;
    return proc_stat_read(w->options.proc_root, e->id.pid, &stat) < 0 ||
           !proc_id_equal(stat.id, e->id) || proc_stat_ended(&stat);
}

/* True: all have detached or ended. */
static bool find_detached(struct watch *w)
{
    bool all = true;
    for (size_t i = 0; i < w->entry_count; i++) {
        struct process_entry *e = &w->entries[i];
        e->left = e->left || (e->python && sampler_has_detached(w->sampler, e->id));
        e->ended = e->ended || has_ended(w, e);
        all = all && (!e->python || e->left || e->ended || sampler_is_foreign(w->sampler, e->id));
    }
    return all;
}

void watch_detach(struct watch *w, double seconds)
{
    double waited = 0;
    if (w->entry_count == 0)
        return;
    sampler_hang_up(w->sampler);
    for (; !find_detached(w) && waited < seconds; waited += 1e-6 * AWAITED_MICROSECONDS)
        usleep(AWAITED_MICROSECONDS);
}

void entries_view(const struct watch *w, struct findings *ret)
{
    ret->entered = calloc(w->entry_count + 1, sizeof(*ret->entered));
    if (!ret->entered)
        base_out_of_memory();
    for (size_t i = 0; i < w->entry_count; i++) {
        const struct process_entry *e = &w->entries[i];
        struct attached_process *x = &ret->entered[ret->entered_count++];
        struct buf foreign = BUF_INIT;
        if (sampler_is_foreign(w->sampler, e->id)) {
            note_foreign_probe(&foreign, NULL);
            buf_addc(&foreign, '.');
        }
        const char *why = foreign.len > 0 ? buf_text(&foreign) : e->why;
        *x = (struct attached_process){
            .pid = e->id.pid,
            .process = strdup(e->label),
            .command = strdup(e->command),
            .python = why ? NULL : strdup(e->python),
            .why = why ? strdup(why) : NULL,
            .stops = e->stops,
            .stopped_seconds = why ? (double) NAN : e->stopped,
            .longest_stop_seconds = why ? (double) NAN : e->longest_stop,
            .attached_seconds = why ? (double) NAN : w->job.now - e->at,
            .counted = !why && watch_census(w, e->id.pid),
            .left = e->left,
            .ended = e->ended,
        };
        if (!x->process || !x->command || (!x->python && !x->why))
            base_out_of_memory();
        buf_release(&foreign);
    }
}

void entries_release(struct watch *w)
{
    for (size_t i = 0; i < w->entry_count; i++)
        entry_clear(&w->entries[i]);
    free(w->entries);
}

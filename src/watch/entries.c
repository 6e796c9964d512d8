/* watch/entries.c: processes that were entered while they ran: which, how it went, and the end. */
#include "watch/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AWAITED_MICROSECONDS 5000

/* ---- who is worth it ---- */

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

bool entries_climb(const struct watch *w)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (member_climbs(w->members[i]) && entries_have(w, w->members[i]->id))
            return true;
    return false;
}

#define AGAIN_SECONDS 60

/* It was not tried yet, or that was in vain and some time ago. */
static bool is_time(const struct watch *w, const struct process_entry *e)
{
    return !e || w->last_tick >= e->again;
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
    return member_is_wary(m) || member_climbs(m) || (is_lead && track_is_wary(&w->job[JOB_ANON]));
}

size_t watch_worth_entering(struct watch *w, bool all, pid_t *ret, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < w->member_count && count < most; i++) {
        const struct member *m = w->members[i];
        if (member_is_alive(m) && m->role.role != ROLE_UNKNOWN && is_worth_it(w, m, all) &&
            is_time(w, find_entry(w, m->id)))
            ret[count++] = m->id.pid;
    }
    return count;
}

/* ---- what came of it ---- */

static const struct member *find_member(const struct watch *w, pid_t pid)
{
    for (size_t i = w->member_count; i-- > 0;)
        if (w->members[i]->id.pid == pid)
            return w->members[i];
    return NULL;
}

static void entry_clear(struct process_entry *e)
{
    free(e->command);
    free(e->python);
    free(e->why);
}

/* Of one that is tried again the last time counts. */
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
    const struct member *m = find_member(w, e->pid);
    if (!m)
        return;
    struct process_entry *x = entry_for(w, m->id);
    *x = (struct process_entry){.id = m->id,
                                .stopped = e->stopped,
                                .longest_stop = e->longest_stop,
                                .stops = e->stops,
                                .at = w->last_tick,
                                .again =
                                    e->passes ? w->last_tick + AGAIN_SECONDS : (double) INFINITY};
    member_label(m, x->label);
    x->python = e->why ? NULL : strdup(e->python);
    x->why = e->why ? strdup(e->why) : NULL;
    x->command = strdup(m->command ? m->command : "");
    if (!x->command || (!x->python && !x->why))
        base_out_of_memory();
}

void watch_name_process(const struct watch *w, pid_t pid, struct buf *out)
{
    const struct member *m = find_member(w, pid);
    char label[MEMBER_LABEL];
    if (!m) {
        buf_addf(out, "process %d", (int) pid);
        return;
    }
    member_label(m, label);
    buf_adds(out, label);
    for (size_t i = 0; i < w->member_count && !m->is_root; i++)
        if (w->members[i]->is_root) {
            member_label(w->members[i], label);
            buf_addf(out, " (%s), which %s has started", m->command ? m->command : "?", label);
            return;
        }
}

/* ---- the end ---- */

static const struct ring *ring_of(const struct watch *w, const struct process_entry *e)
{
    for (size_t i = 0; i < w->rings.count; i++)
        if (proc_id_equal(w->rings.list[i]->id, e->id))
            return w->rings.list[i];
    return NULL;
}

static bool has_left(const struct watch *w, const struct process_entry *e)
{
    const struct ring *r = ring_of(w, e);
    return r && wire_reader_has_left(r->reader);
}

static bool has_ended(const struct watch *w, const struct process_entry *e)
{
    struct proc_stat stat;
    return proc_stat_read(w->options.proc_root, e->id.pid, &stat) < 0 ||
           !proc_id_equal(stat.id, e->id) || proc_stat_ended(&stat);
}

/* True: nobody is waited for any more. */
static bool look_who_left(struct watch *w)
{
    bool all = true;
    for (size_t i = 0; i < w->entry_count; i++) {
        struct process_entry *e = &w->entries[i];
        e->left = e->left || (e->python && has_left(w, e));
        e->ended = e->ended || has_ended(w, e);
        all = all && (!e->python || e->left || e->ended || rings_are_foreign(w, e->id));
    }
    return all;
}

void watch_leave(struct watch *w, double seconds)
{
    double waited = 0;
    if (w->entry_count == 0)
        return;
    rings_hang_up(w);
    for (; !look_who_left(w) && waited < seconds; waited += 1e-6 * AWAITED_MICROSECONDS)
        usleep(AWAITED_MICROSECONDS);
}

void entries_view(const struct watch *w, struct watch_found *ret)
{
    ret->entered = calloc(w->entry_count + 1, sizeof(*ret->entered));
    if (!ret->entered)
        base_out_of_memory();
    for (size_t i = 0; i < w->entry_count; i++) {
        const struct process_entry *e = &w->entries[i];
        struct watch_entered *x = &ret->entered[ret->entered_count++];
        const char *why = rings_are_foreign(w, e->id) ? "It " RINGS_FOREIGN "." : e->why;
        *x = (struct watch_entered){
            .pid = e->id.pid,
            .process = strdup(e->label),
            .command = strdup(e->command),
            .python = why ? NULL : strdup(e->python),
            .why = why ? strdup(why) : NULL,
            .stops = e->stops,
            .stopped_seconds = why ? (double) NAN : e->stopped,
            .longest_stop_seconds = why ? (double) NAN : e->longest_stop,
            .attached_seconds = why ? (double) NAN : w->last_tick - e->at,
            .counted = !why && watch_census(w, e->id.pid),
            .left = e->left,
            .ended = e->ended,
        };
        if (!x->process || !x->command || (!x->python && !x->why))
            base_out_of_memory();
    }
}

void entries_release(struct watch *w)
{
    for (size_t i = 0; i < w->entry_count; i++)
        entry_clear(&w->entries[i]);
    free(w->entries);
}

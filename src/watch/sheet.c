/* watch/sheet.c: the balance sheet: who has how much, adding up to the job's total. */
#include "watch/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sheet with less memory replaces a fuller one only after so many seconds: when a job ends, its
 * trainer gives back what it has, and its processes go one by one. */
#define TEARDOWN_SECONDS 5.0

void sheet_release(struct sheet *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->rows[i].label);
    free(s->rows);
    *s = (struct sheet){0};
}

static double present(double value)
{
    return isfinite(value) ? value : 0;
}

/* Its shares; without them a fork counts what it got since, the rest being its parent's, and any
 * other process what is resident: too much, where pages are shared. */
static struct proc_rollup shares_of(const struct member *m)
{
    struct proc_rollup r = m->rollup;
    if (isfinite(r.pss)) {
        double moved = m->now.anon - m->anon_at_rollup;
        r.pss += moved;
        r.pss_anon = present(r.pss_anon) + moved;
        return r;
    }
    const struct proc_status *s = &m->now;
    if (m->forked && m->rollup_error == 0)
        return (struct proc_rollup){.pss = present(member_own_anon(m)),
                                    .pss_anon = present(member_own_anon(m))};
    return (struct proc_rollup){.pss = present(s->rss),
                                .pss_anon = present(s->anon),
                                .pss_file = present(s->file),
                                .pss_shmem = present(s->shmem)};
}

static void add_member(struct watch_row *row, const struct member *m)
{
    struct proc_rollup r = shares_of(m);
    row->processes++;
    row->pss += r.pss;
    row->pss_first += isfinite(m->pss_first) ? m->pss_first : r.pss;
    row->anon += present(r.pss_anon);
    row->file += present(r.pss_file);
    row->shmem += present(r.pss_shmem);
    row->swap += present(m->now.swap);
    row->rss += present(m->now.rss);
    for (size_t i = 0; i < m->gpu_count; i++)
        row->gpu += m->gpu[i].samples > 0 ? m->gpu[i].last : 0;
}

static void add_row(struct watch_row *to, const struct watch_row *row)
{
    to->processes += row->processes;
    to->pss += row->pss;
    to->pss_first += row->pss_first;
    to->anon += row->anon;
    to->file += row->file;
    to->shmem += row->shmem;
    to->swap += row->swap;
    to->rss += row->rss;
    to->gpu += row->gpu;
}

/* Trainers and ranks, and whoever grows, stand for themselves; others with their role. */
static bool stands_alone(const struct member *m)
{
    return member_is_trainer(m) || member_is_wary(m);
}

static void append(struct sheet *s, const struct watch_row *row)
{
    s->rows = realloc(s->rows, (s->count + 1) * sizeof(*s->rows));
    if (!s->rows)
        base_out_of_memory();
    s->rows[s->count++] = *row;
    add_row(&s->total, row);
}

static void add_alone(struct sheet *s, const struct member *m)
{
    struct watch_row row = {0};
    char label[64];
    if (m->role.rank >= 0)
        snprintf(label, sizeof(label), "rank %d (%d)", m->role.rank, (int) m->id.pid);
    else
        snprintf(label, sizeof(label), "%s %d", proc_role_name(m->role.role), (int) m->id.pid);
    row.label = strdup(label);
    row.role = m->role.role;
    row.pid = m->id.pid;
    add_member(&row, m);
    row.grows = member_is_wary(m);
    append(s, &row);
}

static void add_role(struct watch *w, struct sheet *s, enum proc_role role)
{
    struct watch_row row = {.role = role};
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (member_is_alive(m) && m->role.role == role && !stands_alone(m))
            add_member(&row, m);
    }
    if (row.processes == 0)
        return;
    char label[64];
    const char *name = role == ROLE_UNKNOWN ? "other" : proc_role_name(role);
    if (row.processes > 1)
        snprintf(label, sizeof(label), "%u %ss", row.processes, name);
    else
        snprintf(label, sizeof(label), "%s", name);
    row.label = strdup(label);
    append(s, &row);
}

static void count_waiting(const struct watch *w, const struct member *m, struct sheet *s)
{
    double age = member_shares_age(w, m);
    s->unread += member_awaits_shares(w, m);
    s->late += isfinite(age) ? 1 : 0;
    s->late_most = isfinite(age) ? fmax(s->late_most, age) : s->late_most;
}

static void fill(struct watch *w, struct sheet *s)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (member_is_alive(w->members[i]) && stands_alone(w->members[i]))
            add_alone(s, w->members[i]);
    for (enum proc_role role = ROLE_UNKNOWN; role <= ROLE_HELPER; role++)
        add_role(w, s, role);
    for (size_t i = 0; i < w->member_count; i++)
        if (member_is_alive(w->members[i]))
            count_waiting(w, w->members[i], s);
}

static bool is_teardown(const struct sheet *last, const struct sheet *now)
{
    return now->total.pss < last->total.pss && now->seconds - last->seconds < TEARDOWN_SECONDS;
}

void sheet_take(struct watch *w, double seconds)
{
    if (w->alive == 0)
        return;
    struct sheet now = {.seconds = seconds, .system = w->job[JOB_SYSTEM].last, .shm = w->shm.used};
    fill(w, &now);
    if (is_teardown(&w->sheet, &now)) {
        sheet_release(&now);
        return;
    }
    sheet_release(&w->sheet);
    w->sheet = now;
    if (w->joined_late && w->held_first == 0)
        w->held_first = w->sheet.total.anon + w->sheet.total.shmem;
}

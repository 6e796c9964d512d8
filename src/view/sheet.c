/* view/sheet.c: the balance sheet: memory by process, adding up to the job's total. */
#include "view/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sheet with less memory replaces a fuller one only after this long: at the end of a job its
 * trainer frees memory, and its processes exit one by one. */
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

/* Its shares. Without them, a fork counts what it got since the fork, as the rest is its
 * parent's. Any other process counts its resident memory: too much where pages are shared. */
static struct proc_rollup shares_of(const struct member *m)
{
    struct proc_rollup r = m->shares.rollup;
    if (isfinite(r.pss)) {
        double moved = m->now.anon - m->shares.anon;
        r.pss += moved;
        r.pss_anon = present(r.pss_anon) + moved;
        return r;
    }
    const struct proc_status *s = &m->now;
    if (m->forked && m->shares.error == 0)
        return (struct proc_rollup){.pss = present(member_own_anon(m)),
                                    .pss_anon = present(member_own_anon(m))};
    return (struct proc_rollup){.pss = present(s->rss),
                                .pss_anon = present(s->anon),
                                .pss_file = present(s->file),
                                .pss_shmem = present(s->shmem)};
}

void sheet_add_member(struct view_row *row, const struct member *m)
{
    struct proc_rollup r = shares_of(m);
    row->processes++;
    row->pss += r.pss;
    row->pss_first += isfinite(m->shares.pss_first) ? m->shares.pss_first : r.pss;
    row->anon += present(r.pss_anon);
    row->file += present(r.pss_file);
    row->shmem += present(r.pss_shmem);
    row->swap += present(m->now.swap);
    row->rss += present(m->now.rss);
    for (size_t i = 0; i < m->gpu_count; i++)
        row->gpu += m->gpu[i].samples > 0 ? m->gpu[i].last : 0;
}

static void add_row(struct view_row *to, const struct view_row *row)
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

/* Trainers, ranks and growing processes get a row of their own; others are grouped by role. */
static bool stands_alone(const struct member *m)
{
    return member_is_trainer(m) || member_is_wary(m);
}

static void append(struct sheet *s, const struct view_row *row)
{
    s->rows = realloc(s->rows, (s->count + 1) * sizeof(*s->rows));
    if (!s->rows)
        base_out_of_memory();
    s->rows[s->count++] = *row;
    add_row(&s->total, row);
}

static void add_alone(struct sheet *s, const struct member *m)
{
    struct view_row row = {0};
    char label[MEMBER_LABEL];
    member_label(m, label);
    row.label = strdup(label);
    row.role = m->role.role;
    row.pid = m->id.pid;
    sheet_add_member(&row, m);
    row.grows = member_is_wary(m);
    append(s, &row);
}

static void add_role(const struct job *j, struct sheet *s, enum proc_role role)
{
    struct view_row row = {.role = role};
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        if (member_is_alive(m) && m->role.role == role && !stands_alone(m))
            sheet_add_member(&row, m);
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

/* Counts shares that wait for their turn: there are too many processes to read them all. */
static void count_waiting(const struct job *j, const struct member *m, double late_seconds,
                          struct sheet *s)
{
    double age = j->now - m->shares.seconds;
    if (!member_shares_are_due(m, j->now))
        return;
    s->unread += isnan(age) ? 1 : 0;
    s->late += age > late_seconds ? 1 : 0;
    s->late_most = age > late_seconds ? fmax(s->late_most, age) : s->late_most;
}

static void fill(const struct job *j, double late_seconds, struct sheet *s)
{
    for (size_t i = 0; i < j->member_count; i++)
        if (member_is_alive(j->members[i]) && stands_alone(j->members[i]))
            add_alone(s, j->members[i]);
    for (enum proc_role role = ROLE_UNKNOWN; role <= ROLE_HELPER; role++)
        add_role(j, s, role);
    for (size_t i = 0; i < j->member_count; i++)
        if (member_is_alive(j->members[i]))
            count_waiting(j, j->members[i], late_seconds, s);
}

static bool is_teardown(const struct sheet *last, const struct sheet *now)
{
    return now->total.pss < last->total.pss && now->seconds - last->seconds < TEARDOWN_SECONDS;
}

void sheet_take(struct sheet *s, const struct job *j, double seconds, double shm,
                double late_seconds)
{
    if (j->alive == 0)
        return;
    struct sheet now = {.seconds = seconds, .system = j->sums[JOB_SYSTEM].last, .shm = shm};
    fill(j, late_seconds, &now);
    if (is_teardown(s, &now)) {
        sheet_release(&now);
        return;
    }
    sheet_release(s);
    *s = now;
}

void sheet_view(const struct sheet *s, struct view *v)
{
    v->rows = calloc(s->count + 1, sizeof(*v->rows));
    if (!v->rows)
        base_out_of_memory();
    for (size_t i = 0; i < s->count; i++) {
        v->rows[i] = s->rows[i];
        v->rows[i].label = strdup(s->rows[i].label);
        if (!v->rows[i].label)
            base_out_of_memory();
    }
    v->row_count = s->count;
    v->total = s->total;
}

/* tests/unit/test_announce.c: the same growth in several processes is announced once. */
#include "report/report.h"
#include "watch/state.h"

#include "unit.h"

#include <stdio.h>

#define MB 1048576.0
#define WORKERS 2

/* A trainer with two data workers: each grows from one step to another. */
struct growth {
    double bytes_a_step;
    int from, to;
};

struct loader {
    struct job job;
    struct member *workers[WORKERS];
    double held[WORKERS];
    unsigned leaks, withdrawals;
};

static void loader_start(struct loader *l)
{
    *l = (struct loader){0};
    job_init(&l->job);
    for (int i = 0; i < WORKERS + 1; i++) {
        struct member *m = member_new((struct proc_id){100 + i, 1});
        m->role.role = i == 0 ? ROLE_TRAINER : ROLE_DATA_WORKER;
        m->parent = i == 0 ? (struct proc_id){0, 0} : (struct proc_id){100, 1};
        member_init_tracks(m);
        job_add_member(&l->job, m);
        l->job.alive++;
        if (i > 0)
            l->workers[i - 1] = m;
    }
}

static void hear(struct loader *l)
{
    for (struct news n; (n = job_next_news(&l->job)).kind != NEWS_END;) {
        l->leaks += n.kind == NEWS_LEAK;
        l->withdrawals += n.kind == NEWS_WITHDRAWN;
    }
}

/* Steps of 0.1 s. */
static void train(struct loader *l, int from, int to, const struct growth g[WORKERS])
{
    struct job *j = &l->job;
    for (int step = from; step <= to; step++) {
        j->now = 0.1 * step;
        for (int i = 0; i < WORKERS; i++) {
            struct member *m = l->workers[i];
            l->held[i] += step >= g[i].from && step < g[i].to ? g[i].bytes_a_step : 0;
            track_push(&m->tracks[MEMBER_ANON], &j->terms, j->now - 0.05, 100 * MB + l->held[i]);
            m->moves = m->moves || m->tracks[MEMBER_ANON].moves;
        }
        clock_mark(&j->clock, j->now, step);
        for (int i = 0; i < WORKERS; i++)
            track_mark(&l->workers[i]->tracks[MEMBER_ANON], &j->terms);
        if (step % 10 == 0) {
            announce(j, j->now);
            hear(l);
        }
    }
}

static unsigned leaks_of(const struct growth g[WORKERS], pid_t other_parent)
{
    struct loader l;
    loader_start(&l);
    if (other_parent > 0)
        l.workers[1]->parent.pid = other_parent;
    train(&l, 1, 2500, g);
    bool all =
        l.workers[0]->tracks[MEMBER_ANON].alarmed && l.workers[1]->tracks[MEMBER_ANON].alarmed;
    job_release(&l.job);
    return all ? l.leaks : 0;
}

TEST(announce__two_workers_of_one_loader_leak_alike_once)
{
    const struct growth g[WORKERS] = {{100000, 1, 9999}, {110000, 40, 9999}};
    CHECK(leaks_of(g, 0) == 1);
}

TEST(announce__workers_of_two_processes_leak_each_for_itself)
{
    const struct growth g[WORKERS] = {{100000, 1, 9999}, {110000, 40, 9999}};
    CHECK(leaks_of(g, 7) == 2);
}

TEST(announce__a_faster_leak_is_another)
{
    const struct growth g[WORKERS] = {{20000, 1, 9999}, {2000000, 40, 9999}};
    CHECK(leaks_of(g, 0) == 2);
}

TEST(announce__a_leak_of_a_later_horizon_is_another)
{
    const struct growth g[WORKERS] = {{100000, 1, 9999}, {110000, 1000, 9999}};
    CHECK(leaks_of(g, 0) == 2);
}

TEST(announce__each_of_an_announced_group_is_withdrawn)
{
    struct loader l;
    const struct growth g[WORKERS] = {{100000, 1, 1800}, {110000, 40, 1800}};
    loader_start(&l);
    train(&l, 1, 1700, g);
    CHECK(l.leaks == 1 && l.withdrawals == 0);
    train(&l, 1701, 6000, g);
    CHECK(l.leaks == 1 && l.withdrawals == 2);
    job_release(&l.job);
}

TEST(announce__an_alarm_names_how_many_grow_alike)
{
    struct loader l;
    struct view v = {0};
    struct buf text = BUF_INIT;
    const struct report_style plain = {.width = 100, .ascii = true};
    const struct growth g[WORKERS] = {{100000, 1, 9999}, {110000, 40, 9999}};
    loader_start(&l);
    train(&l, 1, 1500, g);
    view_judge(&l.job, &v);
    for (size_t i = 0; i < v.count; i++)
        if (v.series[i].info.pid == 101 && v.series[i].answer.verdict == VERDICT_LEAK)
            report_alarm(&text, &v, i, &plain);
    CHECK(strstr(buf_text(&text),
                 ": host.anon of 2 data workers grows 97.7 KB/step each (97.7 to 107 KB)"));
    view_release(&v);
    buf_release(&text);
    job_release(&l.job);
}

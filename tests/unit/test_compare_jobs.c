/* tests/unit/test_compare_jobs.c: whether two jobs have the same leak. */
#include "answers.h"
#include "unit.h"

#define SERIES 3

/* A trainer, a data worker and their sum; nothing leaks. */
struct made_job {
    struct series_info infos[SERIES];
    struct answer answers[SERIES];
    struct report_series series[SERIES];
    struct finding finding;
    struct findings found;
    struct job_answer answer;
    struct report_job job;
};

static void make_job(struct made_job *m, int64_t pid)
{
    static const char *const names[SERIES] = {"trainer host.anon", "worker host.anon",
                                              "whole job host.anon"};
    static const char *const roles[SERIES] = {"trainer", "data worker", NULL};
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < SERIES; i++) {
        m->infos[i] = (struct series_info){
            .name = names[i], .kind = "host.anon", .role = roles[i], .pid = roles[i] ? pid + i : 0};
        answer_clear(&m->answers[i]);
        m->answers[i].verdict = VERDICT_NO_LEAK;
        m->series[i] = (struct report_series){&m->infos[i], &m->answers[i], NULL};
    }
    m->answer = (struct job_answer){.verdict = VERDICT_NO_LEAK};
    m->finding = (struct finding){.holder = "list 'x'",
                                  .where = "main (/here/a.py:3)",
                                  .file = "/here/a.py",
                                  .line = 3,
                                  .cause = "growing-container",
                                  .bytes_per_step = 12 * KB};
    m->found = (struct findings){.findings = &m->finding, .count = 1};
    m->job = (struct report_job){.series = m->series, .count = SERIES, .answer = &m->answer};
}

static void leak(struct made_job *m, unsigned series, enum severity severity)
{
    m->answers[series].verdict = m->answer.verdict = VERDICT_LEAK;
    m->answers[series].severity = m->answer.severity = severity;
    m->answers[series].rate = 12 * KB;
    m->answer.deciding = series;
    m->job.found = &m->found;
}

TEST(compare_jobs__neither_leaks)
{
    struct made_job a, b;
    make_job(&a, 100);
    make_job(&b, 200);
    CHECK(report_jobs_leak_alike(&a.job, &b.job));
    b.answer.verdict = VERDICT_INCONCLUSIVE;
    CHECK(report_jobs_leak_alike(&a.job, &b.job));
}

TEST(compare_jobs__one_leaks)
{
    struct made_job a, b;
    make_job(&a, 100);
    make_job(&b, 200);
    leak(&b, 0, SEVERITY_LOW);
    CHECK(!report_jobs_leak_alike(&a.job, &b.job));
    CHECK(!report_jobs_leak_alike(&b.job, &a.job));
    leak(&a, 0, SEVERITY_NEGLIGIBLE);
    CHECK(!report_jobs_leak_alike(&a.job, &b.job));
}

TEST(compare_jobs__the_same_leak_has_other_pids_lines_and_folders)
{
    struct made_job a, b;
    make_job(&a, 100);
    make_job(&b, 200);
    leak(&a, 0, SEVERITY_LOW);
    leak(&b, 0, SEVERITY_HIGH);
    b.finding.file = "/there/a.py";
    b.finding.line = 7;
    CHECK(report_jobs_leak_alike(&a.job, &b.job));
    b.finding.holder = "list 'y'";
    CHECK(!report_jobs_leak_alike(&a.job, &b.job));
    b.job.found = NULL; /* a run without censuses says nothing about causes */
    CHECK(report_jobs_leak_alike(&a.job, &b.job));
}

TEST(compare_jobs__another_process_leaks)
{
    struct made_job a, b;
    make_job(&a, 100);
    make_job(&b, 200);
    leak(&a, 0, SEVERITY_LOW);
    leak(&b, 1, SEVERITY_LOW);
    CHECK(!report_jobs_leak_alike(&a.job, &b.job));
}

/* One worker of many may be too young to count as leaking; the sum adds nothing of its own. */
TEST(compare_jobs__how_many_leak_alike_does_not_matter)
{
    struct made_job a, b;
    make_job(&a, 100);
    make_job(&b, 200);
    b.infos[0].role = a.infos[0].role = "data worker";
    leak(&a, 0, SEVERITY_LOW);
    leak(&b, 0, SEVERITY_LOW);
    leak(&b, 1, SEVERITY_LOW);
    leak(&b, 2, SEVERITY_LOW);
    CHECK(report_jobs_leak_alike(&a.job, &b.job));
}

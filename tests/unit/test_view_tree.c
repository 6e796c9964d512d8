/* tests/unit/test_view_tree.c: the living processes of a job, and the verdict on one of them. */
#include "job/job.h"
#include "unit.h"
#include "view/view.h"

#include <stdlib.h>

static struct job job;
static struct view_tree tree;

static struct member *add(int pid, int parent, double bytes)
{
    struct member *m = member_new((struct proc_id){pid, (uint64_t) pid});
    m->parent = (struct proc_id){parent, (uint64_t) parent};
    m->role.role = parent ? ROLE_DATA_WORKER : ROLE_TRAINER;
    m->now.anon = m->now.rss = bytes;
    job_add_member(&job, m);
    return m;
}

static void look(void)
{
    view_tree_release(&tree);
    view_fill_tree(&job, &tree);
}

static const struct view_process *find(int64_t pid)
{
    for (size_t i = 0; i < tree.count; i++)
        if (tree.list[i].pid == pid)
            return &tree.list[i];
    return NULL;
}

TEST(tree__has_every_living_process_with_its_parent)
{
    job_init(&job);
    add(10, 0, 100);
    add(11, 10, 20);
    add(12, 10, 30)->ended = 5;
    look();
    CHECK(tree.count == 2);
    CHECK(find(10)->parent == 0 && find(11)->parent == 10 && !find(12));
    CHECK_TEXT(find(11)->label, "data worker 11");
    CHECK(find(11)->memory.role == ROLE_DATA_WORKER);
    job_release(&job);
}

TEST(tree__adds_a_process_to_all_its_ancestors)
{
    job_init(&job);
    add(10, 0, 100);
    add(11, 10, 20);
    add(12, 11, 3);
    look();
    CHECK_NEAR(find(10)->whole, 123, 0);
    CHECK_NEAR(find(11)->whole, 23, 0);
    CHECK_NEAR(find(12)->whole, 3, 0);
    CHECK_NEAR(find(10)->memory.pss, 100, 0);
    CHECK(find(10)->descendants == 2 && find(11)->descendants == 1 && find(12)->descendants == 0);
    job_release(&job);
}

TEST(tree__finds_the_next_ancestor_that_lives)
{
    job_init(&job);
    add(10, 0, 1);
    add(11, 10, 1)->ended = 5;
    add(12, 11, 1);
    add(13, 99, 1);
    look();
    CHECK(find(12)->parent == 10);
    CHECK(find(13)->parent == 0);
    job_release(&job);
}

TEST(tree__of_no_process_is_empty)
{
    job_init(&job);
    look();
    CHECK(tree.count == 0);
    job_release(&job);
}

/* ---- one process ---- */

static struct view_series series[4];

static void set(size_t i, int64_t pid, enum verdict verdict, enum severity severity)
{
    series[i] = (struct view_series){.info = {.pid = pid}};
    answer_clear(&series[i].answer);
    series[i].answer.verdict = verdict;
    series[i].answer.severity = severity;
    series[i].answer.samples = 100;
    series[i].answer.max = 1;
}

TEST(process__is_judged_by_its_own_series_alone)
{
    struct job_answer a;
    set(0, 0, VERDICT_LEAK, SEVERITY_HIGH);
    set(1, 7, VERDICT_NO_LEAK, SEVERITY_NONE);
    set(2, 8, VERDICT_NO_LEAK, SEVERITY_NONE);
    set(3, 8, VERDICT_LEAK, SEVERITY_LOW);
    const struct view v = {.series = series, .count = 4};
    view_judge_process(&v, 7, &a);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.deciding == 1 && a.no_leaks == 1);
    view_judge_process(&v, 8, &a);
    CHECK(a.verdict == VERDICT_LEAK && a.severity == SEVERITY_LOW && a.deciding == 3);
    view_judge_process(&v, 9, &a);
    CHECK(a.verdict == VERDICT_INCONCLUSIVE && a.deciding == SIZE_MAX);
}

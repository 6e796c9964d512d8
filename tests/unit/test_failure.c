/* tests/unit/test_failure.c: out of memory ends the program, or only the guarded work. */
#include "base/base.h"
#include "unit.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static int add_one(void *context)
{
    return ++*(int *) context;
}

static int run_out(void *context)
{
    *(int *) context += 1;
    base_out_of_memory();
}

/* For the outer guard, -ENOMEM of the inner one is a result like any other. */
static int run_out_within(void *context)
{
    int inner = base_guard(run_out, context), after = base_guard(add_one, context);
    return inner == -ENOMEM && after == 2 ? 7 : 0;
}

static int run_out_after(void *context)
{
    base_guard(run_out, context);
    return run_out(context);
}

TEST(failure__guarded_work_returns_its_result)
{
    int n = 0;
    CHECK(base_guard(add_one, &n) == 1 && n == 1);
}

TEST(failure__guarded_work_is_abandoned_where_memory_runs_out)
{
    int n = 0;
    CHECK(base_guard(run_out, &n) == -ENOMEM && n == 1);
    CHECK(base_guard(run_out, &n) == -ENOMEM && n == 2);
}

TEST(failure__guards_nest)
{
    int n = 0;
    CHECK(base_guard(run_out_within, &n) == 7);
    n = 0;
    CHECK(base_guard(run_out_after, &n) == -ENOMEM && n == 2);
}

#define SAID 64

/* Runs out of memory in a child; `ret` gets what it prints. Returns its wait status. */
static int end_of_child(char ret[SAID])
{
    int ends[2], n = 0, status = -1;
    if (pipe(ends) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        _exit(run_out(&n));
    }
    close(ends[1]);
    ssize_t len = read(ends[0], ret, SAID - 1);
    ret[len > 0 ? len : 0] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

static int end_of_child_within(void *context)
{
    return end_of_child(context);
}

TEST(failure__without_a_guard_the_program_ends_with_a_sentence)
{
    char said[SAID];
    int status = end_of_child(said);
    CHECK_TEXT(said, "tidemark: out of memory\n");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == FAILURE_STATUS);
}

TEST(failure__the_child_of_a_fork_is_not_guarded)
{
    char said[SAID];
    int status = base_guard(end_of_child_within, said);
    CHECK_TEXT(said, "tidemark: out of memory\n");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == FAILURE_STATUS);
}

/* tests/unit/test_proc_find.c: which process a part of a command line means. */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>

/* A machine of made-up processes. */
static char root[64];
static struct proc_match *list;
static size_t count;

/* `command` has its arguments separated by '|'; NULL: a kernel thread. */
static void add(int pid, int parent, const char *command, const char *variables)
{
    char path[128], text[512];
    snprintf(path, sizeof path, "%d/stat", pid);
    snprintf(text, sizeof text, "%d (p) S %d 2 3 0 -1 0 1 0 0 0 900 1 0 0 20 0 1 0 %d 4096 %d\n",
             pid, parent, pid, 1000 - pid);
    folder_write(root, path, text);
    snprintf(path, sizeof path, "%d/status", pid);
    folder_write(root, path, "VmSize:\t 90000 kB\nVmRSS:\t 80000 kB\nRssAnon:\t 70000 kB\n");
    const char *fields[][2] = {{"cmdline", command ? command : ""}, {"environ", variables}};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%d/%s", root, pid, fields[i][0]);
        FILE *file = fopen(path, "w");
        for (const char *s = fields[i][1]; file && s && *s; s++)
            fputc(*s == '|' ? '\0' : *s, file);
        if (!file || (fields[i][1] && *fields[i][1] && fputc('\0', file) == EOF) || fclose(file))
            abort();
    }
}

static void machine_start(void)
{
    folder_start(root);
    add(1, 0, "/sbin/init", NULL);
    add(2, 0, NULL, NULL);
    add(90, 1, "-bash", NULL);
    add(99, 90, "/usr/bin/tidemark|watch|--find|train.py", NULL);
}

static void machine_end(void)
{
    free(list);
    list = NULL;
    folder_end(root);
}

static int find(const char *pattern)
{
    free(list);
    list = NULL;
    count = 77;
    return proc_find(root, pattern, 99, &list, &count);
}

static bool found(size_t i, pid_t pid, enum proc_role role)
{
    return i < count && list[i].id.pid == pid && list[i].role == role;
}

TEST(find__takes_the_one_that_fits)
{
    machine_start();
    add(100, 1, "python|train.py|--token|abc", NULL);
    add(101, 1, "python|other.py", NULL);
    CHECK(find("train.py") == 1);
    CHECK(count == 1 && found(0, 100, ROLE_TRAINER));
    CHECK(list[0].id.start == 100);
    CHECK(list[0].rss == 900.0 * (double) sysconf(_SC_PAGESIZE));
    CHECK_TEXT(list[0].command, "python train.py --token ***");
    CHECK(find("python train") == 1);
    CHECK(find("nothing like that") == 0);
    CHECK(count == 0);
    machine_end();
}

TEST(find__reads_an_expression_where_the_text_fits_nothing)
{
    machine_start();
    add(100, 1, "python|train_7.py", NULL);
    add(101, 1, "python|a+b.py", NULL);
    CHECK(find("train_[0-9]+\\.py$") == 1);
    CHECK(found(0, 100, ROLE_TRAINER));
    CHECK(find("a+b") == 1);
    CHECK(found(0, 101, ROLE_TRAINER));
    CHECK(find("TRAIN") == 0);
    CHECK(find("train[") == -EINVAL);
    CHECK(find("") == -EINVAL);
    CHECK(!list && count == 77);
    machine_end();
}

TEST(find__sees_through_wrappers_and_leaves_workers_out)
{
    machine_start();
    add(100, 90, "bash|job.sh|train.py", NULL);
    add(101, 100, "uv|run|train.py", NULL);
    add(102, 101, "/x/python|train.py", NULL);
    add(103, 102, "/x/python|train.py", NULL);
    add(104, 102, "python|-c|from multiprocessing.resource_tracker import main;main(5)", NULL);
    CHECK(find("train.py") == 1);
    CHECK(found(0, 102, ROLE_TRAINER));
    /* The wrapper's own name leads to the same process. */
    CHECK(find("job.sh") == 1);
    CHECK(found(0, 102, ROLE_TRAINER));
    machine_end();
}

TEST(find__leaves_out_who_only_mentions_it)
{
    static const char *others[] = {
        "vim|train.py",
        "nano|train.py",
        "less|train.py",
        "tail|-f|train.py.log",
        "grep|train.py",
        "pgrep|-f|train.py",
        "watch|ls|train.py",
        "tmux|new|python train.py",
        "SCREEN|-S|train.py",
        "ssh|host|python train.py",
        "tidemark|run|python|train.py",
        "sh|-c|tidemark watch --find train.py",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        machine_start();
        add(100, 1, others[i], NULL);
        if (strncmp(others[i], "sh", 2) == 0)
            add(101, 100, "tidemark|watch|--find|train.py", NULL);
        if (find("train.py") != 0)
            UNIT_FAIL("%s", others[i]);
        machine_end();
    }
}

TEST(find__leaves_out_itself_and_the_shells_above)
{
    machine_start();
    add(90, 1, "bash|-c|tidemark watch --find marker", NULL);
    add(99, 90, "/odd/name|--find|marker", NULL);
    CHECK(find("marker") == 0);
    machine_end();
}

TEST(find__finds_what_tidemark_runs)
{
    machine_start();
    add(100, 90, "tidemark|run|python|train.py", NULL);
    add(101, 100, "tidemark|run|python|train.py", NULL);
    add(102, 100, "python|train.py", NULL);
    CHECK(find("train.py") == 1);
    CHECK(found(0, 102, ROLE_TRAINER));
    machine_end();
}

TEST(find__tells_independent_trainers_apart)
{
    machine_start();
    add(100, 90, "bash|sweep.sh", NULL);
    add(101, 100, "python|train.py|--lr|1", NULL);
    add(102, 100, "python|train.py|--lr|2", NULL);
    CHECK(find("train.py") == 2);
    /* The largest first. */
    CHECK(found(0, 101, ROLE_TRAINER) && found(1, 102, ROLE_TRAINER));
    CHECK(find("--lr 2") == 1);
    CHECK(found(0, 102, ROLE_TRAINER));
    CHECK(find("sweep.sh") == 2);
    machine_end();
}

TEST(find__takes_the_launcher_for_all_its_ranks)
{
    machine_start();
    add(100, 90, "python|/usr/bin/torchrun|--nproc_per_node=2|train.py", NULL);
    add(101, 100, "python|-u|train.py", "RANK=0|LOCAL_RANK=0");
    add(102, 100, "python|-u|train.py", "RANK=1|LOCAL_RANK=1");
    add(103, 101, "python|-u|train.py", "RANK=0|LOCAL_RANK=0");
    CHECK(find("train.py") == 1);
    CHECK(found(0, 100, ROLE_WRAPPER));
    /* The pattern fits the ranks, but not the launcher. */
    CHECK(find("-u train.py") == 1);
    CHECK(found(0, 100, ROLE_WRAPPER));
    machine_end();
}

TEST(find__takes_a_lone_rank_itself)
{
    machine_start();
    add(100, 90, "python|/usr/bin/torchrun|train.py", NULL);
    add(101, 100, "python|-u|train.py", "RANK=0|LOCAL_RANK=0");
    CHECK(find("train.py") == 1);
    CHECK(found(0, 101, ROLE_RANK));
    machine_end();
}

TEST(find__takes_the_first_where_it_started_the_other_ranks)
{
    machine_start();
    add(100, 90, "python|train.py", NULL);
    add(101, 100, "python|train.py", "LOCAL_RANK=1");
    CHECK(find("train.py") == 1);
    CHECK(found(0, 100, ROLE_RANK));
    machine_end();
}

TEST(find__takes_a_shell_that_is_between_two_commands)
{
    machine_start();
    add(100, 90, "bash|job.sh", NULL);
    add(101, 100, "sleep|60", NULL);
    CHECK(find("job.sh") == 1);
    CHECK(found(0, 100, ROLE_WRAPPER));
    CHECK(find("sleep 60") == 1);
    CHECK(found(0, 101, ROLE_TRAINER));
    machine_end();
}

TEST(find__survives_a_circle_of_parents)
{
    machine_start();
    add(100, 101, "python|train.py", NULL);
    add(101, 100, "python|train.py", NULL);
    add(102, 102, "python|train.py", NULL);
    CHECK(find("train.py") >= 1);
    machine_end();
}

TEST(find__works_on_this_machine)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sleep", "tidemark-test-marker-4711", "7777", (char *) NULL);
        _exit(1);
    }
    int r = 0;
    for (int i = 0; i < 500 && r == 0; i++) {
        free(list);
        r = proc_find("/proc", "test-marker-4711 7777", getpid(), &list, &count);
        usleep(10 * 1000);
    }
    CHECK(r == 1);
    CHECK(found(0, pid, ROLE_TRAINER));
    free(list);
    list = NULL;
    child_end(pid);
    CHECK(proc_find("/nonexistent", "x", 1, &list, &count) == -ENOENT);
}

/* ---- what looks like training ---- */

static int find_training(void)
{
    free(list);
    list = NULL;
    count = 77;
    return proc_find_training(root, 99, &list, &count);
}

/* Resident so many pages, with this library mapped. */
static void add_native(int pid, int pages, const char *library)
{
    char path[128], text[512];
    add(pid, 1, "/opt/engine/train|--gpus|8", NULL);
    snprintf(path, sizeof path, "%d/stat", pid);
    snprintf(text, sizeof text, "%d (p) S 1 2 3 0 -1 0 1 0 0 0 900 1 0 0 20 0 1 0 %d 4096 %d\n",
             pid, pid, pages);
    folder_write(root, path, text);
    snprintf(path, sizeof path, "%d/maps", pid);
    snprintf(text, sizeof text, "7f0000000000-7f0000001000 r-xp 00000000 08:01 7 %s\n", library);
    folder_write(root, path, text);
}

TEST(training__is_what_runs_python_or_has_a_library_of_deep_learning)
{
    machine_start();
    add(100, 1, "/usr/bin/python3|train.py", NULL);
    add(101, 1, "vim|train.py", NULL);
    add(102, 1, "nginx|-g", NULL);
    add_native(103, 20000, "/opt/lib/libtorch_cpu.so");
    add_native(104, 30000, "/opt/lib/libm.so");
    CHECK(find_training() == 2);
    CHECK(found(0, 103, ROLE_TRAINER) && list[0].has_library);
    CHECK(found(1, 100, ROLE_TRAINER) && !list[1].has_library);
    machine_end();
}

TEST(training__is_the_launcher_of_several_ranks)
{
    machine_start();
    add(100, 1, "python|/usr/bin/torchrun|train.py", NULL);
    add(101, 100, "python|-u|train.py", "RANK=0|LOCAL_RANK=0");
    add(102, 100, "python|-u|train.py", "RANK=1|LOCAL_RANK=1");
    CHECK(find_training() == 1);
    CHECK(found(0, 100, ROLE_WRAPPER));
    machine_end();
}

TEST(training__is_no_tool_in_python_and_not_this_one)
{
    machine_start();
    add(100, 1, "/usr/bin/python3|/usr/bin/tensorboard|--logdir|x", NULL);
    add(101, 1, "python3|-m|tidemark|top", NULL);
    add(102, 101, "/usr/lib/tidemark|top", NULL);
    CHECK(find_training() == 0 && count == 0);
    machine_end();
}

/* tests/unit/test_roles.c: which processes wrap, train and help, by real command lines. */
#include "proc/proc.h"
#include "unit.h"

#include <stdlib.h>

#define MAX 16

/* A tree being built: add() returns the index of the process. */
static struct role_evidence tree[MAX];
static struct role_finding found[MAX];
static char texts[MAX][512];
static size_t count;

static void start(void)
{
    count = 0;
}

/* `command` has its arguments separated by '|'. 500 MB and 100 s of CPU unless said otherwise. */
static int add(int parent, const char *command)
{
    size_t i = count++;
    size_t len = strlen(command);
    memcpy(texts[i], command, len + 1);
    for (size_t k = 0; k < len; k++)
        texts[i][k] = texts[i][k] == '|' ? '\0' : texts[i][k];
    tree[i] = (struct role_evidence){.arguments = texts[i],
                                     .arguments_len = len + 1,
                                     .parent = parent,
                                     .anon = 500 * 0x1p20,
                                     .peak_anon = NAN,
                                     .cpu_seconds = 100,
                                     .age_seconds = 200};
    return (int) i;
}

static int fork_of(int parent)
{
    int i = add(parent, "");
    tree[i].arguments = tree[parent].arguments;
    tree[i].arguments_len = tree[parent].arguments_len;
    tree[i].rank = tree[parent].rank;
    tree[i].local_rank = tree[parent].local_rank;
    tree[i].forked = true;
    return i;
}

static void weigh(int i, double mb, double cpu_seconds)
{
    tree[i].anon = mb * 0x1p20;
    tree[i].cpu_seconds = cpu_seconds;
}

static enum proc_role role(int i)
{
    roles_judge(tree, count, found);
    return found[i].role;
}

TEST(roles__have_names)
{
    CHECK_TEXT(proc_role_name(ROLE_DATA_WORKER), "data worker");
    CHECK_TEXT(proc_role_name(ROLE_UNKNOWN), "unknown");
    CHECK_TEXT(proc_role_name(ROLE_HELPER), "helper");
}

TEST(roles__give_a_lone_process_the_work)
{
    static const char *commands[] = {
        "python|train.py", "./a.out", "bash|job.sh", "sleep|100", "torchrun|x.py", "make", "",
        "python"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        start();
        CHECK(role(add(-1, commands[i])) == ROLE_TRAINER);
        CHECK_TEXT(found[0].why, "the only process of the job");
    }
}

TEST(roles__know_wrappers_by_name)
{
    static const char *wrappers[] = {
        "uv|run|train.py",
        "bash|job.sh",
        "-bash",
        "/bin/sh|-c|python train.py",
        "env|FOO=1|python|train.py",
        "time|python|train.py",
        "nice|-n|5|python",
        "numactl|-N|0|python",
        "sudo|-E|python",
        "srun|python|train.py",
        "mpirun|-np|1|python",
        "/opt/conda/bin/python|/opt/conda/bin/conda|run|-n|x|python|train.py",
        "/usr/bin/python3|/usr/bin/poetry|run|python|train.py",
        "pixi|run|train",
        "xvfb-run|python",
        "stdbuf|-oL|python",
        "nohup|python",
        "setsid|python",
        "timeout|60|python|train.py",
        "/sbin/tini|--|python",
        "dumb-init|python",
        "/usr/bin/python3|/usr/local/bin/torchrun|--nproc_per_node=1|train.py",
        "python|-u|-m|torch.distributed.run|--nproc_per_node=1|train.py",
        "python3.11|-um|torch.distributed.launch|train.py",
        "python|-X|dev|-W|ignore|-m|accelerate.commands.launch|train.py",
        "/venv/bin/python|/venv/bin/accelerate|launch|train.py",
        "/venv/bin/python3|/venv/bin/deepspeed|train.py",
        "/usr/bin/python3|-u|-m|deepspeed.launcher.launch|train.py",
        "tidemark|run|python|train.py",
        "tmux: server",
        "sshd: me@pts/0",
        "slurmstepd: [123.batch]",
        "jupyter-lab",
    };
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        start();
        int wrapper = add(-1, wrappers[i]), trainer = add(wrapper, "python|train.py");
        /* By name alone, whatever its size. */
        if (role(wrapper) != ROLE_WRAPPER)
            UNIT_FAIL("%s: %s", wrappers[i], found[wrapper].why);
        CHECK(found[trainer].role == ROLE_TRAINER);
    }
    CHECK_TEXT(found[0].why, "jupyter-lab starts other programs and waits for them");
    CHECK_TEXT(found[1].why, "started by jupyter-lab, and not a wrapper itself");
}

TEST(roles__take_no_script_for_a_wrapper_of_that_name)
{
    static const char *trainers[] = {"python|time.py",
                                     "python|uv.py",
                                     "python|-m|ipykernel_launcher|-f|x.json",
                                     "python|-c|import x",
                                     "python3|-m|train",
                                     "python|-|torchrun",
                                     "./shell"};
    for (size_t i = 0; i < sizeof trainers / sizeof *trainers; i++) {
        start();
        int trainer = add(-1, trainers[i]), other = add(trainer, "./other");
        CHECK(role(trainer) == ROLE_TRAINER);
        CHECK(found[other].role == ROLE_HELPER);
    }
}

TEST(roles__see_through_several_wrappers)
{
    start();
    int a = add(-1, "bash|job.sh"), b = add(a, "timeout|60|uv|run|train.py");
    int c = add(b, "uv|run|train.py"), d = add(c, "/x/.venv/bin/python3|train.py");
    int tee = add(a, "tee|log"), subshell = fork_of(a);
    weigh(subshell, 1, 0);
    CHECK(role(a) == ROLE_WRAPPER);
    CHECK(found[b].role == ROLE_WRAPPER && found[c].role == ROLE_WRAPPER);
    CHECK(found[d].role == ROLE_TRAINER);
    CHECK(found[tee].role == ROLE_HELPER);
    CHECK(found[subshell].role == ROLE_WRAPPER);
}

TEST(roles__tell_ranks_from_their_workers)
{
    start();
    int torchrun = add(-1, "python|/usr/bin/torchrun|--nproc_per_node=2|train.py");
    int ranks[2], workers[2];
    static const char *numbers[] = {"6", "7"}, *locals[] = {"0", "1"};
    for (int i = 0; i < 2; i++) {
        ranks[i] = add(torchrun, "/usr/bin/python|-u|train.py");
        tree[ranks[i]].rank = numbers[i];
        tree[ranks[i]].local_rank = locals[i];
        workers[i] = fork_of(ranks[i]);
    }
    CHECK(role(torchrun) == ROLE_WRAPPER);
    for (int i = 0; i < 2; i++) {
        CHECK(found[ranks[i]].role == ROLE_RANK && found[ranks[i]].rank == 6 + i);
        CHECK(found[workers[i]].role == ROLE_DATA_WORKER && found[workers[i]].rank == -1);
    }
    CHECK_TEXT(found[ranks[1]].why, "started by torchrun with RANK=7");
    CHECK_TEXT(found[workers[1]].why, "forked by the rank without exec");
}

TEST(roles__know_an_unknown_launcher_by_the_ranks_it_starts)
{
    start();
    int launcher = add(-1, "python|launch_all.py"), first = add(launcher, "python|train.py");
    int second = add(launcher, "python|train.py");
    tree[first].rank = "0";
    tree[second].rank = "1";
    CHECK(role(launcher) == ROLE_WRAPPER);
    CHECK(found[first].role == ROLE_RANK && found[second].role == ROLE_RANK);
    CHECK(found[second].rank == 1);
}

TEST(roles__take_the_first_process_for_rank_0_where_it_started_the_others)
{
    start();
    int main_process = add(-1, "python|train.py"), second = add(main_process, "python|train.py");
    tree[second].forked = true; /* the same arguments, but by exec, as Lightning does */
    tree[second].local_rank = "1";
    int worker = fork_of(second);
    CHECK(role(main_process) == ROLE_RANK);
    CHECK(found[main_process].rank == 0);
    CHECK(found[second].role == ROLE_RANK && found[second].rank == 1);
    CHECK(found[worker].role == ROLE_DATA_WORKER);
}

TEST(roles__take_no_tool_for_a_rank)
{
    start();
    /* The trainer set RANK at run time, so only its children show it. */
    int trainer = add(-1, "python|train.py"), tool = add(trainer, "./upload|log");
    int worker = add(trainer, "python|-c|from multiprocessing.spawn import spawn_main; x");
    tree[tool].rank = tree[worker].rank = "0";
    weigh(tool, 3, 0.1);
    CHECK(role(trainer) == ROLE_TRAINER);
    CHECK(found[tool].role == ROLE_HELPER);
    CHECK(found[worker].role == ROLE_DATA_WORKER);
}

TEST(roles__take_a_rank_of_the_whole_container)
{
    start();
    int shell = add(-1, "bash|entry.sh"), trainer = add(shell, "python|train.py");
    tree[shell].rank = tree[trainer].rank = "3";
    CHECK(role(shell) == ROLE_WRAPPER);
    CHECK(found[trainer].role == ROLE_RANK && found[trainer].rank == 3);
    tree[trainer].rank = tree[shell].rank = "x3";
    CHECK(role(trainer) == ROLE_RANK);
    CHECK(found[trainer].rank == -1);
}

TEST(roles__know_workers_of_every_kind)
{
    start();
    int trainer = add(-1, "python|train.py");
    int named = add(trainer, "python|other.py");
    tree[named].comm = "pt_data_worker";
    int forked = fork_of(trainer), grandchild = fork_of(forked);
    int spawned = add(trainer, "python|-c|from multiprocessing.spawn import spawn_main; "
                               "spawn_main(tracker_fd=5, pipe_handle=7)|--multiprocessing-fork");
    int tracker =
        add(trainer, "python|-c|from multiprocessing.resource_tracker import main;main(5)");
    int server = add(trainer, "python|-c|from multiprocessing.forkserver import main; main(1)");
    int served = fork_of(server);
    int compiler = add(trainer, "python|/x/torch/_inductor/compile_worker/__main__.py|"
                                "--pickler=torch._inductor.SubprocPickler|--workers=32");
    int compiler_fork = fork_of(compiler), ptxas = add(compiler_fork, "/x/bin/ptxas|-O3");
    int smi = add(trainer, "nvidia-smi|-l"), shell = add(trainer, "sh|-c|df -h");
    CHECK(role(trainer) == ROLE_TRAINER);
    CHECK(found[named].role == ROLE_DATA_WORKER);
    CHECK(found[forked].role == ROLE_DATA_WORKER && found[grandchild].role == ROLE_DATA_WORKER);
    CHECK(found[spawned].role == ROLE_DATA_WORKER);
    CHECK(found[tracker].role == ROLE_HELPER && found[server].role == ROLE_HELPER);
    CHECK(found[served].role == ROLE_DATA_WORKER);
    CHECK(found[compiler].role == ROLE_COMPILE_WORKER);
    CHECK(found[compiler_fork].role == ROLE_COMPILE_WORKER);
    CHECK(found[ptxas].role == ROLE_COMPILE_WORKER);
    CHECK(found[smi].role == ROLE_HELPER && found[shell].role == ROLE_HELPER);
    CHECK_TEXT(found[forked].why, "forked by the trainer without exec");
    CHECK_TEXT(found[compiler].why, "torch's compile worker compiles code");
}

TEST(roles__know_workers_of_a_program_in_c)
{
    start();
    int trainer = add(-1, "./train|--fast"), worker = fork_of(trainer);
    weigh(worker, 2000, 400);
    CHECK(role(trainer) == ROLE_TRAINER);
    CHECK(found[worker].role == ROLE_DATA_WORKER);
}

TEST(roles__know_helpers_by_name)
{
    static const char *helpers[] = {"python|/usr/bin/tensorboard|--logdir|x",
                                    "/x/wandb/bin/wandb-core|--port-filename|y",
                                    "wandb-service(2-123-s-456)",
                                    "/x/ray/core/src/ray/raylet/raylet|--x",
                                    "gcs_server|--x",
                                    "ray::IDLE",
                                    "tee|log.txt"};
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        start();
        int shell = add(-1, "bash"), helper = add(shell, helpers[i]);
        int trainer = add(shell, "python|train.py");
        if (role(helper) != ROLE_HELPER)
            UNIT_FAIL("%s: %s", helpers[i], found[helper].why);
        CHECK(found[trainer].role == ROLE_TRAINER);
    }
}

TEST(roles__see_who_only_waits)
{
    start();
    int launcher = add(-1, "python|launch.py"), shell = add(launcher, "sh|-c|python real.py");
    int real = add(shell, "python|real.py");
    weigh(launcher, 20, 0.5);
    weigh(shell, 1, 0);
    CHECK(role(launcher) == ROLE_WRAPPER);
    CHECK(found[shell].role == ROLE_WRAPPER && found[real].role == ROLE_TRAINER);
    CHECK_TEXT(found[launcher].why, "waits for real.py: 0 % of its CPU time, 4 % of its memory");
    /* The first seconds: each process has only started its interpreter. */
    weigh(launcher, 20, 0.4);
    weigh(real, 500, 1.5);
    CHECK(role(launcher) == ROLE_WRAPPER);
    /* A fork counts its parent's memory as its own and has done nothing. */
    int worker = fork_of(real);
    weigh(worker, 600, 0);
    CHECK(role(launcher) == ROLE_WRAPPER);
    CHECK(found[worker].role == ROLE_DATA_WORKER);
    weigh(real, 500, 0.3);
    CHECK(role(launcher) == ROLE_TRAINER);
    weigh(real, 500, 100);
    /* It works itself, so the process it started is a helper. */
    weigh(launcher, 20, 50);
    CHECK(role(launcher) == ROLE_TRAINER);
    CHECK(found[real].role == ROLE_HELPER);
    /* It holds more than a fifth. */
    weigh(launcher, 150, 0.5);
    CHECK(role(launcher) == ROLE_TRAINER);
    /* It held that much once. */
    weigh(launcher, 20, 0.5);
    tree[launcher].peak_anon = 0x1p30;
    CHECK(role(launcher) == ROLE_TRAINER);
    /* Nothing is known: no evidence. */
    tree[launcher].anon = tree[launcher].peak_anon = NAN;
    CHECK(role(launcher) == ROLE_TRAINER);
}

TEST(roles__see_that_spawned_ones_do_the_work)
{
    static const char spawned[] =
        "python|-c|from multiprocessing.spawn import spawn_main|--multiprocessing-fork";
    start();
    int launcher = add(-1, "python|ddp.py"), first = add(launcher, spawned);
    int second = add(launcher, spawned);
    weigh(launcher, 200, 4);
    CHECK(role(launcher) == ROLE_WRAPPER);
    CHECK(found[first].role == ROLE_RANK && found[second].role == ROLE_RANK);
    CHECK(found[second].rank == -1);
    weigh(launcher, 400, 4);
    CHECK(role(launcher) == ROLE_TRAINER);
    CHECK(found[first].role == ROLE_DATA_WORKER);
}

TEST(roles__allow_several_trainings)
{
    start();
    int shell = add(-1, "bash|two.sh"), a = add(shell, "python|a.py");
    int b = add(shell, "python|b.py"), monitor = add(shell, "python|monitor.py");
    weigh(b, 100, 30);
    weigh(monitor, 10, 1);
    int child = fork_of(monitor);
    CHECK(role(shell) == ROLE_WRAPPER);
    CHECK(found[a].role == ROLE_TRAINER && found[b].role == ROLE_TRAINER);
    CHECK(found[monitor].role == ROLE_HELPER);
    CHECK_TEXT(found[monitor].why, "small and idle beside a.py");
    CHECK(found[child].role == ROLE_HELPER);
}

TEST(roles__promote_somebody_where_none_is_left)
{
    start();
    int shell = add(-1, "bash|-c|sleep 5"), sleep = add(shell, "sleep|5");
    CHECK(role(shell) == ROLE_WRAPPER);
    CHECK(found[sleep].role == ROLE_TRAINER);
    start();
    int a = add(-1, "bash|x.sh"), b = fork_of(a), c = fork_of(a);
    weigh(c, 600, 1);
    CHECK(role(a) == ROLE_WRAPPER);
    CHECK(found[b].role == ROLE_WRAPPER && found[c].role == ROLE_TRAINER);
}

TEST(roles__clean_what_they_quote)
{
    start();
    int shell = add(-1, "bash"), trainer = add(shell, "python|\x1b[31mtrain\xff.py");
    int tool = add(trainer, "./x");
    weigh(tool, 5000, 5000);
    weigh(trainer, 1, 1);
    CHECK(role(trainer) == ROLE_WRAPPER);
    start();
    int evil = add(-1, "\x1b[31mevil");
    add(evil, "./x");
    tree[1].rank = "0123456789\x1b[31m0123456789";
    roles_judge(tree, count, found);
    for (const char *s = found[1].why; *s; s++)
        CHECK((unsigned char) *s >= 0x20);
}

TEST(roles__survive_a_circle_of_parents)
{
    start();
    int a = add(1, "python|a.py"), b = add(0, "python|b.py"), c = add(-1, "python|c.py");
    int self = add(3, "x");
    CHECK(role(a) == ROLE_UNKNOWN);
    CHECK(found[b].role == ROLE_UNKNOWN && found[self].role == ROLE_UNKNOWN);
    CHECK(found[c].role == ROLE_TRAINER);
    roles_judge(NULL, 0, NULL);
}

TEST(roles__believe_who_counts_steps)
{
    start();
    int parent = add(-1, "python|launch.py"), worker = fork_of(parent), trainer = fork_of(parent);
    CHECK(role(trainer) == ROLE_DATA_WORKER);
    tree[trainer].counts_steps = true;
    CHECK(role(trainer) == ROLE_TRAINER);
    CHECK(role(worker) == ROLE_DATA_WORKER);
    CHECK_TEXT(found[trainer].why, "it reports training steps");
}

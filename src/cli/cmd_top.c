/* cli/cmd_top.c: tidemark top: watches a running job on the full screen. */
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/target.h"
#include "cli/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_head[] =
    "usage: tidemark top [--pid N | --find PATTERN [--wait]] [options]\n"
    "\n"
    "Watches the memory of a running job as 'tidemark watch' does, on the full screen:\n"
    "the tree of its processes with history, floor, rate, verdict and the time to the\n"
    "limit; a chart and the holders of the selected one. '?' lists the keys. Leaving\n"
    "with q prints the report; the job goes on. Without a job, tidemark offers those\n"
    "that look like training.\n"
    "\n"
    "  --pid N                 this process and all its descendants\n"
    "  --find PATTERN          the trainer whose command line contains PATTERN or\n"
    "                          matches it as a regular expression; skips wrappers\n"
    "  --wait                  wait until there is one\n"
    "  --duration S, --stop-after-steps N\n"
    "                          stop watching after that; the job goes on\n"
    "  --no-inspect            attach to no process\n"
    "  --no-trace              do not sample allocations of what seems to leak\n";

static const char help_tail[] = "\n"
                                "example: tidemark top --find train.py\n";

#define PATIENCE_SECONDS 20.0

static int check_terminal(void)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return 0;
    cli_say("top: standard %s is no terminal; without one, use 'tidemark watch'",
            isatty(STDOUT_FILENO) ? "input" : "output");
    return -ENOTTY;
}

/* Its text would go to the screen. */
static int check_json(const struct live_options *o)
{
    if (!o->json || strcmp(o->json, "-") != 0)
        return 0;
    cli_say("top: --json takes a file here: standard output is the screen");
    return -EINVAL;
}

static int say_none(void)
{
    cli_say("top: no running job looks like training; type: tidemark top --pid N, tidemark top "
            "--find PATTERN --wait, or tidemark run -- COMMAND");
    return STATUS_ERROR;
}

/* Offers jobs on the screen, which stays open. */
static int choose(struct top *top, struct target *t, const struct view_options *view)
{
    struct proc_match *list;
    size_t count;
    pid_t pid;
    int found = proc_find_training("/proc", getpid(), &list, &count);
    if (found <= 0)
        return say_none();
    free(list);
    int r = top_open(top, view, NULL);
    if (r != STATUS_FINE)
        return r;
    if (top_choose(top, &pid) < 0)
        return -ECANCELED;
    t->pid = pid;
    return STATUS_FINE;
}

static int watch(const struct live_options *o, struct live_job job, struct top *top,
                 const struct buf *arguments)
{
    struct buf command = BUF_INIT;
    proc_add_command(&command, buf_text(arguments), arguments->len);
    int unused, r = top->screen ? STATUS_FINE : top_open(top, &o->view, NULL);
    if (r == STATUS_FINE) {
        screen_set_command(top->screen, buf_text(&command));
        struct live_display display = top_display(top);
        job.display = &display;
        job.argv = target_split(arguments, &job.argc);
        r = live_watch(o, &job, &unused);
        free((void *) job.argv);
    }
    top_close(top);
    buf_release(&command);
    return r;
}

/* What the options say is complete; the job may not be known yet. */
static int run(const struct live_options *o, struct target *t, struct live_job job)
{
    struct top top = {0};
    struct buf arguments = BUF_INIT;
    pid_t pid;
    if (t->pid == 0 && !t->pattern) {
        int r = choose(&top, t, &o->view);
        if (r != STATUS_FINE)
            return r == -ECANCELED ? STATUS_FINE : r;
    }
    int r = target_find(t, "top", &pid, &arguments);
    job.pids = &pid;
    job.pid_count = 1;
    int status = r < 0 ? STATUS_ERROR : watch(o, job, &top, &arguments);
    top_close(&top);
    buf_release(&arguments);
    return status;
}

int cmd_top(int argc, char **argv)
{
    struct live_options o = {0};
    struct target t = {0};
    bool no_inspect = false, no_trace = false;
    const struct option_spec specs[] = {
        LIVE_OPTIONS(&o),
        TARGET_OPTIONS(&t),
        {"no-inspect", OPTION_FLAG, &no_inspect, NULL, NULL},
        {"no-trace", OPTION_FLAG, &no_trace, NULL, NULL},
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return live_print_help(help_head, help_tail);
    bool has_target = operands > 0 || t.pid != 0 || t.pattern || t.wait;
    if (r < 0 || (has_target && target_check(&t, argv[0], operands) < 0) ||
        live_options_check(&o, argv[0]) < 0 || check_json(&o) < 0 || check_terminal() < 0)
        return STATUS_ERROR;
    struct live_job job = {
        .attach = no_inspect ? LIVE_NAME_SUSPECTS : LIVE_ATTACH_SUSPECTS,
        .patience = PATIENCE_SECONDS,
        .no_trace = no_trace,
    };
    return run(&o, &t, job);
}

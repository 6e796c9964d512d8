/* cli/cmd_watch.c: tidemark watch: a job that is running already, or will be. */
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/target.h"

#include <stdlib.h>

static const char help_head[] =
    "usage: tidemark watch (--pid N | --find PATTERN [--wait]) [options]\n"
    "\n"
    "Watches the memory of a running job and all its processes, live, with a report when it\n"
    "ends or when you press Ctrl-C. A Python process that seems to leak is entered, once, to see\n"
    "who holds what grows; when watching ends it is left with one idle library in it. Nothing\n"
    "else of the job is touched, and nothing at all with --no-inspect.\n"
    "\n"
    "  --pid N                    this process and all that descend from it\n"
    "  --find PATTERN             the trainer whose command line holds PATTERN (or matches it as\n"
    "                             a regular expression); wrappers around it are passed over\n"
    "  --wait                     waits until there is one\n"
    "  --duration S, --stop-after-steps N\n"
    "                             stops watching after so long; the job goes on\n"
    "  --no-inspect               no process is entered\n";

static const char help_tail[] = "\n"
                                "example: tidemark watch --find train.py\n";

#define PATIENCE_SECONDS 20.0

int cmd_watch(int argc, char **argv)
{
    struct live_options o = {0};
    struct target t = {0};
    bool no_inspect = false;
    const struct option_spec specs[] = {
        LIVE_OPTIONS(&o),
        TARGET_OPTIONS(&t),
        {"no-inspect", OPTION_FLAG, &no_inspect, NULL, NULL},
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return live_print_help(help_head, help_tail);
    if (r < 0 || target_check(&t, argv[0], operands) < 0 || live_options_check(&o, argv[0]) < 0)
        return STATUS_ERROR;
    pid_t pid;
    struct buf arguments = BUF_INIT;
    if (target_find(&t, argv[0], &pid, &arguments) < 0) {
        buf_release(&arguments);
        return STATUS_ERROR;
    }
    struct live_job job = {
        .pids = &pid,
        .pid_count = 1,
        .enters = no_inspect ? LIVE_NAMES_SUSPECTS : LIVE_ENTERS_SUSPECTS,
        .patience = PATIENCE_SECONDS,
    };
    job.argv = target_split(&arguments, &job.argc);
    int unused, status = live_watch(&o, &job, &unused);
    free((void *) job.argv);
    buf_release(&arguments);
    return status;
}

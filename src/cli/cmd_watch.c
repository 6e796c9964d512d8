/* cli/cmd_watch.c: tidemark watch: watches a job that already runs or will start. */
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/target.h"
#include "cli/ui.h"

#include <stdlib.h>

static const char help_head[] =
    "usage: tidemark watch (--pid N | --find PATTERN [--wait]) [options]\n"
    "\n"
    "Watches the memory of a running job and all its processes. Reports when the job\n"
    "ends or you press Ctrl-C. tidemark attaches once to a Python process that seems\n"
    "to leak, to find what holds the growing memory, and detaches at the end; only an\n"
    "idle probe library stays loaded. --no-inspect leaves the job untouched.\n"
    "\n"
    "  --pid N                 this process and all its descendants\n"
    "  --find PATTERN          the trainer whose command line contains PATTERN or\n"
    "                          matches it as a regular expression; skips wrappers\n"
    "  --wait                  wait until there is one\n"
    "  --ui[=PORT]             show the run in a browser while it goes on: prints the\n"
    "                          address\n"
    "  --duration S, --stop-after-steps N\n"
    "                          stop watching after that; the job goes on\n"
    "  --no-inspect            attach to no process\n"
    "  --no-trace              do not sample allocations of what seems to leak\n";

static const char help_tail[] = "\n"
                                "example: tidemark watch --find train.py\n";

#define PATIENCE_SECONDS 20.0

int cmd_watch(int argc, char **argv)
{
    struct live_options o = {0};
    struct target t = {0};
    bool no_inspect = false, no_trace = false;
    const struct option_spec specs[] = {
        LIVE_OPTIONS(&o),
        TARGET_OPTIONS(&t),
        {"no-inspect", OPTION_FLAG, &no_inspect, NULL, NULL},
        {"no-trace", OPTION_FLAG, &no_trace, NULL, NULL},
        UI_OPTION(&o.ui),
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return live_print_help(help_head, help_tail);
    if (r < 0 || target_check(&t, argv[0], operands) < 0 || live_options_check(&o, argv[0]) < 0 ||
        live_keep_output(&o) < 0)
        return STATUS_ERROR;
    pid_t pid;
    struct buf arguments = BUF_INIT;
    if (target_find(&t, argv[0], &pid, &arguments) < 0 || ui_start(&o, argv[0]) < 0) {
        buf_release(&arguments);
        return STATUS_ERROR;
    }
    struct live_job job = {
        .pids = &pid,
        .pid_count = 1,
        .attach = no_inspect ? LIVE_NAME_SUSPECTS : LIVE_ATTACH_SUSPECTS,
        .patience = PATIENCE_SECONDS,
        .no_trace = no_trace,
    };
    job.argv = target_split(&arguments, &job.argc);
    int unused, status = live_watch(&o, &job, &unused);
    free((void *) job.argv);
    buf_release(&arguments);
    return status;
}

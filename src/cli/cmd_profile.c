/* cli/cmd_profile.c: tidemark profile: what grows in a running job, and its holders. */
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tidemark profile (--pid N | --find PATTERN) [options]\n"
    "\n"
    "Attaches to a running Python job, whoever started it, counts its objects at\n"
    "comparable moments, detaches, and reports what grows, what holds it, why, and\n"
    "whether it leaks. The job pauses for milliseconds; an idle probe library stays\n"
    "loaded. Ctrl-C ends it early and reports what was seen so far.\n"
    "\n"
    "  --pid N                 this process; for a wrapper (torchrun, a shell) the\n"
    "                          trainers below it\n"
    "  --find PATTERN          the trainer whose command line contains PATTERN\n"
    "  --wait                  wait until there is one\n"
    "  --steps N               measure N steps\n"
    "  --seconds S             measure S seconds\n"
    "                          (default: 30 s, or until 50 steps, at most 300 s)\n"
    "  --trace[=SIZE]          sample allocations from the start, about one every SIZE\n"
    "                          bytes (512KB), and report the lines whose memory stays\n"
    "  --no-trace              never sample them, also if the process seems to leak\n"
    "  --full                  report everything: all series, balance sheet, notes\n"
    "  --json [FILE]           write the answer as JSON; to standard output, which\n"
    "                          then carries nothing else, without FILE or with -\n"
    "  -o, --output FILE       keep the run file\n"
    "  --step-regex RE         regular expression for steps in its output, if that is\n"
    "                          a file; its first group captures the step number\n"
    "  --fail-on WHAT[,WHAT]   exit 3 on leak[:negligible|low|medium|high] of that\n"
    "                          severity or above (default: low), 4 on inconclusive\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "\n"
    "Steps are PyTorch optimizer steps, or the steps its output counts. Without steps\n"
    "tidemark judges by time.\n"
    "\n"
    "exit status: 0; 1 if tidemark cannot attach (it says what would help); 3 or 4 by\n"
    "--fail-on\n"
    "\n"
    "example: tidemark profile --pid 4242 --steps 200\n";

#define PATIENCE_SECONDS 30.0
#define DEFAULT_SECONDS 30.0
#define DEFAULT_STEPS 50.0
#define MOST_SECONDS 300.0

struct profile {
    struct target target;
    struct live_options live;
    double steps, seconds, trace_bytes;
    bool no_trace;
};

/* With --steps, wait for the first step as long as without any option. */
static struct live_term term_of(const struct profile *p)
{
    if (p->steps > 0)
        return (struct live_term){
            .steps = p->steps, .seconds_without = DEFAULT_SECONDS, .seconds_most = 1e9};
    if (p->seconds > 0)
        return (struct live_term){.seconds = p->seconds, .seconds_most = 1e9};
    return (struct live_term){.seconds = DEFAULT_SECONDS,
                              .steps = DEFAULT_STEPS,
                              .seconds_without = DEFAULT_SECONDS,
                              .seconds_most = MOST_SECONDS};
}

static int check(const struct profile *p, const char *command, int operands)
{
    if (target_check(&p->target, command, operands) < 0)
        return -EINVAL;
    if (p->steps > 0 && p->seconds > 0) {
        cli_say("%s: --steps and --seconds exclude each other", command);
        return -EINVAL;
    }
    if (p->no_trace && p->trace_bytes > 0) {
        cli_say("%s: --trace and --no-trace exclude each other", command);
        return -EINVAL;
    }
    return live_options_check(&p->live, command);
}

static int profile(const struct profile *p, const char *command)
{
    pid_t pid;
    struct buf arguments = BUF_INIT;
    if (target_find(&p->target, command, &pid, &arguments) < 0) {
        buf_release(&arguments);
        return STATUS_ERROR;
    }
    const struct live_term term = term_of(p);
    struct live_job job = {
        .pids = &pid,
        .pid_count = 1,
        .attach = LIVE_ATTACH_ALL,
        .patience = PATIENCE_SECONDS,
        .trace_bytes = p->trace_bytes,
        .no_trace = p->no_trace,
        .term = &term,
    };
    job.argv = target_split(&arguments, &job.argc);
    int unused, status = live_watch(&p->live, &job, &unused);
    free((void *) job.argv);
    buf_release(&arguments);
    return status;
}

int cmd_profile(int argc, char **argv)
{
    struct profile p = {.steps = 0};
    const struct option_spec specs[] = {
        TARGET_OPTIONS(&p.target),
        {"steps", OPTION_NUMBER, &p.steps, "a number of steps above 0", NULL},
        {"seconds", OPTION_NUMBER, &p.seconds, "a number of seconds above 0", NULL},
        TRACE_OPTION(&p.trace_bytes),
        {"no-trace", OPTION_FLAG, &p.no_trace, NULL, NULL},
        {"json", OPTION_OUTPUT, &p.live.json, "a file name, or - for standard output", NULL},
        {"output", OPTION_TEXT, &p.live.output, "a file name", NULL},
        {"o", OPTION_TEXT, &p.live.output, "a file name", NULL},
        {"step-regex", OPTION_TEXT, &p.live.step_regex,
         "a regular expression with a group around the step", NULL},
        REPORT_OPTIONS(&p.live.view),
        FAIL_ON_OPTION(&p.live.fail_on),
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0 || check(&p, argv[0], operands) < 0)
        return STATUS_ERROR;
    p.live.no_store = !p.live.output;
    p.live.only_json = p.live.quiet = p.live.json && strcmp(p.live.json, "-") == 0;
    return live_keep_output(&p.live) < 0 ? STATUS_ERROR : profile(&p, argv[0]);
}

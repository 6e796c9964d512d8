/* cli/cmd_run.c: tidemark run: watches a command from its start to its end. */
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/ui.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help_head[] =
    "usage: tidemark run [options] -- COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs a command and watches the memory of all its processes. Reports leaks when\n"
    "they appear and the answer at the end, on standard error. The command keeps its\n"
    "own output, input, signals and exit status. tidemark counts steps inside the\n"
    "command or reads them from its output. A run file keeps every series.\n"
    "\n"
    "  --ui[=PORT]             show the run in a browser while it goes on: prints the\n"
    "                          address\n"
    "  --stop-after-steps N    end the job with SIGTERM after N steps, for CI\n"
    "  --duration S            end it with SIGTERM after S seconds\n"
    "  --no-probe              inject no probe (no LD_PRELOAD, no TIDEMARK_RUN)\n"
    "  --no-inspect            do not count Python objects or search for holders\n"
    "  --trace[=SIZE]          sample allocations from the start, about one every SIZE\n"
    "                          bytes (512KB), instead of when something seems to leak\n"
    "  --no-trace              never sample them: no malloc wrappers\n"
    "  --probe gc,trim         in a process that seems to leak, run a full collection\n"
    "                          and malloc_trim() every 5 s and measure what they\n"
    "                          free: separates cycles and memory retained by malloc\n"
    "                          from a leak. Changes the job's memory\n";

static const char help_tail[] =
    "\n"
    "exit status: the command's own; where that is 0, 3 or 4 by --fail-on; 126 or 127\n"
    "where the command cannot be run\n"
    "\n"
    "example: tidemark run -- python train.py --epochs 3\n";

/* Ends as the command ended: a signal that killed the command kills tidemark too. */
static int pass_on(int wait_status, int verdict_status)
{
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        struct rlimit none = {0, 0};
        sigset_t set;
        setrlimit(RLIMIT_CORE, &none);
        signal(number, SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(number);
        return 128 + number;
    }
    int status = WEXITSTATUS(wait_status);
    return status != 0 ? status : verdict_status;
}

/* As in live.c: the terminal sends keys to the whole group, its hang-up only to the session
 * leader. */
static void pass_signal_on(struct relay *relay)
{
    const struct timespec patience = {.tv_nsec = 50000000};
    siginfo_t info;
    sigset_t set;
    relay_signal_set(&set);
    int number = sigtimedwait(&set, &info, &patience);
    if (number > 0 && (info.si_code != SI_KERNEL || (number == SIGHUP && getsid(0) == getpid())))
        relay_signal(relay, number);
}

/* Does not allocate: there may be no memory left to format a line. */
static void say_plainly(const char *line)
{
    ssize_t n = write(STDERR_FILENO, line, strlen(line));
    (void) n;
}

/* Waits for the command, which runs on unwatched. Allocates nothing. */
static void wait_unwatched(struct relay *relay, int *ret_status)
{
    struct relay_lines lines;
    ssize_t n;
    say_plainly("tidemark: run: the command goes on unwatched\n");
    relay_show(relay, "");
    while ((n = relay_read(relay, &lines, ret_status)) > 0 || n == -EAGAIN)
        if (n == -EAGAIN)
            pass_signal_on(relay);
}

static int say_not_run(const char *command, int error)
{
    cli_say("run: %s: cannot be run: %s", command, error_words(error));
    return error == ENOENT ? 127 : 126;
}

struct watching {
    const struct live_options *options;
    const struct live_job *job;
    int wait_status; /* the command's */
};

static int do_watch(void *context)
{
    struct watching *w = context;
    return live_watch(w->options, w->job, &w->wait_status);
}

/* The verdict is not known: an error only if the exit status depends on it. */
static int say_out_of_memory(const struct live_options *o)
{
    say_plainly("tidemark: out of memory\n");
    return o->fail_on.leak || o->fail_on.inconclusive ? STATUS_ERROR : STATUS_FINE;
}

/* Watches the command that the relay started. Returns an exit status; *ret_wait is the
 * command's. */
static int watch_command(const struct live_options *o, const struct live_job *job, int *ret_wait)
{
    int error = relay_exec_error(job->relay);
    if (error != 0)
        return say_not_run(job->argv[0], error);
    struct watching watching = {.options = o, .job = job};
    int status = base_guard(do_watch, &watching);
    bool is_unwatched = status == STATUS_ERROR || status == -ENOMEM;
    if (status == -ENOMEM)
        status = say_out_of_memory(o);
    if (is_unwatched)
        wait_unwatched(job->relay, &watching.wait_status);
    *ret_wait = watching.wait_status;
    return status;
}

/* How processes inspect their objects and their allocations. */
struct inspecting {
    bool is_off;
    unsigned acts; /* enum wire_act */
    bool no_trace;
    double trace_bytes; /* 0: those of suspects */
};

static bool parse_acts(const char *text, unsigned *ret)
{
    unsigned acts = 0;
    while (*text) {
        size_t len = strcspn(text, ",");
        if (len == 2 && strncmp(text, "gc", len) == 0)
            acts |= WIRE_ACT_GC;
        else if (len == 4 && strncmp(text, "trim", len) == 0)
            acts |= WIRE_ACT_TRIM;
        else
            return false;
        text += len + (text[len] == ',');
    }
    *ret = acts;
    return acts != 0;
}

/* Bytes in a file before the command writes to it. */
static off_t bytes_in(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

/* Without a directory for rings, steps come from the output. */
static int run(const struct live_options *o, struct inside *inside, const struct inspecting *i,
               char **argv, size_t argc)
{
    struct relay *relay;
    /* If output goes into a pipe, other writers to the terminal are not known. */
    struct relay_options relay_options = {
        .argv = argv,
        .status_line = live_has_row(o, STDERR_FILENO) && isatty(STDOUT_FILENO),
        .environment = inside ? inside_environment(inside) : NULL,
        .directory = inside ? inside_directory(inside) : NULL,
        .probe_copy = inside ? inside_probe_copy(inside) : NULL,
    };
    off_t out_at = bytes_in(STDOUT_FILENO), err_at = bytes_in(STDERR_FILENO);
    int r = relay_start(&relay_options, &relay);
    if (r < 0) {
        inside_free(inside);
        return say_not_run(argv[0], -r);
    }
    struct live_job job = {
        .relay = relay,
        .argv = (const char *const *) argv,
        .argc = argc,
        .output_at = {out_at, err_at},
        .rings = relay_options.directory,
        .no_inspect = i->is_off,
        .acts = i->acts,
        .no_trace = i->no_trace,
        .trace_bytes = i->trace_bytes,
        .note = inside ? inside_why(inside) : NULL,
    };
    int wait_status = 0, status = watch_command(o, &job, &wait_status);
    inside_free(inside);
    relay_free(relay);
    return pass_on(wait_status, status);
}

int cmd_run(int argc, char **argv)
{
    struct live_options o = {0};
    bool no_probe = false;
    struct inspecting inspecting = {.is_off = false};
    const char *tried = NULL;
    const struct option_spec specs[] = {
        LIVE_OPTIONS(&o),
        {"no-probe", OPTION_FLAG, &no_probe, NULL, NULL},
        {"no-inspect", OPTION_FLAG, &inspecting.is_off, NULL, NULL},
        {"probe", OPTION_TEXT, &tried, NULL, NULL},
        TRACE_OPTION(&inspecting.trace_bytes),
        {"no-trace", OPTION_FLAG, &inspecting.no_trace, NULL, NULL},
        UI_OPTION(&o.ui),
    };
    int first,
        r = options_parse_before(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &first);
    if (r == OPTIONS_HELP)
        return live_print_help(help_head, help_tail);
    if (r < 0 || live_options_check(&o, argv[0]) < 0 || live_keep_output(&o) < 0)
        return STATUS_ERROR;
    if (tried && !parse_acts(tried, &inspecting.acts)) {
        cli_say("run: --probe %s: expected gc, trim, or gc,trim", tried);
        return STATUS_ERROR;
    }
    if (inspecting.no_trace && inspecting.trace_bytes > 0) {
        cli_say("run: --trace and --no-trace exclude each other");
        return STATUS_ERROR;
    }
    if (inspecting.trace_bytes > 0 && no_probe) {
        cli_say("run: --trace needs the probe: leave out --no-probe");
        return STATUS_ERROR;
    }
    if (first == argc) {
        cli_say("run: no command given; expected: tidemark run [options] -- COMMAND");
        return STATUS_ERROR;
    }
    if (ui_start(&o, argv[0]) < 0)
        return STATUS_ERROR;
    struct inside *inside = NULL;
    if (!no_probe && inside_new(!inspecting.no_trace, &inside) < 0)
        inside = NULL;
    return run(&o, inside, &inspecting, argv + first, (size_t) (argc - first));
}

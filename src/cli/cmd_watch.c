/* cli/cmd_watch.c: tidemark watch: a job that is running already, or will be. */
#include "cli/cli.h"
#include "cli/live.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_head[] =
    "usage: tidemark watch (--pid N | --find PATTERN [--wait]) [options]\n"
    "\n"
    "Watches the memory of a running job and all its processes, live, with a report when it\n"
    "ends or when you press Ctrl-C. The job is not touched.\n"
    "\n"
    "  --pid N                    this process and all that descend from it\n"
    "  --find PATTERN             the trainer whose command line holds PATTERN (or matches it as\n"
    "                             a regular expression); wrappers around it are passed over\n"
    "  --wait                     waits until there is one\n"
    "  --duration S, --stop-after-steps N\n"
    "                             stops watching after so long; the job goes on\n";

static const char help_tail[] = "\n"
                                "example: tidemark watch --find train.py\n";

#define WAIT_MICROSECONDS 200000

struct watch_target {
    double pid;
    const char *pattern;
    bool wait;
};

static int check_usage(const struct watch_target *t, const char *command, int operands)
{
    if (operands > 0 || (t->pid > 0) == (t->pattern != NULL)) {
        cli_say("%s: expected --pid N or --find PATTERN ('tidemark watch --help')", command);
        return -EINVAL;
    }
    if (t->wait && !t->pattern) {
        cli_say("%s: --wait goes with --find PATTERN", command);
        return -EINVAL;
    }
    if (t->pid > 0 && (t->pid != floor(t->pid) || t->pid > 4194304)) {
        cli_say("%s: --pid: got %g, expected the number of a process", command, t->pid);
        return -EINVAL;
    }
    return 0;
}

static void list_matches(const char *pattern, const struct proc_match *list, size_t count)
{
    cli_say("watch: %zu jobs fit '%s'; choose one with --pid:", count, pattern);
    for (size_t i = 0; i < count; i++) {
        struct buf line = BUF_INIT, clean = BUF_INIT;
        buf_addf(&line, "  %7d  %-8s  ", (int) list[i].id.pid, proc_role_name(list[i].role));
        units_add_bytes(&line, list[i].rss);
        buf_addf(&line, "  %s", list[i].command);
        utf8_add_clean(&clean, buf_text(&line), false);
        fprintf(stderr, "%s\n", buf_text(&clean));
        buf_release(&line);
        buf_release(&clean);
    }
}

/* The pid that the pattern means; -errno, said. */
static int find(const struct watch_target *t, pid_t *ret)
{
    for (bool told = false;; told = true) {
        struct proc_match *list;
        size_t count;
        int found = proc_find("/proc", t->pattern, getpid(), &list, &count);
        if (found < 0) {
            cli_say("watch: --find: '%s' is no regular expression", t->pattern);
            return found;
        }
        if (found == 1)
            *ret = list[0].id.pid;
        else if (found > 1)
            list_matches(t->pattern, list, count);
        free(list);
        if (found > 0)
            return found == 1 ? 0 : -E2BIG;
        if (!t->wait) {
            cli_say("watch: no process fits '%s'; --wait waits for one", t->pattern);
            return -ESRCH;
        }
        if (!told)
            cli_say("watch: waiting for a process that fits '%s'", t->pattern);
        usleep(WAIT_MICROSECONDS);
    }
}

/* Its arguments, NUL-separated; the name of its program where it has none. -ESRCH, said. */
static int read_arguments(pid_t pid, struct buf *ret)
{
    struct proc_stat stat;
    struct proc *proc = NULL;
    int r = proc_stat_read("/proc", pid, &stat);
    if (r == 0 && stat.state == 'Z')
        r = -ESRCH;
    if (r == 0)
        r = proc_open("/proc", stat.id, &proc);
    if (r < 0) {
        cli_say("watch: there is no process %d", (int) pid);
        return r;
    }
    if (proc_read_arguments(proc, ret) < 0 || ret->len == 0)
        buf_adds(ret, stat.comm);
    proc_free(proc);
    return 0;
}

/* The texts between the NULs; the caller frees the array. */
static const char **split_arguments(const struct buf *arguments, size_t *ret_count)
{
    const char *text = buf_text(arguments);
    const char **argv = calloc(arguments->len + 1, sizeof(*argv));
    if (!argv)
        abort();
    *ret_count = 0;
    for (size_t i = 0; i < arguments->len; i += strlen(text + i) + 1)
        argv[(*ret_count)++] = text + i;
    return argv;
}

int cmd_watch(int argc, char **argv)
{
    struct live_options o = {0};
    struct watch_target t = {0};
    const struct option_spec specs[] = {
        LIVE_OPTIONS(&o),
        {"pid", OPTION_NUMBER, &t.pid, "the number of a process", NULL},
        {"find", OPTION_TEXT, &t.pattern, "a part of a command line", NULL},
        {"wait", OPTION_FLAG, &t.wait, NULL, NULL},
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return live_print_help(help_head, help_tail);
    if (r < 0 || check_usage(&t, argv[0], operands) < 0 || live_options_check(&o, argv[0]) < 0)
        return STATUS_ERROR;
    pid_t pid = (pid_t) t.pid;
    struct buf arguments = BUF_INIT;
    if ((t.pattern && find(&t, &pid) < 0) || read_arguments(pid, &arguments) < 0) {
        buf_release(&arguments);
        return STATUS_ERROR;
    }
    struct live_job job = {.pids = &pid, .pid_count = 1};
    job.argv = split_arguments(&arguments, &job.argc);
    int unused, status = live_watch(&o, &job, &unused);
    free((void *) job.argv);
    buf_release(&arguments);
    return status;
}

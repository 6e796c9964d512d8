/* cli/target.c: finds the running process that the user means: --pid N, or --find PATTERN. */
#include "cli/target.h"

#include "cli/cli.h"
#include "proc/proc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MICROSECONDS 200000

int target_check(const struct target *t, const char *command, int operands)
{
    if (operands > 0 || (t->pid > 0) == (t->pattern != NULL)) {
        cli_say("%s: expected --pid N or --find PATTERN ('tidemark %s --help')", command, command);
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

static void list_matches(const char *command, const char *pattern, const struct proc_match *list,
                         size_t count)
{
    cli_say("%s: %zu jobs fit '%s'; choose one with --pid:", command, count, pattern);
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

/* The pid that the pattern means. -errno, with a message. */
static int find(const struct target *t, const char *command, pid_t *ret)
{
    for (bool told = false;; told = true) {
        struct proc_match *list;
        size_t count;
        int found = proc_find("/proc", t->pattern, getpid(), &list, &count);
        if (found < 0) {
            cli_say("%s: --find: '%s' is no regular expression", command, t->pattern);
            return found;
        }
        if (found == 1)
            *ret = list[0].id.pid;
        else if (found > 1)
            list_matches(command, t->pattern, list, count);
        free(list);
        if (found > 0)
            return found == 1 ? 0 : -E2BIG;
        if (!t->wait) {
            cli_say("%s: no process fits '%s'; --wait waits for one", command, t->pattern);
            return -ESRCH;
        }
        if (!told)
            cli_say("%s: waiting for a process that fits '%s'", command, t->pattern);
        usleep(WAIT_MICROSECONDS);
    }
}

/* Its arguments, NUL-separated; without any, the name of its program. -errno, with a message. */
static int read_arguments(const char *command, pid_t pid, struct buf *ret)
{
    struct proc_stat stat;
    struct proc *proc = NULL;
    int r = proc_stat_read("/proc", pid, &stat);
    if (r == 0 && stat.state == 'Z')
        r = -ESRCH;
    if (r == 0)
        r = proc_open("/proc", stat.id, &proc);
    if (error_lacks_files(-r))
        cli_say("%s: process %d cannot be read: %s", command, (int) pid, error_words(-r));
    else if (r < 0)
        cli_say("%s: there is no process %d", command, (int) pid);
    if (r < 0)
        return r;
    if (proc_read_arguments(proc, ret) < 0 || ret->len == 0)
        buf_adds(ret, stat.comm);
    proc_free(proc);
    return 0;
}

const char **target_split(const struct buf *arguments, size_t *ret_count)
{
    const char *text = buf_text(arguments);
    const char **argv = calloc(arguments->len + 1, sizeof(*argv));
    if (!argv)
        base_out_of_memory();
    *ret_count = 0;
    for (size_t i = 0; i < arguments->len; i += strlen(text + i) + 1)
        argv[(*ret_count)++] = text + i;
    return argv;
}

int target_find(const struct target *t, const char *command, pid_t *ret_pid,
                struct buf *ret_arguments)
{
    *ret_pid = (pid_t) t->pid;
    int r = t->pattern ? find(t, command, ret_pid) : 0;
    return r < 0 ? r : read_arguments(command, *ret_pid, ret_arguments);
}

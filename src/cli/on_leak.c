/* cli/on_leak.c: the commands of --on-leak, one for each announced leak. */
#include "cli/on_leak.h"

#include "cli/cli.h"
#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_all(int fd, const char *text, size_t len)
{
    for (ssize_t n; len > 0 && (n = write(fd, text, len)) > 0; text += n, len -= (size_t) n)
        continue;
}

/* The answer as the command's input: a file, because a pipe could block. */
static int answer_file(const struct view *view)
{
    struct buf json = BUF_INIT;
    report_run_json(&json, view);
    int fd = memfd_create("tidemark-answer", MFD_CLOEXEC);
    if (fd >= 0) {
        write_all(fd, buf_text(&json), json.len);
        lseek(fd, 0, SEEK_SET);
    }
    buf_release(&json);
    return fd;
}

static _Noreturn void become_command(const char *command, const struct view_series *s, int input)
{
    char number[32];
    snprintf(number, sizeof(number), "%lld", (long long) s->info.pid);
    setenv("TIDEMARK_PID", number, 1);
    setenv("TIDEMARK_KIND", s->info.kind, 1);
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGTTOU, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(input, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command, (char *) NULL);
    _exit(127);
}

static pid_t *find_free(struct on_leak *l)
{
    for (unsigned i = 0; i < ON_LEAK_COMMANDS; i++)
        if (l->running[i] == 0)
            return &l->running[i];
    return NULL;
}

void on_leak_run(struct on_leak *l, const char *command, const struct view *view,
                 const struct view_series *s)
{
    pid_t *slot = find_free(l);
    if (!slot) {
        cli_say("--on-leak: not started: %u of them have not ended", ON_LEAK_COMMANDS);
        return;
    }
    int input = answer_file(view);
    pid_t pid = input < 0 ? -1 : fork();
    if (pid == 0)
        become_command(command, s, input);
    if (pid < 0)
        cli_say("--on-leak: cannot be started: %s", error_words(errno));
    else
        *slot = pid;
    if (input >= 0)
        close(input);
}

void on_leak_reap(struct on_leak *l, struct buf *out)
{
    for (unsigned i = 0; i < ON_LEAK_COMMANDS; i++) {
        int status;
        if (l->running[i] == 0 || waitpid(l->running[i], &status, WNOHANG) == 0)
            continue;
        l->running[i] = 0;
        if (WIFSIGNALED(status))
            buf_addf(out, "tidemark: --on-leak: ended by signal %d\n", WTERMSIG(status));
        else if (WEXITSTATUS(status) != 0)
            buf_addf(out, "tidemark: --on-leak: exit status %d\n", WEXITSTATUS(status));
    }
}

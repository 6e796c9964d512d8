/* watch/relay.c: starts the relay and talks to it. */
#include "watch/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct relay {
    pid_t pid, command;
    int socket;
    int exec_error;
    bool has_terminal;
};

/* ---- signals ---- */

const int relay_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
const unsigned relay_signal_count = sizeof(relay_signals) / sizeof(relay_signals[0]);

void relay_ignore_signals(struct relay_dispositions *ret_before)
{
    sigprocmask(SIG_SETMASK, NULL, &ret_before->mask);
    for (unsigned i = 0; i < relay_signal_count; i++) {
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        sigaction(relay_signals[i], &ignore, &ret_before->actions[i]);
    }
}

void relay_restore_signals(const struct relay_dispositions *before)
{
    for (unsigned i = 0; i < relay_signal_count; i++)
        sigaction(relay_signals[i], &before->actions[i], NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* ---- the watcher's side ---- */

/* Waits for the first words of the relay: started, or failed. */
static int await_start(struct relay *r)
{
    char packet[RELAY_PACKET];
    ssize_t n = recv(r->socket, packet, sizeof(packet), 0);
    if (n == 1 + sizeof(r->command) && packet[0] == RELAY_STARTED) {
        memcpy(&r->command, packet + 1, sizeof(r->command));
        return 0;
    }
    int error = EIO;
    if (n == 1 + sizeof(error) && packet[0] == RELAY_FAILED)
        memcpy(&error, packet + 1, sizeof(error));
    return -error;
}

int relay_start(const struct relay_options *options, struct relay **ret)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    struct relay *r = calloc(1, sizeof(*r));
    if (!r)
        abort();
    struct relay_dispositions before;
    relay_ignore_signals(&before);
    /* Should the relay be killed after all, the command becomes ours. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    r->pid = fork();
    if (r->pid == 0) {
        close(sockets[0]);
        relay_main(options, sockets[1], &before);
    }
    int error = r->pid < 0 ? -errno : 0;
    relay_restore_signals(&before);
    close(sockets[1]);
    r->socket = sockets[0];
    r->has_terminal = isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
    if (error == 0)
        error = await_start(r);
    if (error < 0) {
        relay_free(r);
        return error;
    }
    *ret = r;
    return 0;
}

struct relay *relay_free(struct relay *r)
{
    if (!r)
        return NULL;
    close(r->socket);
    free(r);
    return NULL;
}

pid_t relay_pid(const struct relay *r)
{
    return r->pid;
}

pid_t relay_command_pid(const struct relay *r)
{
    return r->command;
}

int relay_fd(const struct relay *r)
{
    return r->socket;
}

int relay_exec_error(const struct relay *r)
{
    return r->exec_error;
}

/* The relay is gone without a word: the command is our own child now. */
static ssize_t adopt(struct relay *r, int *ret_status)
{
    waitpid(r->pid, NULL, 0);
    return waitpid(r->command, ret_status, 0) == r->command ? 0 : -EPIPE;
}

ssize_t relay_read(struct relay *r, char *bytes, size_t size, int *ret_status)
{
    char packet[RELAY_PACKET];
    ssize_t n = recv(r->socket, packet, sizeof(packet), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    if (n <= 0)
        return adopt(r, ret_status);
    size_t len = (size_t) n - 1;
    if (packet[0] == RELAY_ENDED && len == sizeof(*ret_status)) {
        memcpy(ret_status, packet + 1, len);
        return 0;
    }
    if (packet[0] == RELAY_FAILED && len == sizeof(r->exec_error))
        memcpy(&r->exec_error, packet + 1, len);
    if (packet[0] != RELAY_OUTPUT || len == 0)
        return -EAGAIN;
    len = len < size ? len : size;
    memcpy(bytes, packet + 1, len);
    return (ssize_t) len;
}

static void say(struct relay *r, enum relay_message what, const char *text)
{
    char packet[RELAY_PACKET];
    size_t len = strnlen(text, sizeof(packet) - 1);
    packet[0] = (char) what;
    memcpy(packet + 1, text, len);
    send(r->socket, packet, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void relay_show(struct relay *r, const char *line)
{
    if (r->has_terminal)
        say(r, RELAY_SHOW, line);
}

bool relay_print(struct relay *r, const char *text)
{
    if (r->has_terminal)
        say(r, RELAY_PRINT, text);
    return r->has_terminal;
}

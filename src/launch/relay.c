/* launch/relay.c: starts the relay and talks to it. */
#include "launch/relay.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct relay {
    pid_t pid, command;
    int socket; /* -1: the relay is gone */
    int exec_error;
    bool has_terminal, has_row;
};

void relay_signal_set(sigset_t *ret)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigemptyset(ret);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(ret, numbers[i]);
}

/* Waits for the relay's first message. */
static int await_start(struct relay *r)
{
    char packet[RELAY_PACKET];
    struct relay_started started = {-1, EIO, false};
    ssize_t n;
    do {
        n = recv(r->socket, packet, sizeof(packet), 0);
    } while (n < 0 && errno == EINTR);
    if (n == 1 + sizeof(started) && packet[0] == RELAY_STARTED)
        memcpy(&started, packet + 1, sizeof(started));
    if (started.command < 0)
        return -started.error;
    r->command = started.command;
    r->exec_error = started.error;
    r->has_terminal = started.has_terminal;
    r->has_row = r->has_row && r->has_terminal;
    return 0;
}

static int fork_relay(struct relay *r, const struct relay_options *options)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    /* No signal that can be blocked kills the relay, from its first moment on. */
    sigset_t all, before, after;
    sigfillset(&all);
    relay_signal_set(&after);
    sigprocmask(SIG_SETMASK, &all, &before);
    /* If it is killed anyway, the command becomes our child. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    r->pid = fork();
    if (r->pid == 0) {
        close(sockets[0]);
        relay_main(options, sockets[1], &before);
    }
    int error = r->pid < 0 ? -errno : 0;
    sigorset(&after, &after, &before);
    sigprocmask(SIG_SETMASK, &after, NULL);
    close(sockets[1]);
    r->socket = sockets[0];
    return error;
}

int relay_start(const struct relay_options *options, struct relay **ret)
{
    struct relay *r = calloc(1, sizeof(*r));
    if (!r)
        base_out_of_memory();
    r->socket = -1;
    r->has_row = options->status_line;
    int error = fork_relay(r, options);
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
    if (r->socket >= 0)
        close(r->socket);
    free(r);
    return NULL;
}

pid_t relay_pid(const struct relay *r)
{
    return r->pid;
}

int relay_fd(const struct relay *r)
{
    return r->socket;
}

bool relay_has_row(const struct relay *r)
{
    return r->has_row;
}

int relay_exec_error(const struct relay *r)
{
    return r->exec_error;
}

/* The relay is gone without a report: after its end the command is our own child. */
static ssize_t wait_for_command(struct relay *r, int *ret_status)
{
    if (waitpid(r->pid, NULL, WNOHANG) == 0)
        return -EAGAIN;
    pid_t pid = waitpid(r->command, ret_status, WNOHANG);
    return pid == r->command ? 0 : pid == 0 ? -EAGAIN : -EPIPE;
}

/* Gives the row that it held back to the terminal. */
static void lose_relay(struct relay *r)
{
    static const char reset[] = "\0337\033[r\0338";
    close(r->socket);
    r->socket = -1;
    if (r->has_row && write(STDERR_FILENO, reset, sizeof(reset) - 1) < 0)
        r->has_row = false;
}

/* Returns the length of the text; 0: these are not lines. */
static size_t take_lines(const char *packet, size_t len, struct relay_lines *ret)
{
    size_t before = offsetof(struct relay_lines, text);
    if (len <= before || len > sizeof(*ret))
        return 0;
    memcpy(ret, packet, len);
    return len - before;
}

ssize_t relay_read(struct relay *r, struct relay_lines *ret_lines, int *ret_status)
{
    char packet[RELAY_PACKET];
    if (r->socket < 0)
        return wait_for_command(r, ret_status);
    ssize_t n = recv(r->socket, packet, sizeof(packet), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    if (n <= 0) {
        lose_relay(r);
        return wait_for_command(r, ret_status);
    }
    size_t len = (size_t) n - 1;
    if (packet[0] == RELAY_ENDED && len == sizeof(*ret_status)) {
        memcpy(ret_status, packet + 1, len);
        return 0;
    }
    len = packet[0] == RELAY_OUTPUT ? take_lines(packet + 1, len, ret_lines) : 0;
    return len > 0 ? (ssize_t) len : -EAGAIN;
}

static void send_packet(struct relay *r, enum relay_message what, const void *data, size_t len)
{
    char packet[RELAY_PACKET];
    if (r->socket < 0)
        return;
    len = len < sizeof(packet) ? len : sizeof(packet) - 1;
    packet[0] = (char) what;
    memcpy(packet + 1, data, len);
    send(r->socket, packet, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void relay_show(struct relay *r, const char *line)
{
    if (r->has_row)
        send_packet(r, RELAY_SHOW, line, strlen(line));
}

bool relay_print(struct relay *r, const char *text)
{
    if (!r->has_terminal || r->socket < 0)
        return false;
    send_packet(r, RELAY_PRINT, text, strlen(text));
    return true;
}

void relay_signal(struct relay *r, int number)
{
    if (r->socket < 0)
        kill(r->command, number);
    else
        send_packet(r, RELAY_SIGNAL, &number, sizeof(number));
}

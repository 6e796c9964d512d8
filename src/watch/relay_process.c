/* watch/relay_process.c: the relay: passes the command's output on, and outlives everything. */
#include "watch/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* A line of ours waits so long for the end of the program's line. */
#define PRINT_WAIT_MS 1000

/* One way that output goes: from the command's end of a pipe or terminal to where it belongs. */
struct channel {
    int from; /* our end; -1: closed */
    int command_end;
    int to;
    bool is_terminal;
    bool is_for[3]; /* which descriptors of the command lead here */
};

struct relay_process {
    int socket; /* to the watcher; -1: it is gone */
    int signals;
    struct channel channels[2];
    unsigned channel_count;
    int terminal; /* where the status row is; -1: nowhere */
    int inner;    /* our end of the command's terminal; -1: none */
    struct status_row row;
    bool wants_row;
    bool may_draw; /* the output so far ends between two characters */
    bool at_line_start;
    struct buf print; /* waits for a line's end */
    pid_t command;
    bool has_ended;
};

/* ---- helpers ---- */

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return;
        } else if (n > 0) {
            bytes += n;
            len -= (size_t) n;
        }
    }
}

static void tell(struct relay_process *r, enum relay_message what, const void *data, size_t len)
{
    char packet[RELAY_PACKET];
    if (r->socket < 0 || len >= sizeof(packet))
        return;
    packet[0] = (char) what;
    memcpy(packet + 1, data, len);
    /* Output may be lost to the clock, never to the user; the end is worth waiting for. */
    if (what != RELAY_OUTPUT) {
        struct pollfd p = {.fd = r->socket, .events = POLLOUT};
        poll(&p, 1, 2000);
    }
    send(r->socket, packet, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- the terminal ---- */

static void write_terminal(struct relay_process *r, struct buf *text)
{
    if (r->terminal >= 0 && text->len > 0)
        write_all(r->terminal, buf_text(text), text->len);
    buf_release(text);
}

static void fit_inner_size(struct relay_process *r)
{
    struct winsize inner = r->row.size;
    if (r->wants_row)
        inner.ws_row = (unsigned short) status_row_program_rows(&r->row);
    ioctl(r->inner, TIOCSWINSZ, &inner);
}

static void follow_size(struct relay_process *r)
{
    struct winsize size;
    if (r->terminal < 0 || ioctl(r->terminal, TIOCGWINSZ, &size) < 0)
        return;
    struct buf out = BUF_INIT;
    bool was_held = r->row.held;
    status_row_drop(&r->row, &out);
    r->row.size = size;
    if (r->inner >= 0)
        fit_inner_size(r);
    if (was_held)
        status_row_draw(&r->row, &out);
    write_terminal(r, &out);
    /* The terminal has told it already, but the size it could see then was the old one. */
    if (r->command > 0 && !r->has_ended)
        kill(r->command, SIGWINCH);
}

static void draw_row(struct relay_process *r)
{
    if (!r->wants_row || !r->may_draw || r->has_ended || !r->row.line[0])
        return;
    struct buf out = BUF_INIT;
    status_row_draw(&r->row, &out);
    write_terminal(r, &out);
}

static void drop_row(struct relay_process *r)
{
    struct buf out = BUF_INIT;
    status_row_drop(&r->row, &out);
    write_terminal(r, &out);
}

static void print_waiting(struct relay_process *r)
{
    if (r->print.len == 0 || !r->may_draw)
        return;
    struct buf out = BUF_INIT;
    if (!r->at_line_start)
        buf_adds(&out, "\r\n");
    buf_add(&out, buf_text(&r->print), r->print.len);
    buf_clear(&r->print);
    r->at_line_start = true;
    write_terminal(r, &out);
}

/* ---- output ---- */

static void close_channel(struct channel *c)
{
    close(c->from);
    c->from = -1;
}

static void note_output(struct relay_process *r, const char *bytes, size_t len)
{
    r->may_draw = status_row_may_draw_after(bytes, len);
    r->at_line_start = bytes[len - 1] == '\n';
    if (r->at_line_start)
        print_waiting(r);
}

/* Returns false when there is nothing more, for now or for ever. */
static bool pass_on(struct relay_process *r, struct channel *c)
{
    char bytes[RELAY_PACKET - 1];
    ssize_t n = read(c->from, bytes, sizeof(bytes));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0) {
        close_channel(c);
        return false;
    }
    errno = 0;
    write_all(c->to, bytes, (size_t) n);
    /* Nobody reads any more: let the command learn it the way it would without us. */
    if (errno == EPIPE && !c->is_terminal)
        close_channel(c);
    if (c->is_terminal)
        note_output(r, bytes, (size_t) n);
    tell(r, RELAY_OUTPUT, bytes, (size_t) n);
    return c->from >= 0;
}

static void drain(struct relay_process *r)
{
    for (unsigned i = 0; i < r->channel_count; i++) {
        struct channel *c = &r->channels[i];
        if (c->from < 0)
            continue;
        fcntl(c->from, F_SETFL, O_NONBLOCK);
        while (pass_on(r, c))
            ;
    }
}

/* ---- the command's ends ---- */

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static struct channel *new_channel(struct relay_process *r, int from, int command_end, int to)
{
    struct channel *c = &r->channels[r->channel_count++];
    *c = (struct channel){.from = from, .command_end = command_end, .to = to};
    return c;
}

/* A terminal of the same looks and size; what is written into it comes out unchanged. */
static int make_terminal(struct relay_process *r, int outer)
{
    int inner = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (inner < 0)
        return -errno;
    char name[64];
    int command_end = -1;
    if (grantpt(inner) == 0 && unlockpt(inner) == 0 && ptsname_r(inner, name, sizeof(name)) == 0)
        command_end = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (command_end < 0) {
        close(inner);
        return -EIO;
    }
    struct termios t;
    if (tcgetattr(outer, &t) == 0) {
        t.c_oflag &= ~(tcflag_t) OPOST;
        tcsetattr(command_end, TCSANOW, &t);
    }
    r->inner = inner;
    r->terminal = outer;
    ioctl(outer, TIOCGWINSZ, &r->row.size);
    fit_inner_size(r);
    new_channel(r, inner, command_end, outer)->is_terminal = true;
    return 0;
}

static int make_pipe(struct relay_process *r, int outer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    new_channel(r, ends[0], ends[1], outer);
    return 0;
}

/* What goes nowhere is worth reading all the same: it tells the steps. */
static bool is_null_device(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* A terminal and a pipe get a channel; anything else the command writes to directly. */
static int make_channel(struct relay_process *r, int outer)
{
    struct stat st;
    if (fstat(outer, &st) < 0)
        return 0;
    bool terminal = isatty(outer);
    bool pipe = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || is_null_device(&st);
    if (!terminal && !pipe)
        return 0;
    struct channel *c = NULL;
    for (unsigned i = 0; i < r->channel_count; i++)
        if (same_file(outer, r->channels[i].to))
            c = &r->channels[i];
    int e = c ? 0 : terminal ? make_terminal(r, outer) : make_pipe(r, outer);
    if (e < 0)
        return e;
    c = c ? c : &r->channels[r->channel_count - 1];
    c->is_for[outer] = true;
    return 0;
}

static _Noreturn void execute(const struct relay_process *r, char *const *argv, int report,
                              const struct relay_dispositions *before)
{
    for (unsigned i = 0; i < r->channel_count; i++)
        for (int fd = 1; fd <= 2; fd++)
            if (r->channels[i].is_for[fd])
                dup2(r->channels[i].command_end, fd);
    relay_restore_signals(before);
    execvp(argv[0], argv);
    int error = errno;
    write_all(report, (const char *) &error, sizeof(error));
    _exit(error == ENOENT ? 127 : 126);
}

/* 0, or the errno of the failed execution. */
static int start_command(struct relay_process *r, char *const *argv,
                         const struct relay_dispositions *before)
{
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) < 0)
        return errno;
    r->command = fork();
    if (r->command == 0)
        execute(r, argv, report[1], before);
    close(report[1]);
    if (r->command < 0)
        error = errno;
    else if (read(report[0], &error, sizeof(error)) != sizeof(error))
        error = 0;
    close(report[0]);
    for (unsigned i = 0; i < r->channel_count; i++)
        close(r->channels[i].command_end);
    return error;
}

/* ---- events ---- */

static void on_watcher(struct relay_process *r)
{
    char packet[RELAY_PACKET];
    ssize_t n = recv(r->socket, packet, sizeof(packet) - 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close(r->socket);
        r->socket = -1;
        drop_row(r);
        return;
    }
    packet[n] = '\0';
    if (packet[0] == RELAY_SHOW) {
        size_t len = strnlen(packet + 1, sizeof(r->row.line) - 1);
        memcpy(r->row.line, packet + 1, len);
        r->row.line[len] = '\0';
        draw_row(r);
    } else if (packet[0] == RELAY_PRINT) {
        buf_adds(&r->print, packet + 1);
        if (r->at_line_start)
            print_waiting(r);
    }
}

static void on_children(struct relay_process *r)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != r->command)
            continue;
        drain(r);
        print_waiting(r);
        drop_row(r);
        r->has_ended = true;
        tell(r, RELAY_ENDED, &status, sizeof(status));
    }
}

static void on_signal(struct relay_process *r)
{
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            on_children(r);
        else if (info.ssi_signo == SIGWINCH)
            follow_size(r);
    }
}

/* The watcher still looks at us: it lets go when it has seen the end. */
static bool has_work(const struct relay_process *r)
{
    if (!r->has_ended || r->socket >= 0)
        return true;
    for (unsigned i = 0; i < r->channel_count; i++)
        if (r->channels[i].from >= 0)
            return true;
    return false;
}

/* Until the command has ended and neither its kin nor the watcher need us any more. */
static void serve(struct relay_process *r)
{
    while (has_work(r)) {
        struct pollfd p[4] = {{.fd = r->signals, .events = POLLIN},
                              {.fd = r->socket, .events = POLLIN}};
        for (unsigned i = 0; i < r->channel_count; i++)
            p[2 + i] = (struct pollfd){.fd = r->channels[i].from, .events = POLLIN};
        int n = poll(p, 2 + r->channel_count, r->print.len > 0 ? PRINT_WAIT_MS : -1);
        if (n == 0)
            print_waiting(r);
        if (n <= 0)
            continue;
        for (unsigned i = 0; i < r->channel_count; i++)
            if (p[2 + i].revents)
                pass_on(r, &r->channels[i]);
        if (p[1].revents)
            on_watcher(r);
        if (p[0].revents)
            on_signal(r);
    }
}

static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

_Noreturn void relay_main(const struct relay_options *options, int socket,
                          const struct relay_dispositions *before)
{
    struct relay_process r = {.socket = socket,
                              .terminal = -1,
                              .inner = -1,
                              .wants_row = options->status_line,
                              .may_draw = true,
                              .at_line_start = true};
    prctl(PR_SET_NAME, "tidemark-relay");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    r.signals = watch_signals();
    int error = 0;
    for (int fd = 1; fd <= 2 && error == 0; fd++)
        error = -make_channel(&r, fd);
    if (error == 0)
        error = start_command(&r, options->argv, before);
    if (r.command > 0)
        tell(&r, RELAY_STARTED, &r.command, sizeof(r.command));
    if (error != 0)
        tell(&r, RELAY_FAILED, &error, sizeof(error));
    if (r.command > 0)
        serve(&r);
    _exit(0);
}

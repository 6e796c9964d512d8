/* launch/relay_process.c: the relay: passes the command's output on, and outlives all others. */
#include "launch/relay.h"
#include "launch/relay_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Our line waits this long for the end of the program's line. */
#define PRINT_WAIT_MS 1000

/*
 * A signal to the process group reaches its members within GROUP_MS. On a busy machine the watcher
 * may report late that it received it too. Each signal we received accounts for one reported.
 */
#define GROUP_MS 20
#define GROUP_LONG_AGO_MS 2000

/* Most bytes left in pipes when the command ends; whoever writes more is another process. */
#define LEFT_BYTES ((size_t) 1 << 20)

/* The watcher gets at most this much output in a tenth of a second: more is no step clock. */
#define TOLD_MS 100
#define TOLD_BYTES ((size_t) 400 << 10)

#define LINES_MOST (sizeof(((struct relay_lines *) 0)->text) / 2)

struct relay_process {
    int socket; /* to the watcher; -1: the watcher is gone */
    int signals;
    struct channel channels[2];
    unsigned channel_count;
    struct channel *terminal; /* has the status row; NULL: none */
    struct status_row row;
    bool wants_row;

    struct buf print; /* waits for the end of a line, until `print_due` */
    long print_due;
    long heard[NSIG]; /* when we received a signal too; 0: never */
    long due[NSIG];   /* when to pass a signal on to the command; 0: none */
    long told_since;
    size_t told; /* bytes of output since then */

    pid_t command;
    bool has_ended, is_stopped, end_is_told;
    int status;
};

/* Milliseconds; never 0. */
static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1;
}

/* ---- to the watcher ---- */

/* False: its socket has no room now. */
static bool tell(struct relay_process *r, enum relay_message what, const void *data, size_t len)
{
    char packet[RELAY_PACKET];
    if (r->socket < 0 || len >= sizeof(packet))
        return true;
    packet[0] = (char) what;
    memcpy(packet + 1, data, len);
    return send(r->socket, packet, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN;
}

/* The clock may lose output, the user never does. False: try again later. */
static bool tell_output(struct relay_process *r, const struct channel *c)
{
    struct relay_lines lines;
    size_t len = c->line.len;
    long now = now_ms();
    if (now - r->told_since > TOLD_MS) {
        r->told_since = now;
        r->told = 0;
    }
    if (r->told + len > TOLD_BYTES)
        return true;
    lines.time = c->read_at;
    memcpy(lines.text, buf_text(&c->line), len);
    bool is_told = tell(r, RELAY_OUTPUT, &lines, offsetof(struct relay_lines, text) + len);
    r->told += is_told ? len : 0;
    return is_told;
}

/* Sends whole lines only: half a number would be another number. At most LINES_MOST bytes. A
 * watcher held up by an unresponsive driver has no room for more packets: then lines wait. */
static void tell_some_lines(struct relay_process *r, struct channel *c, const char *bytes,
                            size_t len)
{
    size_t whole = len;
    while (whole > 0 && bytes[whole - 1] != '\n' && bytes[whole - 1] != '\r')
        whole--;
    buf_add(&c->line, bytes, whole);
    bool is_full = c->line.len + len > LINES_MOST;
    if ((whole > 0 || is_full) && (tell_output(r, c) || is_full))
        buf_clear(&c->line);
    buf_add(&c->line, bytes + whole, len - whole);
}

static void tell_lines(struct relay_process *r, struct channel *c, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += LINES_MOST)
        tell_some_lines(r, c, bytes + at, len - at < LINES_MOST ? len - at : LINES_MOST);
}

/* ---- the terminal ---- */

static void fit_inner_size(struct relay_process *r)
{
    struct winsize inner = r->row.size;
    if (r->wants_row)
        inner.ws_row = (unsigned short) status_row_program_rows(&r->row);
    if (r->terminal->from >= 0)
        ioctl(r->terminal->from, TIOCSWINSZ, &inner);
}

static void drop_row(struct relay_process *r)
{
    struct buf out = BUF_INIT;
    status_row_drop(&r->row, &out);
    if (out.len > 0) {
        channel_add(r->terminal, buf_text(&out), out.len);
        channel_flush(r->terminal);
    }
    buf_release(&out);
}

/* We draw nothing between the program's output and what the terminal has not accepted yet. */
static bool may_draw(const struct relay_process *r)
{
    return r->terminal && !channel_is_stuck(r->terminal) && status_row_is_between(&r->row);
}

static void draw_row(struct relay_process *r)
{
    if (!r->wants_row || r->has_ended || r->is_stopped || !may_draw(r))
        return;
    struct buf out = BUF_INIT;
    status_row_draw(&r->row, &out);
    channel_add(r->terminal, buf_text(&out), out.len);
    channel_flush(r->terminal);
    buf_release(&out);
}

static void follow_size(struct relay_process *r)
{
    struct winsize size;
    if (!r->terminal || ioctl(r->terminal->outer, TIOCGWINSZ, &size) < 0 ||
        memcmp(&size, &r->row.size, sizeof(size)) == 0)
        return;
    bool was_held = r->row.held;
    drop_row(r);
    r->row.size = size;
    fit_inner_size(r);
    if (was_held)
        draw_row(r);
    /* The terminal has signalled the group already, but then the size was still the old one. */
    if (!r->has_ended)
        kill(0, SIGWINCH);
}

static void print_now(struct relay_process *r)
{
    if (r->print.len == 0 || !r->terminal)
        return;
    if (r->row.mid_line)
        channel_add(r->terminal, "\r\n", 2);
    channel_add(r->terminal, buf_text(&r->print), r->print.len);
    channel_flush(r->terminal);
    buf_clear(&r->print);
    r->row.mid_line = false;
}

static void print_waiting(struct relay_process *r)
{
    if (r->print.len > 0 && may_draw(r) && (!r->row.mid_line || now_ms() >= r->print_due))
        print_now(r);
}

/* ---- output ---- */

static void pass_on(struct relay_process *r, struct channel *c)
{
    char bytes[CHANNEL_CHUNK];
    size_t len = channel_is_stuck(c) || c->from < 0 ? 0 : channel_read(c, bytes);
    if (len > 0) {
        channel_add(c, bytes, len);
        if (c == r->terminal)
            status_row_feed(&r->row, bytes, len);
        tell_lines(r, c, bytes, len);
        c->passed += r->has_ended ? len : 0;
    }
    /* Nobody reads any more: the command finds out as it would without us. */
    if (channel_flush(c) == -EPIPE)
        channel_close(c);
}

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether output goes to /dev/null: it is read anyway, as it may contain steps. A close-on-exec
 * descriptor only replaces a stream that was closed before us. */
static bool goes_nowhere(int outer, const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3) &&
           !(fcntl(outer, F_GETFD) & FD_CLOEXEC);
}

/* Terminals, pipes and sockets are relayed. The command writes directly to anything else, and to
 * a socket that it also reads from. */
static bool wants_channel(int outer)
{
    struct stat st;
    int type = 0;
    socklen_t size = sizeof(type);
    if (fstat(outer, &st) < 0)
        return false;
    if (S_ISSOCK(st.st_mode))
        return getsockopt(outer, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
               !same_file(outer, STDIN_FILENO);
    return S_ISFIFO(st.st_mode) || goes_nowhere(outer, &st) || isatty(outer);
}

/* If no channel can be made for lack of terminals or descriptors, the command writes directly. */
static void make_channel(struct relay_process *r, int outer)
{
    struct channel *c = &r->channels[r->channel_count];
    if (!wants_channel(outer))
        return;
    for (unsigned i = 0; i < r->channel_count; i++) {
        if (same_file(outer, r->channels[i].outer)) {
            r->channels[i].is_for[outer] = true;
            return;
        }
    }
    if (channel_open(c, outer) < 0)
        return;
    c->is_for[outer] = true;
    r->channel_count++;
    if (c->is_terminal) {
        r->terminal = c;
        ioctl(outer, TIOCGWINSZ, &r->row.size);
        fit_inner_size(r);
    }
}

/* ---- the command ---- */

/* What the command would have had without us. */
struct surroundings {
    const struct relay_options *options;
    const sigset_t *mask;
    struct sigaction child;
};

static _Noreturn void execute(const struct relay_process *r, int report,
                              const struct surroundings *s)
{
    for (unsigned i = 0; i < r->channel_count; i++)
        for (int fd = 1; fd <= 2; fd++)
            if (r->channels[i].is_for[fd])
                dup2(r->channels[i].command_end, fd);
    sigaction(SIGCHLD, &s->child, NULL);
    sigprocmask(SIG_SETMASK, s->mask, NULL);
    const struct relay_options *o = s->options;
    execvpe(o->argv[0], o->argv, o->environment ? o->environment : environ);
    int error = errno;
    if (write(report, &error, sizeof(error)) < 0)
        _exit(126);
    _exit(error == ENOENT ? 127 : 126);
}

/* 0, or the errno of the failed execution. */
static int start_command(struct relay_process *r, const struct surroundings *s)
{
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) < 0)
        return errno;
    r->command = fork();
    if (r->command == 0)
        execute(r, report[1], s);
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

static void lose_watcher(struct relay_process *r)
{
    close(r->socket);
    r->socket = -1;
    r->wants_row = false;
    drop_row(r);
}

static void show(struct relay_process *r, const char *text, size_t len)
{
    len = len < sizeof(r->row.line) ? len : sizeof(r->row.line) - 1;
    memcpy(r->row.line, text, len);
    r->row.line[len] = '\0';
    follow_size(r); /* in the background no signal reports a new size */
    draw_row(r);
}

static void queue_print(struct relay_process *r, const char *text, size_t len)
{
    if (r->print.len == 0)
        r->print_due = now_ms() + PRINT_WAIT_MS;
    if (r->print.len < LEFT_BYTES)
        buf_add(&r->print, text, len);
}

static void on_watcher(struct relay_process *r)
{
    char packet[RELAY_PACKET];
    int number;
    ssize_t n = recv(r->socket, packet, sizeof(packet), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        lose_watcher(r);
        return;
    }
    size_t len = (size_t) n - 1;
    if (packet[0] == RELAY_SHOW) {
        show(r, packet + 1, len);
    } else if (packet[0] == RELAY_PRINT) {
        queue_print(r, packet + 1, len);
    } else if (packet[0] == RELAY_SIGNAL && len == sizeof(number)) {
        memcpy(&number, packet + 1, len);
        if (number > 0 && number < NSIG)
            r->due[number] = now_ms() + GROUP_MS;
    }
}

static void on_children(struct relay_process *r)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != r->command)
            continue;
        r->is_stopped = WIFSTOPPED(status);
        if (r->is_stopped)
            drop_row(r); /* a shell comes now */
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            r->has_ended = true;
            r->status = status;
        }
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
        else if (info.ssi_code != SI_KERNEL)
            r->heard[info.ssi_signo] = now_ms();
    }
}

/* Passes on signals that only the watcher received; the command is in our group and has the
 * others already. */
static void pass_signals(struct relay_process *r)
{
    long now = now_ms();
    for (int i = 1; i < NSIG; i++) {
        if (r->due[i] == 0 || r->due[i] > now)
            continue;
        bool had_it = r->heard[i] > 0 && now - r->heard[i] < GROUP_LONG_AGO_MS;
        r->due[i] = r->heard[i] = 0;
        if (!had_it && !r->has_ended)
            kill(r->command, i);
    }
}

/* Whether all of the command's output was passed on. */
static bool is_drained(const struct relay_process *r)
{
    for (unsigned i = 0; i < r->channel_count; i++) {
        const struct channel *c = &r->channels[i];
        if (channel_is_stuck(c) ||
            (c->from >= 0 && c->passed < LEFT_BYTES && channel_is_readable(c)))
            return false;
    }
    return true;
}

static void tell_end(struct relay_process *r)
{
    if (!r->has_ended || r->end_is_told || !is_drained(r))
        return;
    print_now(r);
    drop_row(r);
    for (unsigned i = 0; i < r->channel_count; i++) {
        struct channel *c = &r->channels[i];
        if (c->line.len > 0 && !tell_output(r, c))
            return;
        buf_clear(&c->line);
    }
    r->end_is_told = tell(r, RELAY_ENDED, &r->status, sizeof(r->status));
    /* A watcher that does not read output now notices this too. */
    if (r->end_is_told)
        shutdown(r->socket, SHUT_WR);
}

/* There is work until the command has ended, nobody holds its output any more, and the watcher
 * has gone. */
static bool has_work(const struct relay_process *r)
{
    if (!r->has_ended || r->socket >= 0)
        return true;
    for (unsigned i = 0; i < r->channel_count; i++)
        if (r->channels[i].from >= 0 || channel_is_stuck(&r->channels[i]))
            return true;
    return false;
}

/* Milliseconds until something is due; -1: nothing is. */
static int next_due(const struct relay_process *r)
{
    long next = r->print.len > 0 ? r->print_due : LONG_MAX, now = now_ms();
    for (int i = 1; i < NSIG; i++)
        if (r->due[i] > 0 && r->due[i] < next)
            next = r->due[i];
    /* What is due but cannot be done is tried again. */
    return next == LONG_MAX ? -1 : next <= now ? GROUP_MS : (int) (next - now);
}

static void wait_for_events(struct relay_process *r)
{
    bool end_waits = r->has_ended && !r->end_is_told && is_drained(r);
    struct pollfd p[4] = {
        {.fd = r->signals, .events = POLLIN},
        {.fd = r->socket, .events = (short) (end_waits ? POLLIN | POLLOUT : POLLIN)}};
    for (unsigned i = 0; i < r->channel_count; i++) {
        const struct channel *c = &r->channels[i];
        p[2 + i] = channel_is_stuck(c) ? (struct pollfd){.fd = c->to, .events = POLLOUT}
                                       : (struct pollfd){.fd = c->from, .events = POLLIN};
    }
    if (poll(p, 2 + r->channel_count, next_due(r)) <= 0)
        return;
    for (unsigned i = 0; i < r->channel_count; i++)
        if (p[2 + i].revents)
            pass_on(r, &r->channels[i]);
    if (p[1].revents)
        on_watcher(r);
    if (p[0].revents)
        on_signal(r);
}

static void serve(struct relay_process *r)
{
    while (has_work(r)) {
        wait_for_events(r);
        pass_signals(r);
        print_waiting(r);
        tell_end(r);
    }
}

static int watch_signals(void)
{
    sigset_t set;
    relay_signal_set(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGWINCH);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

_Noreturn void relay_main(const struct relay_options *options, int socket, const sigset_t *mask)
{
    struct relay_process r = {.socket = socket, .wants_row = options->status_line};
    struct surroundings surroundings = {.options = options, .mask = mask};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    prctl(PR_SET_NAME, "tidemark-relay");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* If SIGCHLD were ignored, the command's status would be lost. */
    sigaction(SIGCHLD, &plain, &surroundings.child);
    r.signals = watch_signals();
    int error = r.signals < 0 ? errno : 0;
    for (int fd = 1; fd <= 2; fd++)
        make_channel(&r, fd);
    r.command = -1;
    if (error == 0)
        error = start_command(&r, &surroundings);
    struct relay_started started = {r.command, error, r.terminal != NULL};
    tell(&r, RELAY_STARTED, &started, sizeof(started));
    if (r.command > 0)
        serve(&r);
    /* A watcher that is still alive removes it itself; this is for one that is not. */
    if (options->directory)
        inside_remove(options->directory, options->probe_copy);
    _exit(0);
}

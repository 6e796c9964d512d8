/* screen/terminal.c: the terminal: taken, given back, suspended, resized. */
#include "screen/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <ncursesw/curses.h>
#include <ncursesw/term.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ESCAPE_MILLISECONDS 25

/* ---- characters ---- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0];
}

/* Where nothing is said, as in many containers, the terminal is taken to know UTF-8, as in all
 * other output. */
static bool speaks_utf8(void)
{
    const char *locale = setlocale(LC_CTYPE, "");
    if (!is_set("LC_ALL") && !is_set("LC_CTYPE") && !is_set("LANG"))
        locale = setlocale(LC_CTYPE, "C.UTF-8");
    return locale && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- what leaves the full screen ---- */

static struct guard *collecting;

static int collect(int c)
{
    if (collecting->leave_len < GUARD_TEXT)
        collecting->leave[collecting->leave_len++] = (char) c;
    return c;
}

/* NULL: the terminal lacks it. */
static const char *capability(const char *name)
{
    const char *text = tigetstr(name);
    return (intptr_t) text == -1 ? NULL : text;
}

/* In the order in which ncurses itself does it. False: no full screen on this terminal. */
static bool read_type(struct guard *g, int out)
{
    static const char *const names[] = {"sgr0", "op", "rmkx", "cnorm", "rmcup"};
    int error;
    if (setupterm(NULL, out, &error) != OK)
        return false;
    bool is_able = capability("cup") && capability("clear");
    collecting = g;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = capability(names[i]);
        if (text)
            tputs(text, 1, collect);
    }
    if (!capability("rmcup"))
        collect('\n');
    del_curterm(cur_term);
    return is_able;
}

/* ---- taken and given back ---- */

static int open_wake(struct tty *t)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGTSTP);
    sigset_t before;
    sigprocmask(SIG_BLOCK, &set, &before);
    sigemptyset(&t->ours);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&set, i) == 1 && sigismember(&before, i) == 0)
            sigaddset(&t->ours, i);
    t->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    t->wake = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event key = {.events = EPOLLIN, .data.fd = t->in};
    struct epoll_event signal = {.events = EPOLLIN, .data.fd = t->signals};
    if (t->signals < 0 || t->wake < 0 || epoll_ctl(t->wake, EPOLL_CTL_ADD, t->in, &key) < 0 ||
        epoll_ctl(t->wake, EPOLL_CTL_ADD, t->signals, &signal) < 0)
        return -errno;
    return 0;
}

/* From here on nobody else writes on the screen. */
static int put_aside(struct tty *t)
{
    t->aside = memfd_create("tidemark-aside", MFD_CLOEXEC);
    t->error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (t->aside < 0 || t->error < 0 || dup2(t->aside, STDERR_FILENO) < 0)
        return -errno;
    return 0;
}

/* Ctrl-S shall not stop what also watches a job. */
static void set_modes(struct tty *t)
{
    struct termios modes;
    cbreak();
    noecho();
    nonl();
    if (tcgetattr(t->in, &modes) == 0) {
        modes.c_iflag &= ~(tcflag_t) IXON;
        tcsetattr(t->in, TCSANOW, &modes);
    }
    def_prog_mode();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    set_escdelay(ESCAPE_MILLISECONDS);
}

/* In the background the terminal belongs to somebody else: stops, as any program does there. */
static void await_foreground(const struct tty *t)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    for (int i = 0; i < 100; i++) {
        pid_t owner = tcgetpgrp(t->in);
        if (owner < 0 || owner == getpgrp())
            return;
        void (*before)(int) = signal(SIGTTOU, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(SIGTTOU);
        signal(SIGTTOU, before);
    }
}

static void set_on(struct tty *t, bool on)
{
    if (t->guard.is_on)
        *t->guard.is_on = on;
}

static int open_curses(struct tty *t, int out)
{
    int fd = fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    t->file = fd < 0 ? NULL : fdopen(fd, "w");
    FILE *in = fdopen(fcntl(t->in, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), "r");
    if (!t->file || !in)
        return -errno;
    use_tioctl(TRUE);
    t->curses = newterm(NULL, t->file, in);
    return t->curses ? 0 : -ENOTSUP;
}

int tty_open(struct tty *t, int in, int out, bool ascii)
{
    *t = (struct tty){.in = in, .signals = -1, .wake = -1, .aside = -1, .error = -1};
    t->ascii = !speaks_utf8() || ascii;
    await_foreground(t);
    if (tcgetattr(in, &t->modes) < 0)
        return -errno;
    t->guard = (struct guard){.fd = out, .modes = t->modes};
    if (!read_type(&t->guard, out))
        return -ENOTSUP;
    int r = open_wake(t);
    if (r == 0)
        r = put_aside(t);
    if (r == 0) {
        t->guard.aside = t->aside;
        t->guard.error = t->error;
        guard_start(&t->guard);
        r = open_curses(t, out);
    }
    if (r < 0) {
        tty_close(t);
        return r;
    }
    set_on(t, true);
    set_modes(t);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Messages stay on the screen below, as without the full screen. */
static void restore_error(struct tty *t)
{
    struct buf all = BUF_INIT;
    if (t->error < 0)
        return;
    t->seen = 0;
    tty_take_aside(t, &all);
    dup2(t->error, STDERR_FILENO);
    if (all.len > 0 && write(STDERR_FILENO, all.text, all.len) < 0)
        buf_clear(&all); /* nobody is there to read it */
    buf_release(&all);
}

void tty_close(struct tty *t)
{
    if (t->curses) {
        endwin();
        tcsetattr(t->in, TCSADRAIN, &t->modes);
    }
    restore_error(t);
    guard_end(&t->guard);
    close_fd(&t->signals);
    close_fd(&t->wake);
    close_fd(&t->aside);
    close_fd(&t->error);
    sigprocmask(SIG_UNBLOCK, &t->ours, NULL);
}

/* ---- what happens to it ---- */

/* Ctrl-Z. In a process group without a shell above it, the kernel ignores the signal. */
static void suspend(struct tty *t)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    endwin();
    set_on(t, false);
    void (*before)(int) = signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGTSTP, before);
    await_foreground(t);
    tcgetattr(t->in, &t->modes); /* the shell may have changed them */
    reset_prog_mode();
    set_on(t, true);
}

/* The screen may be without rows for a moment, while a window is being dragged. */
static void resize(const struct tty *t)
{
    struct winsize size;
    if (ioctl(t->in, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
}

bool tty_take_signals(struct tty *t, bool *ret_redraw)
{
    struct epoll_event events[2];
    struct signalfd_siginfo info;
    int count = epoll_wait(t->wake, events, 2, 0);
    for (int i = 0; i < count; i++)
        if (events[i].data.fd == t->in && (events[i].events & (EPOLLHUP | EPOLLERR)))
            return false;
    while (read(t->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTSTP)
            suspend(t);
        resize(t);
        clearok(curscr, TRUE);
        *ret_redraw = true;
    }
    return true;
}

void tty_take_aside(struct tty *t, struct buf *ret)
{
    char text[4096];
    for (ssize_t n; (n = pread(t->aside, text, sizeof(text), t->seen)) > 0; t->seen += n)
        buf_add(ret, text, (size_t) n);
}

bool tty_is_ready(const struct tty *t)
{
    struct pollfd p = {.fd = fileno(t->file), .events = POLLOUT};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLOUT);
}

/* launch/relay_channel.c: one path of the command's output through the relay. */
#include "launch/relay_channel.h"

#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* A pipe that reports room accepts this much at once without blocking. */
#define SURE_BYTES 4096

/* ---- making ---- */

/* A terminal with the same settings, except that it passes output on unchanged. */
static int open_terminal(struct channel *c, int outer)
{
    int inner = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (inner < 0)
        return -errno;
    char name[64];
    int end = -1;
    if (grantpt(inner) == 0 && unlockpt(inner) == 0 && ptsname_r(inner, name, sizeof(name)) == 0)
        end = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (end < 0) {
        close(inner);
        return -EIO;
    }
    struct termios t;
    if (tcgetattr(outer, &t) == 0) {
        t.c_oflag &= ~(tcflag_t) OPOST;
        tcsetattr(end, TCSANOW, &t);
    }
    c->from = inner;
    c->command_end = end;
    return 0;
}

static int open_pair(struct channel *c)
{
    int ends[2];
    int r = c->is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                         : pipe2(ends, O_CLOEXEC);
    if (r < 0)
        return -errno;
    c->from = ends[0];
    c->command_end = ends[1];
    return 0;
}

/* The open file is shared with whoever started us: only our own can be made non-blocking. */
static void open_own_file(struct channel *c)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", c->outer);
    int fd = c->is_socket ? -1 : open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    c->has_own_file = fd >= 0;
    c->to = fd >= 0 ? fd : c->outer;
}

int channel_open(struct channel *c, int outer)
{
    struct stat st;
    bool is_socket = fstat(outer, &st) == 0 && S_ISSOCK(st.st_mode);
    *c = (struct channel){.outer = outer, .is_terminal = isatty(outer), .is_socket = is_socket};
    int r = c->is_terminal ? open_terminal(c, outer) : open_pair(c);
    if (r < 0)
        return r;
    fcntl(c->from, F_SETFL, O_NONBLOCK);
    open_own_file(c);
    return 0;
}

void channel_close(struct channel *c)
{
    if (c->from >= 0)
        close(c->from);
    c->from = -1;
}

/* ---- passing on ---- */

bool channel_is_stuck(const struct channel *c)
{
    return c->waiting.len > c->sent;
}

void channel_add(struct channel *c, const char *text, size_t len)
{
    buf_add(&c->waiting, text, len);
}

static bool has_room(const struct channel *c)
{
    struct pollfd p = {.fd = c->to, .events = POLLOUT};
    return c->has_own_file || poll(&p, 1, 0) > 0;
}

static ssize_t write_some(const struct channel *c)
{
    const char *text = buf_text(&c->waiting) + c->sent;
    size_t len = c->waiting.len - c->sent;
    if (c->is_socket)
        return send(c->to, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(c->to, text, c->has_own_file || len < SURE_BYTES ? len : SURE_BYTES);
}

int channel_flush(struct channel *c)
{
    int error = 0;
    while (channel_is_stuck(c) && error == 0 && has_room(c)) {
        ssize_t n = write_some(c);
        if (n >= 0)
            c->sent += (size_t) n;
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            error = -errno;
    }
    if (error < 0 || !channel_is_stuck(c)) {
        buf_clear(&c->waiting);
        c->sent = 0;
    }
    return error;
}

size_t channel_read(struct channel *c, char *bytes)
{
    ssize_t n = read(c->from, bytes, CHANNEL_CHUNK);
    if (n > 0) {
        c->read_at = wire_now();
        return (size_t) n;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        channel_close(c);
    return 0;
}

bool channel_is_readable(const struct channel *c)
{
    struct pollfd p = {.fd = c->from, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

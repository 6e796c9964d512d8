/* serve/listen.c: where a server listens, and what it needs for that. */
#include "serve/access.h"
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORTS_TRIED 10u
#define BACKLOG 512

union place_to_listen {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* The address without its port. Returns its length, or -EINVAL. */
static int parse(const char *text, union place_to_listen *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        return sizeof(ret->v4);
    }
    if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        return sizeof(ret->v6);
    }
    return -EINVAL;
}

static void set_port(union place_to_listen *a, unsigned port)
{
    if (a->any.sa_family == AF_INET)
        a->v4.sin_port = htons((uint16_t) port);
    else
        a->v6.sin6_port = htons((uint16_t) port);
}

static unsigned port_of(const union place_to_listen *a)
{
    return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

/* peer_user() knows no others. */
bool serve_is_loopback(const char *address)
{
    union place_to_listen a;
    return parse(address, &a) >= 0 && a.any.sa_family == AF_INET &&
           (ntohl(a.v4.sin_addr.s_addr) >> 24) == 127;
}

/* A descriptor, or -errno. */
static int listen_at(const union place_to_listen *a, socklen_t len)
{
    const int on = 1;
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, &a->any, len) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

static int try_ports(union place_to_listen *a, socklen_t len, unsigned port)
{
    int fd = -EADDRINUSE;
    if (port != 0) {
        set_port(a, port);
        return listen_at(a, len);
    }
    for (unsigned i = 0; i <= PORTS_TRIED && fd == -EADDRINUSE; i++) {
        set_port(a, i < PORTS_TRIED ? SERVE_PORT + i : 0);
        fd = listen_at(a, len);
    }
    return fd;
}

int serve_listen(const char *address, unsigned port, struct serve_listener *ret)
{
    union place_to_listen a;
    int len = parse(address, &a);
    if (len < 0)
        return len;
    int fd = try_ports(&a, (socklen_t) len, port);
    if (fd < 0)
        return fd;
    socklen_t size = sizeof(a);
    if (getsockname(fd, &a.any, &size) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    *ret = (struct serve_listener){.fd = fd, .port = port_of(&a)};
    ret->is_usual = ret->port == (port != 0 ? port : SERVE_PORT);
    snprintf(ret->host, sizeof(ret->host), a.any.sa_family == AF_INET6 ? "[%s]" : "%s", address);
    return 0;
}

/* ---- what the user wrote ---- */

static int parse_port(const char *text, unsigned *ret)
{
    size_t len = strspn(text, "0123456789");
    unsigned long port = len > 0 && len <= 5 && text[len] == '\0' ? strtoul(text, NULL, 10) : 0;
    if (port == 0 || port > 65535)
        return -EINVAL;
    *ret = (unsigned) port;
    return 0;
}

int serve_parse_address(const char *text, struct buf *ret_address, unsigned *ret_port)
{
    union place_to_listen ignored;
    struct buf address = BUF_INIT;
    bool is_v6 = text[0] == '[';
    bool is_bare_v6 = !is_v6 && strchr(text, ':') != strrchr(text, ':');
    size_t len = is_v6 ? strcspn(text, "]") : is_bare_v6 ? strlen(text) : strcspn(text, ":");
    const char *rest = text + len + (is_v6 && text[len] == ']');
    unsigned port = 0;
    buf_add(&address, text + is_v6, len - is_v6);
    bool is_closed = !is_v6 || text[len] == ']';
    int r = !is_closed || parse(buf_text(&address), &ignored) < 0 ? -EINVAL : 0;
    if (r == 0 && *rest != '\0')
        r = *rest == ':' ? parse_port(rest + 1, &port) : -EINVAL;
    if (r == 0) {
        buf_adds(ret_address, buf_text(&address));
        *ret_port = port;
    }
    buf_release(&address);
    return r;
}

int serve_read_token(const char *path, struct buf *ret_token, struct buf *ret_why)
{
    int r = access_read_token(path, ret_token, ret_why);
    if (r < 0 && ret_why->len == 0)
        buf_adds(ret_why, error_words(-r));
    return r;
}

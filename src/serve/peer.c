/* serve/peer.c: whose process is at the other end of a connection on this machine. */
#include "serve/peer.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Of /proc/net/tcp: a machine with more sockets than that has sock_diag. */
#define TABLE_MOST ((size_t) 4 << 20)

/* ---- sock_diag ---- */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static struct question ask_for(const struct sockaddr_in *peer, const struct sockaddr_in *own)
{
    struct question q = {
        .head = {.nlmsg_len = sizeof(q),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_INET,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = ~0u,
                 .id = {.idiag_sport = peer->sin_port,
                        .idiag_dport = own->sin_port,
                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    q.body.id.idiag_src[0] = peer->sin_addr.s_addr;
    q.body.id.idiag_dst[0] = own->sin_addr.s_addr;
    return q;
}

static int read_reply(int fd, uid_t *ret)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } reply;
    ssize_t n = recv(fd, &reply, sizeof(reply), 0);
    if (n < (ssize_t) sizeof(reply.head))
        return n < 0 ? -errno : -EBADMSG;
    if (reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return -ENOENT;
    struct inet_diag_msg message;
    if (n < (ssize_t) (NLMSG_HDRLEN + sizeof(message)))
        return -EBADMSG;
    memcpy(&message, reply.bytes + NLMSG_HDRLEN, sizeof(message));
    *ret = message.idiag_uid;
    return 0;
}

static int ask_kernel(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *ret)
{
    const struct timeval patience = {.tv_usec = 200000};
    struct question q = ask_for(peer, own);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    int r = send(fd, &q, sizeof(q), 0) == (ssize_t) sizeof(q) ? read_reply(fd, ret) : -EIO;
    close(fd);
    return r;
}

/* ---- /proc/net/tcp ---- */

int peer_parse(const char *text, const struct sockaddr_in *peer, const struct sockaddr_in *own,
               uid_t *ret)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        uint32_t addresses[2];
        unsigned ports[2], user;
        if (sscanf(line, " %*u: %" SCNx32 ":%x %" SCNx32 ":%x %*x %*x:%*x %*x:%*x %*x %u",
                   &addresses[0], &ports[0], &addresses[1], &ports[1], &user) != 5)
            continue;
        if (addresses[0] == peer->sin_addr.s_addr && ports[0] == ntohs(peer->sin_port) &&
            addresses[1] == own->sin_addr.s_addr && ports[1] == ntohs(own->sin_port)) {
            *ret = (uid_t) user;
            return 0;
        }
    }
    return -ENOENT;
}

static int search_table(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *ret)
{
    struct buf text = BUF_INIT;
    char bytes[16384];
    int fd = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (ssize_t n; text.len < TABLE_MOST && (n = read(fd, bytes, sizeof(bytes))) > 0;)
        buf_add(&text, bytes, (size_t) n);
    close(fd);
    int r = peer_parse(buf_text(&text), peer, own, ret);
    buf_release(&text);
    return r;
}

/* ---- both ---- */

int peer_user(int connection, uid_t *ret)
{
    struct sockaddr_in peer = {.sin_family = 0}, own = {.sin_family = 0};
    socklen_t peer_len = sizeof(peer), own_len = sizeof(own);
    if (getpeername(connection, (struct sockaddr *) &peer, &peer_len) < 0 ||
        getsockname(connection, (struct sockaddr *) &own, &own_len) < 0)
        return -errno;
    if (peer.sin_family != AF_INET || own.sin_family != AF_INET)
        return -EAFNOSUPPORT;
    int r = ask_kernel(&peer, &own, ret);
    return r == 0 ? 0 : search_table(&peer, &own, ret);
}

bool peer_is_welcome(uid_t user)
{
    const char *caller = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
    if (user == geteuid() || user == 0)
        return true;
    return caller && caller[0] && strtoul(caller, NULL, 10) == user;
}

/* proc/forks.c: who forked whom, as the kernel reports it. */
#include "proc/forks.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The kernel's own numbers, which older headers lack. */
#define INITIAL_PID_NAMESPACE UINT64_C(0xeffffffc)
#define EVENT_FORK 1u

#define BUFFER_BYTES (1 << 20)

/* Reports read at a time, so that a machine that forks constantly does not block us. */
#define MOST_REPORTS 4096

/* struct proc_input of Linux 6.6. */
struct wish {
    uint32_t operation, events;
};

static bool is_known_kernel(void)
{
    struct utsname u;
    unsigned major = 0, minor = 0;
    return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 && /* NOLINT */
           (major > 6 || (major == 6 && minor >= 6));
}

static bool is_initial_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL_PID_NAMESPACE;
}

static int listen_to_forks(int fd)
{
    const struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    const struct wish wish = {.operation = PROC_CN_MCAST_LISTEN, .events = EVENT_FORK};
    const struct cn_msg message = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC},
                                   .len = sizeof wish};
    char request[NLMSG_HDRLEN + sizeof message + sizeof wish];
    const struct nlmsghdr header = {.nlmsg_len = sizeof request, .nlmsg_type = NLMSG_DONE};
    memset(request, 0, sizeof request);
    memcpy(request, &header, sizeof header);
    memcpy(request + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(request + NLMSG_HDRLEN + sizeof message, &wish, sizeof wish);
    const int bytes = BUFFER_BYTES;
    if (bind(fd, (const struct sockaddr *) &group, sizeof group) < 0 ||
        send(fd, request, sizeof request, 0) < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return 0;
}

int forks_open(void)
{
    if (!is_known_kernel() || !is_initial_namespace())
        return -ENOTSUP;
    int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    if (fd < 0)
        return -errno;
    int r = listen_to_forks(fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

/* True if the packet reports a new process. */
static bool parse_fork(const char *packet, size_t len, pid_t *ret_parent, pid_t *ret_child)
{
    struct proc_event e;
    size_t before = NLMSG_HDRLEN + sizeof(struct cn_msg);
    if (len < before + sizeof e)
        return false;
    memcpy(&e, packet + before, sizeof e);
    if ((unsigned) e.what != EVENT_FORK ||
        e.event_data.fork.child_pid != e.event_data.fork.child_tgid)
        return false;
    *ret_parent = e.event_data.fork.parent_tgid;
    *ret_child = e.event_data.fork.child_tgid;
    return true;
}

void forks_read(int fd, void (*heard)(void *context, pid_t parent, pid_t child), void *context)
{
    char packet[512];
    pid_t parent, child;
    for (unsigned i = 0; i < MOST_REPORTS; i++) {
        struct sockaddr_nl from = {.nl_pid = 1};
        socklen_t size = sizeof from;
        ssize_t n = recvfrom(fd, packet, sizeof packet, 0, (struct sockaddr *) &from, &size);
        /* Only packets from the kernel count. */
        if (n > 0 && from.nl_pid == 0 && parse_fork(packet, (size_t) n, &parent, &child))
            heard(context, parent, child);
        if (n < 0 && errno != ENOBUFS && errno != EINTR)
            return;
    }
}

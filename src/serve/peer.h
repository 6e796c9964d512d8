/* serve/peer.h: whose process is at the other end of a connection on this machine. */
#ifndef TIDEMARK_SERVE_PEER_H
#define TIDEMARK_SERVE_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Every user of a machine can connect to its loopback address, but run files are for their owner
 * alone. So without a token the kernel is asked for the user of the socket at the other end (by
 * sock_diag(7), which needs no rights, or from /proc/net/tcp).
 */

/* The user of a connection's other end, which is on this machine too. -errno: not known. */
int peer_user(int connection, uid_t *ret);

/* The line of a /proc/net/tcp whose local end is `peer` and whose other end is `own`. -ENOENT. */
int peer_parse(const char *text, const struct sockaddr_in *peer, const struct sockaddr_in *own,
               uid_t *ret);

/* Whether this server is there for that user: its own, root, and who called sudo. */
bool peer_is_welcome(uid_t user);

#endif

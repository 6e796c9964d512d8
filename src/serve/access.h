/* serve/access.h: who may ask: Host, Origin, tokens, sessions. Pure but for access_init(). */
#ifndef TIDEMARK_SERVE_ACCESS_H
#define TIDEMARK_SERVE_ACCESS_H

#include "serve/http.h"

#include <stdbool.h>

#define ACCESS_SECRET 64u /* characters of a session's secret */

/*
 * A page of another site can make a browser send requests here. It cannot choose the Host of such a
 * request beyond a name of its own, nor hide its Origin: so Host has to be an IP address, localhost
 * or this machine's name, and Origin the same as Host. With a token, a request also needs it, or
 * the session that a browser got in exchange for it.
 */
struct access {
    const char *token;               /* not owned; NULL: no token is required */
    char machine[256];               /* its name; empty: not known */
    char cookie[32];                 /* the session's name: cookies do not tell ports apart */
    char session[ACCESS_SECRET + 1]; /* new with every start of the server */
};

/* -errno: the system gave no random numbers. */
int access_init(struct access *a, const char *token, unsigned port);

/* "127.0.0.1:8433", "[::1]", "localhost", the machine's name. */
bool access_knows_host(const struct access *a, const char *host);

/* NULL is fine: not every request has one. */
bool access_fits_origin(const char *origin, const char *host);

/* Compares in a time that depends on the length of `given` alone. */
bool access_is_same(const char *secret, const char *given);

/* By token or session; true if no token is required. */
bool access_is_granted(const struct access *a, const struct http_request *r);

/* Reads a token from a file that nobody else may read: one line of 16 to 512 letters, digits and
 * -._~+/=. -errno; *why, if not empty, explains it in words that follow the file's name. */
int access_read_token(const char *path, struct buf *ret, struct buf *why);

#endif

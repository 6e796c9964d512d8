/* serve/server.h: what the server's files share. Private. */
#ifndef TIDEMARK_SERVE_SERVER_H
#define TIDEMARK_SERVE_SERVER_H

#include "serve/access.h"
#include "serve/cache.h"
#include "serve/client.h"
#include "serve/peer.h"
#include "serve/serve.h"

#define SERVER_CLIENTS 2048u /* connections */
#define SERVER_STREAMS 1024u /* of which so many wait for events */

/* One owner, one thread. */
struct server {
    const struct serve_options *options;
    int listener, signals;
    struct access access;
    struct cache cache;
    struct body *script, *style;
    struct client **clients;
    size_t count;
    double accept_after; /* no connection is taken before: the system had no descriptor left */
    double active_at;    /* when an answer was last on its way */
    bool is_ending;      /* the run has ended: those who watch get its end */
    double last_until;   /* after that, the server ends in any case */
    bool is_over;
};

double server_now(void); /* seconds of a clock that never jumps */

/* Answers the request whose head has come in, or lets the client wait or watch. */
void respond(struct server *s, struct client *c, size_t head_len, double now);

/* Answers a client that waits for this content, which is as new as it may be. */
void respond_with(struct server *s, struct client *c, struct entry *e, double now);

#endif

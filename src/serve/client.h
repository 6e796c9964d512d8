/* serve/client.h: one connection: bytes in, bytes out, and how long it may take. */
#ifndef TIDEMARK_SERVE_CLIENT_H
#define TIDEMARK_SERVE_CLIENT_H

#include "serve/cache.h"
#include "serve/http.h"

#include <stdbool.h>
#include <stddef.h>

enum client_state {
    CLIENT_READING,   /* a request's head */
    CLIENT_WAITING,   /* for a content */
    CLIENT_WRITING,   /* an answer */
    CLIENT_STREAMING, /* events */
    CLIENT_DRAINING,  /* all was said; waits for the other side to close */
    CLIENT_CLOSED,    /* to be freed */
};

enum client_event {
    EVENT_PING = 1,
    EVENT_CHANGE = 2,
    EVENT_END = 4,
};

/*
 * A connection holds at most one request's head and one answer, whose body it shares with others:
 * a client that does not read costs that, and a deadline. Of events it has a set, not a queue.
 */
struct client {
    int fd;
    enum client_state state;
    bool is_refused; /* another user's process */
    char *in;        /* HTTP_HEAD_MOST bytes; NULL: nothing was received */
    size_t in_len;
    struct buf head; /* of the answer, or events */
    size_t head_sent;
    struct body *body; /* NULL: none */
    size_t body_sent;
    bool keeps_open, is_head;
    bool looks_for_run;     /* it waits for the list, and its request is answered after that */
    char if_none_match[64]; /* of the request that waits; cut: no tag of ours is as long */
    unsigned events;        /* due; enum client_event */
    struct entry *entry;    /* it waits for, or watches; NULL: none */
    bool is_watching;
    double since, deadline; /* when the state began, and when it is over */
    double quiet_until;     /* of a stream: the next ping */
};

struct client *client_new(int fd, double now);
struct client *client_free(struct client *c); /* accepts NULL, returns NULL */

/* ---- what it does ---- */

/* Receives what there is. */
void client_receive(struct client *c, double now);
/* Length of the head that is complete; 0: none is. */
size_t client_head(const struct client *c);
/* Forgets a head that was answered; what follows it stays. */
void client_skip(struct client *c, size_t len);
/* Goes back from waiting to a head that was not answered. */
void client_retry(struct client *c, double now);
/* Sends what there is room for; goes on to the next state at the end. */
void client_send(struct client *c, double now);
/* What to poll for. */
short client_wants(const struct client *c);
/* True: it is over with this connection now. */
bool client_is_late(const struct client *c, double now);

/* ---- what it gets ---- */

struct client_answer {
    int status;
    const char *type;
    struct body *body;   /* the reference stays the caller's; NULL: `text` */
    const char *text;    /* a sentence for people */
    const char *headers; /* more of them, each with its line end; NULL: none */
    const char *policy;  /* NULL: nothing may be loaded */
    bool has_tag;        /* the body's tag is worth telling */
};

void client_answer(struct client *c, const struct client_answer *a, double now);

void client_wait(struct client *c, struct entry *e, double now);
void client_stream(struct client *c, struct entry *e, double now);
/* Adds events to those that are due. */
void client_notify(struct client *c, unsigned events);
void client_leave(struct client *c); /* the entry that it waits for or watches */

#endif

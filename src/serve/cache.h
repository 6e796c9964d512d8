/* serve/cache.h: contents that are computed once for all who ask. */
#ifndef TIDEMARK_SERVE_CACHE_H
#define TIDEMARK_SERVE_CACHE_H

#include "serve/content.h"
#include "serve/reading.h"
#include "serve/runs.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- bytes that several answers share ---- */

struct body {
    unsigned references;
    char tag[24]; /* for ETag, with its quotes: the same bytes have the same tag */
    struct buf text;
};

struct body *body_new(struct buf *text);   /* takes the text over */
struct body *body_keep(struct body *b);    /* one more reference */
struct body *body_release(struct body *b); /* accepts NULL, returns NULL */

/* ---- contents ---- */

/*
 * A content is the list, or the document, answer or a span of one run. It is read again only while
 * somebody waits for it or watches it, at most once a second, and computed at most so often that
 * this takes CACHE_SHARE of a processor. In between, and while it is being read, those who ask get
 * what is there. Times are seconds of a clock that never jumps.
 */
#define CACHE_SHARE 0.05

struct entry {
    enum content_kind kind;
    char *run; /* its name; NULL: the list */
    struct span_wanted span;

    struct body *body; /* NULL: not read yet */
    int status;        /* of HTTP, for `body` */
    bool is_finished;  /* it will not change any more */
    char stamp[PLACE_STAMP];

    unsigned users;    /* clients that point here; 0: may be dropped */
    unsigned watchers; /* those of them that want to hear of changes */
    bool is_wanted;
    double wanted_at, used_at;
    double ready_at;        /* it may be read again */
    double compute_at;      /* and computed */
    struct reading *reader; /* NULL: it is not being read */
    double reader_until;
};

/* One owner, one thread. */
struct cache {
    struct runs runs;
    struct entry **entries;
    size_t count;
    unsigned reading;    /* entries with a reader */
    double span_seconds; /* of processor time that spans may take now */
    double span_at;      /* when that was true */
};

/* Takes the runs over. */
void cache_init(struct cache *c, struct runs *runs, double now);
void cache_release(struct cache *c);

struct entry *cache_list(struct cache *c, double now);
/* `span` NULL where the kind is none. `run`: a name that runs_find() knows. */
struct entry *cache_entry(struct cache *c, enum content_kind kind, const char *run,
                          const struct span_wanted *span, double now);

/* Whether the content is as new as it may be. False: want it, and wait. */
bool cache_is_fresh(const struct entry *e, double now);
void cache_want(struct entry *e, double now);

/* Spans are computed for one viewer each, so they have a budget in common. False: it is used up. */
bool cache_allows_span(struct cache *c, double now);

/* Starts readers for what is wanted or watched, and stops those that take too long. */
void cache_tick(struct cache *c, double now);

/* What is watched is old from now on, and wanted. */
void cache_expire(struct cache *c, double now);

/* Adds what to poll for to `p`, at most CACHE_READERS; returns how many. */
#define CACHE_READERS 2u
size_t cache_poll(const struct cache *c, struct pollfd *p);

/* An entry whose reader has come to its end; NULL: none has. *ret_changed: its content is new. */
struct entry *cache_collect(struct cache *c, double now, bool *ret_changed);

#endif

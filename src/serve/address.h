/* serve/address.h: what a request asks for: paths, queries, and the parts of the server. Pure. */
#ifndef TIDEMARK_SERVE_ADDRESS_H
#define TIDEMARK_SERVE_ADDRESS_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- paths and queries ---- */

/*
 * Decodes the path of a target, up to its query. -EINVAL: an encoding that is not one, a control
 * character (NUL), an encoded slash, or a segment that is empty, "." or "..". Only the last segment
 * may be empty: "/runs/train.tide/".
 */
int address_path(const char *target, struct buf *ret);

/* Adds the decoded value of one parameter: "?series=3&from=1.5". -ENOENT: it is not there; -EINVAL:
 * it is not encoded well, or there twice. */
int address_parameter(const char *target, const char *name, struct buf *ret);

/* Adds a path as it is written in an address: every byte but letters, digits and "/-._~" encoded.
 */
void address_encode(struct buf *out, const char *path);

/* ---- what is where ---- */

enum route_place {
    ROUTE_NOWHERE,
    ROUTE_RUNS,   /* "/": all runs */
    ROUTE_RUN,    /* "/runs/NAME/": one run, NAME with slashes where it lies deeper */
    ROUTE_SCRIPT, /* "/page.js" */
    ROUTE_STYLE,  /* "/page.css" */
    ROUTE_HEALTH, /* "/healthz" */
};

enum route_part {
    ROUTE_PAGE,   /* "." */
    ROUTE_DATA,   /* "data.json" */
    ROUTE_EVENTS, /* "events" */
    ROUTE_SPAN,   /* "span.json", of a run */
    ROUTE_ANSWER, /* "answer.json", of a run: what `show --json` prints */
    ROUTE_SLASH,  /* a run's address without its last slash */
};

struct route {
    enum route_place place;
    enum route_part part;
    struct buf run; /* the decoded NAME, for ROUTE_RUN */
};

/* Finds what a decoded path means. The caller releases ret->run. */
void route_find(const char *path, struct route *ret);

/* "../../page.js": the way from a run's page to the top. */
void route_add_up(struct buf *out, const struct route *from);

/* ---- a span ---- */

/* What span.json is asked for. */
struct span_wanted {
    unsigned series, points;
    double from, to; /* seconds */
};

#define SPAN_POINTS_MOST 4096u

/* -EINVAL: a parameter is missing or no number, or the span is empty. */
int span_parse(const char *target, struct span_wanted *ret);

#endif

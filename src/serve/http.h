/* serve/http.h: the head of a request, and the head of an answer. Pure. */
#ifndef TIDEMARK_SERVE_HTTP_H
#define TIDEMARK_SERVE_HTTP_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The part of HTTP/1.1 that a read-only server needs: GET and HEAD, no body, one answer after the
 * other on a connection. Whatever is ambiguous (a bare line feed, a folded line, two Host lines, a
 * body) is refused and ends the connection, so that a proxy and this server never disagree about
 * where a request ends.
 */
#define HTTP_HEAD_MOST 8192u /* bytes, with the empty line */
#define HTTP_FIELDS_MOST 64u

struct http_request {
    bool is_head;    /* HEAD: the answer has no body */
    bool keeps_open; /* another request may follow on this connection */
    /* Texts point into the head. NULL: not there. */
    const char *target; /* begins with a slash */
    const char *host, *origin, *authorization, *cookie, *if_none_match;
};

/* Bytes of the first head in `bytes`, with its empty line; 0: it is not complete. */
size_t http_head_length(const char *bytes, size_t len);

/*
 * Parses one head of `len` bytes, as http_head_length() found it, and changes it in place. 0; or
 * the status to answer with: 400, 405, 413, 417, 431, 501 or 505. The connection ends then.
 */
int http_parse(char *head, size_t len, struct http_request *ret);

/* Whether an If-None-Match names this tag, or is "*". */
bool http_tag_matches(const char *if_none_match, const char *tag);

/* "Not Found" */
const char *http_reason(int status);

#endif

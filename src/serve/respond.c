/* serve/respond.c: from a request to its answer. */
#include "page/page.h"
#include "serve/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json; charset=utf-8"
#define HTML_TYPE "text/html; charset=utf-8"

static void refuse(struct client *c, int status, const char *text, const char *headers, double now)
{
    client_answer(c, &(struct client_answer){.status = status, .text = text, .headers = headers},
                  now);
}

static void refuse_and_close(struct client *c, int status, const char *text, double now)
{
    c->keeps_open = false;
    refuse(c, status, text, status == 405 ? "Allow: GET, HEAD\r\n" : NULL, now);
}

static void not_found(struct client *c, double now)
{
    refuse(c, 404, "There is nothing at this address. The runs are listed at /", NULL, now);
}

/* ---- contents ---- */

void respond_with(struct server *s, struct client *c, struct entry *e, double now)
{
    (void) s;
    if (!e->body) {
        refuse(c, 503, "This takes too long at the moment: try again", "Retry-After: 5\r\n", now);
        return;
    }
    client_answer(
        c,
        &(struct client_answer){
            .status = e->status, .type = JSON_TYPE, .body = e->body, .has_tag = e->status == 200},
        now);
}

/* Now, if the content is new enough; otherwise as soon as it is. */
static void answer_from(struct server *s, struct client *c, struct entry *e, double now)
{
    if (cache_is_fresh(e, now)) {
        respond_with(s, c, e, now);
        return;
    }
    cache_want(e, now);
    client_wait(c, e, now);
}

static size_t count_streams(const struct server *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->clients[i]->state == CLIENT_STREAMING;
    return count;
}

/* Whoever connects again may have missed something: the first event makes the page look. */
static void answer_stream(struct server *s, struct client *c, struct entry *e, double now)
{
    if (count_streams(s) >= SERVER_STREAMS) {
        refuse(c, 503, "Too many pages are open", "Retry-After: 30\r\n", now);
        return;
    }
    client_stream(c, e, now);
    client_notify(c, e->is_finished ? EVENT_END : EVENT_CHANGE);
}

static void answer_span(struct server *s, struct client *c, const struct route *route,
                        const char *target, double now)
{
    struct span_wanted span;
    if (span_parse(target, &span) < 0) {
        refuse(c, 400, "expected span.json?series=N&from=S&to=S&points=P", NULL, now);
        return;
    }
    struct entry *e = cache_entry(&s->cache, CONTENT_SPAN, buf_text(&route->run), &span, now);
    if (!cache_is_fresh(e, now) && !cache_allows_span(&s->cache, now))
        refuse(c, 429, "Too many details at once: try again", "Retry-After: 2\r\n", now);
    else
        answer_from(s, c, e, now);
}

/* ---- the page ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The page would have nothing to show. */
static bool answer_problem(const struct server *s, struct client *c, const char *name, double now)
{
    const struct run *run = runs_find(&s->cache.runs, name);
    struct buf text = BUF_INIT;
    if (!run || !run->problem)
        return false;
    buf_addf(&text, "%s: %s", name, run->problem);
    refuse(c, 422, buf_text(&text), NULL, now);
    buf_release(&text);
    return true;
}

static void answer_page(struct server *s, struct client *c, const struct route *route, double now)
{
    struct buf script = BUF_INIT, style = BUF_INIT, home = BUF_INIT, text = BUF_INIT;
    bool has_list = route->place == ROUTE_RUN && (s->cache.runs.folder || s->cache.runs.count > 1);
    route_add_up(&script, route);
    route_add_up(&style, route);
    route_add_up(&home, route);
    buf_adds(&script, "page.js");
    buf_adds(&style, "page.css");
    const char *title =
        route->place == ROUTE_RUN ? base_name(buf_text(&route->run)) : s->cache.runs.title;
    page_live(&text, title, buf_text(&script), buf_text(&style), has_list ? buf_text(&home) : NULL);
    struct body *body = body_new(&text);
    client_answer(c,
                  &(struct client_answer){.status = 200,
                                          .type = HTML_TYPE,
                                          .body = body,
                                          .policy = page_policy(PAGE_LIVE),
                                          .has_tag = true},
                  now);
    body_release(body);
    buf_release(&script);
    buf_release(&style);
    buf_release(&home);
}

static void answer_static(struct client *c, struct body *body, const char *type, double now)
{
    client_answer(
        c, &(struct client_answer){.status = 200, .type = type, .body = body, .has_tag = true},
        now);
}

/* A page's addresses are relative to it, so it has to end with a slash. */
static void add_slash(struct client *c, const struct route *route, double now)
{
    struct buf headers = BUF_INIT;
    buf_adds(&headers, "Location: ");
    address_encode(&headers, base_name(buf_text(&route->run)));
    buf_adds(&headers, "/\r\n");
    refuse(c, 303, "Here it is.", buf_text(&headers), now);
    buf_release(&headers);
}

/* ---- what is asked for ---- */

static void answer_run(struct server *s, struct client *c, const struct route *route,
                       const char *target, double now)
{
    const char *run = buf_text(&route->run);
    switch (route->part) {
    case ROUTE_PAGE:
        if (!answer_problem(s, c, run, now))
            answer_page(s, c, route, now);
        break;
    case ROUTE_SLASH:
        add_slash(c, route, now);
        break;
    case ROUTE_DATA:
        answer_from(s, c, cache_entry(&s->cache, CONTENT_DOCUMENT, run, NULL, now), now);
        break;
    case ROUTE_ANSWER:
        answer_from(s, c, cache_entry(&s->cache, CONTENT_ANSWER, run, NULL, now), now);
        break;
    case ROUTE_SPAN:
        answer_span(s, c, route, target, now);
        break;
    case ROUTE_EVENTS:
        answer_stream(s, c, cache_entry(&s->cache, CONTENT_DOCUMENT, run, NULL, now), now);
        break;
    }
}

/* With one run there is nothing to choose. */
static bool lead_to_only_run(struct server *s, struct client *c, double now)
{
    const struct runs *runs = &s->cache.runs;
    struct buf headers = BUF_INIT;
    if (runs->folder || runs->count != 1)
        return false;
    buf_adds(&headers, "Location: /runs/");
    address_encode(&headers, runs->items[0].name);
    buf_adds(&headers, "/\r\n");
    refuse(c, 303, "Here it is.", buf_text(&headers), now);
    buf_release(&headers);
    return true;
}

static void answer_runs(struct server *s, struct client *c, const struct route *route, double now)
{
    if (route->part == ROUTE_PAGE && lead_to_only_run(s, c, now))
        return;
    if (route->part == ROUTE_PAGE)
        answer_page(s, c, route, now);
    else if (route->part == ROUTE_DATA)
        answer_from(s, c, cache_list(&s->cache, now), now);
    else
        answer_stream(s, c, cache_list(&s->cache, now), now);
}

/* A run that is not known may have appeared since the last scan: the head stays, and is answered
 * after the next one. */
static bool has_to_look(struct server *s, struct client *c, const struct route *route, double now)
{
    struct entry *list = cache_list(&s->cache, now);
    if (route->place != ROUTE_RUN || runs_find(&s->cache.runs, buf_text(&route->run)) ||
        cache_is_fresh(list, now))
        return false;
    cache_want(list, now);
    c->looks_for_run = true;
    client_wait(c, list, now);
    return true;
}

static void answer_route(struct server *s, struct client *c, const struct route *route,
                         const char *target, double now)
{
    switch (route->place) {
    case ROUTE_RUNS:
        answer_runs(s, c, route, now);
        return;
    case ROUTE_RUN:
        if (runs_find(&s->cache.runs, buf_text(&route->run)))
            answer_run(s, c, route, target, now);
        else
            not_found(c, now);
        return;
    case ROUTE_SCRIPT:
        answer_static(c, s->script, "text/javascript; charset=utf-8", now);
        return;
    case ROUTE_STYLE:
        answer_static(c, s->style, "text/css; charset=utf-8", now);
        return;
    case ROUTE_HEALTH:
    case ROUTE_NOWHERE:
        break;
    }
    not_found(c, now);
}

/* ---- who asks ---- */

/* A browser gives the token once, and gets a session for it: the token stays in no address. */
static bool exchange_token(struct server *s, struct client *c, const char *target, const char *path,
                           double now)
{
    struct buf token = BUF_INIT, headers = BUF_INIT;
    bool is_given = s->access.token && address_parameter(target, "token", &token) == 0 &&
                    access_is_same(s->access.token, buf_text(&token));
    if (is_given) {
        buf_adds(&headers, "Location: ");
        address_encode(&headers, path[0] ? path : "/");
        buf_addf(&headers, "\r\nSet-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict\r\n",
                 s->access.cookie, s->access.session);
        refuse(c, 303, "Here it is.", buf_text(&headers), now);
    }
    buf_release(&token);
    buf_release(&headers);
    return is_given;
}

/* True: refused, and answered so. */
static bool is_refused(const struct server *s, struct client *c, const struct http_request *r,
                       double now)
{
    if (!r->host || !access_knows_host(&s->access, r->host))
        refuse_and_close(c, r->host ? 421 : 400,
                         "Address this server by its IP address, as localhost, or by the machine's "
                         "name",
                         now);
    else if (!access_fits_origin(r->origin, r->host))
        refuse_and_close(c, 403, "Pages of other sites may not ask this server", now);
    else
        return false;
    return true;
}

static bool is_stranger(struct server *s, struct client *c, const struct http_request *r,
                        const char *path, double now)
{
    if (c->is_refused)
        refuse_and_close(c, 403,
                         "This server is for the processes of the user who started it. To show "
                         "runs to others: tidemark serve --listen ADDR --token-file F",
                         now);
    else if (exchange_token(s, c, r->target, path, now))
        return true;
    else if (!access_is_granted(&s->access, r))
        refuse(c, 401,
               "This server wants its token: open /?token=TOKEN once, or send the header "
               "\"Authorization: Bearer TOKEN\"",
               "WWW-Authenticate: Bearer\r\n", now);
    else
        return false;
    return true;
}

static void respond_to(struct server *s, struct client *c, const struct http_request *r, double now,
                       bool *ret_waits)
{
    struct buf path = BUF_INIT;
    struct route route = {.run = BUF_INIT};
    c->is_head = r->is_head;
    c->keeps_open = r->keeps_open;
    snprintf(c->if_none_match, sizeof(c->if_none_match), "%s",
             r->if_none_match ? r->if_none_match : "");
    if (is_refused(s, c, r, now))
        return;
    if (address_path(r->target, &path) == 0)
        route_find(buf_text(&path), &route);
    if (route.place == ROUTE_HEALTH)
        client_answer(c,
                      &(struct client_answer){
                          .status = 200, .type = JSON_TYPE, .text = "{\"status\": \"ok\"}"},
                      now);
    else if (!is_stranger(s, c, r, buf_text(&path), now)) {
        *ret_waits = has_to_look(s, c, &route, now);
        if (!*ret_waits)
            answer_route(s, c, &route, r->target, now);
    }
    buf_release(&path);
    buf_release(&route.run);
}

void respond(struct server *s, struct client *c, size_t head_len, double now)
{
    char head[HTTP_HEAD_MOST];
    struct http_request r;
    bool waits = false;
    memcpy(head, c->in, head_len);
    int status = http_head_length(head, head_len) == 0 ? 431 : http_parse(head, head_len, &r);
    if (status == 0)
        respond_to(s, c, &r, now, &waits);
    else
        refuse_and_close(c, status, NULL, now);
    if (!waits)
        client_skip(c, head_len);
}

/* serve/client.c: one connection. */
#include "serve/client.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Seconds that a state may last. */
#define HEAD_SECONDS 10.0 /* from the first byte of a request to its empty line */
#define IDLE_SECONDS 30.0 /* between two requests */
#define WAIT_SECONDS 60.0
#define SEND_SECONDS 20.0 /* and as long as BYTES_A_SECOND need */
#define BYTES_A_SECOND 16384.0
#define DRAIN_SECONDS 1.0
#define PING_SECONDS 15.0

struct client *client_new(int fd, double now)
{
    struct client *c = calloc(1, sizeof(*c));
    if (!c)
        base_out_of_memory();
    c->fd = fd;
    c->since = now;
    c->deadline = now + HEAD_SECONDS;
    return c;
}

struct client *client_free(struct client *c)
{
    if (!c)
        return NULL;
    client_leave(c);
    body_release(c->body);
    buf_release(&c->head);
    free(c->in);
    close(c->fd);
    free(c);
    return NULL;
}

static void enter(struct client *c, enum client_state state, double now, double seconds)
{
    c->state = state;
    c->since = now;
    c->deadline = now + seconds;
}

/* ---- receiving ---- */

static bool has_room(struct client *c)
{
    if (!c->in)
        c->in = malloc(HTTP_HEAD_MOST);
    if (!c->in)
        base_out_of_memory();
    return c->in_len < HTTP_HEAD_MOST;
}

/* What comes in a stream, or after the last answer, is not read by anybody. */
static void discard(struct client *c)
{
    char bytes[4096];
    ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->state = CLIENT_CLOSED;
}

void client_receive(struct client *c, double now)
{
    if (c->state != CLIENT_READING) {
        discard(c);
        return;
    }
    if (!has_room(c))
        return;
    ssize_t n = recv(c->fd, c->in + c->in_len, HTTP_HEAD_MOST - c->in_len, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->state = CLIENT_CLOSED;
    if (n <= 0)
        return;
    if (c->in_len == 0)
        enter(c, CLIENT_READING, now, HEAD_SECONDS);
    c->in_len += (size_t) n;
}

size_t client_head(const struct client *c)
{
    if (c->state != CLIENT_READING || c->in_len == 0)
        return 0;
    size_t len = http_head_length(c->in, c->in_len);
    return len == 0 && c->in_len == HTTP_HEAD_MOST ? HTTP_HEAD_MOST : len;
}

void client_retry(struct client *c, double now)
{
    client_leave(c);
    c->looks_for_run = false;
    enter(c, CLIENT_READING, now, HEAD_SECONDS);
}

void client_skip(struct client *c, size_t len)
{
    c->in_len -= len;
    memmove(c->in, c->in + len, c->in_len);
    if (c->in_len > 0)
        return;
    free(c->in);
    c->in = NULL;
}

/* ---- sending ---- */

/* Sends from *sent on. False: there is no room now, or the connection is over. */
static bool send_some(struct client *c, const struct buf *b, size_t *sent)
{
    while (*sent < b->len) {
        ssize_t n = send(c->fd, b->text + *sent, b->len - *sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            c->state = CLIENT_CLOSED;
        if (n < 0)
            return false;
        *sent += (size_t) n;
    }
    return true;
}

static void clear_answer(struct client *c)
{
    c->body = body_release(c->body);
    buf_release(&c->head);
    c->head_sent = c->body_sent = 0;
}

/* A connection that is closed with bytes unread loses the answer too. */
static void say_no_more(struct client *c, double now)
{
    shutdown(c->fd, SHUT_WR);
    enter(c, CLIENT_DRAINING, now, DRAIN_SECONDS);
}

static void add_events(struct client *c, double now)
{
    if (c->events & EVENT_CHANGE)
        buf_adds(&c->head, "event: change\ndata: {}\n\n");
    if (c->events & EVENT_END)
        buf_adds(&c->head, "event: end\ndata: {}\n\n");
    if (c->events == EVENT_PING)
        buf_adds(&c->head, ":\n\n");
    c->keeps_open = !(c->events & EVENT_END);
    c->events = 0;
    c->deadline = now + SEND_SECONDS;
    c->quiet_until = now + PING_SECONDS;
}

static void send_events(struct client *c, double now)
{
    while (c->head.len > 0 || c->events != 0) {
        if (c->head.len == 0)
            add_events(c, now);
        if (!send_some(c, &c->head, &c->head_sent))
            return;
        clear_answer(c);
    }
    c->deadline = INFINITY;
    if (!c->keeps_open) {
        client_leave(c);
        say_no_more(c, now);
    }
}

void client_send(struct client *c, double now)
{
    if (c->state == CLIENT_STREAMING) {
        send_events(c, now);
        return;
    }
    if (c->state != CLIENT_WRITING || !send_some(c, &c->head, &c->head_sent) ||
        (c->body && !send_some(c, &c->body->text, &c->body_sent)))
        return;
    clear_answer(c);
    if (c->keeps_open)
        enter(c, CLIENT_READING, now, c->in_len > 0 ? HEAD_SECONDS : IDLE_SECONDS);
    else
        say_no_more(c, now);
}

short client_wants(const struct client *c)
{
    switch (c->state) {
    case CLIENT_READING:
    case CLIENT_DRAINING:
        return POLLIN;
    case CLIENT_WRITING:
        return POLLOUT;
    case CLIENT_STREAMING:
        return (short) (POLLIN | (c->head.len > 0 || c->events != 0 ? POLLOUT : 0));
    case CLIENT_WAITING:
    case CLIENT_CLOSED:
        break;
    }
    return 0;
}

bool client_is_late(const struct client *c, double now)
{
    return now >= c->deadline;
}

/* ---- answers ---- */

static void add_date(struct buf *out)
{
    char text[64];
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    /* The program never sets a locale: names of days are English. */
    strftime(text, sizeof(text), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &t);
    buf_adds(out, text);
}

static void add_common(struct client *c, const char *policy)
{
    add_date(&c->head);
    buf_adds(&c->head, "Cache-Control: private, no-cache\r\n"
                       "X-Content-Type-Options: nosniff\r\n"
                       "X-Frame-Options: DENY\r\n"
                       "Referrer-Policy: no-referrer\r\n"
                       "Cross-Origin-Resource-Policy: same-origin\r\n"
                       "Cross-Origin-Opener-Policy: same-origin\r\n");
    buf_addf(&c->head, "Content-Security-Policy: %s\r\n",
             policy ? policy : "default-src 'none'; frame-ancestors 'none'");
}

/* A sentence as a body of its own. */
static void set_body(struct client *c, const struct client_answer *a)
{
    if (a->body) {
        c->body = body_keep(a->body);
        return;
    }
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s\n", a->text ? a->text : http_reason(a->status));
    c->body = body_new(&text);
}

static void add_content(struct client *c, const struct client_answer *a, bool is_same)
{
    if (a->has_tag)
        buf_addf(&c->head, "ETag: %s\r\n", c->body->tag);
    if (!is_same)
        buf_addf(&c->head, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                 a->type ? a->type : "text/plain; charset=utf-8", c->body->text.len);
}

void client_answer(struct client *c, const struct client_answer *a, double now)
{
    client_leave(c);
    clear_answer(c);
    set_body(c, a);
    bool is_same =
        a->has_tag && a->status == 200 && http_tag_matches(c->if_none_match, c->body->tag);
    int status = is_same ? 304 : a->status;
    buf_addf(&c->head, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
    add_common(c, a->policy);
    add_content(c, a, is_same);
    buf_addf(&c->head, "%sConnection: %s\r\n\r\n", a->headers ? a->headers : "",
             c->keeps_open ? "keep-alive" : "close");
    if (is_same || c->is_head)
        c->body = body_release(c->body);
    double bytes = (double) c->head.len + (c->body ? (double) c->body->text.len : 0);
    enter(c, CLIENT_WRITING, now, SEND_SECONDS + bytes / BYTES_A_SECOND);
}

/* ---- contents ---- */

void client_leave(struct client *c)
{
    if (!c->entry)
        return;
    c->entry->users--;
    c->entry->watchers -= c->is_watching;
    c->entry = NULL;
    c->is_watching = false;
}

void client_wait(struct client *c, struct entry *e, double now)
{
    c->entry = e;
    e->users++;
    enter(c, CLIENT_WAITING, now, WAIT_SECONDS);
}

void client_stream(struct client *c, struct entry *e, double now)
{
    clear_answer(c);
    buf_adds(&c->head, "HTTP/1.1 200 OK\r\n");
    add_common(c, NULL);
    buf_adds(&c->head, "Content-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n"
                       "Connection: close\r\n\r\n");
    if (c->is_head) {
        c->keeps_open = false;
        enter(c, CLIENT_WRITING, now, SEND_SECONDS);
        return;
    }
    buf_adds(&c->head, "retry: 2000\n\n");
    c->entry = e;
    c->is_watching = true;
    c->keeps_open = true;
    e->users++;
    e->watchers++;
    enter(c, CLIENT_STREAMING, now, SEND_SECONDS);
    c->quiet_until = now + PING_SECONDS;
}

void client_notify(struct client *c, unsigned events)
{
    c->events |= events;
}

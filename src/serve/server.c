/* serve/server.c: the loop: connections, readers, deadlines, events. */
#include "serve/server.h"

#include "page/page.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 250             /* while there is anybody */
#define PIPELINED 16u           /* requests of one client in a row */
#define ACCEPTED 64u            /* connections in a row */
#define SEND_BUFFER (128 << 10) /* bytes that the kernel keeps for a client that does not read */
#define PAUSE_SECONDS 0.5       /* without descriptors */

/* After the run has ended: for a page to fetch the end, and in all. */
#define LINGER_SECONDS 3.0
#define LAST_SECONDS 10.0

double server_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---- connections ---- */

static void remove_client(struct server *s, size_t i)
{
    client_free(s->clients[i]);
    s->clients[i] = s->clients[--s->count];
}

/* Who has been silent longest makes room; who waits for an answer or watches does not. */
static bool make_room(struct server *s)
{
    size_t victim = s->count;
    if (s->count < SERVER_CLIENTS)
        return true;
    for (size_t i = 0; i < s->count; i++) {
        const struct client *c = s->clients[i];
        bool is_silent = c->state == CLIENT_READING || c->state == CLIENT_DRAINING;
        if (is_silent && (victim == s->count || c->since < s->clients[victim]->since))
            victim = i;
    }
    if (victim == s->count)
        return false;
    remove_client(s, victim);
    return true;
}

static bool is_stranger(const struct server *s, int fd)
{
    uid_t user;
    return !s->options->token && (peer_user(fd, &user) < 0 || !peer_is_welcome(user));
}

static void add_client(struct server *s, int fd, double now)
{
    const int on = 1, size = SEND_BUFFER;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    struct client *c = client_new(fd, now);
    c->is_refused = is_stranger(s, fd);
    s->clients[s->count++] = c;
}

static void accept_clients(struct server *s, double now)
{
    for (unsigned i = 0; i < ACCEPTED && make_room(s); i++) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                s->accept_after = now + PAUSE_SECONDS;
            return;
        }
        add_client(s, fd, now);
    }
}

/* Answers what has come in whole. True: more of it is left. */
static bool answer_requests(struct server *s, struct client *c, double now)
{
    size_t len = 0;
    for (unsigned i = 0; i < PIPELINED && (len = client_head(c)) > 0; i++) {
        respond(s, c, len, now);
        client_send(c, now);
        s->active_at = now;
    }
    return len > 0 && client_head(c) > 0;
}

static void expire(struct server *s, struct client *c, double now)
{
    if (c->state == CLIENT_WAITING)
        respond_with(s, c, c->entry, now);
    else
        c->state = CLIENT_CLOSED;
}

/* True: more requests of this client are left. */
static bool serve_client(struct server *s, struct client *c, short ready, double now)
{
    if ((ready & (POLLERR | POLLNVAL)) || ((ready & POLLHUP) && !(ready & POLLIN)))
        c->state = CLIENT_CLOSED;
    else if (ready & POLLIN)
        client_receive(c, now);
    if (c->state == CLIENT_STREAMING && now >= c->quiet_until)
        client_notify(c, EVENT_PING);
    bool is_left = answer_requests(s, c, now);
    client_send(c, now);
    if (c->state != CLIENT_CLOSED && client_is_late(c, now))
        expire(s, c, now);
    return is_left || (c->state == CLIENT_READING && client_head(c) > 0);
}

/* ---- contents ---- */

static void notify(struct server *s, const struct entry *e, bool changed)
{
    bool is_last = e->is_finished || (s->is_ending && !e->is_wanted && !e->reader);
    unsigned events = (changed ? EVENT_CHANGE : 0u) | (is_last ? EVENT_END : 0u);
    for (size_t i = 0; i < s->count; i++)
        if (s->clients[i]->entry == e && s->clients[i]->state == CLIENT_STREAMING)
            client_notify(s->clients[i], is_last ? EVENT_END : events);
}

/* Everybody who waited for it; a request for a run that was not known is looked at again. */
static void answer_waiting(struct server *s, struct entry *e, double now)
{
    for (size_t i = 0; i < s->count; i++) {
        struct client *c = s->clients[i];
        if (c->entry != e || c->state != CLIENT_WAITING)
            continue;
        if (e->kind == CONTENT_LIST && c->looks_for_run)
            client_retry(c, now);
        else
            respond_with(s, c, e, now);
    }
}

static void collect(struct server *s, double now)
{
    struct entry *e;
    bool changed;
    while ((e = cache_collect(&s->cache, now, &changed))) {
        notify(s, e, changed);
        answer_waiting(s, e, now);
        s->active_at = now;
    }
}

/* ---- the end ---- */

static void begin_end(struct server *s, double now)
{
    if (s->is_ending)
        return;
    s->is_ending = true;
    s->last_until = now + LAST_SECONDS;
    cache_expire(&s->cache, now);
}

/* Whether somebody may still be about to fetch the end. */
static bool is_needed(const struct server *s, double now)
{
    for (size_t i = 0; i < s->count; i++) {
        enum client_state state = s->clients[i]->state;
        if (state == CLIENT_STREAMING || state == CLIENT_WAITING || state == CLIENT_WRITING)
            return true;
    }
    return now - s->active_at < LINGER_SECONDS;
}

static void read_signals(struct server *s, double now)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t) sizeof(info)) {
        if (info.ssi_signo == SIGHUP && s->options->ends_with_parent)
            begin_end(s, now);
        else
            s->is_over = true;
    }
}

/* ---- the loop ---- */

#define FIXED (2 + CACHE_READERS)

static int timeout_ms(const struct server *s, bool is_left)
{
    if (is_left)
        return 0;
    return s->count > 0 || s->is_ending || s->cache.reading > 0 || s->accept_after > 0 ? TICK_MS
                                                                                       : -1;
}

static size_t fill_poll(struct server *s, struct pollfd *p, double now)
{
    bool accepts = now >= s->accept_after;
    if (accepts)
        s->accept_after = 0;
    p[0] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    p[1] = (struct pollfd){.fd = accepts ? s->listener : -1, .events = POLLIN};
    for (size_t i = 2; i < FIXED; i++)
        p[i] = (struct pollfd){.fd = -1};
    cache_poll(&s->cache, p + 2);
    for (size_t i = 0; i < s->count; i++)
        p[FIXED + i] =
            (struct pollfd){.fd = s->clients[i]->fd, .events = client_wants(s->clients[i])};
    return FIXED + s->count;
}

/* From the last one on, so that one that is removed is replaced by one that was served already. */
static bool serve_clients(struct server *s, const struct pollfd *p, double now)
{
    bool is_left = false;
    for (size_t i = s->count; i-- > 0;) {
        if (serve_client(s, s->clients[i], p[FIXED + i].revents, now))
            is_left = true;
        if (s->clients[i]->state == CLIENT_CLOSED)
            remove_client(s, i);
    }
    return is_left;
}

static void loop(struct server *s, struct pollfd *p)
{
    bool is_left = false;
    while (!s->is_over) {
        size_t count = fill_poll(s, p, server_now());
        if (poll(p, count, timeout_ms(s, is_left)) < 0)
            for (size_t i = 0; i < count; i++)
                p[i].revents = 0;
        double now = server_now();
        read_signals(s, now);
        collect(s, now);
        is_left = serve_clients(s, p, now);
        if (p[1].revents)
            accept_clients(s, now);
        cache_tick(&s->cache, now);
        if (s->is_ending && (now >= s->last_until || !is_needed(s, now)))
            s->is_over = true;
    }
}

/* ---- beginning ---- */

static int catch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void allow_many_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static struct body *static_body(const char *text)
{
    struct buf bytes = BUF_INIT;
    buf_adds(&bytes, text);
    return body_new(&bytes);
}

static int find_runs(const struct serve_options *o, struct runs *ret, const char **ret_file)
{
    struct runs runs;
    int r = runs_init(&runs, o->folder, o->title ? o->title : "runs");
    *ret_file = o->folder;
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < o->file_count; i++) {
        *ret_file = o->files[i];
        r = runs_add(&runs, o->files[i]);
    }
    if (r == 0) {
        *ret = runs;
        *ret_file = NULL;
    } else {
        runs_release(&runs);
    }
    return r;
}

static void release(struct server *s)
{
    while (s->count > 0)
        remove_client(s, s->count - 1);
    free(s->clients);
    cache_release(&s->cache);
    body_release(s->script);
    body_release(s->style);
    if (s->signals >= 0)
        close(s->signals);
}

int serve(const struct serve_options *options, const char **ret_file)
{
    struct server s = {.options = options, .listener = options->listener.fd, .signals = -1};
    struct runs runs;
    *ret_file = NULL;
    int r = find_runs(options, &runs, ret_file);
    if (r < 0)
        return r;
    cache_init(&s.cache, &runs, server_now());
    r = access_init(&s.access, options->token, options->listener.port);
    s.signals = catch_signals();
    struct pollfd *p = calloc(FIXED + SERVER_CLIENTS, sizeof(*p));
    s.clients = calloc(SERVER_CLIENTS, sizeof(struct client *));
    if (!p || !s.clients)
        r = -ENOMEM;
    if (r == 0 && s.signals < 0)
        r = -EMFILE;
    if (r == 0) {
        allow_many_files();
        s.script = static_body(page_script());
        s.style = static_body(page_style());
        loop(&s, p);
    }
    release(&s);
    free(p);
    return r;
}

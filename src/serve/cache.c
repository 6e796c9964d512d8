/* serve/cache.c: contents that are computed once for all who ask. */
#include "serve/cache.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MOST 512u
#define BYTES_MOST ((size_t) 64 << 20)
#define READER_SECONDS 60.0 /* a reader may take so long */

#define READ_EVERY 1.0  /* seconds */
#define LIST_MOST 10.0  /* new files appear within that time */
#define FAILED_FOR 30.0 /* what killed its reader is left alone */

/* Spans may take so many seconds at once, and this share in the long run. */
#define SPAN_BURST 2.0
#define SPAN_SHARE 0.2

/* ---- bodies ---- */

/* FNV-1a, 64 bits. A tag guards against stale copies, not against forgers. */
static uint64_t hash(const char *bytes, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char) bytes[i]) * 0x100000001b3u;
    return h;
}

struct body *body_new(struct buf *text)
{
    struct body *b = malloc(sizeof(*b));
    if (!b)
        base_out_of_memory();
    *b = (struct body){.references = 1, .text = *text};
    snprintf(b->tag, sizeof(b->tag), "\"%016llx\"",
             (unsigned long long) hash(buf_text(text), text->len));
    *text = BUF_INIT;
    return b;
}

struct body *body_keep(struct body *b)
{
    b->references++;
    return b;
}

struct body *body_release(struct body *b)
{
    if (b && --b->references == 0) {
        buf_release(&b->text);
        free(b);
    }
    return NULL;
}

/* ---- entries ---- */

void cache_init(struct cache *c, struct runs *runs, double now)
{
    *c = (struct cache){.runs = *runs, .span_seconds = SPAN_BURST, .span_at = now};
    *runs = (struct runs){.count = 0};
}

static void entry_free(struct entry *e)
{
    reading_free(e->reader);
    body_release(e->body);
    free(e->run);
    free(e);
}

void cache_release(struct cache *c)
{
    for (size_t i = 0; i < c->count; i++)
        entry_free(c->entries[i]);
    free(c->entries);
    runs_release(&c->runs);
    *c = (struct cache){.count = 0};
}

static bool is_it(const struct entry *e, enum content_kind kind, const char *run,
                  const struct span_wanted *span)
{
    if (e->kind != kind || (kind != CONTENT_LIST && strcmp(e->run, run) != 0))
        return false;
    return !span ||
           (e->span.series == span->series && e->span.points == span->points &&
            !islessgreater(e->span.from, span->from) && !islessgreater(e->span.to, span->to));
}

/* Index of what was used longest ago and may be dropped; c->count: nothing may. */
static size_t find_oldest(const struct cache *c)
{
    size_t oldest = c->count;
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *e = c->entries[i];
        if (e->users == 0 && !e->reader && e->kind != CONTENT_LIST &&
            (oldest == c->count || e->used_at < c->entries[oldest]->used_at))
            oldest = i;
    }
    return oldest;
}

static bool drop_oldest(struct cache *c)
{
    size_t i = find_oldest(c);
    if (i == c->count)
        return false;
    entry_free(c->entries[i]);
    c->entries[i] = c->entries[--c->count];
    return true;
}

static void keep_bounded(struct cache *c)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->count; i++)
        bytes += c->entries[i]->body ? c->entries[i]->body->text.len : 0;
    while (bytes > BYTES_MOST || c->count >= ENTRIES_MOST) {
        size_t i = find_oldest(c);
        if (i < c->count && c->entries[i]->body)
            bytes -= c->entries[i]->body->text.len;
        if (!drop_oldest(c))
            return;
    }
}

static struct entry *add_entry(struct cache *c)
{
    struct entry **entries = realloc(c->entries, (c->count + 1) * sizeof(struct entry *));
    struct entry *e = calloc(1, sizeof(*e));
    if (!entries || !e)
        base_out_of_memory();
    c->entries = entries;
    c->entries[c->count++] = e;
    return e;
}

struct entry *cache_entry(struct cache *c, enum content_kind kind, const char *run,
                          const struct span_wanted *span, double now)
{
    for (size_t i = 0; i < c->count; i++)
        if (is_it(c->entries[i], kind, run, span)) {
            c->entries[i]->used_at = now;
            return c->entries[i];
        }
    keep_bounded(c);
    struct entry *e = add_entry(c);
    e->kind = kind;
    e->run = run ? strdup(run) : NULL;
    if (run && !e->run)
        base_out_of_memory();
    if (span)
        e->span = *span;
    e->used_at = now;
    return e;
}

struct entry *cache_list(struct cache *c, double now)
{
    return cache_entry(c, CONTENT_LIST, NULL, NULL, now);
}

bool cache_is_fresh(const struct entry *e, double now)
{
    return e->body && now < e->ready_at;
}

void cache_want(struct entry *e, double now)
{
    if (e->is_wanted || e->reader)
        return;
    e->is_wanted = true;
    e->wanted_at = now;
}

bool cache_allows_span(struct cache *c, double now)
{
    c->span_seconds = fmin(SPAN_BURST, c->span_seconds + SPAN_SHARE * (now - c->span_at));
    c->span_at = now;
    return c->span_seconds > 0;
}

/* ---- reading ---- */

static int read_list(void *context)
{
    return runs_scan(context);
}

static int read_run(void *context)
{
    return content_read(context);
}

static int start_reader(struct cache *c, struct entry *e, double now)
{
    if (e->kind == CONTENT_LIST)
        return reading_start(read_list, &c->runs, &e->reader);
    const struct run *run = runs_find(&c->runs, e->run);
    struct content_wanted wanted = {
        .kind = e->kind,
        .root = run ? run->root : "/nonexistent",
        .file = run ? run->file : "run",
        .span = e->span,
        .stamp = e->body ? e->stamp : "",
        .may_compute = !e->body || now >= e->compute_at,
    };
    return reading_start(read_run, &wanted, &e->reader);
}

static struct entry *next_wanted(const struct cache *c)
{
    struct entry *next = NULL;
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = c->entries[i];
        if (e->is_wanted && !e->reader && (!next || e->wanted_at < next->wanted_at))
            next = e;
    }
    return next;
}

static void want_watched(struct cache *c, double now)
{
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = c->entries[i];
        if (e->watchers > 0 && !e->is_finished && now >= e->ready_at)
            cache_want(e, now);
    }
}

void cache_tick(struct cache *c, double now)
{
    want_watched(c, now);
    for (size_t i = 0; i < c->count; i++)
        if (c->entries[i]->reader && now > c->entries[i]->reader_until)
            reading_stop(c->entries[i]->reader);
    for (struct entry *e; c->reading < CACHE_READERS && (e = next_wanted(c)); c->reading++) {
        if (start_reader(c, e, now) < 0)
            return; /* no process can be made now: the next tick tries again */
        e->is_wanted = false;
        e->reader_until = now + READER_SECONDS;
    }
}

void cache_expire(struct cache *c, double now)
{
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = c->entries[i];
        if (e->watchers == 0 || e->is_finished)
            continue;
        e->ready_at = e->compute_at = now;
        e->is_wanted = true;
        e->wanted_at = now;
    }
}

size_t cache_poll(const struct cache *c, struct pollfd *p)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count && count < CACHE_READERS; i++)
        if (c->entries[i]->reader)
            p[count++] = (struct pollfd){.fd = reading_fd(c->entries[i]->reader), .events = POLLIN};
    return count;
}

/* ---- results ---- */

/* True: the bytes are others than before. */
static bool replace_body(struct entry *e, int status, struct buf *text)
{
    struct body *b = body_new(text);
    bool is_new = !e->body || e->status != status || strcmp(e->body->tag, b->tag) != 0;
    body_release(e->body);
    e->body = b;
    e->status = status;
    return is_new;
}

static bool take_list(struct cache *c, struct entry *e, const struct reading_result *r, double now)
{
    struct buf text = BUF_INIT;
    runs_take(&c->runs, buf_text(&r->bytes), r->bytes.len, r->is_complete);
    runs_json(&c->runs, &text);
    double rest = runs_is_read(&c->runs) ? r->cpu_seconds * (1 / CACHE_SHARE - 1) : 0;
    e->ready_at = now + fmin(fmax(READ_EVERY, rest), LIST_MOST);
    return replace_body(e, 200, &text);
}

static bool take_failure(struct entry *e, double now)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "{\"error\": \"" CONTENT_READER_DIED "\"}");
    e->stamp[0] = '\0';
    e->ready_at = e->compute_at = now + FAILED_FOR;
    return replace_body(e, 422, &text);
}

static bool take_content(struct entry *e, const struct reading_result *r, double now)
{
    struct content_head head;
    if (!r->is_complete || r->bytes.len < sizeof(head))
        return take_failure(e, now);
    memcpy(&head, buf_text(&r->bytes), sizeof(head));
    double next = now + fmax(READ_EVERY, r->cpu_seconds * (1 / CACHE_SHARE - 1));
    e->ready_at =
        head.status == CONTENT_SAME || head.status == CONTENT_LATER ? next : now + READ_EVERY;
    if (head.status == CONTENT_SAME || head.status == CONTENT_LATER)
        return false;
    struct buf text = BUF_INIT;
    buf_add(&text, r->bytes.text + sizeof(head), r->bytes.len - sizeof(head));
    memcpy(e->stamp, head.stamp, sizeof(e->stamp));
    e->stamp[sizeof(e->stamp) - 1] = '\0';
    e->compute_at = next;
    e->is_finished = head.is_finished;
    return replace_body(e, head.status, &text);
}

static bool take(struct cache *c, struct entry *e, const struct reading_result *r, double now)
{
    if (e->kind == CONTENT_LIST)
        return take_list(c, e, r, now);
    if (e->kind == CONTENT_SPAN)
        c->span_seconds -= r->cpu_seconds;
    return take_content(e, r, now);
}

struct entry *cache_collect(struct cache *c, double now, bool *ret_changed)
{
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = c->entries[i];
        struct reading_result result;
        if (!e->reader || reading_collect(e->reader, &result) < 0)
            continue;
        e->reader = reading_free(e->reader);
        c->reading--;
        *ret_changed = take(c, e, &result, now);
        buf_release(&result.bytes);
        return e;
    }
    return NULL;
}

/* watch/found.c: what processes tell of the objects they hold: the last census of each. */
#include "watch/additions.h"
#include "watch/session.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_LENGTH 96u

/* So many more of them are no chance. */
#define LEAST_TENSORS 8

/* Part of a process's time after which its objects have been counted. */
#define LATE_SHARE 0.1

/* At the end of a process: a search that it began is worth waiting for, so many times so long. */
#define AWAITED 150u
#define AWAITED_MICROSECONDS 10000u

struct found *found_free(struct found *f)
{
    if (!f)
        return NULL;
    wire_census_free(f->census);
    wire_census_free(f->searched);
    free(f->last_text);
    free(f->searched_text);
    free(f->steps);
    free(f);
    return NULL;
}

double found_seconds(const struct watch *w, uint64_t time)
{
    double since = time >= w->options.began ? (double) (time - w->options.began)
                                            : -(double) (w->options.began - time);
    return 1e-9 * since;
}

/* ---- what the last search found ---- */

static bool is_searched(const struct wire_census *c)
{
    for (unsigned i = 0; i < c->growing_count; i++)
        if (c->growing[i].holder_count > 0)
            return true;
    return false;
}

/* So many points of both are of the same census. */
#define SHARED_POINTS 2u

/* It was counted alike whenever both were. */
static bool is_same_growth(const struct wire_census_growing *a, const struct wire_census_growing *b)
{
    unsigned shared = 0;
    if (a->form != b->form)
        return false;
    for (unsigned i = 0, k = 0; i < a->point_count && k < b->point_count;) {
        const struct wire_census_point *x = &a->points[i], *y = &b->points[k];
        if (x->time == y->time && x->count != y->count)
            return false;
        shared += x->time == y->time;
        i += x->time <= y->time;
        k += y->time <= x->time;
    }
    return shared >= SHARED_POINTS;
}

/* NULL: there is none, or more than one. */
static struct wire_census_growing *find_growth(struct wire_census *c,
                                               const struct wire_census_growing *g)
{
    struct wire_census_growing *found = NULL;
    for (unsigned i = 0; i < c->growing_count; i++) {
        if (!is_same_growth(&c->growing[i], g))
            continue;
        if (found)
            return NULL;
        found = &c->growing[i];
    }
    return found;
}

/* What only a search finds out. */
static void take_over(struct wire_census_growing *g, const struct wire_census_growing *known)
{
    memcpy(g->holders, known->holders, sizeof(g->holders));
    g->holder_count = known->holder_count;
    memcpy(g->item, known->item, sizeof(g->item));
    g->item_depth = known->item_depth;
    g->host_per_item = known->host_per_item;
    g->device_per_item = known->device_per_item;
    g->host_low = known->host_low;
    g->host_high = known->host_high;
    g->device_low = known->device_low;
    g->device_high = known->device_high;
    g->view = known->view;
    g->tensors = known->tensors;
    g->grad_fn = known->grad_fn;
    g->addition = known->addition;
    if (isnan(g->bound))
        g->bound = known->bound;
}

static void borrow_from(struct wire_census *c, struct wire_census *known)
{
    for (unsigned i = 0; i < known->growing_count; i++) {
        struct wire_census_growing *k = &known->growing[i], *g = find_growth(c, k);
        if (k->holder_count > 0 && g && g->holder_count == 0 && find_growth(known, g) == k)
            take_over(g, k);
    }
}

/*
 * A census for which nobody has searched has the holders of what was searched for before it: as the
 * last one had them, which has most points in common, or the one that was searched for. The texts
 * are those of that one: it stays.
 */
static void borrow_holders(struct found *f, struct wire_census *c)
{
    if (!f->searched && f->census && is_searched(f->census))
        f->searched = f->census;
    if (!f->searched)
        return;
    borrow_from(c, f->census);
    borrow_from(c, f->searched);
}

/* ---- taking one ---- */

static struct found *found_of(struct member *m)
{
    if (m->found)
        return m->found;
    m->found = calloc(1, sizeof(*m->found));
    if (!m->found)
        base_out_of_memory();
    for (unsigned i = 0; i < FOUND_TENSORS; i++)
        m->found->tensors[i] = NAN;
    return m->found;
}

static void note_tensors(struct found *f, const struct wire_census *c)
{
    double count = 0;
    for (unsigned i = 0; i < c->tensors_count; i++)
        count += c->tensors[i].count;
    memmove(&f->tensors[1], &f->tensors[0], (FOUND_TENSORS - 1) * sizeof(f->tensors[0]));
    f->tensors[0] = count;
}

bool found_tensors_rise(const struct found *f)
{
    for (unsigned i = 0; i + 1 < FOUND_TENSORS; i++)
        if (!(f->tensors[i] > f->tensors[i + 1]))
            return false;
    return f->tensors[0] - f->tensors[FOUND_TENSORS - 1] >= LEAST_TENSORS;
}

bool found_is_of_late(const struct watch *w, const struct member *m)
{
    const struct clock_mark *first = clock_first(&w->clock);
    double begin = first ? first->seconds : m->joined;
    double now = isnan(m->ended) ? w->last_tick : m->ended;
    return found_seconds(w, m->found->census->time) - begin >= LATE_SHARE * (now - begin);
}

static bool has_arenas(const struct heap_point *p)
{
    return !isnan(p->arenas_free);
}

/* When there is no more room, every second point goes, and later ones come as rarely: the points
 * are spread over the whole time. Few tell of arenas: these stay first. */
static void thin_heap(struct found *f)
{
    f->heap_spacing = (f->heap[HEAP_POINTS - 1].seconds - f->heap[0].seconds) / (HEAP_POINTS / 2.0);
    for (unsigned i = 0; i < HEAP_POINTS / 2; i++) {
        const struct heap_point *pair = &f->heap[(size_t) 2 * i];
        f->heap[i] = !has_arenas(&pair[0]) && has_arenas(&pair[1]) ? pair[1] : pair[0];
    }
    f->heap_count = HEAP_POINTS / 2;
}

/* The newest is always kept: it makes way for the next one where it is too near to the last before
 * it that tells as much. */
static bool is_too_near(const struct found *f)
{
    const struct heap_point *newest = &f->heap[f->heap_count ? f->heap_count - 1 : 0];
    for (const struct heap_point *p = newest; p-- > f->heap;)
        if (has_arenas(p) || !has_arenas(newest))
            return newest->seconds - p->seconds < f->heap_spacing;
    return false;
}

/* What a process has asked for is seen from outside: so long before or after at most. */
#define ASKED_SECONDS 1.5

/* The ring and the census tell the same, and either may come first. */
void found_add_heap(struct member *m, double seconds, double in_use, double free)
{
    struct found *f = found_of(m);
    unsigned at = f->heap_count;
    double anon = m->has_tracks ? m->tracks[MEMBER_ANON].last : (double) NAN;
    double asked = fabs(seconds - m->seen_seconds) < ASKED_SECONDS ? m->now.data : (double) NAN;
    if (isnan(in_use) || isnan(free) || isnan(anon))
        return;
    while (at > 0 && f->heap[at - 1].seconds >= seconds - HEAP_SAME_SECONDS)
        at--;
    if (at < f->heap_count && f->heap[at].seconds <= seconds + HEAP_SAME_SECONDS)
        return;
    if (f->heap_count == HEAP_POINTS && at < f->heap_count)
        return; /* an old one that is late */
    if (at == f->heap_count && is_too_near(f))
        at = --f->heap_count;
    else if (f->heap_count == HEAP_POINTS) {
        thin_heap(f);
        at = f->heap_count;
    }
    memmove(&f->heap[at + 1], &f->heap[at], (f->heap_count - at) * sizeof(f->heap[0]));
    f->heap[at] = (struct heap_point){seconds, in_use, free, anon, asked, NAN, NAN};
    f->heap_count++;
    f->heap_is_new = true;
}

/* Only the census has it: it belongs to the look of the same moment. */
static void note_arenas(struct found *f, double seconds, const struct wire_census *c)
{
    for (unsigned i = 0; i < f->heap_count; i++)
        if (fabs(f->heap[i].seconds - seconds) <= HEAP_SAME_SECONDS) {
            f->heap[i].arenas_used = c->arenas_in_use;
            f->heap[i].arenas_free = c->arenas_free;
            f->heap_is_new = true;
        }
}

/* True: its holders were searched for. Takes over the census. */
static bool take(struct found *f, struct wire_census *c)
{
    bool has_own = is_searched(c);
    if (!has_own)
        borrow_holders(f, c);
    note_tensors(f, c);
    return has_own;
}

/* The last one that was searched for stays: its texts are those of the holders. */
static void replace(struct found *f, struct wire_census *c, bool has_own)
{
    if (f->census != f->searched)
        wire_census_free(f->census);
    if (has_own)
        f->searched = wire_census_free(f->searched);
    f->census = c;
}

/* In the caller's file, where that is not the holder's as the process told it. */
static void add_addition(struct buf *out, const struct wire_census_growing *g)
{
    bool is_caller = g->holder_count > 0 && g->caller && g->holders[0].file == g->caller;
    buf_addf(out, "addition\t%llu\t%d%s\n", (unsigned long long) g->id, g->addition,
             is_caller ? "\tcaller" : "");
}

/* For the run file, with the lines that were found in the sources: these may be others by the time
 * it is read. */
static void keep_text(char **to, const struct wire_census *c, const char *text, size_t len)
{
    struct buf kept = BUF_INIT;
    buf_add(&kept, text, len);
    for (unsigned i = 0; i < c->growing_count; i++)
        if (c->growing[i].addition > 0)
            add_addition(&kept, &c->growing[i]);
    free(*to);
    *to = strdup(buf_text(&kept));
    if (!*to)
        base_out_of_memory();
    buf_release(&kept);
}

void found_take(struct watch *w, struct member *m, const char *text, size_t len)
{
    struct wire_census *c;
    int r = wire_census_parse(text, len, &c);
    if (r == -EPROTONOSUPPORT)
        rings_note_foreign(w, m->id);
    if (r < 0)
        return;
    struct found *f = found_of(m);
    bool has_own = take(f, c);
    additions_find(w, m, f, c);
    replace(f, c, has_own);
    w->holders_known = w->holders_known || has_own;
    if (!c->ended) { /* it gives back what it had */
        double seconds = found_seconds(w, c->time);
        found_add_heap(m, seconds, c->heap_in_use, c->heap_free);
        note_arenas(f, seconds, c);
    }
    if (!w->options.store)
        return;
    free(f->last_text);
    f->last_text = NULL;
    keep_text(has_own ? &f->searched_text : &f->last_text, c, text, len);
}

/* ---- in the run file ---- */

static void store_text(struct watch *w, const struct member *m, char **text, bool searched)
{
    const struct store_census census = {searched, w->options.began, *text};
    if (*text)
        store_set_census(w->options.store, m->stored, &census);
    free(*text);
    *text = NULL;
}

static void store_heap(struct watch *w, struct member *m)
{
    struct found *f = m->found;
    struct store_look looks[HEAP_POINTS];
    for (unsigned i = 0; i < f->heap_count; i++) {
        const struct heap_point *p = &f->heap[i];
        looks[i] = (struct store_look){p->seconds, p->anon,        p->in_use,     p->free,
                                       p->asked,   p->arenas_used, p->arenas_free};
    }
    store_set_looks(w->options.store, m->stored, looks, f->heap_count);
    f->heap_is_new = false;
}

void found_store(struct watch *w, struct member *m)
{
    struct found *f = m->found;
    if (!w->options.store || !f || m->stored == 0)
        return;
    if (f->heap_is_new)
        store_heap(w, m);
    store_text(w, m, &f->searched_text, true);
    store_text(w, m, &f->last_text, false);
}

void found_restore_look(struct member *m, const struct heap_point *look)
{
    struct found *f = found_of(m);
    if (f->heap_count < HEAP_POINTS)
        f->heap[f->heap_count++] = *look;
}

/* The file may be of another machine: no source is looked into. */
int found_restore_census(struct watch *w, struct member *m, uint64_t origin, const char *text)
{
    struct wire_census *c;
    int r = wire_census_parse(text, strlen(text), &c);
    if (r < 0)
        return r;
    w->options.began = origin;
    struct found *f = found_of(m);
    replace(f, c, take(f, c));
    return 0;
}

int watch_take_census(struct watch *w, pid_t pid, const char *text, size_t len)
{
    for (size_t i = w->member_count; i-- > 0;)
        if (w->members[i]->id.pid == pid && member_is_alive(w->members[i])) {
            found_take(w, w->members[i], text, len);
            return 0;
        }
    return -ESRCH;
}

const struct wire_census *watch_census(const struct watch *w, pid_t pid)
{
    for (size_t i = w->member_count; i-- > 0;)
        if (w->members[i]->id.pid == pid && w->members[i]->found)
            return w->members[i]->found->census;
    return NULL;
}

/* ---- files ---- */

/* "PID-START.census" beside "PID-START.ring". */
static bool census_name(const struct ring *r, char ret[NAME_LENGTH])
{
    size_t len = strlen(r->file) - strlen(WIRE_RING_SUFFIX);
    int n = snprintf(ret, NAME_LENGTH, "%.*s" WIRE_CENSUS_SUFFIX, (int) len, r->file);
    return n < (int) NAME_LENGTH;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void read_file(struct watch *w, struct member *m, int fd, const struct stat *st)
{
    char *text = malloc((size_t) st->st_size + 1);
    ssize_t n, len = 0;
    if (!text)
        base_out_of_memory();
    while (len < st->st_size && (n = read(fd, text + len, (size_t) (st->st_size - len))) > 0)
        len += n;
    found_take(w, m, text, (size_t) len);
    free(text);
    if (m->found)
        m->found->file = *st;
}

static bool is_read(const struct ring *r, const struct stat *st)
{
    return r->member->found && same_file(st, &r->member->found->file);
}

/* A file that was read before is not opened again. */
static int open_census(const struct watch *w, const struct ring *r, struct stat *ret)
{
    char name[NAME_LENGTH];
    if (r->own)
        return wire_census_open(r->own, ret);
    if (w->rings.directory < 0 || !census_name(r, name) ||
        fstatat(w->rings.directory, name, ret, AT_SYMLINK_NOFOLLOW) < 0 || is_read(r, ret))
        return -ENOENT;
    return wire_open_beneath(w->rings.directory, name, S_IFREG, O_RDONLY, ret);
}

void found_read(struct watch *w, struct ring *r)
{
    struct stat st;
    int fd = r->member ? open_census(w, r, &st) : -ENOENT;
    if (fd < 0)
        return;
    if (!is_read(r, &st) && (size_t) st.st_size <= WIRE_CENSUS_MOST_BYTES)
        read_file(w, r->member, fd, &st);
    close(fd);
}

void found_remove(struct watch *w, const struct ring *r)
{
    char name[NAME_LENGTH];
    if (w->rings.directory >= 0 && r->file && census_name(r, name))
        unlinkat(w->rings.directory, name, 0);
}

/* ---- steps ---- */

/* No step has been told since the last mark: it is still that one. */
static double step_at(const struct step_clock *c, double seconds)
{
    const struct clock_mark *last = clock_last(c);
    return clock_step_at(c, last ? fmin(seconds, last->seconds) : seconds);
}

void found_steps_of(const struct watch *w, const struct member *m, unsigned growing,
                    found_steps ret)
{
    const struct wire_census_growing *g = &m->found->census->growing[growing];
    for (unsigned i = 0; i < g->point_count; i++)
        ret[i] = m->found->steps ? m->found->steps[growing][i]
                                 : step_at(&w->clock, found_seconds(w, g->points[i].time));
}

void found_await(const struct ring *r)
{
    for (unsigned i = 0; i < AWAITED && wire_reader_census_is_under_way(r->reader); i++)
        usleep(AWAITED_MICROSECONDS);
}

void found_end(struct watch *w, struct member *m)
{
    if (!m->found || !m->found->census || m->found->steps)
        return;
    found_steps *steps = calloc(WIRE_CENSUS_GROWING, sizeof(*steps));
    if (!steps)
        base_out_of_memory();
    for (unsigned i = 0; i < m->found->census->growing_count; i++)
        found_steps_of(w, m, i, steps[i]);
    m->found->steps = steps;
}

/* ---- what is wanted ---- */

/* Of a job that grows every trainer may be the one; of its data workers those that grow. */
static bool is_suspect(const struct watch *w, const struct member *m)
{
    bool is_worker = m && m->role.role == ROLE_DATA_WORKER;
    return (track_is_wary(&w->job[JOB_ANON]) && !is_worker) ||
           (m && (member_is_wary(m) || (member_climbs(m) && entries_have(w, m->id)))) ||
           (m && m->found && found_tensors_rise(m->found));
}

void found_want(struct watch *w)
{
    for (size_t i = 0; i < w->rings.count; i++) {
        struct ring *r = w->rings.list[i];
        enum wire_wanted wanted =
            is_suspect(w, r->member) ? WIRE_CENSUS_HOLDERS : WIRE_CENSUS_COUNT;
        if (wanted < w->options.wants)
            wanted = w->options.wants;
        wire_reader_want(r->reader, w->options.no_inspect ? WIRE_CENSUS_NONE : wanted);
        wire_reader_act(r->reader, w->options.acts);
    }
}

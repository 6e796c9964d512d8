/* sample/censuses.c: reads the censuses that processes report: the objects they hold. */
#include "sample/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_LENGTH 96u

/* When a process ends, waits this many times this long for a search that it began. */
#define AWAITED 150u
#define AWAITED_MICROSECONDS 10000u

/* Writes the line, and whether it is in the caller's file rather than in the holder's. */
static void add_addition(struct buf *out, const struct wire_census_growing *g)
{
    bool is_caller = g->holder_count > 0 && g->caller && g->holders[0].file == g->caller;
    buf_addf(out, "addition\t%llu\t%d", (unsigned long long) g->id, g->addition);
    if (is_caller)
        buf_adds(out, "\tcaller");
    else if (g->put_first > 0)
        buf_addf(out, "\t%u", g->put_first + 1);
    buf_adds(out, "\n");
}

/* Keeps the text for the run file, with the lines found in the sources: these may change before
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

/* Keeps the last census and the last searched one. */
static void keep_for_run_file(struct member *m, bool is_searched, const char *text, size_t len)
{
    struct member_reading *r = m->reading;
    free(r->last_text);
    r->last_text = NULL;
    keep_text(is_searched ? &r->searched_text : &r->last_text, m->evidence->census, text, len);
}

static void take(struct sampler *sam, struct member *m, const char *text, size_t len)
{
    struct wire_census *c;
    int r = wire_census_parse(text, len, &c);
    if (r == -EPROTONOSUPPORT)
        rings_note_foreign(sam, m->id);
    if (r < 0)
        return;
    bool is_searched = evidence_take(sam->job, m, c);
    lines_find(sam, m);
    if (sam->options.store)
        keep_for_run_file(m, is_searched, text, len);
}

int sampler_take_census(struct sampler *sam, pid_t pid, const char *text, size_t len)
{
    struct member *m = job_find_alive(sam->job, pid);
    if (!m)
        return -ESRCH;
    take(sam, m, text, len);
    return 0;
}

/* ---- in the run file ---- */

static void store_text(struct sampler *sam, const struct member *m, char **text, bool searched)
{
    const struct store_census census = {searched, sam->job->began, *text};
    if (*text)
        store_set_census(sam->options.store, m->stored, &census);
    free(*text);
    *text = NULL;
}

static void store_looks(struct sampler *sam, struct member *m)
{
    struct evidence *e = m->evidence;
    struct store_heap_point looks[HEAP_POINTS];
    for (unsigned i = 0; i < e->heap_count; i++) {
        const struct heap_point *p = &e->heap[i];
        looks[i] = (struct store_heap_point){p->seconds, p->anon,        p->in_use,     p->free,
                                             p->asked,   p->arenas_used, p->arenas_free};
    }
    store_set_heap_points(sam->options.store, m->stored, looks, e->heap_count);
    e->has_new_heap_points = false;
}

void censuses_store(struct sampler *sam, struct member *m)
{
    if (!sam->options.store || !m->evidence || m->stored == 0)
        return;
    if (m->evidence->has_new_heap_points)
        store_looks(sam, m);
    store_text(sam, m, &m->reading->searched_text, true);
    store_text(sam, m, &m->reading->last_text, false);
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

static void read_file(struct sampler *sam, struct ring *r, int fd, const struct stat *st)
{
    char *text = malloc((size_t) st->st_size + 1);
    ssize_t n, len = 0;
    if (!text)
        base_out_of_memory();
    while (len < st->st_size && (n = read(fd, text + len, (size_t) (st->st_size - len))) > 0)
        len += n;
    take(sam, r->member, text, (size_t) len);
    free(text);
    r->census = *st;
}

static bool is_read(const struct ring *r, const struct stat *st)
{
    return r->census.st_size > 0 && same_file(st, &r->census);
}

/* A file that was already read is not opened again. */
static int open_census(const struct sampler *sam, const struct ring *r, struct stat *ret)
{
    char name[NAME_LENGTH];
    if (r->own)
        return wire_census_open(r->own, ret);
    if (sam->rings.directory < 0 || !census_name(r, name) ||
        fstatat(sam->rings.directory, name, ret, AT_SYMLINK_NOFOLLOW) < 0 || is_read(r, ret))
        return -ENOENT;
    return wire_open_beneath(sam->rings.directory, name, S_IFREG, O_RDONLY, ret);
}

void censuses_read(struct sampler *sam, struct ring *r)
{
    struct stat st;
    int fd = r->member ? open_census(sam, r, &st) : -ENOENT;
    if (fd < 0)
        return;
    if (!is_read(r, &st) && (size_t) st.st_size <= WIRE_CENSUS_MOST_BYTES)
        read_file(sam, r, fd, &st);
    close(fd);
}

void censuses_remove(struct sampler *sam, const struct ring *r)
{
    char name[NAME_LENGTH];
    if (sam->rings.directory >= 0 && r->file && census_name(r, name))
        unlinkat(sam->rings.directory, name, 0);
}

void censuses_await(const struct ring *r)
{
    for (unsigned i = 0; i < AWAITED && wire_reader_census_is_under_way(r->reader); i++)
        usleep(AWAITED_MICROSECONDS);
}

/* ---- what is wanted ---- */

/* In a growing job any trainer may be the cause; of its data workers only growing ones. */
static bool is_suspect(const struct sampler *sam, const struct member *m)
{
    bool is_worker = m && m->role.role == ROLE_DATA_WORKER;
    return (track_is_wary(&sam->job->sums[JOB_ANON]) && !is_worker) ||
           (m && (member_is_wary(m) || (member_climbs(m) && m->is_attached))) ||
           (m && m->evidence && evidence_tensors_grow(m->evidence));
}

void censuses_want(struct sampler *sam)
{
    for (size_t i = 0; i < sam->rings.count; i++) {
        struct ring *r = sam->rings.list[i];
        enum wire_wanted wanted =
            is_suspect(sam, r->member) ? WIRE_CENSUS_HOLDERS : WIRE_CENSUS_COUNT;
        if (wanted < sam->options.wants)
            wanted = sam->options.wants;
        wire_reader_want(r->reader, sam->options.no_inspect ? WIRE_CENSUS_NONE : wanted);
        wire_reader_act(r->reader, sam->options.acts);
    }
}

/* serve/runs.c: the runs that a server shows. */
#include "serve/runs.h"

#include "serve/address.h"
#include "serve/content.h"
#include "serve/reading.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A scan judges runs without an answer for so long, the one judged longest ago first; for longer
 * while some never were. */
#define JUDGING_SECONDS 0.25
#define FIRST_JUDGING_SECONDS 1.0

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (!result)
        base_out_of_memory();
    return result;
}

/* ---- the table ---- */

/* A reader's current folder is wherever it reads, so the path has to be absolute. */
int runs_init(struct runs *r, const char *folder, const char *title)
{
    char resolved[PATH_MAX];
    if (folder && !realpath(folder, resolved))
        return -errno;
    *r = (struct runs){.folder = folder ? copy(resolved) : NULL, .title = copy(title)};
    return 0;
}

static void run_release(struct run *x)
{
    free(x->name);
    free(x->root);
    free(x->file);
    free(x->summary);
    free(x->problem);
}

void runs_release(struct runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        run_release(&r->items[i]);
    free(r->items);
    free(r->folder);
    free(r->title);
    free(r->note);
    *r = (struct runs){.count = 0};
}

static struct run *find(const struct runs *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->items[i].name, name) == 0)
            return &r->items[i];
    return NULL;
}

const struct run *runs_find(const struct runs *r, const char *name)
{
    return find(r, name);
}

bool runs_is_read(const struct runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->items[i].summary)
            return false;
    return true;
}

static struct run *append(struct runs *r, const char *name, const char *root, const char *file)
{
    struct run *items = realloc(r->items, (r->count + 1) * sizeof(*items));
    if (!items)
        base_out_of_memory();
    r->items = items;
    items[r->count] =
        (struct run){.name = copy(name), .root = copy(root), .file = copy(file), .started = NAN};
    return &items[r->count++];
}

/* The name, with a number if another file has it: two folders may have a train.tide each. */
static void add_unique_name(const struct runs *r, const char *file, struct buf *out)
{
    buf_adds(out, file);
    for (unsigned i = 2; find(r, buf_text(out)); i++) {
        buf_clear(out);
        buf_addf(out, "%s-%u", file, i);
    }
}

int runs_add(struct runs *r, const char *path)
{
    char resolved[PATH_MAX];
    struct buf name = BUF_INIT;
    if (!realpath(path, resolved))
        return -errno;
    char *slash = strrchr(resolved, '/');
    const char *file = slash + 1;
    const char *root = slash == resolved ? "/" : resolved;
    *slash = '\0';
    add_unique_name(r, file, &name);
    append(r, buf_text(&name), root, file);
    buf_release(&name);
    return 0;
}

/* ---- a scan: in the reader ---- */

/*
 * What it writes: records of a letter and texts, each with its NUL. F name: it is there; B name
 * stamp: it is being read; S name stamp started summary problem: it was read; N note; E: all were
 * written.
 */
static void write_text(const char *text)
{
    reading_write(text, strlen(text) + 1);
}

static void write_record(const char *letter, const char *text)
{
    write_text(letter);
    write_text(text);
}

static void write_result(const struct run *x, const char *stamp, double started,
                         const char *summary, const char *problem)
{
    struct buf when = BUF_INIT;
    if (isfinite(started))
        buf_addf(&when, "%.3f", started);
    write_record("S", x->name);
    write_text(stamp);
    write_text(buf_text(&when));
    write_text(summary);
    write_text(problem);
    buf_release(&when);
}

static void write_problem(const struct run *x, const char *stamp, const char *why)
{
    struct buf summary = BUF_INIT;
    content_problem(x->name, why, &summary);
    write_result(x, stamp, NAN, buf_text(&summary), why);
    buf_release(&summary);
}

static void write_summary(const struct run *x, const struct place *p, bool may_judge)
{
    struct content_summary s = {.text = BUF_INIT, .started = NAN};
    write_record("B", x->name);
    write_text(p->stamp);
    if (content_summary(p, x->name, may_judge, &s) < 0)
        write_problem(x, p->stamp, s.problem);
    else if (s.text.len > 0)
        write_result(x, p->stamp, s.started, buf_text(&s.text), "");
    buf_release(&s.text);
}

/* Sums up a run that changed. Without `may_judge` only if that needs no judging. */
static void look_at(struct run *x, bool may_judge)
{
    struct place p;
    int error = place_enter(x->root, x->file, &p);
    if (error < 0)
        write_problem(x, "", error_words(-error));
    else if (!x->summary || strcmp(p.stamp, x->stamp) != 0)
        write_summary(x, &p, may_judge);
}

static void on_found(void *context, const char *name)
{
    struct runs *r = context;
    struct run *x = find(r, name);
    write_record("F", name);
    if (!x)
        x = append(r, name, r->folder, name);
    x->is_found = true;
}

static int by_age(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    return (x->judged > y->judged) - (x->judged < y->judged);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void find_all(struct runs *r)
{
    struct buf note = BUF_INIT;
    int error = r->folder ? place_each(r->folder, on_found, r, &note) : 0;
    if (error < 0)
        buf_addf(&note, "the folder cannot be read: %s", error_words(-error));
    for (size_t i = 0; i < r->count && !r->folder; i++)
        on_found(r, r->items[i].name);
    if (note.len > 0)
        write_record("N", buf_text(&note));
    buf_release(&note);
}

int runs_scan(struct runs *r)
{
    find_all(r);
    double most = runs_is_read(r) ? JUDGING_SECONDS : FIRST_JUDGING_SECONDS;
    qsort(r->items, r->count, sizeof(*r->items), by_age);
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].is_found)
            look_at(&r->items[i], false);
    for (size_t i = 0; i < r->count && cpu_seconds() < most; i++)
        if (r->items[i].is_found)
            look_at(&r->items[i], true);
    write_text("E");
    return 0;
}

/* ---- a scan: in the server ---- */

struct records {
    const char *at, *end;
};

/* The next text; NULL: there is none, or it was cut off. */
static const char *next_text(struct records *s)
{
    const char *text = s->at, *nul = memchr(text, '\0', (size_t) (s->end - text));
    if (!nul)
        return NULL;
    s->at = nul + 1;
    return text;
}

static void set_text(char **place, const char *text)
{
    free(*place);
    *place = text ? copy(text) : NULL;
}

static void take_found(struct runs *r, const char *name)
{
    struct run *x = find(r, name);
    if (!x && r->folder)
        x = append(r, name, r->folder, name);
    if (x)
        x->is_found = true;
}

static bool take_summary(struct runs *r, const char *name, struct records *s)
{
    const char *stamp = next_text(s), *started = next_text(s);
    const char *summary = next_text(s), *problem = next_text(s);
    struct run *x = find(r, name);
    if (!stamp || !started || !summary || !problem)
        return false;
    if (!x)
        return true;
    snprintf(x->stamp, sizeof(x->stamp), "%s", stamp);
    x->started = started[0] ? strtod(started, NULL) : (double) NAN;
    set_text(&x->summary, summary);
    set_text(&x->problem, problem[0] ? problem : NULL);
    x->judged = r->scans;
    return true;
}

/* A run that a scan began to read. */
struct opened {
    const char *name, *stamp; /* NULL: none */
};

/* Takes over one record. False: there are no more. */
static bool take_record(struct runs *r, struct records *s, struct opened *ret_opened)
{
    const char *letter = next_text(s);
    const char *text = letter && letter[0] != 'E' ? next_text(s) : NULL;
    if (!text)
        return false;
    if (letter[0] == 'F')
        take_found(r, text);
    else if (letter[0] == 'B')
        *ret_opened = (struct opened){text, next_text(s)};
    else if (letter[0] == 'N')
        set_text(&r->note, text);
    else if (letter[0] == 'S')
        return take_summary(r, text, s);
    return true;
}

static void drop_lost(struct runs *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].is_found || !r->folder)
            r->items[kept++] = r->items[i];
        else
            run_release(&r->items[i]);
    }
    r->count = kept;
}

/* The run is tried again when its file has changed. */
static void blame(struct runs *r, const struct opened *opened)
{
    struct run *x = opened->stamp ? find(r, opened->name) : NULL;
    struct buf summary = BUF_INIT;
    if (!x)
        return;
    content_problem(x->name, CONTENT_READER_DIED, &summary);
    set_text(&x->summary, buf_text(&summary));
    set_text(&x->problem, CONTENT_READER_DIED);
    snprintf(x->stamp, sizeof(x->stamp), "%s", opened->stamp);
    x->judged = r->scans;
    buf_release(&summary);
}

static double sort_key(const struct run *x)
{
    return isfinite(x->started) ? -x->started : INFINITY;
}

static int by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    double p = sort_key(x), q = sort_key(y);
    return p < q ? -1 : p > q ? 1 : strcmp(x->name, y->name);
}

void runs_take(struct runs *r, const char *bytes, size_t len, bool is_complete)
{
    struct records s = {bytes, bytes + len};
    struct opened opened = {NULL, NULL};
    free(r->note);
    r->note = NULL;
    r->scans++;
    for (size_t i = 0; i < r->count; i++)
        r->items[i].is_found = false;
    while (take_record(r, &s, &opened))
        continue;
    if (is_complete)
        drop_lost(r);
    else
        blame(r, &opened);
    if (r->count > 0)
        qsort(r->items, r->count, sizeof(*r->items), by_start);
}

void runs_json(const struct runs *r, struct buf *out)
{
    struct json j;
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    json_string(&j, "page", "runs");
    json_integer(&j, "format", 1);
    json_string(&j, "title", r->title);
    json_string(&j, "note", r->note);
    json_array_begin(&j, "runs");
    for (size_t i = 0; i < r->count; i++) {
        const struct run *x = &r->items[i];
        struct buf summary = BUF_INIT;
        if (x->summary)
            buf_adds(&summary, x->summary);
        else
            content_unread(x->name, &summary);
        buf_adds(out, i > 0 ? "," : "");
        buf_adds(out, buf_text(&summary));
        buf_release(&summary);
    }
    json_array_end(&j);
    json_object_end(&j);
}

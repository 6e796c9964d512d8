/* page/tree.c: the job's memory over time, by process and by kind, as areas that add up. */
#include "page/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is stacked, the first that was recorded: only shares count each page once. */
static const char *const stacked[] = {"host.pss", "host.anon", "host.rss"};
#define STACKED (sizeof(stacked) / sizeof(stacked[0]))
static const char *const kinds[] = {"host.anon", "host.file", "host.shmem", "host.swap"};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define STACKED_SHARES 0u
#define KIND_ANON 0u

#define ROWS_MOST 2000u /* processes beyond these share one row */
#define FOLDED_MOST 8u  /* rows for the processes of one role */
#define SHOWN_MOST (PAGE_TREE_ROWS - FOLDED_MOST)

/* A process; or several of one role. */
struct row {
    int64_t id; /* in the store */
    int64_t pid;
    char *role;
    int rank;
    double last; /* second at which it was last seen */
    size_t anon; /* its anonymous memory in the recording; SIZE_MAX: not recorded */
    unsigned processes;
    double most;
    double bytes[PAGE_TREE_TIMES];
};

struct series {
    int64_t process;
    unsigned stacked, kind; /* in the two lists above; the length of the list: in neither */
};

struct tree {
    struct page_source *source;
    double seconds[PAGE_TREE_TIMES];
    double last;           /* second at which a process was last seen */
    struct series *series; /* of the recording, in its order */
    size_t series_count;
    struct row *rows;
    size_t count;
    unsigned stacked;
    double total[PAGE_TREE_TIMES]; /* of the job, as recorded */
    double kinds[KINDS][PAGE_TREE_TIMES];
};

/* ---- what there is ---- */

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (!result)
        base_out_of_memory();
    return result;
}

static int add_row(void *context, int64_t id, const struct store_process *p)
{
    struct tree *t = context;
    t->last = fmax(t->last, p->last_seconds);
    if (t->count == ROWS_MOST) {
        t->rows[t->count - 1].processes++;
        t->rows[t->count - 1].last = fmax(t->rows[t->count - 1].last, p->last_seconds);
        return 0;
    }
    if ((t->count & (t->count - 1)) == 0)
        t->rows = reallocarray(t->rows, t->count ? 2 * t->count : 1, sizeof(*t->rows));
    if (!t->rows)
        base_out_of_memory();
    t->rows[t->count++] = (struct row){.id = id,
                                       .pid = p->pid,
                                       .role = copy(p->role ? p->role : "process"),
                                       .rank = p->rank,
                                       .last = p->last_seconds,
                                       .anon = SIZE_MAX,
                                       .processes = 1};
    return 0;
}

/* The row of a process; the last one is shared by those that have none. */
static struct row *row_of(struct tree *t, int64_t process)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].id == process)
            return &t->rows[i];
    return t->count == ROWS_MOST ? &t->rows[t->count - 1] : NULL;
}

static unsigned position(const char *kind, const char *const *list, unsigned count)
{
    unsigned i = 0;
    while (i < count && strcmp(list[i], kind) != 0)
        i++;
    return i;
}

static int add_series(void *context, int64_t id, const struct store_series *x)
{
    struct tree *t = context;
    (void) id;
    t->series = reallocarray(t->series, t->series_count + 1, sizeof(*t->series));
    if (!t->series)
        base_out_of_memory();
    unsigned in_list = x->device ? STACKED : position(x->kind, stacked, STACKED);
    unsigned kind = x->device ? KINDS : position(x->kind, kinds, KINDS);
    struct row *row = row_of(t, x->process);
    if (row && row->processes == 1 && kind == KIND_ANON)
        row->anon = t->series_count;
    t->series[t->series_count++] = (struct series){x->process, in_list, kind};
    if (x->process > 0 && in_list < t->stacked)
        t->stacked = in_list;
    return 0;
}

/* ---- samples at the times of the tree ---- */

/* The latest value is carried on: repetitions are not kept. */
struct filled {
    const struct tree *tree;
    double *bytes;
    size_t next;
    double value; /* NAN: none yet */
};

static void fill_until(struct filled *f, double seconds)
{
    for (; f->next < PAGE_TREE_TIMES && f->tree->seconds[f->next] < seconds; f->next++)
        if (isfinite(f->value))
            f->bytes[f->next] += fmax(f->value, 0);
}

static int fill_sample(void *context, double step, const struct store_sample *x)
{
    struct filled *f = context;
    (void) step;
    fill_until(f, x->seconds);
    f->value = x->value;
    return 0;
}

static int fill(struct tree *t, size_t index, double last, double *bytes)
{
    struct filled f = {.tree = t, .bytes = bytes, .value = NAN};
    int r = recording_each_sample(t->source->recording, index, fill_sample, &f);
    /* Seen last at that very moment. */
    fill_until(&f, nextafter(last, INFINITY));
    return r;
}

/* ---- shares ---- */

/*
 * Shares are read seconds apart, anonymous memory at every look. In between a process has what it
 * had plus the change of its anonymous memory since, as in the job's own sum.
 */
struct shares {
    struct filled filled;
    struct store_sample *read; /* all readings of its share */
    size_t count, next;
    double anon, share, anon_then; /* NAN: none yet */
};

static int keep_share(void *context, double step, const struct store_sample *x)
{
    struct shares *s = context;
    (void) step;
    if ((s->count & (s->count - 1)) == 0)
        s->read = reallocarray(s->read, s->count ? 2 * s->count : 1, sizeof(*s->read));
    if (!s->read)
        base_out_of_memory();
    s->read[s->count++] = *x;
    return 0;
}

/* Takes the readings before `seconds`. */
static void read_shares(struct shares *s, double seconds)
{
    for (; s->next < s->count && s->read[s->next].seconds < seconds; s->next++) {
        fill_until(&s->filled, s->read[s->next].seconds);
        s->share = s->read[s->next].value;
        s->anon_then = s->anon;
        s->filled.value = s->share;
    }
}

static int move_by_anon(void *context, double step, const struct store_sample *x)
{
    struct shares *s = context;
    (void) step;
    read_shares(s, x->seconds);
    fill_until(&s->filled, x->seconds);
    s->anon = x->value;
    if (isfinite(s->share) && isfinite(s->anon_then))
        s->filled.value = s->share + (s->anon - s->anon_then);
    return 0;
}

static int fill_shares(struct tree *t, size_t index, size_t anon, double last, double *bytes)
{
    struct shares s = {.filled = {.tree = t, .bytes = bytes, .value = NAN},
                       .anon = NAN,
                       .share = NAN,
                       .anon_then = NAN};
    struct recording *recording = t->source->recording;
    int r = recording_each_sample(recording, index, keep_share, &s);
    if (r == 0)
        r = recording_each_sample(recording, anon, move_by_anon, &s);
    read_shares(&s, INFINITY);
    fill_until(&s.filled, nextafter(last, INFINITY));
    free(s.read);
    return r;
}

/* What was seen until the last but one time ended with the run. */
static double end_of(const struct tree *t, double last)
{
    return last < t->seconds[PAGE_TREE_TIMES - 2] ? last : INFINITY;
}

static int fill_row(struct tree *t, size_t index, const struct series *x, struct row *row)
{
    double last = end_of(t, row->last);
    size_t known = recording_count(t->source->recording);
    int r = 0;
    if (x->stacked == t->stacked && t->stacked == STACKED_SHARES && row->anon < known)
        r = fill_shares(t, index, row->anon, last, row->bytes);
    else if (x->stacked == t->stacked)
        r = fill(t, index, last, row->bytes);
    if (x->kind < KINDS && r == 0)
        r = fill(t, index, last, t->kinds[x->kind]);
    return r;
}

static int fill_series(struct tree *t, size_t index)
{
    const struct series *x = &t->series[index];
    struct row *row = row_of(t, x->process);
    if (x->process == 0)
        return x->stacked == t->stacked ? fill(t, index, end_of(t, t->last), t->total) : 0;
    return row ? fill_row(t, index, x, row) : 0;
}

static void choose_times(struct tree *t)
{
    double last = store_last_seconds(t->source->store);
    last = isfinite(last) && last > 0 ? last : 0;
    for (unsigned i = 0; i < PAGE_TREE_TIMES; i++)
        t->seconds[i] = last * i / (PAGE_TREE_TIMES - 1);
}

static int fill_tree(struct tree *t)
{
    int r = store_each_process(t->source->store, add_row, t);
    if (r == 0)
        r = store_each_series(t->source->store, add_series, t);
    choose_times(t);
    /* The file may have grown since the recording was read. */
    size_t known = recording_count(t->source->recording);
    for (size_t i = 0; i < t->series_count && i < known && r == 0; i++)
        r = fill_series(t, i);
    return r;
}

/* ---- few rows ---- */

static int by_most(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void add_to_row(struct row *into, const struct row *r)
{
    into->processes += r->processes;
    into->pid = 0;
    into->rank = -1;
    for (unsigned i = 0; i < PAGE_TREE_TIMES; i++)
        into->bytes[i] += r->bytes[i];
}

/* The row of the same role beyond the large ones; the last one takes what is left. */
static struct row *folded_for(struct tree *t, size_t kept, const char *role)
{
    for (size_t i = SHOWN_MOST; i < kept; i++)
        if (strcmp(t->rows[i].role, role) == 0)
            return &t->rows[i];
    return kept < PAGE_TREE_ROWS ? NULL : &t->rows[PAGE_TREE_ROWS - 1];
}

/* The largest processes keep rows of their own; the others share one with their role. */
static void fold(struct tree *t)
{
    size_t kept = SHOWN_MOST;
    if (t->count <= PAGE_TREE_ROWS)
        return;
    qsort(t->rows, t->count, sizeof(*t->rows), by_most);
    for (size_t i = kept; i < t->count; i++) {
        struct row *into = folded_for(t, kept, t->rows[i].role);
        if (into) {
            add_to_row(into, &t->rows[i]);
            free(t->rows[i].role);
        } else {
            t->rows[kept++] = t->rows[i];
        }
    }
    t->count = kept;
}

static void measure_rows(struct tree *t)
{
    for (size_t i = 0; i < t->count; i++)
        for (unsigned k = 0; k < PAGE_TREE_TIMES; k++)
            t->rows[i].most = fmax(t->rows[i].most, t->rows[i].bytes[k]);
}

/* ---- as JSON ---- */

/* The first time at which something is known. */
static unsigned first_time(const struct tree *t)
{
    unsigned first = PAGE_TREE_TIMES;
    for (size_t i = 0; i < t->count; i++)
        for (unsigned k = 0; k < first; k++)
            if (t->rows[i].bytes[k] > 0)
                first = k;
    return first;
}

static void values_json(struct json *j, const char *key, const double *values, unsigned first)
{
    json_array_begin(j, key);
    for (unsigned i = first; i < PAGE_TREE_TIMES; i++)
        page_json_rounded(j, NULL, values[i], 0);
    json_array_end(j);
}

static void label_row(struct buf *out, const struct row *r)
{
    if (r->processes > 1)
        buf_addf(out, "%u %s%s", r->processes, r->role,
                 strcmp(r->role, "process") == 0 ? "es" : "s");
    else if (r->rank >= 0)
        buf_addf(out, "rank %d (%lld)", r->rank, (long long) r->pid);
    else
        buf_addf(out, "%s %lld", r->role, (long long) r->pid);
}

static void row_json(struct json *j, const struct row *r, unsigned first)
{
    struct buf label = BUF_INIT;
    if (!(r->most > 0))
        return;
    label_row(&label, r);
    json_object_begin(j, NULL);
    page_json_text(j, "label", buf_text(&label));
    page_json_text(j, "role", r->role);
    if (r->processes == 1)
        json_integer(j, "pid", r->pid);
    json_integer(j, "processes", r->processes);
    values_json(j, "bytes", r->bytes, first);
    json_object_end(j);
    buf_release(&label);
}

static void kinds_json(struct json *j, const struct tree *t, unsigned first)
{
    json_array_begin(j, "kinds");
    for (unsigned i = 0; i < KINDS; i++) {
        bool is_used = false;
        for (unsigned k = first; k < PAGE_TREE_TIMES; k++)
            is_used = is_used || t->kinds[i][k] > 0;
        if (!is_used)
            continue;
        json_object_begin(j, NULL);
        json_string(j, "label", kinds[i]);
        values_json(j, "bytes", t->kinds[i], first);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_tree(struct json *j, const struct tree *t)
{
    unsigned first = first_time(t);
    bool has_total = false;
    if (first == PAGE_TREE_TIMES || t->stacked == STACKED)
        return;
    for (unsigned i = first; i < PAGE_TREE_TIMES; i++)
        has_total = has_total || t->total[i] > 0;
    json_object_begin(j, "tree");
    json_string(j, "kind", stacked[t->stacked]);
    json_array_begin(j, "seconds");
    for (unsigned i = first; i < PAGE_TREE_TIMES; i++)
        page_json_rounded(j, NULL, t->seconds[i], 3);
    json_array_end(j);
    json_array_begin(j, "rows");
    for (size_t i = 0; i < t->count; i++)
        row_json(j, &t->rows[i], first);
    json_array_end(j);
    kinds_json(j, t, first);
    if (has_total)
        values_json(j, "total", t->total, first);
    json_object_end(j);
}

int tree_json(struct json *j, const struct page_draft *d)
{
    struct tree *t = calloc(1, sizeof(*t));
    if (!t)
        base_out_of_memory();
    t->source = d->source;
    t->stacked = STACKED;
    int r = fill_tree(t);
    measure_rows(t);
    fold(t);
    if (r == 0)
        add_tree(j, t);
    for (size_t i = 0; i < t->count; i++)
        free(t->rows[i].role);
    free(t->rows);
    free(t->series);
    free(t);
    return r;
}

/* report/stacks.c: which stacks of a run are shown, with how many bytes, and the tree of them. */
#include "report/stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *report_value_name(enum report_value value)
{
    static const char *const names[REPORT_VALUES] = {"growth", "live", "allocated"};
    return names[value];
}

/* ---- amounts ---- */

/* The first look; of a program with steps, the first one after its second step, when what it loads
 * and sets up is there. The point before the first look is the beginning of sampling, from where
 * memory that is only in use for a moment looks like growth; it counts only if there was a single
 * look. */
static double first_look(const struct report_stacks *r, const struct sites *s)
{
    for (unsigned i = 1; i + 1 < s->point_count; i++)
        if (!(s->points[i].seconds < r->second_step))
            return s->points[i].seconds;
    return s->point_count > 2 ? s->points[1].seconds : sites_from(s);
}

static double span_from(const struct report_stacks *r, const struct sites *s,
                        enum report_value value)
{
    return isfinite(r->from) ? r->from : value == REPORT_GROWTH ? first_look(r, s) : sites_from(s);
}

/* The last look; the last one before the last step, where the process had freed more afterwards
 * than it allocated: what a function keeps in its variables is gone when it has returned. */
static double last_look(const struct report_stacks *r, const struct sites *s)
{
    if (s->point_count == 0)
        return s->seconds;
    const struct site_point *last = &s->points[s->point_count - 1], *stepping = last;
    while (stepping > s->points && stepping->seconds > r->last_step)
        stepping--;
    bool is_released = stepping > s->points && stepping->bytes > last->bytes;
    return is_released ? stepping->seconds : s->seconds;
}

static double span_to(const struct report_stacks *r, const struct sites *s)
{
    return isfinite(r->to) ? r->to : last_look(r, s);
}

void report_stacks_span(const struct report_stacks *r, size_t process, double *ret_from,
                        double *ret_to)
{
    *ret_from = span_from(r, r->list[process].sites, r->value);
    *ret_to = span_to(r, r->list[process].sites);
}

struct amount stacks_amount(const struct report_stacks *r, const struct sites *sites,
                            const struct site *site, enum report_value value)
{
    double from = span_from(r, sites, value), to = span_to(r, sites);
    if (site->point_count == 0)
        return (struct amount){NAN, NAN};
    if (value == REPORT_GROWTH) {
        struct site_gain gain = site_gain(site, from, to);
        return (struct amount){gain.bytes, gain.error};
    }
    struct site_point before = site_at(site, from), at = site_at(site, to);
    if (value == REPORT_LIVE)
        return (struct amount){at.bytes, sqrt(at.variance)};
    return (struct amount){at.allocated - before.allocated, NAN};
}

/* ---- frames ---- */

/* Has debug information, and lies in no folder of libraries: what the user compiled. */
static bool is_own_native(const struct site_frame *f)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (strstr(f->module, folders[i]))
            return false;
    return f->file[0] && strncmp(f->module, "/usr/", strlen("/usr/")) != 0;
}

enum frame_origin stacks_origin(const struct site_frame *f)
{
    if (f->module[0])
        return is_own_native(f) ? FRAME_OWN : FRAME_NATIVE;
    if (!f->file[0] && f->line == 0)
        return FRAME_HEADING;
    return site_frame_is_own(f) ? FRAME_OWN : FRAME_LIBRARY;
}

const char *stacks_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int stacks_compare_frames(const struct site_frame *a, const struct site_frame *b)
{
    int order = strcmp(a->function, b->function);
    if (order == 0)
        order = strcmp(a->file, b->file);
    if (order == 0)
        order = strcmp(a->module, b->module);
    if (order == 0)
        order = (a->line > b->line) - (a->line < b->line);
    if (order == 0)
        order = (a->offset > b->offset) - (a->offset < b->offset);
    return order ? order : a->is_inlined - b->is_inlined;
}

void stacks_add_frame(struct buf *out, const struct site_frame *f)
{
    const char *place = f->file[0] ? f->file : f->module;
    if (f->function[0])
        utf8_add_clean(out, f->function, false);
    else
        buf_addf(out, "0x%llx", (unsigned long long) f->offset);
    if (!place[0])
        return;
    buf_adds(out, " (");
    utf8_add_clean(out, stacks_base_name(place), false);
    if (f->line > 0 && f->file[0])
        buf_addf(out, ":%d", f->line);
    buf_addc(out, ')');
}

/* ---- stacks ---- */

/* A frame with a name alone, made once. */
static const struct site_frame *heading(struct stacks *s, const char *name)
{
    for (size_t i = 0; i < s->heading_count; i++)
        if (strcmp(s->headings[i]->function, name) == 0)
            return s->headings[i];
    struct site_frame *f = calloc(1, sizeof(*f));
    s->headings = reallocarray(s->headings, s->heading_count + 1, sizeof(struct site_frame *));
    if (!f || !s->headings)
        base_out_of_memory();
    *f = (struct site_frame){.function = name, .file = "", .module = ""};
    s->headings[s->heading_count++] = f;
    return f;
}

static void push_frame(struct stack *k, const struct site_frame *f)
{
    k->frames[k->count++] = f;
}

static void push_headings(struct stacks *s, struct stack *k, const struct report_stacks *r)
{
    const struct site *site = k->site;
    if (r->count > 1)
        push_frame(k, heading(s, r->list[k->process].process));
    if (site->kind == SITE_PINNED)
        push_frame(k, heading(s, "pinned host memory"));
    else if (site->device[0])
        push_frame(k, heading(s, site->device));
    if (site->frame_count == 0)
        push_frame(k, heading(s, "(stack not known)"));
    else if (site->is_truncated)
        push_frame(k, heading(s, "(outer frames not recorded)"));
}

#define MOST_HEADINGS 3u

static bool tells_nothing(const struct site *s)
{
    unsigned i = 0;
    while (i < s->frame_count && site_frame_is_plumbing(&s->frames[i]))
        i++;
    return i == s->frame_count;
}

static void fill_frames(struct stacks *s, struct stack *k, const struct report_stacks *r)
{
    const struct site *site = k->site;
    bool takes_all = tells_nothing(site);
    k->frames = calloc(site->frame_count + MOST_HEADINGS, sizeof(struct site_frame *));
    if (!k->frames)
        base_out_of_memory();
    push_headings(s, k, r);
    for (unsigned i = site->frame_count; i-- > 0;)
        if (takes_all || !site_frame_is_plumbing(&site->frames[i]))
            push_frame(k, &site->frames[i]);
}

bool stacks_wants(const struct report_stacks *r, const struct site *site)
{
    return r->kinds == 0 || (r->kinds >> site->kind & 1) != 0;
}

static void add_stack(struct stacks *s, const struct report_stacks *r, size_t process,
                      const struct site *site, bool all)
{
    struct amount a = stacks_amount(r, r->list[process].sites, site, r->value);
    if (r->value == REPORT_GROWTH && a.bytes < 0)
        s->shrunk -= a.bytes;
    if (!(a.bytes >= 1) && !all)
        return;
    s->list = reallocarray(s->list, s->count + 1, sizeof(*s->list));
    if (!s->list)
        base_out_of_memory();
    struct stack *k = &s->list[s->count++];
    *k = (struct stack){.site = site, .process = process, .amount = a};
    fill_frames(s, k, r);
    s->total.bytes += a.bytes;
    s->total.error = hypot(s->total.error, a.error);
}

static int by_bytes(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;
    return x->amount.bytes > y->amount.bytes ? -1 : x->amount.bytes < y->amount.bytes;
}

void stacks_init(struct stacks *s, const struct report_stacks *r, bool all)
{
    *s = (struct stacks){.count = 0};
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->list[i].sites->count; k++)
            if (stacks_wants(r, &r->list[i].sites->list[k]))
                add_stack(s, r, i, &r->list[i].sites->list[k], all);
    if (s->count > 0)
        qsort(s->list, s->count, sizeof(*s->list), by_bytes);
}

void stacks_release(struct stacks *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].frames);
    for (size_t i = 0; i < s->heading_count; i++)
        free(s->headings[i]);
    free(s->list);
    free(s->headings);
    *s = (struct stacks){.count = 0};
}

/* ---- the tree ---- */

bool stacks_is_same_frame(const struct site_frame *a, const struct site_frame *b)
{
    return a == b || (a->line == b->line && strcmp(a->function, b->function) == 0 &&
                      strcmp(a->file, b->file) == 0 && strcmp(a->module, b->module) == 0 &&
                      (a->function[0] || a->offset == b->offset));
}

static size_t add_node(struct stacks_tree *t, const struct site_frame *f)
{
    if ((t->count & (t->count - 1)) == 0) {
        t->nodes = reallocarray(t->nodes, t->count ? 2 * t->count : 1, sizeof(*t->nodes));
        if (!t->nodes)
            base_out_of_memory();
    }
    t->nodes[t->count] = (struct stacks_node){.frame = f};
    return t->count++;
}

/* The callee of `caller` with that frame; made if it is new. */
static size_t callee(struct stacks_tree *t, size_t caller, const struct site_frame *f)
{
    size_t i = t->nodes[caller].child;
    while (i && !stacks_is_same_frame(t->nodes[i].frame, f))
        i = t->nodes[i].next;
    if (i)
        return i;
    i = add_node(t, f);
    t->nodes[i].next = t->nodes[caller].child;
    t->nodes[caller].child = i;
    return i;
}

static void add_to_node(struct stacks_node *n, struct amount a)
{
    n->bytes += a.bytes;
    n->variance += a.error * a.error;
}

/* Moves the callees of a node into the order of their bytes. */
static void sort_callees(struct stacks_tree *t, struct stacks_node *caller)
{
    size_t sorted = 0;
    for (size_t i = caller->child, next; i; i = next) {
        size_t *at = &sorted;
        next = t->nodes[i].next;
        while (*at && t->nodes[*at].bytes >= t->nodes[i].bytes)
            at = &t->nodes[*at].next;
        t->nodes[i].next = *at;
        *at = i;
    }
    caller->child = sorted;
}

void stacks_tree_init(struct stacks_tree *t, const struct stacks *s)
{
    *t = (struct stacks_tree){.count = 0};
    add_node(t, NULL);
    for (size_t i = 0; i < s->count; i++) {
        const struct stack *k = &s->list[i];
        size_t at = 0;
        add_to_node(&t->nodes[at], k->amount);
        for (unsigned f = 0; f < k->count; f++) {
            at = callee(t, at, k->frames[f]);
            add_to_node(&t->nodes[at], k->amount);
        }
    }
    for (size_t i = 0; i < t->count; i++)
        sort_callees(t, &t->nodes[i]);
}

void stacks_tree_release(struct stacks_tree *t)
{
    free(t->nodes);
    *t = (struct stacks_tree){.count = 0};
}

/* ---- in words ---- */

double report_stacks_from(const struct report_stacks *r)
{
    double first = NAN;
    for (size_t i = 0; i < r->count; i++)
        first = fmin(first, span_from(r, r->list[i].sites, r->value));
    return first;
}

double report_stacks_to(const struct report_stacks *r)
{
    double last = NAN;
    for (size_t i = 0; i < r->count; i++)
        last = fmax(last, span_to(r, r->list[i].sites));
    return last;
}

void stacks_add_span(struct buf *out, const struct report_stacks *r)
{
    if (r->span) {
        buf_adds(out, r->span);
        return;
    }
    if (r->value != REPORT_LIVE) {
        units_add_duration(out, report_stacks_from(r));
        buf_adds(out, " to ");
    }
    units_add_duration(out, report_stacks_to(r));
    buf_adds(out, " after the start");
}

static double sum(const struct report_stacks *r, double (*value)(const struct sites *s))
{
    double total = 0;
    for (size_t i = 0; i < r->count; i++)
        total += fmax(0, value(r->list[i].sites)); /* 0 for NAN */
    return total;
}

static double not_seen(const struct sites *s)
{
    return s->not_seen;
}

static double others(const struct sites *s)
{
    return s->others;
}

static double dropped(const struct sites *s)
{
    return s->dropped_bytes;
}

static double stackless(const struct sites *s)
{
    return s->stackless;
}

static void add_lack(struct buf *out, double bytes, const char *what)
{
    if (!(bytes >= 1))
        return;
    buf_adds(out, out->len ? "; " : "");
    units_add_bytes(out, bytes);
    buf_addf(out, " %s", what);
}

void stacks_add_lacks(struct buf *out, const struct report_stacks *r, const struct stacks *s)
{
    struct buf text = BUF_INIT;
    add_lack(&text, sum(r, not_seen), "of growth that the tracer did not see");
    if (r->value != REPORT_ALLOCATED)
        add_lack(&text, sum(r, others), "in sites too small to be listed");
    add_lack(&text, s->shrunk, "lost by sites that shrank");
    add_lack(&text, sum(r, dropped), "in samples without room");
    if (sum(r, stackless) > 0) {
        buf_adds(&text, text.len ? "; " : "");
        units_add_count(&text, sum(r, stackless), 0);
        buf_adds(&text, " samples without a stack");
    }
    buf_adds(out, buf_text(&text));
    buf_release(&text);
}

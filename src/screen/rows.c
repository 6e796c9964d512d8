/* screen/rows.c: the tree of processes as rows. */
#include "screen/rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sort_name(enum sort_key key)
{
    static const char *const names[SORT_KEYS] = {"memory", "rate", "verdict", "pid"};
    return names[key];
}

/* ---- folding ---- */

void arrangement_release(struct arrangement *a)
{
    free(a->folded);
    a->folded = NULL;
    a->folded_count = 0;
}

bool arrangement_is_folded(const struct arrangement *a, int64_t pid)
{
    for (size_t i = 0; i < a->folded_count; i++)
        if (a->folded[i] == pid)
            return true;
    return false;
}

void arrangement_fold(struct arrangement *a, int64_t pid, bool folded)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->folded_count; i++)
        if (a->folded[i] != pid)
            a->folded[kept++] = a->folded[i];
    a->folded_count = kept;
    if (!folded)
        return;
    a->folded = reallocarray(a->folded, kept + 1, sizeof(*a->folded));
    if (!a->folded)
        base_out_of_memory();
    a->folded[a->folded_count++] = pid;
}

/* ---- one arrangement ---- */

#define NONE SIZE_MAX

/* The tree as links between items, and what is known of each subtree. */
struct tree {
    const struct item *items;
    size_t count;
    const struct arrangement *by;
    struct node {
        size_t parent, child, next; /* first child, next sibling; NONE */
        size_t worst;               /* of the subtree */
        double key;                 /* the first of the subtree */
        bool fits, shown;           /* it fits the filter; it or a descendant does */
        unsigned depth;
    } * nodes;
    size_t *order; /* items, sorted */
    struct rows *rows;
};

static bool contains(const char *text, const char *part)
{
    size_t len = strlen(part);
    for (; text && *text; text++)
        if (strncasecmp(text, part, len) == 0)
            return true;
    return false;
}

static bool fits(const struct item *i, const char *filter)
{
    char pid[24];
    if (!filter || !*filter)
        return true;
    snprintf(pid, sizeof(pid), "%lld", (long long) i->pid);
    return contains(i->name, filter) || contains(i->command, filter) || contains(pid, filter);
}

static int compare_pids(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *) a, *y = *(const struct item *const *) b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Finds parents by a search in the pids, because a job may have thousands of processes. */
static void link_parents(struct tree *t)
{
    const struct item **by_pid = calloc(t->count + 1, sizeof(*by_pid));
    if (!by_pid)
        base_out_of_memory();
    for (size_t i = 0; i < t->count; i++)
        by_pid[i] = &t->items[i];
    qsort(by_pid, t->count, sizeof(*by_pid), compare_pids);
    for (size_t i = 0; i < t->count; i++) {
        const struct item wanted = {.pid = t->items[i].parent}, *key = &wanted;
        const struct item *const *found =
            t->by->flat || wanted.pid == 0
                ? NULL
                : bsearch(&key, by_pid, t->count, sizeof(*by_pid), compare_pids);
        t->nodes[i].parent = found && *found != &t->items[i] ? (size_t) (*found - t->items) : NONE;
    }
    free(by_pid);
}

/* True: `a` comes before `b`. What is not known comes last. */
static bool is_before(const struct arrangement *by, double a, double b)
{
    bool ascends = (by->sort == SORT_PID) != by->reversed;
    if (isnan(a) || isnan(b))
        return !isnan(a) && isnan(b);
    return ascends ? a < b : a > b;
}

static bool is_worse(const struct tree *t, size_t a, size_t b)
{
    return t->items[a].keys[SORT_VERDICT] > t->items[b].keys[SORT_VERDICT];
}

/* Hands what is known of an item on to all its ancestors. */
static void tell_ancestors(struct tree *t, size_t i)
{
    size_t most = t->count;
    for (size_t up = t->nodes[i].parent; up != NONE && most-- > 0; up = t->nodes[up].parent) {
        struct node *n = &t->nodes[up];
        n->shown = n->shown || t->nodes[i].fits;
        if (is_worse(t, i, n->worst))
            n->worst = i;
        if (is_before(t->by, t->items[i].keys[t->by->sort], n->key))
            n->key = t->items[i].keys[t->by->sort];
    }
}

static int compare_keys(const void *a, const void *b, void *context)
{
    const struct tree *t = context;
    size_t x = *(const size_t *) a, y = *(const size_t *) b;
    if (is_before(t->by, t->nodes[x].key, t->nodes[y].key))
        return -1;
    if (is_before(t->by, t->nodes[y].key, t->nodes[x].key))
        return 1;
    return (t->items[x].pid > t->items[y].pid) - (t->items[x].pid < t->items[y].pid);
}

/* Links the children of each item in their order: the last is put in front first. */
static void link_children(struct tree *t)
{
    for (size_t i = t->count; i-- > 0;) {
        size_t one = t->order[i], parent = t->nodes[one].parent;
        if (parent == NONE || !t->nodes[one].shown)
            continue;
        t->nodes[one].next = t->nodes[parent].child;
        t->nodes[parent].child = one;
    }
}

static void prepare(struct tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        bool is_fit = fits(&t->items[i], t->by->filter);
        t->nodes[i] = (struct node){.child = NONE,
                                    .next = NONE,
                                    .worst = i,
                                    .key = t->items[i].keys[t->by->sort],
                                    .fits = is_fit,
                                    .shown = is_fit};
        t->order[i] = i;
    }
    link_parents(t);
    for (size_t i = 0; i < t->count; i++)
        tell_ancestors(t, i);
    qsort_r(t->order, t->count, sizeof(*t->order), compare_keys, t);
    link_children(t);
}

static bool add_row(struct tree *t, size_t i, uint32_t lines)
{
    const struct node *n = &t->nodes[i];
    bool filtered = t->by->filter && *t->by->filter;
    bool folded = n->child != NONE && !filtered && arrangement_is_folded(t->by, t->items[i].pid);
    t->rows->list[t->rows->count++] = (struct row){
        .item = i,
        .worst = folded ? n->worst : i,
        .depth = n->depth,
        .lines = lines,
        .has_children = n->child != NONE,
        .is_folded = folded,
        .is_context = !n->fits,
    };
    return !folded;
}

/* The lines of a row: those of its parent, and its own level where a sibling follows. */
static uint32_t lines_of(const struct tree *t, size_t i, uint32_t above)
{
    unsigned level = t->nodes[i].depth;
    if (level == 0 || level >= ROW_LEVELS)
        return above;
    uint32_t bit = (uint32_t) 1 << level;
    return t->nodes[i].next != NONE ? above | bit : above & ~bit;
}

/* Depth first, without recursion: a chain of processes may be long. */
static void add_subtree(struct tree *t, size_t root)
{
    uint32_t lines = 0;
    size_t i = root;
    while (i != NONE) {
        struct node *n = &t->nodes[i];
        lines = lines_of(t, i, lines);
        if (add_row(t, i, lines) && n->child != NONE) {
            t->nodes[n->child].depth = n->depth + 1;
            i = n->child;
            continue;
        }
        while (i != root && t->nodes[i].next == NONE)
            i = t->nodes[i].parent;
        if (i == root)
            return;
        t->nodes[t->nodes[i].next].depth = t->nodes[i].depth;
        i = t->nodes[i].next;
    }
}

void rows_arrange(const struct item *items, size_t count, const struct arrangement *a,
                  struct rows *ret)
{
    *ret = (struct rows){.list = calloc(count + 1, sizeof(*ret->list))};
    struct tree t = {.items = items, .count = count, .by = a, .rows = ret};
    t.nodes = calloc(count + 1, sizeof(*t.nodes));
    t.order = calloc(count + 1, sizeof(*t.order));
    if (!ret->list || !t.nodes || !t.order)
        base_out_of_memory();
    prepare(&t);
    for (size_t i = 0; i < count; i++)
        if (t.nodes[t.order[i]].parent == NONE && t.nodes[t.order[i]].shown)
            add_subtree(&t, t.order[i]);
    free(t.nodes);
    free(t.order);
}

void rows_release(struct rows *r)
{
    free(r->list);
    *r = (struct rows){0};
}

/* ---- the lines of the tree ---- */

#define LEVEL_COLUMNS 2u

void row_add_lines(struct buf *out, const struct row *r, unsigned columns, bool ascii)
{
    static const char *const glyphs[2][4] = {{"│ ", "  ", "├─", "└─"}, {"| ", "  ", "|-", "`-"}};
    const char *const *g = glyphs[ascii];
    unsigned levels = r->depth < ROW_LEVELS ? r->depth : ROW_LEVELS - 1;
    unsigned from = levels * LEVEL_COLUMNS > columns ? levels - columns / LEVEL_COLUMNS : 0;
    for (unsigned level = from + 1; level <= levels; level++) {
        bool follows = r->lines >> level & 1;
        if (level < levels)
            buf_adds(out, follows ? g[0] : g[1]);
        else
            buf_adds(out, follows ? g[2] : g[3]);
    }
}

/* ---- scrolling ---- */

void scroll_settle(struct scroll *s, size_t count, size_t height)
{
    if (s->at >= count)
        s->at = count > 0 ? count - 1 : 0;
    if (s->at < s->first)
        s->first = s->at;
    if (height > 0 && s->at >= s->first + height)
        s->first = s->at - height + 1;
    size_t most = count > height ? count - height : 0;
    if (s->first > most)
        s->first = most;
}

void scroll_move(struct scroll *s, long rows, size_t count)
{
    if (rows < 0)
        s->at -= (size_t) -rows < s->at ? (size_t) -rows : s->at;
    else
        s->at += (size_t) rows;
    if (s->at >= count)
        s->at = count > 0 ? count - 1 : 0;
}

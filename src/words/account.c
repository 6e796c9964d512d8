/* words/account.c: how a verdict comes about, as sentences: the ledger's parts and its rule. */
#include "words/account.h"

#include "words/finding.h"

#include <math.h>
#include <string.h>

void account_add_verdict(struct buf *out, enum verdict verdict)
{
    for (const char *s = verdict_name(verdict); *s; s++)
        buf_addc(out, *s == '_' ? ' ' : *s);
}

const char *account_engine(enum engine_says engine)
{
    static const char *const words[] = {
        [ENGINE_NO_GROWTH] = "no growth",
        [ENGINE_OPEN] = "cannot tell yet",
        [ENGINE_LASTING] = "lasting growth",
    };
    return words[engine];
}

void account_add_interval(struct buf *out, struct interval x)
{
    struct buf low = BUF_INIT, high = BUF_INIT;
    units_add_bytes(&low, x.low);
    if (isfinite(x.high))
        units_add_bytes(&high, x.high);
    buf_adds(out, buf_text(&low));
    if (high.len == 0)
        buf_adds(out, " or more");
    else if (strcmp(buf_text(&low), buf_text(&high)) != 0)
        buf_addf(out, " to %s", buf_text(&high));
    buf_release(&low);
    buf_release(&high);
}

/* ---- the parts ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "list 'losses' (train.py:7)". */
static void add_holder(struct buf *out, const struct wire_census_growing *g)
{
    struct buf name = BUF_INIT;
    const struct wire_census_holder *h = g->holder_count > 0 ? &g->holders[0] : NULL;
    bool are_many = g->form == WIRE_CENSUS_OBJECTS || g->form == WIRE_CENSUS_TENSORS;
    if (are_many && g->item_depth > 0)
        finding_words_add_item(&name, g);
    else
        buf_adds(&name, g->what.type);
    if (h)
        buf_addf(&name, " '%s'", h->path[0] ? h->path : wire_holder_kind_name(h->kind));
    if (h && h->file[0])
        buf_addf(&name, " (%s:%d)", last_part(h->file), g->addition > 0 ? g->addition : h->line);
    utf8_add_clean(out, buf_text(&name), false);
    buf_release(&name);
}

#define SITE_COLUMNS 60u

static void add_site(struct buf *out, const struct site *site)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "allocated at ");
    site_describe(site, SITE_COLUMNS, &text);
    utf8_add_clean(out, buf_text(&text), false);
    buf_release(&text);
}

void account_add_part(struct buf *out, const struct ledger_part *p,
                      const struct wire_census_growing *growing, const struct site *site,
                      enum ledger_rest rest)
{
    static const char *const parts[LEDGER_KINDS] = {
        [LEDGER_FREE_HEAP] = "free heap memory (malloc's count)",
        [LEDGER_FREE_ARENAS] = "free memory in Python's arenas",
        [LEDGER_FIRST_TOUCH] = "pages used for the first time",
        [LEDGER_FILE_PAGES] = "file pages",
        [LEDGER_COPIED] = "pages copied since the fork",
        [LEDGER_RESERVED] = "memory retained by torch's allocator",
        [LEDGER_OTHERS] = "shared memory of other jobs",
    };
    static const char *const rests[] = {
        [REST_NOT_EXAMINED] = "not examined: no complete census",
        [REST_NOT_FOUND] = "not found by the censuses",
        [REST_NATIVE] = "native: in use by malloc's count, and no Python object holds it",
    };
    const char *name = p->kind < LEDGER_KINDS ? parts[p->kind] : NULL;
    if (p->kind == LEDGER_HOLDER && growing)
        add_holder(out, growing);
    else if (p->kind == LEDGER_SITE && site)
        add_site(out, site);
    else
        buf_adds(out, name ? name : rests[rest]);
}

/* ---- the rule ---- */

/* A rule's words around the deciding amount and its threshold, both in bytes. */
struct rule_words {
    const char *before, *between, *after;
};

static const struct rule_words *words_of(enum ledger_rule rule)
{
    static const struct rule_words words[] = {
        [RULE_EXPLAINED] = {"all but ", " is bounded or free; up to ", " may stay unexplained"},
        [RULE_SMALL] = {"up to ", " may be endless; less than ", " is not a leak"},
        [RULE_DOES_NOT_FIT] = {"it is bounded, but only at up to ", "; the limit is ", ""},
        [RULE_ENDLESS] = {"at least ", " is endless; more than ", " is a leak"},
        [RULE_PINNED] = {"", " is endless, or free between objects that stay; more than ",
                         " is a leak"},
        [RULE_OPEN] = {"the engine cannot tell yet whether it lasts; up to ",
                       " may be endless, and up to ", " may stay unexplained"},
        [RULE_LITTLE] = {"nothing explains it, but libraries retain as much: ", " of ", ""},
        [RULE_TOO_WIDE] = {"at least ", " is endless; more than ", " would be a leak"},
    };
    bool has_words = rule < sizeof(words) / sizeof(words[0]) && words[rule].before;
    return has_words ? &words[rule] : NULL;
}

/* The rules that do not compare bytes. */
static void add_duration_rule(struct buf *out, const struct ledger_judgement *j)
{
    if (j->rule == RULE_NO_GROWTH) {
        buf_adds(out, "the engine sees no lasting growth");
        return;
    }
    if (j->rule == RULE_LASTING)
        buf_adds(out, "nothing explains it, and ");
    buf_addf(out, "it has lasted %.1f horizons", j->value);
    if (j->bound > 0)
        buf_addf(out, "; %.0f %s required", j->bound, j->bound > 1 ? "are" : "is");
}

void account_add_rule(struct buf *out, const struct ledger_judgement *j)
{
    const struct rule_words *w = words_of(j->rule);
    account_add_verdict(out, j->verdict);
    buf_adds(out, ": ");
    if (!w) {
        add_duration_rule(out, j);
        return;
    }
    buf_adds(out, w->before);
    units_add_bytes(out, j->value);
    buf_adds(out, w->between);
    units_add_bytes(out, j->bound);
    buf_adds(out, w->after);
}

void account_add_needs(struct buf *out, const struct ledger_judgement *j, bool is_censused,
                       const char *widest)
{
    if (j->verdict != VERDICT_INCONCLUSIVE)
        return;
    if (!is_censused)
        buf_adds(out, "a complete census of its objects would narrow it most");
    else if ((j->rule == RULE_TOO_WIDE || j->rule == RULE_OPEN) && widest)
        buf_addf(out, "the widest interval is that of: %s", widest);
    else if (j->rule == RULE_TOO_SHORT)
        buf_addf(out, "%.1f more horizons would settle it", fmax(0, j->bound - j->value));
}

const char *account_difference(bool is_by_heap)
{
    return is_by_heap ? "this growth is judged as that of malloc's in-use bytes (heap.used)"
                      : "another series of the job is judged for this growth";
}

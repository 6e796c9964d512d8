/* advice/copies.c: what data workers copy of the process that forked them. */
#include "advice/advice.h"

#include <math.h>
#include <string.h>

#define MB (1024.0 * 1024)

/*
 * Every worker copies of the interpreter and its modules, the more of them the collector walks:
 * measured 6 MB with torch alone, 109 MB with two frameworks and gc.collect() in the workers. Where
 * nobody says what it is, it has to be more than that, or most of all there is.
 */
#define NAMED_EACH (16 * MB)
#define NAMED_ALL (32 * MB)
#define UNNAMED_EACH (128 * MB)
#define UNNAMED_LEAST (48 * MB)
#define UNNAMED_SHARE 0.5

/* An attribute is what was copied if it is this part of it, and this part of it was copied. */
#define EXPLAINS_SHARE 0.5
#define COPIED_SHARE 0.25

/* Within this share of its end it is there. */
#define ARRIVED_SHARE 0.9

/* What a worker copies beside the dataset where nothing but torch is imported, measured. */
#define BESIDE_BYTES (6.5 * MB)

/* A rise over the last quarter of less than this is none. */
#define RISE_BYTES MB
#define RISE_SHARE 0.03

static bool attribute_explains(const struct copy_facts *f)
{
    return f->attribute && f->objects_all >= EXPLAINS_SHARE * f->each &&
           f->each >= COPIED_SHARE * f->objects_all;
}

/* A spawned worker has its interpreter for itself, too: without a name it may be nothing else. */
static bool is_enough(const struct copy_facts *f, bool named)
{
    bool all_of_it = f->attribute && f->objects_all >= NAMED_EACH && f->each >= f->objects_all;
    if (f->spawned)
        return all_of_it;
    if (named || all_of_it)
        return f->each >= NAMED_EACH && f->all >= NAMED_ALL;
    return f->each >= UNNAMED_EACH ||
           (f->each >= UNNAMED_LEAST && f->each >= UNNAMED_SHARE * f->inherited);
}

/*
 * No more than all of it. Often it is less: batches that come in order go to the workers in turns,
 * so that each reads its own part again and again; of a dict only what is looked up is read.
 */
static void find_end(const struct copy_facts *f, struct copies *ret)
{
    double all = fmin(f->objects_all + BESIDE_BYTES, f->inherited);
    if (ret->named && f->trend != COPIES_STAND && f->each < ARRIVED_SHARE * all)
        ret->ends_at = all;
    else if (!ret->named && f->trend == COPIES_GROW && f->each < ARRIVED_SHARE * f->inherited)
        ret->ends_at = f->inherited;
}

void copies_judge(const struct copy_facts *f, struct copies *ret)
{
    bool named = f->spawned ? f->attribute != NULL : attribute_explains(f);
    *ret = (struct copies){.matter = is_enough(f, named), .named = named, .ends_at = NAN};
    ret->part = !named && f->attribute && f->objects_all >= NAMED_EACH && f->each >= f->objects_all;
    ret->needs_probe = !f->spawned && !f->attribute && !f->probed;
    ret->may_matter =
        !ret->matter && ret->needs_probe && f->each >= NAMED_EACH && f->all >= NAMED_ALL;
    if (!f->spawned)
        find_end(f, ret);
}

enum copy_trend copies_trend(const struct history *h, double *ret_rate)
{
    *ret_rate = NAN;
    if (h->count < 2)
        return COPIES_UNKNOWN;
    const struct history_block *last = &h->blocks[h->count - 1];
    double from = last->at - (last->at - h->blocks[0].at) / 4;
    unsigned i = h->count - 1;
    while (i > 0 && h->blocks[i].at > from)
        i--;
    const struct history_block *before = &h->blocks[i];
    double rise = last->mean - before->mean;
    if (!(rise > fmax(RISE_BYTES, RISE_SHARE * last->mean)) || !(last->at > before->at))
        return COPIES_STAND;
    *ret_rate = rise / (last->at - before->at);
    return COPIES_GROW;
}

double copies_left(double left, double taken, double faulted)
{
    return left + fmax(0, taken - faulted);
}

/* ---- in words ---- */

static void add_attribute(struct buf *out, const struct copy_facts *f)
{
    if (f->owner[0])
        buf_addf(out, "%s.%s", f->owner, f->attribute);
    else
        buf_addf(out, "the attribute %s of the dataset", f->attribute);
    buf_addf(out, ", a %s with about ", f->type);
    units_add_bytes(out, f->objects);
    buf_adds(out, " of Python objects");
}

static void add_who(struct buf *out, const struct copy_facts *f)
{
    if (f->workers == 1)
        buf_adds(out, "the data worker");
    else
        buf_addf(out, "%u data workers", f->workers);
    buf_addf(out, " of %s ", f->parent);
}

static void add_amount(struct buf *out, const struct copy_facts *f)
{
    units_add_bytes(out, f->each);
    buf_adds(out, f->workers == 1 ? "" : " each");
    if (f->workers == 1 || f->measured < f->workers)
        return;
    buf_adds(out, " (");
    units_add_bytes(out, f->all);
    buf_adds(out, " in all)");
}

static void add_end(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    bool grows = f->trend == COPIES_GROW, one = f->workers == 1;
    if (grows) {
        buf_adds(out, " It still grows by ");
        series_add_rate(out, f->rate, SERIES_BYTES, f->clock);
        buf_adds(out, one ? "" : " each");
    }
    if (isfinite(c->ends_at)) {
        buf_adds(out, grows ? ", up to " : " It ends at ");
        buf_adds(out, c->named ? "about " : "");
        units_add_bytes(out, c->ends_at);
        buf_adds(out, one ? " at most" : " each at most");
        buf_adds(out, !c->named ? ": no leak."
                      : one     ? ", if it reads every object of it: no leak."
                                : ", if each reads every object of it: no leak.");
    } else {
        buf_adds(out, grows                      ? ", towards its end: no leak."
                      : f->trend == COPIES_STAND ? " It grows no more: no leak."
                      : c->named                 ? " That is about all of it: no leak."
                                 : " More than was shared it cannot become: no leak.");
    }
}

static void add_fix(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    bool known = c->named || c->part, dict = known && strcmp(f->type, "dict") == 0;
    buf_adds(out, known ? " To share it, keep it as one numpy array"
                        : " To share it, keep large lists and dicts as one numpy array");
    buf_adds(out, ", torch tensor or Arrow table");
    if (known)
        buf_addf(out,
                 dict ? " (self.%s: one array of keys, one of values)"
                      : " (self.%s: one array for each field, not of objects)",
                 f->attribute);
    buf_adds(out, f->workers == 1 ? "." : ", or use fewer workers.");
}

static void describe_spawned(struct buf *out, const struct copy_facts *f)
{
    bool one = f->workers == 1;
    buf_adds(out, one ? "was spawned, not forked, and shares nothing with it: up to "
                      : "were spawned, not forked, and share nothing with it: up to ");
    add_amount(out, f);
    buf_adds(out, one ? " of its own. Part of that is " : " of their own. Part of that is ");
    add_attribute(out, f);
    buf_adds(out,
             one ? ", copied into it at the start." : ", copied into each of them at the start.");
}

void copies_describe(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    add_who(out, f);
    if (f->spawned) {
        describe_spawned(out, f);
        add_fix(out, f, c);
        return;
    }
    buf_adds(out, f->workers == 1 ? "has copied " : "have copied ");
    add_amount(out, f);
    buf_adds(out, " since the fork, of ");
    units_add_bytes(out, f->inherited);
    buf_adds(out,
             c->part ? " that were shared then. Part of that may be " : " that were shared then: ");
    if (c->named || c->part)
        add_attribute(out, f);
    buf_adds(out, c->named  ? ", is copied page by page as reading writes reference counts."
                  : c->part ? ": reading one writes its reference count, and its page is copied."
                            : "a page is copied when it is written to, and reading a Python object "
                              "writes its reference count.");
    add_end(out, f, c);
    if (c->may_matter) {
        buf_adds(out,
                 " Every worker copies some of the interpreter; whether part of this is the "
                 "dataset can be told from inside, if the job is started with 'tidemark run'.");
        return;
    }
    if (c->needs_probe)
        buf_adds(out, " Which attribute of the dataset it is can be told from inside, if the job "
                      "is started with 'tidemark run'.");
    add_fix(out, f, c);
}

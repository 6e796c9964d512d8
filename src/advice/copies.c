/* advice/copies.c: what data workers copy from the process that forked them. No sentences:
 * words/copies.c. */
#include "advice/advice.h"

#include <math.h>
#include <string.h>

#define MB (1024.0 * 1024)

/*
 * Every worker copies some of the interpreter and its modules, more if the collector walks them.
 * Measured: 6 MB with torch alone, 109 MB with two frameworks and gc.collect() in the workers.
 * Where the copied data is not known, copies must exceed that or be most of what was inherited.
 */
#define NAMED_EACH (16 * MB)
#define NAMED_ALL (32 * MB)
#define UNNAMED_EACH (128 * MB)
#define UNNAMED_LEAST (48 * MB)
#define UNNAMED_SHARE 0.5

/* An attribute is what was copied if it makes up this share of the copies, and this share of it was
 * copied. */
#define EXPLAINS_SHARE 0.5
#define COPIED_SHARE 0.25

/* At this share of the final amount, copying counts as done. */
#define ARRIVED_SHARE 0.9

/* Measured: what a worker copies beside the dataset when only torch is imported. */
#define BESIDE_BYTES (6.5 * MB)

/* A smaller rise over the last quarter counts as flat. */
#define RISE_BYTES MB
#define RISE_SHARE 0.03

static bool attribute_explains(const struct copy_facts *f)
{
    return f->attribute && f->objects_all >= EXPLAINS_SHARE * f->each &&
           f->each >= COPIED_SHARE * f->objects_all;
}

/* A spawned worker also owns its interpreter: without a named attribute it may hold nothing
 * else. */
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
 * The upper bound is all of the dataset; often less is copied. Batches go to the workers in turns,
 * so each worker may read its own part again and again. Of a dict, only entries that are looked up
 * are read.
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

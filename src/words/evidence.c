/* words/evidence.c: the evidence from censuses, in words. */
#include "words/evidence.h"

#include <math.h>

/* ---- evidence of a finding ---- */

static void add_point(struct buf *out, double value, double at, const struct census_points *p)
{
    series_add_value(out, value, p->unit);
    if (isnan(at))
        return;
    buf_adds(out, " at ");
    series_add_position(out, at, 0, p->clock);
}

void evidence_words_points(struct buf *out, const struct census_points *p)
{
    buf_adds(out, "from ");
    add_point(out, p->first, p->from, p);
    buf_adds(out, " to ");
    add_point(out, p->last, p->to, p);
    buf_addf(out, ", more at each of %u censuses", p->censuses);
}

void evidence_words_view(struct buf *out, double bytes)
{
    buf_adds(out, "each is a view that keeps ");
    units_add_bytes(out, bytes);
    buf_adds(out, " more than it shows; x.clone() would not");
}

void evidence_words_bound(struct buf *out, double items, double bound, double full_at,
                          enum series_clock clock)
{
    buf_adds(out, "it has ");
    units_add_count(out, items, 0);
    buf_adds(out, " of at most ");
    units_add_count(out, bound, 0);
    buf_adds(out, " items and is full at about ");
    series_add_position(out, ceil(full_at), 0, clock);
}

/* ---- what --probe tried out ---- */

void evidence_words_tried(struct buf *out, const struct tried_facts *f)
{
    static const struct {
        const char *what, *if_so, *if_not;
    } words[] = {
        [TRIED_GC] = {"gc.collect() (--probe gc)",
                      "reference cycles were waiting for the collector",
                      "the growth is reachable, or is in native code"},
        [TRIED_TRIM] = {"malloc_trim() (--probe trim)",
                        "malloc retained what the program had freed", "the growth is in use"},
    };
    buf_addf(out, "%s, tried ", words[f->what].what);
    units_add_count(out, f->times, 0);
    buf_adds(out, f->times > 1 ? " times, " : " time, ");
    if (f->objects > 0) {
        buf_adds(out, "found ");
        units_add_count(out, f->objects, 0);
        buf_adds(out, " unreachable objects and ");
    }
    if (!f->gave_back) {
        buf_addf(out, "gave back nothing: %s", words[f->what].if_not);
        return;
    }
    buf_adds(out, "gave back ");
    units_add_bytes(out, f->bytes);
    buf_addf(out, ": %s", words[f->what].if_so);
}

/* ---- why there is no finding ---- */

void evidence_words_not_found(struct buf *out, enum not_found why, const char *process,
                              double censuses, unsigned required)
{
    if (why == NOT_FOUND_WORKER) {
        buf_addf(out,
                 "the holder in %s is not known: tidemark counts a worker's objects at the batches "
                 "of a DataLoader, and saw none. In a DataLoader's worker, check what the dataset "
                 "keeps in __getitem__ and what its transforms keep, or train a few hundred steps "
                 "with num_workers=0. In a pool or a manager, check what it receives and keeps",
                 process);
        return;
    }
    if (why == NOT_FOUND_IDLE) {
        buf_addf(
            out,
            "the holder in %s is not known: tidemark counts objects when an optimizer steps or "
            "a line is printed, and this process did neither. Print a line now and then in "
            "its loop, or call tidemark.Watcher().step()",
            process);
        return;
    }
    buf_addf(out, "the holder in %s is not known: ", process);
    if (why == NOT_FOUND_FEW)
        buf_addf(out, "%.0f census%s in a row; %u are required", censuses,
                 censuses == 1 ? "" : "es", required);
    else if (why == NOT_FOUND_ENDED)
        buf_adds(out, "two censuses before it ended, and what it held is gone");
    else if (why == NOT_FOUND_EARLY)
        buf_adds(out, "its objects were counted only at its beginning");
    else
        buf_adds(out, "tensors have graphs behind them, which were not measured often enough");
    buf_adds(out, ". A longer run would tell");
}

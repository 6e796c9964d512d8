/* words/sites.c: where a process allocates the memory that it keeps, in words. */
#include "words/sites.h"

#include "words/finding.h"

#include <math.h>
#include <string.h>

/* Not worth a word. */
#define LEAST_NOT_SEEN 0x1p20

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void site_words_frame(struct buf *out, const struct site_frame *f)
{
    if (f->function[0])
        buf_adds(out, f->function);
    else if (f->module[0])
        buf_addf(out, "%s+0x%llx", base_name(f->module), (unsigned long long) f->offset);
    if (f->file[0]) {
        buf_adds(out, " (");
        finding_add_place(out, f->file, f->line);
        buf_addc(out, ')');
    } else if (f->function[0] && f->module[0]) {
        buf_addf(out, " (%s)", base_name(f->module));
    }
}

/* ---- shares and rates ---- */

/* "92 % of the growth", "90 to 98 % ...", "up to 4 % of the growth of device memory". */
static void add_share(struct buf *out, struct interval share, enum site_kind kind)
{
    static const char *const memories[SITE_KINDS] = {
        [SITE_DEVICE] = " of device memory",
        [SITE_PINNED] = " of pinned memory",
    };
    double low = round(100 * share.low), high = round(100 * share.high);
    if (low < 1)
        buf_addf(out, "up to %.0f %%", fmax(high, 1));
    else if (low == high)
        buf_addf(out, "%.0f %%", low);
    else
        buf_addf(out, "%.0f to %.0f %%", low, high);
    buf_addf(out, " of the growth%s", memories[kind] ? memories[kind] : "");
}

static const char *unit_of(enum series_clock clock)
{
    return clock == CLOCK_STEP ? "a step" : "a minute";
}

static void add_rate(struct buf *out, const struct site_facts *f)
{
    buf_addc(out, '+');
    units_add_bytes(out, series_rate_shown(f->rate, f->clock));
    buf_addf(out, " %s (", unit_of(f->clock));
    units_add_bytes(out, series_rate_shown(f->bytes_a_unit.low, f->clock));
    buf_adds(out, " to ");
    units_add_bytes(out, series_rate_shown(f->bytes_a_unit.high, f->clock));
    buf_addc(out, ')');
}

void site_words(struct buf *out, const struct site_facts *f)
{
    static const char *const ends[SITE_HABITS] = {
        [SITE_KEEPS] = "; all of it stays",
        [SITE_KEPT_EARLY] = "; most of it from the beginning",
        [SITE_ROTATES] = "; new memory replaces old",
        [SITE_CHURNS] = "; most of it is freed again",
    };
    buf_addf(out, "%s: ", f->what);
    if (f->has_stopped)
        buf_adds(out, "has stopped growing");
    else if (isfinite(f->rate))
        add_rate(out, f);
    buf_adds(out, f->has_stopped || isfinite(f->rate) ? ", " : "");
    add_share(out, f->share, f->kind);
    if (!f->has_stopped && ends[f->habit])
        buf_adds(out, ends[f->habit]);
}

void site_words_allocated(struct buf *out, const char *what, struct interval share,
                          enum site_kind kind)
{
    buf_addf(out, "allocated at %s (", what);
    add_share(out, share, kind);
    buf_addc(out, ')');
}

/* ---- the tracer ---- */

static void add_span(struct buf *out, double from, double to)
{
    units_add_short_time(out, from);
    buf_adds(out, " to ");
    units_add_short_time(out, to);
}

static void add_samples(struct buf *out, const struct tracer_view *t)
{
    buf_adds(out, "one allocation in about ");
    units_add_bytes(out, t->interval);
    buf_adds(out, " sampled from ");
    add_span(out, t->from, t->to);
    buf_adds(out, ": ");
    units_add_count(out, t->samples, 0);
    buf_adds(out, " samples took ");
    units_add_short_time(out, t->spent_seconds);
    if (t->not_seen > LEAST_NOT_SEEN) {
        buf_adds(out, "; at least ");
        units_add_bytes(out, t->not_seen);
        buf_adds(out, " of the growth passed the tracer by");
    }
    if (t->dropped > 0) {
        buf_adds(out, "; ");
        units_add_count(out, t->dropped, 0);
        buf_adds(out, " samples found no room");
    }
    if (!t->has_native)
        buf_adds(out, t->has_python ? "; Python functions only: native stacks cannot be read here"
                                    : "; without functions: stacks cannot be read here");
}

static void add_blocks(struct buf *out, const struct tracer_view *t)
{
    buf_adds(out, "torch recorded its allocations on devices from ");
    add_span(out, t->blocks_from, t->blocks_to);
    buf_adds(out, ": reading them took ");
    units_add_short_time(out, t->blocks_seconds);
}

void site_words_tracer(struct buf *out, const struct tracer_view *t)
{
    bool has_blocks = t->blocks_to > t->blocks_from;
    buf_addf(out, "%s: ", t->process);
    if (!isnan(t->from))
        add_samples(out, t);
    if (!isnan(t->from) && has_blocks)
        buf_adds(out, "; ");
    if (has_blocks)
        add_blocks(out, t);
}

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

/* "92 %", "90 to 98 %", "up to 4 %". */
static void add_share(struct buf *out, struct interval share)
{
    double low = round(100 * share.low), high = round(100 * share.high);
    if (low < 1)
        buf_addf(out, "up to %.0f %%", fmax(high, 1));
    else if (low == high)
        buf_addf(out, "%.0f %%", low);
    else
        buf_addf(out, "%.0f to %.0f %%", low, high);
    buf_adds(out, " of the growth");
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
    add_share(out, f->share);
    if (!f->has_stopped && ends[f->habit])
        buf_adds(out, ends[f->habit]);
}

void site_words_allocated(struct buf *out, const char *what, struct interval share)
{
    buf_addf(out, "allocated at %s (", what);
    add_share(out, share);
    buf_addc(out, ')');
}

/* ---- the tracer ---- */

void site_words_tracer(struct buf *out, const struct tracer_view *t)
{
    buf_addf(out, "%s: one allocation in about ", t->process);
    units_add_bytes(out, t->interval);
    buf_adds(out, " sampled from ");
    units_add_short_time(out, t->from);
    buf_adds(out, " to ");
    units_add_short_time(out, t->to);
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

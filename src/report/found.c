/* report/found.c: what grows and its holders, as text. */
#include "report/found.h"
#include "report/allocated.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

#define FINDINGS_SHOWN 3u
#define PURPOSES_SHOWN 8u

/* Censuses may take this share of the time. The first ones come before that much time has
 * passed. */
#define COST_SHARE 0.005
#define SHORT_RUN 24.0

static void add_reason(struct buf *out, const char *before, const char *text,
                       const struct report_style *style)
{
    struct buf line = BUF_INIT;
    buf_addf(&line, "%s%s", before, text);
    text_reason(out, "", buf_text(&line), style);
    buf_release(&line);
}

/* ---- findings ---- */

static void add_finding(struct buf *out, const char *label, const struct finding *f,
                        const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, f->sentence);
    text_fact(out, label, &text, style);
    for (unsigned i = 0; i < f->evidence_count; i++)
        add_reason(out, "", f->evidence[i], style);
    for (unsigned i = 0; i < f->also_count; i++)
        add_reason(out, "also held by ", f->also[i], style);
    if (f->processes > 1) {
        buf_addf(&text, "%u other process%s", f->processes - 1, f->processes == 2 ? "" : "es");
        add_reason(out, "the same in ", buf_text(&text), style);
        buf_release(&text);
    }
}

/* The growth without its advice, which is the report's third line. A holder with a name gets that
 * name; --full has its path. */
static void add_growth(struct buf *out, const char *label, const struct finding *f,
                       const struct report_style *style)
{
    struct buf text = BUF_INIT, growth = BUF_INIT;
    finding_add_growth(&growth, f);
    const char *gain = f->name && f->gain ? strstr(buf_text(&growth), f->gain) : NULL;
    if (gain) {
        summary_place(&text, f, 0);
        buf_adds(&text, ": ");
    }
    buf_adds(&text, gain ? gain : buf_text(&growth));
    buf_release(&growth);
    text_fact(out, label, &text, style);
}

static void add_more(struct buf *out, size_t count, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (count <= FINDINGS_SHOWN)
        return;
    buf_addf(&text, "and %zu more, less likely: --json has them", count - FINDINGS_SHOWN);
    text_fact(out, "", &text, style);
}

bool found_any(const struct findings *f)
{
    return f->count > 0 || f->cache_count > 0 || f->undecided_count > 0 || f->site_count > 0;
}

void found_text(struct buf *out, const struct findings *f, const struct report_style *style)
{
    for (size_t i = 0; i < f->count && i < FINDINGS_SHOWN; i++)
        add_finding(out, i > 0 ? "also" : f->so_far ? "growing" : "cause", &f->findings[i], style);
    add_more(out, f->count, style);
    for (unsigned i = 0; i < f->undecided_count; i++) {
        struct buf text = BUF_INIT;
        buf_adds(&text, f->undecided[i]);
        text_fact(out, i == 0 ? "open" : "", &text, style);
    }
    for (size_t i = 0; i < f->cache_count && i < FINDINGS_SHOWN; i++)
        add_finding(out, i == 0 ? "cache" : "", &f->caches[i], style);
    allocated_text(out, f, style);
}

/* "`cache`, train.py:31: +1.00 items a step". */
static void add_also(struct buf *out, const struct finding *f, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    summary_place(&text, f, format_width(style) / 2);
    if (text.len == 0)
        buf_adds(&text, f->cause ? f->cause : f->sentence);
    if (f->gain)
        buf_addf(&text, ": %s", f->gain);
    text_fact(out, "also", &text, style);
}

void found_brief(struct buf *out, const struct findings *f, unsigned most,
                 const struct report_style *style)
{
    struct buf text = BUF_INIT;
    size_t shown = most < f->count ? most : f->count;
    if (f->count > 0)
        add_growth(out, f->findings[0].name ? "holder" : "cause", &f->findings[0], style);
    allocated_brief(out, f, style);
    for (size_t i = 1; i < shown; i++)
        add_also(out, &f->findings[i], style);
    size_t hidden = f->count - (shown > 0 ? shown : f->count > 0);
    if (hidden > 0)
        buf_addf(&text, "%zu more cause%s, less likely", hidden, hidden == 1 ? "" : "s");
    text_fact(out, "also", &text, style);
    for (unsigned i = 0; i < f->undecided_count && f->count == 0; i++) {
        buf_adds(&text, f->undecided[i]);
        text_fact(out, i == 0 ? "open" : "", &text, style);
    }
}

/* ---- counts ---- */

/* Judged by the series of that process, one per device. */
static const char *steadiness(const struct view *v, int64_t pid)
{
    bool known = false, open = false;
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        if (s->info.pid != pid || strcmp(s->info.kind, "py.tensors") != 0)
            continue;
        if (s->answer.verdict == VERDICT_LEAK)
            return "growing, now ";
        known = true;
        open = open || s->answer.verdict == VERDICT_INCONCLUSIVE;
    }
    return known && !open ? "stable at " : "";
}

static void add_tensors(struct buf *out, const struct view *v, const struct census_view *c,
                        const struct report_style *style)
{
    struct buf text = BUF_INIT;
    struct buf devices = BUF_INIT;
    double sum = 0;
    for (unsigned i = 0; i < c->device_count; i++) {
        if (!(c->tensors[i].count >= 0))
            continue;
        sum += c->tensors[i].count;
        buf_addf(&devices, "%s%s ", devices.len > 0 ? ", " : "", c->tensors[i].device);
        units_add_count(&devices, c->tensors[i].count, 0);
    }
    if (devices.len == 0)
        return;
    buf_adds(&text, steadiness(v, c->pid));
    units_add_count(&text, sum, 0);
    buf_addf(&text, " (%s)", buf_text(&devices));
    buf_release(&devices);
    if (!c->complete)
        buf_adds(&text, ", as far as the last census came");
    if (v->found.census_count > 1)
        buf_addf(&text, ", in %s", c->process);
    text_fact(out, "tensors", &text, style);
}

static void add_purposes(struct buf *out, const struct census_view *c,
                         const struct report_style *style)
{
    struct buf text = BUF_INIT;
    for (unsigned i = 0; i < c->purpose_count && i < PURPOSES_SHOWN; i++) {
        const struct census_purpose *p = &c->purposes[i];
        if (!(p->bytes > 0))
            continue;
        buf_addf(&text, "%s%s ", text.len > 0 ? ", " : "", p->name);
        units_add_bytes(&text, p->bytes);
        buf_addf(&text, "%s%s%s", p->device[0] ? " (" : "", p->device, p->device[0] ? ")" : "");
    }
    text_fact(out, "purpose", &text, style);
}

/* The process whose tensors take the most memory. */
static const struct census_view *main_census(const struct findings *f)
{
    const struct census_view *found = NULL;
    double most = -1;
    for (size_t i = 0; i < f->census_count; i++) {
        double bytes = 0;
        for (unsigned k = 0; k < f->censuses[i].device_count; k++)
            bytes += fmax(f->censuses[i].tensors[k].bytes, 0);
        if (bytes > most) {
            found = &f->censuses[i];
            most = bytes;
        }
    }
    return found;
}

/* A very short run still pays for its first censuses. */
static bool is_above(double pause, double seconds)
{
    return pause > COST_SHARE * seconds && seconds < SHORT_RUN;
}

static void add_cost(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    double censuses = 0, searches = 0, pause = 0, longest = 0;
    for (size_t i = 0; i < v->found.census_count; i++) {
        const struct census_view *c = &v->found.censuses[i];
        censuses += fmax(c->censuses, 0);
        searches += fmax(c->searches, 0);
        pause = fmax(pause, c->pause_seconds);
        longest = fmax(longest, c->longest_pause_seconds);
    }
    if (!(censuses > 0))
        return;
    units_add_count(&text, censuses, 0);
    buf_addf(&text, " census%s", censuses == 1 ? "" : "es");
    if (searches > 0) {
        buf_adds(&text, ", ");
        units_add_count(&text, searches, 0);
        buf_addf(&text, " search%s for holders", searches == 1 ? "" : "es");
    }
    buf_adds(&text, v->found.census_count > 1 ? "; a process was paused for at most "
                                              : "; the program was paused for ");
    units_add_short_time(&text, pause);
    buf_adds(&text, " in all, ");
    units_add_short_time(&text, longest);
    buf_adds(&text, " at the longest");
    if (v->seconds > 0) {
        buf_adds(&text, ": ");
        units_add_percent(&text, pause / v->seconds);
        buf_adds(&text, is_above(pause, v->seconds) ? " of so short a run" : " of the time");
    }
    text_fact(out, "inspect", &text, style);
}

static void add_notes(struct buf *out, const struct findings *f, const struct report_style *style)
{
    for (size_t i = 0; i < f->census_count; i++)
        for (unsigned k = 0; k < f->censuses[i].note_count; k++) {
            struct buf text = BUF_INIT;
            buf_addf(&text, "%s: %s", f->censuses[i].process, f->censuses[i].notes[k]);
            text_fact(out, "", &text, style);
        }
}

/* ---- processes that tidemark attached to ---- */

void found_attached(struct buf *out, const struct attached_process *list, size_t count,
                    const struct report_style *style)
{
    for (size_t i = 0; i < count; i++) {
        struct buf text = BUF_INIT;
        attached_describe(&text, &list[i]);
        text_fact(out, "attach", &text, style);
    }
}

void found_counts(struct buf *out, const struct view *v, const struct report_style *style)
{
    const struct census_view *c = main_census(&v->found);
    found_attached(out, v->found.entered, v->found.entered_count, style);
    if (c) {
        add_tensors(out, v, c, style);
        add_purposes(out, c, style);
        add_cost(out, v, style);
    }
    allocated_tracers(out, &v->found, style);
    add_notes(out, &v->found, style);
}

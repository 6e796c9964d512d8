/* view/sites.c: the lines of a program whose allocations stay, for the reports. */
#include "view/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHAT_COLUMNS 100u
#define NOT_SEEN_ERRORS 2

static char *taken(struct buf *b)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, buf_text(b), false);
    char *text = strdup(buf_text(&clean));
    if (!text)
        base_out_of_memory();
    buf_release(&clean);
    buf_release(b);
    return text;
}

static char *copied(const char *text)
{
    struct buf b = BUF_INIT;
    buf_adds(&b, text);
    return taken(&b);
}

static char *label_of(const struct member *m)
{
    char label[MEMBER_LABEL];
    member_label(m, label);
    return copied(label);
}

char *view_site_what(const struct site *s)
{
    struct buf what = BUF_INIT;
    site_describe(s, WHAT_COLUMNS, &what);
    return taken(&what);
}

/* ---- one line ---- */

static void fill_stack(const struct site *s, struct site_view *ret)
{
    for (unsigned i = 0; i < s->frame_count && ret->stack_count < SITE_VIEW_FRAMES; i++) {
        struct buf text = BUF_INIT;
        if (site_frame_is_plumbing(&s->frames[i]))
            continue;
        site_words_frame(&text, &s->frames[i]);
        ret->stack[ret->stack_count++] = taken(&text);
    }
}

static void fill_own(const struct site *s, struct site_view *ret)
{
    const struct site_frame *f = s->own;
    ret->line = NAN;
    if (!f)
        return;
    ret->function = copied(f->function);
    ret->file = copied(f->file);
    ret->line = f->line > 0 ? f->line : (double) NAN;
}

/* Units of the clock in which it was traced. */
static double units_of(const struct job *j, const struct traced *t, enum series_clock clock)
{
    double seconds = t->to - t->from;
    if (clock == CLOCK_SECONDS)
        return seconds;
    return evidence_step_at(j, t->to) - evidence_step_at(j, t->from);
}

static void fill_words(const struct job *j, const struct traced *t, const struct traced_line *l,
                       struct site_view *ret)
{
    enum series_clock clock = clock_runs(&j->clock) ? CLOCK_STEP : CLOCK_SECONDS;
    double units = units_of(j, t, clock);
    const struct site_facts facts = {
        .what = ret->what,
        .kind = ret->kind,
        .bytes_a_unit = {l->gained.low / units, l->gained.high / units},
        .rate = l->gain.bytes / units,
        .clock = clock,
        .share = traced_share(t, l),
        .has_stopped = l->has_stopped,
        .habit = ret->habit,
    };
    struct buf text = BUF_INIT;
    site_words(&text, &facts);
    ret->sentence = taken(&text);
    ret->bytes_per_second = l->gain.bytes / (t->to - t->from);
    ret->bytes_per_step = clock == CLOCK_STEP ? facts.rate : (double) NAN;
    ret->share_low = facts.share.low;
    ret->share_high = facts.share.high;
}

static void add_line(const struct job *j, const struct member *m, const struct traced *t,
                     const struct traced_line *l, struct findings *all)
{
    struct site_view *x = &all->sites[all->site_count++];
    struct answer own;
    traced_judge(j, m, l, &own);
    *x = (struct site_view){
        .pid = m->id.pid,
        .process = label_of(m),
        .what = view_site_what(l->site),
        .kind = l->site->kind,
        .habit = l->habit,
        .verdict = own.verdict,
        .has_stopped = l->has_stopped,
        .bytes = l->gain.bytes,
        .bytes_low = l->gained.low,
        .bytes_high = l->gained.high,
        .samples = l->site->samples,
        .from = t->from,
        .to = t->to,
    };
    fill_own(l->site, x);
    fill_stack(l->site, x);
    fill_words(j, t, l, x);
}

/* ---- a process ---- */

/* What the samples do not account for, and their error neither. */
static double not_seen(const struct sites *s)
{
    return s->not_seen - NOT_SEEN_ERRORS * sites_gain(s, s->armed, s->seconds).error;
}

void view_tracer(const struct member *m, struct findings *all)
{
    const struct sites *s = m->evidence->sites;
    all->tracers = reallocarray(all->tracers, all->tracer_count + 1, sizeof(*all->tracers));
    if (!all->tracers)
        base_out_of_memory();
    all->tracers[all->tracer_count++] = (struct tracer_view){
        .pid = m->id.pid,
        .process = label_of(m),
        .from = s->armed,
        .to = s->seconds,
        .interval = s->interval,
        .samples = s->samples,
        .dropped = s->dropped,
        .not_seen = not_seen(s),
        .spent_seconds = s->spent_seconds,
        .has_native = s->has_native,
        .has_python = s->has_python,
        .blocks_from = s->memory_count ? s->memories[0].armed : (double) NAN,
        .blocks_to = s->memory_count ? s->memories[0].seconds : (double) NAN,
        .blocks_seconds = s->blocks_spent_seconds,
    };
}

/* Lines that surely explain something, by their lower end; one that has stopped is no cause, but
 * tells what the warm-up was. */
static bool matters(const struct traced *t, const struct traced_line *l)
{
    struct interval share = traced_share(t, l);
    return share.high >= LEDGER_SMALL && share.low > 0;
}

void view_sites(const struct job *j, const struct member *m, const struct traced *t,
                struct findings *all)
{
    all->sites = reallocarray(all->sites, all->site_count + t->count + 1, sizeof(*all->sites));
    if (!all->sites)
        base_out_of_memory();
    for (unsigned i = 0; i < t->count && all->site_count < SITE_VIEWS_MOST; i++)
        if (matters(t, &t->lines[i]))
            add_line(j, m, t, &t->lines[i], all);
}

void view_warm_up(const struct job *j, const struct member *m, struct findings *all)
{
    struct traced t;
    double traced = m->evidence->sites->seconds - m->evidence->sites->armed;
    unsigned kept = 0;
    if (!(traced > 0) || !traced_of(m, NAN, m->tracks[MEMBER_ANON].last / traced, &t))
        return;
    for (unsigned i = 0; i < t.count; i++)
        if (t.lines[i].has_stopped)
            t.lines[kept++] = t.lines[i];
    t.count = kept;
    view_sites(j, m, &t, all);
}

/* ---- a finding and the line that allocates for it ---- */

/* The holder's own function is on the stack of what it keeps. */
static bool is_in(const struct site *s, const struct wire_census_holder *h)
{
    for (unsigned i = 0; i < s->frame_count; i++) {
        const struct site_frame *f = &s->frames[i];
        size_t len = strlen(f->function), end = strlen(h->function);
        if (f->module[0] || strcmp(f->file, h->file) != 0)
            continue;
        if (end == 0 || (len >= end && strcmp(f->function + len - end, h->function) == 0))
            return true;
    }
    return false;
}

const struct traced_line *view_line_of(const struct traced *t, const struct wire_census_holder *h)
{
    for (unsigned i = 0; h && h->file[0] && i < t->count; i++)
        if (!t->lines[i].has_stopped && matters(t, &t->lines[i]) && is_in(t->lines[i].site, h))
            return &t->lines[i];
    return NULL;
}

void view_place_of(const struct traced_line *l, struct finding *f)
{
    const struct site_frame *frame = l->site->own;
    struct buf where = BUF_INIT;
    if (!frame)
        return;
    site_words_frame(&where, frame);
    f->where = taken(&where);
    if (frame->function[0] && strcmp(frame->function, "<module>") != 0 && !f->holder)
        f->name = copied(frame->function);
    if (frame->file[0])
        f->file = copied(frame->file);
    f->line = frame->line > 0 ? frame->line : (double) NAN;
}

void view_line_is_cause(const struct traced_line *l, struct finding *f)
{
    f->what = view_site_what(l->site);
    f->kind = copied("allocation");
}

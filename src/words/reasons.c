/* words/reasons.c: the reasons for an answer, one sentence for each kind of reason. */
#include "words/reasons.h"

#include <math.h>
#include <stdio.h>

/* The sentence that is being written. */
struct sentence {
    struct buf *out;
    const struct answer *a;
    const struct reason *r;
    enum series_unit unit;
    enum series_clock clock;
};

/* A short text by value, so that one sentence can have several. */
struct number {
    char text[64];
};

static struct number number_of(struct buf *b)
{
    struct number n;
    snprintf(n.text, sizeof n.text, "%s", buf_text(b));
    buf_release(b);
    return n;
}

static struct number value(const struct sentence *s, double v)
{
    struct buf b = BUF_INIT;
    series_add_value(&b, v, s->unit);
    return number_of(&b);
}

static struct number bytes(double v)
{
    struct buf b = BUF_INIT;
    units_add_bytes(&b, v);
    return number_of(&b);
}

static struct number rate(const struct sentence *s, double v)
{
    struct buf b = BUF_INIT;
    series_add_rate(&b, v, s->unit, s->clock);
    return number_of(&b);
}

static struct number length(const struct sentence *s, double v)
{
    struct buf b = BUF_INIT;
    series_add_length(&b, v, false, s->clock);
    return number_of(&b);
}

static struct number position(const struct sentence *s, double at)
{
    struct buf b = BUF_INIT;
    series_add_position(&b, at, s->a->first_at, s->clock);
    return number_of(&b);
}

/* ---- leak ---- */

static void grew(const struct sentence *s)
{
    const struct answer *a = s->a;
    double mean = answer_mean_rate(a);
    if (isnan(mean))
        buf_addf(s->out, "The floor has grown by %s since %s: %s over %s.", rate(s, a->rate).text,
                 position(s, a->onset_at).text, value(s, s->r->value).text,
                 length(s, s->r->length).text);
    else
        buf_addf(s->out,
                 "The floor has grown by %s over %s since %s: %s on average, and %s at the end.",
                 value(s, s->r->value).text, length(s, s->r->length).text,
                 position(s, a->onset_at).text, rate(s, mean).text, rate(s, a->rate).text);
}

static void lasted_epochs(const struct sentence *s)
{
    buf_addf(s->out, "That is %.1f epochs; a cache is full after one pass over the data.",
             s->r->times);
}

static void lasted_horizons(const struct sentence *s)
{
    buf_addf(s->out, "That is %.1f times the longest harmless ramp (%s).", s->r->times,
             length(s, s->a->horizon).text);
}

static void rose_often(const struct sentence *s)
{
    buf_addf(s->out,
             "It rose %u times by about %s, about every %s, last at %s, and never fell back.",
             s->r->count, value(s, s->r->value).text, length(s, s->r->length).text,
             position(s, s->r->at).text);
}

static void line_fits(const struct sentence *s)
{
    buf_addf(s->out,
             "The slope is %.0f standard errors from zero; a line fits better than steps or a "
             "fading curve.",
             s->r->times);
}

static void negligible(const struct sentence *s)
{
    struct outlook o = outlook_of(s->a);
    bool is_known = !isnan(s->a->limit);
    buf_addf(s->out, "It is negligible: it adds %s %s%s, %.2g %% of %s%s%s.",
             value(s, o.added).text,
             o.by_plan ? "by the plan's end at " : "in a run 10 times as long",
             o.by_plan ? position(s, s->a->plan).text : "", 100 * o.added / o.headroom,
             is_known ? "the " : "", value(s, o.headroom).text,
             is_known ? " that are free" : " (no limit is known)");
}

static void leaked_before(const struct sentence *s)
{
    buf_addf(s->out,
             "The run before the restart leaked %s; the %s since are too short to clear it.",
             rate(s, s->a->rate).text, length(s, s->r->length).text);
}

static void shared_limit(const struct sentence *s)
{
    buf_addf(s->out,
             "%u leaking processes share the limit; the time left counts the growth of all of "
             "them.",
             s->r->count);
}

/* ---- no leak ---- */

static void warmed_up(const struct sentence *s)
{
    bool is_one_epoch = fabs(s->a->warm_up_epochs - 1) <= 0.25;
    buf_addf(s->out, "The warm-up ended at %s%s.", position(s, s->a->warm_up_end).text,
             is_one_epoch ? ", about one pass over the data: a cache was filling" : "");
}

static void flat(const struct sentence *s)
{
    buf_addf(s->out, "The floor has been flat within noise for the last %s.",
             length(s, s->r->length).text);
}

static void falls(const struct sentence *s)
{
    buf_addf(s->out, "It falls by %s.", rate(s, -s->a->rate).text);
}

static void growth_bound(const struct sentence *s)
{
    bool is_bytes = s->unit == SERIES_BYTES;
    struct buf time = BUF_INIT;
    series_add_length(&time, (is_bytes ? 0x1p30 : 1e6) / s->a->rate_upper, true, s->clock);
    buf_addf(s->out, "It grows by at most %s: %s would take %s.", rate(s, s->a->rate_upper).text,
             is_bytes ? "1 GB" : "a million", buf_text(&time));
    buf_release(&time);
}

static void plan_fits(const struct sentence *s)
{
    const struct answer *a = s->a;
    double added = fmax(0, a->rate_upper * fmax(0, a->plan - a->last_at));
    buf_addf(s->out, "By the plan's end at %s it adds at most %s; %s are free.",
             position(s, a->plan).text, value(s, added).text, value(s, a->limit - a->last).text);
}

static void plan_only(const struct sentence *s)
{
    buf_addf(s->out,
             "This holds for that plan only: nothing shows that the growth of the last phase (%s) "
             "stops.",
             rate(s, s->a->rate).text);
}

/* ---- inconclusive ---- */

static void few_samples(const struct sentence *s)
{
    buf_addf(s->out, "%u samples are too few to tell growth from chance.", s->r->count);
}

static void still_grows(const struct sentence *s)
{
    buf_addf(s->out, "It grew by %s for %s, up to the end; a cache may take %s to fill.",
             rate(s, s->a->rate).text, length(s, s->r->length).text, length(s, s->a->horizon).text);
}

static void too_short(const struct sentence *s)
{
    buf_addf(s->out, "It was measured for %s; it takes %s to tell a leak from a warm-up.",
             length(s, s->r->length).text, length(s, s->a->horizon).text);
}

static void rounded(const struct sentence *s)
{
    buf_addf(s->out,
             "It rose by %s, but the values are rounded to %s: finer values would tell growth from "
             "rounding.",
             value(s, s->r->value).text, value(s, s->r->bound).text);
}

static void may_fill(const struct sentence *s)
{
    buf_addf(s->out, "It has grown by %s since %s; it may still be a cache filling.",
             rate(s, s->a->rate).text, position(s, s->r->at).text);
}

static void floor_rose(const struct sentence *s)
{
    buf_addf(s->out, "The floor rose within the last %s; too early to say whether it stays there.",
             length(s, s->a->horizon).text);
}

static void stopped(const struct sentence *s)
{
    buf_addf(s->out,
             "It grew like a leak, then stopped at about %s. Too early to say whether for good.",
             position(s, s->r->at).text);
}

static void weak(const struct sentence *s)
{
    buf_addf(s->out, "It seems to grow by %s, at %.1f standard errors; %.1f are required.",
             rate(s, s->r->rate).text, s->r->times, s->r->bound);
}

static void unsteady(const struct sentence *s)
{
    buf_addf(s->out, "It seems to grow by %s, but not steadily enough to be called a leak.",
             rate(s, s->r->rate).text);
}

static void stairs_rest(const struct sentence *s)
{
    buf_addf(s->out,
             "It rose %u times, usually by %s, last at %s, and stayed there; at that pace it is "
             "too early to say whether it goes on.",
             s->r->count, value(s, s->r->value).text, position(s, s->r->at).text);
}

static void limit_passed(const struct sentence *s)
{
    buf_addf(s->out, "It is at %s already, and the limit is %s.", value(s, s->a->last).text,
             value(s, s->a->limit).text);
}

static void plan_too_long(const struct sentence *s)
{
    const struct answer *a = s->a;
    buf_addf(s->out, "Growth of up to %s cannot be ruled out; by %s that could add %s.",
             rate(s, a->rate_high).text, position(s, a->plan).text,
             value(s, a->rate_high * (a->plan - a->last_at)).text);
}

/* ---- any verdict ---- */

/* ": 10 of 12 during evaluate, 2 during save"; only the first two activities. */
static void add_activities(struct buf *out, const struct answer *a)
{
    for (unsigned i = 0; i < a->spikes.during_count && i < 2; i++) {
        buf_addf(out, i == 0 ? ": %u" : ", %u", a->spikes.during[i].count);
        if (i == 0)
            buf_addf(out, " of %u", a->spikes.count);
        buf_addf(out, " during %s", a->spikes.during[i].name);
    }
}

static void spikes(const struct sentence *s)
{
    buf_addf(s->out, "Spikes rise about %s above the floor%s", value(s, s->a->spikes.height).text,
             s->a->spikes.recovered ? " and all fall back" : "");
    add_activities(s->out, s->a);
    buf_addc(s->out, '.');
}

static void restarts(const struct sentence *s)
{
    if (s->a->restarts == 1)
        buf_adds(s->out, "The process was restarted once; only the last run is judged.");
    else
        buf_addf(s->out, "The process was restarted %.0f times; only the last run is judged.",
                 (double) s->a->restarts);
}

/* ---- from the ledger ---- */

static void unbounded_small(const struct sentence *s)
{
    buf_addf(s->out, "At most %s of the growth may have no bound; a leak takes %s.",
             bytes(s->r->value).text, bytes(s->r->bound).text);
}

static void libraries(const struct sentence *s)
{
    buf_addf(s->out,
             "It has grown by %s, and no Python object holds it; libraries keep up to %s in their "
             "first thousands of calls.",
             bytes(s->r->value).text, bytes(s->r->bound).text);
}

static void bound_too_high(const struct sentence *s)
{
    buf_addf(s->out, "The growth has a bound, but reaches %s by then; the limit is %s.",
             bytes(s->r->value).text, bytes(s->r->bound).text);
}

static void interval(const struct sentence *s)
{
    buf_addf(s->out,
             "At least %s of the growth has no bound; more than %s would be a leak, but the rest "
             "may have a bound.",
             bytes(s->r->value).text, bytes(s->r->bound).text);
}

static void unexplained(const struct sentence *s)
{
    buf_addf(s->out,
             "The censuses do not explain the growth, which has lasted %.1f horizons. A library's "
             "pool can fill for as long, so %.0f are required.",
             s->r->value, s->r->bound);
}

/* ---- all of them ---- */

/* Either a fixed text, or a function for one with numbers. */
static const struct {
    const char *text;
    void (*add)(const struct sentence *s);
} sentences[REASON_KINDS] = {
    [REASON_GREW] = {NULL, grew},
    [REASON_EPOCHS] = {NULL, lasted_epochs},
    [REASON_HORIZONS] = {NULL, lasted_horizons},
    [REASON_ROSE_OFTEN] = {NULL, rose_often},
    [REASON_LINE_FITS] = {NULL, line_fits},
    [REASON_ACCELERATES] = {"The growth is accelerating; the rate is the current one.", NULL},
    [REASON_JUMPS] = {"It climbs in jumps: something is kept now and then, not at every step.",
                      NULL},
    [REASON_NEGLIGIBLE] = {NULL, negligible},
    [REASON_LEAKED_BEFORE] = {NULL, leaked_before},
    [REASON_SHARED_LIMIT] = {NULL, shared_limit},

    [REASON_WARMED_UP] = {NULL, warmed_up},
    [REASON_FLAT] = {NULL, flat},
    [REASON_FALLS] = {NULL, falls},
    [REASON_NO_GROWTH] = {"It does not grow at all.", NULL},
    [REASON_GROWTH_BOUND] = {NULL, growth_bound},
    [REASON_PLAN_FITS] = {NULL, plan_fits},
    [REASON_PLAN_ONLY] = {NULL, plan_only},

    [REASON_NO_SAMPLE] = {"There is no sample yet.", NULL},
    [REASON_ONE_SAMPLE] = {"There is only one sample.", NULL},
    [REASON_FEW_SAMPLES] = {NULL, few_samples},
    [REASON_STILL_GROWS] = {NULL, still_grows},
    [REASON_SHORT] = {NULL, too_short},
    [REASON_ROUNDED] = {NULL, rounded},
    [REASON_MAY_FILL] = {NULL, may_fill},
    [REASON_FLOOR_ROSE] = {NULL, floor_rose},
    [REASON_STOPPED] = {NULL, stopped},
    [REASON_NEW_MAXIMUM] = {"The last samples are the highest of all: a jump to a new level, or a "
                            "spike that will pass.",
                            NULL},
    [REASON_WEAK] = {NULL, weak},
    [REASON_UNSTEADY] = {NULL, unsteady},
    [REASON_STAIRS_REST] = {NULL, stairs_rest},
    [REASON_LIMIT_PASSED] = {NULL, limit_passed},
    [REASON_PLAN_TOO_LONG] = {NULL, plan_too_long},

    [REASON_SPIKES] = {NULL, spikes},
    [REASON_RESTARTS] = {NULL, restarts},
    [REASON_HEAP_USED] = {"This is malloc's in-use memory: the process itself does not grow while "
                          "this fills free heap memory.",
                          NULL},

    [REASON_BOUNDED_HOLDER] = {"A bounded container is filling; the growth ends when it is full.",
                               NULL},
    [REASON_FREE_HEAP] = {"malloc's in-use bytes are flat: the growth is free heap memory. Set "
                          "MALLOC_ARENA_MAX=2, call malloc_trim(0) now and then, or use another "
                          "malloc (jemalloc).",
                          NULL},
    [REASON_FREE_ARENAS] = {"The growth is free memory in Python's arenas, which stay allocated "
                            "while any object in them lives; later objects reuse it.",
                            NULL},
    [REASON_FIRST_TOUCH] = {"The program touches memory that it allocated before, as when it fills "
                            "an array bit by bit, and allocates no more. The growth ends when all "
                            "of it has been touched.",
                            NULL},
    [REASON_FILE_PAGES] = {"These are pages of files: the kernel reclaims them when memory is "
                           "needed.",
                           NULL},
    [REASON_COPIED] = {"Pages shared at fork become private as they are touched. The process "
                       "itself does not grow, so this cannot exceed what was shared.",
                       NULL},
    [REASON_RESERVED] = {"This is what torch's allocator reserves, in use or not; torch.allocated "
                         "shows what the program holds.",
                         NULL},
    [REASON_OTHER_JOB] = {"Most of the growth belongs to another job: no process of this one maps "
                          "it or has it open.",
                          NULL},
    [REASON_SITE_STOPPED] = {"The tracer saw which lines allocated it: they have stopped growing.",
                             NULL},
    [REASON_UNBOUNDED_SMALL] = {NULL, unbounded_small},
    [REASON_LIBRARIES] = {NULL, libraries},
    [REASON_BOUND_TOO_HIGH] = {NULL, bound_too_high},
    [REASON_CENSUS_QUIET] = {"It grew like a leak, but not at the last censuses. Too early to say "
                             "whether it has stopped for good.",
                             NULL},
    [REASON_INTERVAL] = {NULL, interval},
    [REASON_UNEXPLAINED] = {NULL, unexplained},
};

static void write_sentence(const struct sentence *s, char ret[ANSWER_WHY_LENGTH])
{
    if (sentences[s->r->kind].text)
        buf_adds(s->out, sentences[s->r->kind].text);
    else
        sentences[s->r->kind].add(s);
    snprintf(ret, ANSWER_WHY_LENGTH, "%s", buf_text(s->out));
    buf_clear(s->out);
}

void reasons_write(struct answer *a, enum series_unit unit, enum series_clock clock)
{
    struct buf out = BUF_INIT;
    a->why_count = a->reason_count;
    for (unsigned i = 0; i < a->reason_count; i++)
        write_sentence(&(struct sentence){&out, a, &a->reasons[i], unit, clock}, a->why[i]);
    snprintf(a->needs.why, ANSWER_WHY_LENGTH, "%s", a->needs.is_first_reason ? a->why[0] : "");
    buf_release(&out);
}

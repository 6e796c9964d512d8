/* input/progress_clock.c: picks the training steps among everything a program's output counts. */
#include "input/progress_clock.h"

#include <math.h>
#include <string.h>

#define NEARLY_COMPLETE 0.9 /* share of the total: a bar skips steps */
#define LOWS_AT_START 3     /* low counts before a fall to the start is believed */
#define LOWS_ANYWHERE 20
#define MAX_STRAYS 8
#define FRESH 16          /* counts of an epoch among which late ones of the last may appear */
#define PATIENCE 50       /* advances of another source before a silent one is dropped */
#define PATIENCE_MAX 1000 /* for a long source that is not complete: a nested bar */
#define PATIENCE_BETTER 3 /* if the other source is surer */

void progress_clock_init(struct progress_clock *c, bool is_trusting)
{
    memset(c, 0, sizeof *c);
    c->is_trusting = is_trusting;
    c->done = NAN;
    c->epochs = (struct progress_epochs){
        .raw = NAN, .latest = NAN, .total = NAN, .start = NAN, .length = NAN};
}

static double position(const struct progress_source *s)
{
    return s->offset + s->last;
}

static double step_now(const struct progress_clock *c)
{
    return c->chosen ? c->shift + position(c->chosen) : NAN;
}

/* ---- one source ---- */

enum move { MOVE_NONE, MOVE_ON, MOVE_RESTART };

static void begin_source(struct progress_source *s, const struct progress_line *line, double epoch)
{
    *s = (struct progress_source){
        .shape = line->shape,
        .kind = line->kind,
        .first = line->step,
        .last = line->step,
        .stride = 1,
        .total = line->total,
        .epoch = epoch,
        .has_epochs = line->is_per_epoch,
        .length = NAN,
    };
}

static bool is_complete(const struct progress_source *s)
{
    return s->last >= NEARLY_COMPLETE * s->total || s->last + s->stride >= s->total;
}

/* Whether the source starts counting at `n`. */
static bool is_start(const struct progress_source *s, double n)
{
    double first = s->first <= 2 * s->stride ? s->first : 0;
    return n <= fmax(1, fmax(first, fmin(2 * s->stride, s->last / 4)));
}

static enum move move_on(struct progress_source *s, double n)
{
    s->stride = n - s->last;
    s->widest = fmax(s->widest, s->stride);
    s->last = n;
    s->lows = s->strays = 0;
    s->fresh++;
    s->advances++;
    return MOVE_ON;
}

/* A slower rank still prints the end of the last epoch. */
static bool is_stray(struct progress_source *s, double n)
{
    double jump = n - s->last;
    bool is_far = s->fresh < FRESH && jump > s->length / 2 && jump > 2 * s->widest;
    return is_far && s->strays++ < MAX_STRAYS;
}

/* `first`: the first count of the new epoch, `n` the latest. */
static enum move begin_epoch(struct progress_source *s, double first, double n, double epoch)
{
    /* A count from 0 ends one stride before the epoch's length. */
    double length = s->last + (first < 1 ? s->stride : 0);
    s->length = s->total >= s->last ? s->total : length;
    s->offset += s->length;
    s->last = n;
    s->epoch = epoch;
    s->epochs++;
    s->advances++;
    s->lows = s->strays = s->fresh = 0;
    s->spans_epochs = false;
    return MOVE_ON;
}

static enum move restart(struct progress_source *s, double n, double epoch)
{
    s->first = s->low_first;
    s->last = n;
    s->offset = s->widest = 0;
    s->length = NAN;
    s->epoch = epoch;
    s->advances++;
    s->lows = s->strays = s->fresh = s->epochs = 0;
    return MOVE_RESTART;
}

/* Advancing counts below the last one: a slower rank, or a restart. */
static bool is_lasting_fall(struct progress_source *s, double n)
{
    if (s->lows == 0 || n < s->low) {
        s->low_first = n;
        s->lows = 0;
    }
    s->lows += s->lows == 0 || n > s->low;
    s->low = n;
    return s->lows >= (is_start(s, s->low_first) ? LOWS_AT_START : LOWS_ANYWHERE);
}

static enum move fall(struct progress_source *s, const struct progress_line *line, double epoch)
{
    double n = line->step;
    bool is_same_epoch = line->is_per_epoch && epoch <= s->epoch;
    bool may_be_epoch = s->kind != PROGRESS_GLOBAL && !is_same_epoch && !(epoch < s->epoch);
    if (may_be_epoch && is_complete(s) && is_start(s, n))
        return begin_epoch(s, n, n, epoch);
    if (!is_lasting_fall(s, n))
        return MOVE_NONE;
    bool is_epoch = may_be_epoch && is_start(s, s->low_first) && isnan(s->total);
    return is_epoch ? begin_epoch(s, s->low_first, n, epoch) : restart(s, n, epoch);
}

/*
 * Whether the epoch has advanced and the count has restarted with it. If another line printed the
 * epoch, a slower rank may still print counts of the last one.
 */
static bool begins_epoch(const struct progress_source *s, double n, double epoch, bool has_epochs)
{
    bool is_later = isfinite(epoch) && !(epoch <= s->epoch);
    bool has_fallen = has_epochs ? n <= s->last : n < s->last && is_start(s, n);
    return is_later && has_fallen && s->kind != PROGRESS_GLOBAL && !s->spans_epochs;
}

/* `epoch`: from this line or an earlier one. */
static enum move judge(struct progress_source *s, const struct progress_line *line, double epoch)
{
    double n = line->step;
    if (begins_epoch(s, n, epoch, line->is_per_epoch))
        return begin_epoch(s, n, n, epoch);
    if (n < s->last)
        return fall(s, line, epoch);
    bool is_late = line->is_per_epoch && epoch < s->epoch;
    if (n == s->last || is_late || is_stray(s, n))
        return MOVE_NONE;
    bool is_later = isfinite(epoch) && !(epoch <= s->epoch);
    s->spans_epochs = s->spans_epochs || (is_later && s->epochs == 0);
    s->epoch = epoch;
    return move_on(s, n);
}

static enum move observe(struct progress_source *s, const struct progress_line *line, double epoch)
{
    enum move move = judge(s, line, epoch);
    s->has_epochs = line->is_per_epoch;
    if (isfinite(line->total) || s->last > s->total)
        s->total = line->total;
    return move;
}

/* ---- epochs in the lines ---- */

static void set_epoch(struct progress_epochs *e, const struct progress_line *line)
{
    e->raw = e->latest = line->epoch;
    e->base = line->epoch_ended || line->epoch < 1 ? 0 : 1;
    e->are_ended = line->epoch_ended;
    e->total = line->epoch_total;
}

static void advance_epoch(struct progress_epochs *e, const struct progress_line *line, double step)
{
    if (isfinite(e->start) && step > e->start)
        e->length = (step - e->start) / (line->epoch - e->raw);
    e->start = step;
    e->raw = line->epoch;
    e->total = line->epoch_total;
    e->advances++;
}

/* `step`: the clock before the line. */
static void note_epoch(struct progress_epochs *e, const struct progress_line *line, double step)
{
    if (isnan(e->raw))
        set_epoch(e, line);
    else if (line->epoch > e->raw)
        advance_epoch(e, line, step);
    e->latest = line->epoch;
}

/* ---- all sources ---- */

static struct progress_source *find_source(struct progress_clock *c, uint64_t shape)
{
    for (size_t i = 0; i < PROGRESS_SOURCES; i++) {
        if (c->sources[i].shape == shape)
            return &c->sources[i];
    }
    return NULL;
}

/* A slot for a new source: a free one, or that of the source silent for longest. */
static struct progress_source *make_room(struct progress_clock *c)
{
    struct progress_source *oldest = NULL;
    for (size_t i = 0; i < PROGRESS_SOURCES; i++) {
        struct progress_source *s = &c->sources[i];
        if (s != c->chosen && (!oldest || s->noted < oldest->noted))
            oldest = s;
    }
    return oldest;
}

/* How long the chosen source may stay silent while `other` advances. */
static double patience(const struct progress_source *chosen, const struct progress_source *other)
{
    if (other->kind > chosen->kind)
        return PATIENCE_BETTER;
    bool is_nested = other->kind <= PROGRESS_BAR && other->total < chosen->total;
    double least = is_nested ? 4.0 * PATIENCE : PATIENCE;
    if (isnan(chosen->total) || is_complete(chosen))
        return least;
    return fmin(fmax(20 * (double) chosen->advances, least), PATIENCE_MAX);
}

static bool is_better(const struct progress_clock *c, const struct progress_source *s)
{
    const struct progress_source *chosen = c->chosen;
    bool is_as_fine = s->kind > chosen->kind && s->advances * 4 >= chosen->advances;
    return is_as_fine || (double) s->lead >= patience(chosen, s);
}

/* A source that counts in strides from 1 completes its first stride with its first count, unless
 * that is in the middle of a run. */
static double step_before(const struct progress_source *s)
{
    return s->first >= 1 && s->first <= s->stride ? 0 : s->first - 1;
}

/*
 * Makes a source the clock. The step advances by as much as the source did since the chosen one
 * went silent. If the source's own position is about the same, that position is used.
 */
static void choose(struct progress_clock *c, struct progress_source *s)
{
    double step = step_now(c), moved = position(s) - s->lead_from;
    bool is_near = position(s) >= step && position(s) <= step + 2 * moved + s->stride;
    c->shift = !c->chosen || is_near ? 0 : step + moved - position(s);
    if (!c->chosen)
        c->before = step_before(s);
    c->chosen = s;
    struct progress_epochs *e = &c->epochs;
    if (isnan(e->start) && isfinite(e->raw) && !e->are_ended && s->first <= s->stride)
        e->start = 0;
}

static void clear_leads(struct progress_clock *c)
{
    for (size_t i = 0; i < PROGRESS_SOURCES; i++)
        c->sources[i].lead = 0;
}

/* The chosen source restarted: another run of the training. */
static void begin_anew(struct progress_clock *c)
{
    struct progress_epochs *e = &c->epochs;
    c->shift = 0;
    c->before = step_before(c->chosen);
    c->done = NAN;
    c->has_restarted = true;
    e->raw = e->latest;
    e->base = e->raw < 1 ? 0 : e->base;
    e->start = e->length = NAN;
}

static void follow(struct progress_clock *c, struct progress_source *s, enum move move)
{
    if (s == c->chosen && move == MOVE_RESTART)
        begin_anew(c);
    if (s != c->chosen) {
        /* The first advance is the same step as the chosen source's last one. */
        if (++s->lead == 1 || move == MOVE_RESTART)
            s->lead_from = position(s);
        if (!c->chosen || is_better(c, s))
            choose(c, s);
    }
    if (s == c->chosen && s->advances == 1) /* now its stride is known */
        c->before = step_before(s);
    if (s == c->chosen)
        clear_leads(c);
}

static void note_step(struct progress_clock *c, const struct progress_line *line)
{
    double epoch = isfinite(line->epoch) ? line->epoch : c->epochs.latest;
    struct progress_source *s = find_source(c, line->shape);
    bool is_new = !s;
    if (is_new) {
        s = make_room(c);
        begin_source(s, line, epoch);
    }
    s->noted = ++c->lines;
    enum move move = is_new ? MOVE_NONE : observe(s, line, epoch);
    if (move != MOVE_NONE || (is_new && c->is_trusting))
        follow(c, s, move);
}

void progress_clock_note(struct progress_clock *c, const struct progress_line *line)
{
    double step = step_now(c);
    bool is_chosen = isfinite(line->step) && c->chosen && line->shape == c->chosen->shape;
    bool has_own = c->chosen && c->chosen->has_epochs;
    if (isfinite(line->step))
        note_step(c, line);
    if (isfinite(line->epoch) && (is_chosen || !has_own))
        note_epoch(&c->epochs, line, step);
}

/* ---- the mark ---- */

static bool is_per_epoch(const struct progress_clock *c, const struct progress_source *s)
{
    const struct progress_epochs *e = &c->epochs;
    /* A fraction of an epoch comes with a count over all epochs; a bar of the epochs has a total.
     * */
    bool is_given = s->has_epochs || (isfinite(e->raw) && !(e->are_ended && isnan(e->total)));
    return s->kind != PROGRESS_GLOBAL && !s->spans_epochs && (s->epochs > 0 || is_given);
}

static double epochs_done(const struct progress_clock *c)
{
    double reported = c->epochs.raw - c->epochs.base;
    double counted = c->chosen && c->chosen->epochs > 0 ? (double) c->chosen->epochs : NAN;
    return fmax(c->done, fmax(reported, counted));
}

/* Steps the program says it will make, if the count is of one epoch. */
static double total_of_epochs(const struct progress_clock *c, double done)
{
    const struct progress_epochs *e = &c->epochs;
    const struct progress_source *s = c->chosen;
    /* "Epoch 0/9" may mean ten epochs. The count may still be of the previous epoch. */
    double all = e->total + (e->base < 1 && !e->are_ended && e->raw >= e->total);
    double begun = c->shift + s->offset;
    if (isfinite(s->epoch))
        done = s->epoch - e->base;
    return all > done ? begun + (all - done) * s->total : NAN;
}

static void mark_steps(const struct progress_clock *c, struct progress_mark *ret)
{
    const struct progress_source *s = c->chosen;
    ret->step = step_now(c);
    ret->made = ret->step - c->before;
    ret->is_each = s->advances > 0 && s->widest <= 1;
    if (is_per_epoch(c, s)) {
        ret->epoch_length = isfinite(s->total) ? s->total : s->length;
        ret->total = total_of_epochs(c, ret->epoch);
    } else {
        ret->epoch_length = c->epochs.length;
        ret->total = c->shift + s->offset + s->total;
    }
}

bool progress_clock_mark(struct progress_clock *c, struct progress_mark *ret)
{
    if (!c->chosen && c->epochs.advances == 0)
        return false;
    c->done = epochs_done(c);
    *ret = (struct progress_mark){
        .step = NAN,
        .made = NAN,
        .epoch = c->done,
        .epoch_length = NAN,
        .total = NAN,
        .restarted = c->has_restarted,
    };
    if (c->chosen)
        mark_steps(c, ret);
    c->has_restarted = false;
    return true;
}

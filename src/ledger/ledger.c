/* ledger/ledger.c: from the evidence of one window to its parts, and to a judgement. */
#include "ledger/ledger.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A native pool fills and stops, so growth that censuses do not explain has to last this many
 * horizons. */
#define PATIENT_HORIZONS 3

const char *fate_name(enum fate fate)
{
    static const char *const names[] = {
        [FATE_ENDLESS] = "endless",
        [FATE_ENDS] = "ends",
        [FATE_KEPT_FREE] = "kept free",
        [FATE_UNKNOWN] = "unknown",
    };
    return names[fate];
}

static double positive(double value)
{
    return value > 0 ? value : 0;
}

static struct interval clamp(struct interval x, double most)
{
    return (struct interval){fmin(positive(x.low), most), fmin(positive(x.high), most)};
}

/* ---- parts ---- */

static void add(struct ledger *l, struct ledger_part part)
{
    if (l->count < LEDGER_PARTS - 1 && part.bytes.high > 0)
        l->parts[l->count++] = part;
}

/* A holder without a bound counts as endless only once the growth has outlasted the horizon. */
static enum fate fate_of(const struct ledger_holder *h, const struct ledger_evidence *e)
{
    if (!isnan(h->missing))
        return FATE_ENDS;
    return e->engine == ENGINE_LASTING && h->is_held ? FATE_ENDLESS : FATE_UNKNOWN;
}

static struct interval to_come_of(const struct ledger_holder *h)
{
    double missing = isnan(h->missing) ? 0 : positive(h->missing);
    return (struct interval){missing * h->each.low, missing > 0 ? missing * h->each.high : 0};
}

static void add_holder(struct ledger *l, const struct ledger_evidence *e,
                       const struct ledger_holder *h)
{
    add(l, (struct ledger_part){
               .kind = LEDGER_HOLDER,
               .fate = fate_of(h, e),
               .bytes = clamp((struct interval){h->gained * h->each.low, h->gained * h->each.high},
                              l->total),
               .to_come = to_come_of(h),
               .missing = h->missing / h->gained,
               .source = h->source,
               .is_tally = h->is_tally,
           });
}

static enum fate fate_of_site(const struct ledger_site *s, const struct ledger_evidence *e)
{
    bool is_patient = e->engine == ENGINE_LASTING && e->horizons >= PATIENT_HORIZONS;
    return s->has_stopped ? FATE_ENDS : is_patient ? FATE_ENDLESS : FATE_UNKNOWN;
}

/* Holders may keep what a site allocated: only what they cannot have is the site's part. */
static void add_site(struct ledger *l, const struct ledger_evidence *e, const struct ledger_site *s)
{
    add(l, (struct ledger_part){
               .kind = LEDGER_SITE,
               .fate = fate_of_site(s, e),
               .bytes = clamp(s->gained, l->total),
               .missing = NAN,
               .source = s->source,
               .is_tally = true,
           });
}

/* Items that reach outside Python, as graphs do, lie among everything that a step frees. malloc can
 * neither return the gaps between them nor use them for a large piece. */
static bool pins(const struct ledger_holder *h)
{
    return isnan(h->missing) && !h->is_tally && isinf(h->each.high);
}

static bool any_pins(const struct ledger_evidence *e)
{
    for (size_t i = 0; i < e->holder_count; i++)
        if (pins(&e->holders[i]))
            return true;
    return false;
}

static bool any_pins_for_ever(const struct ledger_evidence *e)
{
    for (size_t i = 0; i < e->holder_count; i++)
        if (pins(&e->holders[i]) && fate_of(&e->holders[i], e) == FATE_ENDLESS)
            return true;
    return false;
}

/* Free bytes count only as far as they are resident: memory that was requested and never touched
 * may be among them. Memory freed in the window shows up as free too, but the process did not grow
 * by it. Beside bytes that stay in use, as many free bytes may be holes between these. */
static void add_free(struct ledger *l, const struct ledger_evidence *e, enum ledger_kind kind,
                     double gained_free, double gained_used)
{
    double free = gained_free + fmin(gained_used, 0);
    double not_resident = positive(e->asked - e->growth) + positive(gained_used);
    double low = any_pins(e) ? 0 : free - not_resident;
    if (free > 0)
        add(l, (struct ledger_part){
                   .kind = kind,
                   .fate = FATE_KEPT_FREE,
                   .bytes = clamp((struct interval){low, free}, l->total),
               });
}

/* The process grew by more than it requested: by pages it already had. Memory returned to the
 * kernel hides as much that was taken, and malloc's in-use growth may belong to a holder. */
static void add_first_touch(struct ledger *l, const struct ledger_evidence *e)
{
    double touched = e->growth - fabs(e->asked);
    if (isnan(e->asked) || isnan(e->heap_used) || !(touched > 0))
        return;
    add(l,
        (struct ledger_part){
            .kind = LEDGER_FIRST_TOUCH,
            .fate = FATE_ENDS,
            .bytes = clamp((struct interval){touched - positive(e->heap_used), touched}, l->total),
            .to_come = {0, positive(e->untouched)},
        });
}

/* By a holder: a site alone raises no alarm. */
static bool is_endless(const struct ledger_part *p)
{
    return p->fate == FATE_ENDLESS && p->kind != LEDGER_SITE;
}

/* Bytes of an endless holder are endless, whoever else has them. Tallies come last: they count
 * again what others explain. */
static int largest_first(const void *a, const void *b)
{
    const struct ledger_part *x = a, *y = b;
    if (x->is_tally != y->is_tally)
        return x->is_tally ? 1 : -1;
    if (is_endless(x) != is_endless(y))
        return is_endless(x) ? -1 : 1;
    double left = x->bytes.low + x->bytes.high, right = y->bytes.low + y->bytes.high;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* A tally adds only the bytes that no holder can have. */
static double own_of_tallies(const struct ledger *l)
{
    double held = 0;
    for (unsigned i = 0; i < l->count; i++)
        held += l->parts[i].is_tally ? 0 : l->parts[i].bytes.high;
    return positive(l->total - held);
}

/* Parts that were measured separately may overlap. So lower ends, from the most certain part on,
 * are cut to what is left, and upper ends to what the others' lower ends leave. */
static void fit(struct ledger *l)
{
    double left = l->total, lows = 0, own = own_of_tallies(l);
    for (unsigned i = 0; i < l->count; i++) {
        struct interval *x = &l->parts[i].bytes;
        x->low = fmin(x->low, l->parts[i].is_tally ? fmin(left, own) : left);
        left -= x->low;
        lows += x->low;
    }
    for (unsigned i = 0; i < l->count; i++) {
        struct interval *x = &l->parts[i].bytes;
        x->high = fmax(x->low, fmin(x->high, l->total - (lows - x->low)));
    }
}

/* An item's bytes outside Python cannot be seen, but are at most what the items so far may have
 * taken: further items are like them. */
static void bound_to_come(struct ledger *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        struct ledger_part *p = &l->parts[i];
        if (isinf(p->to_come.high))
            p->to_come.high = fmax(p->to_come.low, p->bytes.high * p->missing);
    }
}

static struct interval sum_of(const struct ledger *l, bool (*counts)(const struct ledger_part *p))
{
    struct interval sum = {0, 0};
    for (unsigned i = 0; i < l->count; i++)
        if (counts(&l->parts[i])) {
            sum.low += l->parts[i].bytes.low;
            sum.high += l->parts[i].bytes.high;
        }
    return sum;
}

static bool is_any(const struct ledger_part *p)
{
    return p->kind != LEDGER_REST;
}

static bool is_held_or_free(const struct ledger_part *p)
{
    return p->kind != LEDGER_REST && p->kind != LEDGER_SITE;
}

static bool is_excused(const struct ledger_part *p)
{
    return p->fate == FATE_ENDS || p->fate == FATE_KEPT_FREE;
}

static void add_rest(struct ledger *l, const struct ledger_evidence *e)
{
    struct interval named = sum_of(l, is_any);
    struct interval bytes = {positive(l->total - named.high), positive(l->total - named.low)};
    double unheld = l->total - sum_of(l, is_held_or_free).high;
    bool is_native =
        e->is_censused && unheld > LEDGER_MOST * l->total && e->heap_used > LEDGER_MOST * l->total;
    l->rest = !e->is_censused ? REST_NOT_EXAMINED : is_native ? REST_NATIVE : REST_NOT_FOUND;
    l->parts[l->count++] =
        (struct ledger_part){.kind = LEDGER_REST, .fate = FATE_UNKNOWN, .bytes = bytes};
}

static bool ends(const struct ledger_part *p)
{
    return p->fate == FATE_ENDS;
}

static bool is_filling(const struct ledger_part *p)
{
    return p->kind == LEDGER_HOLDER && ends(p);
}

/* Holes between bytes that end, end with them. Pages touched for the first time are not among
 * malloc's in-use bytes. */
static double holes_that_end(const struct ledger *l, const struct ledger_evidence *e)
{
    double holes = 0;
    for (unsigned i = 0; i < l->count; i++)
        if (l->parts[i].kind == LEDGER_FREE_HEAP)
            holes += l->parts[i].bytes.high - l->parts[i].bytes.low;
    return e->heap_used > 0 ? holes * fmin(sum_of(l, is_filling).low / e->heap_used, 1) : 0;
}

/* Free memory of an allocator that came into use: the process does not grow by it. */
static double filled(double free, double used)
{
    return free < 0 ? fmin(-free, positive(used)) : 0;
}

void ledger_build(const struct ledger_evidence *e, struct ledger *ret)
{
    *ret = (struct ledger){.growth = e->growth};
    ret->total = positive(e->growth) + filled(e->heap_free, e->heap_used) +
                 filled(e->arenas_free, e->arenas_used);
    for (size_t i = 0; i < e->holder_count && i < LEDGER_PARTS - 4; i++)
        add_holder(ret, e, &e->holders[i]);
    for (size_t i = 0; i < e->site_count && ret->count < LEDGER_PARTS - 4; i++)
        add_site(ret, e, &e->sites[i]);
    add_free(ret, e, LEDGER_FREE_HEAP, e->heap_free, e->heap_used);
    add_free(ret, e, LEDGER_FREE_ARENAS, e->arenas_free, e->arenas_used);
    add_first_touch(ret, e);
    qsort(ret->parts, ret->count, sizeof(ret->parts[0]), largest_first);
    fit(ret);
    bound_to_come(ret);
    add_rest(ret, e);
    struct interval excused = sum_of(ret, is_excused);
    excused.low += holes_that_end(ret, e);
    ret->endless.low = fmax(positive(ret->total - excused.high), sum_of(ret, is_endless).low);
    ret->endless.high = fmax(ret->endless.low, positive(ret->total - excused.low));
    for (unsigned i = 0; i < ret->count; i++) {
        ret->to_come.low += ret->parts[i].to_come.low;
        ret->to_come.high += ret->parts[i].to_come.high;
    }
}

/* ---- the rule ---- */

static size_t widest_of(const struct ledger *l)
{
    size_t widest = SIZE_MAX;
    double most = 0;
    for (unsigned i = 0; i < l->count; i++) {
        double width = l->parts[i].bytes.high - l->parts[i].bytes.low;
        if (width > most) {
            most = width;
            widest = i;
        }
    }
    return widest;
}

static void decide(struct ledger_judgement *j, enum verdict verdict, enum ledger_rule rule,
                   double value, double bound)
{
    j->verdict = verdict;
    j->rule = rule;
    j->value = value;
    j->bound = bound;
}

/* Nearly all of the growth ends or is free; what is still to come has to fit. */
static void excuse(const struct ledger *l, const struct ledger_evidence *e, double bound,
                   struct ledger_judgement *j)
{
    double full = e->level + l->to_come.high;
    enum ledger_rule rule = l->endless.high < LEDGER_PART * l->total ? RULE_EXPLAINED : RULE_SMALL;
    bool fits = !(e->limit > 0) || full < e->limit;
    decide(j, fits ? VERDICT_NO_LEAK : VERDICT_INCONCLUSIVE, fits ? rule : RULE_DOES_NOT_FIT,
           fits ? l->endless.high : full, fits ? bound : e->limit);
}

/* Endless growth with a named holder is certainly enough, or may be most of the growth: then it is
 * the cause until another one explains more. */
static bool is_named(const struct ledger *l, double least)
{
    struct interval named = sum_of(l, is_endless);
    return named.low > least || named.high >= LEDGER_MOST * l->endless.low;
}

/* Endless growth where free memory may be holes between items that are kept for ever: each item
 * makes more holes, whatever its own size. */
static double pinned_of(const struct ledger *l, const struct ledger_evidence *e)
{
    double kept = l->total - sum_of(l, ends).high;
    bool may_be_most = sum_of(l, is_endless).high >= LEDGER_MOST * kept;
    return any_pins_for_ever(e) && may_be_most ? kept : 0;
}

/* Without a census the engine alone decides, as it does for bare series. */
static void judge_unnamed(const struct ledger_evidence *e, struct ledger_judgement *j)
{
    double required = e->has_census ? PATIENT_HORIZONS : 0;
    if (e->rise < e->unnamed)
        decide(j, VERDICT_INCONCLUSIVE, RULE_LITTLE, e->rise, e->unnamed);
    else if (e->horizons < required)
        decide(j, VERDICT_INCONCLUSIVE, RULE_TOO_SHORT, e->horizons, required);
    else
        decide(j, VERDICT_LEAK, RULE_LASTING, e->horizons, required);
}

static bool is_kept_free(const struct ledger_part *p)
{
    return p->fate == FATE_KEPT_FREE;
}

static enum ledger_kind excuse_of(const struct ledger *l)
{
    enum ledger_kind largest = LEDGER_REST;
    double most = 0;
    for (unsigned i = 0; i < l->count; i++) {
        const struct ledger_part *p = &l->parts[i];
        double bytes = is_excused(p) ? p->bytes.low + p->bytes.high : 0;
        largest = bytes > most ? p->kind : largest;
        most = fmax(most, bytes);
    }
    return largest;
}

void ledger_judge(const struct ledger *l, const struct ledger_evidence *e,
                  struct ledger_judgement *ret)
{
    /* Free memory may be the holes of a leak, so it does not make the leak small. */
    struct interval free = sum_of(l, is_kept_free);
    double least = fmax(e->resolution, LEDGER_SMALL * (l->total - free.high)),
           most = LEDGER_MOST * (l->total - free.low), pinned = pinned_of(l, e),
           least_pinned = fmax(e->resolution, LEDGER_SMALL * l->total);
    bool is_open = e->engine == ENGINE_OPEN;
    /* Open growth is no less open for being small. */
    double excusable =
        is_open ? LEDGER_PART * l->total : fmax(e->resolution, LEDGER_PART * l->total);
    *ret = (struct ledger_judgement){.widest = widest_of(l), .excuse = excuse_of(l)};
    if (e->engine == ENGINE_NO_GROWTH)
        decide(ret, VERDICT_NO_LEAK, RULE_NO_GROWTH, l->growth, e->resolution);
    else if (is_open && e->horizons < 1)
        decide(ret, VERDICT_INCONCLUSIVE, RULE_TOO_SHORT, e->horizons, 1);
    else if (!is_open && l->endless.low > least && is_named(l, least))
        decide(ret, VERDICT_LEAK, RULE_ENDLESS, l->endless.low, least);
    else if (!is_open && pinned > least_pinned)
        decide(ret, VERDICT_LEAK, RULE_PINNED, pinned, least_pinned);
    else if (l->endless.high < excusable)
        excuse(l, e, excusable, ret);
    else if (is_open)
        decide(ret, VERDICT_INCONCLUSIVE, RULE_OPEN, l->endless.high, excusable);
    else if (!(l->endless.low > least))
        decide(ret, VERDICT_INCONCLUSIVE, RULE_TOO_WIDE, l->endless.low, least);
    else if (e->has_census && l->endless.low < most) /* most of it ends */
        decide(ret, VERDICT_INCONCLUSIVE, RULE_TOO_WIDE, l->endless.low, most);
    else
        judge_unnamed(e, ret);
}

struct ledger_judgement ledger_excuse(enum ledger_kind kind)
{
    return (struct ledger_judgement){
        .verdict = VERDICT_NO_LEAK,
        .rule = RULE_EXPLAINED,
        .widest = SIZE_MAX,
        .excuse = kind,
    };
}

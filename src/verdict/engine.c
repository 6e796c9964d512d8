/* verdict/engine.c: samples into blocks, epochs and valleys; life cycle. */
#include "verdict/engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A gap is longer than this many usual distances between samples. */
#define USUAL_SPACINGS 3.0

/* ---- life cycle ---- */

static void start_run(struct engine *e)
{
    for (int i = 0; i < SOURCE_COUNT; i++)
        pyramid_clear(&e->pyramids[i]);
    history_clear(&e->history);
    e->block.index = e->epoch.index = NAN;
    e->zigzag.top = -INFINITY;
    e->zigzag.falling = true;
    e->zigzag.has_valley = false;
    e->samples = 0;
    e->first_at = e->last_at = NAN;
    e->min = INFINITY;
    e->max = -INFINITY;
    e->quantum = 0;
    e->before = NAN;
    e->changes = 0;
    e->monotone = true;
    e->grain = GRAIN_2MB;
    e->suspect_seen_at = e->stopped_at = NAN;
    e->candidate_at = e->candidate_until = NAN;
    e->alarm.set = e->fading = false;
    e->fade_recheck = 0;
    e->stairs_checked_at = -INFINITY;
}

static double default_horizon(const struct engine *e)
{
    double least = e->options.clock == CLOCK_STEP ? DEFAULT_HORIZON_STEPS : DEFAULT_HORIZON_SECONDS;
    return fmax(e->epoch_length, least);
}

int engine_new(const struct engine_options *options, struct engine **ret)
{
    const double given[] = {options->epoch_length, options->horizon, options->plan, options->limit,
                            options->rounding};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (!(given[i] >= 0 && given[i] <= ENGINE_MAX_NUMBER))
            return -EINVAL;
    struct engine *e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->options = *options;
    e->epoch_length = options->epoch_length;
    e->epoch_known = options->epoch_length > 0;
    e->horizon = options->horizon > 0 ? options->horizon : default_horizon(e);
    pyramid_init(&e->pyramids[SOURCE_BLOCKS], BLOCK_LEVELS);
    pyramid_init(&e->pyramids[SOURCE_EPOCHS], EPOCH_LEVELS);
    pyramid_init(&e->pyramids[SOURCE_VALLEYS], VALLEY_LEVELS);
    history_init(&e->history);
    e->suspect_at = e->alarm_at = e->last_mark_at = NAN;
    e->total_min = INFINITY;
    e->total_max = -INFINITY;
    start_run(e);
    *ret = e;
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    for (int i = 0; i < SOURCE_COUNT; i++)
        pyramid_release(&e->pyramids[i]);
    history_release(&e->history);
    free(e);
    return NULL;
}

void engine_restart(struct engine *e)
{
    e->restarts++;
    if (e->alarm.set)
        e->previous = e->alarm;
    start_run(e);
}

size_t engine_bytes(const struct engine *e)
{
    size_t bytes = sizeof *e + e->history.capacity * sizeof(struct history_block);
    for (int i = 0; i < SOURCE_COUNT; i++)
        bytes += pyramid_bytes(&e->pyramids[i]);
    return bytes;
}

const struct history *engine_history(const struct engine *e)
{
    return &e->history;
}

/* ---- samples ---- */

/* fmin() and fmax() are calls, because of NAN; no value here is NAN. */
static inline double lower(double a, double b)
{
    return a < b ? a : b;
}

static inline double higher(double a, double b)
{
    return a > b ? a : b;
}

static int add_block(struct engine *e, enum source source, struct block b)
{
    unsigned completed;
    int r = pyramid_add(&e->pyramids[source], b, &completed);
    for (unsigned level = 0; r == 0 && level < completed; level++)
        checkpoint(e, source, level);
    return r;
}

static struct block close_block(const struct open_block *b)
{
    double n = (double) b->count;
    return (struct block){b->at_sum / n, b->value_sum / n, b->min};
}

static void open_block(struct open_block *b, double index, double at, double value, bool whole)
{
    *b = (struct open_block){index, at, value, value, 1, whole};
}

static void extend_block(struct open_block *b, double at, double value)
{
    b->at_sum += at;
    b->value_sum += value;
    b->min = lower(b->min, value);
    b->count++;
}

static bool is_number(double x)
{
    return fabs(x) <= ENGINE_MAX_NUMBER;
}

/* Rare samples are not gaps: a gap is longer than a horizon and longer than usual. */
static bool is_gap(const struct engine *e, double at)
{
    double gap = at - e->last_at;
    return gap > e->horizon &&
           gap * (double) (e->samples - 1) > USUAL_SPACINGS * (e->last_at - e->first_at);
}

static int push_block(struct engine *e, double at, double value, bool after_gap)
{
    double index = floor((at - e->first_at) / (e->horizon / BLOCKS_PER_HORIZON));
    if (index == e->block.index) {
        extend_block(&e->block, at, value);
        return 0;
    }
    int r = isnan(e->block.index) ? 0 : add_block(e, SOURCE_BLOCKS, close_block(&e->block));
    if (after_gap)
        pyramid_cut(&e->pyramids[SOURCE_BLOCKS]);
    open_block(&e->block, index, at, value, true);
    return r;
}

static double epoch_index(const struct engine *e, double at)
{
    if (e->options.epoch_length > 0)
        return floor((at - 1e-9) / e->epoch_length);
    return (double) e->epoch_marks;
}

/* Whole epochs, for series that ramp within each epoch. The run may have joined the first late. */
static int push_epoch(struct engine *e, double at, double value)
{
    if (!e->epoch_known)
        return 0;
    double index = epoch_index(e, at);
    if (index == e->epoch.index) {
        extend_block(&e->epoch, at, value);
        return 0;
    }
    bool first = isnan(e->epoch.index);
    int r = 0;
    if (!first && e->epoch.count >= 2 && e->epoch.whole)
        r = add_block(e, SOURCE_EPOCHS, close_block(&e->epoch));
    bool whole = !first || at <= (index + 0.2) * e->epoch_length;
    open_block(&e->epoch, index, at, value, whole);
    return r;
}

/* Valleys less than a base block apart are one: the lowest of them. */
static int add_valley(struct engine *e)
{
    struct block *open = &e->zigzag.valley;
    double width = e->horizon / BLOCKS_PER_HORIZON;
    if (e->zigzag.has_valley && e->zigzag.low_at - open->at < width) {
        open->min = open->mean = lower(open->min, e->zigzag.low);
        return 0;
    }
    int r = e->zigzag.has_valley ? add_block(e, SOURCE_VALLEYS, *open) : 0;
    *open = (struct block){e->zigzag.low_at, e->zigzag.low, e->zigzag.low};
    e->zigzag.has_valley = true;
    return r;
}

/* A valley counts once the series has fallen by a quarter of its range and risen again. */
static int push_valley(struct engine *e, double at, double value)
{
    double swing = 0.25 * (e->max - e->min);
    if (e->zigzag.falling) {
        e->zigzag.top = higher(value, e->zigzag.top);
        if (swing > 0 && value < e->zigzag.top - swing) {
            e->zigzag.falling = false;
            e->zigzag.low = value;
            e->zigzag.low_at = at;
        }
    } else if (value <= e->zigzag.low) {
        e->zigzag.low = value;
        e->zigzag.low_at = at;
    } else if (value > e->zigzag.low + 0.2 * swing) {
        e->zigzag.falling = true;
        e->zigzag.top = value;
        return add_valley(e);
    }
    return 0;
}

/* Values read from text in MB with six decimals are off by up to a byte. */
static bool is_multiple(double value, double unit)
{
    return fabs(value - unit * round(value / unit)) <= 1;
}

static void note_grain(struct engine *e, double value)
{
    static const double units[] = {[GRAIN_2MB] = 2097152, [GRAIN_MB] = 1048576, [GRAIN_KB] = 1024};
    while (e->grain != GRAIN_EXACT && !is_multiple(value, units[e->grain]))
        e->grain++;
}

/*
 * The kernel counts pages, prints KB, and its counters creep on their own: 1 MB. An allocator
 * counts 512-byte blocks to the byte. Whole odd MBs are rounded text; steps of 2 MB are a
 * device's.
 */
double engine_resolution(const struct engine *e)
{
    if (e->options.resolution >= 0)
        return e->options.resolution;
    return e->options.unit == SERIES_BYTES && e->grain == GRAIN_KB ? 1048576 : 0;
}

static void note_difference(struct engine *e, double difference)
{
    if (difference > 0 && (e->quantum == 0 || difference < e->quantum))
        e->quantum = difference;
}

/* A spike that ends a little above its start tells more by that difference than by its flanks. */
static void note_change(struct engine *e, double value)
{
    double change = value - e->last_value;
    if (change == 0)
        return;
    if (change < 0)
        e->monotone = false;
    e->changes++;
    note_difference(e, fabs(change));
    note_difference(e, fabs(value - e->before));
    e->before = e->last_value;
}

static void note_sample(struct engine *e, double at, double seconds, double value)
{
    if (e->samples == 0) {
        e->first_at = at;
        e->first_seconds = seconds;
        e->first_value = value;
        e->quantum = e->options.rounding;
    } else {
        note_change(e, value);
    }
    if (e->grain != GRAIN_EXACT)
        note_grain(e, value);
    e->recent[e->samples % RECENT] = value;
    e->samples++;
    e->total++;
    e->min = lower(e->min, value);
    e->max = higher(e->max, value);
    e->total_min = lower(e->total_min, value);
    e->total_max = higher(e->total_max, value);
    e->total_sum += value;
    e->last_at = at;
    e->last_seconds = seconds;
    e->last_value = value;
}

int engine_push(struct engine *e, double step, double seconds, double value)
{
    bool by_step = e->options.clock == CLOCK_STEP;
    double at = by_step ? step : seconds, other = by_step ? seconds : step;
    bool valid = is_number(at) && is_number(value) && (is_number(other) || isnan(other));
    if (!valid || at < e->last_at) {
        e->refused++;
        return valid ? -ERANGE : -EINVAL;
    }
    int r = history_push(&e->history, at, seconds, value);
    if (r < 0)
        return r;
    bool after_gap = is_gap(e, at);
    note_sample(e, at, seconds, value);
    r = push_block(e, at, value, after_gap);
    if (r == 0)
        r = push_valley(e, at, value);
    if (r == 0)
        r = push_epoch(e, at, value);
    return r;
}

/* Where the epoch that ends at `at` began; a resumed job did not begin at 0. */
static double epoch_begin(const struct engine *e, double at)
{
    if (!isnan(e->last_mark_at))
        return e->last_mark_at;
    return e->first_at <= at / 2 ? 0 : e->first_at;
}

void engine_note_peak(struct engine *e, double value, unsigned activity)
{
    if (!is_number(value) || e->samples == 0)
        return;
    history_note_peak(&e->history, value, activity);
    e->total_max = higher(e->total_max, value);
}

void engine_share_budget(struct engine *e, unsigned job_series)
{
    e->options.job_series = job_series;
}

bool engine_leaks(const struct engine *e)
{
    return e->alarm.set;
}

void engine_set_bounds(struct engine *e, double plan, double limit)
{
    e->options.plan = plan;
    e->options.limit = limit;
}

void engine_set_resolution(struct engine *e, double resolution)
{
    e->options.resolution = resolution;
}

static void know_epoch(struct engine *e, double length)
{
    e->epoch_length = length;
    e->epoch_known = true;
    if (e->options.horizon == 0)
        e->horizon = higher(e->horizon, default_horizon(e));
}

void engine_expect_epoch(struct engine *e, double length)
{
    if (length > 0 && length <= ENGINE_MAX_NUMBER && !e->epoch_known)
        know_epoch(e, length);
}

void engine_epoch_mark(struct engine *e, double at)
{
    if (!is_number(at))
        return;
    e->epoch_marks++;
    double length = at - epoch_begin(e, at);
    e->last_mark_at = at;
    if (e->options.epoch_length > 0 || !(length > 0))
        return;
    know_epoch(e, length);
}

/* verdict/tradeoff.c: what each setting changes, and whether it is real. */
#include "stat/stat.h"
#include "verdict/verdict.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A setting that frees this share of what the best one frees is as good. */
#define AS_GOOD 0.9

static const struct {
    const char *key, *title;
    const char *kind; /* of the counter, NULL: time */
} measures[TRADEOFF_MEASURES] = {
    [TRADEOFF_FLOOR] = {"host_floor", "floor, host memory", "host.anon"},
    [TRADEOFF_PEAK] = {"host_peak", "peak, host memory", "host.anon"},
    [TRADEOFF_GPU_FLOOR] = {"gpu_floor", "floor, torch on the GPU", "torch.allocated"},
    [TRADEOFF_GPU_PEAK] = {"gpu_peak", "peak, torch on the GPU", "torch.peak"},
    [TRADEOFF_RESERVED] = {"gpu_reserved", "most reserved by torch", "torch.reserved"},
    [TRADEOFF_STEP_SECONDS] = {"step_seconds", "step time", NULL},
    [TRADEOFF_CLEANUP_SHARE] = {"cleanup_share", "cleanup by its own clock", NULL},
};

const char *tradeoff_measure_key(enum tradeoff_measure m)
{
    return measures[m].key;
}

const char *tradeoff_measure_title(enum tradeoff_measure m)
{
    return measures[m].title;
}

const char *tradeoff_finding_name(enum tradeoff_finding finding)
{
    static const char *const names[] = {
        [FINDING_TOO_FEW] = "not enough repeats",
        [FINDING_NOISE] = "within noise",
        [FINDING_REAL] = "real",
    };
    return finding == FINDING_ABSENT ? NULL : names[finding];
}

static void add_value(struct buf *out, enum tradeoff_dimension dimension, int value)
{
    switch (dimension) {
    case TRADEOFF_EVERY:
        buf_addf(out, "every %d", value);
        break;
    case TRADEOFF_SET_TO_NONE:
        buf_addf(out, "set_to_none %s", value ? "yes" : "no");
        break;
    case TRADEOFF_WORKERS:
        buf_addf(out, "%d worker%s", value, value == 1 ? "" : "s");
        break;
    case TRADEOFF_DIMENSIONS:
        break;
    }
}

void tradeoff_add_name(struct buf *out, const struct tradeoff_setting *s)
{
    bool any = false;
    for (enum tradeoff_dimension d = 0; d < TRADEOFF_DIMENSIONS; d++) {
        if (s->said[d] == TRADEOFF_UNSAID)
            continue;
        buf_adds(out, any ? ", " : "");
        add_value(out, d, s->said[d]);
        any = true;
    }
    if (!any)
        buf_adds(out, "as it is");
}

/* ---- one measure of one setting ---- */

/* Mean and sum of squares about it, one value at a time. */
struct moments {
    unsigned count;
    double mean, squares;
};

static void moments_add(struct moments *m, double value)
{
    double before = value - m->mean;
    m->count++;
    m->mean += before / m->count;
    m->squares += before * (value - m->mean);
}

/* The job as it is in the same round; NAN: not measured. */
static double as_it_is(const struct tradeoff *t, unsigned round, enum tradeoff_measure m)
{
    for (size_t i = 0; i < t->run_count; i++)
        if (t->runs[i].setting == 0 && t->runs[i].round == round)
            return t->runs[i].values[m];
    return NAN;
}

/* How uncertain a mean of differences by round is. */
struct spread {
    double error; /* standard error */
    unsigned freedom;
};

/* A difference that waits to be tested. */
struct test {
    struct tradeoff_cell *cell;
    enum tradeoff_measure measure;
    double mean;               /* of the differences by round */
    struct spread own, all;    /* by its own rounds; by those of all settings */
    double own_chance, chance; /* to see as much by chance; by both, see chance_of() */
};

/* A busy machine makes every step longer by the same factor: times are compared by their ratio. */
static bool by_ratio(enum tradeoff_measure m)
{
    return m == TRADEOFF_STEP_SECONDS;
}

/* Differences by round: of times, of their logarithms. */
static double difference_of(double value, double other, enum tradeoff_measure m)
{
    return by_ratio(m) ? log(value / other) : value - other;
}

/* The same in the unit of the measure; `before`: what the job as it is takes. */
static double in_units(double difference, double before, enum tradeoff_measure m)
{
    return by_ratio(m) ? before * expm1(difference) : difference;
}

/* *ret_differences: of all rounds that have both. */
static void fill_cell(const struct tradeoff *t, size_t setting, enum tradeoff_measure m,
                      struct tradeoff_cell *ret, struct moments *ret_differences)
{
    struct moments all = {0}, differences = {0}, before = {0};
    *ret = (struct tradeoff_cell){.low = NAN, .high = NAN};
    for (size_t i = 0; i < t->run_count; i++) {
        double value = t->runs[i].values[m], other = as_it_is(t, t->runs[i].round, m);
        if (t->runs[i].setting != setting || isnan(value))
            continue;
        moments_add(&all, value);
        ret->low = fmin(ret->low, value);
        ret->high = fmax(ret->high, value);
        if (setting == 0 || isnan(other))
            continue;
        moments_add(&differences, difference_of(value, other, m));
        moments_add(&before, other);
    }
    bool any = differences.count > 0;
    ret->runs = all.count;
    ret->mean = all.count > 0 ? all.mean : NAN;
    ret->pairs = differences.count;
    ret->before = any ? before.mean : NAN;
    ret->difference = any ? in_units(differences.mean, before.mean, m) : NAN;
    ret->difference_low = ret->difference_high = NAN;
    ret->share = any && before.mean > 0 ? ret->difference / before.mean : NAN;
    ret->finding = any ? FINDING_TOO_FEW : FINDING_ABSENT;
    *ret_differences = differences;
}

/* ---- the spread ---- */

static struct spread own_spread(const struct moments *m)
{
    return (struct spread){sqrt(m->squares / (m->count - 1) / m->count), m->count - 1};
}

/*
 * With three rounds the spread of one setting is hardly known, but that of all settings together
 * is. They share the runs of the job as it is, so two of their variances have a correlation of
 * 1/4: many settings tell as much as four independent ones.
 */
#define SHARED 0.25

static struct spread spread_of_all(const struct moments *differences, size_t count)
{
    double squares = 0;
    unsigned settings = 0, freedom = 0, rounds = 0;
    for (size_t s = 0; s < count; s++) {
        if (differences[s].count < TRADEOFF_LEAST_ROUNDS)
            continue;
        squares += differences[s].squares;
        freedom += differences[s].count - 1;
        rounds += differences[s].count;
        settings++;
    }
    if (settings == 0)
        return (struct spread){0};
    double apart = SHARED + (1 - SHARED) / settings;
    return (struct spread){
        .error = sqrt(squares / freedom * settings / rounds),
        .freedom = (unsigned) ((double) freedom / settings / apart),
    };
}

static double chance_by(double mean, const struct spread *s)
{
    return student_chance(mean == 0 ? 0 : fabs(mean) / s->error, s->freedom);
}

/* The smaller of two chances, doubled because there are two. */
static double chance_of(double mean, const struct spread *own, const struct spread *all)
{
    return fmin(2 * fmin(chance_by(mean, own), chance_by(mean, all)), 1);
}

static struct test test_of(struct tradeoff_cell *cell, const struct moments *differences,
                           const struct spread *all, enum tradeoff_measure m)
{
    struct spread own = own_spread(differences);
    return (struct test){
        .cell = cell,
        .measure = m,
        .mean = differences->mean,
        .own = own,
        .all = *all,
        .own_chance = chance_by(differences->mean, &own),
        .chance = chance_of(differences->mean, &own, all),
    };
}

static double margin_by(double chance, const struct spread *s)
{
    return student_quantile(chance, s->freedom) * s->error;
}

/* The margin on either side that the test allows, at this chance for it alone. */
static double margin_of(const struct test *t, double chance)
{
    double clearer = fmin(margin_by(chance / 2, &t->own), margin_by(chance / 2, &t->all));
    return fmax(clearer, margin_by(TRADEOFF_CHANCE, &t->own));
}

/* ---- all of them together ---- */

/* The smallest difference the counter can show. */
static double least_difference(enum tradeoff_measure m)
{
    return measures[m].kind ? series_kind_resolution(measures[m].kind) : 0;
}

static int by_chance(const void *a, const void *b)
{
    double x = ((const struct test *) a)->chance, y = ((const struct test *) b)->chance;
    return (x > y) - (x < y);
}

/*
 * Holm: the clearest of n differences has to be as unlikely as chance / n, the next as chance /
 * (n - 1), and so on; at the first that is not, all that are left fail. A setting that scatters
 * more than the others has to be clear by its own rounds as well.
 */
static void judge(struct test *tests, size_t count)
{
    qsort(tests, count, sizeof(*tests), by_chance);
    size_t real = 0;
    while (real < count && tests[real].chance < TRADEOFF_CHANCE / (double) (count - real))
        real++;
    for (size_t i = 0; i < count; i++) {
        struct tradeoff_cell *c = tests[i].cell;
        size_t left = count - (i < real ? i : real);
        double margin = margin_of(&tests[i], TRADEOFF_CHANCE / (double) left);
        enum tradeoff_measure m = tests[i].measure;
        c->difference_low = in_units(tests[i].mean - margin, c->before, m);
        c->difference_high = in_units(tests[i].mean + margin, c->before, m);
        bool large = fabs(c->difference) >= least_difference(m);
        bool clear = i < real && tests[i].own_chance < TRADEOFF_CHANCE;
        c->finding = clear && large ? FINDING_REAL : FINDING_NOISE;
    }
}

/* Fills the cells of one measure; returns how many of them can be tested. */
static size_t tests_of(const struct tradeoff *t, enum tradeoff_measure m,
                       struct tradeoff_row *ret_rows, struct test *ret_tests)
{
    struct moments differences[TRADEOFF_MAX_SETTINGS];
    for (size_t s = 0; s < t->setting_count; s++)
        fill_cell(t, s, m, &ret_rows[s].cells[m], &differences[s]);
    struct spread all = spread_of_all(differences, t->setting_count);
    size_t count = 0;
    for (size_t s = 0; s < t->setting_count; s++)
        if (differences[s].count >= TRADEOFF_LEAST_ROUNDS)
            ret_tests[count++] = test_of(&ret_rows[s].cells[m], &differences[s], &all, m);
    return count;
}

/* Of the measures from `first` up to before `end`. */
static void compare_measures(const struct tradeoff *t, enum tradeoff_measure first,
                             enum tradeoff_measure end, struct tradeoff_row *ret_rows)
{
    struct test tests[TRADEOFF_MAX_SETTINGS * TRADEOFF_MEASURES];
    size_t count = 0;
    for (enum tradeoff_measure m = first; m < end; m++)
        count += tests_of(t, m, ret_rows, tests + count);
    judge(tests, count);
}

void tradeoff_compare(const struct tradeoff *t, struct tradeoff_row *ret_rows)
{
    assert(t->setting_count > 0 && t->setting_count <= TRADEOFF_MAX_SETTINGS);
    compare_measures(t, 0, TRADEOFF_STEP_SECONDS, ret_rows);
    compare_measures(t, TRADEOFF_STEP_SECONDS, TRADEOFF_MEASURES, ret_rows);
}

/* ---- the best ---- */

/* Bytes the setting frees, all real changes together; below 0: it adds some. */
static double freed(const struct tradeoff_row *row)
{
    double bytes = 0;
    for (enum tradeoff_measure m = 0; m < TRADEOFF_STEP_SECONDS; m++)
        if (row->cells[m].finding == FINDING_REAL)
            bytes -= row->cells[m].difference;
    return bytes;
}

static bool is_faster(const struct tradeoff_row *row)
{
    const struct tradeoff_cell *time = &row->cells[TRADEOFF_STEP_SECONDS];
    return time->finding == FINDING_REAL && time->difference < 0;
}

static bool only_says(const struct tradeoff_setting *s, enum tradeoff_dimension dimension)
{
    for (enum tradeoff_dimension d = 0; d < TRADEOFF_DIMENSIONS; d++)
        if ((s->said[d] != TRADEOFF_UNSAID) != (d == dimension))
            return false;
    return true;
}

size_t tradeoff_best(const struct tradeoff *t, const struct tradeoff_row *rows,
                     enum tradeoff_dimension dimension)
{
    double most = 0;
    for (size_t s = 1; s < t->setting_count; s++)
        if (only_says(&t->settings[s], dimension))
            most = fmax(most, freed(&rows[s]));
    size_t best = 0;
    double best_time = INFINITY;
    for (size_t s = 1; s < t->setting_count; s++) {
        double time = rows[s].cells[TRADEOFF_STEP_SECONDS].difference, bytes = freed(&rows[s]);
        bool good = most > 0 ? bytes >= AS_GOOD * most : bytes >= 0 && is_faster(&rows[s]);
        if (!only_says(&t->settings[s], dimension) || !good || !(time < best_time))
            continue;
        best = s;
        best_time = time;
    }
    return best;
}

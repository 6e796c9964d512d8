/* words/tradeoff.c: what the settings of a job change, in sentences. */
#include "words/tradeoff.h"

#include <math.h>

static const char *const places[TRADEOFF_STEP_SECONDS] = {
    [TRADEOFF_FLOOR] = "the floor",
    [TRADEOFF_PEAK] = "the peak",
    [TRADEOFF_GPU_FLOOR] = "the floor on the GPU",
    [TRADEOFF_GPU_PEAK] = "the peak on the GPU",
    [TRADEOFF_RESERVED] = "the most that torch reserves",
};

/* "Cleanup every 10 steps with num_workers=2". */
static void add_subject(struct buf *out, const struct tradeoff_setting *s)
{
    int every = s->said[TRADEOFF_EVERY], none = s->said[TRADEOFF_SET_TO_NONE];
    int workers = s->said[TRADEOFF_WORKERS];
    const char *joint = "";
    if (every == 1)
        buf_adds(out, "Cleanup every step");
    else if (every != TRADEOFF_UNSAID)
        buf_addf(out, "Cleanup every %d steps", every);
    if (every != TRADEOFF_UNSAID)
        joint = " with ";
    if (none != TRADEOFF_UNSAID) {
        buf_addf(out, "%sset_to_none=%s", joint, none ? "True" : "False");
        joint = " and ";
    }
    if (workers != TRADEOFF_UNSAID)
        buf_addf(out, "%snum_workers=%d", joint, workers);
}

static bool is_real(const struct tradeoff_cell *c)
{
    return c->finding == FINDING_REAL;
}

static bool frees(const struct tradeoff_row *row)
{
    for (enum tradeoff_measure m = 0; m < TRADEOFF_STEP_SECONDS; m++)
        if (is_real(&row->cells[m]) && row->cells[m].difference < 0)
            return true;
    return false;
}

static bool changes(const struct tradeoff_row *row)
{
    for (enum tradeoff_measure m = 0; m <= TRADEOFF_STEP_SECONDS; m++)
        if (is_real(&row->cells[m]))
            return true;
    return false;
}

static bool is_tested(const struct tradeoff_row *row)
{
    for (enum tradeoff_measure m = 0; m < TRADEOFF_MEASURES; m++)
        if (is_real(&row->cells[m]) || row->cells[m].finding == FINDING_NOISE)
            return true;
    return false;
}

/* " takes 212 MB off the floor and 30 MB off the peak": the real changes of one direction. */
static void add_memory(struct buf *out, const struct tradeoff_row *row, bool less,
                       const char **joint)
{
    const char *before = *joint;
    bool any = false;
    for (enum tradeoff_measure m = 0; m < TRADEOFF_STEP_SECONDS; m++) {
        const struct tradeoff_cell *c = &row->cells[m];
        if (!is_real(c) || (c->difference < 0) != less)
            continue;
        buf_addf(out, "%s ", any ? " and" : before);
        if (!any)
            buf_adds(out, less ? "takes " : "adds ");
        units_add_bytes(out, fabs(c->difference));
        buf_addf(out, " %s %s", less ? "off" : "to", places[m]);
        any = true;
    }
    if (any)
        *joint = ", and";
}

/* Cleanup measures its own time, so its share is known even if step times scatter more. */
static void add_time(struct buf *out, const struct tradeoff_row *row, const char *joint)
{
    const struct tradeoff_cell *time = &row->cells[TRADEOFF_STEP_SECONDS];
    double own = row->cells[TRADEOFF_CLEANUP_SHARE].mean;
    if (is_real(time)) {
        buf_addf(out, "%s %s ", joint, time->difference > 0 ? "costs" : "makes a step");
        units_add_percent(out, fabs(time->share));
        buf_adds(out, time->difference > 0 ? " of step time" : " shorter");
    } else if (time->finding == FINDING_NOISE) {
        buf_addf(out, "%s its cost in step time is within noise", joint);
        if (isfinite(own)) {
            buf_adds(out, " (cleanup itself takes ");
            units_add_percent(out, own);
            buf_addc(out, ')');
        }
    }
}

static void add_sentence(struct buf *out, const struct tradeoff_setting *setting,
                         const struct tradeoff_row *row)
{
    const char *joint = "";
    buf_adds(out, out->len > 0 ? " " : "");
    add_subject(out, setting);
    add_memory(out, row, true, &joint);
    add_memory(out, row, false, &joint);
    add_time(out, row, joint);
    buf_addc(out, '.');
}

/* The largest fall of the floor that noise may hide. */
static double hidden(const struct tradeoff *t, const struct tradeoff_row *rows)
{
    double most = NAN;
    for (size_t s = 1; s < t->setting_count; s++)
        most = fmax(most, -rows[s].cells[TRADEOFF_FLOOR].difference_low);
    return most;
}

static bool tries_cleanup(const struct tradeoff *t)
{
    for (size_t s = 1; s < t->setting_count; s++)
        if (t->settings[s].said[TRADEOFF_EVERY] != TRADEOFF_UNSAID)
            return true;
    return false;
}

static void add_nothing_freed(struct buf *out, const struct tradeoff *t,
                              const struct tradeoff_row *rows, bool all_tested)
{
    double bytes = hidden(t, rows);
    buf_adds(out, all_tested ? "No setting frees" : "No setting with enough repeats frees");
    buf_adds(out, " anything beyond the noise");
    if (bytes > 0) {
        buf_adds(out, " (the floor falls by at most ");
        units_add_bytes(out, bytes);
        buf_adds(out, ", if at all)");
    }
    buf_adds(out, all_tested && tries_cleanup(t) ? ": leave cleanup out." : ".");
}

void tradeoff_add_summary(struct buf *out, const struct tradeoff *t,
                          const struct tradeoff_row *rows)
{
    struct buf text = BUF_INIT;
    size_t tested = 0, freeing = 0;
    for (size_t s = 1; s < t->setting_count; s++) {
        tested += is_tested(&rows[s]);
        freeing += frees(&rows[s]);
    }
    if (tested == 0) {
        buf_addf(out,
                 "Not enough repeats to tell a difference from noise: at least %u of each setting "
                 "are needed.",
                 TRADEOFF_LEAST_ROUNDS);
        return;
    }
    if (freeing == 0)
        add_nothing_freed(&text, t, rows, tested == t->setting_count - 1);
    for (size_t s = 1; s < t->setting_count; s++)
        if (changes(&rows[s]))
            add_sentence(&text, &t->settings[s], &rows[s]);
    buf_adds(out, buf_text(&text));
    buf_release(&text);
}

/* report/tradeoff.c: one job with several settings: every measure for each, and which differences
 * are real. */
#include "report/json.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* ---- text ---- */

static void add_value(struct buf *out, double value, enum tradeoff_measure m)
{
    if (m < TRADEOFF_STEP_SECONDS)
        units_add_bytes(out, value);
    else if (m == TRADEOFF_STEP_SECONDS)
        units_add_short_time(out, value);
    else
        units_add_percent(out, value);
}

static void add_spread(struct buf *out, const struct tradeoff_cell *c, enum tradeoff_measure m)
{
    struct buf low = BUF_INIT, high = BUF_INIT;
    add_value(&low, c->low, m);
    add_value(&high, c->high, m);
    format_range(out, buf_text(&low), buf_text(&high), "to");
    buf_release(&low);
    buf_release(&high);
}

/* "-212 MB", "+1.3 %": differences of time are given as a share. */
static void add_difference(struct buf *out, const struct tradeoff_cell *c, enum tradeoff_measure m)
{
    if (c->finding == FINDING_ABSENT)
        return;
    struct buf text = BUF_INIT;
    if (m == TRADEOFF_STEP_SECONDS)
        units_add_percent(&text, c->share);
    else
        units_add_bytes(&text, c->difference);
    bool nothing = strncmp(buf_text(&text), "0 ", 2) == 0;
    buf_addf(out, "%s%s", c->difference > 0 && !nothing ? "+" : "", buf_text(&text));
    buf_release(&text);
}

static void add_finding(struct buf *out, const struct tradeoff_cell *c,
                        const struct report_style *style)
{
    const char *name = tradeoff_finding_name(c->finding);
    if (!name)
        return;
    bool real = c->finding == FINDING_REAL;
    format_color(out, !real ? FORMAT_DIM : c->difference < 0 ? FORMAT_GREEN : FORMAT_YELLOW, style);
    buf_adds(out, name);
    format_color(out, FORMAT_RESET, style);
}

static void add_row(struct table *t, const struct tradeoff_setting *setting,
                    const struct tradeoff_cell *c, enum tradeoff_measure m,
                    const struct report_style *style)
{
    buf_adds(&t->cell, "  ");
    tradeoff_add_name(&t->cell, setting);
    table_end_cell(t);
    if (c->runs > 0)
        add_value(&t->cell, c->mean, m);
    else
        buf_adds(&t->cell, "not measured");
    table_end_cell(t);
    if (c->runs > 1)
        add_spread(&t->cell, c, m);
    table_end_cell(t);
    add_difference(&t->cell, c, m);
    table_end_cell(t);
    add_finding(&t->cell, c, style);
    table_end_cell(t);
}

static bool is_measured(const struct report_tradeoff *r, enum tradeoff_measure m)
{
    for (size_t s = 0; s < r->tradeoff->setting_count; s++)
        if (r->rows[s].cells[m].runs > 0)
            return true;
    return false;
}

static void add_heading(struct table *t, const char *title, bool first)
{
    for (unsigned i = 0; i < t->columns && !first; i++)
        table_add(t, "");
    table_add(t, title);
    table_add(t, first ? "mean" : "");
    table_add(t, first ? "lowest to highest" : "");
    table_add(t, first ? "difference" : "");
    table_add(t, "");
}

static void add_table(struct buf *out, const struct report_tradeoff *r,
                      const struct report_style *style)
{
    struct table t = TABLE_INIT(5);
    bool first = true;
    for (enum tradeoff_measure m = 0; m < TRADEOFF_MEASURES; m++) {
        if (!is_measured(r, m))
            continue;
        add_heading(&t, tradeoff_measure_title(m), first);
        first = false;
        for (size_t s = 0; s < r->tradeoff->setting_count; s++)
            if (m != TRADEOFF_CLEANUP_SHARE || r->rows[s].cells[m].runs > 0)
                add_row(&t, &r->tradeoff->settings[s], &r->rows[s].cells[m], m, style);
    }
    if (!first)
        table_render(&t, out, 2);
}

/* "15 runs, 300 steps each, of: python train.py". */
static void add_what(struct buf *out, const struct report_tradeoff *r,
                     const struct report_style *style)
{
    struct buf text = BUF_INIT;
    size_t runs = r->tradeoff->run_count;
    buf_addf(&text, "%zu run%s", runs, runs == 1 ? "" : "s");
    if (isfinite(r->steps_low)) {
        buf_adds(&text, ", ");
        units_add_count(&text, r->steps_low, 0);
        if (r->steps_high > r->steps_low) {
            buf_adds(&text, " to ");
            units_add_count(&text, r->steps_high, 0);
        }
        buf_adds(&text, " steps each");
    }
    buf_adds(&text, ", of: ");
    utf8_add_clean(&text, r->command, style->ascii);
    buf_adds(out, "  ");
    format_wrapped(out, buf_text(&text), 2, style);
    buf_release(&text);
}

static void add_notes(struct buf *out, const struct report_tradeoff *r,
                      const struct report_style *style)
{
    if (r->note_count > 0)
        buf_addc(out, '\n');
    for (size_t i = 0; i < r->note_count; i++) {
        buf_addf(out, "  %s ", format_glyphs(style)->bullet);
        format_wrapped(out, r->notes[i], 4, style);
    }
}

void report_tradeoff(struct buf *out, const struct report_tradeoff *r,
                     const struct report_style *style)
{
    struct buf summary = BUF_INIT;
    tradeoff_add_summary(&summary, r->tradeoff, r->rows);
    format_wrapped(out, buf_text(&summary), 0, style);
    buf_release(&summary);
    buf_addc(out, '\n');
    add_what(out, r, style);
    buf_addc(out, '\n');
    add_table(out, r, style);
    add_notes(out, r, style);
}

/* ---- JSON ---- */

static void add_json_setting(struct json *j, const struct tradeoff_setting *s)
{
    struct buf name = BUF_INIT;
    tradeoff_add_name(&name, s);
    json_string(j, "name", buf_text(&name));
    buf_release(&name);
    if (s->said[TRADEOFF_EVERY] != TRADEOFF_UNSAID)
        json_integer(j, "every", s->said[TRADEOFF_EVERY]);
    if (s->said[TRADEOFF_SET_TO_NONE] != TRADEOFF_UNSAID)
        json_bool(j, "set_to_none", s->said[TRADEOFF_SET_TO_NONE] == 1);
    if (s->said[TRADEOFF_WORKERS] != TRADEOFF_UNSAID)
        json_integer(j, "workers", s->said[TRADEOFF_WORKERS]);
}

static void add_json_values(struct json *j, const struct tradeoff *t, size_t setting,
                            enum tradeoff_measure m)
{
    json_array_begin(j, "values");
    for (size_t i = 0; i < t->run_count; i++)
        if (t->runs[i].setting == setting)
            json_number(j, NULL, t->runs[i].values[m]);
    json_array_end(j);
}

static void add_json_cell(struct json *j, const struct tradeoff *t, size_t setting,
                          enum tradeoff_measure m, const struct tradeoff_cell *c)
{
    json_object_begin(j, tradeoff_measure_key(m));
    json_number(j, "mean", c->mean);
    json_number(j, "low", c->low);
    json_number(j, "high", c->high);
    add_json_values(j, t, setting, m);
    json_number(j, "difference", c->difference);
    json_number(j, "difference_low", c->difference_low);
    json_number(j, "difference_high", c->difference_high);
    json_number(j, "share", c->share);
    if (c->finding == FINDING_REAL || c->finding == FINDING_NOISE)
        json_bool(j, "real", c->finding == FINDING_REAL);
    json_object_end(j);
}

void report_tradeoff_json(struct buf *out, const struct report_tradeoff *r)
{
    const struct tradeoff *t = r->tradeoff;
    struct buf summary = BUF_INIT;
    struct json j;
    tradeoff_add_summary(&summary, t, r->rows);
    report_json_begin(&j, out);
    json_string(&j, "summary", buf_text(&summary));
    json_string(&j, "command", r->command);
    json_integer(&j, "runs", (int64_t) t->run_count);
    json_number(&j, "steps_low", r->steps_low);
    json_number(&j, "steps_high", r->steps_high);
    json_array_begin(&j, "settings");
    for (size_t s = 0; s < t->setting_count; s++) {
        json_object_begin(&j, NULL);
        add_json_setting(&j, &t->settings[s]);
        json_object_begin(&j, "measures");
        for (enum tradeoff_measure m = 0; m < TRADEOFF_MEASURES; m++)
            if (r->rows[s].cells[m].runs > 0)
                add_json_cell(&j, t, s, m, &r->rows[s].cells[m]);
        json_object_end(&j);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_array_begin(&j, "notes");
    for (size_t i = 0; i < r->note_count; i++)
        json_string(&j, NULL, r->notes[i]);
    json_array_end(&j);
    report_json_end(&j);
    buf_release(&summary);
}

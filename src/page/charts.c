/* page/charts.c: what the reports say and draw of each judged series. */
#include "page/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 30u /* of a block in a chart: position, seconds and value, about */
#define SPIKE_SHARE 0.5 /* of the typical height: a lower one is not drawn */

/* ---- texts ---- */

void opening_json(struct json *j, const char *key, const struct report_lines *lines)
{
    json_object_begin(j, key);
    json_string(j, "verdict", buf_text(&lines->verdict));
    json_string(j, "why", lines->why.len > 0 ? buf_text(&lines->why) : NULL);
    json_string(j, "next", lines->next.len > 0 ? buf_text(&lines->next) : NULL);
    json_string(j, "next_label", lines->next.len > 0 ? lines->next_label : NULL);
    json_object_end(j);
}

/* Adds the text unless it is empty, and empties it. */
static void add_text(struct json *j, const char *key, struct buf *text)
{
    if (text->len > 0)
        json_string(j, key, buf_text(text));
    buf_clear(text);
}

static void add_rate(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    bool bound = a->verdict == VERDICT_NO_LEAK && isfinite(a->rate_upper) && a->rate_upper > 0;
    if (bound)
        buf_addf(out, "%s ", format_glyphs(&page_style_plain)->most);
    if (bound || isfinite(a->rate))
        format_rate(out, bound ? a->rate_upper : a->rate, s->info);
    if (!bound && isfinite(a->rate))
        format_rate_bounds(out, a->rate, a->rate_low, a->rate_high, s->info);
}

void text_json(struct json *j, const struct report_series *s)
{
    const struct answer *a = s->answer;
    struct buf text = BUF_INIT;
    json_object_begin(j, NULL);
    headline_series(&text, s);
    add_text(j, "headline", &text);
    add_rate(&text, s);
    add_text(j, "rate", &text);
    if (isfinite(a->onset_at))
        format_position(&text, a->onset_at, s);
    add_text(j, "since", &text);
    if (isfinite(a->floor_first) && isfinite(a->floor_last))
        format_change(&text, a->floor_first, a->floor_last, s->info->unit, &page_style_plain);
    add_text(j, "floor", &text);
    details_limit(&text, s);
    add_text(j, "limit", &text);
    details_plan(&text, s);
    add_text(j, "plan", &text);
    details_needs(&text, s);
    add_text(j, "needs", &text);
    details_alarm(&text, s);
    add_text(j, "alarm", &text);
    details_spikes(&text, s);
    add_text(j, "spikes", &text);
    if (a->samples > 0)
        format_span(&text, a->first_at, a->last_at, s, &page_style_plain);
    add_text(j, "span", &text);
    json_object_end(j);
    buf_release(&text);
}

void texts_json(struct json *j, const struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    json_array_begin(j, "texts");
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *x = &v->series[i];
        if (d->shown[i])
            text_json(j, &(struct report_series){&x->info, &x->answer, &x->history});
    }
    json_array_end(j);
}

/* ---- charts ---- */

struct drawn {
    const struct report_series *s;
    const struct view *view; /* NULL: of a log */
    double floor[HISTORY_BLOCKS];
};

bool page_has_seconds(const struct history *h)
{
    for (unsigned i = 0; i < h->count; i++)
        if (isfinite(h->blocks[i].seconds))
            return true;
    return false;
}

static void add_positions(struct json *j, const struct history *h)
{
    json_array_begin(j, "at");
    for (unsigned i = 0; i < h->count; i++)
        page_json_rounded(j, NULL, h->blocks[i].at, 2);
    json_array_end(j);
    bool timed = page_has_seconds(h);
    json_array_begin(j, "seconds");
    for (unsigned i = 0; i < h->count; i++)
        page_json_rounded(j, NULL, timed ? h->blocks[i].seconds : h->blocks[i].at, 3);
    json_array_end(j);
}

static void add_floor(struct json *j, const struct drawn *d)
{
    const struct history *h = d->s->history;
    json_object_begin(j, "floor");
    add_positions(j, h);
    json_array_begin(j, "value");
    for (unsigned i = 0; i < h->count; i++)
        page_json_rounded(j, NULL, d->floor[i], d->s->info->unit == SERIES_COUNT ? 3 : 0);
    json_array_end(j);
    json_object_end(j);
}

static void add_range(struct json *j, const struct drawn *d)
{
    const struct history *h = d->s->history;
    unsigned decimals = d->s->info->unit == SERIES_COUNT ? 3 : 0;
    json_object_begin(j, "range");
    add_positions(j, h);
    json_array_begin(j, "low");
    for (unsigned i = 0; i < h->count; i++)
        page_json_rounded(j, NULL, h->blocks[i].min, decimals);
    json_array_end(j);
    json_array_begin(j, "high");
    for (unsigned i = 0; i < h->count; i++)
        page_json_rounded(j, NULL, h->blocks[i].peak, decimals);
    json_array_end(j);
    json_object_end(j);
}

static const char *activity_name(const struct view *v, unsigned activity)
{
    return v && activity > 0 && activity <= v->phase_count ? v->phases[activity - 1].name : NULL;
}

static void add_spike(struct json *j, const struct drawn *d, unsigned block)
{
    const struct history_block *b = &d->s->history->blocks[block];
    json_object_begin(j, NULL);
    page_json_rounded(j, "at", b->at, 2);
    page_json_rounded(j, "seconds", isfinite(b->seconds) ? b->seconds : b->at, 3);
    page_json_rounded(j, "value", b->peak, 0);
    json_string(j, "during", activity_name(d->view, b->activity));
    json_object_end(j);
}

/* Neighbouring blocks are one spike, drawn at its top. As many as the answer counts. */
static void add_spikes(struct json *j, const struct drawn *d)
{
    const struct history *h = d->s->history;
    const struct answer *a = d->s->answer;
    unsigned added = 0;
    json_array_begin(j, "spikes");
    for (unsigned i = 0; i < h->count && added < a->spikes.count; i++) {
        unsigned top = i, first = i;
        double least = SPIKE_SHARE * a->spikes.height;
        for (; i < h->count && h->blocks[i].peak - d->floor[i] > least; i++)
            if (h->blocks[i].peak > h->blocks[top].peak)
                top = i;
        if (i > first) {
            add_spike(j, d, top);
            added++;
        }
    }
    json_array_end(j);
}

void chart_json(struct json *j, const struct report_series *s, const struct view *v, size_t id,
                bool is_range)
{
    struct drawn d = {.s = s, .view = v};
    json_object_begin(j, NULL);
    if (id != SIZE_MAX)
        json_integer(j, "id", (int64_t) id);
    report_floor(s->history, d.floor);
    add_floor(j, &d);
    if (is_range)
        add_range(j, &d);
    add_spikes(j, &d);
    json_object_end(j);
}

/* Without a floor, for the many series that there is no room for. */
static void bare_chart_json(struct json *j, size_t id)
{
    json_object_begin(j, NULL);
    if (id != SIZE_MAX)
        json_integer(j, "id", (int64_t) id);
    json_object_end(j);
}

int page_rank(const struct view *v, size_t series)
{
    const struct answer *a = &v->series[series].answer;
    if (series == v->answer.deciding)
        return 0;
    if (a->verdict == VERDICT_LEAK)
        return 1;
    return a->suspect ? 2 : v->series[series].part == PART_BYSTANDER ? 4 : 3;
}

/* Which of the series get their chart: those that matter, as far as there is room. The caller frees
 * the list. */
static bool *choose(const struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    bool *chosen = calloc(v->count + 1, sizeof(*chosen));
    size_t used = 0;
    if (!chosen)
        base_out_of_memory();
    for (int rank = 0; rank < PAGE_RANKS; rank++)
        for (size_t i = 0; i < v->count; i++) {
            size_t need = BLOCK_BYTES * (size_t) v->series[i].history.count;
            if (!d->shown[i] || page_rank(v, i) != rank || used + need > d->limits.chart_bytes)
                continue;
            chosen[i] = true;
            used += need;
        }
    return chosen;
}

void charts_json(struct json *j, const struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    bool *chosen = choose(d);
    json_array_begin(j, "charts");
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *x = &v->series[i];
        struct report_series s = {&x->info, &x->answer, &x->history};
        if (d->shown[i] && chosen[i])
            chart_json(j, &s, v, d->ids[i], false);
        else if (d->shown[i])
            bare_chart_json(j, d->ids[i]);
    }
    json_array_end(j);
    free(chosen);
}

/* page/document.c: the document that the page draws from. */
#include "page/source.h"

#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 1
#define CURVES_LEAST ((size_t) 150 << 10) /* however large the rest is */
#define LISTS_MOST 32u                    /* of what the censuses say of each process */

/* For all but the largest jobs. */
static const struct page_limits generous = {.series = 160,
                                            .events = 200,
                                            .processes = 400,
                                            .censuses = 8,
                                            .curves = 400,
                                            .chart_bytes = 160 << 10,
                                            .why_bytes = 100 << 10,
                                            .flame_bytes = 120 << 10};

#define HALVED_MOST 5 /* times that they are halved where the document is too long */

void page_add_compact(struct buf *out, const char *json)
{
    bool in_string = false, is_escaped = false;
    for (const char *c = json; *c; c++) {
        if (*c == '<')
            buf_adds(out, "\\u003c");
        else if (in_string || !strchr(" \n\t\r", *c))
            buf_addc(out, *c);
        if (*c == '"' && !is_escaped)
            in_string = !in_string;
        is_escaped = in_string && *c == '\\' && !is_escaped;
    }
}

/* ---- members ---- */

static const struct view_series *series_named(const struct view *v, const char *name)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->series[i].info.name, name) == 0)
            return &v->series[i];
    return NULL;
}

/* Adds nothing if the series has none. */
static void add_account(struct json *j, const struct page_source *s, size_t series,
                        struct account *account)
{
    const char *name = recording_series(s->recording, series)->info.name;
    const struct view_series *judged = series_named(&s->judged, name);
    if (judged && recording_account(s->recording, series, account))
        report_why_json(j, name, &judged->answer, account);
}

/* The series that matter first, as far as there is room. */
static void add_accounts(struct json *j, const struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    size_t from = j->out->len;
    struct account *account = malloc(sizeof(*account));
    if (!account)
        base_out_of_memory();
    json_array_begin(j, "whys");
    for (int rank = 0; rank < PAGE_RANKS; rank++)
        for (size_t i = 0; i < v->count; i++)
            if (d->shown[i] && d->ids[i] != SIZE_MAX && page_rank(v, i) == rank &&
                j->out->len - from < d->limits.why_bytes)
                add_account(j, d->source, d->ids[i], account);
    json_array_end(j);
    free(account);
}

void page_json_head(struct json *j, const char *page, const char *name)
{
    json_string(j, "page", page);
    json_integer(j, "format", FORMAT_VERSION);
    page_json_text(j, "name", name);
}

static void add_head(struct json *j, const struct page_source *s, bool live)
{
    const struct store_run *run = store_run(s->store);
    page_json_head(j, "run", s->name);
    page_json_text(j, "title", run->title);
    page_json_text(j, "host", run->host);
    json_bool(j, "live", live);
    json_bool(j, "finished", s->finished);
}

static void add_opening(struct json *j, const struct view *v)
{
    struct report_lines lines;
    report_run_lines(&lines, v, &page_style_plain);
    opening_json(j, "opening", &lines);
    report_lines_release(&lines);
}

static void add_run_facts(struct json *j, const struct view *v)
{
    struct report_facts facts;
    report_run_facts(&facts, v);
    json_array_begin(j, "facts");
    for (size_t i = 0; i < facts.count; i++) {
        json_object_begin(j, NULL);
        json_string(j, "label", facts.list[i].label);
        page_json_text(j, "text", buf_text(&facts.list[i].text));
        json_object_end(j);
    }
    json_array_end(j);
    report_facts_release(&facts);
}

/* Where the answer's deciding series is among those shown. */
static void add_deciding(struct json *j, const struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    int64_t position = 0;
    for (size_t i = 0; i < v->count && i < v->answer.deciding; i++)
        position += d->shown[i];
    if (v->answer.deciding < v->count && d->shown[v->answer.deciding])
        json_integer(j, "deciding", position);
}

static void add_left_out(struct json *j, const struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    int64_t left_out = 0;
    for (size_t i = 0; i < v->count; i++)
        left_out += !d->shown[i];
    if (left_out > 0)
        json_integer(j, "more_series", left_out);
}

static int add_members(struct json *j, const struct page_draft *d)
{
    static int (*const members[])(struct json *, const struct page_draft *) = {
        steps_json, events_json, processes_json, tree_json, flame_json};
    int r = 0;
    add_head(j, d->source, d->is_live);
    add_opening(j, page_view(d->source));
    add_run_facts(j, page_view(d->source));
    add_deciding(j, d);
    add_left_out(j, d);
    texts_json(j, d);
    charts_json(j, d);
    add_accounts(j, d);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && r == 0; i++)
        r = members[i](j, d);
    return r;
}

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

static void add_answer(struct buf *out, const struct page_draft *d)
{
    struct view v = *page_view(d->source);
    v.found.census_count = at_most(v.found.census_count, LISTS_MOST);
    v.found.entered_count = at_most(v.found.entered_count, LISTS_MOST);
    v.found.tracer_count = at_most(v.found.tracer_count, LISTS_MOST);
    v.found.site_count = at_most(v.found.site_count, LISTS_MOST);
    report_run_json_of(out, &v, d->shown);
}

/* All but the curves; the object stays open. */
static int add_facts(struct buf *out, const struct page_draft *d)
{
    struct buf text = BUF_INIT;
    struct json j;
    json_init(&j, &text, 0);
    json_object_begin(&j, NULL);
    int r = add_members(&j, d);
    buf_adds(&text, ",\"answer\":");
    add_answer(&text, d);
    buf_adds(&text, ",\"objects\":");
    if (r == 0)
        r = objects_json(&text, d);
    page_add_compact(out, buf_text(&text));
    buf_release(&text);
    return r;
}

static int add_curves(struct buf *out, const struct page_draft *d)
{
    struct buf text = BUF_INIT;
    size_t left = out->len < PAGE_DOCUMENT_BYTES ? PAGE_DOCUMENT_BYTES - out->len : 0;
    int r = curves_json(&text, d, left > CURVES_LEAST ? left : CURVES_LEAST);
    buf_adds(out, ",\"curves\":");
    page_add_compact(out, buf_text(&text));
    buf_release(&text);
    return r;
}

/* ---- drafts ---- */

/* The series that matter first; the largest job has hundreds. */
static void choose_series(struct page_draft *d)
{
    const struct view *v = page_view(d->source);
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        d->shown[i] = false;
    for (int rank = 0; rank < PAGE_RANKS; rank++)
        for (size_t i = 0; i < v->count && count < d->limits.series; i++)
            if (page_rank(v, i) == rank) {
                d->shown[i] = true;
                count++;
            }
}

static void draft_init(struct page_draft *d, struct page_source *s, bool live)
{
    const struct view *v = page_view(s);
    *d = (struct page_draft){.source = s, .limits = generous, .is_live = live};
    d->shown = calloc(v->count + 1, sizeof(*d->shown));
    d->ids = calloc(v->count + 1, sizeof(*d->ids));
    if (!d->shown || !d->ids)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++)
        d->ids[i] = page_series_of(s, &v->series[i].info);
}

static void draft_release(struct page_draft *d)
{
    free(d->shown);
    free(d->ids);
}

static void halve(struct page_limits *l)
{
    size_t *const all[] = {&l->series, &l->events,      &l->processes, &l->censuses,
                           &l->curves, &l->chart_bytes, &l->why_bytes, &l->flame_bytes};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        *all[i] /= 2;
}

/* Writes less of a large run until there is room for its curves. */
static int write_facts(struct buf *out, struct page_draft *d)
{
    int r = -1;
    for (unsigned i = 0; i <= HALVED_MOST; i++) {
        buf_clear(out);
        choose_series(d);
        r = add_facts(out, d);
        if (r < 0 || out->len <= PAGE_DOCUMENT_BYTES - CURVES_LEAST)
            return r;
        halve(&d->limits);
    }
    return r;
}

int page_json(struct buf *out, struct page_source *s, bool live, struct store_error *ret_error)
{
    struct page_draft draft;
    struct buf text = BUF_INIT;
    int r = page_load(s);
    if (r < 0) {
        store_explain(r, ret_error);
        return r;
    }
    draft_init(&draft, s, live);
    r = write_facts(&text, &draft);
    if (r == 0)
        r = add_curves(&text, &draft);
    if (r == 0) {
        buf_add(out, text.text, text.len);
        buf_adds(out, "}\n");
    } else {
        store_explain(r, ret_error);
    }
    draft_release(&draft);
    buf_release(&text);
    return r;
}

/* ---- other documents ---- */

void page_add_run(struct json *j, const struct page_source *s, const char *href, bool live)
{
    const struct view *v = page_view(s);
    struct buf summary = BUF_INIT;
    report_run_headline(&summary, v, &page_style_plain);
    while (summary.len > 0 && summary.text[summary.len - 1] == '\n')
        summary.text[--summary.len] = '\0';
    json_object_begin(j, NULL);
    json_string(j, "href", href);
    page_json_text(j, "name", s->name);
    json_string(j, "verdict", verdict_name(v->answer.verdict));
    if (v->answer.severity != SEVERITY_NONE)
        json_string(j, "severity", severity_name(v->answer.severity));
    page_json_text(j, "summary", buf_text(&summary));
    page_json_rounded(j, "seconds", v->seconds, 3);
    json_number(j, "started", v->started);
    json_bool(j, "live", live);
    page_json_text(j, "command", store_run(s->store)->title);
    json_object_end(j);
    buf_release(&summary);
}

static void add_pair_openings(struct json *j, const struct report_runs *runs)
{
    const struct report_job *jobs[] = {runs->job_a, runs->job_b};
    json_array_begin(j, "opening");
    for (unsigned i = 0; i < 2; i++) {
        struct report_lines lines;
        report_lines(&lines, jobs[i], &page_style_plain);
        opening_json(j, NULL, &lines);
        report_lines_release(&lines);
    }
    json_array_end(j);
}

void page_comparison_json(struct buf *out, const struct report_runs *runs, const char *name_a,
                          const char *name_b)
{
    const struct report_series series[] = {runs->a, runs->b};
    struct buf text = BUF_INIT;
    struct json j;
    json_init(&j, &text, 0);
    json_object_begin(&j, NULL);
    page_json_head(&j, "comparison", NULL);
    json_bool(&j, "timed", page_has_seconds(runs->a.history) && page_has_seconds(runs->b.history));
    json_array_begin(&j, "names");
    page_json_text(&j, NULL, name_a);
    page_json_text(&j, NULL, name_b);
    json_array_end(&j);
    add_pair_openings(&j, runs);
    json_array_begin(&j, "texts");
    for (unsigned i = 0; i < 2; i++)
        text_json(&j, &series[i]);
    json_array_end(&j);
    json_array_begin(&j, "charts");
    for (unsigned i = 0; i < 2; i++)
        chart_json(&j, &series[i], NULL, SIZE_MAX, true);
    json_array_end(&j);
    buf_adds(&text, ",\"comparison\":");
    report_comparison_json(&text, runs);
    buf_adds(&text, "}");
    page_add_compact(out, buf_text(&text));
    buf_addc(out, '\n');
    buf_release(&text);
}

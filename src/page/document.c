/* page/document.c: the document that the page draws from. */
#include "page/source.h"

#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 1
#define CHART_BYTES ((size_t) 160 << 10)
#define CURVES_LEAST ((size_t) 120 << 10) /* however large the rest is */

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

static void add_accounts(struct json *j, struct page_source *s)
{
    struct account *account = malloc(sizeof(*account));
    if (!account)
        base_out_of_memory();
    json_array_begin(j, "whys");
    for (size_t i = 0; i < recording_count(s->recording); i++) {
        const struct series_info *info = &recording_series(s->recording, i)->info;
        if (!recording_account(s->recording, i, account))
            continue;
        for (size_t k = 0; k < s->judged.count; k++)
            if (strcmp(s->judged.series[k].info.name, info->name) == 0) {
                report_why_json(j, info->name, &s->judged.series[k].answer, account);
                break;
            }
    }
    json_array_end(j);
    free(account);
}

static void add_head(struct json *j, const struct page_source *s, bool live)
{
    const struct store_run *run = store_run(s->store);
    json_string(j, "page", "run");
    json_integer(j, "format", FORMAT_VERSION);
    page_json_text(j, "name", s->name);
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

static void add_texts(struct json *j, const struct view *v)
{
    struct report_series *series = calloc(v->count + 1, sizeof(*series));
    if (!series)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        series[i] = (struct report_series){&s->info, &s->answer, &s->history};
    }
    texts_json(j, series, v->count);
    free(series);
}

/* The ids of the curves of the view's series. The caller frees them. */
static size_t *find_ids(const struct page_source *s)
{
    const struct view *v = page_view(s);
    size_t *ids = calloc(v->count + 1, sizeof(*ids));
    if (!ids)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++)
        ids[i] = page_series_of(s, &v->series[i].info);
    return ids;
}

static int add_members(struct json *j, struct page_source *s, bool live, const size_t *ids)
{
    static int (*const members[])(struct json *, struct page_source *) = {
        steps_json, events_json, processes_json, tree_json, flame_json};
    const struct view *v = page_view(s);
    int r = 0;
    add_head(j, s, live);
    add_opening(j, v);
    add_run_facts(j, v);
    if (v->answer.deciding < v->count)
        json_integer(j, "deciding", (int64_t) v->answer.deciding);
    add_texts(j, v);
    charts_json(j, v, ids, CHART_BYTES);
    add_accounts(j, s);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && r == 0; i++)
        r = members[i](j, s);
    return r;
}

/* All but the curves; the object stays open. */
static int add_facts(struct buf *out, struct page_source *s, bool live, const size_t *ids)
{
    struct buf text = BUF_INIT;
    struct json j;
    json_init(&j, &text, 0);
    json_object_begin(&j, NULL);
    int r = add_members(&j, s, live, ids);
    buf_adds(&text, ",\"answer\":");
    report_run_json(&text, page_view(s));
    buf_adds(&text, ",\"objects\":");
    if (r == 0)
        r = objects_json(&text, s);
    page_add_compact(out, buf_text(&text));
    buf_release(&text);
    return r;
}

static int add_curves(struct buf *out, struct page_source *s, const size_t *ids)
{
    struct buf text = BUF_INIT;
    size_t left = out->len < PAGE_DOCUMENT_BYTES ? PAGE_DOCUMENT_BYTES - out->len : 0;
    int r = curves_json(&text, s, ids, left > CURVES_LEAST ? left : CURVES_LEAST);
    buf_adds(out, ",\"curves\":");
    page_add_compact(out, buf_text(&text));
    buf_release(&text);
    return r;
}

int page_json(struct buf *out, struct page_source *s, bool live, struct store_error *ret_error)
{
    struct buf text = BUF_INIT;
    int r = page_load(s);
    size_t *ids = r == 0 ? find_ids(s) : NULL;
    if (r == 0)
        r = add_facts(&text, s, live, ids);
    if (r == 0)
        r = add_curves(&text, s, ids);
    if (r == 0) {
        buf_add(out, text.text, text.len);
        buf_adds(out, "}\n");
    } else {
        store_explain(r, ret_error);
    }
    free(ids);
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
    json_string(&j, "page", "comparison");
    json_integer(&j, "format", FORMAT_VERSION);
    json_array_begin(&j, "names");
    page_json_text(&j, NULL, name_a);
    page_json_text(&j, NULL, name_b);
    json_array_end(&j);
    add_pair_openings(&j, runs);
    texts_json(&j, series, 2);
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

/* report/json.c: the JSON answer of docs/JSON.md. */
#include "report/json.h"

#include <math.h>
#include <stdlib.h>

static const struct report_style plain = {.width = FORMAT_MAX_WIDTH};

static void add_process(struct json *j, const struct series_info *info)
{
    if (info->pid == 0)
        return;
    json_object_begin(j, "process");
    json_integer(j, "pid", info->pid);
    json_string(j, "role", info->role);
    if (info->rank)
        json_number(j, "rank", strtod(info->rank, NULL));
    json_string(j, "command", info->command);
    json_string(j, "start", info->start);
    json_object_end(j);
}

static void add_forecast(struct json *j, const struct series_info *info, const struct answer *a)
{
    bool is_passed = a->floor_last >= a->limit;
    json_object_begin(j, "forecast");
    if (is_passed || !isnan(a->forecast.limit_at))
        json_bool(j, "reaches_limit", is_passed || isfinite(a->forecast.limit_at));
    fields_show(j, &answer_forecast_fields, &a->forecast, info->clock, NULL, NULL);
    json_object_end(j);
}

static void add_needs(struct json *j, const struct series_info *info, const struct answer *a)
{
    if (a->verdict != VERDICT_INCONCLUSIVE)
        return;
    json_object_begin(j, "needs");
    fields_show(j, &answer_needs_fields, &a->needs, info->clock, NULL, NULL);
    json_object_end(j);
}

void report_json_series(struct json *j, const char *key, const struct report_series *s)
{
    const struct series_info *info = s->info;
    const struct answer *a = s->answer;

    json_object_begin(j, key);
    add_process(j, info);
    fields_show(j, &series_info_fields, info, info->clock, NULL, NULL);
    fields_show(j, &answer_fields, a, info->clock, NULL, "phases");
    add_forecast(j, info, a);
    add_needs(j, info, a);
    fields_show(j, &answer_fields, a, info->clock, "naive", NULL);
    json_object_end(j);
}

/* Over all series: the longest span seen, and the smallest limit of a memory series. */
static void add_job(struct json *j, const struct report_job *job)
{
    double steps = NAN, epochs = NAN, seconds = NAN, limit = NAN;
    for (size_t i = 0; i < job->count; i++) {
        const struct answer *a = job->series[i].answer;
        double span = a->last_at - a->first_at;
        if (job->series[i].info->clock == CLOCK_STEP)
            steps = fmax(steps, span);
        epochs = fmax(epochs, span / a->epoch_length);
        seconds = fmax(seconds, a->last_seconds - a->first_seconds);
        if (job->series[i].info->unit == SERIES_BYTES)
            limit = fmin(limit, answer_limit(a));
    }
    json_object_begin(j, "job");
    json_string(j, "source", job->source);
    json_number(j, "steps", steps);
    json_number(j, "epochs", epochs);
    json_number(j, "seconds", seconds);
    json_number(j, "limit_bytes", limit);
    json_object_end(j);
}

void report_json_begin(struct json *j, struct buf *out)
{
    json_init(j, out, 2);
    json_object_begin(j, NULL);
    json_string(j, "tidemark", TIDEMARK_VERSION);
    json_integer(j, "schema", 1);
}

void report_json_end(struct json *j)
{
    json_object_end(j);
    buf_addc(j->out, '\n');
}

void report_json_verdict(struct json *j, const struct report_job *job)
{
    struct buf summary = BUF_INIT;
    json_string(j, "verdict", verdict_name(job->answer->verdict));
    if (job->answer->severity != SEVERITY_NONE)
        json_string(j, "severity", severity_name(job->answer->severity));
    headline_job(&summary, job, &plain);
    json_string(j, "summary", buf_text(&summary));
    buf_release(&summary);
}

void report_json_all_series(struct json *j, const struct report_job *job)
{
    report_json_some_series(j, job, NULL);
}

void report_json_some_series(struct json *j, const struct report_job *job, const bool *shown)
{
    json_array_begin(j, "series");
    for (size_t i = 0; i < job->count; i++)
        if (!shown || shown[i])
            report_json_series(j, NULL, &job->series[i]);
    json_array_end(j);
}

void report_json_found(struct json *j, const struct findings *found)
{
    fields_show(j, &findings_fields, found, CLOCK_STEP, NULL, NULL);
}

void report_json_patterns(struct json *j, const struct view_pattern *patterns, unsigned count)
{
    if (count == 0)
        return;
    json_array_begin(j, "patterns");
    for (unsigned i = 0; i < count; i++) {
        json_object_begin(j, NULL);
        fields_show(j, &view_pattern_fields, &patterns[i], CLOCK_STEP, NULL, NULL);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_json(struct buf *out, const struct report_job *job)
{
    struct json j;
    report_json_begin(&j, out);
    report_json_verdict(&j, job);
    add_job(&j, job);
    report_json_all_series(&j, job);
    if (job->found)
        report_json_found(&j, job->found);
    report_json_patterns(&j, job->patterns, job->pattern_count);
    report_json_end(&j);
}

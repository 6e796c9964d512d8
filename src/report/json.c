/* report/json.c: the JSON answer of docs/JSON.md. */
#include "report/json.h"
#include "report/format.h"
#include "report/found.h"
#include "report/headline.h"

#include <math.h>
#include <stdlib.h>

static const struct report_style plain = {.width = FORMAT_MAX_WIDTH};

/* A position under the name of its clock: KEY_step, or KEY_seconds. */
static void add_position(struct json *j, const struct series_info *info, const char *step_key,
                         const char *seconds_key, double at)
{
    json_number(j, info->clock == CLOCK_STEP ? step_key : seconds_key, at);
}

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

static void add_marks(struct json *j, const struct series_info *info, const struct answer *a)
{
    add_position(j, info, "suspect_step", "suspect_seconds", a->suspect_at);
    add_position(j, info, "alarm_step", "alarm_seconds", a->alarm_at);
    if (info->clock == CLOCK_STEP)
        json_number(j, "onset_step", a->onset_at);
    json_number(j, "onset_seconds", info->clock == CLOCK_SECONDS ? a->onset_at : a->onset_seconds);
    add_position(j, info, "warm_up_end_step", "warm_up_end_seconds", a->warm_up_end);
}

static void add_rates(struct json *j, const struct answer *a)
{
    json_number(j, "rate", a->rate);
    json_number(j, "rate_low", a->rate_low);
    json_number(j, "rate_high", a->rate_high);
    json_number(j, "rate_upper", a->rate_upper);
    json_number(j, "rate_per_step", a->rate_per_step);
    json_number(j, "rate_per_epoch", a->rate_per_epoch);
    json_number(j, "rate_per_second", a->rate_per_second);
    json_number(j, "confidence", a->confidence);
}

static void add_levels(struct json *j, const struct answer *a)
{
    json_number(j, "min", a->min);
    json_number(j, "max", a->max);
    json_number(j, "mean", a->mean);
    json_number(j, "last", a->last);
    json_number(j, "floor_first", a->floor_first);
    json_number(j, "floor_last", a->floor_last);
    json_number(j, "noise", a->noise);
    json_number(j, "limit", a->limit);
}

static void add_span(struct json *j, const struct series_info *info, const struct answer *a)
{
    json_integer(j, "samples", (int64_t) a->samples);
    json_integer(j, "refused", (int64_t) a->refused);
    json_integer(j, "restarts", (int64_t) a->restarts);
    if (info->clock == CLOCK_STEP) {
        json_number(j, "first_step", a->first_at);
        json_number(j, "last_step", a->last_at);
    }
    json_number(j, "first_seconds", a->first_seconds);
    json_number(j, "last_seconds", a->last_seconds);
    json_number(j, "epoch_length", a->epoch_length);
    json_number(j, "horizon", a->horizon);
    json_number(j, "plan", a->plan);
}

static void add_phases(struct json *j, const struct answer *a)
{
    json_array_begin(j, "phases");
    for (unsigned i = 0; i < a->phase_count; i++) {
        const struct phase *p = &a->phases[i];
        json_object_begin(j, NULL);
        json_number(j, "from", p->from);
        json_number(j, "to", p->to);
        json_string(j, "name", phase_name(p->name));
        json_number(j, "rate", p->rate);
        json_number(j, "rate_low", p->rate_low);
        json_number(j, "rate_high", p->rate_high);
        json_number(j, "level_from", p->level_from);
        json_number(j, "level_to", p->level_to);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_forecast(struct json *j, const struct series_info *info, const struct answer *a)
{
    bool is_passed = a->floor_last >= a->limit;
    json_object_begin(j, "forecast");
    if (is_passed || !isnan(a->forecast.limit_at))
        json_bool(j, "reaches_limit", is_passed || isfinite(a->forecast.limit_at));
    if (info->clock == CLOCK_STEP)
        json_number(j, "limit_step", a->forecast.limit_at);
    json_number(j, "limit_seconds", a->forecast.limit_seconds);
    json_number(j, "low", a->forecast.limit_low);
    json_number(j, "high", a->forecast.limit_high);
    json_number(j, "plan_value", a->forecast.plan_value);
    json_number(j, "plan_low", a->forecast.plan_low);
    json_number(j, "plan_high", a->forecast.plan_high);
    json_object_end(j);
}

static void add_needs(struct json *j, const struct series_info *info, const struct answer *a)
{
    if (a->verdict != VERDICT_INCONCLUSIVE)
        return;
    json_object_begin(j, "needs");
    if (info->clock == CLOCK_STEP)
        json_number(j, "steps", a->needs.at_least);
    json_number(j, "seconds", info->clock == CLOCK_STEP ? a->needs.seconds : a->needs.at_least);
    json_string(j, "why", a->needs.why[0] ? a->needs.why : NULL);
    json_object_end(j);
}

static void add_naive(struct json *j, const struct answer *a)
{
    json_object_begin(j, "naive");
    json_bool(j, "misleads", a->naive.misleads);
    json_number(j, "rate", a->naive.rate);
    json_number(j, "warm_up_share", a->naive.warm_up_share);
    json_object_end(j);
}

static void add_spikes(struct json *j, const struct answer *a)
{
    json_object_begin(j, "spikes");
    json_integer(j, "count", a->spikes.count);
    if (a->spikes.count > 0) {
        json_number(j, "height", a->spikes.height);
        json_bool(j, "recovered", a->spikes.recovered);
    }
    if (a->spikes.during_count > 0) {
        json_array_begin(j, "during");
        for (unsigned i = 0; i < a->spikes.during_count; i++) {
            json_object_begin(j, NULL);
            json_string(j, "name", a->spikes.during[i].name);
            json_integer(j, "count", a->spikes.during[i].count);
            json_object_end(j);
        }
        json_array_end(j);
    }
    json_object_end(j);
}

void report_json_series(struct json *j, const char *key, const struct report_series *s)
{
    const struct series_info *info = s->info;
    const struct answer *a = s->answer;

    json_object_begin(j, key);
    add_process(j, info);
    json_string(j, "name", info->name);
    json_string(j, "kind", info->kind);
    json_string(j, "device", info->device);
    json_string(j, "unit", series_unit_name(info->unit));
    json_string(j, "clock", series_clock_name(info->clock));
    json_string(j, "verdict", verdict_name(a->verdict));
    json_string(j, "pattern", pattern_name(a->pattern));
    json_string(j, "severity", a->severity == SEVERITY_NONE ? NULL : severity_name(a->severity));
    json_bool(j, "suspect", a->suspect);
    add_marks(j, info, a);
    add_rates(j, a);
    add_levels(j, a);
    add_span(j, info, a);
    add_phases(j, a);
    add_forecast(j, info, a);
    add_needs(j, info, a);
    add_naive(j, a);
    add_spikes(j, a);
    json_array_begin(j, "why");
    for (unsigned i = 0; i < a->why_count; i++)
        json_string(j, NULL, a->why[i]);
    json_array_end(j);
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
            limit = fmin(limit, a->limit);
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
    json_array_begin(j, "series");
    for (size_t i = 0; i < job->count; i++)
        report_json_series(j, NULL, &job->series[i]);
    json_array_end(j);
}

void report_json_patterns(struct json *j, const struct watch_pattern *patterns, unsigned count)
{
    if (count == 0)
        return;
    json_array_begin(j, "patterns");
    for (unsigned i = 0; i < count; i++) {
        json_object_begin(j, NULL);
        json_string(j, "pattern", pattern_name(patterns[i].pattern));
        json_string(j, "text", patterns[i].text);
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
        found_json(&j, job->found);
    report_json_patterns(&j, job->patterns, job->pattern_count);
    report_json_end(&j);
}

/* page/log.c: the document of a log: what a file of numbers says, without processes and holders. */
#include "page/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MOST 60u /* with a chart each; those that need attention come first */
#define LOG_RANKS 3

static int rank_of(const struct report_job *job, size_t i)
{
    if (i == job->answer->deciding)
        return 0;
    return job->series[i].answer->verdict == VERDICT_NO_LEAK ? 2 : 1;
}

/* The job with those of its series that there is room for, in their order. */
struct shown {
    struct report_job job;
    struct job_answer answer;
    struct report_series series[SERIES_MOST];
};

static void choose(struct shown *s, const struct report_job *job)
{
    bool *chosen = calloc(job->count + 1, sizeof(*chosen));
    size_t count = 0;
    if (!chosen)
        base_out_of_memory();
    for (int rank = 0; rank < LOG_RANKS; rank++)
        for (size_t i = 0; i < job->count && count < SERIES_MOST; i++)
            if (rank_of(job, i) == rank) {
                chosen[i] = true;
                count++;
            }
    s->job = *job;
    s->answer = *job->answer;
    s->job.series = s->series;
    s->job.answer = &s->answer;
    s->job.count = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (i == job->answer->deciding)
            s->answer.deciding = s->job.count;
        if (chosen[i])
            s->series[s->job.count++] = job->series[i];
    }
    free(chosen);
}

static bool is_timed(const struct report_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (page_has_seconds(job->series[i].history))
            return true;
    return false;
}

/* The steps of the longest series: the page counts by them. */
static void add_steps(struct json *j, const struct report_job *job)
{
    const struct history *longest = NULL;
    for (size_t i = 0; i < job->count; i++)
        if (job->series[i].info->clock == CLOCK_STEP &&
            (!longest || job->series[i].history->count > longest->count))
            longest = job->series[i].history;
    if (!longest)
        return;
    bool timed = page_has_seconds(longest);
    json_object_begin(j, "steps");
    json_array_begin(j, "seconds");
    for (unsigned i = 0; i < longest->count; i++)
        page_json_rounded(j, NULL, timed ? longest->blocks[i].seconds : longest->blocks[i].at, 3);
    json_array_end(j);
    json_array_begin(j, "step");
    for (unsigned i = 0; i < longest->count; i++)
        page_json_rounded(j, NULL, longest->blocks[i].at, 2);
    json_array_end(j);
    json_object_end(j);
}

static void add_members(struct json *j, const struct report_job *job)
{
    struct report_lines lines;
    report_lines(&lines, job, &page_style_plain);
    opening_json(j, "opening", &lines);
    report_lines_release(&lines);
    if (job->answer->deciding < job->count)
        json_integer(j, "deciding", (int64_t) job->answer->deciding);
    json_array_begin(j, "texts");
    for (size_t i = 0; i < job->count; i++)
        text_json(j, &job->series[i]);
    json_array_end(j);
    json_array_begin(j, "charts");
    for (size_t i = 0; i < job->count; i++)
        chart_json(j, &job->series[i], NULL, i, false);
    json_array_end(j);
    add_steps(j, job);
    log_curves_json(j, job);
}

void page_log_json(struct buf *out, const struct report_job *job, const char *name)
{
    struct shown shown;
    struct buf text = BUF_INIT;
    struct json j;
    choose(&shown, job);
    json_init(&j, &text, 0);
    json_object_begin(&j, NULL);
    page_json_head(&j, "run", name);
    json_bool(&j, "finished", true);
    json_bool(&j, "timed", is_timed(job));
    if (job->count > shown.job.count)
        json_integer(&j, "more_series", (int64_t) (job->count - shown.job.count));
    add_members(&j, &shown.job);
    buf_adds(&text, ",\"answer\":");
    report_json(&text, &shown.job);
    buf_adds(&text, "}");
    page_add_compact(out, buf_text(&text));
    buf_addc(out, '\n');
    buf_release(&text);
}

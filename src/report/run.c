/* report/run.c: the report of a watched job: its facts, balance sheet and verdict. */
#include "report/run.h"
#include "report/activities.h"
#include "report/found.h"
#include "report/json.h"
#include "report/table.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SECTIONS_MOST 3u /* series shown in full */
#define SUMMARY_MOST 12u /* lines of the table of series */
#define INDENT 2u
#define RANK_LEAK 8 /* see rank_of(): shown in full */

/* Overhead gets a sentence from this many processes and this much memory on. */
#define OVERHEAD_PROCESSES 2
#define OVERHEAD_BYTES (64.0 * 1024 * 1024)

/* A change of less than this share of a row is not growth. */
#define STABLE_SHARE 0.05

/* ---- the view as a job ---- */

void run_job_init(struct run_job *j, const struct view *v)
{
    j->series = calloc(v->count + 1, sizeof(*j->series));
    if (!j->series)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        j->series[i] = (struct report_series){&s->info, &s->answer, &s->history};
    }
    j->job = (struct report_job){.series = j->series,
                                 .count = v->count,
                                 .answer = &v->answer,
                                 .watched = true,
                                 .found = &v->found,
                                 .unread = v->unread};
}

void run_job_release(struct run_job *j)
{
    free(j->series);
}

void report_run_headline(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct run_job j;
    run_job_init(&j, v);
    report_headline(out, &j.job, style);
    run_job_release(&j);
}

void report_findings(struct buf *out, const struct findings *f, const struct report_style *style)
{
    if (found_any(f))
        found_text(out, f, style);
    found_attached(out, f->entered, f->entered_count, style);
}

/* ---- facts ---- */

static void add_command(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (v->command)
        format_clean_cut(&text, v->command, 3 * format_width(style), style);
    text_fact(out, "command", &text, style);
}

/* Who counted the steps, for a person. */
static const char *steps_words(const char *from)
{
    static const struct {
        const char *from, *words;
    } sources[] = {
        {"output", " read from its output"},
        {"optimizer", " counted inside the process (optimizer)"},
        {"framework", " counted inside the process (training framework)"},
        {"watcher", " counted by the program itself"},
    };
    for (size_t i = 0; from && i < sizeof(sources) / sizeof(sources[0]); i++)
        if (strcmp(from, sources[i].from) == 0)
            return sources[i].words;
    return "";
}

/* An unfinished recording lacks the number of processes at one time. */
static void add_processes(struct buf *out, const struct view *v)
{
    unsigned long long seen = v->processes_seen, most = v->most_processes;
    if (most == 0 && seen == 0)
        return;
    unsigned long long count = most > 0 ? most : seen;
    buf_addf(out, ", %llu process%s", count, count == 1 ? "" : "es");
    if (most > 1)
        buf_adds(out, " at a time");
    if (seen > most && most > 0)
        buf_addf(out, " (%llu in all)", seen);
}

static void say_watched(struct buf *out, const struct view *v)
{
    units_add_duration(out, v->seconds);
    if (isfinite(v->steps)) {
        buf_adds(out, ", ");
        series_add_length(out, v->steps, false, CLOCK_STEP);
        buf_adds(out, steps_words(v->steps_from));
    }
    if (v->epochs > 0)
        buf_addf(out, ", %.0f epoch%s", v->epochs, v->epochs == 1 ? "" : "s");
    add_processes(out, v);
}

static void add_watched(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    say_watched(&text, v);
    text_fact(out, "watched", &text, style);
}

static void add_ending(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (v->ending)
        buf_adds(&text, v->ending);
    text_fact(out, "ended", &text, style);
}

static void say_limit(struct buf *out, const struct view *v)
{
    if (!(isfinite(v->limit) && v->limit > 0))
        return;
    units_add_bytes(out, v->limit);
    buf_addf(out, " (%s)", v->limit_source);
}

static void add_limit(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    say_limit(&text, v);
    text_fact(out, "limit", &text, style);
}

static void add_patterns(struct buf *out, const struct view *v, const struct report_style *style)
{
    for (unsigned i = 0; i < v->pattern_count; i++) {
        struct buf text = BUF_INIT;
        utf8_add_clean(&text, v->patterns[i].text, style->ascii);
        text_fact(out, i == 0 ? "pattern" : "", &text, style);
    }
}

/* ---- the balance sheet ---- */

/* Columns that are nothing but zeros are left out. */
struct sheet_layout {
    bool shmem, swap, gpu, rss;
};

static void add_bytes(struct table *t, double bytes)
{
    if (isfinite(bytes))
        units_add_bytes(&t->cell, bytes);
    table_end_cell(t);
}

static void add_signed(struct table *t, double bytes)
{
    if (isfinite(bytes) && bytes > 0)
        buf_addc(&t->cell, '+');
    add_bytes(t, bytes);
}

static void add_row(struct table *t, const char *label, const struct view_row *row,
                    const struct sheet_layout *layout)
{
    table_add(t, label);
    add_bytes(t, row->pss);
    add_bytes(t, row->anon);
    add_bytes(t, row->file);
    if (layout->shmem)
        add_bytes(t, row->shmem);
    if (layout->swap)
        add_bytes(t, row->swap);
    if (layout->gpu)
        add_bytes(t, row->gpu);
    add_signed(t, row->pss - row->pss_first);
    if (layout->rss)
        add_bytes(t, row->rss);
}

static void add_heading(struct table *t, const struct sheet_layout *layout)
{
    table_add(t, "memory by share");
    table_add(t, "in all");
    table_add(t, "anon");
    table_add(t, "file");
    if (layout->shmem)
        table_add(t, "shared");
    if (layout->swap)
        table_add(t, "swap");
    if (layout->gpu)
        table_add(t, "GPU");
    table_add(t, "change");
    if (layout->rss)
        table_add(t, "by RSS");
}

/* A row beside the sheet: only its total and the change of that. */
static void add_beside(struct table *t, const char *label, double last, double change,
                       const struct sheet_layout *layout)
{
    table_add(t, label);
    add_bytes(t, last);
    for (unsigned i = 0; i < 2u + layout->shmem + layout->swap + layout->gpu; i++)
        table_add(t, "");
    add_signed(t, change);
    if (layout->rss)
        table_add(t, "");
}

/* Growth of /dev/shm that no process of the job maps; mapped memory is already in their shares. */
static double unmapped(const struct view *v)
{
    double grown = v->shm_last - v->shm_first - v->total.shmem;
    return grown > 0 ? grown : 0;
}

/* The part of the system's change that the changes above do not explain. */
static double unexplained(const struct view *v)
{
    return v->system_last - v->system_first - (v->total.pss - v->total.pss_first) - unmapped(v);
}

static void add_unexplained(struct buf *out, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    summary_unexplained(&text);
    buf_repeat(out, " ", INDENT);
    format_wrapped(out, buf_text(&text), INDENT, style);
    buf_release(&text);
}

static void add_sheet(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct sheet_layout layout = {
        .shmem = v->total.shmem > 0,
        .swap = v->total.swap > 0,
        .gpu = v->total.gpu > 0,
        .rss = v->total.processes > 1,
    };
    if (v->row_count == 0)
        return;
    struct table t = TABLE_INIT(5u + layout.shmem + layout.swap + layout.gpu + layout.rss);
    add_heading(&t, &layout);
    for (size_t i = 0; i < v->row_count; i++)
        add_row(&t, v->rows[i].label, &v->rows[i], &layout);
    if (v->row_count > 1)
        add_row(&t, "the job", &v->total, &layout);
    if (unmapped(v) > 0)
        add_beside(&t, "/dev/shm, mapped by nobody", v->shm_last, unmapped(v), &layout);
    add_beside(&t, "the system", v->system_last, v->system_last - v->system_first, &layout);
    add_beside(&t, "unexplained", NAN, unexplained(v), &layout);
    buf_addc(out, '\n');
    table_render(&t, out, INDENT);
    if (isfinite(unexplained(v)))
        add_unexplained(out, style);
}

/* If the number of processes grows, their overhead is not constant, even if each process is
 * stable. */
static bool processes_become_more(const struct view *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->series[i].info.kind, "processes") == 0)
            return v->series[i].answer.verdict == VERDICT_LEAK || v->series[i].answer.suspect;
    return false;
}

/* "20 compile workers: 8.00 GB by RSS, 1.10 GB by share, stable: overhead, not a leak". */
static void add_overhead(struct buf *out, const struct view *v, const struct report_style *style)
{
    for (size_t i = 0; i < v->row_count && !processes_become_more(v); i++) {
        const struct view_row *r = &v->rows[i];
        bool stable = fabs(r->pss - r->pss_first) <= STABLE_SHARE * r->pss_first;
        if (r->processes < OVERHEAD_PROCESSES || r->grows || !stable || r->rss < OVERHEAD_BYTES)
            continue;
        struct buf text = BUF_INIT;
        buf_addc(out, '\n');
        buf_addf(&text, "%s: ", r->label);
        units_add_bytes(&text, r->rss);
        buf_adds(&text, " by RSS, ");
        units_add_bytes(&text, r->pss);
        buf_adds(&text, " by share, stable: constant overhead, not a leak");
        text_fact(out, "overhead", &text, style);
    }
}

/* ---- series ---- */

/* Leaks first, negligible ones last among them; then the deciding series, open series, and main
 * parts. A total ranks below a part with the same verdict. */
static int rank_of(const struct view *v, size_t i)
{
    const struct view_series *s = &v->series[i];
    if (s->answer.verdict == VERDICT_LEAK && s->answer.severity != SEVERITY_NEGLIGIBLE)
        return s->part == PART_TOTAL ? RANK_LEAK - 1 : RANK_LEAK;
    if (s->answer.verdict == VERDICT_LEAK)
        return s->part == PART_TOTAL ? 5 : 6;
    if (i == v->answer.deciding)
        return 4;
    if (s->answer.verdict == VERDICT_INCONCLUSIVE)
        return s->answer.suspect ? 3 : s->part == PART_MAIN ? 2 : 0;
    return s->part == PART_MAIN ? 2 : 1;
}

static void add_table(struct buf *out, const struct view *v, const struct run_job *j,
                      const struct report_style *style)
{
    struct report_series *shown = calloc(v->count + 1, sizeof(*shown));
    if (!shown)
        base_out_of_memory();
    size_t count = 0;
    for (int rank = RANK_LEAK; rank >= 0; rank--)
        for (size_t i = 0; i < v->count && count < SUMMARY_MOST; i++)
            if (rank_of(v, i) == rank)
                shown[count++] = j->series[i];
    struct report_job job = {.series = shown, .count = count, .answer = &v->answer};
    if (count > 1) {
        buf_addc(out, '\n');
        text_summary(out, &job, style);
        if (v->count > count)
            buf_addf(out, "  and %zu more, none of them a leak\n", v->count - count);
    }
    free(shown);
}

static void add_sections(struct buf *out, const struct view *v, const struct run_job *j,
                         const struct report_style *style)
{
    unsigned shown = 0;
    for (size_t i = 0; i < v->count && shown < SECTIONS_MOST; i++) {
        bool leaks = rank_of(v, i) == RANK_LEAK;
        if (!leaks && i != v->answer.deciding)
            continue;
        text_section(out, &j->series[i], style);
        shown++;
    }
}

/* ---- what else ---- */

static void add_notes(struct buf *out, const struct view *v, unsigned count,
                      const struct report_style *style)
{
    for (unsigned i = 0; i < count; i++) {
        struct buf text = BUF_INIT;
        utf8_add_clean(&text, v->notes[i], style->ascii);
        text_fact(out, i == 0 ? "note" : "", &text, style);
    }
}

static void say_cost(struct buf *out, const struct view *v)
{
    if (isnan(v->watcher_cpu_seconds))
        return; /* an unfinished recording */
    buf_addf(out, "%.2f s of CPU", v->watcher_cpu_seconds);
    if (v->seconds >= 1)
        buf_addf(out, " (%.2g %% of a core)", 100 * v->watcher_cpu_seconds / v->seconds);
    if (isfinite(v->watcher_bytes)) {
        buf_adds(out, ", ");
        units_add_bytes(out, v->watcher_bytes);
    }
    buf_adds(out, "; reading PSS delayed the job by at most ");
    units_add_short_time(out, v->stall_seconds);
}

static void add_cost(struct buf *out, const struct view *v, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    say_cost(&text, v);
    text_fact(out, "tidemark", &text, style);
}

/* ---- facts alone ---- */

/* Takes the text, cleaned; an empty one is no fact. */
static void keep_fact(struct report_facts *facts, const char *label, struct buf *text)
{
    if (text->len > 0 && facts->count < REPORT_FACTS) {
        struct report_fact *f = &facts->list[facts->count++];
        *f = (struct report_fact){.label = label};
        utf8_add_clean(&f->text, buf_text(text), false);
    }
    buf_clear(text);
}

void report_run_facts(struct report_facts *ret, const struct view *v)
{
    struct buf text = BUF_INIT;
    *ret = (struct report_facts){.count = 0};
    if (v->command)
        buf_adds(&text, v->command);
    keep_fact(ret, "command", &text);
    say_watched(&text, v);
    keep_fact(ret, "watched", &text);
    if (v->ending)
        buf_adds(&text, v->ending);
    keep_fact(ret, "ended", &text);
    say_limit(&text, v);
    keep_fact(ret, "limit", &text);
    for (unsigned i = 0; i < v->note_count; i++) {
        buf_adds(&text, v->notes[i]);
        keep_fact(ret, "note", &text);
    }
    say_cost(&text, v);
    keep_fact(ret, "tidemark", &text);
    buf_release(&text);
}

void report_facts_release(struct report_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        buf_release(&facts->list[i].text);
    facts->count = 0;
}

/* Where to find the rest. */
static void add_details(struct buf *out, const char *run_file, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (!run_file && !style->full)
        buf_adds(&text, "all series, the balance sheet and notes with --full");
    else if (run_file && run_file[0])
        buf_addf(&text, "%s%s", style->full ? "" : "tidemark show --full ", run_file);
    text_fact(out, style->full ? "run file" : "details", &text, style);
}

static void add_all(struct buf *out, const struct view *v, const struct run_job *j,
                    const struct report_style *style)
{
    buf_addc(out, '\n');
    add_command(out, v, style);
    add_watched(out, v, style);
    activities_text(out, v, style);
    add_ending(out, v, style);
    add_limit(out, v, style);
    add_patterns(out, v, style);
    if (found_any(&v->found)) {
        buf_addc(out, '\n');
        found_text(out, &v->found, style);
    }
    add_sheet(out, v, style);
    add_overhead(out, v, style);
    add_table(out, v, j, style);
    add_sections(out, v, j, style);
    buf_addc(out, '\n');
    found_counts(out, v, style);
    add_notes(out, v, v->note_count, style);
    add_cost(out, v, style);
}

/* The process for which attaching did not help: a leak has no holder, or the question stays open.
 * NULL: none. */
static const struct attached_process *first_in_vain(const struct view *v)
{
    const struct attached_process *e = v->found.entered_count > 0 ? v->found.entered : NULL;
    bool is_leak = v->answer.verdict == VERDICT_LEAK;
    bool is_open = v->answer.verdict == VERDICT_INCONCLUSIVE;
    return e && v->found.count == 0 && (is_leak || (is_open && !e->counted)) ? e : NULL;
}

/* The part below the chart and its facts. */
static void add_run(struct buf *out, const struct view *v, const char *run_file,
                    const struct report_style *style)
{
    const struct attached_process *in_vain = first_in_vain(v);
    found_attached(out, in_vain, in_vain != NULL, style);
    add_watched(out, v, style);
    add_ending(out, v, style);
    add_notes(out, v, v->warning_count, style);
    add_details(out, run_file, style);
}

/* ---- too short for a report ---- */

#define SHORT_SECONDS 10.0

/* The job ended at once without a verdict, and no holder was found. */
static bool is_too_short(const struct view *v)
{
    return v->ended && !v->unread && v->seconds < SHORT_SECONDS && v->found.count == 0 &&
           v->answer.verdict == VERDICT_INCONCLUSIVE;
}

static void add_short(struct buf *out, const struct view *v, const struct run_job *j,
                      const struct report_style *style)
{
    struct buf text = BUF_INIT;
    summary_short(&text, v->seconds, style);
    format_wrapped(out, buf_text(&text), 0, style);
    buf_clear(&text);
    if (v->ending)
        buf_adds(&text, v->ending);
    else if (isfinite(v->steps))
        summary_next(&text, &j->job, style);
    text_answer(out, v->ending ? "ended" : "next", &text, style);
    for (unsigned i = 0; i < v->warning_count; i++) {
        buf_adds(&text, v->notes[i]);
        text_answer(out, "note", &text, style);
    }
}

void report_run_lines(struct report_lines *ret, const struct view *v,
                      const struct report_style *style)
{
    struct run_job j;
    run_job_init(&j, v);
    report_lines(ret, &j.job, style);
    if (is_too_short(v)) {
        buf_clear(&ret->verdict);
        buf_clear(&ret->why);
        summary_short(&ret->verdict, v->seconds, style);
    }
    if (is_too_short(v) && v->ending) {
        buf_clear(&ret->next);
        utf8_add_clean(&ret->next, v->ending, style->ascii);
        ret->next_label = "ended";
    }
    run_job_release(&j);
}

void report_run_text(struct buf *out, const struct view *v, const char *run_file,
                     const struct report_style *style)
{
    struct run_job j;
    struct buf tail = BUF_INIT;
    run_job_init(&j, v);
    if (!style->full && is_too_short(v)) {
        add_short(out, v, &j, style);
        run_job_release(&j);
        return;
    }
    buf_addc(out, '\n');
    text_opening(out, &j.job, style);
    if (style->full)
        add_details(&tail, run_file, style);
    else
        add_run(&tail, v, run_file, style);
    text_ending(&tail, &j.job, style);
    if (style->full)
        add_all(out, v, &j, style);
    else
        text_brief(out, &j.job, text_room(out, &tail), style);
    buf_adds(out, buf_text(&tail));
    buf_release(&tail);
    run_job_release(&j);
}

/* ---- JSON ---- */

static void add_json_arguments(struct json *j, const char *arguments)
{
    struct json_reader r;
    struct json_token t;
    if (!arguments)
        return;
    json_array_begin(j, "command");
    json_reader_init(&r, arguments, strlen(arguments));
    while (json_next(&r, &t) == 0 && t.type != JSON_END) {
        struct buf text = BUF_INIT;
        json_token_text(&t, &text);
        if (t.type == JSON_STRING)
            json_string(j, NULL, buf_text(&text));
        buf_release(&text);
    }
    json_array_end(j);
}

static void add_json_job(struct json *j, const struct view *v)
{
    json_object_begin(j, "job");
    add_json_arguments(j, v->arguments);
    json_number(j, "started", v->started);
    json_number(j, "steps", v->steps);
    json_string(j, "steps_from", v->steps_from);
    json_number(j, "last_step", v->step);
    json_number(j, "epochs", v->epochs);
    json_number(j, "seconds", v->seconds);
    json_number(j, "limit_bytes", v->limit > 0 ? v->limit : NAN);
    json_string(j, "limit_source", v->limit_source);
    if (v->most_processes > 0) /* an unfinished recording lacks it */
        json_integer(j, "processes", v->most_processes);
    json_integer(j, "processes_seen", (int64_t) v->processes_seen);
    if (v->ended && WIFEXITED(v->status))
        json_integer(j, "exit_status", WEXITSTATUS(v->status));
    if (v->ended && WIFSIGNALED(v->status))
        json_integer(j, "exit_signal", WTERMSIG(v->status));
    json_string(j, "ending", v->ending);
    json_object_begin(j, "overhead");
    json_number(j, "watcher_cpu_seconds", v->watcher_cpu_seconds);
    json_number(j, "watcher_bytes", v->watcher_bytes);
    json_number(j, "target_stall_seconds", v->stall_seconds);
    json_object_end(j);
    json_object_end(j);
}

static void add_json_row(struct json *j, const struct view_row *r, const char *role)
{
    json_object_begin(j, NULL);
    json_string(j, "role", role);
    if (r->pid > 0)
        json_integer(j, "pid", r->pid);
    json_integer(j, "processes", r->processes);
    json_string(j, "kind", "host.pss");
    json_number(j, "first", r->pss_first);
    json_number(j, "last", r->pss);
    json_number(j, "anon", r->anon);
    json_number(j, "file", r->file);
    json_number(j, "shmem", r->shmem);
    json_number(j, "swap", r->swap);
    json_number(j, "gpu", r->gpu);
    json_number(j, "rss", r->rss);
    json_object_end(j);
}

void report_run_json(struct buf *out, const struct view *v)
{
    report_run_json_of(out, v, NULL);
}

void report_run_json_of(struct buf *out, const struct view *v, const bool *shown)
{
    struct json j;
    struct run_job job;
    run_job_init(&job, v);
    report_json_begin(&j, out);
    report_json_verdict(&j, &job.job);
    add_json_job(&j, v);
    report_json_some_series(&j, &job.job, shown);
    report_json_found(&j, &v->found);
    report_json_patterns(&j, v->patterns, v->pattern_count);
    activities_json(&j, v);
    json_array_begin(&j, "balance");
    for (size_t i = 0; i < v->row_count; i++)
        add_json_row(&j, &v->rows[i], proc_role_name(v->rows[i].role));
    if (v->row_count > 0)
        add_json_row(&j, &v->total, "job");
    json_array_end(&j);
    json_object_begin(&j, "system");
    json_number(&j, "total", v->system_total);
    json_number(&j, "used_first", v->system_first);
    json_number(&j, "used_last", v->system_last);
    json_number(&j, "shm_first", v->shm_first);
    json_number(&j, "shm_last", v->shm_last);
    json_object_end(&j);
    json_number(&j, "unexplained_bytes", unexplained(v));
    json_array_begin(&j, "notes");
    for (unsigned i = 0; i < v->note_count; i++)
        json_string(&j, NULL, v->notes[i]);
    json_array_end(&j);
    report_json_end(&j);
    run_job_release(&job);
}

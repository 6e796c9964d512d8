/* screen/cells.c: what a process shows in each column. */
#include "screen/cells.h"

#include "screen/spark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the verdict ---- */

static bool is_suspect(const struct entry *e)
{
    return e->series && e->series->answer.suspect;
}

double entry_urgency(const struct entry *e)
{
    if (!e->series)
        return e->process->moves;
    if (e->answer.verdict == VERDICT_LEAK)
        return e->answer.severity == SEVERITY_NEGLIGIBLE ? 5 : 10 + (double) e->answer.severity;
    if (is_suspect(e))
        return 9;
    return e->answer.verdict == VERDICT_INCONCLUSIVE ? 4 : 2;
}

const char *cell_verdict(const struct entry *e)
{
    static const char *const leaks[] = {
        [SEVERITY_NONE] = "LEAK",      [SEVERITY_NEGLIGIBLE] = "negligible",
        [SEVERITY_LOW] = "LEAK low",   [SEVERITY_MEDIUM] = "LEAK medium",
        [SEVERITY_HIGH] = "LEAK high",
    };
    if (!e->series)
        return e->process->moves ? "too early" : "flat";
    if (e->answer.verdict == VERDICT_LEAK)
        return leaks[e->answer.severity];
    if (is_suspect(e))
        return "suspect";
    return e->answer.verdict == VERDICT_NO_LEAK ? "no leak" : "too early";
}

/* ---- the columns ---- */

const char *column_title(enum column column)
{
    static const char *const titles[COLUMNS] = {
        [COLUMN_PROCESS] = "process", [COLUMN_MEMORY] = "memory",   [COLUMN_ANON] = "anon",
        [COLUMN_FILE] = "file",       [COLUMN_SHARED] = "shmem",    [COLUMN_SWAP] = "swap",
        [COLUMN_GPU] = "gpu",         [COLUMN_HISTORY] = "history", [COLUMN_KIND] = "series",
        [COLUMN_FLOOR] = "floor",     [COLUMN_RATE] = "rate",       [COLUMN_VERDICT] = "verdict",
        [COLUMN_LIMIT] = "limit in",  [COLUMN_COMMAND] = "command",
    };
    return titles[column];
}

bool column_is_right(enum column column)
{
    return column != COLUMN_PROCESS && column != COLUMN_HISTORY && column != COLUMN_KIND &&
           column != COLUMN_VERDICT && column != COLUMN_COMMAND;
}

static void add_bytes(struct buf *out, double bytes)
{
    if (isfinite(bytes))
        units_add_bytes(out, bytes);
}

static void add_name(struct buf *out, const struct entry *e, const struct row *row, unsigned width,
                     bool ascii)
{
    unsigned label = (unsigned) strlen(e->process->label);
    row_add_lines(out, row, width > label ? width - label : 0, ascii);
    if (row->is_folded)
        buf_adds(out, "+");
    buf_adds(out, e->process->label);
    if (row->is_folded)
        buf_addf(out, " +%zu", e->process->descendants);
}

static bool grows(const struct answer *a)
{
    return a->verdict == VERDICT_LEAK || a->suspect;
}

static void add_history(struct buf *out, const struct entry *e, unsigned width, bool ascii)
{
    double values[SPARK_MOST];
    if (!e->series || width > SPARK_MOST)
        return;
    spark_values(&e->series->history, width, values);
    spark_add(out, values, width, grows(&e->series->answer), ascii);
}

static void add_kind(struct buf *out, const struct view_series *s)
{
    buf_adds(out, s->info.kind);
    if (s->info.device)
        buf_addf(out, " %s", s->info.device);
}

static void add_limit(struct buf *out, const struct entry *e)
{
    const struct answer *a = &e->series->answer;
    if (grows(a) && isfinite(a->forecast.limit_seconds))
        units_add_duration(out, a->forecast.limit_seconds);
}

static void add_series_cell(struct buf *out, enum column column, const struct entry *e, bool ascii)
{
    const struct view_series *s = e->series;
    const struct report_style style = {.ascii = ascii};
    if (!s)
        return;
    if (column == COLUMN_KIND)
        add_kind(out, s);
    else if (column == COLUMN_FLOOR && isfinite(s->answer.floor_last))
        series_add_value(out, s->answer.floor_last, s->info.unit);
    else if (column == COLUMN_RATE)
        format_current_rate(out, &s->answer, &s->info, &style);
    else if (column == COLUMN_LIMIT)
        add_limit(out, e);
}

void cell_text(struct buf *out, enum column column, const struct entry *e,
               const struct entry *worst, const struct row *row, unsigned width, bool ascii)
{
    const struct view_row *memory = &e->process->memory;
    switch (column) {
    case COLUMN_PROCESS:
        add_name(out, e, row, width, ascii);
        break;
    case COLUMN_MEMORY:
        add_bytes(out, row->is_folded ? e->process->whole : memory->pss);
        break;
    case COLUMN_ANON:
        add_bytes(out, memory->anon);
        break;
    case COLUMN_FILE:
        add_bytes(out, memory->file);
        break;
    case COLUMN_SHARED:
        add_bytes(out, memory->shmem);
        break;
    case COLUMN_SWAP:
        add_bytes(out, memory->swap);
        break;
    case COLUMN_GPU:
        add_bytes(out, memory->gpu);
        break;
    case COLUMN_HISTORY:
        add_history(out, worst, width, ascii);
        break;
    case COLUMN_VERDICT:
        buf_adds(out, cell_verdict(worst));
        break;
    case COLUMN_COMMAND:
        buf_adds(out, e->process->command ? e->process->command : "");
        break;
    default:
        add_series_cell(out, column, worst, ascii);
        break;
    }
}

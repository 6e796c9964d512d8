/* store/thin.c: thins history: samples become blocks, blocks become wider, marks become fewer. */
#include "store/thin.h"

#include "store/db.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* The most stretches of time turned into blocks in one call. */
#define THIN_STEPS 4

enum { FIRST_SAMPLE, SAMPLES_TO_BLOCKS, DROP_SAMPLES, FIRST_BLOCK, MERGE_BLOCKS, DROP_BLOCKS };

/* Rounding must not carry a mean outside the range of its values. */
#define MEAN(low, mean, high) "max(" low ", min(" high ", " mean "))"

static const char *const statement_texts[] = {
    [FIRST_SAMPLE] = "SELECT min(seconds) FROM sample",
    [SAMPLES_TO_BLOCKS] =
        "INSERT OR REPLACE INTO block"
        " (width, start, series, seconds, count, floor, mean, max)"
        " SELECT ?1, ?2, series, avg(seconds), count(*), min(value),"
        " " MEAN("min(value)", "avg(value)",
                 "max(value)") ", max(value)"
                               " FROM sample WHERE seconds < ?2 + ?1 GROUP BY series",
    [DROP_SAMPLES] = "DELETE FROM sample WHERE seconds < ?2 + ?1",
    [FIRST_BLOCK] = "SELECT min(start) FROM block WHERE width = ?1",
    [MERGE_BLOCKS] =
        "INSERT OR REPLACE INTO block"
        " (width, start, series, seconds, count, floor, mean, max)"
        " SELECT 2 * ?1, ?2, series, sum(seconds * count) / sum(count), sum(count),"
        " min(floor), " MEAN(
            "min(floor)", "sum(mean * count) / sum(count)",
            "max(max)") ", max(max)"
                        " FROM block WHERE width = ?1 AND start < ?2 + 2 * ?1 GROUP BY series",
    [DROP_BLOCKS] = "DELETE FROM block WHERE width = ?1 AND start < ?2 + 2 * ?1",
};

#define STATEMENTS (sizeof statement_texts / sizeof *statement_texts)

int thin_init(struct thin *t, sqlite3 *db)
{
    *t = (struct thin){.db = db, .widest = THIN_WIDTH, .samples_from = -INFINITY};
    _Static_assert(STATEMENTS == sizeof t->statements / sizeof *t->statements, "one for each");
    int r = 0;
    for (size_t i = 0; i < STATEMENTS && r == 0; i++)
        r = db_prepare(db, statement_texts[i], &t->statements[i]);
    if (r < 0)
        thin_release(t);
    return r;
}

void thin_release(struct thin *t)
{
    for (size_t i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(t->statements[i]);
        t->statements[i] = NULL;
    }
}

/* Runs a statement with the width and the start of a stretch of time. */
static int run(struct thin *t, int statement, int64_t width, int64_t start)
{
    sqlite3_stmt *s = t->statements[statement];
    sqlite3_bind_int64(s, 1, width);
    sqlite3_bind_int64(s, 2, start);
    return db_run(s);
}

/* The start of the stretch of `width` that contains `seconds`. */
static int64_t stretch(double seconds, int64_t width)
{
    return (int64_t) floor(seconds / (double) width) * width;
}

static bool samples_are_due(const struct thin *t, double end, double now)
{
    bool too_many = t->sample_rows > THIN_SAMPLE_ROWS && end <= now;
    return too_many || end <= now - THIN_SAMPLE_SECONDS;
}

/* 1: the oldest samples became blocks. 0: nothing is due. */
static int thin_samples(struct thin *t, double now)
{
    double first;
    int r = db_number(t->statements[FIRST_SAMPLE], &first);
    if (r < 0)
        return r == -ENODATA ? 0 : r;
    int64_t start = stretch(first, THIN_WIDTH);
    double end = (double) (start + THIN_WIDTH);
    if (!samples_are_due(t, end, now))
        return 0;
    r = run(t, SAMPLES_TO_BLOCKS, THIN_WIDTH, start);
    if (r == 0)
        r = run(t, DROP_SAMPLES, THIN_WIDTH, start);
    if (r < 0)
        return r;
    t->sample_rows -= sqlite3_changes(t->db);
    t->samples_from = end;
    return 1;
}

/* 1: the oldest blocks of this width were merged. 0: nothing is due. */
static int thin_blocks(struct thin *t, int64_t width, double now)
{
    sqlite3_bind_int64(t->statements[FIRST_BLOCK], 1, width);
    double first;
    int r = db_number(t->statements[FIRST_BLOCK], &first);
    if (r < 0)
        return r == -ENODATA ? 0 : r;
    int64_t twice = 2 * width, start = stretch(first, twice);
    if ((double) (start + twice) > now - (double) (THIN_SHARE * twice))
        return 0;
    r = run(t, MERGE_BLOCKS, width, start);
    if (r == 0)
        r = run(t, DROP_BLOCKS, width, start);
    if (r < 0)
        return r;
    t->widest = t->widest > twice ? t->widest : twice;
    return 1;
}

/* Finest first, so that only complete blocks are merged. 1: something was done. */
static int thin_finest(struct thin *t, double now)
{
    int r = thin_samples(t, now);
    for (int64_t width = THIN_WIDTH; r == 0 && width <= t->widest; width *= 2)
        r = thin_blocks(t, width, now);
    return r;
}

bool thin_is_due(const struct thin *t, double seconds)
{
    return seconds >= t->next_seconds || t->sample_rows > THIN_SAMPLE_ROWS;
}

int thin_history(struct thin *t, double seconds)
{
    if (!thin_is_due(t, seconds))
        return 0;
    int r = 1;
    for (int i = 0; i < THIN_STEPS && r == 1; i++)
        r = thin_finest(t, seconds);
    /* Every stretch ends at a multiple of the smallest width, so the next one is due there. */
    if (r == 0)
        t->next_seconds = (double) (stretch(seconds, THIN_WIDTH) + THIN_WIDTH);
    return r < 0 ? r : 0;
}

/* A power of two, so that thinning again finds the same cells or pairs of them. */
static double mark_cell(double span)
{
    return span > 0 ? exp2(ceil(log2(span / (THIN_MARKS / 2.0)))) : 1;
}

static int merge_marks(sqlite3 *db, double cell)
{
    /* Steps and epochs grow within a cell, so the largest are those at its end. */
    char *sql = sqlite3_mprintf(
        "CREATE TEMP TABLE kept AS SELECT max(seconds) AS seconds, max(step) AS step,"
        " max(epoch) AS epoch FROM mark GROUP BY CAST(seconds / %!.17g AS INTEGER) ORDER BY 1;"
        "DELETE FROM mark;"
        "INSERT INTO mark (seconds, step, epoch) SELECT seconds, step, epoch FROM kept;"
        "DROP TABLE temp.kept;",
        cell);
    int r = sql ? db_exec(db, sql) : -ENOMEM;
    sqlite3_free(sql);
    return r;
}

int thin_marks(struct thin *t)
{
    double count, span;
    int r = db_ask(t->db, "SELECT count(*) FROM mark", &count);
    if (r < 0 || count <= THIN_MARKS)
        return r;
    r = db_ask(t->db, "SELECT max(seconds) - min(seconds) FROM mark", &span);
    return r < 0 ? r : merge_marks(t->db, mark_cell(span));
}

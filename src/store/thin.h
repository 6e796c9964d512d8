/* store/thin.h: keeps a run file bounded: old samples become blocks, blocks become wider. */
#ifndef TIDEMARK_STORE_THIN_H
#define TIDEMARK_STORE_THIN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Samples stay for THIN_SAMPLE_SECONDS, or until there are THIN_SAMPLE_ROWS of them. Then the
 * samples of THIN_WIDTH seconds become one block per series. Two blocks merge into one of twice the
 * width as soon as that is less than 1/THIN_SHARE of their age. A series so has about THIN_SHARE
 * blocks for each doubling of the run's length: recent history is fine, old history coarse.
 */
#define THIN_SAMPLE_SECONDS 600
#define THIN_SAMPLE_ROWS 240000
#define THIN_WIDTH 8
#define THIN_SHARE 64

/* More marks than this are thinned to half of it, one per stretch of equal length. */
#define THIN_MARKS 4096

/*
 * A plain value: copy it before a transaction and restore the copy after a rollback. The statements
 * belong to the one given to thin_init(). One owner, one thread.
 */
struct thin {
    sqlite3 *db;
    sqlite3_stmt *statements[6];
    int64_t sample_rows; /* number of samples; whoever adds samples updates it */
    int64_t widest;      /* width of the widest blocks so far */
    double next_seconds; /* nothing is due before this */
    double samples_from; /* older samples have become blocks */
};

int thin_init(struct thin *t, sqlite3 *db);
void thin_release(struct thin *t);

/* Whether thin_history() would do something. */
bool thin_is_due(const struct thin *t, double seconds);

/* Does a bounded part of what is due at `seconds`; call it once a second, inside a transaction. */
int thin_history(struct thin *t, double seconds);

/* Thins the marks if there are too many. */
int thin_marks(struct thin *t);

#endif

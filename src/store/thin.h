/* store/thin.h: keeps a run file bounded: old samples become blocks, blocks become wider. */
#ifndef TIDEMARK_STORE_THIN_H
#define TIDEMARK_STORE_THIN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Samples stay for THIN_SAMPLE_SECONDS, or until there are THIN_SAMPLE_ROWS of them. Then those of
 * THIN_WIDTH seconds become one block a series, and two blocks become one of twice the width as
 * soon as that is less than 1/THIN_SHARE of their age. So a series has about THIN_SHARE blocks for
 * each doubling of the run's length, and what is seen of the past is as fine as it is near.
 */
#define THIN_SAMPLE_SECONDS 600
#define THIN_SAMPLE_ROWS 240000
#define THIN_WIDTH 8
#define THIN_SHARE 64

/* Marks are thinned to half of this, one for each stretch of equal length, when there are more. */
#define THIN_MARKS 4096

/*
 * A value: a copy taken before a transaction is what to go back to if it is rolled back; the
 * statements are owned by the one that was given to thin_init(). One owner, one thread.
 */
struct thin {
    sqlite3 *db;
    sqlite3_stmt *statements[6];
    int64_t sample_rows; /* how many there are: whoever adds some says so here */
    int64_t widest;      /* width of the widest blocks there are */
    double next_seconds; /* nothing is due before */
    double samples_from; /* what is older has become blocks */
};

int thin_init(struct thin *t, sqlite3 *db);
void thin_release(struct thin *t);

/* Whether thin_history() would do something. */
bool thin_is_due(const struct thin *t, double seconds);

/* A bounded piece of what is due at `seconds`; call it once a second, inside a transaction. */
int thin_history(struct thin *t, double seconds);

/* Thins the marks if there are too many. */
int thin_marks(struct thin *t);

#endif

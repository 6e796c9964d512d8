/* store/queue.h: rows that wait for the next commit. Its only I/O is through bound statements. */
#ifndef TIDEMARK_STORE_QUEUE_H
#define TIDEMARK_STORE_QUEUE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts of processes and events are cut to this length. */
#define QUEUE_TEXT_BYTES 4096

/*
 * Rows in the order they were added, each a statement's number and its values. They stay until
 * queue_clear(), so that a failed commit can be tried again. One owner, one thread.
 */
struct queue {
    struct queue_row *rows;
    struct queue_value *values;
    size_t row_count, row_capacity, value_count, value_capacity;
    size_t text_bytes;
    bool broken; /* the row being built lacks a value: no memory */
};

void queue_init(struct queue *q);
void queue_release(struct queue *q);
void queue_clear(struct queue *q);

/*
 * False: too much is waiting to add more. A `costly` row (a process, a series) has twice the room
 * of a frequent one (a mark), so frequent rows never crowd it out.
 */
bool queue_has_room(const struct queue *q, bool costly);

/*
 * Begin a row, add its values in the order of the statement's parameters, end it. NAN and NULL
 * become SQL's NULL. Texts are copied, made valid UTF-8 and cut to `max` bytes.
 */
void queue_begin(struct queue *q, unsigned statement);
void queue_integer(struct queue *q, int64_t value);
void queue_real(struct queue *q, double value);
void queue_null(struct queue *q);
void queue_text(struct queue *q, const char *text, size_t max);
int queue_end(struct queue *q); /* -ENOMEM: the row was not added */

/* Runs every row. Returns 0, or -errno of the first that failed; the queue is unchanged. */
int queue_run(const struct queue *q, sqlite3_stmt *const *statements);

#endif

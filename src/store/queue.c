/* store/queue.c: rows that wait for the next commit. */
#include "store/queue.h"

#include "base/base.h"
#include "store/db.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_ROWS 16384
#define QUEUE_BYTES ((size_t) 8 << 20)
#define REPLACEMENT "\xef\xbf\xbd"

struct queue_row {
    unsigned statement, value_count;
};

struct queue_value {
    enum { VALUE_NULL, VALUE_INTEGER, VALUE_REAL, VALUE_TEXT } type;
    union {
        int64_t integer;
        double real;
        char *text;
    };
};

void queue_init(struct queue *q)
{
    *q = (struct queue){0};
}

static void drop_values(struct queue *q, size_t keep)
{
    for (; q->value_count > keep; q->value_count--) {
        struct queue_value *v = &q->values[q->value_count - 1];
        if (v->type == VALUE_TEXT)
            free(v->text);
    }
}

void queue_clear(struct queue *q)
{
    drop_values(q, 0);
    q->row_count = 0;
    q->text_bytes = 0;
}

void queue_release(struct queue *q)
{
    queue_clear(q);
    free(q->rows);
    free(q->values);
    queue_init(q);
}

bool queue_has_room(const struct queue *q, bool costly)
{
    size_t share = costly ? 1 : 2;
    return q->row_count < QUEUE_ROWS / share && q->text_bytes < QUEUE_BYTES / share;
}

/* The array with room for one more element of `size` bytes; NULL: no memory, array unchanged. */
static void *grown(void *array, size_t size, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return array;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *larger = reallocarray(array, more, size);
    if (larger)
        *capacity = more;
    return larger;
}

void queue_begin(struct queue *q, unsigned statement)
{
    void *rows = grown(q->rows, sizeof *q->rows, q->row_count, &q->row_capacity);
    q->broken = !rows;
    if (!rows)
        return;
    q->rows = rows;
    q->rows[q->row_count] = (struct queue_row){.statement = statement};
}

/* The slot for the row's next value, NULL in SQL so far; NULL: no memory. */
static struct queue_value *add_value(struct queue *q)
{
    void *values = NULL;
    if (!q->broken)
        values = grown(q->values, sizeof *q->values, q->value_count, &q->value_capacity);
    q->broken = !values;
    if (!values)
        return NULL;
    q->values = values;
    q->rows[q->row_count].value_count++;
    struct queue_value *v = &q->values[q->value_count++];
    v->type = VALUE_NULL;
    return v;
}

void queue_integer(struct queue *q, int64_t value)
{
    struct queue_value *v = add_value(q);
    if (v)
        *v = (struct queue_value){.type = VALUE_INTEGER, .integer = value};
}

void queue_real(struct queue *q, double value)
{
    struct queue_value *v = add_value(q);
    if (v && !isnan(value))
        *v = (struct queue_value){.type = VALUE_REAL, .real = value};
}

void queue_null(struct queue *q)
{
    (void) add_value(q);
}

/* Length of the text once invalid UTF-8 has become U+FFFD. */
static size_t repaired_length(const char *text)
{
    size_t total = 0;
    for (const char *s = text; *s;) {
        size_t len = utf8_length(s);
        total += len ? len : strlen(REPLACEMENT);
        s += len ? len : 1;
    }
    return total;
}

/* A copy in valid UTF-8 of at most `max` bytes. NULL: no memory. */
static char *copy_repaired(const char *text, size_t max)
{
    size_t room = repaired_length(text), used = 0;
    room = room < max ? room : max;
    char *copy = malloc(room + 1);
    if (!copy)
        return NULL;
    for (const char *s = text; *s;) {
        size_t len = utf8_length(s), out = len ? len : strlen(REPLACEMENT);
        if (used + out > room)
            break;
        memcpy(copy + used, len ? s : REPLACEMENT, out);
        used += out;
        s += len ? len : 1;
    }
    copy[used] = '\0';
    return copy;
}

void queue_text(struct queue *q, const char *text, size_t max)
{
    struct queue_value *v = add_value(q);
    if (!v || !text)
        return;
    v->text = copy_repaired(text, max);
    q->broken = !v->text;
    if (q->broken)
        return;
    v->type = VALUE_TEXT;
    q->text_bytes += strlen(v->text);
}

int queue_end(struct queue *q)
{
    if (q->broken) {
        if (q->row_count < q->row_capacity)
            drop_values(q, q->value_count - q->rows[q->row_count].value_count);
        return -ENOMEM;
    }
    q->row_count++;
    return 0;
}

static int bind(sqlite3_stmt *statement, int index, const struct queue_value *v)
{
    switch (v->type) {
    case VALUE_INTEGER:
        return sqlite3_bind_int64(statement, index, v->integer);
    case VALUE_REAL:
        return sqlite3_bind_double(statement, index, v->real);
    case VALUE_TEXT:
        return sqlite3_bind_text(statement, index, v->text, -1, SQLITE_STATIC);
    default:
        return sqlite3_bind_null(statement, index);
    }
}

static int run_row(sqlite3_stmt *statement, const struct queue_value *values, unsigned count)
{
    int code = SQLITE_OK;
    for (unsigned i = 0; i < count && code == SQLITE_OK; i++)
        code = bind(statement, (int) i + 1, &values[i]);
    int r = code == SQLITE_OK ? db_run(statement) : code == SQLITE_NOMEM ? -ENOMEM : -E2BIG;
    sqlite3_clear_bindings(statement);
    return r;
}

int queue_run(const struct queue *q, sqlite3_stmt *const *statements)
{
    const struct queue_value *values = q->values;
    int r = 0;
    for (size_t i = 0; i < q->row_count && r == 0; i++) {
        r = run_row(statements[q->rows[i].statement], values, q->rows[i].value_count);
        values += q->rows[i].value_count;
    }
    return r;
}

/* store/writer.c: writes a run file, a second at a time. */
#include "store/db.h"
#include "store/handle.h"
#include "store/queue.h"
#include "store/store.h"
#include "store/thin.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Samples that may wait for a commit; while the disk is full, the newest ones are kept. */
#define WAITING_SAMPLES 16384
/* Seconds before another attempt at a file that could not be written. */
#define RETRY_SECONDS 10
/*
 * How often the log goes into the file: at first every CHECKPOINT_LEAST seconds, later after
 * 1/CHECKPOINT_STRETCH of the run, using at most CHECKPOINT_SHARE of the time, but at least every
 * CHECKPOINT_MOST seconds.
 */
#define CHECKPOINT_LEAST 2.0
#define CHECKPOINT_MOST 60.0
#define CHECKPOINT_STRETCH 16.0
#define CHECKPOINT_SHARE 0.001
/* Events of one kind that are kept; further ones are only counted. */
#define EVENTS_OF_A_KIND 256
#define EVENT_KINDS 32
/* New marks between two checks of their number. */
#define MARKS_TO_LOOK 512

enum {
    ROW_RUN,
    ROW_TERMS,
    ROW_PROCESS,
    ROW_SERIES,
    ROW_LIMIT,
    ROW_SAMPLE,
    ROW_MARK,
    ROW_EVENT,
    ROW_NO_LOOKS,
    ROW_LOOK,
    ROW_NO_COUNT,
    ROW_CENSUS,
    ROW_SITES,
    ROW_ANSWER,
    ROW_BEGIN,
    ROW_COMMIT,
    ROW_STATEMENTS
};

/* NULL leaves a value as it was. */
static const char update_terms[] =
    "UPDATE run SET limit_bytes = coalesce(?1, limit_bytes),"
    " limit_source = coalesce(?2, limit_source), plan_steps = coalesce(?3, plan_steps),"
    " epoch_length = coalesce(?4, epoch_length)";

/* No statement can fail because of its values: a row that does not fit is left out, not retried. */
static const char *const row_texts[ROW_STATEMENTS] = {
    [ROW_RUN] = "INSERT OR IGNORE INTO run VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [ROW_TERMS] = update_terms,
    [ROW_PROCESS] = "INSERT OR REPLACE INTO process VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [ROW_SERIES] = "INSERT OR IGNORE INTO series VALUES (?,?,?,?,?,?,?,?)",
    [ROW_LIMIT] = "UPDATE series SET capacity = ?2, rule = ?3 WHERE id = ?1",
    [ROW_SAMPLE] = "INSERT OR IGNORE INTO sample VALUES (?,?,?)",
    [ROW_MARK] = "INSERT OR IGNORE INTO mark (seconds, step, epoch) VALUES (?,?,?)",
    [ROW_EVENT] = "INSERT OR REPLACE INTO event VALUES (?,?,?,?)",
    [ROW_NO_LOOKS] = "DELETE FROM look WHERE process = ?",
    [ROW_LOOK] = "INSERT OR REPLACE INTO look VALUES (?,?,?,?,?,?,?,?)",
    [ROW_NO_COUNT] = "DELETE FROM census WHERE process = ? AND searched = 0",
    [ROW_CENSUS] = "INSERT OR REPLACE INTO census VALUES (?,?,?,?)",
    [ROW_SITES] = "INSERT OR REPLACE INTO sites VALUES (?,?)",
    [ROW_ANSWER] = "INSERT OR REPLACE INTO answer (rowid, json, report) VALUES (1,?,?)",
    [ROW_BEGIN] = "BEGIN IMMEDIATE",
    [ROW_COMMIT] = "COMMIT",
};

struct sample {
    int64_t series;
    double seconds, value;
};

struct event_kind {
    char what[32];
    uint64_t count;
    int64_t last_id;
};

/*
 * Everything waits in memory, and each commit writes it in one transaction. A failed commit is
 * rolled back and retried later, and no lock is held in between.
 */
struct writer {
    sqlite3_stmt *rows[ROW_STATEMENTS];
    struct queue queue;
    struct sample *samples;
    size_t sample_count;
    struct thin thin;
    unsigned new_marks;
    int64_t processes, series, events; /* the last ids assigned */
    struct event_kind kinds[EVENT_KINDS];
    unsigned kind_count;
    int error; /* of the last commit */
    double retry_seconds;
    double checkpoint_seconds; /* time of the next checkpoint of the log */
    bool is_ahead;             /* the log has data that the file lacks */
};

void writer_free(struct writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < ROW_STATEMENTS; i++)
        sqlite3_finalize(w->rows[i]);
    thin_release(&w->thin);
    queue_release(&w->queue);
    free(w->samples);
    free(w);
}

/* ---- commits ---- */

static int write_samples(struct writer *w)
{
    sqlite3_stmt *row = w->rows[ROW_SAMPLE];
    int r = 0;
    for (size_t i = 0; i < w->sample_count && r == 0; i++) {
        const struct sample *x = &w->samples[i];
        sqlite3_bind_double(row, 1, x->seconds);
        sqlite3_bind_int64(row, 2, x->series);
        sqlite3_bind_double(row, 3, x->value);
        r = db_run(row);
    }
    w->thin.sample_rows += (int64_t) w->sample_count;
    return r;
}

static int write_marks(struct writer *w)
{
    return w->new_marks < MARKS_TO_LOOK ? 0 : thin_marks(&w->thin);
}

static int write_all(struct store *s, double seconds)
{
    struct writer *w = s->writer;
    int r = db_run(w->rows[ROW_BEGIN]);
    if (r == 0)
        r = queue_run(&w->queue, w->rows);
    if (r == 0)
        r = write_samples(w);
    if (r == 0)
        r = write_marks(w);
    if (r == 0)
        r = thin_history(&w->thin, seconds);
    return r < 0 ? r : db_run(w->rows[ROW_COMMIT]);
}

/* Writes everything that waits in one transaction; rows of a failed one go on waiting. */
static int flush(struct store *s, double seconds)
{
    struct writer *w = s->writer;
    struct thin before = w->thin;
    if (w->queue.row_count == 0 && w->sample_count == 0 && !thin_is_due(&w->thin, seconds))
        return 0;
    int r = write_all(s, seconds);
    if (r < 0) {
        if (!sqlite3_get_autocommit(s->db))
            (void) db_exec(s->db, "ROLLBACK");
        w->thin = before;
        return r;
    }
    queue_clear(&w->queue);
    w->sample_count = 0;
    w->is_ahead = true;
    if (w->new_marks >= MARKS_TO_LOOK)
        w->new_marks = 0;
    return 0;
}

/* flush(), and remembers the result. A full disk may still have room in the log. */
static int try_flush(struct store *s, double seconds)
{
    struct writer *w = s->writer;
    if (w->error < 0)
        (void) sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    w->error = flush(s, seconds);
    w->retry_seconds = seconds + RETRY_SECONDS;
    return w->error;
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/*
 * The file alone must hold the run up to a short while ago, in case it is copied or survives
 * without its log. A passive checkpoint never waits for a reader: what one still reads in the log
 * stays there.
 */
static void checkpoint(struct store *s, double seconds)
{
    struct writer *w = s->writer;
    if (!w->is_ahead || seconds < w->checkpoint_seconds)
        return;
    int in_log = 0, in_file = 0;
    double began = now_seconds();
    int code = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &in_file);
    double cost = now_seconds() - began;
    w->is_ahead = code != SQLITE_OK || in_file < in_log;
    double wait = fmax(seconds / CHECKPOINT_STRETCH, cost / CHECKPOINT_SHARE);
    w->checkpoint_seconds = seconds + fmin(fmax(wait, CHECKPOINT_LEAST), CHECKPOINT_MOST);
}

int store_commit(struct store *s, double seconds)
{
    struct writer *w = s->writer;
    /* Another program's lock is released within moments: try again at once. */
    if (w->error < 0 && w->error != -EBUSY && seconds < w->retry_seconds)
        return w->error;
    int r = try_flush(s, seconds);
    if (r == 0)
        checkpoint(s, seconds);
    return r;
}

const char *store_words(int code)
{
    switch (code) {
    case -EBADMSG:
    case -EINVAL:
        return "another program has damaged it";
    case -EBUSY:
        return "another program has locked it";
    default:
        return error_words(-code);
    }
}

/* ---- rows ---- */

static void add_run(struct writer *w, const struct store_run *run)
{
    struct queue *q = &w->queue;
    queue_begin(q, ROW_RUN);
    queue_text(q, TIDEMARK_VERSION, SIZE_MAX);
    queue_text(q, run->command, SIZE_MAX);
    queue_text(q, run->title, QUEUE_TEXT_BYTES);
    queue_text(q, run->host, QUEUE_TEXT_BYTES);
    queue_real(q, run->started);
    queue_real(q, run->limit_bytes);
    queue_text(q, run->limit_source, QUEUE_TEXT_BYTES);
    queue_real(q, run->plan_steps);
    queue_real(q, run->plan_seconds);
    queue_real(q, run->horizon);
    queue_real(q, run->epoch_length);
    (void) queue_end(q);
}

/* An id, or SQL's NULL for `none`. */
static void add_id(struct queue *q, int64_t id, int64_t none)
{
    if (id == none)
        queue_null(q);
    else
        queue_integer(q, id);
}

static void add_status(struct queue *q, double status)
{
    if (isfinite(status))
        queue_integer(q, (int64_t) status);
    else
        queue_null(q);
}

static int add_process(struct queue *q, int64_t id, const struct store_process *p)
{
    queue_begin(q, ROW_PROCESS);
    queue_integer(q, id);
    queue_integer(q, p->pid);
    queue_integer(q, (int64_t) p->start);
    add_id(q, p->parent_pid, 0);
    queue_text(q, p->role, QUEUE_TEXT_BYTES);
    add_id(q, p->rank, -1);
    queue_text(q, p->command, QUEUE_TEXT_BYTES);
    queue_text(q, p->why, QUEUE_TEXT_BYTES);
    queue_real(q, p->first_seconds);
    queue_real(q, p->last_seconds);
    add_status(q, p->exit_status);
    return queue_end(q);
}

int64_t store_add_process(struct store *s, const struct store_process *p)
{
    struct writer *w = s->writer;
    bool added =
        queue_has_room(&w->queue, true) && add_process(&w->queue, w->processes + 1, p) == 0;
    return added ? ++w->processes : 0;
}

void store_update_process(struct store *s, int64_t id, const struct store_process *p)
{
    struct queue *q = &s->writer->queue;
    if (id > 0 && queue_has_room(q, false))
        (void) add_process(q, id, p);
}

int64_t store_add_series(struct store *s, const struct store_series *series)
{
    struct writer *w = s->writer;
    struct queue *q = &w->queue;
    if (!queue_has_room(q, true))
        return 0;
    queue_begin(q, ROW_SERIES);
    queue_integer(q, w->series + 1);
    add_id(q, series->process, 0);
    queue_text(q, series->kind, QUEUE_TEXT_BYTES);
    queue_text(q, series->device, QUEUE_TEXT_BYTES);
    queue_text(q, series->name, QUEUE_TEXT_BYTES);
    queue_text(q, series_unit_name(series->unit), QUEUE_TEXT_BYTES);
    queue_real(q, series->limit > 0 ? series->limit : (double) NAN);
    queue_text(q, series->rule, QUEUE_TEXT_BYTES);
    return queue_end(q) < 0 ? 0 : ++w->series;
}

void store_update_series(struct store *s, int64_t series, double limit, const char *rule)
{
    struct queue *q = &s->writer->queue;
    if (series <= 0 || !queue_has_room(q, false))
        return;
    queue_begin(q, ROW_LIMIT);
    queue_integer(q, series);
    queue_real(q, limit > 0 ? limit : (double) NAN);
    queue_text(q, rule, QUEUE_TEXT_BYTES);
    (void) queue_end(q);
}

void store_set_terms(struct store *s, double limit_bytes, const char *limit_source,
                     double plan_steps, double epoch_length)
{
    struct queue *q = &s->writer->queue;
    if (!queue_has_room(q, false))
        return;
    queue_begin(q, ROW_TERMS);
    queue_real(q, limit_bytes);
    queue_text(q, limit_source, QUEUE_TEXT_BYTES);
    queue_real(q, plan_steps);
    queue_real(q, epoch_length);
    (void) queue_end(q);
}

void store_add_sample(struct store *s, int64_t series, double seconds, double value)
{
    struct writer *w = s->writer;
    if (series <= 0 || !isfinite(seconds) || !isfinite(value) || seconds < w->thin.samples_from)
        return;
    if (w->sample_count == WAITING_SAMPLES && store_commit(s, seconds) < 0)
        w->sample_count = 0;
    w->samples[w->sample_count++] = (struct sample){series, seconds, value};
}

void store_add_mark(struct store *s, double seconds, double step, double epoch)
{
    struct writer *w = s->writer;
    struct queue *q = &w->queue;
    if (!isfinite(seconds) || !queue_has_room(q, false))
        return;
    queue_begin(q, ROW_MARK);
    queue_real(q, seconds);
    queue_real(q, step);
    queue_real(q, epoch);
    w->new_marks += queue_end(q) == 0;
}

/* Kinds beyond EVENT_KINDS share the last slot. */
static struct event_kind *find_kind(struct writer *w, const char *what)
{
    for (unsigned i = 0; i < w->kind_count; i++) {
        if (strncmp(w->kinds[i].what, what, sizeof w->kinds[i].what - 1) == 0)
            return &w->kinds[i];
    }
    if (w->kind_count == EVENT_KINDS)
        return &w->kinds[EVENT_KINDS - 1];
    struct event_kind *kind = &w->kinds[w->kind_count++];
    snprintf(kind->what, sizeof kind->what, "%s", what);
    return kind;
}

void store_add_event(struct store *s, double seconds, const char *what, const char *text)
{
    struct writer *w = s->writer;
    struct queue *q = &w->queue;
    if (!isfinite(seconds) || !queue_has_room(q, false))
        return;
    struct event_kind *kind = find_kind(w, what);
    char more[40];
    kind->count++;
    if (kind->count <= EVENTS_OF_A_KIND)
        kind->last_id = ++w->events;
    if (kind->count >= EVENTS_OF_A_KIND) {
        uint64_t left_out = kind->count - EVENTS_OF_A_KIND + 1;
        snprintf(more, sizeof more, "%llu more", (unsigned long long) left_out);
        text = more;
    }
    queue_begin(q, ROW_EVENT);
    queue_integer(q, kind->last_id);
    queue_real(q, seconds);
    queue_text(q, what, QUEUE_TEXT_BYTES);
    queue_text(q, text, QUEUE_TEXT_BYTES);
    (void) queue_end(q);
}

static void add_heap_point(struct queue *q, int64_t process, const struct store_heap_point *x)
{
    queue_begin(q, ROW_LOOK);
    queue_integer(q, process);
    queue_real(q, x->seconds);
    queue_real(q, x->anon);
    queue_real(q, x->heap_used);
    queue_real(q, x->heap_free);
    queue_real(q, x->data);
    queue_real(q, x->arenas_used);
    queue_real(q, x->arenas_free);
    (void) queue_end(q);
}

void store_set_heap_points(struct store *s, int64_t process, const struct store_heap_point *points,
                           size_t count)
{
    struct queue *q = &s->writer->queue;
    if (process <= 0 || !queue_has_room(q, false))
        return;
    queue_begin(q, ROW_NO_LOOKS);
    queue_integer(q, process);
    (void) queue_end(q);
    for (size_t i = 0; i < count; i++)
        if (isfinite(points[i].seconds))
            add_heap_point(q, process, &points[i]);
}

void store_set_census(struct store *s, int64_t process, const struct store_census *census)
{
    struct queue *q = &s->writer->queue;
    if (process <= 0 || !queue_has_room(q, false))
        return;
    if (census->searched) {
        queue_begin(q, ROW_NO_COUNT);
        queue_integer(q, process);
        (void) queue_end(q);
    }
    queue_begin(q, ROW_CENSUS);
    queue_integer(q, process);
    queue_integer(q, census->searched);
    queue_integer(q, (int64_t) census->origin);
    queue_text(q, census->text, SIZE_MAX);
    (void) queue_end(q);
}

void store_set_sites(struct store *s, int64_t process, const char *text)
{
    struct queue *q = &s->writer->queue;
    if (process <= 0 || !queue_has_room(q, false))
        return;
    queue_begin(q, ROW_SITES);
    queue_integer(q, process);
    queue_text(q, text, SIZE_MAX);
    (void) queue_end(q);
}

void store_set_answer(struct store *s, const char *json, const char *report)
{
    struct queue *q = &s->writer->queue;
    queue_begin(q, ROW_ANSWER);
    queue_text(q, json, SIZE_MAX);
    queue_text(q, report, SIZE_MAX);
    (void) queue_end(q);
}

/* ---- the file ---- */

static int create_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = fchmod(fd, 0600) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int create_tables(sqlite3 *db)
{
    char *sql = sqlite3_mprintf(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
        "PRAGMA wal_autocheckpoint = 512; PRAGMA journal_size_limit = 4194304; BEGIN;"
        "PRAGMA application_id = %d; PRAGMA user_version = %d; %s COMMIT;",
        DB_APPLICATION_ID, STORE_SCHEMA, db_schema);
    int r = sql ? db_exec(db, sql) : -ENOMEM;
    sqlite3_free(sql);
    return r;
}

static int writer_new(sqlite3 *db, struct writer **ret)
{
    struct writer *w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    queue_init(&w->queue);
    w->checkpoint_seconds = CHECKPOINT_LEAST;
    w->samples = calloc(WAITING_SAMPLES, sizeof *w->samples);
    int r = w->samples ? thin_init(&w->thin, db) : -ENOMEM;
    for (size_t i = 0; i < ROW_STATEMENTS && r == 0; i++)
        r = db_prepare(db, row_texts[i], &w->rows[i]);
    if (r < 0) {
        writer_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

/* Starts the run in the new, empty file. */
static int begin_file(struct store *s, const char *path, const struct store_run *run)
{
    int r = db_open(path, SQLITE_OPEN_READWRITE, 0, &s->db);
    if (r == 0)
        r = create_tables(s->db);
    if (r == 0)
        r = writer_new(s->db, &s->writer);
    if (r < 0)
        return r;
    add_run(s->writer, run);
    return flush(s, 0);
}

/* Removes the file of a failed start, and what SQLite left beside it. */
static void remove_files(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *name = sqlite3_mprintf("%s%s", path, suffixes[i]);
        if (name)
            (void) unlink(name);
        sqlite3_free(name);
    }
}

int store_create(const char *path, const struct store_run *run, struct store **ret)
{
    struct store *s = store_new();
    if (!s)
        return -ENOMEM;
    int r = create_file(path);
    if (r < 0) {
        store_free(s);
        return r;
    }
    r = begin_file(s, path, run);
    if (r < 0) {
        store_free(s);
        remove_files(path);
        return r;
    }
    *ret = s;
    return 0;
}

int store_close(struct store *s, double seconds)
{
    int r = try_flush(s, seconds);
    writer_free(s->writer);
    s->writer = NULL;
    /* Refused while somebody reads; the last one to close then leaves the log behind. */
    (void) db_exec(s->db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;");
    store_free(s);
    return r;
}

/* store/reader.c: reads a run file, even while it is written or after its writer was killed. */
#include "store/db.h"
#include "store/handle.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLES "'run','process','series','sample','block','mark','event','answer'"
#define TABLE_COUNT 8

struct reader {
    struct store_run run;
    char *run_texts[4];
    char *json, *report;
    double sorted_version; /* data version of the sorted copy; NAN: no copy */
};

void reader_free(struct reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < sizeof r->run_texts / sizeof *r->run_texts; i++)
        free(r->run_texts[i]);
    free(r->json);
    free(r->report);
    free(r);
}

/* ---- columns ---- */

static const char *column_text(sqlite3_stmt *row, int column)
{
    return (const char *) sqlite3_column_text(row, column);
}

/* A damaged file may lack a column that every row has. */
static const char *column_needed(sqlite3_stmt *row, int column)
{
    const char *text = column_text(row, column);
    return text ? text : "";
}

static double column_real(sqlite3_stmt *row, int column)
{
    bool absent = sqlite3_column_type(row, column) == SQLITE_NULL;
    return absent ? (double) NAN : sqlite3_column_double(row, column);
}

/* Replaces *owned by a copy of the text; NULL if there is no text, or no memory. */
static const char *keep_text(char **owned, const char *text)
{
    free(*owned);
    *owned = text ? strdup(text) : NULL;
    return *owned;
}

/* ---- rows ---- */

/* Calls `visit` for every row of a statement and finalizes it; a negative return stops. */
static int each_row(sqlite3_stmt *statement, int (*visit)(void *c, sqlite3_stmt *row), void *c)
{
    int code, r = 0;
    while (r >= 0 && (code = sqlite3_step(statement)) != SQLITE_DONE) {
        r = db_error(sqlite3_db_handle(statement), code);
        if (r == 0)
            r = visit(c, statement);
    }
    sqlite3_finalize(statement);
    return r < 0 ? r : 0;
}

static int each(const struct store *s, const char *sql, int (*visit)(void *c, sqlite3_stmt *row),
                void *c)
{
    sqlite3_stmt *statement;
    int r = db_prepare(s->db, sql, &statement);
    return r < 0 ? r : each_row(statement, visit, c);
}

/* The same for a statement with the id of a series as its parameter. */
static int each_of_series(const struct store *s, const char *sql, int64_t series,
                          int (*visit)(void *c, sqlite3_stmt *row), void *c)
{
    sqlite3_stmt *statement;
    int r = db_prepare(s->db, sql, &statement);
    if (r < 0)
        return r;
    sqlite3_bind_int64(statement, 1, series);
    return each_row(statement, visit, c);
}

/* The caller's function and its context. */
struct caller {
    union {
        int (*process)(void *c, int64_t id, const struct store_process *p);
        int (*series)(void *c, int64_t id, const struct store_series *x);
        int (*sample)(void *c, const struct store_sample *x);
        int (*mark)(void *c, double seconds, double step, double epoch);
        int (*event)(void *c, double seconds, const char *what, const char *text);
        int (*heap_point)(void *c, int64_t process, const struct store_heap_point *x);
        int (*census)(void *c, int64_t process, const struct store_census *x);
        int (*sites)(void *c, int64_t process, const char *text);
    };
    void *context;
};

static int visit_process(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    bool ranked = sqlite3_column_type(row, 5) != SQLITE_NULL;
    struct store_process p = {
        .pid = sqlite3_column_int64(row, 1),
        .start = (uint64_t) sqlite3_column_int64(row, 2),
        .parent_pid = sqlite3_column_int64(row, 3),
        .role = column_text(row, 4),
        .rank = ranked ? sqlite3_column_int(row, 5) : -1,
        .command = column_text(row, 6),
        .why = column_text(row, 7),
        .first_seconds = column_real(row, 8),
        .last_seconds = column_real(row, 9),
        .exit_status = column_real(row, 10),
    };
    return caller->process(caller->context, sqlite3_column_int64(row, 0), &p);
}

int store_each_process(struct store *s,
                       int (*visit)(void *c, int64_t id, const struct store_process *p), void *c)
{
    struct caller caller = {.process = visit, .context = c};
    return each(s,
                "SELECT id, pid, start, parent_pid, role, rank, command, why,"
                " first_seconds, last_seconds, exit_status FROM process ORDER BY id",
                visit_process, &caller);
}

static int visit_series(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    bool counted = strcmp(column_needed(row, 5), series_unit_name(SERIES_COUNT)) == 0;
    struct store_series x = {
        .process = sqlite3_column_int64(row, 1),
        .kind = column_needed(row, 2),
        .device = column_text(row, 3),
        .name = column_text(row, 4),
        .unit = counted ? SERIES_COUNT : SERIES_BYTES,
        .limit = fmax(0, column_real(row, 6)),
        .rule = column_text(row, 7),
    };
    return caller->series(caller->context, sqlite3_column_int64(row, 0), &x);
}

int store_each_series(struct store *s,
                      int (*visit)(void *c, int64_t id, const struct store_series *x), void *c)
{
    struct caller caller = {.series = visit, .context = c};
    return each(
        s, "SELECT id, process, kind, device, name, unit, capacity, rule FROM series ORDER BY id",
        visit_series, &caller);
}

static int visit_mark(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    return caller->mark(caller->context, sqlite3_column_double(row, 0), column_real(row, 1),
                        column_real(row, 2));
}

int store_each_mark(struct store *s,
                    int (*visit)(void *c, double seconds, double step, double epoch), void *c)
{
    struct caller caller = {.mark = visit, .context = c};
    return each(s, "SELECT seconds, step, epoch FROM mark ORDER BY seconds, id", visit_mark,
                &caller);
}

static int visit_event(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    return caller->event(caller->context, sqlite3_column_double(row, 0), column_needed(row, 1),
                         column_needed(row, 2));
}

int store_each_event(struct store *s,
                     int (*visit)(void *c, double seconds, const char *what, const char *text),
                     void *c)
{
    struct caller caller = {.event = visit, .context = c};
    return each(s, "SELECT seconds, what, text FROM event ORDER BY seconds, id", visit_event,
                &caller);
}

/* ---- samples ---- */

/*
 * The file stores samples by time, as they were written, but a reader wants one series after the
 * other. They are sorted once into a table in memory, and again when the file has grown.
 */
static int sort_samples(struct store *s)
{
    double version;
    int r = db_ask(s->db, "PRAGMA data_version", &version);
    if (r < 0 || version == s->reader->sorted_version)
        return r;
    s->reader->sorted_version = NAN;
    r = db_exec(s->db, "DROP TABLE IF EXISTS temp.sorted;"
                       "CREATE TEMP TABLE sorted AS"
                       " SELECT seconds, series, mean AS value, floor, max, count FROM main.block"
                       " UNION ALL SELECT seconds, series, value, value, value, 1 FROM main.sample"
                       " ORDER BY series, seconds;"
                       "CREATE INDEX temp.sorted_series ON sorted (series);");
    if (r == 0)
        s->reader->sorted_version = version;
    return r;
}

static int visit_sample(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    struct store_sample x = {
        .seconds = sqlite3_column_double(row, 0),
        .value = sqlite3_column_double(row, 1),
        .floor = sqlite3_column_double(row, 2),
        .max = sqlite3_column_double(row, 3),
        .count = sqlite3_column_double(row, 4),
    };
    return caller->sample(caller->context, &x);
}

int store_each_sample(struct store *s, int64_t series,
                      int (*visit)(void *c, const struct store_sample *x), void *c)
{
    struct caller caller = {.sample = visit, .context = c};
    int r = sort_samples(s);
    if (r < 0)
        return r;
    return each_of_series(s,
                          "SELECT seconds, value, floor, max, count FROM temp.sorted"
                          " WHERE series = ?1 ORDER BY rowid",
                          series, visit_sample, &caller);
}

double store_last_seconds(const struct store *s)
{
    double last;
    int r = db_ask(s->db,
                   "SELECT coalesce((SELECT max(seconds) FROM sample),"
                   " (SELECT max(seconds) FROM block))",
                   &last);
    return r < 0 ? (double) NAN : last;
}

/* ---- evidence ---- */

static int visit_heap_point(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    struct store_heap_point x = {
        .seconds = sqlite3_column_double(row, 1),
        .anon = column_real(row, 2),
        .heap_used = column_real(row, 3),
        .heap_free = column_real(row, 4),
        .data = column_real(row, 5),
        .arenas_used = column_real(row, 6),
        .arenas_free = column_real(row, 7),
    };
    return caller->heap_point(caller->context, sqlite3_column_int64(row, 0), &x);
}

static int visit_census(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    struct store_census x = {
        .searched = sqlite3_column_int64(row, 1) != 0,
        .origin = (uint64_t) sqlite3_column_int64(row, 2),
        .text = column_needed(row, 3),
    };
    return caller->census(caller->context, sqlite3_column_int64(row, 0), &x);
}

static int visit_sites(void *c, sqlite3_stmt *row)
{
    const struct caller *caller = c;
    return caller->sites(caller->context, sqlite3_column_int64(row, 0), column_needed(row, 1));
}

/* The first files of this schema lack these tables. */
static bool has_evidence(const struct store *s)
{
    double tables = 0;
    return db_ask(s->db,
                  "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
                  " AND name IN ('look','census')",
                  &tables) == 0 &&
           tables == 2;
}

/* And later ones lack this table. */
static bool has_sites(const struct store *s)
{
    double tables = 0;
    return db_ask(s->db,
                  "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'sites'",
                  &tables) == 0 &&
           tables == 1;
}

/* The first files lack these columns too. */
static bool has_arenas(const struct store *s)
{
    double columns = 0;
    return db_ask(s->db,
                  "SELECT count(*) FROM pragma_table_info('look')"
                  " WHERE name IN ('arenas_used','arenas_free')",
                  &columns) == 0 &&
           columns == 2;
}

int store_each_heap_point(struct store *s,
                          int (*visit)(void *c, int64_t process, const struct store_heap_point *x),
                          void *c)
{
    struct caller caller = {.heap_point = visit, .context = c};
    if (!has_evidence(s))
        return 0;
    return each(s,
                has_arenas(s) ? "SELECT process, seconds, anon, heap_used, heap_free, data,"
                                " arenas_used, arenas_free FROM look ORDER BY process, seconds"
                              : "SELECT process, seconds, anon, heap_used, heap_free, data,"
                                " NULL, NULL FROM look ORDER BY process, seconds",
                visit_heap_point, &caller);
}

int store_each_census(struct store *s,
                      int (*visit)(void *c, int64_t process, const struct store_census *x), void *c)
{
    struct caller caller = {.census = visit, .context = c};
    if (!has_evidence(s))
        return 0;
    return each(s,
                "SELECT process, searched, origin, text FROM census"
                " ORDER BY process, searched DESC",
                visit_census, &caller);
}

int store_each_sites(struct store *s, int (*visit)(void *c, int64_t process, const char *text),
                     void *c)
{
    struct caller caller = {.sites = visit, .context = c};
    if (!has_sites(s))
        return 0;
    return each(s, "SELECT process, text FROM sites ORDER BY process", visit_sites, &caller);
}

/* ---- run and answer ---- */

static int visit_run(void *c, sqlite3_stmt *row)
{
    struct reader *r = c;
    r->run = (struct store_run){
        .command = keep_text(&r->run_texts[0], column_text(row, 0)),
        .title = keep_text(&r->run_texts[1], column_text(row, 1)),
        .host = keep_text(&r->run_texts[2], column_text(row, 2)),
        .started = column_real(row, 3),
        .limit_bytes = column_real(row, 4),
        .limit_source = keep_text(&r->run_texts[3], column_text(row, 5)),
        .plan_steps = column_real(row, 6),
        .plan_seconds = column_real(row, 7),
        .horizon = column_real(row, 8),
        .epoch_length = column_real(row, 9),
    };
    return 0;
}

const struct store_run *store_run(const struct store *s)
{
    return &s->reader->run;
}

bool store_is_finished(const struct store *s)
{
    double found;
    return db_ask(s->db, "SELECT 1 FROM answer", &found) == 0;
}

static int visit_answer(void *c, sqlite3_stmt *row)
{
    struct reader *r = c;
    keep_text(&r->json, column_text(row, 0));
    keep_text(&r->report, column_text(row, 1));
    return 0;
}

int store_answer(struct store *s, const char **ret_json, const char **ret_report)
{
    struct reader *reader = s->reader;
    keep_text(&reader->json, NULL);
    keep_text(&reader->report, NULL);
    int r = each(s, "SELECT json, report FROM answer LIMIT 1", visit_answer, reader);
    if (r < 0)
        return r;
    *ret_json = reader->json;
    *ret_report = reader->report;
    return 0;
}

/* ---- opening ---- */

bool store_is_one(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct stat st;
    bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    /* Bytes read from a pipe would be lost to the next reader. */
    ssize_t len = is_file ? read(fd, head, sizeof head) : -1;
    close(fd);
    return len == (ssize_t) sizeof head && memcmp(head, magic, sizeof magic) == 0;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct store_error *error, int code,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return code;
}

/* Explains an error after SQLite opened the file. */
static int refuse_code(struct store_error *error, int code)
{
    switch (code) {
    case -EINVAL:
        return refuse(error, code, "not a run file: not an SQLite database");
    case -EBADMSG:
    case -ENODATA:
        return refuse(error, -EBADMSG, "damaged: the database cannot be read");
    case -EBUSY:
        return refuse(error, code, "cannot be read: another program has locked it");
    default:
        return refuse(error, code, "cannot be read: %s", error_words(-code));
    }
}

void store_explain(int code, struct store_error *ret)
{
    (void) refuse_code(ret, code);
}

/*
 * Checks the file by name, without opening it: closing a descriptor would drop the locks that this
 * process may hold on the file.
 */
static int check_file(const char *path, struct store_error *error)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return refuse(error, -errno, "cannot be opened: %s", error_words(errno));
    if (S_ISDIR(st.st_mode))
        return refuse(error, -EISDIR, "a directory, not a run file");
    if (!S_ISREG(st.st_mode))
        return refuse(error, -EINVAL, "not a run file: not a regular file");
    if (access(path, R_OK) < 0)
        return refuse(error, -errno, "cannot be opened: %s", error_words(errno));
    if (st.st_size == 0)
        return refuse(error, -EINVAL, "not a run file: it is empty");
    return 0;
}

static int check_kind(sqlite3 *db, struct store_error *error)
{
    double application = 0, schema = 0, tables = 0;
    int r = db_ask(db, "PRAGMA application_id", &application);
    if (r == 0)
        r = db_ask(db, "PRAGMA user_version", &schema);
    if (r < 0)
        return refuse_code(error, r);
    if (application != DB_APPLICATION_ID)
        return refuse(error, -EINVAL, "not a run file: an SQLite database of another program");
    if (schema > STORE_SCHEMA)
        return refuse(error, -EPROTO,
                      "written by a newer tidemark (schema %.0f; this one reads up to %d)", schema,
                      STORE_SCHEMA);
    r = db_ask(db,
               "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (" TABLES ")",
               &tables);
    if (r < 0)
        return refuse_code(error, r);
    return tables == TABLE_COUNT ? 0 : refuse(error, -EBADMSG, "damaged: some tables are missing");
}

static int load_run(struct store *s, struct store_error *error)
{
    /* A writer killed at the start may not have written it. */
    s->reader->run = (struct store_run){.started = NAN,
                                        .limit_bytes = NAN,
                                        .plan_steps = NAN,
                                        .plan_seconds = NAN,
                                        .horizon = NAN,
                                        .epoch_length = NAN};
    int r = each(s,
                 "SELECT command, title, host, started, limit_bytes, limit_source, plan_steps,"
                 " plan_seconds, horizon, epoch_length FROM run LIMIT 1",
                 visit_run, s->reader);
    return r < 0 ? refuse_code(error, r) : 0;
}

/* A foreign file must not run code through its schema, and its pages are checked more closely. */
static int set_up(sqlite3 *db)
{
    sqlite3_busy_timeout(db, 2000);
    (void) sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return db_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                       "PRAGMA temp_store = MEMORY;");
}

static int try_open(struct store *s, const char *path, int immutable)
{
    double version;
    int r = db_open(path, SQLITE_OPEN_READONLY, immutable, &s->db);
    if (r == 0)
        r = set_up(s->db);
    /* The first read opens the log. */
    if (r == 0)
        r = db_ask(s->db, "SELECT count(*) FROM sqlite_master", &version);
    if (r < 0) {
        sqlite3_close(s->db);
        s->db = NULL;
    }
    return r;
}

/* True if the file has a log with content beside it. */
static bool has_log(const char *path)
{
    char *log = sqlite3_mprintf("%s-wal", path);
    struct stat st;
    bool found = log && stat(log, &st) == 0 && st.st_size > 0;
    sqlite3_free(log);
    return found;
}

/*
 * A log needs a lock file beside it. In a read-only folder the file is read as it stands, unless
 * the log has data that the file lacks.
 */
static int open_database(struct store *s, const char *path, struct store_error *error)
{
    int r = try_open(s, path, 0);
    if (r == 0 || r == -EINVAL || r == -EBADMSG || r == -ENOMEM || r == -EBUSY)
        return r < 0 ? refuse_code(error, r) : 0;
    if (has_log(path))
        return refuse(error, r,
                      "its newest data are in the -wal file, which cannot be read in a read-only "
                      "folder: copy both to another");
    r = try_open(s, path, 1);
    return r < 0 ? refuse_code(error, r) : 0;
}

int store_open(const char *path, struct store **ret, struct store_error *error)
{
    int r = check_file(path, error);
    if (r < 0)
        return r;
    struct store *s = store_new();
    if (s)
        s->reader = calloc(1, sizeof *s->reader);
    if (!s || !s->reader) {
        store_free(s);
        return refuse_code(error, -ENOMEM);
    }
    s->reader->sorted_version = NAN;
    r = open_database(s, path, error);
    if (r == 0)
        r = check_kind(s->db, error);
    if (r == 0)
        r = load_run(s, error);
    if (r < 0) {
        store_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

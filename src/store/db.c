/* store/db.c: SQLite with the error codes of the rest of the program. */
#include "store/db.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The last system error on the file or its log. Not sqlite3_system_errno(), which is read after the
 * rollback: another call may have changed it by then.
 */
static int last_errno(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int error = 0;
    (void) sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods)
        (void) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
    if (error == 0)
        (void) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    return error ? error : sqlite3_system_errno(db);
}

static int io_error(sqlite3 *db)
{
    switch (last_errno(db)) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return -ENOSPC;
    case EACCES:
    case EPERM:
        return -EACCES;
    case EMFILE:
        return -EMFILE;
    case ENFILE:
        return -ENFILE;
    case ENOMEM:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

int db_error(sqlite3 *db, int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return io_error(db);
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_NOTADB:
        return -EINVAL;
    default:
        /* CORRUPT, and ERROR: our statements are valid, so the tables have changed. */
        return -EBADMSG;
    }
}

/* "file:./run%3f.tide?immutable=1". NULL: no memory. The caller frees it. */
static char *make_uri(const char *path, bool immutable)
{
    static const char hex[] = "0123456789abcdef";
    char *uri = malloc(3 * strlen(path) + sizeof "file:./?immutable=1");
    if (!uri)
        return NULL;
    char *end = stpcpy(uri, path[0] == '/' ? "file:" : "file:./");
    for (const char *s = path; *s; s++) {
        unsigned char c = (unsigned char) *s;
        if (c > ' ' && c < 0x7f && !strchr("%?#", c)) {
            *end++ = *s;
            continue;
        }
        *end++ = '%';
        *end++ = hex[c >> 4];
        *end++ = hex[c & 15];
    }
    stpcpy(end, immutable ? "?immutable=1" : "");
    return uri;
}

int db_open(const char *path, int flags, int immutable, sqlite3 **ret)
{
    char *uri = make_uri(path, immutable);
    if (!uri)
        return -ENOMEM;
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(uri, &db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (code != SQLITE_OK) {
        int r = db ? db_error(db, code) : -ENOMEM;
        sqlite3_close(db);
        return r;
    }
    *ret = db;
    return 0;
}

int db_exec(sqlite3 *db, const char *sql)
{
    return db_error(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
    return db_error(db, sqlite3_prepare_v2(db, sql, -1, ret, NULL));
}

int db_run(sqlite3_stmt *statement)
{
    int r = db_error(sqlite3_db_handle(statement), sqlite3_step(statement));
    sqlite3_reset(statement);
    return r;
}

int db_number(sqlite3_stmt *statement, double *ret)
{
    int code = sqlite3_step(statement);
    int r = db_error(sqlite3_db_handle(statement), code);
    if (r == 0 && (code != SQLITE_ROW || sqlite3_column_type(statement, 0) == SQLITE_NULL))
        r = -ENODATA;
    if (r == 0)
        *ret = sqlite3_column_double(statement, 0);
    sqlite3_reset(statement);
    return r;
}

int db_ask(sqlite3 *db, const char *sql, double *ret)
{
    sqlite3_stmt *statement;
    int r = db_prepare(db, sql, &statement);
    if (r < 0)
        return r;
    r = db_number(statement, ret);
    sqlite3_finalize(statement);
    return r;
}

/* store/db.h: what the writer and the reader of run files share: SQLite, its errors, the schema. */
#ifndef TIDEMARK_STORE_DB_H
#define TIDEMARK_STORE_DB_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* "TIDE": marks an SQLite file as tidemark's. */
#define DB_APPLICATION_ID 0x54494445

/* Tables and views of a new file; docs/STORE.md explains them. */
extern const char db_schema[];

/* An SQLite code as -errno: -ENOSPC, -EIO, -EBUSY, -EBADMSG (damaged), ...; 0 for OK, ROW and DONE.
 * */
int db_error(sqlite3 *db, int code);

/*
 * Opens with SQLITE_OPEN_ flags, always as a file, even if the name looks like a URI or ":memory:".
 * `immutable`: nobody writes the file, so it needs neither locks nor a writable folder.
 */
int db_open(const char *path, int flags, int immutable, sqlite3 **ret);

/* Runs statements that return no rows. */
int db_exec(sqlite3 *db, const char *sql);

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret);

/* Runs a bound statement that returns no rows, and resets it. */
int db_run(sqlite3_stmt *statement);

/* Runs a bound statement that returns one number, and resets it; -ENODATA: no row, or NULL. */
int db_number(sqlite3_stmt *statement, double *ret);

/* The same for a statement that runs only once. */
int db_ask(sqlite3 *db, const char *sql, double *ret);

#endif

/* store/db.h: what the writer and the reader of run files share: SQLite, its errors, the schema. */
#ifndef TIDEMARK_STORE_DB_H
#define TIDEMARK_STORE_DB_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* "TIDE": which program's SQLite file it is. */
#define DB_APPLICATION_ID 0x54494445

/* Tables and views of a new file; docs/STORE.md explains them. */
extern const char db_schema[];

/* What a code of SQLite is as -errno: -ENOSPC, -EIO, -EBUSY, -EBADMSG (damaged), ...; 0 for OK,
 * ROW and DONE. */
int db_error(sqlite3 *db, int code);

/*
 * Opens with SQLITE_OPEN_ flags, as a file even where the name looks like a URI or ":memory:".
 * `immutable`: nobody writes it, needs no lock and no write permission for its folder.
 */
int db_open(const char *path, int flags, int immutable, sqlite3 **ret);

/* Runs statements that give no rows. */
int db_exec(sqlite3 *db, const char *sql);

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret);

/* Runs a bound statement that gives no rows, and makes it ready for the next time. */
int db_run(sqlite3_stmt *statement);

/* The one number that a bound statement gives, and makes it ready again; -ENODATA: none, or
 * NULL. */
int db_number(sqlite3_stmt *statement, double *ret);

/* The same for a statement that is asked once. */
int db_ask(sqlite3 *db, const char *sql, double *ret);

#endif

/* store/handle.h: the parts of an open run file: a connection, and a writer or a reader. */
#ifndef TIDEMARK_STORE_HANDLE_H
#define TIDEMARK_STORE_HANDLE_H

#include <sqlite3.h>
#include <sys/types.h>

struct writer;
struct reader;

/* Has either a writer or a reader, never both. */
struct store {
    sqlite3 *db;
    pid_t owner; /* the process that opened it */
    struct writer *writer;
    struct reader *reader;
};

struct store *store_new(void); /* NULL: no memory */

/* Each frees its statements and memory, not the connection. Both accept NULL. */
void writer_free(struct writer *w);
void reader_free(struct reader *r);

#endif

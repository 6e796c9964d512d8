/* store/handle.c: the beginning and the end of an open run file. */
#include "store/handle.h"

#include "store/store.h"

#include <stdlib.h>
#include <unistd.h>

struct store *store_new(void)
{
    struct store *s = calloc(1, sizeof *s);
    if (s)
        s->owner = getpid();
    return s;
}

struct store *store_free(struct store *s)
{
    if (!s)
        return NULL;
    writer_free(s->writer);
    reader_free(s->reader);
    /* To close the parent's connection would take its locks, or its log, away. */
    if (s->owner == getpid())
        sqlite3_close(s->db);
    free(s);
    return NULL;
}

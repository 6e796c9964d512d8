/* store/handle.c: opening and closing the handle of a run file. */
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
    /* Closing the parent's connection would drop its locks or delete its log. */
    if (s->owner == getpid())
        sqlite3_close(s->db);
    free(s);
    return NULL;
}

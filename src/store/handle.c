/* store/handle.c: the end of an open run file. */
#include "store/handle.h"

#include "store/store.h"

#include <stdlib.h>

struct store *store_free(struct store *s)
{
    if (!s)
        return NULL;
    writer_free(s->writer);
    reader_free(s->reader);
    sqlite3_close(s->db);
    free(s);
    return NULL;
}

/* attach/place.h: the library, where the target can open it. */
#ifndef TIDEMARK_ATTACH_PLACE_H
#define TIDEMARK_ATTACH_PLACE_H

#include "attach/target.h"
#include "deputy/deputy.h"

struct place {
    char path[4096];         /* as the target sees it */
    struct deputy_copy copy; /* where there had to be one */
};

#define PLACE_INIT ((struct place){.copy = DEPUTY_COPY_NONE})

/*
 * The library itself where the target sees the same file at the same path and `must_copy` is not
 * set; a copy that it has loaded before; else a copy, which belongs to the target's user. -errno
 * and the words in `why`.
 */
int place_library(const struct target *t, const struct deputy *d, const char *library,
                  bool must_copy, struct place *ret, struct buf *why);

/* Removes the copy: what is loaded stays. */
void place_release(struct place *p, const struct deputy *d);

#endif

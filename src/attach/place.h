/* attach/place.h: puts the library where the target can open it. */
#ifndef TIDEMARK_ATTACH_PLACE_H
#define TIDEMARK_ATTACH_PLACE_H

#include "attach/target.h"
#include "deputy/deputy.h"

struct place {
    char path[4096];         /* in the target's view */
    struct deputy_copy copy; /* if one was needed */
};

#define PLACE_INIT ((struct place){.copy = DEPUTY_COPY_NONE})

/*
 * Picks the library itself if the target sees the same file at the same path and `must_copy` is not
 * set; else a copy that it has loaded before; else a new copy, owned by the target's user. -errno,
 * with the reason in `why`.
 */
int place_library(const struct target *t, const struct deputy *d, const char *library,
                  bool must_copy, struct place *ret, struct buf *why);

/* Removes the copy from the disk; a loaded library stays loaded. */
void place_release(struct place *p, const struct deputy *d);

#endif

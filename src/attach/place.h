/* attach/place.h: the library, where the target can open it. */
#ifndef TIDEMARK_ATTACH_PLACE_H
#define TIDEMARK_ATTACH_PLACE_H

#include "attach/target.h"

struct place {
    char path[4096]; /* as the target sees it */
    bool is_copy;    /* a file of ours, to be removed */
    int directory;   /* it lies in; -1 */
    int parent;      /* the folder that is in; -1 */
    char folder[64], file[128];
};

#define PLACE_INIT ((struct place){.directory = -1, .parent = -1})

/*
 * The library itself where the target sees the same file at the same path and `must_copy` is not
 * set; a copy that it has loaded before; else a copy in a new folder of its /tmp, /var/tmp or
 * /dev/shm, whichever lets programs be loaded. -errno and the words in `why`.
 */
int place_library(const struct target *t, const char *library, bool must_copy, struct place *ret,
                  struct buf *why);

/* Removes the copy: what is loaded stays. */
void place_release(struct place *p);

#endif

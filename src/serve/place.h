/* serve/place.h: run files below a folder, reached through no link. For readers alone. */
#ifndef TIDEMARK_SERVE_PLACE_H
#define TIDEMARK_SERVE_PLACE_H

#include "base/base.h"

#include <stdbool.h>

#define PLACE_STAMP 128u

/* A run file as it is now. Two different contents have different stamps, as far as sizes and times
 * of the file and its log can tell. */
struct place {
    const char *file; /* its name in the current folder */
    char stamp[PLACE_STAMP];
    bool is_live; /* it was written to within the last seconds */
};

/*
 * Changes the current folder of this process to the one of `name`, a path below `root`, and finds
 * out how its last part is now. Follows no link below `root`. -errno; -ELOOP: a link; -EINVAL: it
 * is no regular file.
 */
int place_enter(const char *root, const char *name, struct place *ret);

/* Visits the run files (NAME.tide) of a folder and the folders in it, three levels deep, without
 * hidden ones and links. Adds to *note what was left out. -errno: the folder itself cannot be
 * read. */
int place_each(const char *root, void (*visit)(void *context, const char *name), void *context,
               struct buf *note);

#endif

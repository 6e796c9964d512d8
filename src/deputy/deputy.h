/* deputy/deputy.h: file work in another process's world, done with that process's rights. */
#ifndef TIDEMARK_DEPUTY_DEPUTY_H
#define TIDEMARK_DEPUTY_DEPUTY_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The paths of another process are that process's to steer: in a mount namespace of its own it may
 * mount anything over any name, at any moment. Whoever is root and follows such a path acts on a
 * file of the target's choice. So every path that leads through a target is followed by a deputy: a
 * forked child with the target's user and group, without supplementary groups and capabilities,
 * without descriptors but those it works on, closed to its own user (not dumpable), and killed
 * after DEPUTY_SECONDS. What a deputy can be tricked into, the target can do itself.
 *
 * Its answer is bytes and descriptors, and is checked by the functions below before they return it.
 * Safe beside other threads: the child makes system calls and nothing else.
 */
#define DEPUTY_SECONDS 3.0

struct deputy;

/*
 * Pins the process (pidfd) with its root, its working directory and its ids. -ESRCH: it has ended;
 * -EPERM: its real, effective and saved ids differ, or the kernel does not let us look; -EMFILE;
 * the words are in `why`, which may be NULL. The caller owns *ret.
 */
int deputy_new(pid_t pid, struct deputy **ret, struct buf *why);
struct deputy *deputy_free(struct deputy *d); /* accepts NULL, returns NULL */

uid_t deputy_uid(const struct deputy *d);

/* Another user's, or one that sees other files than we do: then its files are not ours to open. */
bool deputy_is_foreign(const struct deputy *d);

/* ---- a folder for its rings ---- */

#define DEPUTY_FOLDER_PREFIX "tidemark-"
#define DEPUTY_PATH 64u

/* A new folder of the target's user, mode 0700, with a fifo in it. All descriptors are checked:
 * their type and owner are right, and the folder of a foreign target is in memory (tmpfs), so that
 * nothing that is read from it can be made to block. */
struct deputy_folder {
    char path[DEPUTY_PATH]; /* as the target sees it */
    int place;              /* what it lies in */
    int directory;
    int fifo, fifo_held; /* both ends of the fifo; -1: somebody has taken them over */
    struct stat st;      /* of the directory */
};

#define DEPUTY_FOLDER_NONE ((struct deputy_folder){{0}, -1, -1, -1, -1, {0}})

/* In its /dev/shm; for a target that is not foreign also in its /tmp. -errno. */
int deputy_make_folder(const struct deputy *d, const char *fifo, struct deputy_folder *ret);

/* Removes it with all that is in it, and closes it. Accepts DEPUTY_FOLDER_NONE. */
void deputy_remove_folder(const struct deputy *d, struct deputy_folder *f);

/* Does somebody read the fifo of that name in a folder of the target's user? */
bool deputy_has_reader(const struct deputy *d, const char *folder, const char *fifo);

/* ---- files ---- */

/* Does the path lead to that very file or folder there? 1, 0; -EMFILE: there was no asking. */
int deputy_sees(const struct deputy *d, const char *path, const struct stat *st);

/* A copy of an open file in a new folder of its /tmp, /var/tmp or /dev/shm, whichever lets programs
 * be loaded. */
struct deputy_copy {
    char folder[DEPUTY_PATH];     /* as the target sees it */
    char path[DEPUTY_PATH + 128]; /* of the copy, likewise */
    int place, directory;         /* what the folder lies in, and itself */
};

#define DEPUTY_COPY_NONE ((struct deputy_copy){{0}, {0}, -1, -1})

int deputy_copy(const struct deputy *d, int from, const char *file, struct deputy_copy *ret);
void deputy_remove_copy(const struct deputy *d, struct deputy_copy *c); /* accepts _NONE */

/*
 * The text of a regular file of at most `most` bytes, as the process would read it: from its
 * working directory where the path is relative. The caller frees *ret_text. -errno.
 */
int deputy_read(const struct deputy *d, const char *path, size_t most, char **ret_text,
                size_t *ret_len);

/*
 * A regular file that the process has open as its descriptor `fd`, opened for reading with its
 * rights. Returns the descriptor, which the caller owns; -EINVAL: it is no regular file; -EACCES:
 * the process may not read it, or it is another user's and may serve the file itself (FUSE).
 */
int deputy_open(const struct deputy *d, int fd);

#endif

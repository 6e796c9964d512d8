/* deputy/deputy.h: file work on another process's paths, with that process's rights. */
#ifndef TIDEMARK_DEPUTY_DEPUTY_H
#define TIDEMARK_DEPUTY_DEPUTY_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * A target controls its own paths: in its mount namespace it may mount anything over any name, at
 * any moment. A root process that follows such a path acts on a file of the target's choice. So
 * only a deputy follows paths that lead through a target. A deputy is a forked child with the
 * target's user and group. It has no supplementary groups, no capabilities, and only the
 * descriptors it works on. It is not dumpable, and is killed after DEPUTY_SECONDS. Whatever a
 * deputy can be tricked into, the target can do itself.
 *
 * A deputy answers with bytes and descriptors, which the functions below check before they
 * return them. Safe beside other threads: the child only makes system calls, except in a cage.
 */
#define DEPUTY_SECONDS 3.0
#define DEPUTY_CAGE_FDS 2u

struct deputy;

/*
 * Pins the process (pidfd) with its root, its working directory and its ids. -ESRCH: it has
 * ended; -EPERM: its real, effective and saved ids differ, or the kernel denies access; -EMFILE.
 * `why` gets the error in words and may be NULL. The caller owns *ret.
 */
int deputy_new(pid_t pid, struct deputy **ret, struct buf *why);
struct deputy *deputy_free(struct deputy *d); /* accepts NULL, returns NULL */

uid_t deputy_uid(const struct deputy *d);

/* Another user's process, or one that sees other files than we do. We may not open its files. */
bool deputy_is_foreign(const struct deputy *d);

/* ---- a folder for its rings ---- */

#define DEPUTY_FOLDER_PREFIX "tidemark-"
#define DEPUTY_PATH 64u

/* A new folder of the target's user, mode 0700, with a fifo in it. The type and owner of every
 * descriptor are checked. The folder of a foreign target is in memory (tmpfs), so reading from it
 * cannot block. */
struct deputy_folder {
    char path[DEPUTY_PATH]; /* as the target sees it */
    int place;              /* the parent folder */
    int directory;
    int fifo, fifo_held; /* both ends of the fifo; -1: handed over */
    struct stat st;      /* of the directory */
};

#define DEPUTY_FOLDER_NONE ((struct deputy_folder){{0}, -1, -1, -1, -1, {0}})

/* In the target's /dev/shm; for a target that is not foreign, /tmp is tried as well. -errno. */
int deputy_make_folder(const struct deputy *d, const char *fifo, struct deputy_folder *ret);

/* Removes it with its contents, and closes it. Accepts DEPUTY_FOLDER_NONE. */
void deputy_remove_folder(const struct deputy *d, struct deputy_folder *f);

/* Whether the fifo of that name in a folder of the target's user has a reader. */
bool deputy_has_reader(const struct deputy *d, const char *folder, const char *fifo);

/* ---- files ---- */

/* Whether the path leads to exactly that file or folder in the target. 1 or 0; -EMFILE: could not
 * be checked. */
int deputy_sees(const struct deputy *d, const char *path, const struct stat *st);

/* A copy of an open file, in a new folder of the target's /tmp, /var/tmp or /dev/shm: the first
 * that allows loading programs. */
struct deputy_copy {
    char folder[DEPUTY_PATH];     /* as the target sees it */
    char path[DEPUTY_PATH + 128]; /* of the copy, likewise */
    int place, directory;         /* the parent folder, and the folder */
};

#define DEPUTY_COPY_NONE ((struct deputy_copy){{0}, {0}, -1, -1})

int deputy_copy(const struct deputy *d, int from, const char *file, struct deputy_copy *ret);
void deputy_remove_copy(const struct deputy *d, struct deputy_copy *c); /* accepts _NONE */

/*
 * The text of a regular file of at most `most` bytes, as the process would read it: a relative path
 * starts at its working directory. The caller frees *ret_text. -errno.
 */
int deputy_read(const struct deputy *d, const char *path, size_t most, char **ret_text,
                size_t *ret_len);

/*
 * Opens a regular file that the process has open as descriptor `fd`, for reading, with its
 * rights. The caller owns the returned descriptor. -EINVAL: not a regular file; -EACCES: the
 * process may not read it, or another user's process may serve the file itself (FUSE).
 */
int deputy_open(const struct deputy *d, int fd);

/*
 * The same for a path: the first of `count` that leads to a regular file which the process may
 * read. A relative one starts at its working directory and stays below it. Also after the process
 * has ended. -errno of the last.
 */
int deputy_open_path(const struct deputy *d, const char *const *paths, unsigned count);

/* ---- hostile bytes ---- */

/*
 * Work on bytes of the target's choice, which may subvert it: a parser. It runs in a deputy that
 * can only compute, allocate, map and read the descriptors it was given, and write to memory that
 * it shares with the caller: the kernel refuses it every other system call (seccomp). It gets so
 * much memory and processor time, then it dies. The caller trusts nothing that it wrote.
 */
struct deputy_cage {
    void (*prepare)(void *context); /* before the cage is shut: opens libraries of ours, may be
                                       NULL; touches nothing of the target's */
    int (*work)(void *context);     /* 0 or -errno */
    void *context;
    int fds[DEPUTY_CAGE_FDS]; /* -1: none */
    uint64_t memory_bytes;    /* that it may add, mapped files included */
    unsigned seconds;         /* of processor time; in all twice as many */
};

/* 0 or -errno of the work; -EIO: it died; -ETIMEDOUT; -EPERM: the kernel has no such cage, and the
 * target is foreign. In shared memory stays what was written until then. Any thread may call it,
 * but after a fork beside other threads loading a library may wait for ever: that is -ETIMEDOUT. */
int deputy_run_caged(const struct deputy *d, const struct deputy_cage *cage);

#endif

/* proc/file.h: whole files and lists of processes, as the kernel gives them. */
#ifndef TIDEMARK_PROC_FILE_H
#define TIDEMARK_PROC_FILE_H

#include "base/base.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the whole file and replaces the contents of `ret`. Anything beyond 16 MB is ignored (no
 * kernel file is that long). A short read means the end of a file that the kernel writes in one
 * piece, which is every file but lists (mountinfo). -errno.
 */
int file_read(int fd, struct buf *ret);
int file_read_at(int dir, const char *path, struct buf *ret); /* opens, reads, closes */
int file_read_list_at(int dir, const char *path, struct buf *ret);

/* Whether the folder is a proc file system that shows our own pid namespace, so that system calls
 * and its files mean the same process by a pid. */
bool file_is_own_proc(int dir);

/* The pids that a folder like /proc lists, ascending. Release with pids_release(). */
struct pids {
    pid_t *list;
    size_t count, capacity;
};

#define PIDS_INIT ((struct pids){NULL, 0, 0})

int pids_read(DIR *directory, struct pids *ret); /* from the beginning; -ENOMEM, -errno */
void pids_release(struct pids *p);

#endif

/* proc/file.h: whole files and lists of processes, as the kernel gives them. */
#ifndef TIDEMARK_PROC_FILE_H
#define TIDEMARK_PROC_FILE_H

#include "base/base.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the file from its beginning to its end into `ret`, replacing what was there; what is
 * beyond 16 MB (no file of the kernel is) is passed over. A read that is not full is the end of a
 * file that the kernel writes in one piece, as it does all but lists (mountinfo). -errno.
 */
int file_read(int fd, struct buf *ret);
int file_read_at(int dir, const char *path, struct buf *ret); /* opens, reads, closes */
int file_read_list_at(int dir, const char *path, struct buf *ret);

/* Whether the folder is a proc file system with the pids that we see ourselves, so that what system
 * calls say of a pid is about the same process. */
bool file_is_own_proc(int dir);

/* The process ids a folder of the kind of /proc lists, ascending. Release with pids_release(). */
struct pids {
    pid_t *list;
    size_t count, capacity;
};

#define PIDS_INIT ((struct pids){NULL, 0, 0})

int pids_read(DIR *directory, struct pids *ret); /* from the beginning; -ENOMEM, -errno */
void pids_release(struct pids *p);

#endif

/* proc/stat.h: /proc/PID/stat, for the parts that read many processes. */
#ifndef TIDEMARK_PROC_STAT_H
#define TIDEMARK_PROC_STAT_H

#include "proc/proc.h"

/* As proc_stat_read(), below an open folder like /proc; `scratch` is working space. */
int proc_stat_read_at(int root, pid_t pid, struct buf *scratch, struct proc_stat *ret);

/* `path` is the stat file itself, relative to `dir`. */
int proc_stat_read_file(int dir, const char *path, struct buf *scratch, struct proc_stat *ret);

/* Copies a text, cleaned to printable UTF-8 and cut between characters to `size` bytes. */
void copy_clean(char *ret, size_t size, const char *text);

#endif

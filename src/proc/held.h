/* proc/held.h: the files of a tmpfs that one process holds. */
#ifndef TIDEMARK_PROC_HELD_H
#define TIDEMARK_PROC_HELD_H

#include "proc/proc.h"

/* As proc_read_held(), for the process whose folder is open; `scratch` is working space. */
int held_read_at(int folder, dev_t device, const char *place, bool maps, struct buf *scratch,
                 proc_held_found *found, void *context);

/* As proc_read_written(); *ret_stat is read at the same time. */
int held_read_written(int folder, struct buf *scratch, struct proc_stat *ret_stat,
                      double *ret_bytes);

#endif

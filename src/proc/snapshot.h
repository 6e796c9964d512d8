/* proc/snapshot.h: every process of the machine with its arguments, at one moment. */
#ifndef TIDEMARK_PROC_SNAPSHOT_H
#define TIDEMARK_PROC_SNAPSHOT_H

#include "proc/file.h"
#include "proc/proc.h"

struct snapshot_process {
    struct proc_stat stat;
    struct buf arguments; /* NUL-separated; empty: a kernel thread */
    int parent;           /* index, -1: not in the snapshot */
};

/* Without zombies and processes that ended meanwhile. Ascending by pid. */
struct snapshot {
    struct snapshot_process *list;
    size_t count;
};

int snapshot_take(int root, const struct pids *pids, struct snapshot *ret); /* -ENOMEM */
void snapshot_release(struct snapshot *s);

/* The index of a pid, -1: not in the snapshot. */
int snapshot_find(const struct snapshot *s, pid_t pid);

#endif

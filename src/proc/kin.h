/* proc/kin.h: the pids of a job's processes that are no members: not yet, or no more. Private to
 * proc/. */
#ifndef TIDEMARK_PROC_KIN_H
#define TIDEMARK_PROC_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Most that are remembered; then the oldest half is forgotten. */
#define KIN_MOST 2048

struct kin_entry {
    pid_t pid;
    bool is_new;   /* the kernel has reported its fork, and no scan has met it */
    unsigned scan; /* the last before it was added, or was last of use */
};

/*
 * What an orphan is known by: its own pid, where its fork was reported, and the pid of the process
 * that led its session or group. That number is given to nobody else while a process is in the
 * session or group. One owner, one thread. {0} is empty.
 */
struct kin {
    struct kin_entry *list;
    size_t count, capacity;
};

void kin_release(struct kin *k);

/* In place of what was known of that pid. Where there is no memory for it, it is not remembered. */
void kin_add(struct kin *k, pid_t pid, bool is_new, unsigned scan);
void kin_remove(struct kin *k, pid_t pid);
const struct kin_entry *kin_find(const struct kin *k, pid_t pid); /* NULL: none */

/* What a scan has found out about a pid. */
struct kin_use {
    bool is_met; /* there is a process of that number */
    bool leads;  /* a member is in its session or group */
};

/* After a scan: who was met is no longer new, and who is of no use any more is forgotten. */
void kin_prune(struct kin *k, unsigned scan, struct kin_use (*look)(void *context, pid_t pid),
               void *context);

#endif

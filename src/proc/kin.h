/* proc/kin.h: pids that belong to a job without being members: not yet, or no longer. Private to
 * proc/. */
#ifndef TIDEMARK_PROC_KIN_H
#define TIDEMARK_PROC_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The most pids kept; beyond that the oldest half is dropped. */
#define KIN_MOST 2048

struct kin_entry {
    pid_t pid;
    bool is_new;   /* the kernel has reported its fork, and no scan has met it */
    unsigned scan; /* the scan before it was added or last used */
};

/*
 * What identifies an orphan: its own pid, where its fork was reported, and the pid of the process
 * that led its session or group. The kernel gives that pid to no other process while anyone is in
 * the session or group. One owner, one thread. {0} is empty.
 */
struct kin {
    struct kin_entry *list;
    size_t count, capacity;
};

void kin_release(struct kin *k);

/* Replaces what was known of that pid. Without memory the pid is not kept. */
void kin_add(struct kin *k, pid_t pid, bool is_new, unsigned scan);
void kin_remove(struct kin *k, pid_t pid);
const struct kin_entry *kin_find(const struct kin *k, pid_t pid); /* NULL: none */

/* What a scan found out about a pid. */
struct kin_use {
    bool is_met; /* a process with that pid exists */
    bool leads;  /* a member is in its session or group */
};

/* After a scan: a pid that was met is no longer new, and one that has no use any more is dropped.
 * */
void kin_prune(struct kin *k, unsigned scan, struct kin_use (*use_of)(void *context, pid_t pid),
               void *context);

#endif

/* attach/target.h: the process to attach to, as the kernel describes it; its memory; and the
 * reasons to refuse it. Reading it changes nothing in it. */
#ifndef TIDEMARK_ATTACH_TARGET_H
#define TIDEMARK_ATTACH_TARGET_H

#include "attach/elf.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct target {
    pid_t pid;
    pid_t own_pid; /* its pid in its own namespace */
    unsigned long long start_time;
    uint64_t program; /* identifies its program; changes with every exec */
    char name[32];
    uint64_t caught; /* signals with a handler, one bit each */
    struct buf maps; /* the text of /proc/PID/maps at the time of opening */
    struct elf_memory memory;
};

/*
 * Reads the process's state and decides whether it may be touched. 0: the caller owns what is in
 * *t; else an error of attach_load() with the reason in `why`. Always release with
 * target_release().
 */
int target_open(pid_t pid, struct target *t, struct buf *why);
void target_release(struct target *t);

/* Whether the pid still is that process, running that program. */
bool target_is_there(const struct target *t);

/* Reads or writes all `len` bytes of its memory: 0 or -errno. Writing respects page permissions. */
int target_read(const struct target *t, uint64_t address, void *ret, size_t len);
int target_write(const struct target *t, uint64_t address, const void *data, size_t len);

/* Its threads, the main one first. -errno; the caller frees *ret_threads. */
int target_threads(const struct target *t, pid_t **ret_threads, size_t *ret_count);

/* The state letter of a thread ('S': asleep); 0 if it has ended. */
char target_thread_state(const struct target *t, pid_t thread);

#endif

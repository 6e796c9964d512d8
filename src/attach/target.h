/* attach/target.h: the process to get into, as the kernel describes it; its memory; and the reasons
 * why it is left alone. Looking changes nothing in it. */
#ifndef TIDEMARK_ATTACH_TARGET_H
#define TIDEMARK_ATTACH_TARGET_H

#include "attach/elf.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct target {
    pid_t pid;
    pid_t own_pid; /* its pid as it sees it itself, in its own namespace */
    unsigned long long start_time;
    uint64_t program; /* which program it runs: another number after an exec */
    char name[32];
    uint64_t caught; /* signals that it has handlers for, a bit each */
    struct buf maps; /* the text of /proc/PID/maps, as it was when it was opened */
    struct elf_memory memory;
};

/*
 * Looks at the process and says whether it may be touched. 0 and the caller owns what is in *t;
 * else an error of attach_load() with its words in `why`. Release with target_release() in any
 * case.
 */
int target_open(pid_t pid, struct target *t, struct buf *why);
void target_release(struct target *t);

/* Whether the pid still is that process, with the program it had. */
bool target_is_there(const struct target *t);

/* All `len` bytes of its memory: 0 or -errno. Writing obeys the rights of the pages. */
int target_read(const struct target *t, uint64_t address, void *ret, size_t len);
int target_write(const struct target *t, uint64_t address, const void *data, size_t len);

/* Its threads, the main one first. -errno; the caller frees *ret_threads. */
int target_threads(const struct target *t, pid_t **ret_threads, size_t *ret_count);

/* The state letter of a thread ('S': asleep); 0 where it is gone. */
char target_thread_state(const struct target *t, pid_t thread);

#endif

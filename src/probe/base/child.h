/* probe/base/child.h: a copy of the process that works for it. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_CHILD_H
#define TIDEMARK_PROBE_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Runs `work` in a forked child, which has the GIL if the caller has it. No handlers of
 * pthread_atfork() run (some stop the threads of the parent), no signal tells its end, wait() does
 * not see it. In it the interpreter allocates from memory of its own, so that no lock of malloc()
 * is met that another thread held; files are closed; it dies after `seconds`, first where memory
 * runs out, and leaves no core. Returns its pid, negative: -errno.
 */
pid_t child_start(void (*work)(void *context), void *context, unsigned seconds);

/* In the child: it is to end sooner. */
void child_end_within(unsigned seconds);

/* In the child: asks where the allocator of objects is the program's. Nothing is allocated by it.
 */
void child_ask_allocator(void (*ask)(void *context), void *context);

/* True: it has ended, took so much processor time, and came to its end by itself. Does not wait
 * unless told to. */
bool child_has_ended(pid_t pid, bool wait, uint64_t *ret_cpu_ns, bool *ret_was_well);

#endif

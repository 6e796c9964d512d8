/* probe/base/child.h: runs work in a forked copy of the process. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_CHILD_H
#define TIDEMARK_PROBE_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Runs `work` in a forked child, which has the GIL if the caller has it. pthread_atfork() handlers
 * do not run (some stop threads of the parent), the child's end sends no signal, and wait() does
 * not see it. In the child, the interpreter allocates from a private arena, so that it never waits
 * for a malloc() lock that another thread held at the fork. All files are closed. The child dies
 * after `seconds`, is the first to go when memory runs out, and leaves no core. Returns its pid,
 * negative: -errno.
 */
pid_t child_start(void (*work)(void *context), void *context, unsigned seconds);

/* In the child: shortens its time limit. */
void child_end_within(unsigned seconds);

/* In the child: calls `ask` while the program's own object allocator is in place. `ask` must not
 * allocate. */
void child_ask_allocator(void (*ask)(void *context), void *context);

/* True: the child has ended; also gives its processor time and whether it ended by itself. Waits
 * only with `wait`. */
bool child_has_ended(pid_t pid, bool wait, uint64_t *ret_cpu_ns, bool *ret_was_well);

#endif

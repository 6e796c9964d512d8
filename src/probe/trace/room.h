/* probe/trace/room.h: how much of its stack a thread has left. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_ROOM_H
#define TIDEMARK_PROBE_TRACE_ROOM_H

#include <stdbool.h>

/* A sample takes some 8 KB of the stack, and the first ones a little more. */
#define ROOM_BYTES 12288u

/*
 * False: less than ROOM_BYTES may be left below the caller, as in a handler on the alternate stack
 * that sigaltstack() recommends, of 8 KB. Stacks of threads and coroutines are known by the pages
 * that can be read below, that of main() by its limit. One system call, and one more where the
 * thread has not been before.
 */
bool room_is_enough(void);

#endif

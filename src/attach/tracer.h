/* attach/tracer.h: runs the tracing in a process of its own, so that it can be ended at any time.
 * */
#ifndef TIDEMARK_ATTACH_TRACER_H
#define TIDEMARK_ATTACH_TRACER_H

/*
 * Runs `work` in a child process, which is killed if it takes longer than `seconds` or when this
 * process ends. Returns what `work` returns (0 or -errno); -ETIMEDOUT; -EIO: somebody killed it.
 * Results other than that go through shared memory.
 */
int tracer_run(int (*work)(void *context), void *context, double seconds);

#endif

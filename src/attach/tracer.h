/* attach/tracer.h: a process of our own that does the tracing, so that it can be ended at any time.
 */
#ifndef TIDEMARK_ATTACH_TRACER_H
#define TIDEMARK_ATTACH_TRACER_H

/*
 * Runs `work` in a child process, which is killed when it takes longer than `seconds` or when this
 * process ends. What it returns (0 or -errno); -ETIMEDOUT; -EIO: it was killed by somebody. What it
 * finds out it leaves in memory that is shared with it.
 */
int tracer_run(int (*work)(void *context), void *context, double seconds);

#endif

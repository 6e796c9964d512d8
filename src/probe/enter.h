/* probe/enter.h: a process that was entered while it ran. Private to probe/. */
#ifndef TIDEMARK_PROBE_ENTER_H
#define TIDEMARK_PROBE_ENTER_H

#include "probe/probe.h"

/* A step was made: steps are the moments from now on. Also notices, where a fork has no thread of
 * ours, that nobody reads any more. The GIL is held; some nanoseconds. */
void enter_step(void);

#endif

/* probe/hook/prints.h: printed lines as moments for a census. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_PRINTS_H
#define TIDEMARK_PROBE_HOOK_PRINTS_H

#include <stdbool.h>

/*
 * A program without a torch optimizer shows its progress by what it prints. After a line that
 * differs from the first only in its numbers, a pending call is queued: the interpreter runs it in
 * its main thread between two instructions. False: this interpreter has no pending calls.
 */
void lines_watch(void);

#endif

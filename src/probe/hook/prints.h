/* probe/hook/prints.h: lines that the program prints, as moments for a census. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOOK_PRINTS_H
#define TIDEMARK_PROBE_HOOK_PRINTS_H

#include <stdbool.h>

/*
 * A program without an optimizer of torch's says where it is by what it prints. After such a line
 * (one that reads like the first but for its numbers) the interpreter is asked to call us when it
 * is next between two instructions, in its main thread. False: this interpreter cannot be asked.
 */
bool lines_watch(void);

#endif

/* probe/ending.h: the end of the interpreter, heard before anything is taken down. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_ENDING_H
#define TIDEMARK_PROBE_ENDING_H

#include <stdbool.h>

/*
 * `ended` is called once, with the GIL, when the program has come to its end and its modules are
 * still there; not where it is killed or leaves by os._exit(), in a child of a fork as well. The
 * GIL is held. False: it cannot be heard.
 */
bool ending_hear(void (*ended)(void));

#endif

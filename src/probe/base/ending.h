/* probe/base/ending.h: the end of the interpreter, heard before anything is taken down. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_BASE_ENDING_H
#define TIDEMARK_PROBE_BASE_ENDING_H

#include <stdbool.h>

/*
 * `ended` is called once, with the GIL, when the program has come to its end and its modules are
 * still there; not where it is killed or leaves by os._exit(), in a child of a fork as well. Two
 * functions can be registered at a time. The GIL is held. False: it cannot be heard, as long as the
 * program has not imported `atexit`.
 */
bool ending_register(void (*ended)(void));

/* `ended` is not called any more; nothing of ours stays with `atexit` unless another function is
 * registered. The GIL is held. */
void ending_unregister(void (*ended)(void));

/* Imports `atexit`, a module in C that every CPython has built in, without running an import hook
 * of the program. The GIL is held. */
void ending_import(void);

#endif

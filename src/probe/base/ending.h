/* probe/base/ending.h: called at the end of the interpreter, before teardown. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_ENDING_H
#define TIDEMARK_PROBE_BASE_ENDING_H

#include <stdbool.h>

/*
 * `ended` is called once, with the GIL, when the program has ended and its modules still exist;
 * also in the child of a fork. It is not called if the process is killed or calls os._exit(). At
 * most three functions can be registered at a time. The GIL is held. False: not possible before the
 * program has imported `atexit`.
 */
bool ending_register(void (*ended)(void));

/* `ended` is no longer called. Without another registered function, nothing of the probe stays with
 * `atexit`. The GIL is held. */
void ending_unregister(void (*ended)(void));

/* Imports `atexit`, a C module built into every CPython, without running an import hook of the
 * program. The GIL is held. */
void ending_import(void);

#endif

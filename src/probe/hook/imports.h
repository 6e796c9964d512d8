/* probe/hook/imports.h: to be told when a module is imported. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_IMPORTS_H
#define TIDEMARK_PROBE_HOOK_IMPORTS_H

#include <stdbool.h>

/*
 * Calls `look` again and again while `module` imports its parts, with the GIL held, until it
 * returns true. Where the module is never imported nothing is called. To be called before the
 * interpreter is initialised; nothing of the interpreter that a program can see is changed, and it
 * runs as fast as before, except while modules written in C are being loaded. False: not possible
 * in this process.
 */
bool imports_watch(const char *module, bool (*look)(void));

#endif

/* probe/hook/imports.h: waits for an import. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_IMPORTS_H
#define TIDEMARK_PROBE_HOOK_IMPORTS_H

#include <stdbool.h>

/*
 * Calls `hook` repeatedly while `module` imports its parts, with the GIL held, until it returns
 * true. If the module is never imported, nothing is called. Call it before the interpreter is
 * initialised. The program sees no change of the interpreter and runs as fast as before, except
 * while C modules are being loaded. False: not possible in this process.
 */
bool imports_watch(const char *module, bool (*hook)(void));

#endif

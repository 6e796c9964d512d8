/* lib/lib.h: what the Python package needs beside tidemark.h: what the interpreter holds. */
#ifndef TIDEMARK_LIB_H
#define TIDEMARK_LIB_H

#include "wire/wire.h"

#include <tidemark.h>

/* As tidemark_on_leak(), and for negligible leaks too. */
int watcher_on_any_leak(tidemark_watcher *w, tidemark_leak_callback *call, void *context);

/* Which census is worth taking by now. */
enum wire_wanted watcher_wanted(tidemark_watcher *w);

/* A watcher outside asks for censuses itself. */
bool watcher_is_watched_outside(const tidemark_watcher *w);

/* A census begins, as of that time: it belongs to the step that is the last now. */
void watcher_census_at(tidemark_watcher *w, uint64_t time);

/* The census, as wire/census.h describes it. */
void watcher_take_census(tidemark_watcher *w, const char *text, size_t len);

/* See wire_own_shared(). */
void watcher_own_shared(tidemark_watcher *w, size_t bytes);
/* This child takes the census and is no part of the job; 0: no child does. */
void watcher_census_by(tidemark_watcher *w, pid_t pid);

/*
 * The holders of this process's growth, at most `most`, by how much they explain: for each a line
 * "why: ..." and, where the cause is known, a line "fix: ...". Empty: no holder is known. The
 * caller frees it with tidemark_free().
 */
int watcher_holders(tidemark_watcher *w, unsigned most, char **ret);

#endif

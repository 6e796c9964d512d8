/* lib/lib.h: what the Python package needs beside tidemark.h: what the interpreter holds. */
#ifndef TIDEMARK_LIB_H
#define TIDEMARK_LIB_H

#include "wire/wire.h"

#include <tidemark.h>

/* As tidemark_on_leak(), and for negligible leaks too. */
int watcher_on_any_leak(tidemark_watcher *w, tidemark_leak_callback *call, void *context);

/* What is worth finding out about the program's objects by now. */
enum wire_wanted watcher_wanted(tidemark_watcher *w);

/* Somebody outside watches, and asks for it. */
bool watcher_is_watched_outside(const tidemark_watcher *w);

/* A census is taken, as of that time: it is at the step that is the last now. */
void watcher_census_at(tidemark_watcher *w, uint64_t time);

/* What has been found out, as wire/census.h describes it. */
void watcher_take_census(tidemark_watcher *w, const char *text, size_t len);

/* See wire_own_shared(). */
void watcher_own_shared(tidemark_watcher *w, size_t bytes);
/* A child counts for this process, and is no part of the job; 0: no more. */
void watcher_census_by(tidemark_watcher *w, pid_t pid);

/*
 * The holders of this process's growth, at most `most`, by how much they explain: for each a line
 * "why: ..." and, where the cause is known, a line "fix: ...". Empty: no holder is known. The
 * caller frees it with tidemark_free().
 */
int watcher_holders(tidemark_watcher *w, unsigned most, char **ret);

#endif

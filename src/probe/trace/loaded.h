/* probe/trace/loaded.h: the dynamic sections of loaded files. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_LOADED_H
#define TIDEMARK_PROBE_TRACE_LOADED_H

#include "probe/trace/range.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define LOADED_TABLES 2u

/* A loaded file, as its dynamic section describes it. What it lacks is NULL or empty. */
struct loaded_file {
    uintptr_t bias;                  /* its own addresses count from here */
    const void *dynamic;             /* its dynamic section */
    struct range extent, sealed;     /* `sealed`: made read-only after relocation (RELRO) */
    const ElfW(Sym) * symbols;       /* all that it defines or needs */
    const char *strings;             /* their names */
    const uint32_t *hash, *gnu_hash; /* finds symbols by name */
    const ElfW(Rela) * tables[LOADED_TABLES]; /* relocations: data, functions */
    size_t counts[LOADED_TABLES];
};

/*
 * Calls `visit` for each loaded file, in the order in which the loader searches them, until it
 * returns true. The loader holds a lock meanwhile: files are neither added nor removed. But another
 * thread may be at relocating new ones, unless loaded_alone() called the caller.
 */
typedef bool loaded_visit(const struct loaded_file *f, void *context);
void loaded_each(loaded_visit *visit, void *context);

/* How many files were loaded and unloaded so far. Takes the loader's lock for a moment. */
struct loaded_changes {
    unsigned long long added, removed;
};
struct loaded_changes loaded_changes(void);

/*
 * Calls `work` with the lock that dlopen() and dlclose() hold from beginning to end: no other
 * thread is inside them. False: not called, because this C library offers no way, or another thread
 * is here. Never from an allocation.
 */
bool loaded_alone(void (*work)(void *context), void *context);

/* Calls `visit` with each symbol that the file needs of others, but for those below. */
typedef void loaded_symbol(uint32_t symbol, const char *name, void *context);
void loaded_each_needed(const struct loaded_file *f, loaded_symbol *visit, void *context);

/* The symbol of that name that the file offers to others, one even if it has several versions; 0:
 * none. A program also offers addresses that stand for functions it needs: SHN_UNDEF. */
uint32_t loaded_offered(const struct loaded_file *f, const char *name);

/* The function of that name which the program calls, which is the first that a loaded file defines;
 * not the place in the program itself that stands for its address. NULL: none. `after`: the search
 * begins with the file behind the one that has this address; 0: with the program. */
void *loaded_function(const char *name, uintptr_t after);

#endif

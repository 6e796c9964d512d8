/* symbol/symbol.h: functions and source lines of native addresses, read from ELF files. */
#ifndef TIDEMARK_SYMBOL_H
#define TIDEMARK_SYMBOL_H

#include "base/base.h"
#include "deputy/deputy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The files are the target's: hostile input. A deputy opens them as the target's user; another one
 * reads them in a cage, and its answer is parsed as carefully. So a damaged or malicious file costs
 * at most the names in it. Each address is resolved once. One owner, one thread.
 *
 * Functions come from the file's symbol tables. Lines and inlined functions need debug information
 * in the file, or in one that it leads to: by its build-id in /usr/lib/debug, or by .gnu_debuglink;
 * and libdw on this machine. C++ names are demangled by its libstdc++.
 */
struct symbols;

/* A file as the process has it loaded. */
struct symbol_module {
    const char *path;        /* as the process sees it */
    const uint8_t *build_id; /* of that length, may be its beginning; 0: it has none */
    size_t build_id_length;
};

/* One function at an address. `file` "" and `line` 0: no debug information. */
struct symbol_frame {
    const char *function; /* demangled, without arguments, at most 256 bytes; "": not known */
    const char *file;
    int line;
    bool is_inlined; /* into the next frame */
};

/* For one process; keeps names until it is freed, also after the process has ended. */
int symbols_new(pid_t pid, struct symbols **ret); /* -ESRCH and the like: see deputy_new() */
struct symbols *symbols_free(struct symbols *s);  /* accepts NULL, returns NULL */

/*
 * Resolves addresses of one module that are not known yet: offsets as the module's symbols count,
 * of the instruction itself (for a return address: one less). Blocks: about 5 ms for a file, never
 * more than about 10 s for every 4096 addresses. -errno: the file could not be read; it is not
 * tried again. -ESTALE: the file is no longer the one that is loaded (build-id).
 */
int symbols_resolve(struct symbols *s, const struct symbol_module *m, const uint64_t *offsets,
                    size_t count);

/* The innermost function first, then those it was inlined into. 0: not known. Valid until the next
 * symbols_resolve(). */
size_t symbols_find(const struct symbols *s, const char *path, uint64_t offset,
                    const struct symbol_frame **ret);

/* Whether lines and inlined functions can be read here. -ENOENT: libdw is not installed, or lacks a
 * function that is used. */
int symbols_check_lines(void);

/* Whether C++ names are demangled here. -ENOENT: libstdc++ is not installed. */
int symbols_check_cxx(void);

#endif

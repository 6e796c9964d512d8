/* symbol/debug_info.h: lines and inlined functions, by libdw. In a deputy's cage alone. Private to
 * symbol/. */
#ifndef TIDEMARK_SYMBOL_DEBUG_INFO_H
#define TIDEMARK_SYMBOL_DEBUG_INFO_H

#include "symbol/libs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUG_FRAMES 16u /* functions at one address; the outermost are left out */
#define DEBUG_NAME_BYTES 256u

/* The debug information of one file. Stays until the process ends, with every text of it. */
struct debug_info {
    const struct libdw *dw;
    void *dwarf;
};

struct debug_frame {
    const char *linked;          /* NULL: not known; then ... */
    char name[DEBUG_NAME_BYTES]; /* ... with its namespaces, cut; "": not known either */
    const char *file;            /* NULL: not known */
    int line;
};

/* -ENOTSUP: no libdw; -ENOEXEC: it refuses the file. */
int debug_info_open(const struct libdw *dw, const void *bytes, size_t size, struct debug_info *ret);

/* Where the compilation unit of each address begins, 0: in none. Addresses are in ascending
 * order. */
void debug_info_units(const struct debug_info *d, const uint64_t *addresses, size_t count,
                      uint64_t *ret_units);

/* The functions at the address in that unit, the innermost first, each inlined into the next one.
 */
size_t debug_info_frames(const struct debug_info *d, uint64_t unit, uint64_t address,
                         struct debug_frame ret[DEBUG_FRAMES]);

#endif

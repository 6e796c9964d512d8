/* base/maps.h: /proc/PID/maps, parsed. Pure. */
#ifndef TIDEMARK_BASE_MAPS_H
#define TIDEMARK_BASE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One mapping. `path` is as the kernel prints it, without " (deleted)"; empty if there is none.
 * It points into the parsed text and is not NUL-terminated. */
struct maps_entry {
    uint64_t start, end, offset;
    bool read, write, execute, private;
    dev_t device;
    uint64_t inode;
    const char *path;
    size_t path_len;
};

/* Reads the next entry of `text` from *position on, and moves *position after its line. 1, or 0 at
 * the end. Skips lines that it cannot parse. */
int maps_next(const char *text, size_t len, size_t *position, struct maps_entry *ret);

/* Whether the last part of the entry's path begins with `begin`. */
bool maps_is_named(const struct maps_entry *m, const char *begin);

#endif

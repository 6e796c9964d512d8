/* base/maps.h: /proc/PID/maps, parsed. Pure. */
#ifndef TIDEMARK_BASE_MAPS_H
#define TIDEMARK_BASE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One mapping. `path` is as the kernel prints it, without " (deleted)"; "" where there is none. It
 * points into the text that was parsed and is not terminated. */
struct maps_entry {
    uint64_t start, end, offset;
    bool read, write, execute, private;
    dev_t device;
    uint64_t inode;
    const char *path;
    size_t path_len;
};

/* The first entry of `text`, from *position on, which moves behind its line. 1; 0 at the end;
 * lines that are not understood are passed over. */
int maps_next(const char *text, size_t len, size_t *position, struct maps_entry *ret);

/* Whether the last part of the entry's path begins with `begin`. */
bool maps_is_named(const struct maps_entry *m, const char *begin);

#endif

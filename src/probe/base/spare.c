/* probe/base/spare.c: madvise(MADV_DONTFORK) on memory where that is safe. */
#include "probe/base/spare.h"

#include "probe/base/places.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_BYTES ((size_t) 4 << 20)
#define PAGE_BYTES 4096u

/* Reads /proc/self/maps and ends it with a 0. False: not readable, or longer than `size`. */
static bool read_maps(char *ret, size_t size)
{
    size_t used = 0;
    long n = -1;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (used < size - 1 && (n = read(fd, ret + used, size - 1 - used)) > 0)
        used += (size_t) n;
    close(fd);
    ret[used] = '\0';
    return n == 0;
}

/* Is the line "BEGIN-END rw-p OFFSET DEVICE INODE" an anonymous mapping or the heap? */
static bool is_plain(const char *line)
{
    const char *permissions = strchr(line, ' ');
    const char *name = permissions;
    for (int field = 0; name && field < 4; field++) {
        name += strspn(name, " ");
        name = strpbrk(name, " \n");
    }
    if (!name || strncmp(permissions, " rw-p", 5) != 0)
        return false;
    name += strspn(name, " ");
    return *name == '\n' || strncmp(name, "[heap]", 6) == 0;
}

/* The whole pages of plain memory in `wanted`; end 0: none. */
static struct spare plain_part(const char *maps, struct spare wanted)
{
    struct spare none = {0, 0};
    for (const char *line = maps; *line; line = strchr(line, '\n') + 1) {
        char *dash;
        uintptr_t begin = strtoul(line, &dash, 16), end = strtoul(dash + 1, NULL, 16);
        if (wanted.begin >= end)
            continue;
        if (wanted.begin < begin || wanted.end > end || !is_plain(line))
            return none;
        return (struct spare){(wanted.begin + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES,
                              wanted.end / PAGE_BYTES * PAGE_BYTES};
    }
    return none;
}

static void advise(const struct spare *s, int advice)
{
    madvise((void *) s->begin, s->end - s->begin, advice); /* NOLINT(performance-no-int-to-ptr) */
}

#define FORK_NS_PER_PAGE 80u

uint64_t spare_fork_ns(const struct spare *list, size_t count)
{
    char text[128] = "";
    char *resident = text;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, text, sizeof(text) - 1); /* "SIZE RESIDENT ..." in pages */
        (void) n;
        close(fd);
    }
    strtoul(text, &resident, 10);
    uint64_t pages = strtoul(resident, NULL, 10), spared = 0;
    for (size_t i = 0; i < count; i++)
        spared += (list[i].end - list[i].begin) / PAGE_BYTES;
    return pages > spared ? (pages - spared) * FORK_NS_PER_PAGE : 0;
}

size_t spare_leave_out(struct spare *list, size_t count)
{
    char *maps = count > 0 ? places_map(MAPS_BYTES) : NULL;
    size_t kept = 0;
    /* A program that uses InfiniBand may have given this advice itself; MADV_DOFORK would undo it.
     */
    if (maps && read_maps(maps, MAPS_BYTES) && !strstr(maps, "/dev/infiniband"))
        for (size_t i = 0; i < count; i++) {
            struct spare part = plain_part(maps, list[i]);
            if (part.end > part.begin)
                list[kept++] = part;
        }
    places_unmap(maps, MAPS_BYTES);
    for (size_t i = 0; i < kept; i++)
        advise(&list[i], MADV_DONTFORK);
    return kept;
}

void spare_put_back(const struct spare *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        advise(&list[i], MADV_DOFORK);
}

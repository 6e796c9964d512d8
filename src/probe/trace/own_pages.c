/* probe/trace/own_pages.c: moves static tables between private and shared memory. */
#include "probe/trace/own_pages.h"

#include "probe/base/pages.h"

#include <string.h>

static void *pointer_to(uintptr_t address)
{
    return (void *) address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Where pages are larger than the tables assume, others would be in the way. */
static bool fills_pages(struct range table)
{
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
    return table.begin % page == 0 && table.end % page == 0;
}

static bool move(struct range table, int flags)
{
    size_t size = table.end - table.begin;
    if (!fills_pages(table))
        return false;
    void *pages = pages_map(NULL, size, flags);
    if (!pages)
        return false;
    memcpy(pages, pointer_to(table.begin), size);
    if (syscall(SYS_mremap, pages, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, table.begin) != -1)
        return true;
    pages_unmap(pages, size);
    return false;
}

/* All pages at once: the watcher counts on it. */
bool own_pages_share(struct range table)
{
    return move(table, MAP_SHARED | MAP_POPULATE);
}

bool own_pages_unshare(struct range table)
{
    return move(table, MAP_PRIVATE);
}

bool own_pages_clear(struct range table)
{
    return fills_pages(table) && pages_map(pointer_to(table.begin), table.end - table.begin,
                                           MAP_PRIVATE | MAP_FIXED) != NULL;
}

/* probe/trace/range.c: the addresses of a loaded file. */
#include "probe/trace/range.h"

#include <link.h>

struct range range_own;

struct search {
    uintptr_t address;
    struct range found;
};

static struct range extent(const struct dl_phdr_info *file)
{
    struct range r = {UINTPTR_MAX, 0};
    for (unsigned i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &file->dlpi_phdr[i];
        uintptr_t begin = file->dlpi_addr + h->p_vaddr, end = begin + h->p_memsz;
        if (h->p_type != PT_LOAD)
            continue;
        r.begin = begin < r.begin ? begin : r.begin;
        r.end = end > r.end ? end : r.end;
    }
    return r;
}

static int compare(struct dl_phdr_info *file, size_t size, void *context)
{
    struct search *s = context;
    struct range r = extent(file);
    (void) size;
    if (!range_has(r, s->address))
        return 0;
    s->found = r;
    return 1;
}

struct range range_of_file(uintptr_t address)
{
    struct search s = {.address = address};
    dl_iterate_phdr(compare, &s);
    return s.found;
}

void range_find_own(void)
{
    range_own = range_of_file((uintptr_t) &range_own);
}

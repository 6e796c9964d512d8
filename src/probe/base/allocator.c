/* probe/base/allocator.c: glibc's statistics of its heap. */
#include "probe/base/allocator.h"

#include "probe/base/libc.h"

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

typedef struct mallinfo2 account(void);

/* The library that defines a function. In a non-PIE program dlsym() may give the program's own PLT
 * entry, which is not where the function is. */
static const void *library_of(const char *function)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *address = dlsym(RTLD_DEFAULT, function);
    if (!address || !libc_symbol(address, &info, &symbol))
        return NULL;
    if (symbol && symbol->st_shndx != SHN_UNDEF)
        return info.dli_fbase;
    address = dlsym(RTLD_NEXT, function);
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* With another malloc() (jemalloc, tcmalloc), glibc's statistics describe unused memory. */
static bool is_glibc(void)
{
    const void *library = library_of("malloc");
    return library && library == library_of("mallinfo2");
}

bool allocator_read(struct allocator_facts *ret)
{
    static account *read;
    static bool is_known;
    if (!is_known && is_glibc()) {
        void *address = dlsym(RTLD_DEFAULT, "mallinfo2");
        memcpy(&read, &address, sizeof(address));
    }
    is_known = true;
    if (!read)
        return false;
    struct mallinfo2 m = read();
    *ret = (struct allocator_facts){
        .in_use = m.uordblks + m.hblkhd, .free = m.fordblks, .mapped = m.hblkhd};
    return true;
}

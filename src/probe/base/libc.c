/* probe/base/libc.c: what not every C library has. */
#include "probe/base/libc.h"

#include <errno.h>
#include <stddef.h>

/* What glibc's pthread_atfork() is made of: a piece of it lies in every library that calls it, and
 * refers to this in a way that cannot be made weak. Their own names are reserved ones. */
extern int register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                           void *library) __asm__("__register_atfork") __attribute__((weak));
extern void *own_library __asm__("__dso_handle") __attribute__((visibility("hidden")));

extern const char *gnu_get_libc_version(void) __attribute__((weak));
#pragma weak dladdr1

bool libc_is_glibc(void)
{
    return gnu_get_libc_version != NULL;
}

int libc_at_fork(void (*child)(void))
{
    return register_atfork ? register_atfork(NULL, NULL, child, own_library) : ENOSYS;
}

bool libc_symbol(const void *address, Dl_info *ret, const ElfW(Sym) * *ret_symbol)
{
    *ret_symbol = NULL;
    return dladdr1 && dladdr1(address, ret, (void **) ret_symbol, RTLD_DL_SYMENT) != 0;
}

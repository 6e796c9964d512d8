/* probe/base/libc.c: functions that not every C library has. */
#include "probe/base/libc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* glibc links a static piece of pthread_atfork() into every library that uses it, and that piece
 * cannot be referenced weakly. These are the reserved names it is made of. */
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

/* A failed dlsym() would leave a message for the program's next dlerror(). */
libc_object_finder *libc_get_object_finder(void)
{
    libc_object_finder *finder = NULL;
    if (libc_is_glibc() && strverscmp(gnu_get_libc_version(), "2.35") >= 0) {
        void *symbol = dlsym(RTLD_DEFAULT, "_dl_find_object");
        memcpy(&finder, &symbol, sizeof finder);
    }
    return finder;
}

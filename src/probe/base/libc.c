/* probe/base/libc.c: functions that not every C library has. */
#include "probe/base/libc.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int libc_around_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    return register_atfork ? register_atfork(before, in_parent, in_child, own_library) : ENOSYS;
}

int libc_at_fork(void (*child)(void))
{
    return libc_around_fork(NULL, NULL, child);
}

static uint64_t change_signals(uint64_t blocked)
{
    uint64_t before = 0;
    (void) syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, &before, sizeof(before));
    return before;
}

uint64_t libc_block_signals(void)
{
    return change_signals(UINT64_MAX);
}

void libc_restore_signals(uint64_t before)
{
    (void) change_signals(before);
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

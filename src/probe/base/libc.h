/* probe/base/libc.h: what not every C library has. */
#ifndef TIDEMARK_PROBE_BASE_LIBC_H
#define TIDEMARK_PROBE_BASE_LIBC_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

/*
 * LD_PRELOAD brings the probe into every program below `run`, also into one with another C library
 * (musl). There a symbol that is missing would end the program before it begins, so all that only
 * glibc has is referred to weakly, and from here alone. The probe does nothing there: constructors
 * ask libc_is_glibc() first.
 */
bool libc_is_glibc(void);

/* `child` is called in the child of every fork from now on. Not 0: it will not be. */
int libc_at_fork(void (*child)(void));

/* dladdr1(): the loaded file that an address is of, and the symbol; NULL: it has none. */
bool libc_symbol(const void *address, Dl_info *ret, const ElfW(Sym) * *ret_symbol);

#endif

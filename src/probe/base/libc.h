/* probe/base/libc.h: functions that not every C library has. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_LIBC_H
#define TIDEMARK_PROBE_BASE_LIBC_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * LD_PRELOAD brings the probe into every program below `run`, including programs with another C
 * library (musl). There, an unresolved symbol would end the program before main(). So functions
 * that only glibc has are referenced weakly, and only here. The probe does nothing without glibc:
 * constructors ask libc_is_glibc() first.
 */
bool libc_is_glibc(void);

/* `child` is called in the child of every later fork. Nonzero: it could not be registered. */
int libc_at_fork(void (*child)(void));
/* As pthread_atfork(). */
int libc_around_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* All signals wait, also those of the C library that cancel a thread; nothing else does. Returns
 * what was blocked before. */
uint64_t libc_block_signals(void);
void libc_restore_signals(uint64_t before);

/* dladdr1(): the loaded file of an address, and the symbol; NULL: it has no symbol. */
bool libc_symbol(const void *address, Dl_info *ret, const ElfW(Sym) * *ret_symbol);

/* What _dl_find_object() says of a loaded file; laid out as in <dlfcn.h> of glibc 2.35. */
struct libc_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *file;
    void *eh_frame_header;
    unsigned long long unused[7];
};

/* _dl_find_object(): needs no lock, and may be called from a signal handler. Returns 0 if a loaded
 * file has the address. NULL: glibc before 2.35. Getting it takes the loader's lock. */
typedef int libc_object_finder(void *address, struct libc_object *ret);
libc_object_finder *libc_get_object_finder(void);

#endif

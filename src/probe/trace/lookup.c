/* probe/trace/lookup.c: the program's dlsym(). */
#include "probe/trace/lookup.h"

#include "probe/trace/interpose.h"
#include "probe/trace/loaded.h"

#include <dlfcn.h>
#include <stdint.h>

void *lookup_behind;

#ifndef LOOKUP_IS_POSSIBLE

void *lookup_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#else

#pragma weak dlvsym

/* Not by dlsym(), which is ours. A sanitizer asks before its own functions have begun, which may
 * stand before those of the C library: none of them can be called here. musl has no dlvsym(). */
static void find_behind(void)
{
    void *found = dlvsym ? dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5")
                         : loaded_function("dlsym", (uintptr_t) &lookup_behind);
    __atomic_store_n(&lookup_behind, found, __ATOMIC_RELEASE);
}

static void *ask(void *handle, const char *name)
{
    void *(*behind)(void *, const char *) = (void *(*) (void *, const char *) ) lookup_behind;
    return behind(handle, name);
}

/* Others may stand before our dlsym(), and ask as if they were the asking file. */
void *lookup_next(const char *name)
{
    if (!__atomic_load_n(&lookup_behind, __ATOMIC_ACQUIRE))
        find_behind();
    return ask(RTLD_NEXT, name);
}

/* NULL: dlsym() is to answer. */
__attribute__((used, visibility("hidden"))) void *lookup_instead(void *handle, const char *name)
{
    if (!__atomic_load_n(&lookup_behind, __ATOMIC_ACQUIRE))
        find_behind();
    if (handle == RTLD_NEXT || !name)
        return NULL;
    if (handle != RTLD_DEFAULT)
        interpose_heed_loaded(true);
    const struct patch *p = interpose_find(name);
    if (!p)
        return NULL;
    void *found = ask(handle, name);
    return found && found == *p->real ? p->ours : NULL;
}

/* Ends with a jump: the return address is the asking file's. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl lookup_dlsym\n"
        ".hidden lookup_dlsym\n"
        ".type lookup_dlsym, @function\n"
        "lookup_dlsym:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    call lookup_instead\n"
        "    addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jne 1f\n"
        "    movq lookup_behind(%rip), %rax\n"
        "    jmp *%rax\n"
        "1:  ret\n"
        ".cfi_endproc\n"
        ".size lookup_dlsym, . - lookup_dlsym\n");

#ifdef TIDEMARK_INTERPOSES
__asm__(".globl dlsym\n"
        ".type dlsym, @function\n"
        ".set dlsym, lookup_dlsym\n");
#endif

#endif

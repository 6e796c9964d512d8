/* tests/unit/test_attach_elf.c: symbols of the files loaded in this process, and machine code
 * read and written. */
#include "unit.h"

#include "attach/arch.h"
#include "attach/elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static int read_own(void *context, uint64_t address, void *ret, size_t len)
{
    (void) context;
    const void *from;
    memcpy(&from, &address, sizeof(from));
    memcpy(ret, from, len);
    return 0;
}

static int read_nothing(void *context, uint64_t address, void *ret, size_t len)
{
    (void) context, (void) address, (void) ret, (void) len;
    return -EFAULT;
}

static uint64_t base_of(const char *function)
{
    Dl_info info;
    return dladdr(dlsym(RTLD_NEXT, function), &info) ? (uint64_t) (uintptr_t) info.dli_fbase : 0;
}

TEST(elf__finds_a_function_where_it_is)
{
    struct elf_memory own = {read_own, NULL};
    struct elf_image e;
    uint64_t address = 0;
    CHECK(elf_open(&own, base_of("gnu_get_libc_version"), &e) == 0);
    CHECK(elf_find(&e, "gnu_get_libc_version", &address) == 0);
    CHECK(address == (uint64_t) (uintptr_t) dlsym(RTLD_NEXT, "gnu_get_libc_version"));
    CHECK(elf_find(&e, "no_such_function", &address) == -ENOENT);
    CHECK(e.code_end > e.base && address < e.code_end);
}

TEST(elf__refuses_what_is_none)
{
    struct elf_memory own = {read_own, NULL}, none = {read_nothing, NULL};
    struct elf_image e;
    static const char zeros[64];
    CHECK(elf_open(&own, (uint64_t) (uintptr_t) zeros, &e) == -ENOEXEC);
    CHECK(elf_open(&none, 4096, &e) == -EFAULT);
}

#if defined(__x86_64__)

static int read_code(const char *bytes, size_t len, struct arch_getter *g)
{
    return arch_read_getter((const uint8_t *) bytes, len, 0x1000, g);
}

TEST(getter__is_read_in_every_shape_that_compilers_give_it)
{
    struct arch_getter g;
    /* mov 0x10(%rip), %eax; ret */
    CHECK(read_code("\x8b\x05\x10\0\0\0\xc3", 7, &g) == 0 && !g.indirect && g.address == 0x1016);
    /* mov 0x10(%rip), %rax; mov 0xc(%rax), %eax; ret */
    CHECK(read_code("\x48\x8b\x05\x10\0\0\0\x8b\x40\x0c\xc3", 11, &g) == 0 && g.indirect);
    CHECK(g.address == 0x1017 && g.displacement == 12);
    /* endbr64; push %rbp; mov %rsp, %rbp; mov 0x10(%rip), %rax; mov 0x280(%rax), %rax; pop; ret */
    CHECK(read_code("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x8b\x05\x10\0\0\0\x48\x8b\x80\x80\x02\0\0"
                    "\x5d\xc3",
                    24, &g) == 0);
    CHECK(g.indirect && g.address == 0x101f && g.displacement == 0x280);
}

TEST(getter__that_does_more_is_refused)
{
    struct arch_getter g;
    CHECK(read_code("\x8b\x05\x10\0\0\0\x90\xc3", 8, &g) == -ENOTSUP);
    CHECK(read_code("\x8b\x05\x10\0", 4, &g) == -ENOTSUP);
    CHECK(read_code("\xe8\0\0\0\0\xc3", 6, &g) == -ENOTSUP);
    CHECK(read_code("", 0, &g) == -ENOTSUP);
}

#endif

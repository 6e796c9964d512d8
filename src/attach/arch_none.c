/* attach/arch_none.c: for processors that tidemark cannot attach on. */
#if !defined(__x86_64__)
#include "attach/arch.h"

#include <errno.h>

bool arch_is_supported(void)
{
    return false;
}

int arch_save(pid_t thread, struct arch_state **ret_state)
{
    (void) thread, (void) ret_state;
    return -ENOTSUP;
}

void arch_free(struct arch_state *s)
{
    (void) s;
}

enum arch_where arch_where(const struct arch_state *s)
{
    (void) s;
    return ARCH_FOREIGN;
}

uint64_t arch_program_counter(const struct arch_state *s)
{
    (void) s;
    return 0;
}

uint64_t arch_stack_pointer(const struct arch_state *s)
{
    (void) s;
    return 0;
}

bool arch_waits_on_own_stack(const struct arch_state *s)
{
    (void) s;
    return true;
}

int arch_choose_signal(struct arch_state *s, uint64_t caught)
{
    (void) s, (void) caught;
    return -ENOTSUP;
}

int arch_signal(const struct arch_state *s)
{
    (void) s;
    return 0;
}

int arch_jump(pid_t thread, const struct arch_state *s, uint64_t address)
{
    (void) thread, (void) s, (void) address;
    return -ENOTSUP;
}

int arch_restore(pid_t thread, const struct arch_state *s)
{
    (void) thread, (void) s;
    return -ENOTSUP;
}

int arch_position(pid_t thread, uint64_t *ret_address, int64_t *ret_result)
{
    (void) thread, (void) ret_address, (void) ret_result;
    return -ENOTSUP;
}

size_t arch_make_cave(const struct arch_state *s, pid_t thread, const struct arch_call *call,
                      uint64_t page, uint8_t ret_code[ARCH_CAVE_LEN], size_t *ret_after)
{
    (void) s, (void) thread, (void) call, (void) page, (void) ret_code, (void) ret_after;
    return 0;
}

pid_t arch_cave_owner(const uint8_t code[ARCH_CAVE_LEN], uint64_t *ret_page)
{
    (void) code, (void) ret_page;
    return 0;
}

void arch_make_page(const struct arch_state *s, uint64_t region, uint64_t function,
                    uint8_t *ret_page, size_t *ret_after)
{
    (void) s, (void) region, (void) function, (void) ret_page, (void) ret_after;
}

size_t arch_saved_len(void)
{
    return 0;
}

int arch_read_getter(const uint8_t *code, size_t len, uint64_t at, struct arch_getter *ret)
{
    (void) code, (void) len, (void) at, (void) ret;
    return -ENOTSUP;
}

#endif

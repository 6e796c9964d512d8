/* Temporary: stands for parts that are built elsewhere. Removed on merge. */
#include "probe/trace/python_stack.h"
#include "probe/trace/unwind.h"
#include "wire/wire.h"

#include <link.h>
#include <math.h>
#include <string.h>

#define WEAK __attribute__((weak))

WEAK double wire_trace_weight(uint64_t size, double interval)
{
    return (double) size / -expm1(-(double) size / interval);
}
WEAK size_t unwind(uintptr_t stack_end, uintptr_t *ret, size_t most, bool *ret_complete)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    size_t n = 0;
    *ret_complete = true;
    (void) stack_end;
    (void) frame;
    (void) ret;
    (void) most;
    return n;
}
static int find_module(struct dl_phdr_info *file, size_t size, void *context)
{
    (void) file;
    (void) size;
    (void) context;
    return 0;
}
WEAK bool unwind_module(uintptr_t address, struct unwind_module *ret)
{
    (void) address;
    (void) ret;
    (void) find_module;
    return false;
}
WEAK void unwind_review(void)
{
}
WEAK bool unwind_is_possible(void)
{
    return false;
}
WEAK size_t python_stack(struct python_stack_frame *ret, size_t most)
{
    (void) ret;
    (void) most;
    return 0;
}
WEAK bool python_stack_is_loop(uintptr_t address)
{
    (void) address;
    return false;
}
WEAK void python_stack_name(const void *code, char *ret, size_t most)
{
    (void) code;
    (void) ret;
    (void) most;
}
WEAK void python_stack_file(const void *code, char *ret, size_t most)
{
    (void) code;
    (void) ret;
    (void) most;
}
WEAK int python_stack_first_line(const void *code)
{
    (void) code;
    return 0;
}
WEAK uint64_t python_stack_key(const void *code)
{
    return (uint64_t) code;
}

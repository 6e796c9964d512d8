/* probe/trace/operators.c: C++'s operators new and delete, where an allocator brings its own. */
#include "probe/trace/operators.h"

#include "probe/trace/loaded.h"
#include "probe/trace/sampling.h"

#include <stdint.h>

/* Alignments and tags follow the size or the block, all in registers: where there are fewer, the
 * function behind ignores the rest. It may throw, which passes through here. */
typedef void *make(size_t size, uintptr_t first, uintptr_t second);
typedef void drop(void *block, uintptr_t first, uintptr_t second);

#define MAKES(X)                                                                                   \
    X(_Znwm)                                                                                       \
    X(_Znam)                                                                                       \
    X(_ZnwmRKSt9nothrow_t)                                                                         \
    X(_ZnamRKSt9nothrow_t)                                                                         \
    X(_ZnwmSt11align_val_t)                                                                        \
    X(_ZnamSt11align_val_t)                                                                        \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                          \
    X(_ZnamSt11align_val_tRKSt9nothrow_t)

#define DROPS(X)                                                                                   \
    X(_ZdlPv)                                                                                      \
    X(_ZdaPv)                                                                                      \
    X(_ZdlPvm)                                                                                     \
    X(_ZdaPvm)                                                                                     \
    X(_ZdlPvRKSt9nothrow_t)                                                                        \
    X(_ZdaPvRKSt9nothrow_t)                                                                        \
    X(_ZdlPvSt11align_val_t)                                                                       \
    X(_ZdaPvSt11align_val_t)                                                                       \
    X(_ZdlPvmSt11align_val_t)                                                                      \
    X(_ZdaPvmSt11align_val_t)                                                                      \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                         \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

__attribute__((noinline, cold)) static void *take(void *block, size_t size)
{
    sampling_take(block, size, WIRE_TRACE_MALLOC);
    return block;
}

#define MAKE(name)                                                                                 \
    static make *behind##name;                                                                     \
    static void *wrap##name(size_t size, uintptr_t first, uintptr_t second)                        \
    {                                                                                              \
        if (sampling_counts(size))                                                                 \
            return take(behind##name(size, first, second), size);                                  \
        return behind##name(size, first, second);                                                  \
    }
MAKES(MAKE)

#define DROP(name)                                                                                 \
    static drop *behind##name;                                                                     \
    static void wrap##name(void *block, uintptr_t first, uintptr_t second)                         \
    {                                                                                              \
        if (sampling_may_have(block))                                                              \
            sampling_forget(block);                                                                \
        behind##name(block, first, second);                                                        \
    }
DROPS(DROP)

#define ENTRY(name) {#name, (void *) wrap##name, (void **) &behind##name},
static const struct patch operators[] = {MAKES(ENTRY) DROPS(ENTRY)};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

const struct patch *operators_of(struct range allocator, size_t *ret_count)
{
    bool are_own = false;
    for (size_t i = 0; i < OPERATORS; i++) {
        void *found = loaded_function(operators[i].name, 0);
        if (!found || !range_has(allocator, (uintptr_t) found))
            continue;
        __atomic_store_n(operators[i].real, found, __ATOMIC_RELEASE);
        are_own = true;
    }
    *ret_count = are_own ? OPERATORS : 0;
    return operators;
}

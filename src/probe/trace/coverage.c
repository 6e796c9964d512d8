/* probe/trace/coverage.c: whose functions the program calls. */
#include "probe/base/libc.h"
#include "probe/trace/interpose.h"
#include "probe/trace/loaded.h"
#include "probe/trace/sampling.h"

/* A sanitizer has functions of its own before the allocator's, and records of every block. Not by
 * dlsym(): where it fails it keeps a message, which the next dlsym() frees, also where a free() of
 * others calls it to find the next. */
static bool has_sanitizer(void)
{
    static const char *const names[] = {"__asan_init", "__hwasan_init", "__lsan_init",
                                        "__msan_init", "__tsan_init"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (loaded_function(names[i], 0))
            return true;
    return false;
}

enum wire_trace_coverage sampling_find_coverage(void)
{
    if (!libc_is_glibc() || has_sanitizer())
        return WIRE_TRACE_STAYS_OUT;
    return interpose_is_reached() ? WIRE_TRACE_INTERPOSED : WIRE_TRACE_UNDECIDED;
}

enum wire_trace_coverage sampling_patch(void)
{
    return interpose_patch() ? WIRE_TRACE_PATCHED : WIRE_TRACE_UNDECIDED;
}

bool sampling_unpatch(void)
{
    return interpose_unpatch() == 0;
}

void sampling_heed_loaded(void)
{
    interpose_heed_loaded(false);
}

bool sampling_may_patch(void)
{
    return patch_is_calm();
}

/* probe/attach/tracing.c: the allocation tracer in a process that was already running. */
#include "probe/attach/tracing.h"

#include "probe/trace/interpreter.h"
#include "probe/trace/sampling.h"

#include <stdatomic.h>

static bool is_begun;
static atomic_bool is_reached; /* it was tried to reach the program's allocations */

void tracing_begin(const char *directory)
{
    sampling_begin(directory, WIRE_TRACE_UNDECIDED);
    is_begun = true;
}

/* Nothing is ordered of a process that is left alone: its file says so. */
static void reach(void)
{
    enum wire_trace_coverage coverage = sampling_find_coverage();
    atomic_store(&is_reached, true);
    sampling_set_coverage(coverage == WIRE_TRACE_UNDECIDED ? sampling_patch() : coverage);
}

void tracing_look(void)
{
    if (!is_begun)
        return;
    sampling_look();
    if (!sampling_is_armed() && !atomic_load(&is_reached))
        return;
    if (!atomic_load(&is_reached))
        reach();
    else
        sampling_heed_loaded();
    interpreter_look();
}

bool tracing_end(void)
{
    if (!is_begun)
        return true;
    interpreter_end();
    if (!sampling_unpatch())
        return false;
    sampling_end();
    atomic_store(&is_reached, false);
    is_begun = false;
    return true;
}

bool tracing_is_behind(void)
{
    sampling_look();
    return sampling_is_armed() && !atomic_load(&is_reached);
}

void tracing_forked(void)
{
    interpreter_forked();
}

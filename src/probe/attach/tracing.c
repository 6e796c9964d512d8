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

/* A program that loads files all the time does it for moments. */
#define PATIENCE_NS UINT64_C(700000000)

static bool may_patch(void)
{
    static uint64_t since;
    uint64_t now = wire_now();
    since = since ? since : now;
    if (!sampling_may_patch() && now < since + PATIENCE_NS)
        return false;
    since = 0;
    return true;
}

/* Nothing is ordered of a process that is left alone: its file says so. */
static void reach(void)
{
    if (!may_patch())
        return;
    enum wire_trace_coverage coverage = sampling_find_coverage();
    atomic_store(&is_reached, true);
    sampling_set_coverage(coverage == WIRE_TRACE_UNDECIDED ? sampling_patch() : coverage);
}

#define LOADED_NS UINT64_C(100000000) /* between two looks for files that were loaded */

static void heed_loaded(void)
{
    static uint64_t next;
    uint64_t now = wire_now();
    if (now < next)
        return;
    next = now + LOADED_NS;
    sampling_heed_loaded();
}

void tracing_look(void)
{
    if (!is_begun)
        return;
    sampling_look();
    if (!atomic_load(&is_reached) && sampling_is_armed())
        reach();
    if (!atomic_load(&is_reached))
        return;
    heed_loaded();
    interpreter_look();
}

/* At the interpreter's end there is no later: import tables may stay changed then, but nothing is
 * sampled any more. */
bool tracing_end(bool at_once)
{
    if (!is_begun)
        return true;
    bool is_changed = atomic_load(&is_reached);
    if (is_changed && !at_once && !may_patch())
        return false;
    interpreter_end();
    if (is_changed && !sampling_unpatch() && !at_once)
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

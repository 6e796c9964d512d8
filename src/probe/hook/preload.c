/* probe/hook/preload.c: loaded into every process of a job, active only with a Python; but
 * for the allocation tracer, which needs none. */
#include "probe/base/libc.h"
#include "probe/base/python.h"
#include "probe/hook/imports.h"
#include "probe/hook/prints.h"
#include "probe/hook/ring.h"
#include "probe/hook/torch.h"
#include "probe/trace/interpreter.h"
#include "probe/trace/loaded.h"
#include "probe/trace/sampling.h"

#include <stdlib.h>

static void in_child(void)
{
    ring_forget();
    torch_forget();
    inspect_forget();
    interpreter_forked();
}

/* Under `run --no-trace` the library without functions of malloc's family is preloaded, and no
 * import table is changed. */
static void trace(const char *directory)
{
#ifdef TIDEMARK_INTERPOSES
    enum wire_trace_coverage coverage = sampling_find_coverage();
    sampling_begin(directory, coverage);
    /* Another allocator may have been preloaded before this library. */
    if (coverage == WIRE_TRACE_UNDECIDED)
        sampling_set_coverage(sampling_patch());
#else
    (void) directory;
#endif
}

/* Before main(). Reads and changes none of the interpreter's settings, so that it starts as it
 * would without the probe. */
__attribute__((constructor)) static void on_load(void)
{
    const char *directory = getenv(WIRE_DIRECTORY_VARIABLE);
    if (!libc_is_glibc() || !directory)
        return;
    trace(directory);
    /* A failed search by dlsym() would leave a message, which the program could find. */
    if (!loaded_function("Py_IsInitialized", 0) || !python_find() || py.Py_IsInitialized())
        return;
    (void) imports_watch("torch", torch_hook);
    lines_watch();
    interpreter_follow();
    (void) libc_at_fork(in_child);
}

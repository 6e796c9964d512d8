/* probe/trace/interpreter.c: has the interpreter traced while the process is armed. */
#include "probe/trace/interpreter.h"

#include "probe/base/ending.h"
#include "probe/base/python.h"
#include "probe/trace/python_alloc.h"
#include "probe/trace/python_stack.h"
#include "probe/trace/sampling.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTEMPTS 100u /* the frames of a first moment may be too simple to learn from */

static bool may_ask;
static atomic_bool is_pending;
static bool knows_frames, hears_the_end;
static unsigned attempts; /* to arm; there are interpreters that cannot be */

/* The orders and the interpreter differ. */
static bool is_behind(void)
{
    bool is_armed = python_alloc_is_armed();
    return sampling_is_armed() ? !(is_armed && knows_frames) && attempts < ATTEMPTS : is_armed;
}

/* ---- with the GIL ---- */

static void arm(void)
{
    if (!hears_the_end) {
        ending_import();
        hears_the_end = ending_register(sampling_freeze);
    }
    attempts++;
    knows_frames = knows_frames || python_stack_learn();
    if (python_alloc_may_change() && python_alloc_arm())
        sampling_set_python(knows_frames);
}

void interpreter_look(void)
{
    sampling_look();
    if (!is_behind())
        return;
    if (sampling_is_armed())
        arm();
    else if (python_alloc_may_change())
        python_alloc_disarm();
}

void interpreter_end(void)
{
    if (python_alloc_is_armed() && python_alloc_may_change())
        python_alloc_disarm();
    if (hears_the_end)
        ending_unregister(sampling_freeze);
    hears_the_end = false;
    attempts = 0;
}

/* ---- pending calls ---- */

static int on_pending(void *context)
{
    (void) context;
    atomic_store(&is_pending, false);
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    interpreter_look();
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    /* As after a line (prints.c): a signal that arrived meanwhile reaches the program at once. */
    return py.PyErr_CheckSignals() < 0 ? -1 : 0;
}

void interpreter_follow(void)
{
    may_ask = true;
}

void interpreter_ask(void)
{
    if (!may_ask || !is_behind() || (pid_t) syscall(SYS_gettid) != getpid() ||
        !py.Py_IsInitialized())
        return;
    if (!atomic_exchange(&is_pending, true) && py.Py_AddPendingCall(on_pending, NULL) != 0)
        atomic_store(&is_pending, false);
}

void interpreter_forked(void)
{
    atomic_store(&is_pending, false);
}

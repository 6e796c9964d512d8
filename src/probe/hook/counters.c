/* probe/hook/counters.c: counters that torch and the interpreter keep themselves. */
#include "probe/base/python.h"
#include "probe/hook/recording.h"
#include "probe/probe.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define DEVICES 16

/* Intervals for counters that rarely matter, in seconds. */
#define RARELY 1.0
#define NOW_AND_THEN 0.1

static double monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static double call_for_number(py_object *module, const char *function)
{
    py_object *result = py.PyObject_CallMethod(module, function, NULL);
    double number = result ? (double) py.PyLong_AsLong(result) : (double) NAN;
    py.PyErr_Clear();
    python_drop(result);
    return number;
}

/* ---- torch ---- */

static void emit_finite(tidemark_probe_emit *emit, void *context, const char *kind,
                        const char *device, bool judged, double value)
{
    if (isfinite(value))
        emit(context, kind, device, false, judged, value);
}

/* True: the device is in use. */
static bool read_device(py_object *core, int index, tidemark_probe_emit *emit, void *context)
{
    char device[16];
    py_object *stats = py.PyObject_CallMethod(core, "_cuda_memoryStats", "i", index);
    if (!stats) {
        py.PyErr_Clear();
        return false;
    }
    snprintf(device, sizeof(device), "cuda:%d", index);
    double reserved =
        python_number_at(stats, (const char *const[]){"reserved_bytes", "all", "current", NULL});
    double allocated =
        python_number_at(stats, (const char *const[]){"allocated_bytes", "all", "current", NULL});
    double peak =
        python_number_at(stats, (const char *const[]){"allocated_bytes", "all", "peak", NULL});
    py.Py_DecRef(stats);
    if (!(reserved > 0))
        return false;
    emit_finite(emit, context, "torch.allocated", device, true, allocated);
    emit_finite(emit, context, "torch.reserved", device, true, reserved);
    emit_finite(emit, context, "torch.peak", device, false, peak);
    return true;
}

/* Host memory that torch has pinned for copies to and from devices. */
static void read_pinned(py_object *core, tidemark_probe_emit *emit, void *context)
{
    py_object *stats = py.PyObject_CallMethod(core, "_cuda_hostMemoryStats", NULL);
    if (!stats) {
        py.PyErr_Clear(); /* an older torch */
        return;
    }
    emit_finite(emit, context, "torch.pinned", "", true,
                python_number_at(stats, (const char *const[]){"allocated_bytes", "current", NULL}));
    py.Py_DecRef(stats);
}

static void read_torch(bool rarely, bool now_and_then, tidemark_probe_emit *emit, void *context)
{
    static bool in_use[DEVICES];
    py_object *core = python_module("torch._C");
    if (!core || !cuda_is_in_use(core))
        return;
    double count = rarely ? call_for_number(core, "_cuda_getDeviceCount") : DEVICES;
    for (int i = 0; i < DEVICES && i < count; i++)
        if (in_use[i] || rarely)
            in_use[i] = read_device(core, i, emit, context);
    if (now_and_then)
        read_pinned(core, emit, context);
}

/* ---- the interpreter ---- */

/* Full collections so far: they explain why memory fell, and whether it could have. */
static void read_collections(tidemark_probe_emit *emit, void *context)
{
    py_object *gc = python_module("gc");
    py_object *all = gc ? py.PyObject_CallMethod(gc, "get_stats", NULL) : NULL;
    py_object *oldest = all ? py.PySequence_GetItem(all, -1) : NULL;
    double full = oldest ? python_number_at(oldest, (const char *const[]){"collections", NULL})
                         : (double) NAN;
    if (isfinite(full))
        emit(context, "py.collections", "", true, false, full);
    py.PyErr_Clear();
    python_drop(oldest);
    python_drop(all);
}

__attribute__((visibility("default"))) void tidemark_probe_read(tidemark_probe_emit *emit,
                                                                void *context)
{
    static double next_rarely, next_now_and_then;
    if (!python_find() || !py.Py_IsInitialized())
        return;
    double now = monotonic();
    bool rarely = now >= next_rarely, now_and_then = now >= next_now_and_then;
    if (rarely)
        next_rarely = now + RARELY;
    if (now_and_then)
        next_now_and_then = now + NOW_AND_THEN;
    read_torch(rarely, now_and_then, emit, context);
    if (rarely)
        read_collections(emit, context);
}

/* probe/trace/python_alloc.c: traces CPython's own allocators. */
#include "probe/trace/python_alloc.h"

#include "probe/base/python.h"
#include "probe/trace/sampling.h"

#include <errno.h>
#include <stdatomic.h>

#define INLINE static inline __attribute__((always_inline))
#define SELDOM static __attribute__((noinline, cold))

/* As CPython numbers its domains; "raw" comes before. */
#define FIRST_DOMAIN 1
enum { MEMORY, OBJECT, DOMAINS };

/*
 * What stands behind ours. It has our functions' context as well: a thread of another interpreter
 * in this process, with a GIL of its own, may read half of a change. Never changed while ours are
 * in use, so they always pass on to functions that do not lead back to them.
 */
static struct py_allocator behind[DOMAINS];

static _Atomic bool is_armed;

/* A request of this size is a question: does it reach our functions? No program's can be so big. */
#define QUESTION ((size_t) 1 << 62)
static bool is_reached;

/* ---- requests ---- */

/* Each counts once, although the allocator behind may take memory from malloc() for it. */

SELDOM void *sampled_malloc(const struct py_allocator *a, void *context, size_t size)
{
    if (size >= QUESTION) {
        is_reached = true;
        return NULL;
    }
    int64_t left = sampling_pause();
    void *address = a->malloc(context, size);
    sampling_resume(left);
    sampling_take(address, size, WIRE_TRACE_PYTHON);
    return address;
}

INLINE void *serve_malloc(const struct py_allocator *a, void *context, size_t size)
{
    if (sampling_counts(size))
        return sampled_malloc(a, context, size);
    int64_t left = sampling_pause();
    void *address = a->malloc(context, size);
    sampling_resume(left);
    return address;
}

INLINE void *serve_calloc(const struct py_allocator *a, void *context, size_t count, size_t size)
{
    bool is_picked = sampling_counts(count * size); /* the interpreter has checked the product */
    int64_t left = sampling_pause();
    void *address = a->calloc(context, count, size);
    sampling_resume(left);
    if (is_picked)
        sampling_take(address, count * size, WIRE_TRACE_PYTHON);
    return address;
}

/* A sample is taken out before: afterwards another thread may have memory at its address. */
SELDOM void *followed_realloc(const struct py_allocator *a, void *context, void *old, size_t size,
                              bool is_picked)
{
    struct sampling_record record = sampling_remove(old);
    int64_t left = sampling_pause();
    void *address = a->realloc(context, old, size);
    sampling_resume(left);
    if (!address && record.sample.size)
        sampling_restore(&record);
    if (is_picked)
        sampling_take(address, size, WIRE_TRACE_PYTHON);
    return address;
}

INLINE void *serve_realloc(const struct py_allocator *a, void *context, void *old, size_t size)
{
    bool is_picked = sampling_counts(size);
    if (is_picked || sampling_may_have(old))
        return followed_realloc(a, context, old, size, is_picked);
    int64_t left = sampling_pause();
    void *address = a->realloc(context, old, size);
    sampling_resume(left);
    return address;
}

INLINE void serve_free(const struct py_allocator *a, void *context, void *address)
{
    if (sampling_may_have(address))
        sampling_forget(address);
    a->free(context, address);
}

/* ---- our functions ---- */

static void *memory_malloc(void *context, size_t size)
{
    return serve_malloc(&behind[MEMORY], context, size);
}

static void *memory_calloc(void *context, size_t count, size_t size)
{
    return serve_calloc(&behind[MEMORY], context, count, size);
}

static void *memory_realloc(void *context, void *old, size_t size)
{
    return serve_realloc(&behind[MEMORY], context, old, size);
}

static void memory_free(void *context, void *address)
{
    serve_free(&behind[MEMORY], context, address);
}

static void *object_malloc(void *context, size_t size)
{
    return serve_malloc(&behind[OBJECT], context, size);
}

static void *object_calloc(void *context, size_t count, size_t size)
{
    return serve_calloc(&behind[OBJECT], context, count, size);
}

static void *object_realloc(void *context, void *old, size_t size)
{
    return serve_realloc(&behind[OBJECT], context, old, size);
}

static void object_free(void *context, void *address)
{
    serve_free(&behind[OBJECT], context, address);
}

static const struct py_allocator ours[DOMAINS] = {
    [MEMORY] = {NULL, memory_malloc, memory_calloc, memory_realloc, memory_free},
    [OBJECT] = {NULL, object_malloc, object_calloc, object_realloc, object_free},
};

/* ---- arming ---- */

static bool is_same(const struct py_allocator *a, const struct py_allocator *b)
{
    return a->malloc == b->malloc && a->calloc == b->calloc && a->realloc == b->realloc &&
           a->free == b->free;
}

/* Nothing is allocated: ours refuse the request, and so do all others. */
static bool answers(int domain)
{
    int error = errno;
    int64_t left = sampling_pause();
    sampling_resume(0); /* no byte is left: the request is looked at */
    is_reached = false;
    if (domain == MEMORY)
        py.PyMem_Malloc(QUESTION);
    else
        py.PyObject_Malloc(QUESTION);
    sampling_resume(left);
    errno = error;
    return is_reached;
}

/* Do requests pass our functions? What stood behind ours does not lead to them. */
static bool is_within(int domain, const struct py_allocator *front)
{
    if (front->malloc == ours[domain].malloc)
        return true;
    bool is_known = !behind[domain].malloc ||
                    (is_same(front, &behind[domain]) && front->context == behind[domain].context);
    return !is_known && answers(domain);
}

static void put_in(int domain)
{
    struct py_allocator front, new = ours[domain];
    py.PyMem_GetAllocator(FIRST_DOMAIN + domain, &front);
    if (is_within(domain, &front))
        return;
    behind[domain] = front;
    new.context = front.context;
    py.PyMem_SetAllocator(FIRST_DOMAIN + domain, &new);
}

static void take_out(int domain)
{
    struct py_allocator front;
    py.PyMem_GetAllocator(FIRST_DOMAIN + domain, &front);
    if (is_same(&front, &ours[domain]))
        py.PyMem_SetAllocator(FIRST_DOMAIN + domain, &behind[domain]);
}

bool python_alloc_may_change(void)
{
    return python_has_gil();
}

bool python_alloc_arm(void)
{
    for (int i = 0; i < DOMAINS; i++)
        put_in(i);
    atomic_store(&is_armed, true);
    return true;
}

void python_alloc_disarm(void)
{
    atomic_store(&is_armed, false);
    for (int i = 0; i < DOMAINS; i++)
        take_out(i);
}

bool python_alloc_is_armed(void)
{
    return atomic_load(&is_armed);
}

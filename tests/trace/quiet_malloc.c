/* tests/trace/quiet_malloc.c: preloaded behind the tracer; passes all on to the C library, and knows
 * whether the calling thread is inside it. A handler that interrupts the C library's malloc() must
 * not call it; one that interrupts the tracer may. */
#include <stdbool.h>
#include <stddef.h>

extern void *libc_malloc(size_t size) __asm__("__libc_malloc");
extern void libc_free(void *at) __asm__("__libc_free");
extern void *libc_calloc(size_t count, size_t size) __asm__("__libc_calloc");
extern void *libc_realloc(void *at, size_t size) __asm__("__libc_realloc");
extern void *libc_memalign(size_t alignment, size_t size) __asm__("__libc_memalign");

static __thread __attribute__((tls_model("initial-exec"))) volatile int depth;

bool is_in_allocator(void)
{
    return depth > 0;
}

void *malloc(size_t size)
{
    depth++;
    void *at = libc_malloc(size);
    depth--;
    return at;
}

void free(void *at)
{
    depth++;
    libc_free(at);
    depth--;
}

void *calloc(size_t count, size_t size)
{
    depth++;
    void *at = libc_calloc(count, size);
    depth--;
    return at;
}

void *realloc(void *at, size_t size)
{
    depth++;
    void *moved = libc_realloc(at, size);
    depth--;
    return moved;
}

void *memalign(size_t alignment, size_t size)
{
    depth++;
    void *at = libc_memalign(alignment, size);
    depth--;
    return at;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
        return 22;
    void *at = memalign(alignment, size);
    if (!at)
        return 12;
    *ret = at;
    return 0;
}

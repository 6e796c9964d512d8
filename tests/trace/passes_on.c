/* tests/trace/passes_on.c: stands before malloc() as well, and passes on to the next, which it
 * finds by RTLD_NEXT. At the end it writes "passed on N" to standard error. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long passed;

void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (!next)
        next = (void *(*) (size_t)) dlsym(RTLD_NEXT, "malloc");
    if (next == malloc)
        _exit(98);
    passed++;
    return next(size);
}

void free(void *block)
{
    static void (*next)(void *);
    if (!next)
        next = (void (*)(void *)) dlsym(RTLD_NEXT, "free");
    if (next == free)
        _exit(98);
    next(block);
}

__attribute__((destructor)) static void say(void)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "passed on %lu\n", passed);
    (void) !write(STDERR_FILENO, text, (size_t) length);
}

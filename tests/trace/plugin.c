/* tests/trace/plugin.c: a library that a program loads later, and that allocates. */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void *plugin_keep(size_t size)
{
    void *block = malloc(size);
    return block ? memset(block, 1, size) : NULL;
}

void plugin_drop(void *block)
{
    free(block);
}

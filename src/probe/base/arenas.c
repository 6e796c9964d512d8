/* probe/base/arenas.c: CPython's statistics of its arenas, which it prints as text. */
#include "probe/base/arenas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#define TEXT_BYTES 16384u /* a line for each of at most 64 sizes, and a summary */

static struct {
    int (*write)(FILE *to); /* NULL: this Python has none */
    FILE *file;
    char text[TEXT_BYTES], buffer[BUFSIZ];
} account;

void arenas_prepare(void)
{
    static bool is_prepared;
    if (is_prepared)
        return;
    is_prepared = true;
    void *address = dlsym(RTLD_DEFAULT, "_PyObject_DebugMallocStats");
    memcpy(&account.write, &address, sizeof(address));
    account.file = address ? fmemopen(account.text, TEXT_BYTES, "w") : NULL;
    if (!account.file)
        return;
    setvbuf(account.file, account.buffer, _IOFBF, sizeof(account.buffer));
    __fsetlocking(account.file, FSETLOCKING_BYCALLER);
}

/* Parses a line such as "# bytes in allocated blocks        =            8,368,048". */
static bool number_of(const char *name, size_t *ret)
{
    const char *at = strstr(account.text, name);
    at = at ? strchr(at, '=') : NULL;
    if (!at)
        return false;
    *ret = 0;
    for (; *at && *at != '\n'; at++)
        if (*at >= '0' && *at <= '9')
            *ret = *ret * 10 + (size_t) (*at - '0');
    return true;
}

bool arenas_read(struct arenas_facts *ret)
{
    size_t blocks, pools;
    if (!account.file || !account.write(account.file) || fflush(account.file) != 0 ||
        !number_of("bytes in allocated blocks", &ret->in_use) ||
        !number_of("bytes in available blocks", &blocks) || !number_of("unused pools", &pools))
        return false;
    ret->free = blocks + pools;
    return true;
}

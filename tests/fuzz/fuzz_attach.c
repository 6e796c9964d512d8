/* tests/fuzz/fuzz_attach.c: any bytes as a process's loaded file, maps, status or code; the
 * first byte chooses which. */
#include "attach/arch.h"
#include "attach/elf.h"
#include "attach/status.h"
#include "base/base.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x400000u

struct bytes {
    const uint8_t *data;
    size_t size;
};

static int read_bytes(void *context, uint64_t address, void *ret, size_t len)
{
    const struct bytes *b = context;
    if (address < BASE || address - BASE > b->size || b->size - (address - BASE) < len)
        return -EFAULT;
    memcpy(ret, b->data + (address - BASE), len);
    return 0;
}

static void try_elf(struct bytes b)
{
    struct elf_memory memory = {read_bytes, &b};
    struct elf_image e;
    uint64_t address;
    if (elf_open(&memory, BASE, &e) == 0)
        elf_find(&e, "Py_AddPendingCall", &address);
}

static void try_maps(struct bytes b)
{
    struct maps_entry m;
    const char *text = (const char *) b.data;
    for (size_t position = 0; maps_next(text, b.size, &position, &m);)
        if (m.end <= m.start || position > b.size || m.path < text ||
            m.path + m.path_len > text + b.size)
            abort();
        else
            maps_is_named(&m, "libpython");
}

static void try_status(struct bytes b)
{
    char *text = strndup((const char *) b.data, b.size);
    struct status s;
    if (!text)
        return;
    status_parse(text, &s);
    if (strnlen(s.name, sizeof s.name) == sizeof s.name)
        abort();
    status_start_time(text);
    status_program(text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct bytes b = {data + 1, size - 1};
    struct arch_getter g;
    switch (data[0] % 4) {
    case 0:
        try_elf(b);
        break;
    case 1:
        try_maps(b);
        break;
    case 2:
        try_status(b);
        break;
    default:
        arch_read_getter(b.data, b.size, BASE, &g);
    }
    return 0;
}

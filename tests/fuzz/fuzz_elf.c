/* tests/fuzz/fuzz_elf.c: any bytes as a loaded file of a target, whose symbols are wanted. The
 * first two bytes space the addresses out. What is found points into the file. */
#include "symbol/elf_bytes.h"

#include "require.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 64u

static void check_inside(const struct elf_bytes *e, const void *part, size_t size)
{
    const uint8_t *from = part, *end = e->file.bytes + e->file.size;
    REQUIRE(from >= e->file.bytes && from <= end && size <= (size_t) (end - from));
}

static void check_text(const struct elf_bytes *e, const char *text)
{
    check_inside(e, text, 1);
    check_inside(e, text, strlen(text) + 1);
}

static void check_identity(const struct elf_bytes *e)
{
    struct elf_piece id = elf_bytes_build_id(e);
    const char *link;
    uint32_t crc;
    if (id.bytes) {
        check_inside(e, id.bytes, id.size);
        REQUIRE(id.size > 0 && elf_bytes_has_build_id(e, id.bytes, id.size));
    }
    REQUIRE(!elf_bytes_has_build_id(e, (const uint8_t *) "", 0));
    if (elf_bytes_debug_link(e, &link, &crc))
        check_text(e, link);
    (void) elf_bytes_has_debug_info(e);
}

static void check_functions(const struct elf_bytes *e, uint64_t step)
{
    uint64_t addresses[ADDRESSES];
    struct elf_function found[ADDRESSES] = {{0}}, again[ADDRESSES];
    for (unsigned i = 0; i < ADDRESSES; i++)
        addresses[i] = i + 1 < ADDRESSES ? step * i : UINT64_MAX;
    elf_bytes_find(e, addresses, ADDRESSES, found);
    memcpy(again, found, sizeof again);
    elf_bytes_find(e, addresses, ADDRESSES, again);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        if (!found[i].name)
            continue;
        check_text(e, found[i].name);
        REQUIRE(found[i].name[0] && found[i].start <= addresses[i]);
        /* The best one stays the best. */
        REQUIRE(strcmp(again[i].name, found[i].name) == 0 && again[i].start == found[i].start);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_bytes e;
    if (size < 2 || elf_bytes_open(data + 2, size - 2, &e) < 0)
        return 0;
    check_identity(&e);
    check_functions(&e, 1 + data[0] + (uint64_t) data[1] * 256);
    (void) elf_crc(data + 2, size - 2);
    return 0;
}

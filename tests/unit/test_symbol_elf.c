/* tests/unit/test_symbol_elf.c: ELF files as bytes: whole, cut off, and damaged. */
#include "symbol/elf_bytes.h"

#include "compiled.h"
#include "random.h"
#include "unit.h"

#include <errno.h>

static const char source[] =
    "__attribute__((noinline)) static int hidden(int a) { return a * 3; }\n"
    "__attribute__((noinline)) int shown(int a) { return hidden(a) + 1; }\n"
    "int alias(int a) __attribute__((alias(\"shown\")));\n"
    "int __shown(int a) __attribute__((alias(\"shown\")));\n";

static bool build(struct compiled *c, const char *options)
{
    char command[256];
    snprintf(command, sizeof command, "cc -x c -O1 -shared -fPIC %s -o lib.so lib.c", options);
    return compiled_begin(c) && compiled_write(c, "lib.c", source, sizeof source - 1) &&
           compiled_run(c, command);
}

TEST(elf_bytes__finds_the_functions_around_addresses)
{
    struct compiled c;
    struct elf_bytes e;
    uint64_t hidden = 0, shown = 0, size = 0, hidden_size = 0;
    size_t length;
    CHECK(build(&c, ""));
    uint8_t *bytes = compiled_bytes(&c, "lib.so", &length);
    CHECK(compiled_symbol(&c, "lib.so", "hidden", &hidden, &hidden_size) &&
          compiled_symbol(&c, "lib.so", "shown", &shown, &size) && hidden < shown);
    const uint64_t at[] = {
        0, hidden, hidden + hidden_size - 1, shown, shown + size - 1, shown + size, UINT64_MAX};
    struct elf_function f[7] = {{0}};
    CHECK(elf_bytes_open(bytes, length, &e) == 0);
    elf_bytes_find(&e, at, 7, f);
    CHECK(!f[0].name && !f[6].name);
    CHECK_TEXT(f[1].name, "hidden");
    CHECK_TEXT(f[2].name, "hidden");
    CHECK_TEXT(f[3].name, "alias"); /* the plainest: as short as "shown" */
    CHECK_TEXT(f[4].name, "alias");
    CHECK(f[4].start == shown);
    CHECK(!f[5].name || f[5].start > shown); /* behind its end */
    CHECK(!elf_bytes_has_debug_info(&e));
    free(bytes);
    compiled_end(&c);
}

TEST(elf_bytes__stripped_shows_what_it_exports)
{
    struct compiled c;
    struct elf_bytes e;
    uint64_t at[2] = {0}, size;
    size_t length;
    CHECK(build(&c, ""));
    CHECK(compiled_symbol(&c, "lib.so", "hidden", &at[0], &size) &&
          compiled_symbol(&c, "lib.so", "shown", &at[1], &size));
    CHECK(compiled_run(&c, "strip lib.so"));
    uint8_t *bytes = compiled_bytes(&c, "lib.so", &length);
    struct elf_function f[2] = {{0}};
    CHECK(elf_bytes_open(bytes, length, &e) == 0);
    elf_bytes_find(&e, at, 2, f);
    CHECK(!f[0].name);
    CHECK_TEXT(f[1].name, "alias");
    free(bytes);
    compiled_end(&c);
}

TEST(elf_bytes__knows_its_build_id)
{
    struct compiled c;
    struct elf_bytes e;
    size_t length;
    static const uint8_t id[] = {0x12, 0x34, 0x56, 0x78, 0x9a}, other[] = {0x12, 0x35};
    CHECK(build(&c, "-Wl,--build-id=0x123456789a"));
    uint8_t *bytes = compiled_bytes(&c, "lib.so", &length);
    CHECK(elf_bytes_open(bytes, length, &e) == 0);
    struct elf_piece got = elf_bytes_build_id(&e);
    CHECK(got.size == sizeof id && memcmp(got.bytes, id, sizeof id) == 0);
    CHECK(elf_bytes_has_build_id(&e, id, sizeof id) && elf_bytes_has_build_id(&e, id, 3));
    CHECK(!elf_bytes_has_build_id(&e, other, 2) && !elf_bytes_has_build_id(&e, id, 0));
    e.section_count = 0; /* from the segments then */
    CHECK(elf_bytes_has_build_id(&e, id, sizeof id));
    free(bytes);
    compiled_end(&c);
}

TEST(elf_bytes__knows_the_file_with_its_debug_information)
{
    struct compiled c;
    struct elf_bytes e;
    const char *name;
    uint32_t crc;
    size_t length, debug_length;
    CHECK(build(&c, "-g"));
    uint8_t *bytes = compiled_bytes(&c, "lib.so", &length);
    CHECK(elf_bytes_open(bytes, length, &e) == 0 && elf_bytes_has_debug_info(&e));
    CHECK(!elf_bytes_debug_link(&e, &name, &crc));
    free(bytes);
    CHECK(compiled_run(&c, "objcopy --only-keep-debug lib.so lib.debug && strip lib.so && "
                           "objcopy --add-gnu-debuglink=lib.debug lib.so"));
    bytes = compiled_bytes(&c, "lib.so", &length);
    CHECK(elf_bytes_open(bytes, length, &e) == 0 && !elf_bytes_has_debug_info(&e));
    CHECK(elf_bytes_debug_link(&e, &name, &crc));
    CHECK_TEXT(name, "lib.debug");
    uint8_t *debug = compiled_bytes(&c, "lib.debug", &debug_length);
    CHECK(elf_crc(debug, debug_length) == crc);
    free(bytes);
    free(debug);
    compiled_end(&c);
}

TEST(elf_bytes__refuses_what_is_none)
{
    struct elf_bytes e;
    static const uint8_t zeros[256];
    CHECK(elf_bytes_open(zeros, sizeof zeros, &e) == -ENOEXEC);
    CHECK(elf_bytes_open(zeros, 0, &e) == -ENOEXEC);
    CHECK(elf_bytes_open("\177ELF\1\1\1", 7, &e) == -ENOEXEC);
}

/* Everything that can be asked of the bytes. They are copied to their exact size, so that a
 * sanitizer sees what lies outside. False: a name is none of the file. */
static bool ask_all(const uint8_t *bytes, size_t length, const uint64_t *at, bool is_whole)
{
    struct elf_bytes e;
    struct elf_function f[4] = {{0}};
    const char *link;
    uint32_t crc;
    uint8_t *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    bool fits = true;
    if (elf_bytes_open(copy, length, &e) == 0) {
        elf_bytes_find(&e, at, 4, f);
        (void) elf_bytes_has_debug_info(&e);
        if (elf_bytes_debug_link(&e, &link, &crc))
            fits = strlen(link) < length;
        struct elf_piece id = elf_bytes_build_id(&e);
        fits = fits && (!id.bytes || elf_bytes_has_build_id(&e, id.bytes, id.size));
        for (unsigned i = 0; i < 4; i++)
            fits = fits && (!f[i].name || strlen(f[i].name) < length) &&
                   (!is_whole || !f[i].name || strcmp(f[i].name, "alias") == 0 ||
                    strcmp(f[i].name, "hidden") == 0);
    }
    free(copy);
    return fits;
}

TEST(elf_bytes__cut_off_anywhere_says_nothing_wrong)
{
    struct compiled c;
    uint64_t at[4] = {0}, size;
    size_t length;
    CHECK(build(&c, "-g"));
    CHECK(compiled_symbol(&c, "lib.so", "hidden", &at[0], &size) &&
          compiled_symbol(&c, "lib.so", "shown", &at[2], &size));
    at[1] = at[0] + 1;
    at[3] = at[2] + 1;
    uint8_t *bytes = compiled_bytes(&c, "lib.so", &length);
    for (size_t cut = 0; cut <= length; cut += cut < 1024 ? 1 : 61)
        CHECK(ask_all(bytes, cut, at, true));
    free(bytes);
    compiled_end(&c);
}

TEST(elf_bytes__damaged_anywhere_stays_inside_of_its_bytes)
{
    struct compiled c;
    struct random r = {1};
    uint64_t at[4] = {0, 0, 0, UINT64_MAX}, size;
    size_t length;
    CHECK(build(&c, "-g -Wl,--build-id"));
    CHECK(compiled_symbol(&c, "lib.so", "hidden", &at[1], &size) &&
          compiled_symbol(&c, "lib.so", "shown", &at[2], &size));
    uint8_t *bytes = compiled_bytes(&c, "lib.so", &length);
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t *damaged = malloc(length);
        memcpy(damaged, bytes, length);
        /* Headers are few bytes of many: most of the damage is done there. */
        for (unsigned k = 0; k < 4; k++) {
            size_t where = random_bits(&r) % 4 ? length - 1 - random_bits(&r) % 2500
                                               : random_bits(&r) % length;
            damaged[k == 0 ? where % 800 : where] ^= (uint8_t) (1u << random_bits(&r) % 8);
        }
        CHECK(ask_all(damaged, length, at, false));
        free(damaged);
    }
    free(bytes);
    compiled_end(&c);
}

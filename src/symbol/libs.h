/* symbol/libs.h: libdw and the C++ library, as far as they are used. Private to symbol/.
 *
 * They are loaded at run time. Where one is missing, so are lines and inlined functions, or C++
 * names stay mangled. Both parse hostile bytes: call them in a deputy's cage alone. */
#ifndef TIDEMARK_SYMBOL_LIBS_H
#define TIDEMARK_SYMBOL_LIBS_H

#include <stddef.h>
#include <stdint.h>

/* ---- elfutils' documented interface (elfutils/libdw.h, libelf.h), stable since 0.122 ---- */

struct libdw_die {
    void *address, *unit, *abbreviation;
    long unused;
};

struct libdw_attribute {
    unsigned code, form;
    unsigned char *value;
    void *unit;
};

#define LIBDW_ELF_VERSION 1u
#define LIBDW_READ 0

enum libdw_tag {
    LIBDW_CLASS = 0x02,
    LIBDW_BLOCK = 0x0b,
    LIBDW_STRUCT = 0x13,
    LIBDW_UNION = 0x17,
    LIBDW_INLINED = 0x1d,
    LIBDW_MODULE = 0x1e,
    LIBDW_CATCH = 0x25,
    LIBDW_FUNCTION = 0x2e,
    LIBDW_TRY = 0x32,
    LIBDW_NAMESPACE = 0x39,
};

enum libdw_name {
    LIBDW_LANGUAGE = 0x13,
    LIBDW_ABSTRACT = 0x31,
    LIBDW_DECLARED = 0x47,
    LIBDW_CALL_FILE = 0x58,
    LIBDW_CALL_LINE = 0x59,
    LIBDW_LINKED_NAME = 0x6e,
    LIBDW_OLD_LINKED_NAME = 0x2007,
};

/* Of those with namespaces. */
enum libdw_language {
    LIBDW_CXX = 0x04,
    LIBDW_CXX_11 = 0x1a,
    LIBDW_RUST = 0x1c,
    LIBDW_CXX_14 = 0x21,
    LIBDW_CXX_17 = 0x2a,
    LIBDW_CXX_20 = 0x2b,
};

struct libdw {
    unsigned (*elf_version)(unsigned version);
    void *(*elf_memory)(char *image, size_t size);
    void *(*begin)(void *elf, int command, void *group);
    int (*next_unit)(void *dwarf, uint64_t offset, uint64_t *ret_next, size_t *ret_header_size,
                     uint64_t *ret_abbreviations, uint8_t *ret_address_size,
                     uint8_t *ret_offset_size);
    struct libdw_die *(*die_at)(void *dwarf, uint64_t offset, struct libdw_die *ret);
    ptrdiff_t (*ranges)(struct libdw_die *die, ptrdiff_t offset, uint64_t *base,
                        uint64_t *ret_start, uint64_t *ret_end);
    int (*tag)(struct libdw_die *die);
    int (*child)(struct libdw_die *die, struct libdw_die *ret);
    int (*sibling)(struct libdw_die *die, struct libdw_die *ret);
    int (*has_pc)(struct libdw_die *die, uint64_t pc);
    struct libdw_attribute *(*attribute)(struct libdw_die *die, unsigned name,
                                         struct libdw_attribute *ret);
    struct libdw_attribute *(*inherited)(struct libdw_die *die, unsigned name,
                                         struct libdw_attribute *ret);
    const char *(*text)(struct libdw_attribute *attribute);
    int (*number)(struct libdw_attribute *attribute, uint64_t *ret);
    struct libdw_die *(*die_of)(struct libdw_attribute *attribute, struct libdw_die *ret);
    int (*scopes)(struct libdw_die *die, struct libdw_die **ret);
    const char *(*die_name)(struct libdw_die *die);
    void *(*line_at)(struct libdw_die *unit, uint64_t address);
    int (*line_number)(void *line, int *ret);
    const char *(*line_file)(void *line, uint64_t *ret_changed, uint64_t *ret_size);
    int (*files)(struct libdw_die *unit, void **ret, size_t *ret_count);
    const char *(*file_name)(void *files, size_t index, uint64_t *ret_changed, uint64_t *ret_size);
};

/* ---- */

struct libs {
    struct libdw dw; /* all NULL: it is not there */
    char *(*demangle)(const char *name, char *room, size_t *size, int *ret_status);
};

/* Never unloaded: the process that loads them is a cage's. */
void libs_load(struct libs *ret);

#endif

/* symbol/elf_bytes.h: an ELF file as bytes: its identity, and the functions of its symbol tables.
 * Pure. Private to symbol/.
 *
 * The bytes are hostile. Nothing is allocated, and every access is inside them. */
#ifndef TIDEMARK_SYMBOL_ELF_BYTES_H
#define TIDEMARK_SYMBOL_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_piece {
    const uint8_t *bytes; /* NULL: there is none */
    size_t size;
};

struct elf_bytes {
    struct elf_piece file;
    uint64_t sections, section_count; /* where the section headers begin */
    struct elf_piece section_names;
    uint64_t segments, segment_count;
};

/* -ENOEXEC: not a 64-bit ELF file of this machine's byte order. The bytes outlive *ret. */
int elf_bytes_open(const void *bytes, size_t size, struct elf_bytes *ret);

/* The build-id; `bytes` NULL: it has none. */
struct elf_piece elf_bytes_build_id(const struct elf_bytes *e);

/* Whether that is the file's build-id, or its beginning: who noted it may have had less room. */
bool elf_bytes_has_build_id(const struct elf_bytes *e, const uint8_t *id, size_t length);

bool elf_bytes_has_debug_info(const struct elf_bytes *e);

/* The name, without folder, of the file with its debug information, and that file's elf_crc().
 * False: it names none. */
bool elf_bytes_debug_link(const struct elf_bytes *e, const char **ret_name, uint32_t *ret_crc);
uint32_t elf_crc(const void *bytes, size_t size);

/* A function at an address. */
struct elf_function {
    const char *name; /* as linked, in the file's bytes; NULL: not known */
    uint64_t start;
};

/*
 * Finds the functions that contain the addresses, which are in ascending order. What is in `list`
 * stays unless a symbol fits better: one that starts later, or a plainer name for the same start.
 * One pass over each symbol table.
 */
void elf_bytes_find(const struct elf_bytes *e, const uint64_t *addresses, size_t count,
                    struct elf_function *list);

#endif

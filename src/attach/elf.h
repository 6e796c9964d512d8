/* attach/elf.h: the symbols of a loaded ELF file, read from the memory of its process. Pure, except
 * that the caller supplies the reading.
 *
 * The file in memory is the one that runs. It may be in another mount namespace, replaced by an
 * upgrade or deleted. */
#ifndef TIDEMARK_ATTACH_ELF_H
#define TIDEMARK_ATTACH_ELF_H

#include <stddef.h>
#include <stdint.h>

/* The memory of a process. `read` gets all `len` bytes at `address`: 0 or -errno. */
struct elf_memory {
    int (*read)(void *context, uint64_t address, void *ret, size_t len);
    void *context;
};

struct elf_image {
    const struct elf_memory *memory;
    uint64_t base, bias; /* load address; offset to add to the file's addresses */
    uint64_t symbols, strings, strings_len, gnu_hash, hash;
    uint64_t code_end; /* end of its code in the process; 0: it has none */
    int is_64_bit;
};

/* Reads the header of the file loaded at `base`. -ENOEXEC: not an ELF file for this machine with a
 * symbol table; -EFAULT and the like: it cannot be read. */
int elf_open(const struct elf_memory *memory, uint64_t base, struct elf_image *ret);

/* The address of `name` in the image. -ENOENT: not defined there; -errno of reading. */
int elf_find(const struct elf_image *e, const char *name, uint64_t *ret_address);

#endif

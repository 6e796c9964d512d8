/* attach/elf.h: the symbols of a loaded ELF file, read from the memory of its process. Pure but for
 * the reading, which the caller does.
 *
 * What is in memory is what runs: it does not matter whether the file is in another mount
 * namespace, was replaced by an upgrade or is gone. */
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
    uint64_t base, bias; /* where it lies; what to add to its own addresses */
    uint64_t symbols, strings, strings_len, gnu_hash, hash;
    uint64_t code_end; /* where its code ends, in the process; 0: it has none */
    int is_64_bit;
};

/* Reads the head of the file that is loaded at `base`. -ENOEXEC: there is no ELF file for this
 * machine with a table of symbols; -EFAULT and the like: cannot be read. */
int elf_open(const struct elf_memory *memory, uint64_t base, struct elf_image *ret);

/* Where the image defines `name`. -ENOENT: it does not; -errno of reading. */
int elf_find(const struct elf_image *e, const char *name, uint64_t *ret_address);

#endif

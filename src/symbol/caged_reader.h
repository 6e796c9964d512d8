/* symbol/caged_reader.h: reads the functions at addresses from one file, in a deputy's cage.
 * Private to symbol/. */
#ifndef TIDEMARK_SYMBOL_CAGED_READER_H
#define TIDEMARK_SYMBOL_CAGED_READER_H

#include "symbol/symbol.h"

#include <stdatomic.h>

#define CAGED_MOST_LINK 256u

/* The same addresses are answered again and again, each time better. What is left where the reader
 * dies is what it had before. */
enum caged_pass {
    CAGED_LINKED, /* functions of the symbol tables, as linked */
    CAGED_TIDY,   /* demangled */
    CAGED_LINES,  /* from debug information where there is some */
    CAGED_PASSES,
};

/* Shared with the parent, which trusts nothing in it. */
struct caged_output {
    _Atomic uint32_t passes; /* complete; each has an answer (symbol/answer.h) */
    uint64_t first[CAGED_PASSES], length[CAGED_PASSES]; /* in `bytes` */
    char debug_link[CAGED_MOST_LINK]; /* the file that would say more; "": there is none */
    uint8_t bytes[];
};

struct caged_input {
    int file, debug; /* descriptors; `debug` of a file that may have debug information, or -1 */
    size_t file_size, debug_size;
    const uint8_t *build_id; /* of the loaded file */
    size_t build_id_length;  /* 0: not known */
    const uint64_t *offsets; /* in ascending order */
    size_t count;
    unsigned passes; /* so many of enum caged_pass */
};

/*
 * Runs it as the deputy, and returns once the reader has ended. 0 or -errno: -ESTALE: another
 * build-id; -ENOEXEC: no ELF file; -EIO, -ETIMEDOUT: it died. Also then *ret_output has what it had
 * written, `ret_size` bytes in `bytes`; the caller passes it to caged_free().
 */
int caged_run(const struct deputy *d, const struct caged_input *in,
              struct caged_output **ret_output, size_t *ret_size);
void caged_free(struct caged_output *output, size_t size);

#endif

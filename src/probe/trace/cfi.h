/* probe/trace/cfi.h: reads the call frame information of a loaded file. Pure. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_CFI_H
#define TIDEMARK_PROBE_TRACE_CFI_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Glossary, as in DWARF's section 6.4:
 *   CFA    canonical frame address: the stack pointer before the call that made a frame
 *   row    how to find the caller's registers, at one address of a function
 *   CIE    what several functions have in common: "common information entry"
 *   FDE    the rows of one function: "frame description entry"
 *
 * Files are trusted in nothing: every read lies inside the given bytes, every loop is bounded by
 * them.
 */

/* DWARF's numbers for x86-64's registers. */
enum {
    CFI_RBX = 3,
    CFI_RBP = 6,
    CFI_RSP = 7,
    CFI_R10 = 10,
    CFI_R12 = 12,
    CFI_R13,
    CFI_R14,
    CFI_R15,
    CFI_RETURN,
    CFI_REGISTERS,
};

enum cfi_way {
    CFI_SAME,             /* unchanged */
    CFI_UNDEFINED,        /* lost; for CFI_RETURN: there is no caller */
    CFI_SAVED,            /* in memory at CFA + offset */
    CFI_OFFSET,           /* CFA + offset; for the CFA itself: base + offset */
    CFI_REGISTER,         /* in register `base` */
    CFI_SAVED_EXPRESSION, /* in memory where the expression says */
    CFI_EXPRESSION,       /* what the expression says */
};

struct cfi_place {
    int32_t offset;  /* of an expression: from the start of the bytes */
    uint16_t length; /* of an expression */
    uint8_t way;     /* enum cfi_way */
    uint8_t base;
};

struct cfi_row {
    struct cfi_place cfa, registers[CFI_REGISTERS];
    bool is_signal; /* the caller was interrupted, and has made no call */
};

/* The part of a loaded file that may be read. */
struct cfi_bytes {
    const uint8_t *start, *end;
};

/* `header`: the file's .eh_frame_hdr. -ENOENT: nothing is known of that address; -ENOEXEC: the
 * information is damaged, or of a kind that compilers for x86-64 do not write. */
int cfi_find(const struct cfi_bytes *b, const uint8_t *header, uintptr_t address,
             struct cfi_row *ret_row);

#endif

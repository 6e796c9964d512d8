/* probe/trace/rules.h: rows of call frame information as small numbers, and which addresses have
 * which. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_RULES_H
#define TIDEMARK_PROBE_TRACE_RULES_H

#include "probe/trace/cfi.h"
#include "probe/trace/range.h"

/*
 * A rule says how to get from (return address, stack pointer, rbp) of a frame to those of its
 * caller. 26 bits are enough for the rows of nearly all functions: the CFA is a word's distance
 * from one of the two, the return address lies below it, rbp a few words lower or nowhere. For all
 * others the rule says that the whole row is needed.
 */
typedef uint32_t rule;

enum rule_kind {
    RULE_NOT_LEARNT,
    RULE_UNKNOWN,   /* the file says nothing of that address */
    RULE_OUTERMOST, /* there is no caller */
    RULE_WHOLE,     /* by the whole row, with all registers */
    RULE_FROM_RSP,  /* CFA = rsp + words */
    RULE_FROM_RBP,  /* CFA = rbp + words */
    RULE_REALIGNED, /* CFA = *(rbp - words); rbp = *rbp: the function has aligned its stack */
};

static inline enum rule_kind rule_kind(rule r)
{
    return (enum rule_kind)(r & 7);
}

static inline uintptr_t rule_distance(rule r)
{
    return (uintptr_t) (r >> 3 & 0xffff) * sizeof(uintptr_t);
}

/* How far below the CFA rbp was saved; 0: it was not. */
static inline uintptr_t rule_saved_rbp(rule r)
{
    return (uintptr_t) (r >> 19 & 0x7f) * sizeof(uintptr_t);
}

rule rule_of(const struct cfi_row *row, const struct cfi_bytes *b);

/* ---- what was learnt ---- */

/*
 * A table of one word for each address, shared by all threads. Each is read and written at once;
 * what finds no place replaces another. `generation` counts how often files were unloaded: a rule
 * that was learnt before is not found again.
 */
unsigned rules_generation(void);
void rules_forget(void);

rule rules_find(uintptr_t address);
/* `generation`: as it was before the row was read. */
void rules_learn(uintptr_t address, rule r, unsigned generation);

/* Where the table lies (own_pages.h). */
struct range rules_pages(void);

#endif

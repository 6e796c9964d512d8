/* probe/trace/rules.c: packs rows, and keeps them by address. */
#include "probe/trace/rules.h"

#include "probe/trace/own_pages.h"

#include <stdatomic.h>

#define WORD ((int32_t) sizeof(uintptr_t))
#define MOST_DISTANCE (0xffff * WORD)
#define MOST_SAVED (0x7f * WORD)

/* ---- packing ---- */

static rule pack(enum rule_kind kind, int32_t distance, int32_t saved_rbp)
{
    return (rule) kind | (rule) (distance / WORD) << 3 | (rule) (saved_rbp / WORD) << 19;
}

static bool is_packable(int32_t distance, int32_t most)
{
    return distance >= 0 && distance <= most && distance % WORD == 0;
}

/* *ret: how far below the CFA. */
static bool find_saved_rbp(const struct cfi_place *p, int32_t *ret)
{
    *ret = p->way == CFI_SAVED && p->offset < 0 && p->offset >= -MOST_SAVED ? -p->offset : 0;
    return p->way == CFI_SAME || (*ret > 0 && *ret % WORD == 0);
}

enum {
    EXPRESSION_RBP = 0x70 + CFI_RBP,
    EXPRESSION_DEREFERENCE = 0x06,
};

/* gcc keeps the address of the CFA in a word below rbp: DW_OP_breg6 -words; DW_OP_deref. The
 * distance is a single byte of signed LEB128. */
static bool is_cfa_below_rbp(const struct cfi_place *cfa, const struct cfi_bytes *b,
                             int32_t *ret_distance)
{
    if (cfa->way != CFI_EXPRESSION || cfa->length != 3)
        return false;
    const uint8_t *e = b->start + cfa->offset;
    *ret_distance = 0x80 - e[1];
    return e[0] == EXPRESSION_RBP && (e[1] & 0xc0) == 0x40 && e[2] == EXPRESSION_DEREFERENCE;
}

/* DW_OP_breg6 0. */
static bool is_saved_at_rbp(const struct cfi_place *rbp, const struct cfi_bytes *b)
{
    if (rbp->way != CFI_SAVED_EXPRESSION || rbp->length != 2)
        return false;
    const uint8_t *e = b->start + rbp->offset;
    return e[0] == EXPRESSION_RBP && e[1] == 0;
}

rule rule_of(const struct cfi_row *row, const struct cfi_bytes *b)
{
    const struct cfi_place *cfa = &row->cfa, *rbp = &row->registers[CFI_RBP];
    const struct cfi_place *back = &row->registers[CFI_RETURN];
    int32_t distance, saved_rbp;
    if (back->way == CFI_UNDEFINED)
        return pack(RULE_OUTERMOST, 0, 0);
    if (row->is_signal || back->way != CFI_SAVED || back->offset != -WORD ||
        row->registers[CFI_RSP].way != CFI_SAME)
        return pack(RULE_WHOLE, 0, 0);
    if (is_cfa_below_rbp(cfa, b, &distance) && is_packable(distance, MOST_DISTANCE) &&
        is_saved_at_rbp(rbp, b))
        return pack(RULE_REALIGNED, distance, 0);
    if (cfa->way == CFI_OFFSET && is_packable(cfa->offset, MOST_DISTANCE) &&
        find_saved_rbp(rbp, &saved_rbp)) {
        if (cfa->base == CFI_RSP)
            return pack(RULE_FROM_RSP, cfa->offset, saved_rbp);
        if (cfa->base == CFI_RBP)
            return pack(RULE_FROM_RBP, cfa->offset, saved_rbp);
    }
    return pack(RULE_WHOLE, 0, 0);
}

/* ---- the table ---- */

/*
 * A word has the rule in its lowest 26 bits, then 4 bits of the generation, then the upper 34 of
 * the 47 bits of an address. The lower 13 bits of the address, mixed with the upper ones, are its
 * place. A place holds two words, the later one first.
 */
#define RULE_BITS 26
#define GENERATION_BITS 4
#define PLACE_BITS 13
#define ADDRESS_BITS 47

#define GENERATIONS (1u << GENERATION_BITS)

struct pair {
    _Atomic uint64_t first, second;
};

OWN_PAGES static struct pair pairs[1u << PLACE_BITS];
static _Atomic unsigned generation;

struct range rules_pages(void)
{
    return OWN_PAGES_OF(pairs);
}

static struct pair *place_of(uintptr_t address)
{
    uint64_t upper = (uint64_t) address >> PLACE_BITS;
    uint64_t mixed = upper * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS);
    return &pairs[(address ^ mixed) & ((1u << PLACE_BITS) - 1)];
}

static uint64_t key_of(uintptr_t address, unsigned of_generation)
{
    return ((uint64_t) address >> PLACE_BITS << GENERATION_BITS | of_generation % GENERATIONS)
           << RULE_BITS;
}

static rule read_rule(const _Atomic uint64_t *word, uint64_t key)
{
    uint64_t difference = atomic_load_explicit(word, memory_order_relaxed) ^ key;
    return difference >> RULE_BITS == 0 ? (rule) difference : RULE_NOT_LEARNT;
}

unsigned rules_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_acquire);
}

/* Before a number of a generation comes again, nothing of its first use may be left. */
void rules_forget(void)
{
    if ((atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel) + 1) % GENERATIONS != 0)
        return;
    for (unsigned i = 0; i < 1u << PLACE_BITS; i++) {
        atomic_store_explicit(&pairs[i].first, 0, memory_order_relaxed);
        atomic_store_explicit(&pairs[i].second, 0, memory_order_relaxed);
    }
}

rule rules_find(uintptr_t address)
{
    if (address >> ADDRESS_BITS)
        return RULE_NOT_LEARNT;
    const struct pair *p = place_of(address);
    uint64_t key = key_of(address, rules_generation());
    rule r = read_rule(&p->first, key);
    return r != RULE_NOT_LEARNT ? r : read_rule(&p->second, key);
}

void rules_learn(uintptr_t address, rule r, unsigned of_generation)
{
    if (address >> ADDRESS_BITS || of_generation != rules_generation())
        return;
    struct pair *p = place_of(address);
    uint64_t previous = atomic_load_explicit(&p->first, memory_order_relaxed);
    atomic_store_explicit(&p->second, previous, memory_order_relaxed);
    atomic_store_explicit(&p->first, key_of(address, of_generation) | r, memory_order_relaxed);
}

/* tests/fuzz/fuzz_cfi.c: any bytes as the call frame information of a loaded file. The first two
 * say where in them the address is that is looked for. A row that is found is applied, and its rule
 * has to say the same. */
#include "probe/trace/caller.h"
#include "probe/trace/rules.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STACK_WORDS 64

/* Words that lead further up. */
static void fill(uintptr_t *words, uintptr_t registers[CFI_REGISTERS])
{
    for (size_t i = 0; i < STACK_WORDS; i++)
        words[i] = (uintptr_t) &words[i * 7 % STACK_WORDS];
    for (size_t i = 0; i < CFI_REGISTERS; i++)
        registers[i] = (uintptr_t) &words[i];
}

static void check_place(const struct cfi_place *p, const struct cfi_bytes *b)
{
    size_t size = (size_t) (b->end - b->start);
    if (p->base >= CFI_REGISTERS)
        abort();
    if (p->way != CFI_EXPRESSION && p->way != CFI_SAVED_EXPRESSION)
        return;
    if (p->offset < 0 || (size_t) p->offset > size || size - (size_t) p->offset < p->length)
        abort();
}

static uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *) address; /* NOLINT(performance-no-int-to-ptr) */
}

static void check_rule(rule r, const uintptr_t *before, const uintptr_t *after)
{
    uintptr_t cfa = before[rule_kind(r) == RULE_FROM_RBP ? CFI_RBP : CFI_RSP] + rule_distance(r);
    uintptr_t rbp = before[CFI_RBP];
    if (rule_kind(r) == RULE_REALIGNED) {
        cfa = word_at(rbp - rule_distance(r));
        rbp = word_at(rbp);
    } else if (rule_saved_rbp(r)) {
        rbp = word_at(cfa - rule_saved_rbp(r));
    }
    if (after[CFI_RSP] != cfa || after[CFI_RBP] != rbp ||
        after[CFI_RETURN] != word_at(cfa - sizeof cfa))
        abort();
}

static void apply(const struct cfi_row *row, const struct cfi_bytes *b)
{
    uintptr_t words[STACK_WORDS], before[CFI_REGISTERS], registers[CFI_REGISTERS];
    struct caller_stack stack = {(uintptr_t) words, (uintptr_t) (words + STACK_WORDS)};
    fill(words, before);
    memcpy(registers, before, sizeof before);
    rule r = rule_of(row, b);
    bool is_found = caller_find(row, b, &stack, registers);
    if (!is_found && memcmp(registers, before, sizeof before) != 0)
        abort();
    if (is_found && rule_kind(r) >= RULE_FROM_RSP)
        check_rule(r, before, registers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfi_row row;
    if (size < 2)
        return 0;
    struct cfi_bytes b = {data + 2, data + size};
    uintptr_t address = (uintptr_t) b.start + data[0] + (uintptr_t) data[1] * 256;
    if (cfi_find(&b, b.start, address, &row) != 0)
        return 0;
    check_place(&row.cfa, &b);
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        check_place(&row.registers[i], &b);
    apply(&row, &b);
    return 0;
}

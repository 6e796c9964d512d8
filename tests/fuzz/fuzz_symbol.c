/*
 * tests/fuzz/fuzz_symbol.c: what the reader of a file answers, and the names in a file, which a
 * demangler may have seen. First byte 0: the answer follows, else a name. What is accepted can be
 * written and reads the same.
 */
#include "symbol/answer.h"
#include "symbol/name.h"

#include "require.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 16u

/* Cleaning may lengthen no text, so the room of the original is enough. */
static void write_again(const struct answer *a, size_t size)
{
    struct answer again;
    struct answer_writer w = {malloc(size + 1), size, 0};
    REQUIRE(w.bytes != NULL);
    for (size_t i = 0; i < ADDRESSES; i++)
        for (size_t k = 0; k < a->entries[i].count; k++)
            REQUIRE(answer_write(&w, i, &a->frames[a->entries[i].first + k]));
    REQUIRE(answer_parse(w.bytes, w.used, ADDRESSES, &again) == 0);
    REQUIRE(again.frame_count == a->frame_count);
    for (size_t i = 0; i < a->frame_count; i++) {
        const struct symbol_frame *x = &a->frames[i], *y = &again.frames[i];
        REQUIRE(strcmp(x->function, y->function) == 0 && strcmp(x->file, y->file) == 0 &&
                x->line == y->line && x->is_inlined == y->is_inlined);
    }
    answer_release(&again);
    free(w.bytes);
}

static void try_answer(const uint8_t *data, size_t size)
{
    struct answer a;
    if (answer_parse(data, size, ADDRESSES, &a) < 0)
        return;
    for (size_t i = 0; i < ADDRESSES; i++)
        REQUIRE(a.entries[i].first + a.entries[i].count <= a.frame_count);
    write_again(&a, size);
    answer_release(&a);
}

static void try_name(const uint8_t *data, size_t size)
{
    struct buf out = BUF_INIT;
    char *name = strndup((const char *) data, size);
    REQUIRE(name != NULL);
    name_add_linked(&out, name);
    REQUIRE(name_is_mangled(name) || out.len <= NAME_MOST);
    buf_clear(&out);
    name_add_tidy(&out, name);
    REQUIRE(out.len <= NAME_MOST);
    buf_release(&out);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 0)
        try_answer(data + 1, size - 1);
    else
        try_name(data + 1, size - 1);
    return 0;
}

/* sites/texts.c: an open-addressed table of texts. */
#include "sites/texts.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST_SLOTS 256u /* a power of two */

struct site_texts {
    char **slots; /* NULL: unused */
    size_t slot_count, count;
};

struct site_texts *site_texts_new(void)
{
    struct site_texts *t = calloc(1, sizeof(*t));
    if (!t || !(t->slots = calloc(FEWEST_SLOTS, sizeof(*t->slots))))
        base_out_of_memory();
    t->slot_count = FEWEST_SLOTS;
    return t;
}

struct site_texts *site_texts_free(struct site_texts *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->slot_count; i++)
        free(t->slots[i]);
    free(t->slots);
    free(t);
    return NULL;
}

/* FNV-1a */
static size_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return (size_t) (hash ^ hash >> 32);
}

/* Where the text is, or belongs. */
static char **slot_of(const struct site_texts *t, const char *text)
{
    size_t i = hash_of(text) & (t->slot_count - 1);
    while (t->slots[i] && strcmp(t->slots[i], text) != 0)
        i = (i + 1) & (t->slot_count - 1);
    return &t->slots[i];
}

static void grow(struct site_texts *t)
{
    struct site_texts larger = {calloc(2 * t->slot_count, sizeof(*t->slots)), 2 * t->slot_count,
                                t->count};
    if (!larger.slots)
        base_out_of_memory();
    for (size_t i = 0; i < t->slot_count; i++)
        if (t->slots[i])
            *slot_of(&larger, t->slots[i]) = t->slots[i];
    free(t->slots);
    *t = larger;
}

static void repair(char *text)
{
    for (char *s = text; *s;) {
        size_t length = utf8_length(s);
        if (length == 0)
            *s = '?';
        s += length ? length : 1;
    }
}

const char *site_texts_keep(struct site_texts *t, const char *text, size_t len)
{
    char *copy = strndup(text, len);
    if (!copy)
        base_out_of_memory();
    repair(copy);
    char **slot = slot_of(t, copy);
    if (*slot) {
        free(copy);
        return *slot;
    }
    *slot = copy;
    if (2 * ++t->count > t->slot_count)
        grow(t);
    return copy;
}

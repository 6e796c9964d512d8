/* probe/trace/python_text.c: copies the text of a str, without the interpreter. */
#include "probe/trace/python_text.h"

#include "probe/base/heap.h"

#include <string.h>

/* Offsets in a str object. */
#define LENGTH 16 /* in characters */
#define STATE 32
/* Bits of the state. */
#define KIND_SHIFT 2 /* three bits: bytes a character */
#define IS_COMPACT (1u << 5)
#define IS_ASCII (1u << 6)

#define NOT_A_CHARACTER 0xfffdu

/* Where the characters begin; the header of others than ASCII texts is longer. */
static struct {
    ptrdiff_t ascii, other;
} known;

struct characters {
    const uint8_t *bytes;
    size_t count;
    unsigned width; /* bytes each: 1, 2 or 4 */
};

static bool characters_of(const py_object *text, struct characters *ret)
{
    uint32_t state;
    ptrdiff_t count;
    if (!text || heap_type(text) != py.PyUnicode_Type)
        return false;
    memcpy(&state, (const char *) text + STATE, sizeof(state));
    memcpy(&count, (const char *) text + LENGTH, sizeof(count));
    unsigned width = state >> KIND_SHIFT & 7;
    if (!(state & IS_COMPACT) || (width != 1 && width != 2 && width != 4) || count < 0)
        return false;
    ptrdiff_t begin = state & IS_ASCII ? known.ascii : known.other;
    *ret = (struct characters){(const uint8_t *) text + begin, (size_t) count, width};
    return true;
}

static uint32_t character_at(const struct characters *c, size_t index)
{
    uint16_t two;
    uint32_t four;
    if (c->width == 1)
        return c->bytes[index];
    if (c->width == 2) {
        memcpy(&two, c->bytes + 2 * index, sizeof(two));
        return two;
    }
    memcpy(&four, c->bytes + 4 * index, sizeof(four));
    return four;
}

/* Returns how many bytes were written, at most four. */
static size_t encode(uint32_t c, char *ret)
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if ((c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        c = NOT_A_CHARACTER;
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        ret[i] = (char) (0x80 | (c & 0x3f));
    ret[0] = (char) (marks[size] | c);
    return size;
}

void python_text_copy(const py_object *text, char *ret, size_t most)
{
    struct characters all;
    size_t used = 0;
    for (size_t i = 0; characters_of(text, &all) && i < all.count; i++) {
        char one[4];
        uint32_t c = character_at(&all, i);
        size_t size = encode(c, one);
        if (!c || used + size >= most)
            break;
        memcpy(ret + used, one, size);
        used += size;
    }
    if (most > 0)
        ret[used] = '\0';
}

uint64_t python_text_hint(const py_object *text)
{
    struct characters all;
    uint64_t end = 0;
    if (!characters_of(text, &all))
        return 0;
    size_t bytes = all.count * all.width, most = bytes < sizeof(end) ? bytes : sizeof(end);
    memcpy(&end, all.bytes + bytes - most, most);
    return end + all.count * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- verification ---- */

static bool copies(const char *text)
{
    char copy[64] = "";
    py_object *o = py.PyUnicode_FromString(text);
    if (o)
        python_text_copy(o, copy, sizeof(copy));
    bool same = o && strcmp(copy, text) == 0;
    py.PyErr_Clear();
    python_drop(o);
    return same;
}

bool python_text_learn(void)
{
    static const char ascii[] = "an ASCII text";
    py_object *o = py.PyUnicode_FromString(ascii);
    const char *at = o ? python_text(o) : NULL; /* an ASCII text is its own UTF-8 */
    ptrdiff_t begin = at ? at - (const char *) o : 0;
    python_drop(o);
    if (begin < STATE || begin > 64)
        return false;
    /* Follows a pointer and a length; up to 3.11 another length. */
    known.ascii = begin;
    known.other = begin + (python_minor_version() < 12 ? 3 : 2) * (ptrdiff_t) sizeof(void *);
    return copies(ascii) && copies("\xc3\xa9t\xc3\xa9") && copies("\xce\xb1 \xe2\x82\xac") &&
           copies("\xf0\x9f\x8c\x8a wave");
}

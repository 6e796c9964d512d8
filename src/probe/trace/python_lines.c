/* probe/trace/python_lines.c: CPython's line tables. */
#include "probe/trace/python_lines.h"

#include <stdbool.h>

#define BYTES_MOST 65536u

/* A table being read. Sums wrap around instead of overflowing: a table may hold anything. */
struct place {
    const uint8_t *at, *end;
    uint32_t line; /* of the range, unless it has none */
    int64_t until; /* the offset at which the range ends */
    bool has_line;
};

static int line_of(const struct place *p)
{
    return p->has_line && p->line <= INT32_MAX ? (int) p->line : 0;
}

static uint32_t signed_byte(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256u;
}

/* ---- up to 3.9: where lines begin ---- */

/* Pairs: the distance in bytes to the place at which the line changes, and by how much. */
static int find_by_changes(struct place *p, int instruction, bool is_whole)
{
    for (; p->end - p->at >= 2; p->at += 2) {
        p->until += p->at[0];
        if (p->until > instruction)
            return line_of(p);
        p->line += signed_byte(p->at[1]);
    }
    return is_whole ? line_of(p) : 0;
}

/* ---- 3.10: ranges ---- */

#define NO_LINE 128

/* Pairs: the length of a range in bytes, and its line against the previous. */
static bool next_pair(struct place *p)
{
    if (p->end - p->at < 2)
        return false;
    p->until += p->at[0];
    p->has_line = p->at[1] != NO_LINE;
    if (p->has_line)
        p->line += signed_byte(p->at[1]);
    p->at += 2;
    return true;
}

/* ---- since 3.11: ranges with columns ---- */

/* Each begins with a byte whose highest bit is set: a kind of four bits, a length of three. */
#define BEGINS 0x80u
#define UNIT 2 /* bytes, in which lengths are counted */
enum { KIND_ONE_LINE = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NO_LINE = 15 };

/* Six bits a byte, the lowest first; bit 6: more follow. */
static uint32_t unsigned_number(struct place *p)
{
    uint32_t value = 0;
    for (unsigned shift = 0; p->at < p->end && shift < 32; shift += 6) {
        uint8_t byte = *p->at++;
        value |= (uint32_t) (byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

/* The lowest bit is the sign. */
static uint32_t signed_number(struct place *p)
{
    uint32_t value = unsigned_number(p);
    return value & 1 ? 0 - (value >> 1) : value >> 1;
}

static uint32_t line_change(struct place *p, unsigned kind)
{
    if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
        return signed_number(p);
    return kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS ? kind - KIND_ONE_LINE : 0;
}

static bool next_location(struct place *p)
{
    if (p->at == p->end)
        return false;
    uint8_t first = *p->at++;
    unsigned kind = first >> 3 & 15;
    p->until += UNIT * ((first & 7) + 1);
    p->line += line_change(p, kind);
    p->has_line = kind != KIND_NO_LINE;
    while (p->at < p->end && !(*p->at & BEGINS))
        p->at++;
    return true;
}

/* ---- */

int python_lines_find(const struct python_lines *t, int instruction)
{
    size_t length = t->length < BYTES_MOST ? t->length : BYTES_MOST;
    struct place p = {.at = t->bytes,
                      .end = t->bytes + length,
                      .line = (uint32_t) t->first_line,
                      .has_line = true};
    if (instruction < 0)
        return line_of(&p);
    if (t->minor <= 9)
        return find_by_changes(&p, instruction, length == t->length);
    do {
        if (t->minor == 10 ? !next_pair(&p) : !next_location(&p))
            return 0;
    } while (p.until <= instruction);
    return line_of(&p);
}

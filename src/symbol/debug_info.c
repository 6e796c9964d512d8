/* symbol/debug_info.c: lines and inlined functions, by libdw. */
#include "symbol/debug_info.h"

#include "symbol/offsets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64u /* blocks in functions, classes in namespaces */

int debug_info_open(const struct libdw *dw, const void *bytes, size_t size, struct debug_info *ret)
{
    if (!dw->begin)
        return -ENOTSUP;
    void *elf = dw->elf_memory((char *) (uintptr_t) bytes, size); /* NOLINT: reads only */
    void *dwarf = elf ? dw->begin(elf, LIBDW_READ, NULL) : NULL;
    if (!dwarf)
        return -ENOEXEC;
    *ret = (struct debug_info){dw, dwarf};
    return 0;
}

/* ---- units ---- */

/* Not by .debug_aranges, which clang does not write. */
void debug_info_units(const struct debug_info *d, const uint64_t *addresses, size_t count,
                      uint64_t *ret_units)
{
    uint64_t next, abbreviations, base, start, end;
    uint8_t address_size, offset_size;
    size_t header;
    struct libdw_die unit;
    memset(ret_units, 0, count * sizeof *ret_units);
    for (uint64_t at = 0; d->dw->next_unit(d->dwarf, at, &next, &header, &abbreviations,
                                           &address_size, &offset_size) == 0 &&
                          next > at;
         at = next) {
        if (!d->dw->die_at(d->dwarf, at + header, &unit))
            continue;
        for (ptrdiff_t i = 0; (i = d->dw->ranges(&unit, i, &base, &start, &end)) > 0;)
            for (size_t k = offsets_first_from(addresses, count, start);
                 k < count && addresses[k] < end; k++)
                ret_units[k] = ret_units[k] ? ret_units[k] : at + header;
    }
}

/* ---- functions ---- */

static bool holds_code(int tag)
{
    return tag == LIBDW_FUNCTION || tag == LIBDW_INLINED || tag == LIBDW_BLOCK ||
           tag == LIBDW_TRY || tag == LIBDW_CATCH;
}

static bool holds_functions(int tag)
{
    return tag == LIBDW_NAMESPACE || tag == LIBDW_MODULE || tag == LIBDW_CLASS ||
           tag == LIBDW_STRUCT || tag == LIBDW_UNION;
}

/* What holds the address directly below `parent`; namespaces and classes do not count. */
static bool find_below(const struct libdw *dw, struct libdw_die *parent, uint64_t address,
                       unsigned depth, struct libdw_die *ret)
{
    struct libdw_die die;
    if (depth > DEEPEST || dw->child(parent, &die) != 0)
        return false;
    do {
        int tag = dw->tag(&die);
        if (holds_code(tag) && dw->has_pc(&die, address) > 0) {
            *ret = die;
            return true;
        }
        if (holds_functions(tag) && find_below(dw, &die, address, depth + 1, ret))
            return true;
    } while (dw->sibling(&die, &die) == 0);
    return false;
}

/* The function at the address, then what is inlined there, from the outside inwards. Too many: the
 * innermost are kept. */
static size_t find_functions(const struct libdw *dw, struct libdw_die unit, uint64_t address,
                             struct libdw_die ret[DEBUG_FRAMES])
{
    size_t count = 0;
    struct libdw_die at = unit;
    for (unsigned depth = 0; depth < DEEPEST && find_below(dw, &at, address, 0, &at); depth++) {
        int tag = dw->tag(&at);
        if (tag == LIBDW_FUNCTION)
            count = 0; /* inside another one, but not inlined */
        else if (tag != LIBDW_INLINED)
            continue;
        if (count == DEBUG_FRAMES)
            memmove(ret, ret + 1, --count * sizeof *ret);
        ret[count++] = at;
    }
    return count;
}

/* ---- names and lines ---- */

static const char *linked_name(const struct libdw *dw, struct libdw_die *die)
{
    struct libdw_attribute a;
    if (dw->inherited(die, LIBDW_LINKED_NAME, &a) || dw->inherited(die, LIBDW_OLD_LINKED_NAME, &a))
        /* cppcheck-suppress returnDanglingLifetime ; the text is in the file's mapping */
        return dw->text(&a);
    return NULL;
}

static uint64_t number(const struct libdw *dw, struct libdw_die *die, unsigned name)
{
    struct libdw_attribute a;
    uint64_t value;
    return dw->attribute(die, name, &a) && dw->number(&a, &value) == 0 ? value : 0;
}

/* Follows an inlined or detached function to where it is declared. */
static struct libdw_die declaration(const struct libdw *dw, struct libdw_die die)
{
    struct libdw_attribute a;
    for (unsigned i = 0; i < 4; i++)
        if ((!dw->attribute(&die, LIBDW_ABSTRACT, &a) &&
             !dw->attribute(&die, LIBDW_DECLARED, &a)) ||
            !dw->die_of(&a, &die))
            break;
    return die;
}

static bool has_namespaces(const struct libdw *dw, struct libdw_die *unit)
{
    uint64_t language = number(dw, unit, LIBDW_LANGUAGE);
    return language == LIBDW_CXX || language == LIBDW_CXX_11 || language == LIBDW_CXX_14 ||
           language == LIBDW_CXX_17 || language == LIBDW_CXX_20 || language == LIBDW_RUST;
}

static void add_text(char *to, size_t size, const char *text)
{
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%s", text);
}

/* The names of what the declaration is in. Finding it takes a walk through the whole unit. */
static void add_namespaces(const struct libdw *dw, struct libdw_die *die, char *to, size_t size)
{
    struct libdw_die declared = declaration(dw, *die), *scopes = NULL;
    for (int i = dw->scopes(&declared, &scopes) - 1; i > 0; i--) {
        const char *name = holds_functions(dw->tag(&scopes[i])) ? dw->die_name(&scopes[i]) : NULL;
        if (name) {
            add_text(to, size, name);
            add_text(to, size, "::");
        }
    }
    free(scopes);
}

static void name_function(const struct libdw *dw, struct libdw_die *unit, struct libdw_die *die,
                          struct debug_frame *ret)
{
    ret->linked = linked_name(dw, die);
    const char *name = ret->linked ? NULL : dw->die_name(die);
    if (!name)
        return;
    if (has_namespaces(dw, unit))
        add_namespaces(dw, die, ret->name, sizeof ret->name);
    add_text(ret->name, sizeof ret->name, name);
}

/* Where the line table has the address. */
static void locate(const struct libdw *dw, struct libdw_die *unit, uint64_t address,
                   struct debug_frame *ret)
{
    void *line = dw->line_at(unit, address);
    if (!line)
        return;
    ret->file = dw->line_file(line, NULL, NULL);
    if (!ret->file || dw->line_number(line, &ret->line) != 0)
        ret->line = 0;
}

/* Where the function was inlined: the line of its caller. */
static void locate_call(const struct libdw *dw, struct libdw_die *unit, struct libdw_die *inlined,
                        struct debug_frame *ret)
{
    void *files;
    size_t count;
    uint64_t file = number(dw, inlined, LIBDW_CALL_FILE);
    uint64_t line = number(dw, inlined, LIBDW_CALL_LINE);
    if (dw->files(unit, &files, &count) == 0 && file < count)
        ret->file = dw->file_name(files, (size_t) file, NULL, NULL);
    ret->line = ret->file && line <= INT32_MAX ? (int) line : 0;
}

size_t debug_info_frames(const struct debug_info *d, uint64_t unit, uint64_t address,
                         struct debug_frame ret[DEBUG_FRAMES])
{
    const struct libdw *dw = d->dw;
    struct libdw_die unit_die, dies[DEBUG_FRAMES];
    if (!dw->die_at(d->dwarf, unit, &unit_die))
        return 0;
    size_t count = find_functions(dw, unit_die, address, dies);
    for (size_t i = 0; i < count; i++) {
        struct libdw_die *die = &dies[count - 1 - i];
        ret[i] = (struct debug_frame){0};
        name_function(dw, &unit_die, die, &ret[i]);
        if (i == 0)
            locate(dw, &unit_die, address, &ret[i]);
        else
            locate_call(dw, &unit_die, die + 1, &ret[i]);
    }
    return count;
}

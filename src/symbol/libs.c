/* symbol/libs.c: libdw and the C++ library, loaded at run time. */
#include "symbol/libs.h"

#include "symbol/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define LIBDW "libdw.so.1"
#define LIBSTDCXX "libstdc++.so.6"

static const struct call {
    const char *name;
    size_t offset;
} calls[] = {
#define CALL(member, name)                                                                         \
    {                                                                                              \
        name, offsetof(struct libdw, member)                                                       \
    }
    CALL(elf_version, "elf_version"),
    CALL(elf_memory, "elf_memory"),
    CALL(begin, "dwarf_begin_elf"),
    CALL(next_unit, "dwarf_nextcu"),
    CALL(die_at, "dwarf_offdie"),
    CALL(ranges, "dwarf_ranges"),
    CALL(tag, "dwarf_tag"),
    CALL(child, "dwarf_child"),
    CALL(sibling, "dwarf_siblingof"),
    CALL(has_pc, "dwarf_haspc"),
    CALL(attribute, "dwarf_attr"),
    CALL(inherited, "dwarf_attr_integrate"),
    CALL(text, "dwarf_formstring"),
    CALL(number, "dwarf_formudata"),
    CALL(die_of, "dwarf_formref_die"),
    CALL(scopes, "dwarf_getscopes_die"),
    CALL(die_name, "dwarf_diename"),
    CALL(line_at, "dwarf_getsrc_die"),
    CALL(line_number, "dwarf_lineno"),
    CALL(line_file, "dwarf_linesrc"),
    CALL(files, "dwarf_getsrcfiles"),
    CALL(file_name, "dwarf_filesrc"),
#undef CALL
};

/* All of it or nothing. Symbols of libelf are found through libdw, which needs it. */
static void load_libdw(struct libdw *ret)
{
    void *library = dlopen(LIBDW, RTLD_NOW | RTLD_LOCAL);
    struct libdw dw = {0};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call = library ? dlsym(library, calls[i].name) : NULL;
        if (!call)
            return;
        memcpy((char *) &dw + calls[i].offset, &call, sizeof call);
    }
    if (dw.elf_version(LIBDW_ELF_VERSION) != 0)
        *ret = dw;
}

void libs_load(struct libs *ret)
{
    *ret = (struct libs){0};
    load_libdw(&ret->dw);
    void *library = dlopen(LIBSTDCXX, RTLD_NOW | RTLD_LOCAL);
    void *call = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&ret->demangle, &call, sizeof call);
}

int symbols_check_lines(void)
{
    struct libs libs;
    libs_load(&libs);
    return libs.dw.begin ? 0 : -ENOENT;
}

int symbols_check_cxx(void)
{
    struct libs libs;
    libs_load(&libs);
    return libs.demangle ? 0 : -ENOENT;
}

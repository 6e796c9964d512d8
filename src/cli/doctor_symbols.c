/* cli/doctor_symbols.c: can native addresses be named here? */
#include "cli/doctor.h"
#include "symbol/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A function of the C library that nothing replaces. */
#define KNOWN "gnu_get_libc_version"

static int name_known(struct symbols *s)
{
    const void *address = dlsym(RTLD_DEFAULT, KNOWN);
    const struct symbol_frame *found;
    Dl_info where;
    if (!address || dladdr(address, &where) == 0)
        return -ENOTSUP;
    uint64_t offset = (uint64_t) ((const char *) address - (const char *) where.dli_fbase);
    const struct symbol_module libc = {.path = where.dli_fname};
    int r = symbols_resolve(s, &libc, &offset, 1);
    if (r < 0)
        return r;
    return symbols_find(s, libc.path, offset, &found) > 0 && strcmp(found->function, KNOWN) == 0
               ? 0
               : -ENOENT;
}

/* The way the tracer does it: through a deputy, from the file. */
static int try_names(void)
{
    struct symbols *s;
    int r = symbols_new(getpid(), &s);
    if (r < 0)
        return r;
    r = name_known(s);
    symbols_free(s);
    return r;
}

void doctor_check_symbols(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "symbols", "native names");
    int r = try_names();
    if (r < 0) {
        doctor_set(c, DOCTOR_LIMITED, "functions of native code cannot be named (%s)",
                   error_words(-r));
        buf_adds(&c->advice, "nothing to do: allocation sites in native code are reported as "
                             "library+offset; addr2line -f -e LIBRARY OFFSET names them");
    } else if (symbols_check_lines() < 0) {
        doctor_set(c, DOCTOR_LIMITED, "functions only: libdw is not installed");
        buf_adds(&c->advice, "for source lines and inlined functions of native allocation sites: "
                             "apt install libdw1, or dnf install elfutils-libs");
    } else if (symbols_check_cxx() < 0) {
        doctor_set(c, DOCTOR_LIMITED, "C++ names stay mangled: libstdc++ is not installed");
        buf_adds(&c->advice, "apt install libstdc++6, or dnf install libstdc++; or pass the names "
                             "through c++filt");
    } else {
        doctor_set(c, DOCTOR_OK, "functions, source lines (libdw) and C++ names can be read");
    }
}

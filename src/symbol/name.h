/* symbol/name.h: names of functions as their authors write them. Pure. Private to symbol/. */
#ifndef TIDEMARK_SYMBOL_NAME_H
#define TIDEMARK_SYMBOL_NAME_H

#include "base/base.h"

#include <stdbool.h>

#define NAME_MOST 200u /* bytes */

/* Whether a demangler knows it: C++, and Rust's older names. */
bool name_is_mangled(const char *linked);

/* Adds the name without what compiler and linker put behind it: "foo.part.0", "foo@@GLIBC_2.2.5".
 * Of a name that is not mangled, at most NAME_MOST bytes. */
void name_add_linked(struct buf *out, const char *linked);

/*
 * Adds what a demangler made of a name, as one speaks of the function: without return type,
 * arguments, unnamed namespaces, and template arguments that are defaults. At most NAME_MOST bytes;
 * longer ones lose their template arguments, then their beginning.
 * "void at::native::(anonymous namespace)::fill<float>(at::Tensor&)" gives at::native::fill<float>.
 */
void name_add_tidy(struct buf *out, const char *demangled);

#endif

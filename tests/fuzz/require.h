/* tests/fuzz/require.h: what has to hold whatever the input. */
#ifndef TIDEMARK_FUZZ_REQUIRE_H
#define TIDEMARK_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

static inline _Noreturn void require_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

#define REQUIRE(what) ((what) ? (void) 0 : require_failed(__FILE__, __LINE__, #what))

#endif

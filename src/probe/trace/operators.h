/* probe/trace/operators.h: C++'s operators new and delete, where an allocator brings its own.
 * Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_OPERATORS_H
#define TIDEMARK_PROBE_TRACE_OPERATORS_H

#include "probe/trace/patch.h"
#include "probe/trace/range.h"

/* Those of libstdc++ call malloc() and free(); those of jemalloc, tcmalloc and mimalloc do not. Of
 * an allocator whose file has that range, the functions that stand before its operators; none if it
 * has none. */
const struct patch *operators_of(struct range allocator, size_t *ret_count);

#endif

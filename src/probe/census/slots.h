/* probe/census/slots.h: containers made at full length and filled by index. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_SLOTS_H
#define TIDEMARK_PROBE_CENSUS_SLOTS_H

#include "probe/census/survey.h"

/*
 * The length of a container that has not changed its length since the previous census and holds all
 * of these objects, except perhaps one of the current step. Such a container bounds them: it cannot
 * keep more than its length. At least `least`; -1: none. Walks the heap and the contents of such
 * containers: only in a forked child.
 */
ptrdiff_t slots_holding(const struct survey *c, py_object *const *objects, size_t count,
                        uint64_t least);

#endif

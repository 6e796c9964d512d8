/* probe/census/slots.h: containers that were made at their full length, and are filled. Private to
 * probe/.
 */
#ifndef TIDEMARK_PROBE_CENSUS_SLOTS_H
#define TIDEMARK_PROBE_CENSUS_SLOTS_H

#include "probe/census/survey.h"

/*
 * A list, dict or other container whose length has not changed since the census before, and that
 * has all of these objects, or all but the one that may be the step's own: no more of them than it
 * is long can be kept there. Of a length of `least` or more; -1: there is none. A walk over the
 * heap, and over what is in such containers: meant for a forked child.
 */
ptrdiff_t slots_holding(const struct survey *c, py_object *const *objects, size_t count,
                        uint64_t least);

#endif

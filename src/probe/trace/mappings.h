/* probe/trace/mappings.h: where sampled mappings lie, for what is unmapped in parts. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_MAPPINGS_H
#define TIDEMARK_PROBE_TRACE_MAPPINGS_H

#include "probe/trace/range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any thread; nobody waits. Who takes a mapping out owns it until it is added again. */
struct mapping {
    uintptr_t start, end;
};

/* False: no room for one more. */
bool mappings_add(struct mapping m);
/* Takes out a mapping that has a part in these addresses. False: there is none. */
bool mappings_take(struct mapping range, struct mapping *ret);
/* Takes out that which begins there. */
bool mappings_take_at(uintptr_t start);
bool mappings_is_empty(void);
void mappings_clear(void);

/* Where the table lies (own_pages.h). */
struct range mappings_pages(void);

#endif

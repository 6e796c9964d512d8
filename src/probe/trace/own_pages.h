/* probe/trace/own_pages.h: where the tracer's tables lie. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_OWN_PAGES_H
#define TIDEMARK_PROBE_TRACE_OWN_PAGES_H

#include "probe/trace/range.h"

#include <stdbool.h>

/*
 * A table whose pages fill as samples come would look like growth of the program: some 450 KB, just
 * while a leak is measured. So the tables of a process with samples are in shared memory, which the
 * watcher knows to be the tracer's (WIRE_TRACE_TABLES). They stay at their addresses, so nothing
 * has to look for them. A child of a fork has private ones, until it samples as well.
 *
 * A table is static, begins with OWN_PAGES and fills whole pages.
 */
#define OWN_PAGES __attribute__((aligned(4096)))

#define OWN_PAGES_OF(table)                                                                        \
    ((struct range){(uintptr_t) (table), (uintptr_t) (table) + sizeof(table)})

/* Moves a table, with what it contains. Nobody may write to it meanwhile; reading is fine. False:
 * it stays where it was. */
bool own_pages_share(struct range table);
bool own_pages_unshare(struct range table);

/* Private pages in its place, all zero. */
bool own_pages_clear(struct range table);

#endif

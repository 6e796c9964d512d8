/* probe/trace/table.h: the live samples, in the process's file. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_TABLE_H
#define TIDEMARK_PROBE_TRACE_TABLE_H

#include "probe/trace/range.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Addresses in buckets, exact. Any thread, and any signal handler in the middle of a call. A slot
 * has one owner at a time: whoever changes its address from 0, or from that of a sample, to
 * TABLE_CLAIMED.
 */
#define TABLE_CLAIMED UINT64_C(1)

/* False: no room; it is counted as dropped. A record that the address has is replaced. */
bool table_add(struct wire_trace_layout *f, uint64_t address, struct wire_trace_sample sample);
/* Counts it as dropped. */
void table_drop(struct wire_trace_layout *f, const struct wire_trace_sample *s);
/* False: no record of that address. */
bool table_take(struct wire_trace_layout *f, uint64_t address, struct wire_trace_sample *ret);

/*
 * Keeps each sample with the probability that makes the table one of the longer interval.
 * `random`: the state of a generator. One thread at a time.
 */
void table_thin(struct wire_trace_layout *f, double interval, uint64_t *random);

/* Where the filter lies (own_pages.h). In the child of a fork, and at the end of all sampling, it
 * gets private pages with nothing in it but what stays. False: no memory. */
struct range table_filter_pages(void);
bool table_unshare_filter(void);

/* Before a new file is used: nothing in the filter but what stays. */
void table_clear_filter(void);
/* The address is in the filter until the process ends. */
void table_keep_in_filter(const void *address);

#endif

/* probe/trace/tracer.h: what the tracer of this process is at: its orders and its file. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_TRACER_H
#define TIDEMARK_PROBE_TRACE_TRACER_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* Looks at the orders, if they changed. Whoever calls is busy (sampling_here.is_busy). */
void tracer_look(void);

/* In sampling.c: the calling thread begins, as the only one of its process. */
void tracer_begin_thread(void);

/* Mean bytes between two samples that are in force; 0: not armed. */
double tracer_interval(void);
bool tracer_wants_blocks(void);

/*
 * The file, which stays mapped until tracer_leave(); NULL: there is none, or this process is a copy
 * that has not heard of its fork: then nothing is to be done. tracer_enter_or_open() makes the file
 * if need be.
 */
struct wire_trace_layout *tracer_enter(void);
struct wire_trace_layout *tracer_enter_or_open(void);
void tracer_leave(void);

/* Samples drawn with this interval cost too much, or fill the table: doubles it, and thins the live
 * ones. Nothing happens if another interval is in force. */
void tracer_lengthen(struct wire_trace_layout *f, double interval, uint64_t *random);

/* They cost little: halves it, down to what was ordered. The later, the more often it had to grow:
 * an import is a burst, a program that never stops is not. */
void tracer_shorten(struct wire_trace_layout *f, double interval);

#endif

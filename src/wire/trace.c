/* wire/trace.c: what a sample of the allocation tracer stands for. */
#include "wire/trace.h"

#include <math.h>

double wire_trace_weight(uint64_t size, double interval)
{
    double bytes = (double) size;
    double chance = interval > 0 ? -expm1(-(bytes + 1) / interval) : 1;
    return bytes / chance;
}

#define GLIBC_HEADER 8u
#define GLIBC_LEAST 32u
#define ALIGNED 16u
#define PYTHON_SMALL 512u /* larger objects are malloc()'s */

static uint64_t round_up(uint64_t size)
{
    return (size + ALIGNED - 1) / ALIGNED * ALIGNED;
}

uint64_t wire_trace_taken(uint64_t size, enum wire_trace_kind kind, bool is_glibc_heap)
{
    if (!is_glibc_heap || (kind != WIRE_TRACE_MALLOC && kind != WIRE_TRACE_PYTHON))
        return size;
    if (kind == WIRE_TRACE_PYTHON && size <= PYTHON_SMALL)
        return round_up(size);
    uint64_t chunk = round_up(size + GLIBC_HEADER);
    return chunk > GLIBC_LEAST ? chunk : GLIBC_LEAST;
}

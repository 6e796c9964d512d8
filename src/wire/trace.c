/* wire/trace.c: what a sample of the allocation tracer stands for. */
#include "wire/trace.h"

#include <math.h>

double wire_trace_weight(uint64_t size, double interval)
{
    double bytes = (double) size;
    double chance = interval > 0 ? -expm1(-(bytes + 1) / interval) : 1;
    return bytes / chance;
}

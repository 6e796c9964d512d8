/* probe/ring.c: what the hooks have seen goes into the ring of this process. */
#include "probe/ring.h"

#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Reading the counters takes this part of the time; but one reading that took long (another thread
 * had torch's lock, or somebody else the processor) does not blind us for longer than LONGEST_REST.
 */
#define COUNTERS_SHARE 1000u
#define LONGEST_REST UINT64_C(500000000)

static struct wire_ring *ring;
static bool refused; /* it could not be opened: never again */
static uint64_t next_counters;

static struct wire_ring *own_ring(void)
{
    if (ring || refused)
        return ring;
    const char *directory = getenv(WIRE_DIRECTORY_VARIABLE);
    refused = !directory || wire_open(directory, &ring) < 0;
    return ring;
}

void ring_forget(void)
{
    ring = wire_close(ring);
    refused = false;
}

static void emit(void *context, const char *kind, const char *device, int is_count, int is_judged,
                 double value)
{
    struct wire_name name = {
        .unit = is_count ? WIRE_COUNT : WIRE_BYTES,
        .judged = (uint8_t) is_judged,
    };
    strncpy(name.kind, kind, sizeof(name.kind) - 1);
    strncpy(name.device, device, sizeof(name.device) - 1);
    int number = wire_name(ring, &name);
    if (number >= 0)
        wire_put(ring, WIRE_SAMPLE, WIRE_OPTIMIZER, (unsigned) number, *(const uint64_t *) context,
                 value);
}

static void read_counters(uint64_t moment)
{
    uint64_t before = wire_now();
    if (before < next_counters)
        return;
    tidemark_probe_read(emit, &moment);
    uint64_t after = wire_now(), rest = COUNTERS_SHARE * (after - before);
    next_counters = after + (rest < LONGEST_REST ? rest : LONGEST_REST);
}

void ring_step(double steps)
{
    uint64_t moment = own_ring() ? wire_step(ring, WIRE_OPTIMIZER, steps) : 0;
    if (moment)
        read_counters(moment);
}

void ring_counter(const char *kind, const char *device, bool is_count, double value)
{
    uint64_t now = wire_now();
    if (own_ring())
        emit(&now, kind, device, is_count, false, value);
}

void ring_epoch(double steps, double epochs)
{
    if (!own_ring())
        return;
    uint64_t now = wire_now();
    if (wire_believed(ring) <= WIRE_OPTIMIZER)
        wire_put(ring, WIRE_STEP, WIRE_OPTIMIZER, 0, now, steps);
    wire_put(ring, WIRE_EPOCH, WIRE_OPTIMIZER, 0, now, epochs);
}

void ring_epoch_length(double steps)
{
    if (own_ring())
        wire_put(ring, WIRE_EPOCH_LENGTH, WIRE_OPTIMIZER, 0, wire_now(), steps);
}

double ring_steps(void)
{
    return ring && wire_believed(ring) > WIRE_OPTIMIZER ? wire_steps(ring) : NAN;
}

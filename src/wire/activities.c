/* wire/activities.c: a process reports its work outside steps, such as evaluating and saving. */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* The least ns between reports of one name: 17 names do not fill the ring within a second. */
#define SPACING UINT64_C(20000000)

#define OTHER (WIRE_PHASES - 1)

/* ---- names ---- */

static void give_name(struct wire_phase_slot *s, const char *name)
{
    strncpy(s->name, name, sizeof(s->name) - 1);
    atomic_store_explicit(&s->ready, 1, memory_order_release);
}

unsigned wire_phase(struct wire_ring *r, const char *name)
{
    unsigned i = strcmp(name, WIRE_OTHER) == 0 ? OTHER : 0;
    for (; i < OTHER; i++) {
        const struct wire_phase_slot *s = &r->layout->phases[i];
        if (!atomic_load_explicit(&s->ready, memory_order_acquire) ||
            strncmp(s->name, name, sizeof(s->name) - 1) == 0)
            break;
    }
    struct wire_phase_slot *s = &r->layout->phases[i];
    if (!atomic_load_explicit(&s->ready, memory_order_acquire))
        give_name(s, i == OTHER ? WIRE_OTHER : name);
    return i;
}

/* ---- memory in between ---- */

/* The peak resident memory of this process (VmHWM); NAN: not known. */
static double own_peak(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NAN;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "\nVmHWM:");
    return line ? 1024 * strtod(line + strlen("\nVmHWM:"), NULL) : NAN;
}

/*
 * A high-water mark that rose since the phase began was set during the phase. An unchanged mark
 * says nothing: memory may have come close to it or not. Shared pages are assumed to be those at
 * the end of the phase.
 */
static void put_peak(struct wire_ring *r, unsigned phase, uint64_t now, struct wire_memory memory)
{
    double peak = own_peak();
    if (peak > r->phases[phase].peak && peak > memory.resident)
        wire_put_anon(r, WIRE_ASIDE, WIRE_WATCHER, now, peak - memory.shared);
}

/* ---- reporting ---- */

static void put_memory(struct wire_ring *r, uint64_t now, struct wire_memory memory)
{
    wire_put_anon(r, WIRE_ASIDE, WIRE_WATCHER, now, memory.resident - memory.shared);
}

static void tell_begin(struct wire_ring *r, unsigned phase, uint64_t now)
{
    int kept = errno;
    struct wire_phase_state *s = &r->phases[phase];
    put_memory(r, now, wire_own_memory());
    wire_put(r, WIRE_PHASE, WIRE_WATCHER, phase, now, 1);
    s->peak = own_peak();
    if (r->directory)
        wire_wake(r);
    /* Reporting the end will take about as long. */
    s->next_told = now + wire_rest(WIRE_REST, now - (wire_now() - now), SPACING);
    errno = kept;
}

static void tell_end(struct wire_ring *r, unsigned phase, uint64_t now)
{
    int kept = errno;
    struct wire_memory memory = wire_own_memory();
    put_peak(r, phase, now, memory);
    put_memory(r, now, memory);
    wire_put(r, WIRE_PHASE, WIRE_WATCHER, phase, now, 0);
    errno = kept;
}

uint64_t wire_phase_begin(struct wire_ring *r, unsigned phase)
{
    struct wire_phase_state *s = &r->phases[phase];
    if (s->depth++ > 0)
        return 0;
    uint64_t now = wire_now();
    s->since = now;
    s->told = now >= s->next_told;
    atomic_fetch_add_explicit(&r->layout->phases[phase].begun, 1, memory_order_relaxed);
    if (s->told)
        tell_begin(r, phase, now);
    return s->told ? now : 0;
}

uint64_t wire_phase_end(struct wire_ring *r, unsigned phase)
{
    struct wire_phase_state *s = &r->phases[phase];
    struct wire_phase_slot *counted = &r->layout->phases[phase];
    if (s->depth == 0 || --s->depth > 0)
        return 0;
    uint64_t now = wire_now();
    atomic_fetch_add_explicit(&counted->nanoseconds, now - s->since, memory_order_relaxed);
    atomic_fetch_add_explicit(&counted->ended, 1, memory_order_relaxed);
    if (s->told)
        tell_end(r, phase, now);
    return s->told ? now : 0;
}

void wire_phases_end(struct wire_ring *r)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++) {
        if (r->phases[i].depth == 0)
            continue;
        r->phases[i].depth = 1;
        wire_phase_end(r, i);
    }
}

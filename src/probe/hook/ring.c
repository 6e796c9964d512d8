/* probe/hook/ring.c: writes what the hooks report into the ring of this process. */
#include "probe/hook/ring.h"

#include "probe/base/allocator.h"
#include "probe/base/ending.h"
#include "probe/base/places.h"
#include "probe/hook/recording.h"
#include "probe/trace/interpreter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading one kind of counter takes at most this part of the time. */
#define SHARE 1000u
#define SHARE_EARLY 200u /* for the first EARLY ns: a run may be over by then */
#define EARLY UINT64_C(2000000000)
#define LEAST_REST_OF_LINES UINT64_C(1000000)
#define LEAST_REST_OF_LINES_EARLY UINT64_C(100000)

/* A short run may end before it has paid for any reading. So readings that total less than FREE ns
 * are made at intervals that grow with the run, and start over in each of the first evaluations. */
#define FREE UINT64_C(20000000)
#define FREE_SHARE 4u
#define FREE_PART_OF_AGE 64u
#define FIRST_EVALUATIONS 12u

/* No optimizer step for this many times the last step's duration: an evaluation, which shows by its
 * lines. */
#define STEPS_LATE 2u

/* Schedules the next reading by the time that readings took so far. */
struct pace {
    _Atomic uint64_t next;
    _Atomic uint64_t last; /* the last reading, or opportunity for one */
    _Atomic uint64_t took;
    _Atomic unsigned evaluations; /* evaluations with more than one reading */
    unsigned readings;            /* in the last evaluation */
    uint64_t first;               /* the first reading; 0: not yet */
    uint64_t most;                /* the longest rest */
};

/* For counters the rest is limited: one slow reading, because another thread held torch's lock,
 * must not stop them. For malloc it is not: with many free chunks mallinfo2() walks all of them,
 * every time. */
static struct pace counters = {.most = UINT64_C(500000000)};
static struct pace heap = {.most = UINT64_MAX};

static struct wire_ring *ring;
static bool refused;                /* it could not be opened; never try again */
static bool has_ended;              /* frees after the end say nothing about the program */
static void (*step_listener)(void); /* NULL: no listener */
static uint64_t step_at;
static _Atomic uint64_t steps_late_at = UINT64_MAX;
static double last_reported[WIRE_NAMES];
static char *directory; /* given by ring_attach(); NULL: not attached */

static struct wire_ring *own_ring(void)
{
    if (ring || refused)
        return ring;
    const char *place = directory ? directory : getenv(WIRE_DIRECTORY_VARIABLE);
    refused = !place || wire_open(place, &ring) < 0;
    return ring;
}

static void begin_pace(struct pace *p)
{
    p->next = p->last = p->took = p->first = 0;
    p->evaluations = p->readings = 0;
}

static void begin_anew(void)
{
    step_at = 0;
    steps_late_at = UINT64_MAX;
    begin_pace(&counters);
    begin_pace(&heap);
}

void ring_forget(void)
{
    has_ended = false;
    ring = wire_close(ring);
    refused = false;
    begin_anew();
}

int ring_attach(const char *place)
{
    char *copy = strdup(place);
    struct wire_ring *opened = NULL;
    int r = copy ? wire_open(place, &opened) : -ENOMEM;
    if (r < 0) {
        free(copy);
        return r;
    }
    ring = wire_close(ring);
    free(directory);
    ring = opened;
    directory = copy;
    refused = false;
    begin_anew();
    return 0;
}

struct wire_ring *ring_detach(void)
{
    struct wire_ring *left = ring;
    ring = NULL;
    free(directory);
    directory = NULL;
    return left;
}

enum wire_wanted ring_wanted(void)
{
    return ring ? wire_wanted(ring) : WIRE_CENSUS_NONE;
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
    if (number < 0 || (has_ended && value < last_reported[number]))
        return;
    last_reported[number] = value;
    wire_put(ring, WIRE_SAMPLE, WIRE_OPTIMIZER, (unsigned) number, *(const uint64_t *) context,
             value);
}

static bool nobody_steps(uint64_t now)
{
    return now > steps_late_at && wire_believed(ring) == WIRE_OPTIMIZER;
}

/* Steps are late, and there was no reading since. */
static bool begins_evaluation(const struct pace *p, uint64_t now)
{
    return now > steps_late_at && p->last < steps_late_at;
}

static bool is_due(const struct pace *p, uint64_t now)
{
    return now >= p->next ||
           (begins_evaluation(p, now) && p->evaluations < FIRST_EVALUATIONS && p->took < FREE);
}

/* A slow step followed by a line is no evaluation yet. */
static void count_evaluation(struct pace *p, uint64_t moment)
{
    if (moment <= steps_late_at)
        return;
    p->readings = begins_evaluation(p, moment) ? 1 : p->readings + 1;
    p->evaluations += p->readings == 2;
}

static uint64_t rest_after(const struct pace *p, uint64_t took, uint64_t now)
{
    uint64_t age = now - p->first;
    if (p->took < FREE) {
        bool is_new = nobody_steps(now) && p->evaluations <= FIRST_EVALUATIONS;
        uint64_t part = (is_new ? now - step_at : age) / FREE_PART_OF_AGE;
        return FREE_SHARE * took > part ? FREE_SHARE * took : part;
    }
    return (age < EARLY ? SHARE_EARLY : SHARE) * took;
}

/* Notes a reading at that moment. */
static void rest(struct pace *p, uint64_t moment, uint64_t took)
{
    uint64_t now = wire_now();
    count_evaluation(p, moment);
    p->last = now;
    if (p->first == 0) { /* the first reading had to learn, and was slow */
        p->first = now;
        return;
    }
    p->took += took;
    uint64_t rest = rest_after(p, took, now);
    p->next = now + (rest < p->most ? rest : p->most);
}

static void read_counters(uint64_t moment)
{
    if (!is_due(&counters, moment))
        return;
    uint64_t before = wire_now();
    tidemark_probe_read(emit, &moment);
    rest(&counters, moment, wire_now() - before);
}

/* In the order that sample/rings.c expects. */
static void emit_heap(uint64_t moment, const struct allocator_facts *facts)
{
    double asked = wire_own_memory().asked;
    emit(&moment, "heap.used", "", false, false, (double) facts->in_use);
    if (isfinite(asked))
        emit(&moment, "heap.asked", "", false, false, asked);
    emit(&moment, "heap.free", "", false, false, (double) facts->free);
}

static void read_heap(uint64_t moment)
{
    struct allocator_facts facts;
    if (!is_due(&heap, moment))
        return;
    uint64_t before = places_thread_ns();
    if (allocator_read(&facts))
        emit_heap(moment, &facts);
    rest(&heap, moment, places_thread_ns() - before);
}

/* Its tables are no growth of the program's. */
static void record_blocks(void)
{
    size_t before = places_shared_bytes();
    recording_moment();
    if (places_shared_bytes() != before)
        wire_own_shared(ring, places_shared_bytes());
}

void ring_on_step(void (*heard)(void))
{
    step_listener = heard;
}

void ring_step(double steps)
{
    if (step_listener)
        step_listener();
    interpreter_look();
    uint64_t now = wire_now();
    /* A reading waits for the next reported step; otherwise evaluations would get more readings
     * than their share. */
    if (own_ring() && (now >= counters.next || now >= heap.next))
        wire_tell_next(ring, WIRE_OPTIMIZER);
    uint64_t moment = ring ? wire_step(ring, WIRE_OPTIMIZER, steps) : 0;
    steps_late_at = step_at ? now + STEPS_LATE * (now - step_at) : UINT64_MAX;
    step_at = now;
    if (moment) {
        read_counters(moment);
        read_heap(moment);
    }
    if (ring)
        record_blocks();
    if (inspect_is_due())
        ring_inspect(INSPECT_OPTIMIZER);
}

/* ---- the census ---- */

/* Otherwise the census would lie somewhere between two reported steps. */
static void report_step_of_census(void *context, uint64_t time)
{
    (void) context;
    enum wire_source source = wire_believed(ring);
    if (source != WIRE_NOBODY)
        wire_put(ring, WIRE_STEP, source, 0, time, wire_steps(ring));
}

static void report_count(void *context, uint64_t time, const char *kind, const char *device,
                         bool is_count, bool is_judged, double value)
{
    (void) context;
    emit(&time, kind, device, is_count, is_judged, value);
}

static void replace_report(void *context, const char *text, size_t len)
{
    (void) context;
    wire_census_replace(ring, text, len);
}

static void report_child(void *context, pid_t child)
{
    (void) context;
    wire_census_by(ring, child);
}

void ring_replace_report(const char *text, size_t len)
{
    replace_report(NULL, text, len);
}

void ring_report_by(pid_t child)
{
    report_child(NULL, child);
}

static void report_shared(void *context, size_t bytes)
{
    (void) context;
    wire_own_shared(ring, bytes);
}

bool ring_is_due(void)
{
    uint64_t now = wire_now();
    return inspect_is_due() || is_due(&counters, now) || is_due(&heap, now);
}

static void rest_of_lines(struct pace *p, uint64_t now)
{
    bool is_early = p->first > 0 && now < p->first + EARLY;
    uint64_t least = is_early ? LEAST_REST_OF_LINES_EARLY : LEAST_REST_OF_LINES;
    p->last = now;
    if (p->next < now + least)
        p->next = now + least;
}

void ring_moment(enum inspect_place place)
{
    if (!own_ring())
        return;
    /* With a step count, counters are read at steps. */
    uint64_t now = wire_now();
    if (wire_believed(ring) == WIRE_NOBODY || nobody_steps(now))
        read_counters(now);
    read_heap(now);
    rest_of_lines(&counters, now);
    rest_of_lines(&heap, now);
    record_blocks();
    ring_inspect(place);
}

/* A whole count is made at once, not at a moment. */
static enum wire_wanted wanted_of_moments(void)
{
    enum wire_wanted wanted = wire_wanted(ring);
    return wanted == WIRE_CENSUS_WHOLE ? WIRE_CENSUS_NONE : wanted;
}

static struct tidemark_probe_listener listener(void)
{
    return (struct tidemark_probe_listener){.wanted = wanted_of_moments(),
                                            .acts = wire_acts(ring),
                                            .taken = report_step_of_census,
                                            .count = report_count,
                                            .report = replace_report,
                                            .shared = report_shared,
                                            .under_way = report_child};
}

/* A loop that ended at once has no sample of its last part; memory still held now is one. */
static void read_the_rest(void)
{
    struct allocator_facts facts;
    uint64_t now = wire_now();
    if (heap.first == 0 || now - heap.first > EARLY)
        return;
    tidemark_probe_read(emit, &now);
    if (allocator_read(&facts))
        emit(&now, "heap.used", "", false, false, (double) facts.in_use);
}

static void at_the_end(void)
{
    struct tidemark_probe_listener l;
    if (!own_ring())
        return;
    has_ended = true;
    read_the_rest();
    l = listener();
    inspect_last(&l);
}

/* A process we only attached to keeps nothing of the probe. */
static void hear_the_end(void)
{
    static bool is_heard;
    if (!is_heard && !directory)
        is_heard = ending_register(at_the_end);
}

void ring_inspect(enum inspect_place place)
{
    struct tidemark_probe_listener l;
    if (!own_ring())
        return;
    hear_the_end();
    l = listener();
    inspect_moment(place, &l);
}

void ring_batch(void)
{
    if (!own_ring())
        return;
    read_heap(wire_now());
    record_blocks();
    struct tidemark_probe_listener l = listener();
    if (l.wanted < WIRE_CENSUS_HOLDERS)
        inspect_take_in(&l);
    else if (inspect_is_due())
        ring_inspect(INSPECT_BATCH);
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

/*
 * A counter that is reported once: "dataset.list.Files.samples". If the name is too long, the class
 * is left out: the attribute says more.
 */
void ring_dataset(const char *type, const char *owner, const char *attribute, double bytes)
{
    char kind[WIRE_NAME_LENGTH];
    int length = snprintf(kind, sizeof(kind), "dataset.%s.%s.%s", type, owner, attribute);
    if (length >= (int) sizeof(kind))
        length = snprintf(kind, sizeof(kind), "dataset.%s..%s", type, attribute);
    if (length < (int) sizeof(kind))
        ring_counter(kind, "", false, bytes);
}

double ring_steps(void)
{
    return ring && wire_believed(ring) > WIRE_OPTIMIZER ? wire_steps(ring) : NAN;
}

/* probe/census/inspect.c: decides when to take a census, within which budget, and in which process.
 */
#include "probe/census/inspect.h"

#include "probe/base/child.h"
#include "probe/census/writer.h"
#include "probe/holders/roots.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARE_WARY 0.005 /* of the elapsed time */
#define SHARE 0.001
#define PART_OF_ITSELF 0.5 /* of these shares, if the program watches itself */
#define SHARE_PROFILE 0.02
#define FIRST_PAUSE_NS 50000000u /* pauses up to this total are paid at the larger share */
#define ALLOWANCE_NS 120000000u  /* the total allowed in any case once a leak is suspected */
#define ALLOWANCE_PROFILE_NS 400000000u
#define EARLY_NS 60000000u /* the total allowed early: the run may be short */
#define EARLY_PAUSES                                                                               \
    2u /* minimum distance of early censuses, in pauses; one pause after the first */
#define MOMENTS_LEAST 3u /* between two censuses */
#define REST_LEAST_NS 5000000u
#define REST_MOST_NS 200000000u   /* then check again whether it is affordable */
#define IN_PROCESS_OBJECTS 50000u /* with more objects, a child takes the census */
#define FIRST_OBJECTS 200000u     /* limit for the first census */
#define IN_PROCESS_NS 20000000u   /* limit on its duration */
#define EARLY_IN_PROCESS_NS 40000000u
#define AT_THE_END_NS 100000000u /* at the end no step is delayed */
#define CHILD_SECONDS 20u
#define CHILD_LAST_SECONDS 2u
#define ACT_EVERY_NS UINT64_C(5000000000)
#define ACT_FIRST_NS UINT64_C(500000000) /* by then there is something to free */
#define SEARCH_AFTER 3u                  /* censuses */
#define LAST_WAITS 100u                  /* at the end of the program */
#define LAST_WAIT_MICROSECONDS 1000u
#define OBJECTS_PER_MODULE 150u /* a guess before the first census */
#define NS_PER_OBJECT 40u
#define ALLOCATOR_NS 2000000u /* if mallinfo2() takes longer, a child calls it */

/* Shared with the child: what the child leaves for its parent besides the census, and its fork
 * time. */
struct workshop {
    _Atomic uint64_t fork_ns;  /* the pause for the fork; 0: not known yet */
    _Atomic size_t report_len; /* 0: no new report */
    char report[REPORT_BYTES];
    atomic_bool knows_heap; /* set by a child that finished */
    struct allocator_facts heap;
};

static struct {
    enum inspect_place place;
    const void *listener; /* the listener's context, as its identity */
    struct survey *survey;
    struct workshop *workshop;
    struct report_cost cost;
    uint64_t begun,
        paused;          /* thread CPU time: at the begin of the pause, and from then to the fork */
    bool watches_itself; /* the program watches itself: no hurry */
    bool is_impossible, took_long;      /* took_long: an in-process census hit its limit */
    bool has_slow_allocator;            /* a child reads it */
    unsigned moments;                   /* since the last census */
    uint64_t first_moment, last_census; /* clock time; 0: none */
    uint64_t last_pause, last_fork;     /* ns; 0: there was none */
    struct acts acts;
    uint64_t next_act;
    pid_t child;         /* 0: none */
    bool child_was_well; /* the last child finished by itself */
    bool child_counts;   /* it takes a census; false: it searches for holders */
} state;

static _Atomic uint64_t next_at; /* clock time of the next census */
static uint64_t began_at;
static double share_for_tests; /* NAN: none */

/* Guards against reentry: torch lets other threads run while we learn its layout, and our own
 * write() may count as a printed line. */
static atomic_bool is_busy;

__attribute__((constructor)) static void note_beginning(void)
{
    const char *share = getenv(INSPECT_SHARE_VARIABLE);
    share_for_tests = share ? atof(share) : NAN;
    began_at = wire_now();
}

bool inspect_is_due(void)
{
    return !atomic_load_explicit(&is_busy, memory_order_relaxed) &&
           wire_now() >= atomic_load_explicit(&next_at, memory_order_relaxed);
}

void inspect_forget(void)
{
    /* The shared memory belongs to the parent too: unmap it without writing. */
    state.survey = survey_free(state.survey);
    places_unmap_shared(state.workshop, sizeof(*state.workshop));
    memset(&state, 0, sizeof(state));
    atomic_store(&is_busy, false);
    atomic_store(&next_at, 0);
    began_at = wire_now();
}

bool inspect_watches_itself(void)
{
    return state.watches_itself;
}

void inspect_detach(void)
{
    uint64_t cpu;
    if (state.child > 0) {
        kill(state.child, SIGKILL);
        child_has_ended(state.child, true, &cpu, &state.child_was_well);
    }
    inspect_forget();
}

/* ---- the budget ---- */

static uint64_t expected_objects(void)
{
    if (state.survey && state.survey->number > 0)
        return state.survey->objects;
    py_object *modules = py.PyImport_GetModuleDict();
    ptrdiff_t count = modules ? py.PyDict_Size(modules) : 0;
    return (uint64_t) count * OBJECTS_PER_MODULE;
}

static bool is_early(uint64_t pause)
{
    return !state.watches_itself && state.cost.pause_ns + pause < EARLY_NS;
}

/* The first census is always taken at once: in a short run a child would finish too late, and delay
 * all later ones. */
static bool is_large(void)
{
    bool is_first = !state.survey || state.survey->number == 0;
    return state.took_long ||
           expected_objects() > (is_first && is_early(0) ? FIRST_OBJECTS : IN_PROCESS_OBJECTS);
}

static uint64_t fork_ns(void)
{
    const struct survey *c = state.survey;
    return c ? spare_fork_ns(c->spare, c->spare_count) : spare_fork_ns(NULL, 0);
}

/* Early on nothing is suspected yet, and the run may end before anything is. `number`: of the
 * census that the search uses. */
static bool wants_search(const struct tidemark_probe_listener *l, unsigned number)
{
    return number >= SEARCH_AFTER &&
           (l->wanted >= WIRE_CENSUS_HOLDERS || is_early(fork_ns()) || state.survey->is_of_the_end);
}

/* Only for the first fork; later ones are part of the last pause. A search that nobody asked for
 * runs if there is time, and never delays a census. */
static uint64_t expected_fork(const struct tidemark_probe_listener *l)
{
    const struct survey *c = state.survey;
    bool is_asked = l->wanted >= WIRE_CENSUS_HOLDERS && c && c->number + 1 >= SEARCH_AFTER;
    return state.last_fork || (!is_large() && !is_asked) ? 0 : fork_ns();
}

static uint64_t expected_pause(const struct tidemark_probe_listener *l)
{
    if (state.last_pause && is_large()) /* the child does everything else */
        return state.last_fork ? state.last_fork : fork_ns();
    if (state.last_pause) /* the first pause includes learning */
        return expected_fork(l) +
               (state.cost.censuses > 1 ? state.last_pause : state.last_pause / 3);
    return is_large() ? expected_fork(l) : expected_objects() * NS_PER_OBJECT;
}

/* A program that watches itself pays for the census in its training loop, so it gets a smaller
 * share. */
static double share_for(const struct tidemark_probe_listener *l)
{
    if (isfinite(share_for_tests))
        return share_for_tests;
    if (l->wanted == WIRE_CENSUS_PROFILE)
        return SHARE_PROFILE;
    bool is_wary = l->wanted == WIRE_CENSUS_HOLDERS ||
                   (!l->watches_itself && state.cost.pause_ns < FIRST_PAUSE_NS);
    double share = is_wary ? SHARE_WARY : SHARE;
    return l->watches_itself ? share * PART_OF_ITSELF : share;
}

/* When the program is half again as old as at the last census, or a quarter older if a leak is
 * suspected: few censuses in a long run, enough in a short one. */
static uint64_t early_at(uint64_t pause, enum wire_wanted wanted)
{
    uint64_t age = state.last_census - state.first_moment;
    uint64_t least = (state.cost.censuses > 1 ? EARLY_PAUSES : 1) * pause;
    age /= wanted >= WIRE_CENSUS_HOLDERS ? 4 : 2;
    return state.last_census ? state.last_census + (age > least ? age : least) : 0;
}

/* The time at which the elapsed time has paid for a pause of that length. */
static uint64_t affordable_at(uint64_t pause, const struct tidemark_probe_listener *l)
{
    uint64_t allowance = l->wanted == WIRE_CENSUS_PROFILE   ? ALLOWANCE_PROFILE_NS
                         : l->wanted == WIRE_CENSUS_HOLDERS ? ALLOWANCE_NS
                                                            : 0;
    bool is_allowed = state.cost.pause_ns + pause < allowance;
    if (is_allowed || is_early(pause))
        return early_at(pause, l->wanted);
    return began_at + (uint64_t) ((double) (state.cost.pause_ns + pause) / share_for(l));
}

/* The cost so far, including the current pause. */
static struct report_cost cost_with(uint64_t pause)
{
    struct report_cost cost = state.cost;
    cost.pause_ns += pause;
    if (pause > cost.longest_pause_ns)
        cost.longest_pause_ns = pause;
    return cost;
}

static uint64_t pause_by_now(void)
{
    return places_thread_ns() - state.begun;
}

/* ---- reporting ---- */

static void report_counts(const struct tidemark_probe_listener *l)
{
    const struct survey *c = state.survey;
    char device[TENSOR_DEVICE_NAME];
    if (!c->is_complete)
        return;
    l->count(l->context, c->time, "py.objects", "", true, false, (double) c->objects);
    for (unsigned i = 0; i < SURVEY_DEVICES; i++)
        if (c->devices[i].count > 0)
            l->count(l->context, c->time, "py.tensors",
                     tensors_device_name(c->devices[i].type, c->devices[i].index, device), true,
                     true, (double) c->devices[i].count);
    if (c->knows_heap) {
        l->count(l->context, c->time, "heap.used", "", false, false, (double) c->heap.in_use);
        if (c->asked > 0)
            l->count(l->context, c->time, "heap.asked", "", false, false, c->asked);
        l->count(l->context, c->time, "heap.free", "", false, false, (double) c->heap.free);
    }
}

/* Writes the report into the shared memory. */
static void write_report(bool holders, uint64_t pause)
{
    const struct report_cost cost = cost_with(pause);
    static struct finding findings[FINDINGS_MOST];
    size_t count = findings_make(state.survey, holders, findings, FINDINGS_MOST);
    size_t len = report_write(state.survey, findings, count, &cost, &state.acts,
                              state.workshop->report, REPORT_BYTES);
    atomic_store(&state.workshop->report_len, len);
}

/* ---- in a child ---- */

struct job {
    const struct tidemark_probe_listener *listener;
    uint64_t now;
    bool counts;
};

static void ask_arenas(void *context)
{
    struct survey *c = context;
    c->knows_arenas = arenas_read(&c->arenas);
}

/* Another thread may have held malloc's lock at the fork, and then this never returns. So it is the
 * last thing to do, with a short time limit. */
static void ask_allocator_last(void)
{
    struct workshop *w = state.workshop;
    child_end_within(CHILD_LAST_SECONDS);
    atomic_store(&w->knows_heap, false);
    if (allocator_read(&w->heap))
        atomic_store(&w->knows_heap, true);
}

static void work_in_child(void *context)
{
    const struct job *j = context;
    if (j->counts)
        survey_take(state.survey, j->now, UINT64_MAX, GRADIENTS_OF_SNAPSHOT);
    survey_walk_graphs(state.survey);
    child_ask_allocator(ask_arenas, state.survey);
    write_report(wants_search(j->listener, state.survey->number),
                 state.paused + atomic_load(&state.workshop->fork_ns));
    if (!j->listener->watches_itself) {
        j->listener->report(j->listener->context, state.workshop->report,
                            atomic_load(&state.workshop->report_len));
        j->listener->under_way(j->listener->context, 0);
    }
    if (state.has_slow_allocator)
        ask_allocator_last();
}

/* False: too many processes, or too little memory for another one. */
static bool start_child(const struct tidemark_probe_listener *l, const struct survey *c,
                        uint64_t now, bool counts)
{
    struct job j = {.listener = l, .now = now, .counts = counts};
    arenas_prepare();
    struct spare spare[SURVEY_SPARE]; /* a copy, because the child overwrites the census's list */
    memcpy(spare, c->spare, sizeof(spare));
    /* The ranges noted by the last census are still valid if that census is of this moment, or if
     * its child finished. Otherwise they are not used; the next census notes them again. */
    bool is_sure = c->time == now || state.child_was_well;
    atomic_store(&state.workshop->report_len, 0);
    atomic_store(&state.workshop->fork_ns, 0);
    state.paused = pause_by_now();
    uint64_t begin = places_thread_ns();
    size_t spares = is_sure ? spare_leave_out(spare, c->spare_count) : 0;
    pid_t pid = child_start(work_in_child, &j, CHILD_SECONDS);
    spare_put_back(spare, spares);
    state.last_fork = places_thread_ns() - begin;
    atomic_store(&state.workshop->fork_ns, state.last_fork);
    if (pid <= 0)
        return false;
    state.cost.searches += wants_search(l, c->number + counts);
    state.child = pid;
    state.child_counts = counts;
    l->under_way(l->context, pid);
    return true;
}

/* Takes the report that a child has left in the shared memory. */
static void take_report(const struct tidemark_probe_listener *l)
{
    size_t len = atomic_exchange(&state.workshop->report_len, 0);
    if (l->watches_itself && len > 0)
        l->report(l->context, state.workshop->report, len);
}

/* True: no child is at work. */
static bool child_is_done(const struct tidemark_probe_listener *l)
{
    uint64_t cpu = 0;
    if (!state.child)
        return true;
    if (!child_has_ended(state.child, false, &cpu, &state.child_was_well))
        return false;
    state.cost.child_ns += cpu;
    state.child = 0;
    l->under_way(l->context, 0);
    if (state.child_counts && state.survey)
        report_counts(l);
    take_report(l);
    return true;
}

/* ---- in the process itself ---- */

/* False: it hit its time limit. */
static bool take_here(const struct tidemark_probe_listener *l, uint64_t now)
{
    struct survey *c = state.survey;
    uint64_t most = c->is_of_the_end ? AT_THE_END_NS
                    : is_early(0)    ? EARLY_IN_PROCESS_NS
                                     : IN_PROCESS_NS;
    survey_take(c, now, places_thread_ns() + most,
                state.place > INSPECT_LINE ? GRADIENTS_IN_PROCESS : GRADIENTS_NONE);
    state.took_long = state.took_long || !c->is_complete;
    if (c->is_complete)
        report_counts(l);
    return c->is_complete;
}

/* Reads malloc's statistics. With many free chunks mallinfo2() is slow; then the last child's
 * reading is used. */
static void ask_allocator(struct survey *c)
{
    struct workshop *w = state.workshop;
    c->asked = wire_own_memory().asked;
    if (state.has_slow_allocator) {
        c->knows_heap = atomic_load(&w->knows_heap);
        c->heap = w->heap;
        return;
    }
    uint64_t begin = places_thread_ns();
    c->knows_heap = allocator_read(&c->heap);
    state.has_slow_allocator = places_thread_ns() - begin > ALLOCATOR_NS;
}

/* A census that hit its time limit is lost, and the next may be far away. So a child repeats it at
 * once, if the fork is cheaper than the time already spent. At the end no census follows that could
 * use it. */
static bool is_worth_a_fork(void)
{
    const struct survey *c = state.survey;
    return !c->is_of_the_end && spare_fork_ns(c->spare, c->spare_count) < EARLY_IN_PROCESS_NS;
}

/* Calls a C function of torch. */
static bool is_profiled(void)
{
    py_object *module = python_module("torch.autograd");
    py_object *dict = module ? py.PyModule_GetDict(module) : NULL;
    py_object *ask = dict ? py.PyDict_GetItemString(dict, "_profiler_enabled") : NULL;
    py_object *answer = ask ? py.PyObject_CallObject(ask, NULL) : NULL;
    bool is_on = answer && py.PyObject_IsTrue(answer) == 1;
    python_drop(answer);
    py.PyErr_Clear();
    return is_on;
}

static void inspect(const struct tidemark_probe_listener *l, uint64_t now)
{
    struct survey *c = state.survey;
    if (!survey_prepare(c))
        return;
    state.cost.censuses++;
    c->moments += state.moments;
    roots_remember_main();
    l->taken(l->context, now);
    c->knows_heap = c->knows_arenas = false;
    if (!c->is_of_the_end)
        ask_allocator(c);
    c->has_profiler = is_profiled();
    tensors_learn();
    bool was_large = is_large();
    if (was_large || !take_here(l, now)) {
        if (was_large || is_worth_a_fork())
            start_child(l, c, now, true);
        return;
    }
    if (wants_search(l, c->number) && start_child(l, c, now, false))
        return;
    write_report(false, pause_by_now());
    l->report(l->context, state.workshop->report, atomic_load(&state.workshop->report_len));
}

/* After a census, so that a child still sees the heap as it was. */
static void try_out(const struct tidemark_probe_listener *l)
{
    uint64_t now = wire_now();
    if (!l->acts || l->wanted < WIRE_CENSUS_HOLDERS)
        return;
    if (state.next_act == 0)
        state.next_act = now + ACT_FIRST_NS;
    if (now < state.next_act)
        return;
    act(l->acts, &state.acts);
    state.next_act = now + ACT_EVERY_NS;
}

/* ---- moments ---- */

static bool make_workshop(void)
{
    if (state.survey && state.workshop)
        return true;
    if (!state.survey)
        state.survey = survey_new(expected_objects());
    if (!state.workshop)
        state.workshop = places_map_shared(sizeof(*state.workshop));
    state.is_impossible = !state.survey || !state.workshop;
    return !state.is_impossible;
}

static void begin_anew(enum inspect_place place, const struct tidemark_probe_listener *l)
{
    state.survey = survey_free(state.survey);
    state.place = place;
    state.listener = l->context;
    if (l->watches_itself) { /* count the time of this training, not of what came before */
        began_at = wire_now();
        memset(&state.cost, 0, sizeof(state.cost));
    }
}

/* Moments at another place, or of another training, do not compare with earlier ones. */
static bool is_believed(enum inspect_place place, const struct tidemark_probe_listener *l)
{
    if (place < state.place)
        return false;
    if (place > state.place || l->context != state.listener) {
        if (!child_is_done(l)) /* the child still works for the earlier ones */
            return false;
        begin_anew(place, l);
    }
    return true;
}

/* True: take a census now. False: a time is set to ask again, or the next moment asks. */
static bool is_time(const struct tidemark_probe_listener *l, uint64_t now)
{
    /* Also reap a child if nothing is wanted any more. */
    bool is_free = child_is_done(l);
    if (state.moments < MOMENTS_LEAST)
        return false;
    uint64_t next = affordable_at(expected_pause(l), l);
    if (l->wanted == WIRE_CENSUS_NONE || !is_free)
        next = now + REST_LEAST_NS;
    if (next <= now)
        return true;
    atomic_store(&next_at, next < now + REST_MOST_NS ? next : now + REST_MOST_NS);
    return false;
}

static void take_time(const struct tidemark_probe_listener *l, uint64_t now)
{
    state.begun = places_thread_ns();
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    if (make_workshop())
        inspect(l, now);
    state.last_pause = places_thread_ns() - state.begun;
    state.cost = cost_with(state.last_pause);
    try_out(l);
    py.PyErr_Restore(type, value, traceback);
    l->shared(l->context, places_shared_bytes());
    state.moments = 0;
    state.last_census = wire_now();
    atomic_store(&next_at, is_early(0) ? 0 : state.last_census + REST_LEAST_NS);
}

static void take(const struct tidemark_probe_listener *l, uint64_t now)
{
    atomic_store(&is_busy, true);
    take_time(l, now);
    atomic_store(&is_busy, false);
}

void inspect_moment(enum inspect_place place, const struct tidemark_probe_listener *l)
{
    uint64_t now = wire_now();
    if (state.is_impossible || atomic_load(&is_busy) || !is_believed(place, l))
        return;
    state.watches_itself = l->watches_itself;
    state.moments++;
    if (!state.first_moment)
        state.first_moment = now;
    if (now >= atomic_load(&next_at) && is_time(l, now))
        take(l, now);
}

/* Waits at most LAST_WAITS times for a child that still counts. */
static bool await_child(const struct tidemark_probe_listener *l)
{
    for (unsigned i = 0; i < LAST_WAITS && !child_is_done(l); i++)
        usleep(LAST_WAIT_MICROSECONDS);
    return state.child == 0;
}

void inspect_last(const struct tidemark_probe_listener *l)
{
    if (state.is_impossible || state.watches_itself || atomic_load(&is_busy) || !state.survey ||
        l->wanted == WIRE_CENSUS_NONE || !await_child(l) ||
        state.survey->in_a_row + 1 != SEARCH_AFTER)
        return;
    state.survey->is_of_the_end = true; /* the program may have freed much */
    take(l, wire_now());
}

void inspect_take_in(const struct tidemark_probe_listener *l)
{
    if (!atomic_load(&is_busy))
        child_is_done(l);
}

bool inspect_search(const struct tidemark_probe_listener *l, bool begin)
{
    if (state.is_impossible || atomic_load(&is_busy) || !state.survey || !child_is_done(l))
        return state.child > 0;
    if (begin)
        take(l, wire_now());
    return state.child > 0;
}

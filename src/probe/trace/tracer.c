/* probe/trace/tracer.c: what the tracer of this process is at: its orders and its file. */
#include "probe/trace/tracer.h"

#include "probe/base/libc.h"
#include "probe/base/pages.h"
#include "probe/trace/frame_words.h"
#include "probe/trace/mappings.h"
#include "probe/trace/own_pages.h"
#include "probe/trace/python_stack.h"
#include "probe/trace/range.h"
#include "probe/trace/room.h"
#include "probe/trace/rules.h"
#include "probe/trace/sampling.h"
#include "probe/trace/table.h"
#include "probe/trace/unwind.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY 1024u
#define RETRY UINT64_C(100000000)       /* ns between two attempts to open the orders */
#define FILE_RETRY UINT64_C(1000000000) /* ... and to make the file */
#define WATCH UINT64_C(1000000000)      /* ns between two checks that somebody gives orders */
#define LONGEST 0x1p40                  /* bytes */
#define SHORTEN_WAIT                                                                               \
    UINT64_C(250000000)     /* ns from a longer interval to the next shorter one; ... */
#define SHORTEN_DOUBLED 10u /* ... doubled with each, at most so often */
#define PATIENCE 1000       /* times PAUSE: how long the end waits for other threads */
#define PAUSE 100000        /* ns */

atomic_bool sampling_heap_is_libcs;

static struct {
    char directory[DIRECTORY]; /* "": not begun */
    enum wire_trace_coverage coverage;
    bool is_python;
    bool hears_forks;
    pid_t pid;
    uint64_t start; /* of the process, in ticks; 0: not read yet */

    _Atomic(const struct wire_trace_orders *) orders;
    const struct wire_trace_orders *former; /* of the last sampling_end() */
    _Atomic uint64_t next_try, next_watch;
    atomic_bool is_abandoned;     /* its watcher has ended */
    _Atomic uint32_t generation;  /* of the orders that are followed; 0: none yet */
    _Atomic uint32_t is_looking;  /* one thread at a time looks, ... */
    _Atomic uint32_t is_thinning; /* ... and one thins */

    _Atomic uint64_t ordered;         /* bytes; 0: not armed */
    _Atomic uint64_t interval;        /* in force: the same, or longer */
    _Atomic uint64_t next_shortening; /* not before */
    _Atomic bool wants_blocks;        /* of torch */

    _Atomic(struct wire_trace_layout *) file;
    atomic_bool is_frozen;
    _Atomic uint32_t users; /* threads that may be using it */
    _Atomic uint64_t next_file_try;
    bool shares_tables;
} tracer;

/* ---- is this the process that began? ---- */

/* A page that is zero in a copy of the process, however it was copied, but for one that shares all
 * memory with it (vfork()). NULL: the kernel has none. */
static const _Atomic uint32_t *own_page;

static void mark_own(void)
{
    void *page = pages_map(NULL, 4096, MAP_PRIVATE);
    if (!page)
        return;
    if (madvise(page, 4096, MADV_WIPEONFORK) < 0) {
        pages_unmap(page, 4096);
        return;
    }
    atomic_store((_Atomic uint32_t *) page, 1);
    own_page = page;
}

static bool is_own(void)
{
    return own_page ? atomic_load_explicit(own_page, memory_order_relaxed) != 0
                    : getpid() == tracer.pid;
}

/* ---- the tables ---- */

/* The filter comes first. */
#define TABLES 5

static void find_tables(struct range ret[TABLES])
{
    ret[0] = table_filter_pages();
    ret[1] = rules_pages();
    ret[2] = mappings_pages();
    ret[3] = frame_words_pages();
    ret[4] = python_stack_pages();
}

/* Before the file is there: once the watcher sees that, it subtracts both. */
static void share_tables(void)
{
    struct range tables[TABLES];
    find_tables(tables);
    for (int i = 0; i < TABLES && !tracer.shares_tables; i++)
        (void) own_pages_share(tables[i]);
    tracer.shares_tables = true;
}

/* A child that cannot have tables of its own would change those of its parent: it never samples. */
static void unshare_tables(void)
{
    struct range tables[TABLES];
    bool is_done = true;
    if (!tracer.shares_tables)
        return;
    find_tables(tables);
    for (int i = 1; i < TABLES; i++)
        is_done = own_pages_clear(tables[i]) && is_done;
    is_done = table_unshare_filter() && is_done;
    tracer.shares_tables = false;
    if (!is_done)
        tracer.directory[0] = '\0';
}

/* ---- the file ---- */

static void note_state(struct wire_trace_layout *f)
{
    uint64_t interval = atomic_load(&tracer.interval);
    uint64_t never = 0;
    atomic_store(&f->coverage, tracer.coverage);
    atomic_store(&f->is_native, unwind_is_possible());
    atomic_store(&f->is_python, tracer.is_python);
    atomic_store(&f->is_glibc_heap, atomic_load(&sampling_heap_is_libcs));
    atomic_store(&f->generation, atomic_load(&tracer.generation));
    atomic_store(&f->interval, interval);
    atomic_store(&f->armed, interval != 0);
    if (interval)
        atomic_compare_exchange_strong(&f->armed_at, &never, wire_now());
}

static void open_file(void)
{
    struct wire_trace_layout *f;
    uint64_t now = wire_now();
    if (now < atomic_load(&tracer.next_file_try))
        return;
    atomic_store(&tracer.next_file_try, now + FILE_RETRY);
    if (!tracer.start)
        tracer.start = wire_own_start();
    share_tables();
    if (wire_trace_create(tracer.directory, tracer.start, &f) < 0)
        return;
    if (!own_page || !is_own())
        mark_own();
    table_clear_filter();
    mappings_clear();
    note_state(f);
    atomic_store(&tracer.file, f);
}

struct wire_trace_layout *tracer_enter(void)
{
    atomic_fetch_add(&tracer.users, 1);
    struct wire_trace_layout *f = atomic_load(&tracer.file);
    if (f && !atomic_load_explicit(&tracer.is_frozen, memory_order_relaxed) && is_own())
        return f;
    atomic_fetch_sub(&tracer.users, 1);
    return NULL;
}

void tracer_leave(void)
{
    atomic_fetch_sub(&tracer.users, 1);
}

static void note_state_now(void)
{
    struct wire_trace_layout *f = tracer_enter();
    if (!f)
        return;
    note_state(f);
    tracer_leave();
}

static bool begin_work(_Atomic uint32_t *flag)
{
    return atomic_exchange(flag, 1) == 0;
}

/* A signal handler that does not return, but jumps, would leave the work undone for ever. */
static bool begin_look(uint64_t *ret_signals)
{
    *ret_signals = libc_block_signals();
    if (begin_work(&tracer.is_looking))
        return true;
    libc_restore_signals(*ret_signals);
    return false;
}

static void end_look(uint64_t signals)
{
    atomic_store(&tracer.is_looking, 0);
    libc_restore_signals(signals);
}

struct wire_trace_layout *tracer_enter_or_open(void)
{
    uint64_t signals;
    if (!atomic_load(&tracer.file) && begin_look(&signals)) {
        if (!atomic_load(&tracer.file) && atomic_load(&tracer.interval) && getpid() == tracer.pid)
            open_file();
        end_look(signals);
    }
    return tracer_enter();
}

/* ---- orders ---- */

double tracer_interval(void)
{
    return (double) atomic_load_explicit(&tracer.interval, memory_order_relaxed);
}

static void arm(uint64_t interval)
{
    if (interval == atomic_load(&tracer.ordered))
        return;
    atomic_store(&tracer.ordered, interval);
    atomic_store(&tracer.interval, interval);
}

static bool is_ours(const struct wire_trace_order *o)
{
    if (atomic_load(&o->pid) != tracer.pid)
        return false;
    uint64_t start = atomic_load(&o->start);
    if (start && !tracer.start)
        tracer.start = wire_own_start();
    return start == 0 || start == tracer.start;
}

/* Our own order, or that for all; NULL: none. */
static const struct wire_trace_order *find(const struct wire_trace_orders *o)
{
    const struct wire_trace_order *of_all = NULL;
    uint32_t count = atomic_load(&o->count);
    for (uint32_t i = 0; i < count && i < WIRE_TRACE_ORDERS; i++) {
        if (is_ours(&o->list[i]))
            return &o->list[i];
        if (atomic_load(&o->list[i].pid) == 0)
            of_all = &o->list[i];
    }
    return of_all;
}

/*
 * A process that is meant itself makes its file at once, so that the watcher sees it armed. Where
 * all are meant, the first sample does: most helpers of a job end before it.
 */
static void follow(const struct wire_trace_orders *o)
{
    const struct wire_trace_order *order = find(o);
    uint64_t interval = order ? atomic_load(&order->interval) : 0;
    bool is_meant = order && atomic_load(&order->pid) != 0;
    bool wants_blocks = order && atomic_load(&order->blocks) != 0;
    atomic_store(&tracer.wants_blocks, wants_blocks);
    if (tracer.coverage != WIRE_TRACE_STAYS_OUT)
        arm(interval < (uint64_t) LONGEST ? interval : (uint64_t) LONGEST);
    if ((interval || wants_blocks) && is_meant && !atomic_load(&tracer.file))
        open_file();
    note_state_now();
}

static const struct wire_trace_orders *open_orders(void)
{
    const struct wire_trace_orders *o = NULL;
    atomic_store(&tracer.next_try, wire_now() + RETRY);
    if (wire_trace_orders_open(tracer.directory, &o) == 0)
        atomic_store(&tracer.orders, o);
    return o;
}

static void disarm(void)
{
    atomic_store(&tracer.generation, 0);
    atomic_store(&tracer.wants_blocks, false);
    atomic_store(&tracer.ordered, 0);
    atomic_store(&tracer.interval, 0);
}

/* Its watcher may have been killed; or has detached, of which no fork of the process hears. */
static bool is_watch_due(void)
{
    return atomic_load_explicit(&tracer.interval, memory_order_relaxed) != 0 &&
           wire_now() >= atomic_load_explicit(&tracer.next_watch, memory_order_relaxed);
}

static void watch(void)
{
    atomic_store(&tracer.next_watch, wire_now() + WATCH);
    if (!wire_trace_is_abandoned(tracer.directory))
        return;
    atomic_store(&tracer.is_abandoned, true);
    disarm();
    note_state_now();
}

static bool is_look_due(const struct wire_trace_orders *o)
{
    if (atomic_load_explicit(&tracer.is_abandoned, memory_order_relaxed))
        return false;
    if (is_watch_due())
        return true;
    if (o)
        return atomic_load(&o->generation) != atomic_load(&tracer.generation);
    return tracer.directory[0] && wire_now() >= atomic_load(&tracer.next_try);
}

/*
 * True: nothing in the orders is for this process, and nothing has to end. No system call: the
 * program may have given up most of them, and the kernel would end it.
 */
static bool pass_over(const struct wire_trace_orders *o)
{
    uint32_t generation = atomic_load(&o->generation);
    const struct wire_trace_order *order = find(o);
    if (tracer_interval() > 0 || tracer_wants_blocks() ||
        (order && (atomic_load(&order->interval) || atomic_load(&order->blocks))))
        return false;
    atomic_store(&tracer.generation, generation);
    return true;
}

void tracer_look(void)
{
    const struct wire_trace_orders *o = atomic_load_explicit(&tracer.orders, memory_order_acquire);
    uint64_t signals;
    if (!is_look_due(o) || (o && pass_over(o)) || !room_is_enough() || !begin_look(&signals))
        return;
    o = atomic_load(&tracer.orders);
    if (!o)
        o = open_orders();
    if (is_watch_due())
        watch();
    if (o && getpid() == tracer.pid && !atomic_load(&tracer.is_abandoned)) {
        uint32_t generation = atomic_load(&o->generation);
        atomic_store(&tracer.generation, generation);
        follow(o);
    }
    end_look(signals);
}

/* ---- samples that cost too much ---- */

/* Until the table is of the interval in force, should that have grown meanwhile. */
static void thin(struct wire_trace_layout *f, uint64_t *random)
{
    uint64_t interval = 0;
    while (interval != atomic_load(&tracer.interval)) {
        interval = atomic_load(&tracer.interval);
        atomic_store(&f->interval, interval);
        table_thin(f, (double) interval, random);
    }
}

void tracer_lengthen(struct wire_trace_layout *f, double interval, uint64_t *random)
{
    uint64_t shorter = (uint64_t) interval;
    if (interval >= LONGEST || shorter == 0 ||
        !atomic_compare_exchange_strong(&tracer.interval, &shorter, shorter * 2))
        return;
    uint64_t times = atomic_fetch_add(&f->thinned, 1);
    uint64_t wait = SHORTEN_WAIT << (times < SHORTEN_DOUBLED ? times : SHORTEN_DOUBLED);
    atomic_store(&tracer.next_shortening, wire_now() + wait);
    if (begin_work(&tracer.is_thinning)) {
        thin(f, random);
        atomic_store(&tracer.is_thinning, 0);
    }
}

void tracer_shorten(struct wire_trace_layout *f, double interval)
{
    uint64_t longer = (uint64_t) interval, ordered = atomic_load(&tracer.ordered), now = wire_now();
    uint64_t shorter = longer / 2 > ordered ? longer / 2 : ordered;
    if (ordered == 0 || longer <= ordered || now < atomic_load(&tracer.next_shortening) ||
        !atomic_compare_exchange_strong(&tracer.interval, &longer, shorter))
        return;
    atomic_store(&tracer.next_shortening, now + SHORTEN_WAIT);
    atomic_store(&f->interval, shorter);
}

/* ---- begin, fork, end ---- */

static void after_fork(void)
{
    unwind_after_fork(false);
}

void sampling_begin(const char *directory, enum wire_trace_coverage coverage)
{
    size_t length = strlen(directory);
    if (length >= DIRECTORY)
        return;
    memcpy(tracer.directory, directory, length + 1);
    tracer.coverage = coverage;
    tracer.pid = getpid();
    atomic_store(&tracer.is_abandoned, false);
    atomic_store(&tracer.is_frozen, false);
    if (tracer.former)
        munmap((void *) tracer.former, sizeof(*tracer.former)); /* NOLINT: not writable */
    tracer.former = NULL;
    range_find_own();
    if (!tracer.hears_forks)
        tracer.hears_forks = libc_around_fork(unwind_before_fork, after_fork, sampling_forked) == 0;
    unwind_review();
    (void) open_orders();
    tracer_begin_thread();
}

void sampling_set_coverage(enum wire_trace_coverage coverage)
{
    tracer.coverage = coverage;
    note_state_now();
}

void sampling_set_python(bool is_traced)
{
    tracer.is_python = is_traced;
    sampling_set_coverage(tracer.coverage);
}

bool sampling_is_armed(void)
{
    return tracer_interval() > 0;
}

bool tracer_wants_blocks(void)
{
    return atomic_load_explicit(&tracer.wants_blocks, memory_order_relaxed);
}

void sampling_freeze(void)
{
    struct wire_trace_layout *f = tracer_enter();
    atomic_store(&tracer.is_frozen, true);
    if (!f)
        return;
    atomic_store(&f->moment, wire_now());
    atomic_store(&f->is_frozen, 1);
    tracer_leave();
}

/* A child makes its file when it has lived for a while: many only call a function, or exec().
 *
 * The forking thread may be in the middle of a sample: its signal handler forked. Then the mapping
 * stays. */
void sampling_forked(void)
{
    struct wire_trace_layout *f = atomic_exchange(&tracer.file, NULL);
    int kept = errno;
    unwind_after_fork(true);
    disarm();
    atomic_store(&tracer.is_frozen, false);
    tracer.pid = getpid();
    tracer.start = 0;
    atomic_store(&tracer.users, 0);
    atomic_store(&tracer.is_looking, 0);
    atomic_store(&tracer.is_thinning, 0);
    atomic_store(&tracer.next_file_try, wire_now() + FILE_RETRY);
    if (f && !sampling_here.is_busy)
        munmap(f, sizeof(*f));
    unshare_tables();
    tracer_begin_thread();
    errno = kept;
}

/* A thread may have ended in the middle of a sample: then the mapping stays. */
static void unmap(struct wire_trace_layout *f)
{
    for (int i = 0; i < PATIENCE && atomic_load(&tracer.users) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    if (atomic_load(&tracer.users) != 0)
        return;
    munmap(f, sizeof(*f));
    unshare_tables();
}

/* Another thread may be reading them: zeros stand there until the next begin, and the file goes. */
static void withdraw(const struct wire_trace_orders *o)
{
    (void) mmap((void *) o, sizeof(*o), PROT_READ, /* NOLINT: not writable */
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void sampling_end(void)
{
    int kept = errno;
    tracer.directory[0] = '\0';
    tracer.former = atomic_exchange(&tracer.orders, NULL);
    disarm();
    if (tracer.former)
        withdraw(tracer.former);
    struct wire_trace_layout *f = atomic_exchange(&tracer.file, NULL);
    if (f) {
        atomic_store(&f->armed, 0);
        unmap(f);
    }
    errno = kept;
}

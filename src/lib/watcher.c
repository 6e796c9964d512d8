/* lib/watcher.c: a watcher from open to close: steps, counters, activities; threads and forks. */
#include "lib/watcher.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A look reads the ring and judges. It takes at most LOOK_SHARE of the training thread's time.
 * Steps put their samples into the ring, so a look can wait until enough time has passed to pay for
 * it, and many samples at once are cheaper. The cost of the first look is not known: it comes after
 * FIRST_REST. A slow look (another process had the processor or the disk) delays the next one by
 * MOST_REST at most: expensive readings have budgets of their own in the watch.
 */
#define LOOK_SHARE 0.0004
#define LEAST_REST 2.5e8
#define FIRST_REST 1e9
#define MOST_REST 5e9

/* With so many unread records a look comes at once, so that the ring loses none. */
#define MOST_UNREAD (WIRE_SLOTS / 4 * 3)

/* Nanoseconds between two samples of a counter that no step separates. */
#define COUNT_SPACING UINT64_C(10000000)

const char *tidemark_version(void)
{
    return TIDEMARK_VERSION;
}

/* ---- all watchers of this process ---- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static tidemark_watcher *all;
static tidemark_watcher *reporter; /* whose steps the watcher outside gets, until it is finished */

/* fork() waits until no call is under way, so that the child can free its copies. */
static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (tidemark_watcher *w = all; w; w = w->next)
        pthread_mutex_lock(&w->lock);
}

static void after_fork(void)
{
    for (tidemark_watcher *w = all; w; w = w->next)
        pthread_mutex_unlock(&w->lock);
    pthread_mutex_unlock(&all_lock);
}

static void in_child(void)
{
    for (tidemark_watcher *w = all; w; w = w->next)
        atomic_store(&w->forked, true);
    after_fork();
    all = reporter = NULL;
}

static void heed_forks(void)
{
    (void) pthread_atfork(before_fork, after_fork, in_child);
}

static void join(tidemark_watcher *w)
{
    pthread_mutex_lock(&all_lock);
    w->next = all;
    all = w;
    pthread_mutex_unlock(&all_lock);
}

static void leave(tidemark_watcher *w)
{
    pthread_mutex_lock(&all_lock);
    tidemark_watcher **link = &all;
    while (*link && *link != w)
        link = &(*link)->next;
    if (*link)
        *link = w->next;
    pthread_mutex_unlock(&all_lock);
}

/* From now on another watcher may report its steps. */
static void stop_reporting(const tidemark_watcher *w)
{
    pthread_mutex_lock(&all_lock);
    if (reporter == w)
        reporter = NULL;
    pthread_mutex_unlock(&all_lock);
}

/*
 * A step is reported once: the first watcher has the ring that is read from outside, the others
 * have rings of their own. A directory that no longer works means that nobody watches from outside.
 */
static int open_ring(tidemark_watcher *w)
{
    const char *directory = secure_getenv(WIRE_DIRECTORY_VARIABLE);
    pthread_mutex_lock(&all_lock);
    w->watched_outside = reporter || (directory && wire_open(directory, &w->ring) == 0);
    if (w->ring)
        reporter = w;
    pthread_mutex_unlock(&all_lock);
    return w->ring ? 0 : wire_open(NULL, &w->ring);
}

/* ---- calls ---- */

struct call {
    tidemark_watcher *watcher;
    visit_work *work;
    void *context;
    struct visit visit;
    int result;
};

static int do_work(void *context)
{
    struct call *c = context;
    c->result = c->work(c->watcher, &c->visit, c->context);
    return 0;
}

/* The leak that was being described when memory ran out is not complete. */
static void lose(struct call *c)
{
    c->watcher->lost = true;
    c->visit.leak_count = 0;
    c->result = -ENOMEM;
}

/* The lock is held, and is free afterwards. */
static int visit_locked(tidemark_watcher *w, visit_work *work, void *context)
{
    struct call c = {.watcher = w, .work = work, .context = context};
    int error = errno;
    locale_t language = uselocale(w->plain);
    if (w->lost || base_guard(do_work, &c) < 0)
        lose(&c);
    tidemark_leak_callback *on_leak = w->on_leak;
    void *on_leak_context = w->on_leak_context;
    uselocale(language);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < c.visit.leak_count; i++)
        on_leak(on_leak_context, &c.visit.leaks[i]);
    free(c.visit.leaks);
    errno = error;
    return c.result;
}

int watcher_visit(tidemark_watcher *w, visit_work *work, void *context)
{
    if (!w)
        return -EINVAL;
    if (atomic_load_explicit(&w->forked, memory_order_relaxed))
        return -ECHILD;
    pthread_mutex_lock(&w->lock);
    return visit_locked(w, work, context);
}

double watcher_seconds(const tidemark_watcher *w)
{
    return w->finished ? w->seconds_finished : 1e-9 * (double) (wire_now() - w->began);
}

/* Samples and judges what is due, and sets when the next look may come. */
static void look(tidemark_watcher *w, struct visit *v)
{
    bool is_first = w->next_look == 0;
    uint64_t before = wire_now();
    double seconds = watcher_seconds(w), next = watch_tick(w->watch, seconds);
    answer_take_news(w, v, seconds);
    uint64_t after = wire_now();
    uint64_t wanted = w->began + (uint64_t) (1e9 * next);
    double paid_after = (double) (after - before) / LOOK_SHARE;
    double rest = is_first ? FIRST_REST : fmin(fmax(paid_after, LEAST_REST), MOST_REST);
    uint64_t allowed = after + (uint64_t) rest;
    w->next_look = wanted > allowed ? wanted : allowed;
    w->records_read = wire_records(w->ring);
}

void watcher_report_step(tidemark_watcher *w, uint64_t time)
{
    if (wire_believed(w->ring) == WIRE_WATCHER)
        wire_put(w->ring, WIRE_STEP, WIRE_WATCHER, 0, time, w->step);
}

void watcher_look_now(tidemark_watcher *w, struct visit *v)
{
    if (w->finished)
        return;
    watcher_report_step(w, wire_now());
    look(w, v);
}

static void look_if_due(tidemark_watcher *w, struct visit *v, uint64_t now)
{
    if (now >= w->next_look || wire_records(w->ring) - w->records_read > MOST_UNREAD)
        look(w, v);
}

/* ---- opening ---- */

static bool is_amount(double value)
{
    return value >= 0 && isfinite(value);
}

/* A newer program may set an option that this library does not know: that is an error. */
static int read_options(const struct tidemark_options *from, struct tidemark_options *ret)
{
    *ret = (struct tidemark_options){.size = sizeof(*ret)};
    if (!from)
        return 0;
    if (from->size < sizeof(*ret))
        return -EINVAL;
    const char *bytes = (const char *) from;
    for (size_t i = sizeof(*ret); i < from->size; i++)
        if (bytes[i] != 0)
            return -E2BIG;
    *ret = *from;
    bool sane = is_amount(ret->start_step) && is_amount(ret->plan_steps) &&
                is_amount(ret->horizon) && is_amount(ret->epoch) && is_amount(ret->limit_bytes);
    return sane ? 0 : -EINVAL;
}

/* The program's own command line, for reports and the run file. */
static void read_command(tidemark_watcher *w)
{
    struct buf text = BUF_INIT;
    if (w->self && proc_read_arguments(w->self, &text) == 0 && text.len > 0) {
        const char *argv[256];
        size_t argc = 0;
        const char *s = buf_text(&text), *end = s + text.len;
        for (; s < end && argc < sizeof(argv) / sizeof(argv[0]); s += strlen(s) + 1)
            argv[argc++] = s;
        run_add_command(&w->command, argv, argc);
        run_add_arguments(&w->arguments, argv, argc);
    }
    buf_release(&text);
}

static void open_self(tidemark_watcher *w)
{
    struct proc_stat stat;
    if (proc_stat_read("/proc", getpid(), &stat) < 0 || proc_open("/proc", stat.id, &w->self) < 0)
        w->self = NULL;
    if (proc_cpu_read("/proc", &w->cpu) < 0)
        w->cpu = (struct proc_cpu){NAN, NAN};
    read_command(w);
}

static int start_watch(tidemark_watcher *w, const struct tidemark_options *o)
{
    struct watch_options options = {
        .proc_root = "/proc",
        .horizon = o->horizon,
        .epoch = o->epoch,
        .plan_steps = o->plan_steps,
        .limit_bytes = o->limit_bytes,
        .command = buf_text(&w->command),
        .arguments = buf_text(&w->arguments),
        .began = w->began,
        .no_gpu = o->no_gpu,
    };
    int r = 0;
    if (o->run_file && !w->watched_outside)
        r = run_file_create(o->run_file, &options, &w->store);
    if (w->store)
        buf_adds(&w->run_file, o->run_file);
    options.store = w->store;
    if (r == 0)
        r = watch_new(&options, &w->watch);
    if (r == 0)
        r = watch_add_root(w->watch, getpid(), false);
    if (r == 0)
        r = watch_add_ring(w->watch, w->ring);
    return r;
}

/* A watcher outside cannot know these options. */
static void report_terms(tidemark_watcher *w, const struct tidemark_options *o)
{
    uint64_t now = wire_now();
    if (o->epoch > 0)
        wire_put(w->ring, WIRE_EPOCH_LENGTH, WIRE_WATCHER, 0, now, o->epoch);
    if (o->plan_steps > 0)
        wire_put(w->ring, WIRE_PLAN, WIRE_WATCHER, 0, now, o->plan_steps);
}

/* No other thread knows the watcher yet: no lock is needed. */
static int begin(tidemark_watcher *w, const struct tidemark_options *o)
{
    struct visit v = {0};
    w->step = o->start_step;
    w->loss = -1;
    w->surroundings = (struct surroundings){NAN, NAN, NAN, NAN};
    w->began = wire_now();
    int r = -pthread_mutex_init(&w->lock, NULL);
    if (r == 0)
        r = open_ring(w);
    if (r < 0)
        return r;
    open_self(w);
    r = start_watch(w, o);
    if (r < 0)
        return r;
    report_terms(w, o);
    look(w, &v);
    join(w);
    return 0;
}

/* In the child of a fork the watch, the store and the driver leave alone what is the parent's. Of a
 * watcher that is lost they may be half changed, and stay where they are. */
static void release(tidemark_watcher *w)
{
    if (!w->lost) {
        watch_free(w->watch);
        store_free(w->store);
    }
    wire_close(w->ring);
    proc_free(w->self);
    buf_release(&w->run_file);
    buf_release(&w->command);
    buf_release(&w->arguments);
    freelocale(w->plain);
    free(w);
}

static void give_up(tidemark_watcher *w, const char *run_file)
{
    const char *begun = w->store ? run_file : NULL;
    leave(w);
    stop_reporting(w);
    release(w);
    if (begun)
        (void) unlink(begun);
}

struct opening {
    tidemark_watcher *watcher;
    const struct tidemark_options *options;
    int result;
};

static int do_begin(void *context)
{
    struct opening *o = context;
    o->result = begin(o->watcher, o->options);
    return 0;
}

static int begin_guarded(tidemark_watcher *w, const struct tidemark_options *o)
{
    struct opening opening = {.watcher = w, .options = o};
    w->lost = base_guard(do_begin, &opening) < 0;
    return w->lost ? -ENOMEM : opening.result;
}

static int open_watcher(const struct tidemark_options *o, tidemark_watcher **ret)
{
    tidemark_watcher *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->plain = newlocale(LC_ALL_MASK, "C", NULL);
    if (!w->plain) {
        free(w);
        return -ENOMEM;
    }
    locale_t language = uselocale(w->plain);
    int r = begin_guarded(w, o);
    uselocale(language);
    if (r < 0)
        give_up(w, o->run_file);
    else
        *ret = w;
    return r;
}

int tidemark_open(const struct tidemark_options *options, tidemark_watcher **ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tidemark_options o;
    int error = errno, r = ret ? read_options(options, &o) : -EINVAL;
    if (r < 0)
        return r;
    pthread_once(&once, heed_forks);
    r = open_watcher(&o, ret);
    errno = error;
    return r;
}

/* ---- in the loop ---- */

/* Shown beside the memory, never judged. */
static void report_loss(tidemark_watcher *w, double loss)
{
    const struct wire_name name = {.kind = "loss", .unit = WIRE_COUNT};
    if (w->loss < 0)
        w->loss = wire_name(w->ring, &name);
    if (w->loss >= 0)
        wire_put(w->ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) w->loss, w->reported, loss);
}

struct step {
    uint64_t reported;
    double loss;
};

static int step_was_reported(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct step *s = context;
    w->reported = s->reported;
    w->activity_changed = 0;
    w->moment++;
    if (isfinite(s->loss))
        report_loss(w, s->loss);
    look_if_due(w, v, s->reported);
    return 1;
}

/* Not inlined: the common case, a step that is not recorded, stays small. */
__attribute__((noinline)) static int take_step(tidemark_watcher *w, uint64_t reported, double loss)
{
    struct step s = {reported, loss};
    return visit_locked(w, step_was_reported, &s);
}

int tidemark_step(tidemark_watcher *w, double loss)
{
    if (!w)
        return -EINVAL;
    if (atomic_load_explicit(&w->forked, memory_order_relaxed))
        return -ECHILD;
    pthread_mutex_lock(&w->lock);
    int over = w->lost ? -ENOMEM : w->finished ? -ESHUTDOWN : 0;
    uint64_t reported = over ? 0 : wire_step(w->ring, WIRE_WATCHER, w->step += 1);
    if (reported)
        return take_step(w, reported, loss);
    pthread_mutex_unlock(&w->lock);
    return over;
}

static int end_epoch(tidemark_watcher *w, struct visit *v, void *context)
{
    (void) context;
    if (w->finished)
        return -ESHUTDOWN;
    uint64_t now = wire_now();
    watcher_report_step(w, now);
    wire_put(w->ring, WIRE_EPOCH, WIRE_WATCHER, 0, now, w->epochs += 1);
    look_if_due(w, v, now);
    return 0;
}

int tidemark_epoch_end(tidemark_watcher *w)
{
    return watcher_visit(w, end_epoch, NULL);
}

/* Copies a name that can stand in a report. False: too long, or not for people. */
static bool copy_name(char *ret, size_t size, const char *text)
{
    size_t len = strnlen(text, size);
    if (len == size)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) text[i] < ' ' || text[i] == 0x7f)
            return false;
    memcpy(ret, text, len + 1);
    return true;
}

/* Names with "host." are the watcher's own. */
static bool make_name(const char *name, const char *device, enum tidemark_unit unit,
                      struct wire_name *ret)
{
    *ret =
        (struct wire_name){.unit = unit == TIDEMARK_COUNT ? WIRE_COUNT : WIRE_BYTES, .judged = 1};
    return name && name[0] && strncmp(name, "host.", 5) != 0 &&
           copy_name(ret->kind, sizeof(ret->kind), name) &&
           copy_name(ret->device, sizeof(ret->device), device ? device : "");
}

/*
 * One sample for each reported step, with the step's time: a long look may lie between the two.
 * Without a step, one sample every COUNT_SPACING, so that the ring does not overflow. A value right
 * after an activity began or ended belongs to that moment.
 */
static void put_count(tidemark_watcher *w, unsigned name, double value)
{
    uint64_t now = wire_now();
    if (now < w->activity_changed + COUNT_SPACING) {
        if (w->counted[name].time < w->activity_changed)
            wire_put(w->ring, WIRE_ASIDE, WIRE_WATCHER, name, now, value);
        w->counted[name].time = now;
        return;
    }
    bool of_step = w->counted[name].moment != w->moment && now < w->reported + COUNT_SPACING;
    if (!of_step && now < w->counted[name].time + COUNT_SPACING)
        return;
    w->counted[name].moment = w->moment;
    w->counted[name].time = now;
    wire_put(w->ring, WIRE_SAMPLE, WIRE_WATCHER, name, of_step ? w->reported : now, value);
}

struct counter {
    const char *name, *device;
    enum tidemark_unit unit;
    double value;
};

static int count(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct counter *c = context;
    struct wire_name known;
    if (w->finished)
        return -ESHUTDOWN;
    if (!isfinite(c->value) || !make_name(c->name, c->device, c->unit, &known))
        return -EINVAL;
    int number = wire_name(w->ring, &known);
    if (number < 0)
        return number;
    put_count(w, (unsigned) number, c->value);
    look_if_due(w, v, wire_now());
    return 0;
}

int tidemark_count(tidemark_watcher *w, const char *name, const char *device,
                   enum tidemark_unit unit, double value)
{
    struct counter c = {name, device, unit, value};
    return watcher_visit(w, count, &c);
}

/* `report` begins or ends it, and returns the time. */
struct activity_change {
    const char *name;
    uint64_t (*report)(struct wire_ring *r, unsigned phase);
};

static int change_activity(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct activity_change *c = context;
    char known[WIRE_NAME_LENGTH];
    if (w->finished)
        return -ESHUTDOWN;
    if (!c->name || !c->name[0] || !copy_name(known, sizeof(known), c->name))
        return -EINVAL;
    uint64_t reported = c->report(w->ring, wire_phase(w->ring, known));
    if (reported) {
        w->activity_changed = reported;
        watcher_report_step(w, reported);
        look_if_due(w, v, wire_now());
    }
    return 0;
}

int tidemark_phase_begin(tidemark_watcher *w, const char *name)
{
    struct activity_change c = {name, wire_phase_begin};
    return watcher_visit(w, change_activity, &c);
}

int tidemark_phase_end(tidemark_watcher *w, const char *name)
{
    struct activity_change c = {name, wire_phase_end};
    return watcher_visit(w, change_activity, &c);
}

/* ---- the end ---- */

static int finish(tidemark_watcher *w, struct visit *v, void *context)
{
    (void) context;
    const struct watch_end end = {0};
    struct view view;
    int r = 0;
    if (w->finished)
        return 0;
    wire_phases_end(w->ring);
    watcher_look_now(w, v);
    w->seconds_finished = watcher_seconds(w);
    w->finished = true;
    watch_finish(w->watch, w->seconds_finished, &end);
    answer_take_news(w, v, w->seconds_finished);
    if (w->store) {
        watch_view_init(w->watch, w->seconds_finished, &view);
        r = run_file_finish(w->store, w->seconds_finished, &view);
        view_release(&view);
        w->store = NULL;
    }
    return r;
}

int tidemark_finish(tidemark_watcher *w)
{
    int r = watcher_visit(w, finish, NULL);
    if (r != -EINVAL && r != -ECHILD)
        stop_reporting(w);
    return r;
}

void tidemark_close(tidemark_watcher *w)
{
    if (!w)
        return;
    int error = errno;
    if (tidemark_finish(w) != -ECHILD) {
        leave(w);
        pthread_mutex_destroy(&w->lock);
    }
    release(w);
    errno = error;
}

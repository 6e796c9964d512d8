/* sample/traces.c: has processes sample their allocations, and reads what they sampled. */
#include "sample/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME_LENGTH 96u

/* So many samples of a growth shall be live after a horizon: the error of its size is 10 %. */
#define SAMPLES_A_HORIZON 100.0
#define INTERVAL_LEAST 0x1p14
#define INTERVAL_MOST 0x1p23
#define INTERVAL_USUAL 0x1p19 /* where the growth of the process is not known */

/* A leak that was traced for so many horizons is settled: more samples would not say more. */
#define HORIZONS_ENOUGH 2.0
#define SECONDS_ENOUGH 20.0

/* Between two looks at the processes, and at the file of one: a look copies some megabytes. */
#define ORDER_SECONDS 1.0
#define LOOK_LEAST 0.2
#define LOOK_MOST 2.0
#define LOOK_EARLY (1.0 / 4) /* of the time that it has been traced: a program begins in bursts */
#define LOOK_LATE (1.0 / 32)

/* A file that is older belongs to a process that is known, or has ended. */
#define LEFT_SECONDS 2.0

/* ---- orders ---- */

void traces_release(struct sampler *sam)
{
    if (sam->traces.fd >= 0)
        close(sam->traces.fd);
}

/* Under `run` they are there before the first process. */
static int open_orders(int directory)
{
    int fd = wire_trace_orders_reopen(directory);
    return fd >= 0 ? fd : wire_trace_orders_create(directory);
}

/* The generation follows the list: a process that sees a new one finds the new list. */
static void write_orders(struct sampler *sam)
{
    struct trace_orders *o = &sam->traces;
    const size_t head = offsetof(struct wire_trace_orders, list);
    if (o->fd < 0)
        o->fd = open_orders(sam->rings.directory);
    if (o->fd < 0)
        return;
    atomic_fetch_add(&o->file.generation, 1);
    if (pwrite(o->fd, (const char *) &o->file + head, sizeof(o->file) - head, (off_t) head) > 0)
        (void) !pwrite(o->fd, &o->file, head, 0);
}

static void add_order(struct trace_orders *o, struct proc_id id, uint64_t interval, bool blocks)
{
    uint32_t at = atomic_load(&o->file.count);
    if (at == WIRE_TRACE_ORDERS)
        return;
    o->file.list[at] =
        (struct wire_trace_order){id.pid, id.start, .interval = interval, .blocks = blocks};
    atomic_store(&o->file.count, at + 1);
}

static void order_all(struct sampler *sam)
{
    struct job *j = sam->job;
    atomic_store(&sam->traces.file.count, 0);
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        const struct trace_reading *t = &m->reading->trace;
        bool stays_out = t->is_sandboxed && sam->options.trace_bytes > 0;
        if (member_is_alive(m) && (t->interval > 0 || t->wants_blocks || stays_out))
            add_order(&sam->traces, rings_own_id(sam, m), t->interval, t->wants_blocks);
    }
    if (sam->options.trace_bytes > 0)
        add_order(&sam->traces, (struct proc_id){0}, (uint64_t) sam->options.trace_bytes, true);
    write_orders(sam);
}

static double own_filters(void)
{
    struct proc_id own = {.pid = getpid(), .start = wire_own_start()};
    struct proc_status status = {.filters = NAN};
    struct proc *p;
    if (proc_open("/proc", own, &p) < 0)
        return NAN;
    if (proc_read_status(p, &status) < 0)
        status.filters = NAN;
    proc_free(p);
    return status.filters;
}

void traces_open(struct sampler *sam)
{
    sam->traces.fd = -1;
    sam->traces.filters = own_filters();
    sam->traces.file.version = WIRE_TRACE_VERSION;
    atomic_store(&sam->traces.file.magic, WIRE_TRACE_ORDERS_MAGIC);
    if (sam->options.trace_bytes > 0 && sam->rings.directory >= 0)
        order_all(sam);
}

/* ---- who is traced ---- */

/*
 * It has given up system calls since it began: one that a sample needs may end it. What a container
 * forbids, it forbids us as well, and does not end a process.
 */
static bool is_sandboxed(const struct sampler *sam, const struct member *m)
{
    return m->now.filters > sam->traces.filters;
}

/* Its memory grows, or that of the job does and it may be the cause. */
static bool is_suspect(const struct sampler *sam, struct member *m)
{
    const struct track *anon = &m->tracks[MEMBER_ANON], *heap = member_heap(m);
    bool may_be = track_is_wary(&sam->job->sums[JOB_ANON]) && m->role.role != ROLE_DATA_WORKER &&
                  anon->last - anon->first > LEAST_RISE;
    return m->has_tracks && (track_is_wary(anon) || (heap && track_is_wary(heap)) || may_be ||
                             (member_climbs(m) && m->is_attached));
}

static struct answer growth_of(struct sampler *sam, struct member *m)
{
    struct track *heap = member_heap(m), *t = &m->tracks[MEMBER_ANON];
    struct answer a;
    track_engine_answer(!track_grows(t) && heap && track_grows(heap) ? heap : t, &sam->job->terms,
                        &a);
    return a;
}

static struct trace_span span_of(const struct answer *a, double seconds)
{
    double horizon = a->horizon * (a->last_seconds - a->first_seconds) / (a->last_at - a->first_at);
    return (struct trace_span){.since = seconds,
                               .enough = seconds +
                                         fmax(HORIZONS_ENOUGH * fmax(horizon, 0), SECONDS_ENOUGH)};
}

static void arm(struct sampler *sam, struct member *m, double seconds)
{
    struct trace_reading *t = &m->reading->trace;
    struct answer a = growth_of(sam, m);
    double interval = a.rate * a.horizon / SAMPLES_A_HORIZON;
    if (!(interval > 0))
        interval = INTERVAL_USUAL;
    t->interval = (uint64_t) fmin(fmax(interval, INTERVAL_LEAST), INTERVAL_MOST);
    t->samples = span_of(&a, seconds);
    t->next = seconds;
    if (!t->wants_blocks)
        t->looks = site_looks_free(t->looks); /* of an earlier suspicion */
}

/* True: its order has changed. */
static bool decide(struct sampler *sam, struct member *m, double seconds)
{
    struct trace_reading *t = &m->reading->trace;
    uint64_t before = t->interval;
    bool suspect = is_suspect(sam, m), is_over = before > 0 && seconds >= t->samples.enough;
    t->samples.is_settled = t->samples.is_settled || (is_over && member_leaks(m));
    if (before == 0 && suspect && !t->samples.is_settled)
        arm(sam, m, seconds);
    else if (is_over && (!suspect || t->samples.is_settled))
        t->interval = 0;
    return t->interval != before;
}

/* The memory whose blocks torch can list, and which grows; NULL: none does. */
static struct track *growing_memory(struct member *m)
{
    for (size_t i = 0; i < m->reported_count; i++) {
        struct track *t = &m->reported[i];
        bool is_listed =
            strcmp(t->kind, "torch.allocated") == 0 || strcmp(t->kind, "torch.pinned") == 0;
        if (is_listed && track_is_wary(t))
            return t;
    }
    return NULL;
}

static void arm_blocks(struct sampler *sam, struct member *m, struct track *growing, double seconds)
{
    struct trace_reading *t = &m->reading->trace;
    struct answer a;
    track_engine_answer(growing, &sam->job->terms, &a);
    t->wants_blocks = true;
    t->blocks = span_of(&a, seconds);
    t->next = seconds;
    if (t->interval == 0)
        t->looks = site_looks_free(t->looks);
}

/* The same for the blocks of torch. */
static bool decide_blocks(struct sampler *sam, struct member *m, double seconds)
{
    struct trace_reading *t = &m->reading->trace;
    struct track *growing = growing_memory(m);
    bool before = t->wants_blocks, is_over = before && seconds >= t->blocks.enough;
    t->blocks.is_settled =
        t->blocks.is_settled || (is_over && growing != NULL && track_leaks(growing));
    if (!before && growing && !t->blocks.is_settled)
        arm_blocks(sam, m, growing, seconds);
    else if (is_over && (!growing || t->blocks.is_settled))
        t->wants_blocks = false;
    return t->wants_blocks != before;
}

/* True: it is one, and was none before. */
static bool stay_out(const struct sampler *sam, struct member *m)
{
    struct trace_reading *t = &m->reading->trace;
    bool is_new = is_sandboxed(sam, m) && !t->is_sandboxed;
    t->is_sandboxed = is_sandboxed(sam, m);
    if (t->is_sandboxed) {
        t->interval = 0;
        t->wants_blocks = false;
    }
    return is_new;
}

static bool decide_member(struct sampler *sam, struct member *m, double seconds)
{
    bool is_new = stay_out(sam, m);
    if (m->reading->trace.is_sandboxed || sam->options.trace_bytes > 0)
        return is_new;
    bool samples = decide(sam, m, seconds), blocks = decide_blocks(sam, m, seconds);
    return samples || blocks;
}

static void order(struct sampler *sam, double seconds)
{
    bool changed = sam->traces.fd < 0 && sam->options.trace_bytes > 0;
    if (seconds < sam->traces.next || sam->rings.directory < 0)
        return;
    sam->traces.next = seconds + ORDER_SECONDS;
    for (size_t i = 0; i < sam->job->member_count; i++)
        if (member_is_alive(sam->job->members[i]))
            changed = decide_member(sam, sam->job->members[i], seconds) || changed;
    if (changed)
        order_all(sam);
}

/* ---- files ---- */

static void file_name(const struct sampler *sam, const struct member *m, char ret[NAME_LENGTH])
{
    struct proc_id id = rings_own_id(sam, m);
    snprintf(ret, NAME_LENGTH, "%d-%llu" WIRE_TRACE_SUFFIX, (int) id.pid,
             (unsigned long long) id.start);
}

/* The caller frees it. NULL: there is no file, or not a whole one. */
static void *read_file(const struct sampler *sam, const char *name)
{
    struct stat st;
    const size_t size = sizeof(struct wire_trace_layout);
    int fd = wire_open_beneath(sam->rings.directory, name, S_IFREG, O_RDONLY, &st);
    char *bytes = fd >= 0 && (size_t) st.st_size == size ? malloc(size) : NULL;
    size_t len = 0;
    ssize_t n;
    while (bytes && len < size && (n = read(fd, bytes + len, size - len)) > 0)
        len += (size_t) n;
    if (fd >= 0)
        close(fd);
    if (bytes && len < size) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

/* Perhaps before its members are told. */
static bool has_ended(const struct member *m)
{
    struct proc_status status;
    return !member_is_alive(m) || proc_read_status(m->reading->proc, &status) == -ESRCH;
}

/* Whether there is anything to make sites of. */
static bool look(struct sampler *sam, struct member *m, const char *name)
{
    struct trace_reading *t = &m->reading->trace;
    void *file = read_file(sam, name);
    if (!file)
        return false;
    if (!t->looks)
        t->looks = site_looks_new();
    int r = (has_ended(m) ? site_looks_take_last : site_looks_take)(
        t->looks, file, sizeof(struct wire_trace_layout), sam->job->began, wire_now());
    if (r == -EPROTONOSUPPORT)
        rings_note_foreign(sam, m->id);
    free(file);
    return r >= 0 || r == -ESTALE;
}

/* ---- names ---- */

/* The addresses of one module, gathered to be resolved together. */
struct wanted {
    struct symbols *symbols;
    struct symbol_module module;
    uint64_t *offsets;
    size_t count, room;
};

static void resolve(struct wanted *w)
{
    if (w->count > 0)
        (void) symbols_resolve(w->symbols, &w->module, w->offsets, w->count);
    w->count = 0;
}

/* Addresses come in the order of modules. Gathers; names nothing. */
static size_t gather(void *context, const struct site_address *a, struct site_frame *ret,
                     size_t most)
{
    struct wanted *w = context;
    (void) ret;
    (void) most;
    if (w->count > 0 && strcmp(w->module.path, a->path) != 0)
        resolve(w);
    if (w->count == w->room) {
        w->room = w->room ? 2 * w->room : 64;
        w->offsets = reallocarray(w->offsets, w->room, sizeof(*w->offsets));
        if (!w->offsets)
            base_out_of_memory();
    }
    w->module = (struct symbol_module){a->path, a->build_id, a->build_id_length};
    w->offsets[w->count++] = a->offset;
    return 0;
}

static size_t name(void *context, const struct site_address *a, struct site_frame *ret, size_t most)
{
    const struct symbol_frame *found;
    size_t count = context ? symbols_find(context, a->path, a->offset, &found) : 0;
    for (size_t i = 0; i < count && i < most; i++)
        ret[i] = (struct site_frame){.function = found[i].function,
                                     .file = found[i].file,
                                     .line = found[i].line,
                                     .is_inlined = found[i].is_inlined};
    return count < most ? count : most;
}

/* Reads the files of its native code, which may take a second: once a leak is known, and at the
 * end. */
static void find_names(struct trace_reading *t)
{
    struct wanted w = {.symbols = t->symbols};
    if (!t->symbols)
        return;
    sites_free(site_looks_sites(t->looks, gather, &w));
    resolve(&w);
    free(w.offsets);
    t->is_named = true;
}

/* While it runs: another user's files cannot be opened after its end. */
static void meet(struct member *m)
{
    struct trace_reading *t = &m->reading->trace;
    if (!t->symbols && member_is_alive(m) && symbols_new(m->id.pid, &t->symbols) < 0)
        t->symbols = NULL;
}

static void take(struct sampler *sam, struct member *m, bool finally)
{
    struct trace_reading *t = &m->reading->trace;
    char file[NAME_LENGTH];
    file_name(sam, m, file);
    if (!look(sam, m, file) && !(finally && t->looks))
        return;
    meet(m);
    if (finally || (!t->is_named && member_leaks(m)))
        find_names(t);
    struct sites *s = site_looks_sites(t->looks, name, t->symbols);
    if (s)
        evidence_take_sites(m, s);
}

/* ---- what short processes left ---- */

/* In a namespace of their own processes have other pids, but the same moment of their start. */
static bool is_alive(const struct job *j, struct proc_id id)
{
    const struct member *m = job_find(j, id);
    if (m)
        return member_is_alive(m);
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->id.start == id.start && member_is_alive(j->members[i]))
            return true;
    return false;
}

/* The time of the file is that of its making: the tracer writes through a mapping. */
static bool is_left(const struct sampler *sam, const char *name)
{
    int pid;
    unsigned long long start;
    struct stat st;
    if (!strstr(name, WIRE_TRACE_SUFFIX) || sscanf(name, "%d-%llu", &pid, &start) != 2)
        return false;
    if (is_alive(sam->job, (struct proc_id){.pid = pid, .start = start}))
        return false;
    return fstatat(sam->rings.directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           difftime(time(NULL), st.st_mtime) > LEFT_SECONDS;
}

/* A process that ended before it was met has left a file of megabytes in memory. */
static void remove_left(struct sampler *sam, double seconds)
{
    int fd = openat(sam->rings.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    sam->traces.next_removal = seconds + LEFT_SECONDS;
    if (!folder && fd >= 0)
        close(fd);
    while (folder && (entry = readdir(folder)) != NULL)
        if (is_left(sam, entry->d_name))
            unlinkat(sam->rings.directory, entry->d_name, 0);
    if (folder)
        closedir(folder);
}

/* ---- when ---- */

static bool may_be_traced(const struct sampler *sam, const struct member *m)
{
    const struct trace_reading *t = &m->reading->trace;
    return t->interval > 0 || t->wants_blocks || sam->options.trace_bytes > 0;
}

static void read_due(struct sampler *sam, struct member *m, double seconds)
{
    struct trace_reading *t = &m->reading->trace;
    if (!member_is_alive(m) || !may_be_traced(sam, m) || seconds < t->next)
        return;
    if (!t->looks && t->interval == 0 && !t->wants_blocks)
        t->samples.since = seconds;
    double traced = seconds - fmax(t->samples.since, t->blocks.since);
    t->next =
        seconds + fmax(fmin(fmax(LOOK_LEAST, traced * LOOK_EARLY), LOOK_MOST), traced * LOOK_LATE);
    take(sam, m, false);
}

double traces_shared(const struct sampler *sam, struct member *m)
{
    struct trace_reading *t = &m->reading->trace;
    char file[NAME_LENGTH];
    struct stat st;
    if (t->file_bytes > 0 || sam->traces.fd < 0 || !may_be_traced(sam, m))
        return t->file_bytes;
    file_name(sam, m, file);
    if (fstatat(sam->rings.directory, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
        t->file_bytes =
            fmin((double) st.st_size, sizeof(struct wire_trace_layout)) + WIRE_TRACE_TABLES;
    return t->file_bytes;
}

void traces_tick(struct sampler *sam, double seconds)
{
    if (sam->options.no_trace || sam->rings.directory < 0)
        return;
    order(sam, seconds);
    for (size_t i = 0; sam->traces.fd >= 0 && i < sam->job->member_count; i++)
        read_due(sam, sam->job->members[i], seconds);
    if (sam->traces.fd >= 0 && seconds >= sam->traces.next_removal)
        remove_left(sam, seconds);
}

void traces_end(struct sampler *sam, struct member *m)
{
    char file[NAME_LENGTH];
    if (sam->traces.fd < 0)
        return;
    if (may_be_traced(sam, m))
        take(sam, m, true);
    file_name(sam, m, file);
    if (!member_is_alive(m))
        unlinkat(sam->rings.directory, file, 0);
}

/* ---- in the run file ---- */

void traces_store(struct sampler *sam, struct member *m)
{
    struct buf text = BUF_INIT;
    if (!sam->options.store || m->stored == 0 || !m->evidence || !m->evidence->has_new_sites)
        return;
    sites_write(m->evidence->sites, &text);
    store_set_sites(sam->options.store, m->stored, buf_text(&text));
    m->evidence->has_new_sites = false;
    buf_release(&text);
}

void trace_reading_release(struct trace_reading *t)
{
    t->looks = site_looks_free(t->looks);
    t->symbols = symbols_free(t->symbols);
}

/* wire/producer.c: a process makes its ring and writes into it. */
#include "wire/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t wire_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* ---- making a ring ---- */

/* Field 22 of /proc/self/stat. The command's name, field 2, may hold blanks and parentheses. */
uint64_t wire_own_start(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *field = strrchr(text, ')');
    for (unsigned i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field ? strtoull(field + 1, NULL, 10) : 0;
}

/* The kernel gives every program it starts different random bytes. */
static uint64_t own_image(void)
{
    uint64_t image = 0;
    const void *random = (const void *) getauxval(AT_RANDOM); /* NOLINT: it is an address */
    if (random)
        memcpy(&image, random, sizeof(image));
    return image;
}

/* Counts do not continue across exec(). */
static void begin_image(struct wire_layout *l)
{
    uint64_t image = own_image();
    if (atomic_load(&l->image) == image)
        return;
    atomic_store(&l->image, image);
    atomic_store(&l->source, WIRE_NOBODY);
    atomic_store(&l->step, wire_bits((double) NAN));
    atomic_store(&l->told, 0);
    atomic_store(&l->next_told, 0);
    atomic_store(&l->naming, 0);
}

static void fill(struct wire_layout *l, uint64_t start)
{
    l->version = WIRE_VERSION;
    l->slots = WIRE_SLOTS;
    l->pid = getpid();
    l->start = start;
    atomic_store(&l->wake_at, wire_bits((double) INFINITY));
    begin_image(l);
    atomic_store_explicit(&l->magic, WIRE_MAGIC, memory_order_release);
}

static int map(int fd, struct wire_layout **ret)
{
    /* Populated at once: pages that appeared step by step would look like a leak. */
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    void *memory = mmap(NULL, sizeof(struct wire_layout), PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    *ret = memory;
    return 0;
}

void wire_name_file(char ret[WIRE_FILE_LENGTH], uint64_t start, const char *suffix)
{
    snprintf(ret, WIRE_FILE_LENGTH, "%d-%llu%s", (int) getpid(), (unsigned long long) start,
             suffix);
}

/* Allocates the space at once, so that a full file system cannot fail a later write. */
static int create(int place, struct wire_ring *r, uint64_t start)
{
    char draft[WIRE_FILE_LENGTH];
    wire_name_file(draft, start, WIRE_RING_SUFFIX ".new");
    int fd = openat(place, draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    struct wire_layout *layout = NULL;
    int e = -posix_fallocate(fd, 0, sizeof(struct wire_layout));
    if (e == 0)
        e = map(fd, &layout);
    if (e == 0) {
        fill(layout, start);
        if (linkat(place, draft, place, r->file, 0) < 0) {
            e = -errno;
            munmap(layout, sizeof(*layout));
        }
    }
    unlinkat(place, draft, 0);
    close(fd);
    if (e == 0)
        r->layout = layout;
    return e;
}

static int reopen(int place, struct wire_ring *r)
{
    struct wire_layout *layout;
    int fd = wire_open_own_ring(place, r->file);
    if (fd < 0)
        return fd;
    int e = map(fd, &layout);
    close(fd);
    if (e < 0)
        return e;
    if (atomic_load_explicit(&layout->magic, memory_order_acquire) != WIRE_MAGIC ||
        layout->version != WIRE_VERSION) {
        munmap(layout, sizeof(*layout));
        return -EPROTO;
    }
    begin_image(layout);
    r->layout = layout;
    return 0;
}

/*
 * Wakes a sleeping reader; without a reader nothing happens. A fifo that we open for both ways has
 * a reader as long as we write, so a reader that goes away now does not cause SIGPIPE.
 */
void wire_wake(const struct wire_ring *r)
{
    int fd = wire_open_wake(r->directory, O_RDWR);
    if (fd < 0)
        return;
    ssize_t n = write(fd, "", 1);
    (void) n;
    close(fd);
}

static int open_at(int place, struct wire_ring *r, uint64_t start)
{
    int e = reopen(place, r);
    if (e != -ENOENT)
        return e;
    e = create(place, r, start);
    if (e == 0)
        wire_wake(r);
    return e == -EEXIST ? reopen(place, r) : e;
}

static int open_in(const char *directory, struct wire_ring *r)
{
    uint64_t start = wire_own_start();
    wire_name_file(r->file, start, WIRE_RING_SUFFIX);
    wire_name_file(r->census, start, WIRE_CENSUS_SUFFIX);
    wire_name_file(r->census_draft, start, WIRE_CENSUS_SUFFIX ".new");
    r->directory = strdup(directory);
    if (!r->directory)
        return -ENOMEM;
    int place = wire_open_place(directory);
    if (place < 0)
        return place;
    int e = open_at(place, r, start);
    close(place);
    return e;
}

static void free_ring(struct wire_ring *r)
{
    if (!r)
        return;
    free(r->directory);
    free(r);
}

int wire_open(const char *directory, struct wire_ring **ret)
{
    int kept = errno;
    struct wire_ring *r = calloc(1, sizeof(*r));
    int e = r ? 0 : -ENOMEM;
    if (e == 0 && directory)
        e = open_in(directory, r);
    else if (e == 0 && (e = map(-1, &r->layout)) == 0)
        fill(r->layout, wire_own_start());
    errno = kept;
    if (e < 0) {
        free_ring(r);
        return e;
    }
    assert(r->layout);
    const struct wire_name anon = {.kind = "host.anon", .unit = WIRE_BYTES, .judged = true};
    r->host_anon = wire_name(r, &anon);
    *ret = r;
    return 0;
}

struct wire_ring *wire_close(struct wire_ring *r)
{
    if (!r)
        return NULL;
    munmap(r->layout, sizeof(*r->layout));
    free_ring(r);
    return NULL;
}

/* ---- writing ---- */

static int find_name(const struct wire_layout *l, const struct wire_name *name)
{
    for (unsigned i = 0; i < WIRE_NAMES; i++) {
        const struct wire_name_slot *s = &l->names[i];
        if (!atomic_load_explicit(&s->ready, memory_order_acquire))
            break;
        if (strcmp(s->name.kind, name->kind) == 0 && strcmp(s->name.device, name->device) == 0)
            return (int) i;
    }
    return -ENOENT;
}

static int add_name(struct wire_layout *l, const struct wire_name *name)
{
    int found = find_name(l, name);
    if (found >= 0)
        return found;
    for (unsigned i = 0; i < WIRE_NAMES; i++) {
        struct wire_name_slot *s = &l->names[i];
        if (atomic_load_explicit(&s->ready, memory_order_acquire))
            continue;
        s->name = *name;
        atomic_store_explicit(&s->ready, 1, memory_order_release);
        return (int) i;
    }
    return -ENOSPC;
}

int wire_name(struct wire_ring *r, const struct wire_name *name)
{
    struct wire_layout *l = r->layout;
    int found = find_name(l, name);
    if (found >= 0)
        return found;
    uint32_t free_now = 0;
    if (!atomic_compare_exchange_strong(&l->naming, &free_now, 1))
        return -EAGAIN;
    found = add_name(l, name);
    atomic_store(&l->naming, 0);
    return found;
}

/*
 * Claims the slot of a record for one writer. False: a later writer was there first, or a writer
 * of the previous lap is still in it. Then the mark in the slot makes the reader give this record
 * up.
 */
static bool claim(struct wire_slot *s, uint64_t number)
{
    uint64_t before = atomic_load_explicit(&s->sequence, memory_order_relaxed);
    while (before < wire_written(number)) {
        bool is_free = before % 2 == 0;
        if (atomic_compare_exchange_weak(&s->sequence, &before,
                                         is_free ? wire_writing(number) : wire_given_up(number)))
            return is_free;
    }
    return false;
}

/* If others gave up their records meanwhile, ours is too late as well. It only frees the slot. */
static void complete(struct wire_slot *s, uint64_t number)
{
    uint64_t now = wire_writing(number);
    if (atomic_compare_exchange_strong(&s->sequence, &now, wire_written(number)))
        return;
    while (!atomic_compare_exchange_weak(&s->sequence, &now, now + 1))
        continue;
}

void wire_put(struct wire_ring *r, enum wire_kind kind, enum wire_source source, unsigned name,
              uint64_t now, double value)
{
    struct wire_layout *l = r->layout;
    uint64_t number = atomic_fetch_add_explicit(&l->head, 1, memory_order_acq_rel);
    struct wire_slot *s = &l->ring[number % WIRE_SLOTS];
    if (!claim(s, number))
        return;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&s->time, now, memory_order_relaxed);
    atomic_store_explicit(&s->what, wire_pack(kind, source, name), memory_order_relaxed);
    atomic_store_explicit(&s->value, wire_bits(value), memory_order_relaxed);
    complete(s, number);
}

uint64_t wire_records(const struct wire_ring *r)
{
    return atomic_load_explicit(&r->layout->head, memory_order_relaxed);
}

/* ---- steps ---- */

/* Every millisecond at first, because the whole run may be short; then more and more rarely. */
#define FIRST_SPACING UINT64_C(1000000)
#define LAST_SPACING UINT64_C(10000000)
#define STRETCH 500u /* the spacing is the time since the first step, divided by this */

/* The spacing is also at least this many times the duration of the report: 0.1 % of the training's
 * time, less after the first seconds. A slow report (another process had the CPU) silences us no
 * longer than LONGEST_REST. */
#define LATER_REST 3000u
#define FIRST_TIME UINT64_C(2000000000)
#define LONGEST_REST UINT64_C(100000000)

/* A run may end before that budget allows many reports. So this many ns of reporting are free, at
 * distances that grow with the run. Not if the process watches itself: there, reports take memory.
 */
#define FREE_TELLING UINT64_C(2000000)
#define FREE_STRETCH 64u

struct wire_memory wire_own_memory(void)
{
    char text[128];
    struct wire_memory none = {NAN, NAN, NAN};
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return none;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return none;
    text[n] = '\0';
    unsigned long resident, shared, asked;
    if (sscanf(text, "%*u %lu %lu %*u %*u %lu", &resident, &shared, &asked) != 3 ||
        shared > resident)
        return none;
    double page = (double) sysconf(_SC_PAGESIZE);
    return (struct wire_memory){(double) resident * page, (double) shared * page,
                                (double) asked * page};
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

uint64_t wire_rest(uint64_t times, uint64_t begin, uint64_t least)
{
    return between(times * (wire_now() - begin), least, LONGEST_REST);
}

static uint64_t spacing_after(struct wire_ring *r, enum wire_source source, uint64_t now)
{
    uint64_t age = now - atomic_load_explicit(&r->layout->first_told, memory_order_relaxed);
    uint64_t took = wire_now() - now;
    uint64_t spacing = between(age / STRETCH, FIRST_SPACING, LAST_SPACING);
    uint64_t telling = atomic_fetch_add_explicit(&r->telling, took, memory_order_relaxed) + took;
    if (source == WIRE_OPTIMIZER && telling < FREE_TELLING)
        return between(age / FREE_STRETCH, spacing, LONGEST_REST);
    return wire_rest(age < FIRST_TIME ? WIRE_REST : LATER_REST, now, spacing);
}

void wire_put_anon(struct wire_ring *r, enum wire_kind kind, enum wire_source source, uint64_t now,
                   double value)
{
    if (r->host_anon >= 0 && isfinite(value))
        wire_put(r, kind, source, (unsigned) r->host_anon, now, value);
}

/* A separate function, so that the path of an unreported step stays small. */
__attribute__((noinline)) static void tell(struct wire_ring *r, enum wire_source source,
                                           double step, uint64_t now)
{
    int kept = errno;
    struct wire_layout *l = r->layout;
    if (atomic_fetch_add_explicit(&l->told, 1, memory_order_relaxed) == 0)
        atomic_store_explicit(&l->first_told, now, memory_order_relaxed);
    wire_put(r, WIRE_STEP, source, 0, now, step);
    struct wire_memory memory = wire_own_memory();
    wire_put_anon(r, WIRE_SAMPLE, source, now, memory.resident - memory.shared);
    atomic_store_explicit(&l->next_told, now + spacing_after(r, source, now), memory_order_relaxed);
    errno = kept;
}

static void wake_once(struct wire_ring *r)
{
    int kept = errno;
    atomic_store_explicit(&r->layout->wake_at, wire_bits((double) INFINITY), memory_order_relaxed);
    if (r->directory)
        wire_wake(r);
    errno = kept;
}

void wire_tell_next(struct wire_ring *r, enum wire_source source)
{
    if (wire_believed(r) <= source)
        atomic_store_explicit(&r->layout->next_told, 0, memory_order_relaxed);
}

uint64_t wire_step(struct wire_ring *r, enum wire_source source, double step)
{
    struct wire_layout *l = r->layout;
    uint32_t believed = atomic_load_explicit(&l->source, memory_order_relaxed);
    if (believed > source)
        return 0;
    bool takes_over = believed < source;
    if (takes_over)
        atomic_store_explicit(&l->source, source, memory_order_relaxed);
    atomic_store_explicit(&l->step, wire_bits(step), memory_order_relaxed);
    bool awaited = step >= wire_double(atomic_load_explicit(&l->wake_at, memory_order_relaxed));
    uint64_t now = wire_now();
    bool due =
        takes_over || awaited || now >= atomic_load_explicit(&l->next_told, memory_order_relaxed);
    if (due)
        tell(r, source, step, now);
    if (awaited)
        wake_once(r);
    return due ? now : 0;
}

enum wire_source wire_believed(const struct wire_ring *r)
{
    return (enum wire_source) atomic_load_explicit(&r->layout->source, memory_order_relaxed);
}

double wire_steps(const struct wire_ring *r)
{
    return wire_double(atomic_load_explicit(&r->layout->step, memory_order_relaxed));
}

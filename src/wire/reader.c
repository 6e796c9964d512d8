/* wire/reader.c: the watcher reads a ring. Nothing in it is trusted. */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A record that is still not complete when so many came after it never will be. */
#define ABANDONED 256u

struct wire_reader {
    struct wire_layout *layout;
    int fd;               /* negative: a ring of this process */
    bool decides;         /* what the process shall find out */
    uint64_t next, known; /* number of the next record, and of the newest that was seen */
    uint64_t lost;
};

static bool is_a_ring(const struct wire_layout *l)
{
    return atomic_load_explicit(&l->magic, memory_order_acquire) == WIRE_MAGIC &&
           l->version == WIRE_VERSION && l->slots == WIRE_SLOTS && l->pid > 0;
}

/* To touch a page that was cut off would be fatal. */
static bool is_whole(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (size_t) st.st_size == sizeof(struct wire_layout);
}

static int make(struct wire_layout *layout, int fd, bool decides, struct wire_reader **ret)
{
    struct wire_reader *r = calloc(1, sizeof(*r));
    if (!r)
        abort();
    r->layout = layout;
    r->fd = fd;
    r->decides = decides;
    *ret = r;
    return 0;
}

int wire_reader_open(int directory_fd, const char *file, struct wire_reader **ret)
{
    int fd = openat(directory_fd, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (!is_whole(fd)) {
        close(fd);
        return -EPROTO;
    }
    void *memory =
        mmap(NULL, sizeof(struct wire_layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        int error = errno;
        close(fd);
        return -error;
    }
    if (!is_a_ring(memory)) {
        munmap(memory, sizeof(struct wire_layout));
        close(fd);
        return -EPROTO;
    }
    return make(memory, fd, true, ret);
}

int wire_reader_attach(struct wire_ring *ring, struct wire_reader **ret)
{
    return make(ring->layout, -1, !ring->directory, ret);
}

struct wire_reader *wire_reader_free(struct wire_reader *r)
{
    if (!r)
        return NULL;
    if (r->fd >= 0) {
        munmap(r->layout, sizeof(*r->layout));
        close(r->fd);
    }
    free(r);
    return NULL;
}

pid_t wire_reader_pid(const struct wire_reader *r)
{
    return (pid_t) r->layout->pid;
}

uint64_t wire_reader_start(const struct wire_reader *r)
{
    return r->layout->start;
}

/* The number of the newest record; a reader that came late begins with the oldest there is. */
static void catch_up(struct wire_reader *r)
{
    if (r->fd >= 0 && !is_whole(r->fd))
        return;
    r->known = atomic_load_explicit(&r->layout->head, memory_order_acquire);
    if (r->known < r->next) {
        r->next = r->known;
        return;
    }
    if (r->known - r->next <= WIRE_SLOTS)
        return;
    uint64_t oldest = r->known - WIRE_SLOTS + WIRE_SLOTS / 4;
    r->lost += oldest - r->next;
    r->next = oldest;
}

/* 1: copied; 0: not written yet; -1: overwritten. */
static int copy(const struct wire_slot *s, uint64_t sequence, struct wire_record *ret)
{
    uint64_t before = atomic_load_explicit(&s->sequence, memory_order_acquire);
    if (before != sequence)
        return before > sequence ? -1 : 0;
    uint64_t what = atomic_load_explicit(&s->what, memory_order_relaxed);
    *ret = (struct wire_record){
        .time = atomic_load_explicit(&s->time, memory_order_relaxed),
        .kind = (enum wire_kind)(what & 0xff),
        .source = (enum wire_source)(what >> 8 & 0xff),
        .name = (unsigned) (what >> 16 & 0xffff),
        .value = wire_double(atomic_load_explicit(&s->value, memory_order_relaxed)),
    };
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&s->sequence, memory_order_relaxed) == sequence ? 1 : -1;
}

static bool is_sane(const struct wire_record *x)
{
    return x->kind >= WIRE_STEP && x->kind <= WIRE_ASIDE && x->source <= WIRE_WATCHER &&
           x->name < WIRE_NAMES && isfinite(x->value);
}

/* The next record is not complete. True: it will be, and others wait behind it. */
static bool has_to_wait(struct wire_reader *r)
{
    catch_up(r);
    return r->known - r->next < ABANDONED;
}

bool wire_read(struct wire_reader *r, struct wire_record *ret)
{
    if (r->next == r->known)
        catch_up(r);
    while (r->next < r->known) {
        struct wire_record x;
        uint64_t number = r->next;
        int copied = copy(&r->layout->ring[number % WIRE_SLOTS], wire_written(number), &x);
        if (copied == 0 && has_to_wait(r))
            return false;
        if (r->next != number) /* much was lost meanwhile */
            continue;
        r->next++;
        if (copied == 1 && is_sane(&x)) {
            *ret = x;
            return true;
        }
        r->lost++;
    }
    return false;
}

uint64_t wire_reader_lost(const struct wire_reader *r)
{
    return r->lost;
}

bool wire_reader_name(const struct wire_reader *r, unsigned name, struct wire_name *ret)
{
    if (name >= WIRE_NAMES)
        return false;
    const struct wire_name_slot *s = &r->layout->names[name];
    if (!atomic_load_explicit(&s->ready, memory_order_acquire))
        return false;
    *ret = s->name;
    ret->kind[sizeof(ret->kind) - 1] = ret->device[sizeof(ret->device) - 1] = '\0';
    return ret->kind[0] != '\0' && ret->unit <= WIRE_COUNT;
}

bool wire_reader_phase(const struct wire_reader *r, unsigned phase, struct wire_phase_count *ret)
{
    if (phase >= WIRE_PHASES)
        return false;
    const struct wire_phase_slot *s = &r->layout->phases[phase];
    if (!atomic_load_explicit(&s->ready, memory_order_acquire))
        return false;
    *ret = (struct wire_phase_count){
        .begun = atomic_load_explicit(&s->begun, memory_order_relaxed),
        .ended = atomic_load_explicit(&s->ended, memory_order_relaxed),
        .seconds = 1e-9 * (double) atomic_load_explicit(&s->nanoseconds, memory_order_relaxed),
    };
    memcpy(ret->name, s->name, sizeof(ret->name) - 1);
    return ret->name[0] != '\0';
}

double wire_reader_step(const struct wire_reader *r)
{
    return wire_double(atomic_load_explicit(&r->layout->step, memory_order_relaxed));
}

void wire_reader_wake_at(struct wire_reader *r, double step)
{
    atomic_store_explicit(&r->layout->wake_at, wire_bits(step), memory_order_relaxed);
}

void wire_reader_want(struct wire_reader *r, enum wire_wanted w)
{
    if (r->decides)
        atomic_store_explicit(&r->layout->wanted, w, memory_order_relaxed);
}

bool wire_reader_census_is_under_way(const struct wire_reader *r)
{
    pid_t pid = (pid_t) atomic_load_explicit(&r->layout->counting, memory_order_acquire);
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

size_t wire_reader_own_shared(const struct wire_reader *r)
{
    return atomic_load_explicit(&r->layout->own_shared, memory_order_relaxed);
}

void wire_reader_act(struct wire_reader *r, unsigned acts)
{
    atomic_store_explicit(&r->layout->acts, acts, memory_order_relaxed);
}

bool wire_reader_has_left(const struct wire_reader *r)
{
    return atomic_load_explicit(&r->layout->left, memory_order_acquire) != 0;
}

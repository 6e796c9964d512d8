/* wire/reader.c: the watcher reads a ring, and trusts nothing in it. */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A record still incomplete after this many later records is given up. */
#define ABANDONED 256u

/* After this many useless slots in a row, others get their turn. */
#define IN_VAIN_MOST (2 * WIRE_SLOTS)

/* Slots read at once. */
#define CHUNK 64u
/* Reads of a field, at most, until two of them agree. */
#define TRIES 4u
#define FIELD_BYTES 128u

/* A slot as read: its sequence is read before and after the rest. */
struct plain_slot {
    uint64_t sequence, time, what, value;
};

struct seen_slot {
    struct plain_slot slot;
    uint64_t sequence_after;
};

_Static_assert(sizeof(struct plain_slot) == sizeof(struct wire_slot), "read as it lies there");
_Static_assert(sizeof(struct wire_phase_slot) <= FIELD_BYTES, "the largest field");

struct wire_reader {
    struct wire_layout *layout; /* of this process; NULL: the ring is the file `fd` */
    int fd;
    pid_t pid;
    uint64_t start;
    bool decides;         /* may set what the process finds out */
    uint64_t next, known; /* numbers of the next record, and of the newest one seen */
    uint64_t lost;
    unsigned in_vain; /* useless slots since others last had their turn */

    /* Only for a file: `count` records from `first` on, read after `known`. */
    uint64_t first;
    unsigned count;
    struct seen_slot seen[CHUNK];

    /* Names read so far: a name never changes. */
    bool is_named[WIRE_NAMES];
    struct wire_name names[WIRE_NAMES];
};

#define FIELD(name) offsetof(struct wire_layout, name)

/* ---- fields ---- */

static bool read_once(const struct wire_reader *r, size_t at, void *ret, size_t size)
{
    return pread(r->fd, ret, size, (off_t) at) == (ssize_t) size;
}

/*
 * A read during a write has no guarantees, so a value counts once two reads agree. A value that
 * changes faster than it can be read is taken as last read; then `*steady` is false. Returns false
 * if the field is not there, because the file was truncated.
 */
static bool read_field(const struct wire_reader *r, size_t at, void *ret, size_t size, bool *steady)
{
    unsigned char before[FIELD_BYTES];
    *steady = false;
    if (!read_once(r, at, ret, size))
        return false;
    for (unsigned i = 1; i < TRIES && !*steady; i++) {
        memcpy(before, ret, size);
        if (!read_once(r, at, ret, size))
            return false;
        *steady = memcmp(before, ret, size) == 0;
    }
    return true;
}

/* 0: nothing could be read. */
static uint64_t load64(const struct wire_reader *r, size_t at)
{
    uint64_t value;
    bool steady;
    if (r->layout)
        return atomic_load_explicit((_Atomic uint64_t *) (void *) ((char *) r->layout + at),
                                    memory_order_acquire);
    return read_field(r, at, &value, sizeof(value), &steady) ? value : 0;
}

static uint32_t load32(const struct wire_reader *r, size_t at)
{
    uint32_t value;
    bool steady;
    if (r->layout)
        return atomic_load_explicit((_Atomic uint32_t *) (void *) ((char *) r->layout + at),
                                    memory_order_acquire);
    return read_field(r, at, &value, sizeof(value), &steady) ? value : 0;
}

/* Writes only what differs, and only into a file that is long enough: our write must not make a
 * truncated file grow again. */
static void write_field(struct wire_reader *r, size_t at, const void *value, size_t size)
{
    unsigned char now[sizeof(uint64_t)];
    if (read_once(r, at, now, size) && memcmp(now, value, size) != 0)
        (void) !pwrite(r->fd, value, size, (off_t) at);
}

static void store64(struct wire_reader *r, size_t at, uint64_t value)
{
    if (r->layout)
        atomic_store_explicit((_Atomic uint64_t *) (void *) ((char *) r->layout + at), value,
                              memory_order_relaxed);
    else
        write_field(r, at, &value, sizeof(value));
}

static void store32(struct wire_reader *r, size_t at, uint32_t value)
{
    if (r->layout)
        atomic_store_explicit((_Atomic uint32_t *) (void *) ((char *) r->layout + at), value,
                              memory_order_relaxed);
    else
        write_field(r, at, &value, sizeof(value));
}

/* ---- opening ---- */

/* The start of a ring. Magic, version and slots lie there in every version; the rest in ours. */
struct head {
    uint64_t magic;
    uint32_t version, slots;
    int64_t pid;
    uint64_t start;
};

_Static_assert(offsetof(struct head, start) == offsetof(struct wire_layout, start), "as it lies");

static int check(int fd, off_t size, struct head *ret)
{
    if (pread(fd, ret, sizeof(*ret), 0) != sizeof(*ret) || ret->magic != WIRE_MAGIC)
        return -EPROTO;
    if (ret->version != WIRE_VERSION)
        return -EPROTONOSUPPORT;
    if (size != sizeof(struct wire_layout) || ret->slots != WIRE_SLOTS || ret->pid <= 0 ||
        ret->pid > INT32_MAX)
        return -EPROTO;
    return 0;
}

static int make(const struct wire_reader *filled, struct wire_reader **ret)
{
    struct wire_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    *r = *filled;
    *ret = r;
    return 0;
}

int wire_reader_open(int directory_fd, const char *file, struct wire_reader **ret)
{
    struct stat st;
    struct head head;
    int fd = wire_open_beneath(directory_fd, file, S_IFREG, O_RDWR, &st);
    if (fd < 0)
        return fd;
    int e = check(fd, st.st_size, &head);
    if (e == 0)
        e = make(
            &(struct wire_reader){
                .fd = fd, .pid = (pid_t) head.pid, .start = head.start, .decides = true},
            ret);
    if (e < 0)
        close(fd);
    return e;
}

int wire_reader_attach(struct wire_ring *ring, struct wire_reader **ret)
{
    struct wire_layout *l = ring->layout;
    return make(&(struct wire_reader){.layout = l,
                                      .fd = -1,
                                      .pid = (pid_t) l->pid,
                                      .start = l->start,
                                      .decides = !ring->directory},
                ret);
}

struct wire_reader *wire_reader_free(struct wire_reader *r)
{
    if (!r)
        return NULL;
    if (r->fd >= 0)
        close(r->fd);
    free(r);
    return NULL;
}

pid_t wire_reader_pid(const struct wire_reader *r)
{
    return r->pid;
}

uint64_t wire_reader_start(const struct wire_reader *r)
{
    return r->start;
}

/* ---- records ---- */

static bool read_head(const struct wire_reader *r, uint64_t *ret)
{
    bool steady = true;
    if (r->layout)
        *ret = load64(r, FIELD(head));
    else if (!read_field(r, FIELD(head), ret, sizeof(*ret), &steady))
        return false;
    return steady || *ret >= r->next;
}

/* Reads the number of the newest record. A reader that fell behind continues a quarter of the ring
 * after the oldest record there is. */
static void catch_up(struct wire_reader *r)
{
    uint64_t head;
    if (!read_head(r, &head))
        return;
    r->known = head;
    r->count = 0;
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

static void load_slot(const struct wire_slot *s, struct seen_slot *ret)
{
    ret->slot.sequence = atomic_load_explicit(&s->sequence, memory_order_acquire);
    ret->slot.time = atomic_load_explicit(&s->time, memory_order_relaxed);
    ret->slot.what = atomic_load_explicit(&s->what, memory_order_relaxed);
    ret->slot.value = atomic_load_explicit(&s->value, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    ret->sequence_after = atomic_load_explicit(&s->sequence, memory_order_relaxed);
}

/* Reads several slots three times: the first and last read give their sequences. If the file was
 * truncated, all of them count as never written. */
static void read_chunk(struct wire_reader *r)
{
    struct plain_slot before[CHUNK] = {0}, slots[CHUNK], after[CHUNK];
    uint64_t at = r->next % WIRE_SLOTS, most = r->known - r->next;
    most = most < CHUNK ? most : CHUNK;
    most = most < WIRE_SLOTS - at ? most : WIRE_SLOTS - at;
    size_t place = FIELD(ring) + at * sizeof(struct wire_slot), size = most * sizeof(*slots);
    bool whole = read_once(r, place, before, size);
    atomic_thread_fence(memory_order_seq_cst);
    whole = whole && read_once(r, place, slots, size);
    atomic_thread_fence(memory_order_seq_cst);
    whole = whole && read_once(r, place, after, size);
    memset(r->seen, 0, sizeof(r->seen));
    for (unsigned i = 0; whole && i < most; i++) {
        r->seen[i].slot = slots[i];
        r->seen[i].slot.sequence = before[i].sequence;
        r->seen[i].sequence_after = after[i].sequence;
    }
    r->first = r->next;
    r->count = (unsigned) most;
}

/* The slot of the next record. */
static struct seen_slot look_at_next(struct wire_reader *r)
{
    struct seen_slot seen;
    if (r->layout) {
        load_slot(&r->layout->ring[r->next % WIRE_SLOTS], &seen);
        return seen;
    }
    if (r->next - r->first >= r->count)
        read_chunk(r);
    return r->seen[r->next - r->first];
}

/* 1: copied; 0: not written yet; -1: overwritten. */
static int copy_next(struct wire_reader *r, struct wire_record *ret)
{
    struct seen_slot seen = look_at_next(r);
    uint64_t sequence = wire_written(r->next), what = seen.slot.what;
    if (seen.slot.sequence != sequence)
        return seen.slot.sequence > sequence ? -1 : 0;
    *ret = (struct wire_record){
        .time = seen.slot.time,
        .kind = (enum wire_kind)(what & 0xff),
        .source = (enum wire_source)(what >> 8 & 0xff),
        .name = (unsigned) (what >> 16 & 0xffff),
        .value = wire_double(seen.slot.value),
    };
    return seen.sequence_after == sequence ? 1 : -1;
}

static bool is_sane(const struct wire_record *x)
{
    return x->kind >= WIRE_STEP && x->kind <= WIRE_ASIDE && x->source <= WIRE_WATCHER &&
           x->name < WIRE_NAMES && isfinite(x->value);
}

/* What becomes of a next record that is not complete. */
enum incomplete {
    IT_WILL_BE, /* and later records wait for it */
    LOOK_AGAIN, /* many more records have come since */
    IT_NEVER_WILL,
};

static enum incomplete judge_incomplete(struct wire_reader *r)
{
    if (r->known - r->next >= ABANDONED)
        return IT_NEVER_WILL;
    catch_up(r);
    return r->known - r->next < ABANDONED ? IT_WILL_BE : LOOK_AGAIN;
}

/* 1: read; 0: a useless slot; -1: nothing more for now. */
static int read_next(struct wire_reader *r, struct wire_record *ret)
{
    struct wire_record x;
    int copied = copy_next(r, &x);
    enum incomplete state = copied == 0 ? judge_incomplete(r) : IT_NEVER_WILL;
    if (state != IT_NEVER_WILL)
        return state == IT_WILL_BE ? -1 : 0;
    r->next++;
    if (copied == 1 && is_sane(&x)) {
        *ret = x;
        return 1;
    }
    r->lost++;
    return 0;
}

bool wire_read(struct wire_reader *r, struct wire_record *ret)
{
    if (r->next == r->known)
        catch_up(r);
    while (r->next < r->known && r->in_vain < IN_VAIN_MOST) {
        int got = read_next(r, ret);
        if (got > 0)
            return true;
        if (got < 0)
            break;
        r->in_vain++;
    }
    r->in_vain = 0;
    return false;
}

uint64_t wire_reader_lost(const struct wire_reader *r)
{
    return r->lost;
}

/* ---- names and phases ---- */

static bool read_name(const struct wire_reader *r, unsigned name, struct wire_name *ret)
{
    size_t at = FIELD(names) + name * sizeof(struct wire_name_slot);
    if (load32(r, at + offsetof(struct wire_name_slot, ready)) == 0)
        return false;
    at += offsetof(struct wire_name_slot, name);
    if (r->layout)
        *ret = r->layout->names[name].name;
    else if (!read_once(r, at, ret, sizeof(*ret)))
        return false;
    ret->kind[sizeof(ret->kind) - 1] = ret->device[sizeof(ret->device) - 1] = '\0';
    return ret->kind[0] != '\0' && ret->unit <= WIRE_COUNT;
}

bool wire_reader_name(struct wire_reader *r, unsigned name, struct wire_name *ret)
{
    if (name >= WIRE_NAMES)
        return false;
    if (!r->is_named[name])
        r->is_named[name] = read_name(r, name, &r->names[name]);
    if (r->is_named[name])
        *ret = r->names[name];
    return r->is_named[name];
}

static void load_phase(const struct wire_phase_slot *s, struct wire_phase_count *ret)
{
    *ret = (struct wire_phase_count){
        .begun = atomic_load_explicit(&s->begun, memory_order_relaxed),
        .ended = atomic_load_explicit(&s->ended, memory_order_relaxed),
        .seconds = 1e-9 * (double) atomic_load_explicit(&s->nanoseconds, memory_order_relaxed),
    };
    memcpy(ret->name, s->name, sizeof(ret->name) - 1);
}

bool wire_reader_phase(const struct wire_reader *r, unsigned phase, struct wire_phase_count *ret)
{
    if (phase >= WIRE_PHASES)
        return false;
    struct wire_phase_slot copy;
    struct wire_phase_count count;
    bool steady;
    size_t at = FIELD(phases) + phase * sizeof(copy);
    if (load32(r, at + offsetof(struct wire_phase_slot, ready)) == 0)
        return false;
    if (r->layout)
        load_phase(&r->layout->phases[phase], &count);
    else if (read_field(r, at, &copy, sizeof(copy), &steady))
        load_phase(&copy, &count);
    else
        return false;
    *ret = count;
    return count.name[0] != '\0';
}

/* ---- the rest ---- */

double wire_reader_step(const struct wire_reader *r)
{
    uint64_t bits;
    bool steady;
    if (r->layout)
        return wire_double(load64(r, FIELD(step)));
    return read_field(r, FIELD(step), &bits, sizeof(bits), &steady) ? wire_double(bits) : NAN;
}

void wire_reader_wake_at(struct wire_reader *r, double step)
{
    store64(r, FIELD(wake_at), wire_bits(step));
}

void wire_reader_want(struct wire_reader *r, enum wire_wanted w)
{
    if (r->decides)
        store32(r, FIELD(wanted), w);
}

bool wire_reader_census_is_under_way(const struct wire_reader *r)
{
    pid_t pid = (pid_t) load32(r, FIELD(counting));
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

size_t wire_reader_own_shared(const struct wire_reader *r)
{
    return load64(r, FIELD(own_shared));
}

void wire_reader_act(struct wire_reader *r, unsigned acts)
{
    store32(r, FIELD(acts), acts);
}

bool wire_reader_has_left(const struct wire_reader *r)
{
    return load32(r, FIELD(left)) != 0;
}

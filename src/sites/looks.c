/* sites/looks.c: takes a process's trace file, look by look. Trusts nothing in it. */
#include "sites/looks.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MOST (UINT64_C(1) << 50) /* no sample has more bytes */
#define WEIGHT_MOST 0x1p52f

/* ---- the file ---- */

/* The layout asks for the alignment of a page, which a copy does not have: its members are found
 * one by one. */
#define PART(file, member)                                                                         \
    ((const void *) ((const char *) (file) + offsetof(struct wire_trace_layout, member)))
#define NUMBER(file, member)                                                                       \
    (*(const __typeof__(((struct wire_trace_layout *) 0)->member) *) PART(file, member))

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int look_at_head(const void *file, size_t size)
{
    if (size < sizeof(struct wire_trace_layout) || NUMBER(file, magic) != WIRE_TRACE_MAGIC)
        return -EPROTO;
    if (NUMBER(file, version) != WIRE_TRACE_VERSION)
        return -EPROTONOSUPPORT;
    return NUMBER(file, armed_at) == 0 && NUMBER(file, blocks.lists) == 0 ? -EAGAIN : 0;
}

/* From nanoseconds on wire_now()'s clock to a second of the run. */
static double second_of(uint64_t time, uint64_t origin)
{
    return 1e-9 * (double) (int64_t) (time - origin);
}

/* ---- tables ---- */

static void *copy_of(void *former, const void *part, size_t size)
{
    /* One byte more, for the NUL of the text. */
    char *copy = realloc(former, size + 1);
    if (!copy)
        base_out_of_memory();
    memcpy(copy, part, size);
    copy[size] = '\0';
    return copy;
}

static void copy_tables(struct look_tables *t, const void *file)
{
    t->frame_count = smaller(NUMBER(file, frames_used), WIRE_TRACE_FRAMES);
    t->text_size = smaller(NUMBER(file, text_used), WIRE_TRACE_TEXT);
    t->modules = copy_of(t->modules, PART(file, modules), WIRE_TRACE_MODULES * sizeof(*t->modules));
    t->functions =
        copy_of(t->functions, PART(file, functions), WIRE_TRACE_FUNCTIONS * sizeof(*t->functions));
    t->stacks = copy_of(t->stacks, PART(file, stacks), WIRE_TRACE_STACKS * sizeof(*t->stacks));
    t->frames = copy_of(t->frames, PART(file, frames), t->frame_count * sizeof(*t->frames));
    t->text = copy_of(t->text, PART(file, text), t->text_size);
}

static void free_tables(struct look_tables *t)
{
    free(t->modules);
    free(t->functions);
    free(t->stacks);
    free(t->frames);
    free(t->text);
}

static bool is_stack(const struct look_tables *t, uint32_t stack)
{
    return stack < WIRE_TRACE_STACKS && t->stacks[stack].ready && t->stacks[stack].hash != 0 &&
           t->stacks[stack].kind < WIRE_TRACE_KINDS;
}

size_t look_frames(const struct look_tables *t, uint32_t stack, const uint64_t **ret)
{
    if (!is_stack(t, stack))
        return 0;
    const struct wire_trace_stack *s = &t->stacks[stack];
    if (s->frames > t->frame_count || s->depth > WIRE_TRACE_DEPTH ||
        s->depth > t->frame_count - s->frames)
        return 0;
    *ret = t->frames + s->frames;
    return s->depth;
}

enum wire_trace_kind look_kind(const struct look_tables *t, uint32_t row)
{
    return is_stack(t, row) ? (enum wire_trace_kind) t->stacks[row].kind : WIRE_TRACE_MALLOC;
}

/* ---- live samples ---- */

static bool is_weight(uint64_t size, float weight)
{
    return size <= SIZE_MOST && weight > 0 && weight <= WEIGHT_MOST;
}

/* False: an unused slot, one that is being written, or nonsense. */
static bool is_sample(uint64_t address, const struct wire_trace_sample *s)
{
    return address != 0 && s->check == wire_trace_check(address, s) &&
           is_weight(s->size, s->weight);
}

/* Between the beginning of sampling and now. */
static double birth_of(const void *file, uint32_t ticks, uint64_t origin, double armed, double now)
{
    double birth =
        second_of(NUMBER(file, began), origin) + 1e-9 * (double) WIRE_TRACE_TICK * (double) ticks;
    return fmin(fmax(birth, armed), now);
}

static void take_live(struct site_looks *l, const void *file, uint64_t origin, double now)
{
    const _Atomic uint64_t *addresses = PART(file, addresses);
    const struct wire_trace_sample *samples = PART(file, live_samples);
    bool is_glibc = NUMBER(file, is_glibc_heap) != 0;
    l->live_count = 0;
    for (size_t i = 0; i < WIRE_TRACE_LIVE; i++) {
        const struct wire_trace_sample *s = &samples[i];
        if (!is_sample(addresses[i], s))
            continue;
        uint32_t row = is_stack(&l->tables, s->stack) ? s->stack : LOOK_STACKLESS;
        l->live[l->live_count++] = (struct look_sample){
            .birth = birth_of(file, s->birth, origin, l->armed, now),
            .size = s->size,
            .taken = wire_trace_taken(s->size, look_kind(&l->tables, row), is_glibc),
            .weight = s->weight,
            .row = row,
        };
    }
}

static double kept_at_last_look(const struct site_looks *l)
{
    double bytes = 0;
    for (size_t i = 0; i < l->live_count; i++)
        bytes += (double) l->live[i].weight;
    return bytes;
}

static double kept_now(const void *file)
{
    const _Atomic uint64_t *addresses = PART(file, addresses);
    const struct wire_trace_sample *samples = PART(file, live_samples);
    double bytes = 0;
    for (size_t i = 0; i < WIRE_TRACE_LIVE; i++)
        bytes += is_sample(addresses[i], &samples[i]) ? (double) samples[i].weight : 0;
    return bytes;
}

/* ---- blocks ---- */

static void take_memories(struct site_looks *l, const struct wire_trace_blocks *b, uint64_t origin,
                          double now)
{
    double armed = fmin(second_of(b->armed_at, origin), now);
    for (unsigned i = 0; i < WIRE_TRACE_MEMORIES; i++) {
        const struct wire_trace_memory *m = &b->memories[i];
        bool is_used = b->lists > 0 && (m->before > 0 || m->now > 0);
        l->memories[i] = (struct look_memory){
            .armed = is_used ? armed : (double) NAN,
            .seconds = fmin(fmax(second_of(b->moment, origin), armed), now),
            .growth = (double) m->now - (double) m->before,
            .interval = (double) b->interval,
        };
    }
}

static void take_block(struct site_looks *l, const void *file, const struct wire_trace_block *b,
                       uint64_t origin, double now)
{
    enum wire_trace_kind kind = look_kind(&l->tables, b->stack);
    if (!is_weight(b->size, b->weight) || !look_kind_is_apart(kind))
        return;
    l->blocks[l->block_count++] = (struct look_sample){
        .birth = birth_of(file, b->birth, origin, -INFINITY, now),
        .size = b->size,
        .taken = b->size,
        .weight = b->weight,
        .row = b->stack,
    };
}

/* A list that was replaced while the file was copied is not whole: the former one has to do. */
static void take_blocks(struct site_looks *l, const void *file, uint64_t origin, double now)
{
    const struct wire_trace_blocks *b = PART(file, blocks);
    if (b->version % 2 != 0 || b->version != b->same_version)
        return;
    take_memories(l, b, origin, now);
    l->block_count = 0;
    for (uint64_t i = 0; i < smaller(b->count, WIRE_TRACE_BLOCKS); i++)
        take_block(l, file, &b->list[i], origin, now);
}

/* ---- moments ---- */

static void drop_every_second(struct site_looks *l)
{
    l->moment_count = (l->moment_count + 1) / 2;
    for (unsigned k = 1; k < l->moment_count; k++)
        l->moments[k] = l->moments[2 * k];
    for (size_t i = 0; i < LOOK_ROWS; i++) {
        struct look_row *r = l->rows[i];
        for (unsigned k = 1; r && k < l->moment_count; k++) {
            r->bytes[k] = r->bytes[2 * k];
            r->variance[k] = r->variance[2 * k];
            r->allocated[k] = r->allocated[2 * k];
        }
    }
    l->stride *= 2;
}

/* The last look always has a moment, and gives it up again if it is off the stride. */
static void add_moment(struct site_looks *l, struct look_moment m)
{
    if (l->looks > 0 && (l->looks - 1) % l->stride != 0)
        l->moment_count--;
    if (l->moment_count == SITE_POINTS)
        drop_every_second(l);
    l->moments[l->moment_count++] = m;
    l->looks++;
}

static double interval_of(const struct site_looks *l, const void *file)
{
    double interval = (double) NUMBER(file, interval);
    double former = l->moment_count ? l->moments[l->moment_count - 1].interval : 0;
    return interval > 0 ? interval : former;
}

/* ---- rows ---- */

/* What is kept now, by row. */
struct tally {
    double bytes[LOOK_ROWS], variance[LOOK_ROWS];
    size_t stackless; /* samples, also of no bytes */
};

static void add_to_tally(struct tally *t, const struct look_sample *list, size_t count)
{
    for (const struct look_sample *s = list; s < list + count; s++) {
        t->bytes[s->row] += look_bytes(s);
        t->variance[s->row] += look_variance(s->taken, look_bytes(s));
        t->stackless += s->row == LOOK_STACKLESS;
    }
}

static struct tally *tally_of(const struct site_looks *l)
{
    struct tally *t = calloc(1, sizeof(*t));
    if (!t)
        base_out_of_memory();
    add_to_tally(t, l->live, l->live_count);
    add_to_tally(t, l->blocks, l->block_count);
    return t;
}

/* The row of a stack with that hash; its slot may have had another one before. */
static struct look_row *row_of(struct site_looks *l, size_t i, uint64_t hash)
{
    struct look_row *r = l->rows[i];
    if (r && r->hash == hash)
        return r;
    free(r);
    r = l->rows[i] = calloc(1, sizeof(*r));
    if (!r)
        base_out_of_memory();
    r->hash = hash;
    return r;
}

static void add_to_row(struct look_row *r, unsigned moment, double bytes, double variance,
                       double allocated)
{
    r->bytes[moment] = (float) bytes;
    r->variance[moment] = (float) fmin(variance, (double) FLT_MAX);
    r->allocated[moment] = (float) fmax(allocated, bytes);
}

static void add_to_rows(struct site_looks *l)
{
    struct tally *t = tally_of(l);
    unsigned moment = l->moment_count - 1;
    for (uint32_t i = 0; i < WIRE_TRACE_STACKS; i++) {
        const struct wire_trace_stack *s = &l->tables.stacks[i];
        if (is_stack(&l->tables, i))
            add_to_row(row_of(l, i, s->hash), moment, t->bytes[i], t->variance[i],
                       (double) s->bytes);
        else if (l->rows[i]) /* it was one before */
            add_to_row(l->rows[i], moment, 0, 0, 0);
    }
    if (t->stackless > 0 || l->rows[LOOK_STACKLESS])
        add_to_row(row_of(l, LOOK_STACKLESS, 0), moment, t->bytes[LOOK_STACKLESS],
                   t->variance[LOOK_STACKLESS], 0);
    free(t);
}

/* ---- the whole ---- */

struct site_looks *site_looks_new(void)
{
    struct site_looks *l = calloc(1, sizeof(*l));
    if (!l || !(l->live = malloc(WIRE_TRACE_LIVE * sizeof(*l->live))) ||
        !(l->blocks = malloc(WIRE_TRACE_BLOCKS * sizeof(*l->blocks))))
        base_out_of_memory();
    l->stride = 1;
    return l;
}

struct site_looks *site_looks_free(struct site_looks *l)
{
    if (!l)
        return NULL;
    for (size_t i = 0; i < LOOK_ROWS; i++)
        free(l->rows[i]);
    free_tables(&l->tables);
    free(l->live);
    free(l->blocks);
    free(l);
    return NULL;
}

/* NAN: never. */
static double armed_second(uint64_t at, uint64_t origin, double now)
{
    return at ? fmin(second_of(at, origin), now) : (double) NAN;
}

static void begin(struct site_looks *l, const void *file, uint64_t origin, double now)
{
    for (size_t i = 0; i < LOOK_ROWS; i++) {
        free(l->rows[i]);
        l->rows[i] = NULL;
    }
    l->moment_count = 0;
    l->looks = 0;
    l->stride = 1;
    l->block_count = 0;
    l->began = NUMBER(file, began);
    l->start = NUMBER(file, start);
    for (unsigned i = 0; i < WIRE_TRACE_MEMORIES; i++)
        l->memories[i].armed = NAN;
    /* Nothing was kept yet. */
    double first = fmin(armed_second(NUMBER(file, armed_at), origin, now),
                        armed_second(NUMBER(file, blocks.armed_at), origin, now));
    if (first < now)
        add_moment(l, (struct look_moment){first, interval_of(l, file)});
}

static void take_counts(struct site_looks *l, const void *file)
{
    l->counts.samples = (double) NUMBER(file, samples);
    l->counts.dropped = (double) NUMBER(file, dropped);
    l->counts.dropped_bytes = (double) NUMBER(file, dropped_bytes);
    l->counts.stackless = (double) NUMBER(file, stackless);
    l->counts.lost_frees = (double) NUMBER(file, lost_frees);
    l->counts.spent_seconds = 1e-9 * (double) NUMBER(file, spent);
    l->counts.blocks_spent_seconds = 1e-9 * (double) NUMBER(file, blocks.spent);
    l->counts.has_native = NUMBER(file, is_native) != 0;
    l->counts.has_python = NUMBER(file, is_python) != 0;
}

static bool is_other(const struct site_looks *l, const void *file)
{
    return l->moment_count == 0 || l->began != NUMBER(file, began) ||
           l->start != NUMBER(file, start);
}

int site_looks_take(struct site_looks *l, const void *file, size_t size, uint64_t origin,
                    uint64_t now)
{
    int r = look_at_head(file, size);
    if (r < 0)
        return r;
    if (NUMBER(file, is_frozen) && NUMBER(file, moment) < now)
        now = NUMBER(file, moment);
    double seconds = second_of(now, origin);
    if (is_other(l, file))
        begin(l, file, origin, seconds);
    else if (!(seconds > l->moments[l->moment_count - 1].seconds))
        return -ERANGE;
    l->armed = armed_second(NUMBER(file, armed_at), origin, seconds);
    copy_tables(&l->tables, file);
    take_counts(l, file);
    take_live(l, file, origin, seconds);
    take_blocks(l, file, origin, seconds);
    add_moment(l, (struct look_moment){seconds, interval_of(l, file)});
    add_to_rows(l);
    return 0;
}

int site_looks_take_last(struct site_looks *l, const void *file, size_t size, uint64_t origin,
                         uint64_t now)
{
    int r = look_at_head(file, size);
    if (r < 0)
        return r;
    if (!is_other(l, file) && kept_now(file) < kept_at_last_look(l))
        return -ESTALE;
    uint64_t last = NUMBER(file, moment);
    return site_looks_take(l, file, size, origin, last && last < now ? last : now);
}

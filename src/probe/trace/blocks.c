/* probe/trace/blocks.c: the blocks that torch has allocated, in the process's file. */
#include "probe/trace/blocks.h"

#include "probe/base/places.h"
#include "probe/trace/frame_words.h"
#include "probe/trace/sampling.h"
#include "probe/trace/stacks.h"
#include "probe/trace/tracer.h"

#include <stdatomic.h>
#include <string.h>

#define BEFORE_MOST (1u << 16) /* blocks that were there before and are remembered */

/* Of a list: what identifies the block, beside what the file has of it. */
struct entry {
    uint64_t address, identity;
    struct wire_trace_block block;
};

struct list {
    struct entry *entries;
    size_t count;
    struct places at; /* address to place in `entries`, plus 1 */
};

static struct {
    struct places before; /* address to identity */
    struct list last, next;
    bool is_first;   /* the list under way says what was there before */
    double interval; /* 0: all blocks have room */
    uint64_t moment; /* of the list under way */
    uint64_t armed_at, lists;
    struct wire_trace_memory memories[WIRE_TRACE_MEMORIES];
} blocks;

/* ---- orders and the file ---- */

bool blocks_are_wanted(void)
{
    sampling_look();
    return tracer_wants_blocks();
}

bool blocks_have_file(void)
{
    struct wire_trace_layout *f = tracer_enter_or_open();
    if (f)
        tracer_leave();
    return f != NULL;
}

void blocks_set_recording(enum wire_trace_recording recording)
{
    struct wire_trace_layout *f = tracer_enter();
    if (!f)
        return;
    atomic_store(&f->blocks.recording, recording);
    tracer_leave();
}

void blocks_add_cost(uint64_t ns)
{
    struct wire_trace_layout *f = tracer_enter();
    if (!f)
        return;
    atomic_fetch_add(&f->blocks.spent, ns);
    tracer_leave();
}

/* ---- lists ----
 *
 * In shared memory, which is known to be the probe's: some megabytes more would look like growth of
 * the program's own.
 */

#define ENTRIES_BYTES (WIRE_TRACE_BLOCKS * sizeof(struct entry))

static bool make_list(struct list *l)
{
    l->count = 0;
    if (!l->entries)
        l->entries = places_map_shared(ENTRIES_BYTES);
    if (!l->at.slots && !places_init(&l->at, WIRE_TRACE_BLOCKS, true))
        return false;
    places_clear(&l->at);
    return l->entries != NULL;
}

static void free_list(struct list *l)
{
    places_unmap_shared(l->entries, ENTRIES_BYTES);
    places_release(&l->at);
    *l = (struct list){0};
}

void blocks_forget(void)
{
    free_list(&blocks.last);
    free_list(&blocks.next);
    places_release(&blocks.before);
    memset(&blocks, 0, sizeof(blocks));
}

bool blocks_arm(void)
{
    if (!blocks_have_file())
        return false;
    blocks_forget();
    if (!places_init(&blocks.before, BEFORE_MOST, true) || !make_list(&blocks.last) ||
        !make_list(&blocks.next)) {
        blocks_forget();
        return false;
    }
    blocks.is_first = true;
    return true;
}

void blocks_begin(void)
{
    blocks.moment = wire_now();
    if (blocks.is_first)
        blocks.armed_at = blocks.moment;
    blocks.next.count = 0;
    if (blocks.next.at.slots)
        places_clear(&blocks.next.at);
    for (unsigned i = 0; i < WIRE_TRACE_MEMORIES; i++)
        blocks.memories[i].now = 0;
}

/* ---- blocks that do not all fit ---- */

/* Above 0 and at most 1; always the same for an address. */
static double part_of(uint64_t address)
{
    uint64_t word = (address >> 9) * UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    word *= UINT64_C(0xd6e8feb86659fd93);
    return ((double) (word >> 11) + 1) * 0x1p-53;
}

/* As if it were a sample: with the probability of its size. Sets its weight. */
static bool is_kept(struct entry *e)
{
    double size = (double) e->block.size;
    double weight = blocks.interval > 0 ? wire_trace_weight(e->block.size, blocks.interval) : size;
    e->block.weight = (float) weight;
    return part_of(e->address) * weight <= size;
}

static void append(struct list *l, const struct entry *e)
{
    bool is_new;
    struct place *p = places_add(&l->at, (uintptr_t) e->address, &is_new);
    if (!p)
        return;
    l->entries[l->count++] = *e;
    p->value = l->count;
}

static double bytes_of(const struct list *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->count; i++)
        sum += (double) l->entries[i].block.weight;
    return sum;
}

/* Until half of the room is free. */
static void thin(struct list *l)
{
    while (l->count > WIRE_TRACE_BLOCKS / 2) {
        size_t count = l->count;
        blocks.interval =
            blocks.interval > 0 ? 2 * blocks.interval : bytes_of(l) / WIRE_TRACE_BLOCKS;
        l->count = 0;
        places_clear(&l->at);
        for (size_t i = 0; i < count; i++)
            if (is_kept(&l->entries[i]))
                append(l, &l->entries[i]);
    }
}

/* ---- a list ---- */

uint64_t blocks_frame(const char *function, const char *file, uint32_t line)
{
    struct wire_trace_layout *f = tracer_enter();
    if (!f)
        return 0;
    uint64_t word = frame_word_named(f, function, file, line);
    tracer_leave();
    return word;
}

/* Never 0. */
static uint64_t identity_of(uint64_t size, const uint64_t *frames, size_t depth)
{
    uint64_t hash = size;
    for (size_t i = 0; i < depth; i++) {
        hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash ? hash : 1;
}

/* Where the table is full, a block without a stack may have been there before. */
static bool was_before(uint64_t address, uint64_t identity, size_t depth)
{
    const struct place *p = places_find(&blocks.before, (uintptr_t) address);
    if (!p)
        return depth == 0 && blocks.before.count >= places_room(&blocks.before);
    return p->value == identity;
}

static void remember(uint64_t address, uint64_t identity)
{
    bool is_new;
    struct place *p = places_add(&blocks.before, (uintptr_t) address, &is_new);
    if (p)
        p->value = identity;
}

/* As the last list had it, or from now on. */
static void fill(struct wire_trace_layout *f, struct entry *e, struct stack_place place,
                 const uint64_t *frames, size_t depth)
{
    const struct place *p = places_find(&blocks.last.at, (uintptr_t) e->address);
    const struct entry *former = p ? &blocks.last.entries[p->value - 1] : NULL;
    if (former && former->identity == e->identity) {
        e->block.stack = former->block.stack;
        e->block.birth = former->block.birth;
        return;
    }
    e->block.stack = stacks_of(f, place, frames, depth);
    e->block.birth = (uint32_t) ((blocks.moment - f->began) / WIRE_TRACE_TICK);
    stacks_count(f, e->block.stack, (double) e->block.size);
}

static void list(struct wire_trace_layout *f, unsigned memory, struct entry *e,
                 const uint64_t *frames, size_t depth)
{
    bool is_pinned = memory == WIRE_TRACE_DEVICES;
    struct stack_place place = {.kind = is_pinned ? WIRE_TRACE_PINNED : WIRE_TRACE_DEVICE,
                                .device = is_pinned ? 0 : memory};
    if (!is_kept(e))
        return;
    fill(f, e, place, frames, depth);
    append(&blocks.next, e);
    if (blocks.next.count == WIRE_TRACE_BLOCKS)
        thin(&blocks.next);
}

void blocks_add(unsigned memory, uint64_t address, uint64_t size, const uint64_t *frames,
                size_t depth)
{
    struct entry e = {.address = address, .block = {.size = size}};
    if (memory >= WIRE_TRACE_MEMORIES || address == 0 || size == 0 || !blocks.next.entries)
        return;
    blocks.memories[memory].now += size;
    e.identity = identity_of(size, frames, depth);
    if (blocks.is_first) {
        remember(address, e.identity);
        return;
    }
    struct wire_trace_layout *f = was_before(address, e.identity, depth) ? NULL : tracer_enter();
    if (!f)
        return;
    list(f, memory, &e, frames, depth);
    tracer_leave();
}

/* ---- in the file ---- */

static void publish(struct wire_trace_blocks *to, const struct list *l)
{
    wire_trace_blocks_begin(to);
    to->armed_at = blocks.armed_at;
    to->moment = blocks.moment;
    to->interval = (uint64_t) blocks.interval;
    to->lists = blocks.lists;
    memcpy(to->memories, blocks.memories, sizeof(to->memories));
    to->count = l->count;
    for (size_t i = 0; i < l->count; i++)
        to->list[i] = l->entries[i].block;
    wire_trace_blocks_end(to);
}

static void end_first(void)
{
    for (unsigned i = 0; i < WIRE_TRACE_MEMORIES; i++)
        blocks.memories[i].before = blocks.memories[i].now;
    blocks.is_first = false;
}

void blocks_end(void)
{
    struct wire_trace_layout *f = blocks.next.entries ? tracer_enter() : NULL;
    if (!f)
        return;
    if (blocks.is_first)
        end_first();
    blocks.lists++;
    publish(&f->blocks, &blocks.next);
    tracer_leave();
    struct list former = blocks.last;
    blocks.last = blocks.next;
    blocks.next = former;
}

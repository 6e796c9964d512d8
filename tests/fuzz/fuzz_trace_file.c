/*
 * tests/fuzz/fuzz_trace_file.c: any bytes in the trace file of a process, changing between the
 * looks at it. The input is 16-byte pieces: what to do, which table, the entry (two bytes), the
 * word of the entry (four), and its new value. The file is whole at first; every look copies it, as
 * the watcher does.
 */
#include "sites_checks.h"
#include "wire/wire.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PIECE 16u
#define PIECES 512u
#define SECOND UINT64_C(1000000000)
#define BEGAN (1000 * SECOND)

enum act { ACT_HEAD, ACT_ENTRY, ACT_SEALED, ACT_LOOK, ACT_ANEW, ACT_BLOCKS, ACTS };

struct piece {
    uint8_t act, member;
    uint16_t entry;
    uint32_t word;
    uint64_t value;
};

#define TABLE(member, entries)                                                                     \
    {                                                                                              \
        offsetof(struct wire_trace_layout, member),                                                \
            sizeof(((struct wire_trace_layout *) 0)->member) / (entries), entries                  \
    }

static const struct table {
    size_t start, entry_size, entries;
} tables[] = {
    TABLE(modules, WIRE_TRACE_MODULES),   TABLE(functions, WIRE_TRACE_FUNCTIONS),
    TABLE(text, WIRE_TRACE_TEXT / 8),     TABLE(stacks, WIRE_TRACE_STACKS),
    TABLE(frames, WIRE_TRACE_FRAMES),     TABLE(addresses, WIRE_TRACE_LIVE),
    TABLE(live_samples, WIRE_TRACE_LIVE), TABLE(blocks.list, WIRE_TRACE_BLOCKS),
};

#define TABLES (sizeof tables / sizeof *tables)
#define SAMPLES (TABLES - 2)

/* One file for all inputs; what an input changed is zero again before the next one. */
static struct wire_trace_layout *file;
static size_t changed[PIECES + 2]; /* a piece changes three words at most */
static unsigned changes;

static void begin(void)
{
    if (!file && posix_memalign((void **) &file, 4096, sizeof *file) == 0)
        memset(file, 0, sizeof *file);
    REQUIRE(file != NULL);
    while (changes > 0)
        memset((char *) file + changed[--changes], 0, 8);
    memset((void *) file, 0, offsetof(struct wire_trace_layout, modules));
    file->version = WIRE_TRACE_VERSION;
    file->start = 77;
    file->began = BEGAN;
    file->armed_at = BEGAN;
    file->interval = 65536;
    file->text_used = 4096;
    file->frames_used = 4096;
    file->magic = WIRE_TRACE_MAGIC;
}

static void put(size_t at, uint64_t value)
{
    memcpy((char *) file + at, &value, sizeof value);
    changed[changes++] = at;
}

/* The head is made anew for every input. */
static void put_head(const struct piece *p)
{
    size_t words = offsetof(struct wire_trace_layout, coverage) / 8;
    memcpy((char *) file + 8 * (p->entry % words), &p->value, sizeof p->value);
}

/* Mostly the first entries, so that they meet. */
static size_t entry_of(const struct table *t, uint16_t entry)
{
    return (entry & 0x8000 ? entry & 0x7fff : entry & 15) % t->entries;
}

static void put_entry(const struct piece *p)
{
    const struct table *t = &tables[p->member % TABLES];
    size_t word = p->word % (t->entry_size / 8);
    put(t->start + entry_of(t, p->entry) * t->entry_size + 8 * word, p->value);
}

/* A sample that is not torn: fuzzing would not find its check. */
static void put_sealed(const struct piece *p)
{
    const struct table *t = &tables[SAMPLES];
    size_t at = entry_of(t, p->entry);
    put(t->start + at * t->entry_size + 8 * (p->member % 3), p->value);
    struct wire_trace_sample *s = &file->live_samples[at];
    if (!file->addresses[at] && changes < PIECES)
        put(offsetof(struct wire_trace_layout, addresses) + 8 * at, 4096 + 16 * at);
    s->check = wire_trace_check(file->addresses[at], s);
}

/* The head of the list of blocks, and at times a list that is not whole. */
static void put_blocks(const struct piece *p)
{
    const size_t head = offsetof(struct wire_trace_layout, blocks);
    size_t words = offsetof(struct wire_trace_blocks, list) / 8;
    put(head + 8 * (p->entry % words), p->value);
    if (p->member % 4 != 0 && changes + 2 <= PIECES) {
        put(head, 0);
        put(head + offsetof(struct wire_trace_blocks, same_version), 0);
    }
}

static size_t name(void *context, const struct site_address *a, struct site_frame *ret, size_t most)
{
    static const struct site_frame functions[] = {
        {"at::detail::empty", "", 0, "", 0, true},
        {"at::empty", "Empty.cpp", 12, "", 0, true},
        {"PyObject_Call", "", 0, "", 0, false},
    };
    size_t count = a->offset % 4;
    (void) context;
    REQUIRE(a->path[0] && a->build_id_length <= WIRE_TRACE_BUILD_ID);
    for (size_t i = 0; i < count && i < most; i++)
        ret[i] = functions[i];
    return count < most ? count : most;
}

static void look(struct site_looks *l, uint64_t now)
{
    char *copy = malloc(sizeof *file);
    REQUIRE(copy != NULL);
    memcpy(copy, (const void *) file, sizeof *file);
    (void) site_looks_take(l, copy, sizeof *file, BEGAN - SECOND, now);
    free(copy);
}

static void check(const struct site_looks *l)
{
    struct sites *s = site_looks_sites(l, name, NULL);
    if (!s)
        return;
    check_sites(s);
    check_text(s);
    export_sites(s);
    sites_free(s);
}

static void act(struct site_looks *l, const struct piece *p, uint64_t *now)
{
    switch (p->act % ACTS) {
    case ACT_HEAD:
        put_head(p);
        break;
    case ACT_ENTRY:
        put_entry(p);
        break;
    case ACT_SEALED:
        put_sealed(p);
        break;
    case ACT_BLOCKS:
        put_blocks(p);
        break;
    case ACT_LOOK:
        look(l, *now += p->value % (64 * SECOND));
        break;
    default: /* another program in the same process */
        file->began = *now;
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct site_looks *l = site_looks_new();
    uint64_t now = BEGAN + SECOND;
    unsigned looks = 0;
    begin();
    for (size_t i = 0; i + PIECE <= size && changes < PIECES; i += PIECE) {
        struct piece p;
        memcpy(&p, data + i, sizeof p);
        if (p.act % ACTS != ACT_LOOK || looks++ < 16)
            act(l, &p, &now);
    }
    look(l, now + SECOND);
    check(l);
    site_looks_free(l);
    return 0;
}

/* probe/trace/patch.c: puts functions of ours into the import tables of loaded files. */
#include "probe/trace/patch.h"

#include "probe/trace/loaded.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define OF_FUNCTION R_X86_64_JUMP_SLOT
#define OF_ADDRESS R_X86_64_GLOB_DAT
#define OF_DATA R_X86_64_64
#elif defined(__aarch64__)
#define OF_FUNCTION R_AARCH64_JUMP_SLOT
#define OF_ADDRESS R_AARCH64_GLOB_DAT
#define OF_DATA R_AARCH64_ABS64
#else
#define OF_FUNCTION UINT32_MAX
#define OF_ADDRESS UINT32_MAX
#define OF_DATA UINT32_MAX
#endif

typedef _Atomic(uintptr_t) slot;

/* ---- files that were seen ---- */

/* A file is known by the place of its dynamic section, as long as none was unloaded. One without
 * room here is seen again. */
#define SEEN 4096u

static struct {
    const void *files[SEEN];
    struct loaded_changes changes; /* at the last patch_apply() */
    _Atomic unsigned long long added;
} seen;

/* False: it was seen before. */
static bool see(const void *dynamic)
{
    size_t at = (uintptr_t) dynamic / sizeof(ElfW(Dyn)) % SEEN;
    if (seen.files[at] == dynamic)
        return false;
    seen.files[at] = dynamic;
    return true;
}

static void forget_seen(void)
{
    for (size_t i = 0; i < SEEN; i++)
        seen.files[i] = NULL;
}

/* ---- the symbols of one file ---- */

struct wanted {
    uint32_t symbol;
    const struct patch *patch;
};

#define BITS 1024u

struct work {
    const struct patch *list;
    size_t count;
    bool undoes;
    struct range allocator; /* its file, unless it is the C library; empty: it is */
    int changed, failed;

    const struct loaded_file *file;
    struct wanted wanted[2 * PATCH_MOST];
    size_t wanted_count;
    uint64_t bits[BITS / 64]; /* of the wanted symbols' numbers: most others are not among them */
    uint64_t beginnings;      /* of the wanted names */
    bool is_foreign;          /* calls another allocator */
    bool is_open;             /* its sealed pages are writable for the moment */
};

static void want(struct work *w, uint32_t symbol, const struct patch *p)
{
    if (w->wanted_count == sizeof(w->wanted) / sizeof(w->wanted[0]))
        return;
    w->wanted[w->wanted_count++] = (struct wanted){symbol, p};
    w->bits[symbol % BITS / 64] |= UINT64_C(1) << symbol % 64;
}

/* Of the beginning of a name: most names begin otherwise. */
static uint64_t bit_of(const char *name)
{
    unsigned sum = (unsigned char) name[0];
    sum = sum * 31 + (name[0] ? (unsigned char) name[1] : 0);
    sum = sum * 31 + (name[0] && name[1] ? (unsigned char) name[2] : 0);
    return UINT64_C(1) << sum % 64;
}

static void want_needed(uint32_t symbol, const char *name, void *context)
{
    struct work *w = context;
    if (!(w->beginnings & bit_of(name)))
        return;
    for (size_t i = 0; i < w->count; i++)
        if (*w->list[i].real && strcmp(w->list[i].name, name) == 0)
            want(w, symbol, &w->list[i]);
}

static void find_wanted(struct work *w)
{
    w->wanted_count = 0;
    memset(w->bits, 0, sizeof(w->bits));
    loaded_each_needed(w->file, want_needed, w);
    for (size_t i = 0; i < w->count; i++) {
        uint32_t own = *w->list[i].real ? loaded_offered(w->file, w->list[i].name) : 0;
        if (own)
            want(w, own, &w->list[i]);
    }
}

static const struct wanted *wanted_by(const struct work *w, const ElfW(Rela) * r)
{
    uint32_t symbol = (uint32_t) ELF64_R_SYM(r->r_info);
    if (!(w->bits[symbol % BITS / 64] >> symbol % 64 & 1))
        return NULL;
    for (size_t i = 0; i < w->wanted_count; i++)
        if (w->wanted[i].symbol == symbol)
            return &w->wanted[i];
    return NULL;
}

/* ---- its slots ---- */

typedef void handle(struct work *w, const struct wanted *s, slot *at, bool may_be_lazy);

#define FUNCTIONS 1u /* the table of slots that may be lazy */

static void each_slot(struct work *w, unsigned first_table, handle *act)
{
    for (unsigned t = first_table; t < LOADED_TABLES; t++)
        for (size_t i = 0; i < w->file->counts[t]; i++) {
            const ElfW(Rela) *r = &w->file->tables[t][i];
            const struct wanted *s = wanted_by(w, r);
            uint32_t kind = (uint32_t) ELF64_R_TYPE(r->r_info);
            bool is_whole = kind == OF_DATA && r->r_addend == 0;
            uintptr_t at = w->file->bias + r->r_offset;
            if (s && (kind == OF_FUNCTION || kind == OF_ADDRESS || is_whole) &&
                at % sizeof(slot) == 0)
                act(w, s, (slot *) at, kind == OF_FUNCTION); /* NOLINT */
        }
}

/* The loader finds the function on the first call, until when the slot leads into the file itself.
 * Not if the file defines one that the program does not call. */
static bool is_lazy(const struct work *w, const struct wanted *s, uintptr_t value)
{
    const ElfW(Sym) *symbol = &w->file->symbols[s->symbol];
    uintptr_t own = w->file->bias + symbol->st_value;
    bool is_own = symbol->st_shndx != SHN_UNDEF && own != (uintptr_t) *s->patch->real;
    return !is_own && range_has(w->file->extent, value);
}

static void look_for_foreign(struct work *w, const struct wanted *s, slot *at, bool may_be_lazy)
{
    uintptr_t value = atomic_load(at);
    bool is_known =
        value == 0 || value == (uintptr_t) *s->patch->real || value == (uintptr_t) s->patch->ours;
    if (!is_known && may_be_lazy && !is_lazy(w, s, value))
        w->is_foreign = true;
}

static bool open_sealed(struct work *w, uintptr_t at)
{
    struct range r = w->file->sealed;
    if (w->is_open || !range_has(r, at))
        return true;
    w->is_open = mprotect((void *) r.begin, r.end - r.begin, PROT_READ | PROT_WRITE) == 0; /* NOLINT
                                                                                            */
    return w->is_open;
}

static void close_sealed(struct work *w)
{
    struct range r = w->file->sealed;
    if (w->is_open)
        (void) mprotect((void *) r.begin, r.end - r.begin, PROT_READ); /* NOLINT */
    w->is_open = false;
}

/* Another thread may be finding the function for the same slot: what it writes then is kept. */
static void exchange(struct work *w, slot *at, uintptr_t from, void *to)
{
    if (!open_sealed(w, (uintptr_t) at))
        w->failed++;
    else if (atomic_compare_exchange_strong(at, &from, (uintptr_t) to))
        w->changed++;
}

static void change(struct work *w, const struct wanted *s, slot *at, bool may_be_lazy)
{
    uintptr_t value = atomic_load(at);
    bool leads_there = value == (uintptr_t) *s->patch->real;
    if (leads_there || (may_be_lazy && !w->is_foreign && is_lazy(w, s, value)))
        exchange(w, at, value, s->patch->ours);
}

static void change_back(struct work *w, const struct wanted *s, slot *at, bool may_be_lazy)
{
    (void) may_be_lazy;
    if (atomic_load(at) == (uintptr_t) s->patch->ours)
        exchange(w, at, (uintptr_t) s->patch->ours, *s->patch->real);
}

/* ---- all files ---- */

static bool is_left_alone(const struct work *w, const struct loaded_file *f)
{
    return range_has(range_own, (uintptr_t) f->dynamic) ||
           range_has(w->allocator, (uintptr_t) f->dynamic);
}

static bool work_on(const struct loaded_file *f, void *context)
{
    struct work *w = context;
    if (is_left_alone(w, f) || (!w->undoes && !see(f->dynamic)))
        return false;
    w->file = f;
    w->is_foreign = false;
    find_wanted(w);
    if (w->wanted_count == 0)
        return false;
    if (w->undoes) {
        each_slot(w, 0, change_back);
    } else {
        each_slot(w, FUNCTIONS, look_for_foreign);
        each_slot(w, 0, change);
    }
    close_sealed(w);
    return false;
}

static void find_allocator(struct work *w)
{
    void *allocator = NULL, *libc = loaded_function("gnu_get_libc_version", 0);
    for (size_t i = 0; i < w->count && !allocator; i++)
        allocator = *w->list[i].real;
    w->allocator = range_of_file((uintptr_t) allocator);
    if (range_has(w->allocator, (uintptr_t) libc))
        w->allocator = (struct range){0, 0};
}

static void apply(void *context)
{
    struct work *w = context;
    struct loaded_changes now = loaded_changes();
    if (w->undoes || now.removed != seen.changes.removed)
        forget_seen();
    loaded_each(work_on, w);
    seen.changes = now;
    atomic_store(&seen.added, w->undoes ? 0 : now.added);
}

static bool do_work(struct work *w)
{
    find_allocator(w);
    for (size_t i = 0; i < w->count; i++)
        w->beginnings |= bit_of(w->list[i].name);
    return loaded_alone(apply, w);
}

int patch_apply(const struct patch *list, size_t count)
{
    struct work w = {.list = list, .count = count < PATCH_MOST ? count : PATCH_MOST};
    return do_work(&w) ? w.changed : -EAGAIN;
}

bool patch_is_stale(void)
{
    return loaded_changes().added != atomic_load(&seen.added);
}

#define CALM UINT64_C(200000000) /* ns */

bool patch_is_calm(void)
{
    static struct loaded_changes last;
    static uint64_t since;
    struct loaded_changes changes = loaded_changes();
    uint64_t now = wire_now();
    if (since != 0 && changes.added == last.added && changes.removed == last.removed)
        return now >= since + CALM;
    last = changes;
    since = now;
    return false;
}

int patch_undo(const struct patch *list, size_t count)
{
    struct work w = {
        .list = list, .count = count < PATCH_MOST ? count : PATCH_MOST, .undoes = true};
    return do_work(&w) ? w.failed : -EAGAIN;
}

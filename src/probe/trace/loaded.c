/* probe/trace/loaded.c: the dynamic sections of loaded files. */
#include "probe/trace/loaded.h"

#include "probe/trace/modules.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* ---- one file ---- */

/* glibc has made the addresses in a dynamic section absolute, unless the section is read-only. */
static uintptr_t absolute(const struct loaded_file *f, const ElfW(Dyn) * d)
{
    uintptr_t address = d->d_un.d_ptr;
    return range_has(f->extent, address) ? address : f->bias + address;
}

static const void *pointer(const struct loaded_file *f, const ElfW(Dyn) * d)
{
    return (const void *) absolute(f, d); /* NOLINT */
}

struct sizes {
    size_t data, relative, functions;
    bool has_others; /* relocations of another form */
};

static void note(struct loaded_file *f, struct sizes *s, const ElfW(Dyn) * d)
{
    switch (d->d_tag) {
    case DT_SYMTAB:
        f->symbols = pointer(f, d);
        break;
    case DT_STRTAB:
        f->strings = pointer(f, d);
        break;
    case DT_HASH:
        f->hash = pointer(f, d);
        break;
    case DT_GNU_HASH:
        f->gnu_hash = pointer(f, d);
        break;
    case DT_RELA:
        f->tables[0] = pointer(f, d);
        break;
    case DT_JMPREL:
        f->tables[1] = pointer(f, d);
        break;
    case DT_RELASZ:
        s->data = d->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_RELACOUNT:
        s->relative = d->d_un.d_val;
        break;
    case DT_PLTRELSZ:
        s->functions = d->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_PLTREL:
        s->has_others = d->d_un.d_val != DT_RELA;
        break;
    default:
        break;
    }
}

/* Relative relocations, which name no symbol, come first. */
static void find_tables(struct loaded_file *f, const struct sizes *s)
{
    if (f->tables[0] && s->relative < s->data) {
        f->tables[0] += s->relative;
        f->counts[0] = s->data - s->relative;
    }
    if (f->tables[1] && !s->has_others)
        f->counts[1] = s->functions;
}

static struct range sealed(const struct loaded_file *f, const ElfW(Phdr) * h)
{
    uintptr_t page = (uintptr_t) getpagesize(), begin = f->bias + h->p_vaddr;
    return (struct range){begin & ~(page - 1), (begin + h->p_memsz) & ~(page - 1)};
}

static void extend(struct range *r, uintptr_t begin, uintptr_t end)
{
    r->begin = r->end == 0 || begin < r->begin ? begin : r->begin;
    r->end = end > r->end ? end : r->end;
}

static void read_headers(struct loaded_file *f, const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t begin = f->bias + h->p_vaddr;
        if (h->p_type == PT_LOAD)
            extend(&f->extent, begin, begin + h->p_memsz);
        else if (h->p_type == PT_DYNAMIC)
            f->dynamic = (const void *) begin; /* NOLINT */
        else if (h->p_type == PT_GNU_RELRO)
            f->sealed = sealed(f, h);
    }
}

static bool describe(struct loaded_file *f, const struct dl_phdr_info *info)
{
    struct sizes s = {0};
    *f = (struct loaded_file){.bias = info->dlpi_addr};
    read_headers(f, info);
    for (const ElfW(Dyn) *d = f->dynamic; d && d->d_tag != DT_NULL; d++)
        note(f, &s, d);
    find_tables(f, &s);
    return f->symbols && f->strings;
}

/* ---- all files ---- */

struct round {
    loaded_visit *visit;
    void *context;
};

static int visit_one(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct round *r = context;
    struct loaded_file f;
    (void) size;
    return describe(&f, info) && r->visit(&f, r->context);
}

void loaded_each(loaded_visit *visit, void *context)
{
    struct round r = {visit, context};
    uint64_t signals = modules_hold_forks();
    dl_iterate_phdr(visit_one, &r);
    modules_let_fork(signals);
}

static int take_counts(struct dl_phdr_info *info, size_t size, void *context)
{
    struct loaded_changes *c = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        *c = (struct loaded_changes){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

struct loaded_changes loaded_changes(void)
{
    struct loaded_changes c = {0, 0};
    uint64_t signals = modules_hold_forks();
    dl_iterate_phdr(take_counts, &c);
    modules_let_fork(signals);
    return c;
}

/* ---- alone ---- */

/*
 * dlsym() holds that lock, and calls the function that chooses among several (an IFUNC) with it.
 * Nothing but loaded_alone() ever asks for this symbol.
 */
#ifdef TIDEMARK_INTERPOSES
#define ALONE tidemark_preload_alone
#else
#define ALONE tidemark_probe_alone
#endif
#define NAME_OF(symbol) #symbol
#define NAME(symbol) NAME_OF(symbol)

/* The compiler does not see that dlsym() comes back here. */
static void (*volatile alone_work)(void *context);
static void *volatile alone_context;
static _Atomic pid_t alone_by; /* the process, because a fork may come meanwhile; 0: none */

static void nothing(void)
{
}

__attribute__((used)) static void (*work_alone(void))(void)
{
    void (*work)(void *) = alone_work;
    if (work)
        work(alone_context);
    alone_work = NULL;
    return nothing;
}

void ALONE(void) __attribute__((ifunc("work_alone"), visibility("default")));

bool loaded_alone(void (*work)(void *context), void *context)
{
    pid_t own = getpid(), other = atomic_load(&alone_by);
    if (other == own || !atomic_compare_exchange_strong(&alone_by, &other, own))
        return false;
    alone_context = context;
    alone_work = work;
    (void) dlsym(RTLD_DEFAULT, NAME(ALONE));
    bool done = !alone_work;
    alone_work = NULL;
    atomic_store(&alone_by, 0);
    return done;
}

/* ---- symbols ---- */

/* Not by strcmp(): a sanitizer's may not have begun yet. */
static bool is_called(const struct loaded_file *f, uint32_t symbol, const char *name)
{
    const char *other = f->strings + f->symbols[symbol].st_name;
    while (*name && *name == *other) {
        name++;
        other++;
    }
    return *name == *other;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char) *name;
    return h;
}

/* The table of the symbols that a file defines, by name. */
struct gnu_hash {
    uint32_t buckets, first, bloom_words, shift;
};

static uint32_t by_gnu_hash(const struct loaded_file *f, const char *name)
{
    struct gnu_hash t;
    memcpy(&t, f->gnu_hash, sizeof(t));
    const uint32_t *buckets = f->gnu_hash + sizeof(t) / sizeof(uint32_t) +
                              (size_t) t.bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + t.buckets;
    uint32_t wanted = hash_of(name), i = t.buckets ? buckets[wanted % t.buckets] : 0;
    if (i < t.first)
        return 0;
    for (;; i++) {
        uint32_t h = chain[i - t.first];
        if ((h | 1) == (wanted | 1) && is_called(f, i, name))
            return i;
        if (h & 1)
            return 0;
    }
}

/* Where there is only the older table, whose second word is the number of symbols: all are tried.
 */
uint32_t loaded_offered(const struct loaded_file *f, const char *name)
{
    if (f->gnu_hash)
        return by_gnu_hash(f, name);
    for (uint32_t i = 1; f->hash && i < f->hash[1]; i++)
        if (f->symbols[i].st_value != 0 && is_called(f, i, name))
            return i;
    return 0;
}

void loaded_each_needed(const struct loaded_file *f, loaded_symbol *visit, void *context)
{
    uint32_t count = f->gnu_hash ? f->gnu_hash[1] : f->hash ? f->hash[1] : 0;
    for (uint32_t i = 1; i < count; i++)
        if (f->symbols[i].st_value == 0)
            visit(i, f->strings + f->symbols[i].st_name, context);
}

/* ---- functions ---- */

struct search {
    const char *name;
    uintptr_t after;
    void *found;
};

static bool search_in(const struct loaded_file *f, void *context)
{
    struct search *s = context;
    if (s->after) {
        s->after = range_has(f->extent, s->after) ? 0 : s->after;
        return false;
    }
    uint32_t symbol = loaded_offered(f, s->name);
    const ElfW(Sym) *found = &f->symbols[symbol];
    if (symbol && found->st_shndx != SHN_UNDEF && found->st_value != 0)
        s->found = (void *) (f->bias + found->st_value); /* NOLINT */
    return s->found != NULL;
}

void *loaded_function(const char *name, uintptr_t after)
{
    struct search s = {.name = name, .after = after};
    loaded_each(search_in, &s);
    return s.found;
}

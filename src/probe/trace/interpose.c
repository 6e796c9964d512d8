/* probe/trace/interpose.c: functions of ours that stand before the allocator's. */
#include "probe/trace/interpose.h"

#include "probe/trace/loaded.h"
#include "probe/trace/lookup.h"
#include "probe/trace/operators.h"
#include "probe/trace/range.h"
#include "probe/trace/sampling.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define NEVER_INLINE __attribute__((noinline, cold))

/* ---- the functions behind ---- */

static void *first_malloc(size_t size);
static void first_free(void *block);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *block, size_t size);
static int first_posix_memalign(void **ret, size_t alignment, size_t size);
static void *first_aligned_alloc(size_t alignment, size_t size);
static void *first_memalign(size_t alignment, size_t size);
static void *first_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);
static int first_munmap(void *address, size_t size);
static void *first_mremap(void *old, size_t old_size, size_t size, int flags, void *target);
static void *first_sbrk(intptr_t change);

/* Until one of them is called, each leads to a function that looks all of them up. They are not
 * looked up in a constructor: those of other libraries allocate before ours runs. */
static struct {
    void *(*malloc)(size_t size);
    void (*free)(void *block);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    int (*posix_memalign)(void **ret, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*mmap)(void *address, size_t size, int protection, int flags, int fd, off_t at);
    int (*munmap)(void *address, size_t size);
    void *(*mremap)(void *old, size_t old_size, size_t size, int flags, void *target);
    void *(*sbrk)(intptr_t change);
} next = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_aligned_alloc,
    .memalign = first_memalign,
    .mmap = first_mmap,
    .munmap = first_munmap,
    .mremap = first_mremap,
    .sbrk = first_sbrk,
};

static const struct {
    const char *name;
    void **place;
} names[] = {
    {"malloc", (void **) &next.malloc},
    {"free", (void **) &next.free},
    {"calloc", (void **) &next.calloc},
    {"realloc", (void **) &next.realloc},
    {"posix_memalign", (void **) &next.posix_memalign},
    {"aligned_alloc", (void **) &next.aligned_alloc},
    {"memalign", (void **) &next.memalign},
    {"mmap", (void **) &next.mmap},
    {"munmap", (void **) &next.munmap},
    {"mremap", (void **) &next.mremap},
    {"sbrk", (void **) &next.sbrk},
};

/* What dlsym() allocates comes from the reserve. */
static __thread __attribute__((tls_model("initial-exec"))) bool is_resolving;

static void resolve(void)
{
    int kept = errno;
    is_resolving = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *found = lookup_next(names[i].name);
        if (found)
            __atomic_store_n(names[i].place, found, __ATOMIC_RELEASE);
    }
    is_resolving = false;
    errno = kept;
}

/* ---- the reserve ---- */

/* dlsym() may allocate (glibc before 2.34), before there is a function to do it. Each block has its
 * size before it. They are few, and stay. */
#define RESERVE 8192u
#define ALIGNED 16u

static _Alignas(ALIGNED) char reserve[RESERVE];
static size_t reserve_used;

static bool is_of_reserve(const void *block)
{
    return (uintptr_t) block - (uintptr_t) reserve < RESERVE;
}

static void *reserve_take(size_t size)
{
    size_t whole = (size + 2 * ALIGNED - 1) / ALIGNED * ALIGNED;
    if (size > RESERVE || whole > RESERVE - reserve_used) {
        errno = ENOMEM;
        return NULL;
    }
    char *block = reserve + reserve_used + ALIGNED;
    memcpy(block - ALIGNED, &size, sizeof(size));
    reserve_used += whole;
    sampling_watch(block);
    return block;
}

static size_t reserve_size(const void *block)
{
    size_t size;
    memcpy(&size, (const char *) block - ALIGNED, sizeof(size));
    return size;
}

/* ---- the first calls ---- */

static void *first_malloc(size_t size)
{
    if (is_resolving)
        return reserve_take(size);
    resolve();
    return next.malloc(size);
}

static void first_free(void *block)
{
    if (is_resolving)
        return;
    resolve();
    next.free(block);
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (is_resolving)
        return __builtin_mul_overflow(count, size, &bytes) ? NULL : reserve_take(bytes);
    resolve();
    return next.calloc(count, size);
}

static void *first_realloc(void *block, size_t size)
{
    if (is_resolving)
        return NULL;
    resolve();
    return next.realloc(block, size);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t size)
{
    if (is_resolving)
        return ENOMEM;
    resolve();
    return next.posix_memalign(ret, alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
    if (is_resolving)
        return NULL;
    resolve();
    return next.aligned_alloc(alignment, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
    if (is_resolving)
        return NULL;
    resolve();
    return next.memalign(alignment, size);
}

static void *first_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    if (is_resolving)
        return MAP_FAILED;
    resolve();
    return next.mmap(address, size, protection, flags, fd, at);
}

static int first_munmap(void *address, size_t size)
{
    if (is_resolving)
        return -1;
    resolve();
    return next.munmap(address, size);
}

static void *first_mremap(void *old, size_t old_size, size_t size, int flags, void *target)
{
    if (is_resolving)
        return MAP_FAILED;
    resolve();
    return next.mremap(old, old_size, size, flags, target);
}

static void *first_sbrk(intptr_t change)
{
    if (is_resolving)
        return MAP_FAILED;
    resolve();
    return next.sbrk(change);
}

/* ---- malloc() and its family ---- */

/* Apart, so that the usual way ends with a jump to the real function. */
NEVER_INLINE static void *take(void *block, size_t size)
{
    sampling_take(block, size, WIRE_TRACE_MALLOC);
    return block;
}

static void *wrap_malloc(size_t size)
{
    if (sampling_counts(size))
        return take(next.malloc(size), size);
    return next.malloc(size);
}

NEVER_INLINE static void forget_and_free(void *block)
{
    if (is_of_reserve(block))
        return;
    sampling_forget(block);
    next.free(block);
}

/* The record goes first: once the block is free, another thread may get its address. */
static void wrap_free(void *block)
{
    if (sampling_may_have(block))
        forget_and_free(block);
    else
        next.free(block);
}

static void *wrap_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes) && sampling_counts(bytes))
        return take(next.calloc(count, size), bytes);
    return next.calloc(count, size);
}

/* The size that a block of the reserve has is known only here. */
static void *move_from_reserve(void *block, size_t size)
{
    size_t before = reserve_size(block);
    void *moved = wrap_malloc(size);
    if (moved)
        memcpy(moved, block, before < size ? before : size);
    return moved;
}

/* A failed realloc() leaves the block as it was; one to no bytes frees it. */
NEVER_INLINE static void *realloc_sampled(void *block, size_t size)
{
    if (is_of_reserve(block))
        return move_from_reserve(block, size);
    struct sampling_record r = sampling_remove(block);
    void *moved = next.realloc(block, size);
    if (!moved && size > 0)
        sampling_restore(&r);
    if (sampling_counts(size))
        sampling_take(moved, size, WIRE_TRACE_MALLOC);
    return moved;
}

static void *wrap_realloc(void *block, size_t size)
{
    if (sampling_may_have(block))
        return realloc_sampled(block, size);
    if (sampling_counts(size))
        return take(next.realloc(block, size), size);
    return next.realloc(block, size);
}

static int wrap_posix_memalign(void **ret, size_t alignment, size_t size)
{
    bool counts = sampling_counts(size);
    int e = next.posix_memalign(ret, alignment, size);
    if (counts)
        take(e == 0 ? *ret : NULL, size);
    return e;
}

static void *wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (sampling_counts(size))
        return take(next.aligned_alloc(alignment, size), size);
    return next.aligned_alloc(alignment, size);
}

static void *wrap_memalign(size_t alignment, size_t size)
{
    if (sampling_counts(size))
        return take(next.memalign(alignment, size), size);
    return next.memalign(alignment, size);
}

static size_t whole_pages(size_t size)
{
    size_t page = (size_t) getpagesize();
    return size > SIZE_MAX - page ? size : (size + page - 1) / page * page;
}

/* ---- those made of others ---- */

static atomic_bool is_patched;

/* An allocator before ours may have no function of this name, so that the program calls ours. Then
 * its free() and the like are not behind ours, but before it. */
#ifdef TIDEMARK_INTERPOSES
#define FIRST(name) (is_patched ? wrap_##name : (name))
#else
#define FIRST(name) wrap_##name
#endif

static void wrap_free_sized(void *block, size_t size)
{
    (void) size;
    FIRST(free)(block);
}

static void wrap_free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void) alignment;
    (void) size;
    FIRST(free)(block);
}

static void *wrap_reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return FIRST(realloc)(block, bytes);
}

static void *wrap_valloc(size_t size)
{
    return FIRST(memalign)((size_t) getpagesize(), size);
}

static void *wrap_pvalloc(size_t size)
{
    return wrap_valloc(whole_pages(size));
}

/* ---- mappings ---- */

static struct range allocator;

static bool is_of_program(const void *caller)
{
    return !range_has(allocator, (uintptr_t) caller) && !range_has(range_own, (uintptr_t) caller);
}

static bool is_memory(int protection, int flags)
{
    return (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_NORESERVE) == 0 &&
           (protection & PROT_WRITE) != 0;
}

static void *wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    if (flags & MAP_FIXED)
        sampling_forget_range(address, whole_pages(size));
    void *memory = next.mmap(address, size, protection, flags, fd, at);
    if (memory != MAP_FAILED && is_memory(protection, flags) &&
        is_of_program(__builtin_return_address(0)) && sampling_counts(size))
        sampling_take(memory, size, WIRE_TRACE_MAPPED);
    return memory;
}

static int wrap_munmap(void *address, size_t size)
{
    if ((uintptr_t) address % (size_t) getpagesize() == 0)
        sampling_forget_range(address, whole_pages(size));
    return next.munmap(address, size);
}

/* Only one that is a file's has its own name there. */
static bool is_of_file(const void *address, size_t size)
{
    char name[64], target[2];
    int kept = errno;
    uintptr_t at = (uintptr_t) address;
    snprintf(name, sizeof(name), "/proc/self/map_files/%lx-%lx", (unsigned long) at,
             (unsigned long) (at + whole_pages(size)));
    bool is_one = readlink(name, target, sizeof(target)) > 0;
    errno = kept;
    return is_one;
}

NEVER_INLINE static void take_remapped(void *memory, size_t size)
{
    sampling_take(is_of_file(memory, size) ? NULL : memory, size, WIRE_TRACE_MAPPED);
}

/* Of a sampled mapping of which only a part moves, the rest is lost. */
static void *wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    if (target)
        sampling_forget_range(target, whole_pages(size));
    struct sampling_record r = {.address = NULL};
    if (sampling_may_have(old))
        r = sampling_remove(old);
    void *memory = next.mremap(old, old_size, size, flags, target);
    if (memory == MAP_FAILED && r.address)
        sampling_restore(&r);
    else if (memory != MAP_FAILED && is_of_program(__builtin_return_address(0)) &&
             sampling_counts(size))
        take_remapped(memory, size);
    return memory;
}

static void *wrap_sbrk(intptr_t change)
{
    if (change < 0)
        sampling_forget_range((char *) next.sbrk(0) + change, (size_t) -change);
    void *memory = next.sbrk(change);
    if (change > 0 && memory != MAP_FAILED && is_of_program(__builtin_return_address(0)) &&
        sampling_counts((size_t) change))
        sampling_take(memory, (size_t) change, WIRE_TRACE_MAPPED);
    return memory;
}

/* ---- how they are reached ---- */

#ifdef TIDEMARK_INTERPOSES
#define EXPORT(ours, name)                                                                         \
    extern __typeof(ours) export_##name __asm__(#name)                                             \
        __attribute__((alias(#ours), visibility("default"), used))
EXPORT(wrap_malloc, malloc);
EXPORT(wrap_free, free);
EXPORT(wrap_free_sized, free_sized);
EXPORT(wrap_free_aligned_sized, free_aligned_sized);
EXPORT(wrap_calloc, calloc);
EXPORT(wrap_realloc, realloc);
EXPORT(wrap_reallocarray, reallocarray);
EXPORT(wrap_posix_memalign, posix_memalign);
EXPORT(wrap_aligned_alloc, aligned_alloc);
EXPORT(wrap_memalign, memalign);
EXPORT(wrap_valloc, valloc);
EXPORT(wrap_pvalloc, pvalloc);
EXPORT(wrap_mmap, mmap);
EXPORT(wrap_mmap, mmap64);
EXPORT(wrap_munmap, munmap);
EXPORT(wrap_mremap, mremap);
EXPORT(wrap_sbrk, sbrk);
#endif

static void *reallocarray_behind, *free_sized_behind, *free_aligned_sized_behind;
static void *valloc_behind, *pvalloc_behind, *mmap64_behind;

static const struct patch patches[] = {
    {"malloc", (void *) wrap_malloc, (void **) &next.malloc},
    {"free", (void *) wrap_free, (void **) &next.free},
    {"free_sized", (void *) wrap_free_sized, &free_sized_behind},
    {"free_aligned_sized", (void *) wrap_free_aligned_sized, &free_aligned_sized_behind},
    {"calloc", (void *) wrap_calloc, (void **) &next.calloc},
    {"realloc", (void *) wrap_realloc, (void **) &next.realloc},
    {"reallocarray", (void *) wrap_reallocarray, &reallocarray_behind},
    {"posix_memalign", (void *) wrap_posix_memalign, (void **) &next.posix_memalign},
    {"aligned_alloc", (void *) wrap_aligned_alloc, (void **) &next.aligned_alloc},
    {"memalign", (void *) wrap_memalign, (void **) &next.memalign},
    {"valloc", (void *) wrap_valloc, &valloc_behind},
    {"pvalloc", (void *) wrap_pvalloc, &pvalloc_behind},
    {"mmap", (void *) wrap_mmap, (void **) &next.mmap},
    {"mmap64", (void *) wrap_mmap, &mmap64_behind},
    {"munmap", (void *) wrap_munmap, (void **) &next.munmap},
    {"mremap", (void *) wrap_mremap, (void **) &next.mremap},
    {"sbrk", (void *) wrap_sbrk, (void **) &next.sbrk},
#ifdef LOOKUP_IS_POSSIBLE
    {"dlsym", (void *) lookup_dlsym, &lookup_behind},
#endif
};
#define PATCHES (sizeof(patches) / sizeof(patches[0]))

/* Called as any function of another library, which the compiler may not leave out. */
#define PROBE_BYTES 1000
static bool is_reached(void)
{
    void *(*volatile ask)(size_t) = (void *(*) (size_t)) dlsym(RTLD_DEFAULT, "malloc");
    void (*volatile give_back)(void *) = (void (*)(void *)) dlsym(RTLD_DEFAULT, "free");
    int64_t kept = sampling_pause(), paused = sampling_here.left;
    give_back(ask(PROBE_BYTES));
    bool is_one = sampling_here.left != paused;
    sampling_resume(kept);
    return is_one;
}

static atomic_bool follows_lookups;

/* Once: what is behind ours stays. An allocator before ours may lack a function, and the program
 * calls ours for it: then the next one is meant. */
static void find_behind(bool before_all)
{
    static bool is_found;
    for (size_t i = 0; i < PATCHES && !is_found; i++) {
        void *found = before_all ? loaded_function(patches[i].name, 0) : *patches[i].real;
        if (!found || range_has(range_own, (uintptr_t) found))
            found = loaded_function(patches[i].name, (uintptr_t) &next);
        if (found)
            __atomic_store_n(patches[i].real, found, __ATOMIC_RELEASE);
    }
    is_found = true;
}

static void find_allocator(void)
{
    allocator = range_of_file((uintptr_t) next.malloc);
    sampling_heap_is_libcs =
        range_has(allocator, (uintptr_t) loaded_function("gnu_get_libc_version", 0));
}

/* What is put into import tables; another thread may be about to ask for files loaded since. */
static struct patch wanted[PATCH_MOST];
static _Atomic size_t wanted_count;

static bool patch(bool all)
{
    size_t own = all ? PATCHES : 0, count;
    const struct patch *operators = operators_of(allocator, &count);
    memcpy(wanted, patches, own * sizeof(*patches));
    memcpy(wanted + own, operators, count * sizeof(*operators));
    wanted_count = own + count;
    return wanted_count == 0 || patch_apply(wanted, wanted_count) >= 0;
}

bool interpose_is_reached(void)
{
    range_find_own();
    if (!is_reached())
        return false;
    find_behind(false);
    find_allocator();
    follows_lookups = true;
    (void) patch(false);
    return true;
}

/* It calls them without asking its import table. */
static bool is_of_program_itself(const void *function)
{
    struct range program = range_of_file((uintptr_t) getauxval(AT_PHDR));
    return range_has(program, (uintptr_t) function);
}

bool interpose_patch(void)
{
    range_find_own();
    if (is_of_program_itself(loaded_function("malloc", 0)))
        return false;
    find_behind(true);
    find_allocator();
    is_patched = true;
    is_patched = follows_lookups = patch(true);
    return is_patched;
}

int interpose_unpatch(void)
{
    size_t count = wanted_count;
    wanted_count = 0;
    int left = is_patched ? patch_undo(wanted, count) : 0;
    is_patched = follows_lookups = left < 0;
    wanted_count = left < 0 ? count : 0;
    return left;
}

void interpose_heed_loaded(bool at_once)
{
    if (wanted_count > 0 && patch_is_stale() && (at_once || patch_is_calm()))
        (void) patch_apply(wanted, wanted_count);
}

const struct patch *interpose_find(const char *name)
{
    for (size_t i = 0; follows_lookups && i < PATCHES; i++)
        if (strcmp(patches[i].name, name) == 0)
            return &patches[i];
    return NULL;
}

/* tests/trace/blocks.c: blocks of memory that are checked. */
#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDS 4u /* words at either end that are filled; filling all would be all that it does */

static uint64_t word_at(const struct block *b, size_t at)
{
    return ((uint64_t) (uintptr_t) (b->at + at) ^ b->size << 48) * UINT64_C(0x9e3779b97f4a7c15);
}

static void visit(const struct block *b, void (*each)(const struct block *b, size_t at))
{
    size_t words = b->size / sizeof(uint64_t);
    for (size_t i = 0; i < words && i < ENDS; i++)
        each(b, i * sizeof(uint64_t));
    for (size_t i = words < 2 * ENDS ? ENDS : words - ENDS; i < words; i++)
        each(b, i * sizeof(uint64_t));
}

static void fill_word(const struct block *b, size_t at)
{
    uint64_t word = word_at(b, at);
    memcpy(b->at + at, &word, sizeof(word));
}

static void check_word(const struct block *b, size_t at)
{
    uint64_t word = word_at(b, at);
    require(memcmp(b->at + at, &word, sizeof(word)) == 0, "a block was changed");
}

void block_fill(const struct block *b)
{
    visit(b, fill_word);
}

void block_check(const struct block *b)
{
    visit(b, check_word);
}

/* ---- functions of the family ---- */

static void give_to_free(void *at, size_t size)
{
    (void) size;
    free(at);
}

/* Of C23, which this C library may not have yet; the tracer has both. */
static void (*free_sized_found)(void *at, size_t size);
static void (*free_aligned_sized_found)(void *at, size_t alignment, size_t size);
static void *(*new_found)(size_t size), *(*new_aligned_found)(size_t size, size_t alignment);
static void (*delete_found)(void *at), (*delete_aligned_found)(void *at, size_t alignment);

static void find(void *library, const char *name, void *ret)
{
    void *found = dlsym(library, name);
    memcpy(ret, &found, sizeof(found));
}

__attribute__((constructor)) static void find_all(void)
{
    void *cxx = dlopen("libstdc++.so.6", RTLD_NOW);
    find(RTLD_DEFAULT, "free_sized", &free_sized_found);
    find(RTLD_DEFAULT, "free_aligned_sized", &free_aligned_sized_found);
    if (!cxx)
        return;
    find(cxx, "_Znwm", &new_found);
    find(cxx, "_ZdlPv", &delete_found);
    find(cxx, "_ZnwmSt11align_val_t", &new_aligned_found);
    find(cxx, "_ZdlPvSt11align_val_t", &delete_aligned_found);
}

static void give_to_free_sized(void *at, size_t size)
{
    free_sized_found(at, size);
}

#define ALIGNMENT 64u
static void give_to_free_aligned_sized(void *at, size_t size)
{
    free_aligned_sized_found(at, ALIGNMENT, size);
}

static void give_to_delete(void *at, size_t size)
{
    (void) size;
    delete_found(at);
}

static void give_to_delete_aligned(void *at, size_t size)
{
    (void) size;
    delete_aligned_found(at, ALIGNMENT);
}

static struct block of(void *at, size_t size, void (*give_back)(void *at, size_t size))
{
    struct block b = {at, size, give_back};
    require(at != NULL || size == 0, "an allocation failed");
    block_fill(&b);
    return b;
}

static struct block of_aligned(void *at, size_t size, size_t alignment,
                               void (*give_back)(void *at, size_t size))
{
    require((uintptr_t) at % alignment == 0, "a block is not aligned");
    return of(at, size, give_back);
}

static struct block of_malloc(size_t size)
{
    return of(malloc(size), size, give_to_free);
}

static struct block of_calloc(size_t size)
{
    size_t words = size / 8;
    uint64_t *at = calloc(words, 8);
    require(words == 0 || (at && at[0] == 0 && at[words - 1] == 0), "calloc() is not zero");
    return of(at, words * 8, give_to_free);
}

static struct block of_posix_memalign(size_t size)
{
    void *at = NULL;
    require(posix_memalign(&at, ALIGNMENT, size) == 0, "posix_memalign() failed");
    return of_aligned(at, size, ALIGNMENT, give_to_free);
}

static struct block of_aligned_alloc(size_t size)
{
    void *at = aligned_alloc(ALIGNMENT, size);
    return of_aligned(at, size, ALIGNMENT,
                      free_aligned_sized_found ? give_to_free_aligned_sized : give_to_free);
}

static struct block of_memalign(size_t size)
{
    return of_aligned(memalign(ALIGNMENT, size), size, ALIGNMENT, give_to_free);
}

static struct block of_valloc(size_t size)
{
    return of_aligned(valloc(size), size, (size_t) getpagesize(), give_to_free);
}

static struct block of_pvalloc(size_t size)
{
    return of_aligned(pvalloc(size), size, (size_t) getpagesize(), give_to_free);
}

static struct block of_reallocarray(size_t size)
{
    return of(reallocarray(NULL, size / 16, 16), size / 16 * 16, give_to_free);
}

static struct block of_sized(size_t size)
{
    return of(malloc(size), size, free_sized_found ? give_to_free_sized : give_to_free);
}

static struct block of_new(size_t size)
{
    return new_found ? of(new_found(size), size, give_to_delete) : of_malloc(size);
}

static struct block of_new_aligned(size_t size)
{
    if (!new_aligned_found)
        return of_malloc(size);
    return of_aligned(new_aligned_found(size, ALIGNMENT), size, ALIGNMENT, give_to_delete_aligned);
}

/* The rare ones last. */
static struct block (*const makers[])(size_t size) = {
    of_malloc, of_calloc,        of_sized,    of_new,          of_new_aligned, of_posix_memalign,
    of_malloc, of_aligned_alloc, of_memalign, of_reallocarray, of_valloc,      of_pvalloc,
};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

/* ---- random ones ---- */

bool leaves_out_pvalloc;

/* Mostly small; some beyond the threshold from which malloc() maps. */
static size_t random_size(uint64_t *random)
{
    uint64_t r = random_next(random);
    if (r % 4096 == 0)
        return 100000 + (r >> 20) % 300000;
    if (r % 64 == 0)
        return (r >> 20) % 20000;
    return (r >> 20) % 400;
}

struct block block_new(uint64_t *random)
{
    size_t size = random_size(random) + 1, which = random_next(random) % 64;
    count(1);
    return makers[which < MAKERS - leaves_out_pvalloc ? which : which % 4](size);
}

static bool may_resize(const struct block *b)
{
    return b->give_back == give_to_free || b->give_back == give_to_free_sized;
}

/* Too much for any machine; the compiler must not see it. */
static volatile size_t too_much = SIZE_MAX / 4, few = 3;

static void fail_to_resize(const struct block *b)
{
    errno = 0;
    require(realloc(b->at, too_much) == NULL && errno == ENOMEM, "realloc() gave too much");
    require(reallocarray(b->at, too_much, few + 10) == NULL && errno == ENOMEM, "overflow");
    block_check(b);
}

void block_resize(struct block *b, uint64_t *random)
{
    size_t size = random_size(random) + 1;
    block_check(b);
    if (!may_resize(b))
        return;
    if (size % 8 == 0 && b->at)
        fail_to_resize(b);
    /* The pattern is of the old address: what was copied is compared with a copy. */
    unsigned char before[32];
    size_t kept = b->size < size ? b->size : size;
    kept = kept < sizeof(before) ? kept : sizeof(before);
    if (kept)
        memcpy(before, b->at, kept);
    count(1);
    b->at = realloc(b->at, size);
    b->size = size;
    require(b->at && memcmp(b->at, before, kept) == 0, "realloc() lost the contents");
    block_fill(b);
}

void block_free(struct block *b)
{
    block_check(b);
    if (b->at)
        b->give_back(b->at, b->size);
    *b = (struct block){0};
}

/* ---- special cases ---- */

static void check_failures(void)
{
    void *at = &at;
    require(malloc(too_much) == NULL && errno == ENOMEM, "malloc() gave too much");
    require(calloc(too_much, few) == NULL, "calloc() gave too much");
    require(posix_memalign(&at, few, 100) == EINVAL && at == &at, "a wrong alignment");
    require(posix_memalign(&at, 64, too_much) == ENOMEM && at == &at, "posix_memalign() gave it");
    require(aligned_alloc(64, too_much) == NULL, "aligned_alloc() gave too much");
    require(memalign(64, too_much) == NULL, "memalign() gave too much");
    require(valloc(too_much) == NULL && pvalloc(too_much) == NULL, "valloc() gave too much");
    require(pvalloc(too_much * 3 + few) == NULL, "pvalloc() gave too much");
}

/* Whatever was interposed may not change errno of a success. */
static void check_errno(void)
{
    for (int i = 0; i < 10000; i++) {
        errno = 1234;
        void *at = malloc(1000);
        free(at);
        require(errno == 1234, "errno was changed");
    }
}

void blocks_of_all_kinds(void)
{
    for (size_t size = 0; size < 300; size += 16)
        for (size_t i = 0; i < MAKERS; i++) {
            struct block b = makers[i](size);
            block_free(&b);
        }
    void *at = malloc(100);
    require(realloc(at, 0) == NULL, "realloc() to nothing");
    free(NULL);
    free(realloc(NULL, 100));
    check_failures();
    check_errno();
}

/* tests/trace/mappings.c: mappings that are made, moved, and unmapped in parts. */
#include "target.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define MOST_PAGES 64u

struct mapping {
    unsigned char *at;
    size_t pages;
    uint64_t here; /* a bit for each page that is still mapped */
};

static unsigned char mark(const unsigned char *page)
{
    return (unsigned char) ((uintptr_t) page >> 12 | 1);
}

static void fill(const struct mapping *m)
{
    for (size_t i = 0; i < m->pages; i++)
        if (m->here >> i & 1)
            memset(m->at + i * PAGE, mark(m->at + i * PAGE), 64);
}

static void check(const struct mapping *m)
{
    for (size_t i = 0; i < m->pages; i++)
        if (m->here >> i & 1)
            require(m->at[i * PAGE + 63] == mark(m->at + i * PAGE), "a mapping was changed");
}

static uint64_t bits(size_t count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

static struct mapping map(uint64_t *random)
{
    struct mapping m = {.pages = 1 + random_next(random) % MOST_PAGES};
    m.at = mmap(NULL, m.pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(m.at != MAP_FAILED, "mmap() failed");
    m.here = bits(m.pages);
    fill(&m);
    count(1);
    return m;
}

static void unmap_part(struct mapping *m, uint64_t *random)
{
    size_t first = random_next(random) % m->pages;
    size_t pages = 1 + random_next(random) % (m->pages - first);
    if ((m->here >> first & bits(pages)) != bits(pages))
        return;
    require(munmap(m->at + first * PAGE, pages * PAGE) == 0, "munmap() failed");
    m->here &= ~(bits(pages) << first);
}

/* Once a part is unmapped another thread may get it: only whole mappings may move, or be mapped
 * over. */
static bool is_whole(const struct mapping *m)
{
    return m->here == bits(m->pages);
}

static void move(struct mapping *m, uint64_t *random)
{
    size_t pages = 1 + random_next(random) % MOST_PAGES, kept = pages < m->pages ? pages : m->pages;
    unsigned char before = m->at[0], last = m->at[(kept - 1) * PAGE];
    unsigned char *at = mremap(m->at, m->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
    require(at != MAP_FAILED && at[0] == before && at[(kept - 1) * PAGE] == last, "mremap()");
    *m = (struct mapping){at, pages, bits(pages)};
    fill(m);
    count(1);
}

static void map_over(const struct mapping *m)
{
    void *at = mmap(m->at, m->pages * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    require(at == m->at && m->at[0] == 0, "mmap() over another");
    fill(m);
    count(1);
}

/* A new place is reserved first, then taken by MREMAP_FIXED. */
static void move_to(struct mapping *m)
{
    unsigned char before = m->at[0];
    void *to = mmap(NULL, m->pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    require(to != MAP_FAILED, "mmap() failed");
    unsigned char *at = mremap(m->at, m->pages * PAGE, m->pages * PAGE,
                               MREMAP_MAYMOVE | MREMAP_FIXED, to);
    require(at == to && at[0] == before, "mremap() to a place");
    m->at = at;
    fill(m);
}

static void refuse(void)
{
    errno = 0;
    require(munmap((void *) 1, PAGE) < 0 && errno == EINVAL, "munmap() of nothing");
    require(mremap((void *) PAGE, PAGE, 2 * PAGE, 0) == MAP_FAILED && errno == EFAULT, "mremap()");
    require(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
                errno == EINVAL,
            "mmap() of nothing");
}

static void unmap(struct mapping *m)
{
    for (size_t i = 0; i < m->pages; i++)
        if (m->here >> i & 1)
            require(munmap(m->at + i * PAGE, PAGE) == 0, "munmap() failed");
    *m = (struct mapping){0};
}

static void change_one(struct mapping *m, uint64_t *random)
{
    if (!m->at) {
        *m = map(random);
        return;
    }
    check(m);
    uint64_t what = random_next(random) % 8;
    if (what < 2 || m->here == 0)
        unmap(m);
    else if (what < 4 && is_whole(m))
        move(m, random);
    else if (what == 4 && is_whole(m))
        map_over(m);
    else if (what == 5 && is_whole(m))
        move_to(m);
    else if (what == 6)
        refuse();
    else
        unmap_part(m, random);
}

#define OWN 32u
static void *map_until_over(void *number)
{
    struct mapping own[OWN] = {{0}};
    uint64_t random = (uintptr_t) number * UINT64_C(0x9e3779b97f4a7c15);
    while (!is_over())
        change_one(&own[random_next(&random) % OWN], &random);
    for (unsigned i = 0; i < OWN; i++)
        if (own[i].at)
            unmap(&own[i]);
    return NULL;
}

/* One thread, before the others: malloc() moves the break as well. */
static void move_break(void)
{
    for (int i = 0; i < 200; i++) {
        unsigned char *at = sbrk(256 << 10);
        require(at != (void *) -1, "sbrk() failed");
        memset(at, 7, 256 << 10);
        require(sbrk(0) == at + (256 << 10), "the break");
        require(sbrk(-(64 << 10)) == at + (256 << 10), "sbrk() back");
        require(at[1000] == 7 && sbrk(-(192 << 10)) != (void *) -1, "sbrk() back");
    }
}

void mode_mappings(void)
{
    move_break();
    in_threads(thread_count, 0, map_until_over);
}

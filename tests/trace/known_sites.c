/*
 * tests/trace/known_sites.c: a program that keeps known bytes by site, for estimator.py.
 *
 * It waits until the tracer samples it, allocates, and prints what each site keeps: "NAME KEPT
 * MADE", in bytes. Each site is a function; what it does not keep it frees again, in turns, so that
 * samples of all sites come and go together.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORY "TIDEMARK_RUN"
#define TURNS 100
#define SLEEP_MOST 3000 /* in 10 ms */

/* A tenth is freed a turn later. */
struct made {
    size_t number, kept, made;
    void **late;
    size_t late_count;
};

static void free_late(struct made *m)
{
    for (size_t i = 0; i < m->late_count; i++)
        free(m->late[i]);
    m->late_count = 0;
}

/* Inlined into the site: the site's own frame is the one that calls malloc(). */
static inline __attribute__((always_inline)) void make(struct made *m, size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *p = malloc(size);
        if (!p)
            exit(1);
        m->made += size;
        if (m->number++ % 10 == 9)
            m->late[m->late_count++] = p;
        else
            m->kept += size;
    }
}

/* SITE(name, size, count): so many allocations of that size, a multiple of TURNS or at most TURNS.
 * The large ones are never touched. */
#define SITES                                                                                      \
    SITE(size_8, 8, 1000000)                                                                       \
    SITE(size_24, 24, 400000)                                                                      \
    SITE(size_100, 100, 100000)                                                                    \
    SITE(size_512, 512, 30000)                                                                     \
    SITE(size_1000, 1000, 15000)                                                                   \
    SITE(size_4000, 4000, 4000)                                                                    \
    SITE(size_30000, 30000, 1000)                                                                  \
    SITE(size_100000, 100000, 500)                                                                 \
    SITE(size_200000, 200000, 500)                                                                 \
    SITE(size_3000000, 3000000, 100)                                                               \
    SITE(size_50000000, 50000000, 20)                                                              \
    SITE(size_1000000000, 1000000000, 3)

#define SITE(name, size, count)                                                                    \
    static struct made of_##name;                                                                  \
    __attribute__((noinline)) static void name(int turn)                                           \
    {                                                                                              \
        size_t each = (count) >= TURNS ? (count) / TURNS : turn < (count);                         \
        free_late(&of_##name);                                                                     \
        make(&of_##name, size, each);                                                              \
        __asm__ volatile("");                                                                      \
    }
SITES
#undef SITE

static bool has_file(const char *directory)
{
    char begins[32];
    bool is_found = false;
    DIR *d = opendir(directory);
    snprintf(begins, sizeof begins, "%d-", (int) getpid());
    for (struct dirent *e; d && !is_found && (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        is_found = strncmp(e->d_name, begins, strlen(begins)) == 0 && length > 6 &&
                   strcmp(e->d_name + length - 6, ".trace") == 0;
    }
    if (d)
        closedir(d);
    return is_found;
}

/* Each look at the orders takes a countdown of requested bytes. */
__attribute__((noinline)) static void request(void)
{
    for (int i = 0; i < 4096; i++) {
        void *volatile p = malloc(1024);
        free(p);
    }
}

static bool wait_for_tracer(void)
{
    const char *directory = getenv(DIRECTORY);
    for (int i = 0; directory && i < SLEEP_MOST; i++) {
        request();
        if (has_file(directory)) {
            request();
            return true;
        }
        usleep(10000);
    }
    return false;
}

static void allocate(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
#define SITE(name, size, count) name(turn);
        SITES
#undef SITE
    }
}

int main(void)
{
#define SITE(name, size, count)                                                                    \
    of_##name.late = malloc(((count) / TURNS / 10 + 1) * sizeof(void *));
    SITES
#undef SITE
    if (!wait_for_tracer()) {
        puts("not traced");
        return 2;
    }
    allocate();
#define SITE(name, size, count) free_late(&of_##name);
    SITES
#undef SITE
#define SITE(name, size, count) printf("%s %zu %zu\n", #name, of_##name.kept, of_##name.made);
    SITES
#undef SITE
    fflush(stdout);
    sleep(2); /* the watcher meets the process while it runs, or could not read its names */
    return 0;
}

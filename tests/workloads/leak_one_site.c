/*
 * workloads/leak_one_site.c: two hundred functions allocate and free; one of them forgets a
 * thousandth of all the traffic.
 *
 * grows:   malloc's memory of the only process, by 20 KB a step, from the first step to the last
 * verdict: leak, allocated in site_137; --fix frees that too: no leak
 * options: --rounds N (50) allocations of each function in a step
 */
#include "load.h"

#include <stdlib.h>
#include <string.h>

#define SITES 200
#define LEAKING 137
#define BYTES 2048
#define ALIVE 64 /* blocks of all sites at a time */

static void *alive[ALIVE];
static unsigned long turn;

/* What a site allocates lives for a while, as a real program's memory does. */
static void pass_on(void *block)
{
    free(alive[turn % ALIVE]);
    alive[turn++ % ALIVE] = block;
}

#define SITE(n)                                                                                    \
    __attribute__((noinline)) static void *site_##n(size_t bytes)                                  \
    {                                                                                              \
        char *block = malloc(bytes + (n));                                                         \
        if (!block)                                                                                \
            load_fail("malloc");                                                                   \
        memset(block, n, bytes);                                                                   \
        return block;                                                                              \
    }

#define TEN(n)                                                                                     \
    SITE(n##0)                                                                                     \
    SITE(n##1)                                                                                     \
    SITE(n##2) SITE(n##3) SITE(n##4) SITE(n##5) SITE(n##6) SITE(n##7) SITE(n##8) SITE(n##9)
#define NAMES(n)                                                                                   \
    site_##n##0, site_##n##1, site_##n##2, site_##n##3, site_##n##4, site_##n##5, site_##n##6,     \
        site_##n##7, site_##n##8, site_##n##9

/* 100 to 299: two hundred. */
TEN(10)
TEN(11) TEN(12) TEN(13) TEN(14) TEN(15) TEN(16) TEN(17) TEN(18) TEN(19) TEN(20) TEN(21) TEN(22)
    TEN(23) TEN(24) TEN(25) TEN(26) TEN(27) TEN(28) TEN(29)

        static void *(*const sites[SITES])(size_t bytes) = {
            NAMES(10), NAMES(11), NAMES(12), NAMES(13), NAMES(14), NAMES(15), NAMES(16),
            NAMES(17), NAMES(18), NAMES(19), NAMES(20), NAMES(21), NAMES(22), NAMES(23),
            NAMES(24), NAMES(25), NAMES(26), NAMES(27), NAMES(28), NAMES(29),
};

struct kept {
    struct kept *next;
};
static struct kept *kept;

/* Ten of the ten thousand blocks of a step, at the usual rounds. */
static void forget(void)
{
    struct kept *block = sites[LEAKING - 100](BYTES);
    if (load.fix) {
        pass_on(block);
        return;
    }
    block->next = kept;
    kept = block;
}

int main(int argc, char **argv)
{
    long rounds = 50;
    load_init(argc, argv, (struct load_option[]){{"rounds", &rounds, NULL}, {0}});
    for (long n = 1; load_running(n); n++) {
        for (long i = 0; i < rounds; i++)
            for (unsigned k = 0; k < SITES; k++)
                pass_on(sites[k](BYTES));
        for (long i = 0; i < rounds / 5; i++)
            forget();
        load_step(n);
    }
    return load_end();
}

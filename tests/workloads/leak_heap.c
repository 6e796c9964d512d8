/*
 * workloads/leak_heap.c: the trainer forgets --kb KB (64) of heap in every step.
 *
 * grows:   RssAnon and private memory of the only process, linear, from the first step to the last
 * verdict: leak, host.anon or host.private, role trainer; --fix frees the block: no leak
 * short:   with fewer steps than the horizon (150) the verdict is inconclusive
 */
#include "load.h"

#include <stdlib.h>
#include <string.h>

/* A pointer the compiler cannot follow: the block is really allocated, touched and freed. */
static void *volatile scratch;

static void use_and_free(size_t bytes)
{
    scratch = malloc(bytes);
    if (scratch)
        memset(scratch, 0x5a, bytes);
    free(scratch);
}

int main(int argc, char **argv)
{
    long kb = 64;
    load_init(argc, argv, (struct load_option[]){{"kb", &kb, NULL}, {0}});
    for (long n = 1; load_running(n); n++) {
        if (load.fix)
            use_and_free((size_t) kb << 10);
        else
            load_keep((size_t) kb << 10);
        load_step(n);
    }
    return load_end();
}

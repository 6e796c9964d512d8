/*
 * workloads/told_steps.c: a trainer that says from inside which step it has made, as a program with
 * the library or the probe does. It prints other numbers: every step as two of them.
 *
 * --first N    its count begins there (1)
 * --source N   who counts, enum wire_source (3: the program itself); --then N: who from step 5 on
 * --epoch N    so many steps are an epoch
 * --kb K       forgotten in every step
 * --block N    bytes that its counter torch.allocated grows by in every step; the reserved memory
 *              grows by 2 MB every 16 steps either way
 *
 * grows:   RssAnon with --kb, torch.allocated with --block; neither with --fix
 * verdict: leak of the one that grows, nothing else; no leak without either
 */
#include "load.h"

#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE (64.0 * 1024 * 1024)
#define SEGMENT (2.0 * 1024 * 1024)

static long first = 1, source = WIRE_WATCHER, then, epoch, kb, block;

static void put_counter(struct wire_ring *ring, const char *kind, double value)
{
    struct wire_name name = {.unit = WIRE_BYTES, .judged = 1};
    snprintf(name.kind, sizeof(name.kind), "%s", kind);
    snprintf(name.device, sizeof(name.device), "cuda:0");
    int number = wire_name(ring, &name);
    if (number >= 0)
        wire_put(ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) number, wire_now(), value);
}

static void tell(struct wire_ring *ring, long n)
{
    enum wire_source who = (enum wire_source)(then > 0 && n >= 5 ? then : source);
    if (wire_step(ring, who, (double) (first + n - 1))) {
        put_counter(ring, "torch.allocated", BASE + (double) (n * block));
        put_counter(ring, "torch.reserved", 2 * BASE + SEGMENT * (double) (n / 16));
    }
    if (epoch > 0 && n % epoch == 0)
        wire_put(ring, WIRE_EPOCH, who, 0, wire_now(), (double) (n / epoch));
}

int main(int argc, char **argv)
{
    struct wire_ring *ring;
    load_init(argc, argv,
              (struct load_option[]){{"first", &first, NULL},
                                     {"source", &source, NULL},
                                     {"then", &then, NULL},
                                     {"epoch", &epoch, NULL},
                                     {"kb", &kb, NULL},
                                     {"block", &block, NULL},
                                     {0}});
    if (load.fix)
        kb = block = 0;
    if (wire_open(getenv(WIRE_DIRECTORY_VARIABLE), &ring) < 0)
        load_skip("no ring can be made");
    if (epoch > 0)
        wire_put(ring, WIRE_EPOCH_LENGTH, (enum wire_source) source, 0, wire_now(), (double) epoch);
    for (long n = 1; load_running(n); n++) {
        if (kb > 0)
            load_keep((size_t) kb << 10);
        tell(ring, n);
        load_step(2 * n);
    }
    wire_close(ring);
    return load_end();
}

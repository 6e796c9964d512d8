/* bench/bench_malloc.c: allocates and frees, and nothing else. Prints the CPU seconds it took,
 * and waits to be looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 4096u

/* One block at a time: the cheapest case of every allocator, so the dearest for what stands before
 * it. */
static void ping_pong(unsigned long pairs)
{
    for (unsigned long i = 0; i < pairs; i++) {
        char *block = malloc(16 + (i & 127));
        if (!block)
            exit(1);
        *(volatile char *) block = 1;
        free(block);
    }
}

static unsigned long next(unsigned long *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Thousands of blocks of many sizes are in use at a time. */
static void mixed(unsigned long pairs)
{
    static void *slots[SLOTS];
    unsigned long state = 88172645463325252u;
    for (unsigned long i = 0; i < pairs; i++) {
        unsigned long r = next(&state);
        size_t size = (size_t) 16 << (r >> 20) % 8;
        free(slots[r % SLOTS]);
        slots[r % SLOTS] = malloc(size);
        if (!slots[r % SLOTS])
            exit(1);
        memset(slots[r % SLOTS], 1, 16);
    }
    for (unsigned i = 0; i < SLOTS; i++)
        free(slots[i]);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s pingpong|mixed PAIRS\n", argv[0]);
        return 1;
    }
    clock_t began = clock();
    (strcmp(argv[1], "pingpong") == 0 ? ping_pong : mixed)(strtoul(argv[2], NULL, 10));
    printf("%.6f\n", (double) (clock() - began) / CLOCKS_PER_SEC);
    fflush(stdout);
    (void) !getchar();
    return 0;
}

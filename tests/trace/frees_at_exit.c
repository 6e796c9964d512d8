/* tests/trace/frees_at_exit.c: keeps more in every step, and frees all of it as it ends.
 *
 * frees_at_exit STEPS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 20000u

static char **kept;
static size_t count;

static void free_all(void)
{
    for (size_t i = 0; i < count; i++)
        free(kept[i]);
    free(kept);
}

static void __attribute__((noinline)) keep_more(void)
{
    kept[count] = malloc(BLOCK);
    memset(kept[count++], 1, BLOCK);
}

int main(int argc, char **argv)
{
    size_t steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    kept = malloc((steps + 1) * sizeof(*kept));
    atexit(free_all);
    for (size_t i = 1; i <= steps; i++) {
        keep_more();
        printf("step %zu\n", i);
        fflush(stdout);
        nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
    }
    return 0;
}

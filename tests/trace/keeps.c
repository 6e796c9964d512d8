/* tests/trace/keeps.c WAY STEPS: a program in C that leaks about 24 KB a step in one function.
 * doubling: an array that moves to twice its size when it is full. small: blocks of 16 bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
    double values[9];
};

static struct record *records;
static size_t count, room;

__attribute__((noinline)) static void keep_doubling(void)
{
    if (count == room) {
        room = room ? 2 * room : 64;
        records = realloc(records, room * sizeof(*records));
        if (!records)
            abort();
    }
    records[count++].values[0] = 1;
}

struct node {
    struct node *next;
    long value;
};

static struct node *nodes;

__attribute__((noinline)) static void keep_small(void)
{
    struct node *n = malloc(sizeof(*n));
    if (!n)
        abort();
    n->value = 1;
    n->next = nodes;
    nodes = n;
}

int main(int argc, char **argv)
{
    int steps = argc > 2 ? atoi(argv[2]) : 900;
    int is_small = argc > 1 && strcmp(argv[1], "small") == 0;
    for (int n = 1; n <= steps; n++) {
        for (int i = 0; i < (is_small ? 768 : 341); i++)
            is_small ? keep_small() : keep_doubling();
        printf("step %d\n", n);
        fflush(stdout);
        usleep(10000);
    }
    return 0;
}

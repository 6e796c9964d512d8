/* tests/trace/own_memory.c STEPS: a program whose memory stays as it is, while all its blocks are
 * new again and again. Says how much the kernel counts as its own, and as shared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 1000

static char *volatile blocks[BLOCKS];

static long kilobytes(const char *what)
{
    char text[4096];
    FILE *f = fopen("/proc/self/status", "r");
    size_t length = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[length] = '\0';
    if (f)
        fclose(f);
    const char *line = strstr(text, what);
    return line ? atol(line + strlen(what)) : -1;
}

static void say(const char *whose)
{
    printf("%s %ld %ld\n", whose, kilobytes("RssAnon:"), kilobytes("RssShmem:"));
    fflush(stdout);
}

static void renew(int i)
{
    size_t size = 2000 + (size_t) i * 13;
    free(blocks[i]);
    blocks[i] = malloc(size);
    if (!blocks[i])
        abort();
    memset(blocks[i], i, size);
}

static void work(int steps)
{
    for (int s = 0; s < steps; s++) {
        for (int k = 0; k < 2 * BLOCKS; k++)
            renew((k * 7919 + s) % BLOCKS);
        usleep(5000);
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 300;
    for (int i = 0; i < BLOCKS; i++)
        renew(i);
    say("begins");
    work(steps);
    say("samples");
    if (fork() == 0) {
        work(steps);
        say("child");
        _exit(0);
    }
    wait(NULL);
    work(10);
    say("parent");
    return 0;
}

/* tests/attach/enter.c: gets a library into a process, and tells how it went in one line.
 *
 * enter PID LIBRARY ENTRY ARGUMENT [SECONDS [TIMES]]; enter --check PID */
#include "attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void told(void *context, const char *what)
{
    (void) context;
    printf("waiting: %s\n", what);
    fflush(stdout);
}

static int check(pid_t pid)
{
    struct buf why = BUF_INIT;
    int r = attach_check(pid, &why);
    printf("%d %s\n", r, buf_text(&why));
    buf_release(&why);
    return r < 0;
}

static int enter(pid_t pid, const struct attach_options *o)
{
    struct attach_result result;
    struct buf why = BUF_INIT;
    int r = attach_load(pid, o, &result, &why);
    printf("%d %d %s %.1f %.1f %u %.1f %s\n", r, result.answer,
           result.python[0] ? result.python : "-", 1e6 * result.stopped, 1e6 * result.longest_stop,
           result.stops, 1e6 * result.waited, buf_text(&why));
    fflush(stdout);
    buf_release(&why);
    return r;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check(atoi(argv[2]));
    if (argc < 5)
        return 2;
    struct attach_options o = {.library = argv[2],
                               .entry = argv[3],
                               .argument = argv[4],
                               .seconds = argc > 5 ? atof(argv[5]) : 10,
                               .waiting = told};
    int times = argc > 6 ? atoi(argv[6]) : 1, failed = 0;
    for (int i = 0; i < times; i++)
        failed |= enter(atoi(argv[1]), &o) < 0;
    return failed;
}

/* tests/probe/want.c DIRECTORY LEVEL: requests censuses of that level from every process with a
 * ring there, now or later, until its input ends. */
#include "wire/wire.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERY_MS 5

static void want_of_all(const char *directory, enum wire_wanted level)
{
    DIR *d = opendir(directory);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        struct wire_reader *reader;
        if (!strstr(e->d_name, WIRE_RING_SUFFIX) ||
            wire_reader_open(dirfd(d), e->d_name, &reader) < 0)
            continue;
        wire_reader_want(reader, level);
        wire_reader_free(reader);
    }
    closedir(d);
}

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (argc != 3)
        return 2;
    do
        want_of_all(argv[1], (enum wire_wanted) atoi(argv[2]));
    while (poll(&input, 1, EVERY_MS) == 0);
    return 0;
}

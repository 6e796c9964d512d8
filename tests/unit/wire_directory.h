/* tests/unit/wire_directory.h: a directory for the ring of this process. */
#ifndef TIDEMARK_TESTS_WIRE_DIRECTORY_H
#define TIDEMARK_TESTS_WIRE_DIRECTORY_H

#include "unit.h"
#include "wire/wire.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char directory[64];

static inline void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/tmp/test_wire.XXXXXX");
    CHECK(mkdtemp(directory) != NULL);
}

static inline void remove_directory(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    CHECK(system(command) == 0);
}

/* The ring of this process. NULL: none. */
static inline struct wire_reader *open_own_ring(void)
{
    struct wire_reader *reader = NULL;
    DIR *d = opendir(directory);
    if (!d)
        return NULL;
    for (struct dirent *e; !reader && (e = readdir(d));)
        if (strstr(e->d_name, WIRE_RING_SUFFIX) && wire_reader_open(dirfd(d), e->d_name, &reader))
            reader = NULL;
    closedir(d);
    return reader;
}

#endif

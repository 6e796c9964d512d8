/* tests/probe/ring_dump.c DIRECTORY: prints every record of every ring there, one per line. */
#include "wire/wire.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
    [WIRE_STEP] = "step",   [WIRE_EPOCH] = "epoch",   [WIRE_EPOCH_LENGTH] = "epoch-length",
    [WIRE_PLAN] = "plan",   [WIRE_SAMPLE] = "sample", [WIRE_PHASE] = "phase",
    [WIRE_ASIDE] = "aside",
};

static void dump(struct wire_reader *reader)
{
    struct wire_record x;
    struct wire_name name = {0};
    while (wire_read(reader, &x)) {
        if (x.kind == WIRE_SAMPLE)
            wire_reader_name(reader, x.name, &name);
        printf("%d %s %d %.17g %s %s\n", (int) wire_reader_pid(reader), kinds[x.kind],
               (int) x.source, x.value, x.kind == WIRE_SAMPLE ? name.kind : "-",
               x.kind == WIRE_SAMPLE && name.device[0] ? name.device : "-");
    }
    printf("%d reached 0 %.17g - -\n", (int) wire_reader_pid(reader), wire_reader_step(reader));
}

int main(int argc, char **argv)
{
    DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
    if (!d)
        return 1;
    for (struct dirent *e; (e = readdir(d));) {
        struct wire_reader *reader;
        if (!strstr(e->d_name, WIRE_RING_SUFFIX) ||
            wire_reader_open(dirfd(d), e->d_name, &reader) < 0)
            continue;
        dump(reader);
        wire_reader_free(reader);
    }
    closedir(d);
    return 0;
}

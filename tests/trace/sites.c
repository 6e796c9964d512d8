/* tests/trace/sites.c: FILE: the sites of a trace file after one look, as the run file has them. */
#include "sites/sites.h"
#include "wire/wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static size_t no_name(void *context, const struct site_address *a, struct site_frame *ret,
                      size_t most)
{
    (void) context, (void) a, (void) ret, (void) most;
    return 0;
}

static int show(const void *file, size_t size)
{
    struct site_looks *l = site_looks_new();
    int r = site_looks_take(l, file, size, 0, wire_now());
    struct sites *s = r < 0 ? NULL : site_looks_sites(l, no_name, NULL);
    struct buf text = BUF_INIT;
    if (s)
        sites_write(s, &text);
    fputs(buf_text(&text), stdout);
    buf_release(&text);
    sites_free(s);
    site_looks_free(l);
    return r < 0;
}

int main(int argc, char **argv)
{
    const size_t size = sizeof(struct wire_trace_layout);
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    char *copy = malloc(size);
    bool is_whole = fd >= 0 && copy && read(fd, copy, size) == (ssize_t) size;
    int status = is_whole ? show(copy, size) : 1;
    free(copy);
    return status;
}

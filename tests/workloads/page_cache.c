/*
 * workloads/page_cache.c: maps a file of --file-mb MB (300) and reads through it, step by step.
 *
 * grows:   RssFile of the only process, linear, until the file has been read: after --read-steps
 *          steps (0: with the last one); RssAnon is flat. The kernel takes the pages back when
 *          somebody needs them
 * verdict: no leak; --fix reads the same 1 MB again and again: no leak
 * cleans:  the file has no name any more when the steps begin
 * needs:   a folder on a disk (--tmp: /tmp instead of /var/tmp): in a tmpfs it is shared memory
 */
#include "load.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

static const volatile unsigned char *map_file(const char *folder, size_t bytes)
{
    char name[64];
    snprintf(name, sizeof(name), "%s/tidemark-test-XXXXXX", folder);
    int fd = mkstemp(name);
    if (fd < 0)
        load_fail(name);
    unlink(name);
    struct statfs where;
    if (fstatfs(fd, &where) != 0 || where.f_type == TMPFS_MAGIC)
        load_skip("its folder is not on a disk");
    if (ftruncate(fd, (off_t) bytes) != 0)
        load_fail("ftruncate");
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        load_fail("mmap");
    close(fd);
    return map;
}

static unsigned read_pages(const volatile unsigned char *map, size_t from, size_t to)
{
    unsigned sum = 0;
    for (size_t at = from; at < to; at += 4096)
        sum += map[at];
    return sum;
}

int main(int argc, char **argv)
{
    long file_mb = 300, read_steps = 0;
    bool in_tmp = false;
    load_init(argc, argv,
              (struct load_option[]){{"file-mb", &file_mb, NULL},
                                     {"read-steps", &read_steps, NULL},
                                     {"tmp", NULL, &in_tmp},
                                     {0}});
    if (read_steps == 0)
        read_steps = load.steps;
    size_t bytes = (size_t) file_mb << 20;
    const volatile unsigned char *map = map_file(in_tmp ? "/tmp" : "/var/tmp", bytes);
    for (long n = 1; load_running(n); n++) {
        size_t from = bytes / (size_t) read_steps * (size_t) (n - 1);
        if (load.fix)
            read_pages(map, 0, bytes < 1 << 20 ? bytes : 1 << 20);
        else if (n <= read_steps)
            read_pages(map, from, from + bytes / (size_t) read_steps);
        load_step(n);
    }
    return load_end();
}

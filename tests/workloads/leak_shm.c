/*
 * workloads/leak_shm.c: a file of --kb KB (64) in /dev/shm a step, unmapped but never unlinked.
 *
 * grows:   what the tmpfs /dev/shm holds (and Shmem of the machine and of the cgroup), linear; no
 *          memory of the process itself: RssAnon and RssShmem are flat
 * verdict: leak, a kind of shared memory; --fix unlinks each file: no leak
 * cleans:  its files are called /dev/shm/tidemark-test-PID-N and are removed at the end, also on
 *          SIGTERM and SIGINT
 */
#include "load.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void name_file(char *name, size_t size, long n)
{
    snprintf(name, size, "/dev/shm/tidemark-test-%ld-%ld", (long) getpid(), n);
}

static void remove_files(long last)
{
    char name[80];
    for (long n = 1; n <= last; n++) {
        name_file(name, sizeof(name), n);
        unlink(name);
    }
}

static int make_file(const char *name, size_t bytes)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    void *map = MAP_FAILED;
    if (posix_fallocate(fd, 0, (off_t) bytes) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return -1;
    memset(map, 0x5a, bytes);
    return munmap(map, bytes);
}

int main(int argc, char **argv)
{
    long kb = 64;
    load_init(argc, argv, (struct load_option[]){{"kb", &kb, NULL}, {0}});
    if (access("/dev/shm", W_OK) != 0)
        load_skip("no /dev/shm");
    long n = 1;
    for (; load_running(n); n++) {
        char name[80];
        name_file(name, sizeof(name), n);
        if (make_file(name, (size_t) kb << 10) != 0) {
            remove_files(n);
            load_fail(name);
        }
        if (load.fix)
            unlink(name);
        load_step(n);
    }
    remove_files(n);
    return load_end();
}

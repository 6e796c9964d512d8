/* wire/want.c: a process reads what its reader wants, and leaves its census for the reader. */
#include "wire/ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum wire_wanted wire_wanted(const struct wire_ring *r)
{
    uint32_t wanted = atomic_load_explicit(&r->layout->wanted, memory_order_relaxed);
    return wanted <= WIRE_CENSUS_WHOLE ? (enum wire_wanted) wanted : WIRE_CENSUS_NONE;
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            text += n;
            len -= (size_t) n;
        }
    }
    return 0;
}

static int replace(int place, const struct wire_ring *r, const char *text, size_t len)
{
    /* An interrupted call may have left its draft. */
    unlinkat(place, r->census_draft, 0);
    int fd =
        openat(place, r->census_draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int e = write_all(fd, text, len);
    close(fd);
    if (e == 0 && renameat(place, r->census_draft, place, r->census) < 0)
        e = -errno;
    if (e < 0)
        unlinkat(place, r->census_draft, 0);
    return e;
}

int wire_census_replace(struct wire_ring *r, const char *text, size_t len)
{
    if (!r->directory)
        return -ENOENT;
    int kept = errno, place = wire_open_place(r->directory);
    int e = place < 0 ? place : replace(place, r, text, len);
    if (place >= 0)
        close(place);
    errno = kept;
    return e;
}

int wire_census_open(const struct wire_ring *r, struct stat *ret)
{
    if (!r->directory)
        return -ENOENT;
    int place = wire_open_place(r->directory);
    if (place < 0)
        return place;
    int fd = wire_open_beneath(place, r->census, S_IFREG, O_RDONLY, ret);
    close(place);
    return fd;
}

void wire_census_by(struct wire_ring *r, pid_t pid)
{
    atomic_store_explicit(&r->layout->counting, (uint32_t) pid, memory_order_release);
}

void wire_own_shared(struct wire_ring *r, size_t bytes)
{
    atomic_store_explicit(&r->layout->own_shared, bytes, memory_order_relaxed);
}

bool wire_has_reader(const char *directory)
{
    int kept = errno, fd = wire_open_wake(directory, O_WRONLY);
    if (fd >= 0)
        close(fd);
    errno = kept;
    return fd >= 0;
}

/* Includes what forks of this process have left there, because nobody will read it. */
static void remove_directory(const char *directory)
{
    int place = wire_open_place(directory);
    DIR *folder = place < 0 ? NULL : fdopendir(place);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        unlinkat(place, entry->d_name, 0);
    if (folder) {
        closedir(folder);
        rmdir(directory);
    } else if (place >= 0) {
        close(place);
    }
}

void wire_say_left(struct wire_ring *r)
{
    if (r->directory)
        remove_directory(r->directory);
    atomic_store_explicit(&r->layout->left, 1, memory_order_release);
}

unsigned wire_acts(const struct wire_ring *r)
{
    return atomic_load_explicit(&r->layout->acts, memory_order_relaxed);
}

/* deputy/work.c: helpers shared by all work of a deputy. System calls only. */
#include "deputy/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int work_open(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
    long fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
    return fd < 0 ? -errno : (int) fd;
}

int work_open_in_root(const struct deputy *d, const char *path, uint64_t flags)
{
    return work_open(d->root, path, flags, RESOLVE_IN_ROOT);
}

int work_open_below(int directory, const char *name, uint64_t flags)
{
    return work_open(directory, name, flags,
                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

/* ---- folders ---- */

static int draw_name(char ret[DEPUTY_PATH])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t random;
    if (syscall(SYS_getrandom, &random, sizeof random, 0) != (long) sizeof random)
        return -EIO;
    char *end = stpcpy(ret, DEPUTY_FOLDER_PREFIX);
    for (unsigned i = 0; i < 16; i++, random >>= 4)
        *end++ = digits[random & 0xf];
    *end = '\0';
    return 0;
}

int work_make_folder(int place, char ret_name[DEPUTY_PATH])
{
    int r = draw_name(ret_name);
    if (r < 0)
        return r;
    if (mkdirat(place, ret_name, 0700) < 0)
        return -errno;
    int fd = work_open_below(place, ret_name, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        unlinkat(place, ret_name, AT_REMOVEDIR);
    return fd;
}

/* One pass; returns the number of entries removed. */
static unsigned empty_once(int directory)
{
    _Alignas(struct dirent64) char entries[8192];
    unsigned removed = 0;
    long len;
    lseek(directory, 0, SEEK_SET);
    while ((len = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0)
        for (long at = 0; at < len;) {
            const struct dirent64 *e = (const struct dirent64 *) (entries + at);
            removed += unlinkat(directory, e->d_name, 0) == 0 ||
                       unlinkat(directory, e->d_name, AT_REMOVEDIR) == 0;
            at += e->d_reclen;
        }
    return removed;
}

/* A process that keeps adding files keeps us here until we are killed, but it is its own folder. */
void work_remove_folder(int place, int directory, const char *name)
{
    while (empty_once(directory) > 0)
        ;
    unlinkat(place, name, AT_REMOVEDIR);
}

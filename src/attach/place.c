/* attach/place.c: puts the library where the target can open it. */
#include "attach/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file itself ---- */

static bool is_same_file(const struct deputy *d, const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && deputy_sees(d, path, &st) > 0;
}

/* ---- a copy ---- */

/* Copies of the same bytes have the same name, so a loaded copy is recognized. */
static int name_of(int library, char ret[128])
{
    uint64_t hash = 0xcbf29ce484222325u;
    uint8_t piece[65536];
    ssize_t n;
    while ((n = pread(library, piece, sizeof piece, 0)) < 0 && errno == EINTR)
        ;
    for (off_t at = 0; n > 0; n = pread(library, piece, sizeof piece, at)) {
        for (ssize_t i = 0; i < n; i++)
            hash = (hash ^ piece[i]) * 0x100000001b3u;
        at += n;
    }
    snprintf(ret, 128, "libtidemark_probe-%016llx.so", (unsigned long long) hash);
    return n < 0 ? -errno : 0;
}

static bool find_loaded(const struct target *t, const char *name, struct place *p)
{
    struct maps_entry m;
    for (size_t position = 0; maps_next(t->maps.text, t->maps.len, &position, &m);) {
        if (!maps_is_named(&m, name) || m.path_len >= sizeof p->path)
            continue;
        memcpy(p->path, m.path, m.path_len);
        p->path[m.path_len] = '\0';
        return true;
    }
    return false;
}

int place_library(const struct target *t, const struct deputy *d, const char *library,
                  bool must_copy, struct place *ret, struct buf *why)
{
    char file[128];
    *ret = PLACE_INIT;
    char *path = realpath(library, NULL);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int r = fd < 0 ? -errno : name_of(fd, file);
    if (r < 0) {
        buf_addf(why, "%s cannot be read: %s.", library, error_words(-r));
    } else if (!must_copy && path && strlen(path) < sizeof ret->path && is_same_file(d, path)) {
        snprintf(ret->path, sizeof ret->path, "%s", path);
    } else if (!find_loaded(t, file, ret) && (r = deputy_copy(d, fd, file, &ret->copy)) < 0) {
        buf_addf(
            why,
            "could not attach to process %d (%s): it sees other files than tidemark, and its user "
            "can "
            "neither write to nor load programs from its /tmp, /var/tmp or /dev/shm. Start the "
            "job with `tidemark run` instead.",
            (int) t->pid, t->name);
    } else if (ret->copy.path[0]) {
        memcpy(ret->path, ret->copy.path, sizeof ret->copy.path);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return r;
}

void place_release(struct place *p, const struct deputy *d)
{
    deputy_remove_copy(d, &p->copy);
}

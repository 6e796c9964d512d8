/* deputy/work.h: one piece of work done by a deputy. Private to deputy/. */
#ifndef TIDEMARK_DEPUTY_WORK_H
#define TIDEMARK_DEPUTY_WORK_H

#include "deputy/deputy.h"

#include <stdint.h>

struct deputy {
    pid_t pid;
    int process; /* pidfd */
    int root, cwd;
    uid_t uid;
    gid_t gid;
    bool is_foreign;
};

#define WORK_FDS 4u

/* The answer of the child. Nothing in it is trusted. */
struct answer {
    int32_t result; /* 0 or -errno */
    uint32_t fd_count;
    uint64_t device, inode, length;
    char text[DEPUTY_PATH];
    int fds[WORK_FDS]; /* filled by the work; the caller owns them once they have come back */
};

/*
 * The work itself, in the child: system calls only. Stores its result in *ret and returns 0 or
 * -errno.
 */
typedef int work_function(const struct deputy *d, const void *context, struct answer *ret);

/*
 * Runs the work and waits for its answer. `keep`: descriptors the work needs besides the
 * deputy's own; -1 is skipped. 0 or -errno of the work; -ETIMEDOUT: it was killed; -EIO: it
 * ended without an answer. On failure no descriptor comes back; on success exactly `fds` do.
 */
int work_run(const struct deputy *d, work_function *work, const void *context, const int *keep,
             unsigned keep_count, unsigned fds, struct answer *ret);

bool work_target_has_ended(const struct deputy *d); /* so its pid may be another's */

void work_close(struct answer *a); /* all descriptors that came back */

/* openat2(): -errno. */
int work_open(int directory, const char *path, uint64_t flags, uint64_t resolve);
/* Of the target's root, by an absolute path; links stay inside that root. */
int work_open_in_root(const struct deputy *d, const char *path, uint64_t flags);
/* Directly inside an opened folder, following no link and crossing no mount. */
int work_open_below(int directory, const char *name, uint64_t flags);

/* "tidemark-" and 16 random digits: a new folder of mode 0700 in `place`, opened. -errno. */
int work_make_folder(int place, char ret_name[DEPUTY_PATH]);
/* Removes the folder's contents, then the folder. */
void work_remove_folder(int place, int directory, const char *name);

/* The same by a deputy: of a folder at that path, whose descriptors are closed. */
void work_remove(const struct deputy *d, int *place, int *directory, const char *path);

#endif

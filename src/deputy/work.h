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

/* The answer of the child. The parent trusts nothing in it. */
struct answer {
    int32_t result; /* 0 or -errno */
    uint32_t fd_count;
    uint64_t device, inode, length;
    char text[DEPUTY_PATH];
    int fds[WORK_FDS]; /* filled by the work; the caller owns those that come back */
};

/*
 * The work itself, in the child: system calls only, except in a cage. Stores its result in *ret and
 * returns 0 or -errno.
 */
typedef int work_function(const struct deputy *d, const void *context, struct answer *ret);

/*
 * Runs the work and waits for its answer. `keep`: descriptors the work needs besides the
 * deputy's own; -1 is skipped. 0 or -errno of the work; -ETIMEDOUT: it was killed; -EIO: it
 * ended without an answer. On failure no descriptor comes back; on success exactly `fds` do.
 */
int work_run(const struct deputy *d, work_function *work, const void *context, const int *keep,
             unsigned keep_count, unsigned fds, struct answer *ret);
/* The same, killed after that time instead of DEPUTY_SECONDS. */
int work_run_for(const struct deputy *d, double seconds, work_function *work, const void *context,
                 const int *keep, unsigned keep_count, unsigned fds, struct answer *ret);

bool work_target_has_ended(const struct deputy *d); /* then its pid may be another process's */

void work_close(struct answer *a); /* all descriptors that came back */

/* openat2(): -errno. */
int work_open(int directory, const char *path, uint64_t flags, uint64_t resolve);
/* Opens an absolute path in the target's root; links stay inside that root. */
int work_open_in_root(const struct deputy *d, const char *path, uint64_t flags);
/* Opens a name directly inside an opened folder; follows no link and crosses no mount. */
int work_open_below(int directory, const char *name, uint64_t flags);

/* Creates and opens a folder of mode 0700 in `place`: "tidemark-" and 16 random digits. -errno. */
int work_make_folder(int place, char ret_name[DEPUTY_PATH]);
/* Removes the folder's contents, then the folder. */
void work_remove_folder(int place, int directory, const char *name);

/* The same through a deputy, for the folder at that path; closes the descriptors. */
void work_remove(const struct deputy *d, int *place, int *directory, const char *path);

#endif

/* proc/cgroup_files.h: where the kernel says a process's cgroup is. Pure. */
#ifndef TIDEMARK_PROC_CGROUP_FILES_H
#define TIDEMARK_PROC_CGROUP_FILES_H

#include "proc/proc.h"

/*
 * Finds in /proc/PID/mountinfo where the memory hierarchy is mounted: its mount point, and the path
 * inside the hierarchy that is visible there ("/", or a container's own). Later mounts cover
 * earlier ones, so the last one counts. -ENOENT.
 */
int cgroup_mount_parse(const char *text, size_t len, enum cgroup_version version,
                       struct buf *ret_point, struct buf *ret_root);

/* What cgroup_stat_parse() leaves out: the limits of v1 that include those of all ancestors. */
struct cgroup_v1_limits {
    double memory, with_swap; /* absent: none */
};

int cgroup_v1_limits_parse(const char *text, size_t len, struct cgroup_v1_limits *ret);

/* A file with one number. "max", and the number v1 writes for it (2^62 or more), is absent.
 * -EINVAL. */
int cgroup_number_parse(const char *text, size_t len, double *ret);

#endif

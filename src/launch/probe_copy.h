/* launch/probe_copy.h: a copy of the probe that every user can load. Private to launch/. */
#ifndef TIDEMARK_LAUNCH_PROBE_COPY_H
#define TIDEMARK_LAUNCH_PROBE_COPY_H

#include "base/base.h"

#include <stdbool.h>

/*
 * A job that root starts may run processes as other users (setpriv, su, a launcher). The loader of
 * such a process prints an error if LD_PRELOAD names a file that its user cannot read, such as a
 * build below /root. Then a copy of the probe is preloaded: the file (0444) in a folder of root's
 * own (0755), below /run, /tmp or /var/tmp.
 *
 * Processes may outlive the run, and their children may load the copy then: it is removed only when
 * nobody of the job is left. A later run of root's that needs a copy sweeps what stays. A lock on
 * the folder says that its run has not ended.
 */

/* Every user can read the file: no folder above it is closed to others. */
bool probe_is_readable_by_all(const char *path);

/*
 * Makes a copy, unless LD_PRELOAD names one with the same contents, that of the run around this
 * one. Appends its path. 1: the copy is new, and whoever lives as long as the run keeps *ret_lock
 * open; 0: it is another run's. -errno: there is no place for one.
 */
int probe_copy_make(const char *probe, struct buf *ret_path, int *ret_lock);

/* Removes a copy of our own user, unless a child of this process is alive. Reaps ended children. */
void probe_copy_remove(const char *path);

#endif

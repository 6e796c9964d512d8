/* launch/probe_copy.h: the probe where every user of the machine can load it. Private to launch/.
 */
#ifndef TIDEMARK_LAUNCH_PROBE_COPY_H
#define TIDEMARK_LAUNCH_PROBE_COPY_H

#include "base/base.h"

#include <stdbool.h>

/*
 * A job that root starts may run processes as other users (setpriv, su, a launcher). The loader of
 * such a process prints an error where LD_PRELOAD names a file that its user cannot read, and a
 * build below /root is one. Then the probe is preloaded from a copy: root's own folder (0755) with
 * the file in it (0444), below /run, /tmp or /var/tmp.
 *
 * Processes may outlive the run, and theirs may load the copy then: it is removed only when nobody
 * of the job is left. What stays is swept by a later run of root's that needs a copy. A lock on the
 * folder says that its run has not ended.
 */

/* Every user can read the file: no folder above it is closed to others. */
bool probe_is_readable_by_all(const char *path);

/*
 * Makes a copy, unless LD_PRELOAD names one of the same contents: that of the run around this one.
 * Appends its path. 1: the copy is new, and *ret_lock is to be kept open by whoever lives as long
 * as the run; 0: it is another run's. -errno: there is no place for one.
 */
int probe_copy_make(const char *probe, struct buf *ret_path, int *ret_lock);

/* Removes a copy that is our own user's, unless a child of this process is still alive. Reaps those
 * that have ended. */
void probe_copy_remove(const char *path);

#endif

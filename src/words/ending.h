/* words/ending.h: how a watched command ended, in words. */
#ifndef TIDEMARK_WORDS_ENDING_H
#define TIDEMARK_WORDS_ENDING_H

#include "base/base.h"

#include <stdbool.h>

/* What is known of the end. Counts and bytes: NAN: not known. */
struct ending_facts {
    bool known;           /* the status is */
    int status;           /* as waitpid() gives it */
    bool interrupted;     /* by the user or an option: a signal is no surprise then */
    const char *by;       /* what ended it, in words; NULL: it ended itself */
    double cgroup_kills;  /* OOM kills the kernel counted meanwhile in the job's cgroup */
    double cgroup_limit;  /* bytes */
    double machine_kills; /* the same on the whole machine */
};

/* "exited with status 3", "OOM-killed by the kernel (cgroup limit 512 MB)"; nothing where there is
 * nothing to say. */
void ending_words(struct buf *out, const struct ending_facts *f);

#endif

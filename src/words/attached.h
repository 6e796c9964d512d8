/* words/attached.h: attaching to a running process and detaching from it, as sentences. */
#ifndef TIDEMARK_WORDS_ATTACHED_H
#define TIDEMARK_WORDS_ATTACHED_H

#include "words/finding.h"

/* Whether the process has ended, was detached from, or what stays in it and why. No full stop. */
void attached_end(struct buf *out, const struct attached_process *e);

/* The whole story of one process: paused for how long, and its end; or why tidemark could not
 * attach. */
void attached_describe(struct buf *out, const struct attached_process *e);

/* ---- announced as it happens: a line each, with "tidemark: " and a line end ---- */

/* `user`: it runs as another one; -1: it does not. */
void attached_announce(struct buf *out, const char *process, double paused_seconds, long user);

/* A failure, and what the user can do. */
enum attached_remedy {
    REMEDY_NONE,
    REMEDY_RETRY, /* tidemark tries again by itself */
    REMEDY_ROOT,
};
void attached_announce_failure(struct buf *out, const char *process, int64_t pid, const char *why,
                               enum attached_remedy remedy);

/* A suspect to which tidemark may not attach by itself: the command that would. */
void attached_announce_suspect(struct buf *out, const char *process, int64_t pid);

void attached_announce_waiting(struct buf *out);

#endif

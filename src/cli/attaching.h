/* cli/attaching.h: attaches to processes of a watched job when that is worth its cost. */
#ifndef TIDEMARK_CLI_ATTACHING_H
#define TIDEMARK_CLI_ATTACHING_H

#include "launch/launch.h"
#include "watch/watch.h"

struct attaching_options {
    bool all; /* attach to every trainer at once; otherwise to a process once it is suspect */
    bool only_names; /* attach to no process; announce suspects and the command to type */
    double patience; /* seconds each main thread has to reach a safe point */
    void (*announce)(void *context, const char *line);
    void *context;
};

struct attaching;

struct attaching *attaching_new(const struct attaching_options *o);
struct attaching *attaching_free(struct attaching *e); /* accepts NULL, returns NULL */

/* Starts attaching where it is worth it, and announces the results since the last call. Never
 * waits. */
void attaching_tick(struct attaching *e, struct watch *w);

size_t attaching_count(const struct attaching *e);    /* attached so far */
bool attaching_is_refused(const struct attaching *e); /* every attempt failed */

/* Call after watch_finish(): cancels pending attempts and detaches from all processes. */
void attaching_end(struct attaching *e, struct watch *w);

#endif

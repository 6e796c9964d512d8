/* cli/entering.h: processes of a watched job are entered when that is worth it. */
#ifndef TIDEMARK_CLI_ENTERING_H
#define TIDEMARK_CLI_ENTERING_H

#include "launch/launch.h"
#include "watch/watch.h"

struct entering_options {
    bool all;        /* every trainer, at once; else those that seem to leak, when they do */
    bool stays_out;  /* only says of those what to type */
    double patience; /* seconds for the main thread of each to get to it */
    void (*tell)(void *context, const char *line); /* for the user, as it happens */
    void *context;
};

struct entering;

struct entering *entering_new(const struct entering_options *o);
struct entering *entering_free(struct entering *e); /* accepts NULL, returns NULL */

/* Enters who is worth it, and notes what came of those before. Never waits. */
void entering_tick(struct entering *e, struct watch *w);

size_t entering_count(const struct entering *e);    /* so many were entered so far */
bool entering_is_refused(const struct entering *e); /* all that were tried could not be */

/* After watch_finish(): gives up on who is being entered, and leaves all. */
void entering_end(struct entering *e, struct watch *w);

#endif

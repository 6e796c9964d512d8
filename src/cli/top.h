/* cli/top.h: a watched job on the full screen, kept up to date. */
#ifndef TIDEMARK_CLI_TOP_H
#define TIDEMARK_CLI_TOP_H

#include "cli/live.h"
#include "screen/screen.h"

/* What the screen shows at this moment, and when it is due again. */
struct top {
    struct screen *screen;
    struct view view;
    struct view_tree tree;
    struct view_status status;
    bool has_view;
    double next, next_view; /* seconds */
};

/* Takes the terminal. STATUS_FINE, or an exit status with a message. */
int top_open(struct top *t, const struct view_options *view, const char *command);
void top_close(struct top *t); /* gives it back, if it is still taken */

/* The display of a watched job. Valid as long as the top is. */
struct live_display top_display(struct top *t);

/* Offers the running training jobs. 0: *ret_pid is the one that the user took; -ECANCELED: none;
 * -ESRCH: there is none. */
int top_choose(struct top *t, pid_t *ret_pid);

#endif

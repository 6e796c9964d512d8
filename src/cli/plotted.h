/* cli/plotted.h: what a picture is drawn of: the series of a run file, a log or a table. */
#ifndef TIDEMARK_CLI_PLOTTED_H
#define TIDEMARK_CLI_PLOTTED_H

#include "cli/load.h"
#include "plot/plot.h"

#define PLOTTED_NAMES 8u

struct plotted_options {
    struct load_options load;
    const char *names[PLOTTED_NAMES]; /* the series that were selected */
    unsigned name_count;
};

/* For an option table: adds a name to struct plotted_options. -EINVAL: empty, or too many. */
int plotted_parse_series(const char *text, void *target);

struct plotted;

/*
 * Reads the source. A run file has the final answer of its own report, unless the options judge it
 * anew. -errno, with a message. The caller owns *ret.
 */
int plotted_load(const char *argument, const struct plotted_options *options, struct plotted **ret);
struct plotted *plotted_free(struct plotted *p); /* accepts NULL, returns NULL */

/* Valid as long as `p`. */
const struct plot_job *plotted_job(const struct plotted *p);
const char *plotted_path(const struct plotted *p); /* as the user wrote it, without a selector */

#endif

/* sites/naming.h: from words of a trace file to frames with names. Private to sites. */
#ifndef TIDEMARK_SITES_NAMING_H
#define TIDEMARK_SITES_NAMING_H

#include "sites/looks.h"
#include "sites/texts.h"

/* The names of all native addresses on the stacks that were seen; texts are kept in `texts`. */
struct naming;

struct naming *naming_new(const struct site_looks *l, struct site_texts *texts, site_namer *name,
                          void *context);
struct naming *naming_free(struct naming *n); /* accepts NULL, returns NULL */

/* The frames of a stack, innermost first, with the functions inlined into each; returns their
 * number, at most SITES_MOST_FRAMES. */
unsigned naming_frames(const struct naming *n, uint32_t stack,
                       struct site_frame ret[SITES_MOST_FRAMES]);

#endif

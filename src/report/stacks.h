/* report/stacks.h: the stacks that are shown, with their bytes, and the tree of them. Private. */
#ifndef TIDEMARK_REPORT_STACKS_H
#define TIDEMARK_REPORT_STACKS_H

#include "report/report.h"
#include "sites/sites.h"

/* Bytes with their standard error; NAN: not known. */
struct amount {
    double bytes, error;
};

/* Whether the site's kind of memory is shown. */
bool stacks_wants(const struct report_stacks *r, const struct site *site);

/* What a site has of a value. */
struct amount stacks_amount(const struct report_stacks *r, const struct sites *sites,
                            const struct site *site, enum report_value value);

/* One site that is shown. Its frames come from the outermost to the innermost. The process (of
 * several) and the device come first, as frames with a name alone. */
struct stack {
    const struct site *site;
    size_t process; /* in the list of the report */
    struct amount amount;
    const struct site_frame **frames;
    unsigned count;
};

struct stacks {
    struct stack *list; /* the largest first */
    size_t count;
    struct amount total;          /* of the list */
    double shrunk;                /* bytes that other sites lost; 0 unless growth is shown */
    struct site_frame **headings; /* frames with a name alone */
    size_t heading_count;
};

/* Texts stay those of the report, which must outlive it. `all`: also sites with nothing to show. */
void stacks_init(struct stacks *s, const struct report_stacks *r, bool all);
void stacks_release(struct stacks *s);

/* ---- frames ---- */

/* Whose code a frame is. */
enum frame_origin {
    FRAME_OWN,     /* Python of the user, and what the user compiled */
    FRAME_LIBRARY, /* Python of packages and the standard library */
    FRAME_NATIVE,  /* of libraries */
    FRAME_HEADING, /* a process, a device, a stack that is not known */
    FRAME_ORIGINS,
};

enum frame_origin stacks_origin(const struct site_frame *f);

/* "train (train.py:41)", "at::empty (libtorch_cpu.so)"; cleaned. */
void stacks_add_frame(struct buf *out, const struct site_frame *f);

/* An order in which only equal frames are equal. */
int stacks_compare_frames(const struct site_frame *a, const struct site_frame *b);

/* Whether they are one place for a person: an offset counts only where nothing else is known. */
bool stacks_is_same_frame(const struct site_frame *a, const struct site_frame *b);

/* The last part of a path. */
const char *stacks_base_name(const char *path);

/* ---- the tree ---- */

/* Frames that are called in the same way. Node 0 is the whole; it has no frame. */
struct stacks_node {
    const struct site_frame *frame;
    double bytes, variance;
    size_t child, next; /* the largest of its callees; the next callee of its caller; 0: none */
};

struct stacks_tree {
    struct stacks_node *nodes;
    size_t count;
};

void stacks_tree_init(struct stacks_tree *t, const struct stacks *s);
void stacks_tree_release(struct stacks_tree *t);

/* ---- in words ---- */

/* "steps 100 to 940", "3.5 s to 12 min after the start": the span that is shown. */
void stacks_add_span(struct buf *out, const struct report_stacks *r);

/* What the picture lacks: memory that the tracer did not see, small sites, lost samples. Sentences,
 * without a full stop at the end; nothing where it lacks nothing. */
void stacks_add_lacks(struct buf *out, const struct report_stacks *r, const struct stacks *s);

#endif

/* words/patterns.c: patterns that look like a leak, in words. */
#include "words/patterns.h"

static void add_span(struct buf *out, double low, double high, bool returns)
{
    buf_adds(out, returns ? "repeatedly from " : "from ");
    units_add_bytes(out, low);
    buf_adds(out, " to ");
    units_add_bytes(out, high);
    buf_adds(out, returns ? " and back" : "");
}

void pattern_describe(struct buf *out, const struct pattern_facts *f)
{
    buf_addf(out, "%s: %s, ", pattern_name(f->pattern), f->series);
    add_span(out, f->low, f->high, f->returns);
    buf_adds(out, f->slows ? ", ever more slowly" : "");
    if (f->others > 0)
        buf_addf(out, ", and %u other series", f->others);
}

void pattern_describe_copies(struct buf *out, unsigned workers, const char *parent, double bytes)
{
    buf_addf(out, "%s: %u data worker%s of %s copied ", pattern_name(PATTERN_COPY_ON_WRITE),
             workers, workers == 1 ? "" : "s", parent);
    units_add_bytes(out, bytes);
    buf_adds(out, workers == 1 ? "" : " in all");
}

void pattern_describe_heap(struct buf *out, const char *process, double low, double high)
{
    buf_addf(out, "%s: malloc's in-use memory in %s, ", pattern_name(PATTERN_SAWTOOTH), process);
    add_span(out, low, high, true);
}

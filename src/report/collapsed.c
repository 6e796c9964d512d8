/* report/collapsed.c: stacks in Brendan Gregg's format, which most flame graph programs read. */
#include "report/stacks.h"

#include <errno.h>

/* A frame's name without what separates frames. */
static void add_name(struct buf *out, const struct site_frame *f)
{
    struct buf name = BUF_INIT;
    stacks_add_frame(&name, f);
    for (const char *c = buf_text(&name); *c; c++)
        buf_addc(out, *c == ';' ? ':' : *c);
    buf_release(&name);
}

int report_collapsed(struct buf *out, const struct report_stacks *r)
{
    struct stacks s;
    stacks_init(&s, r, false);
    int result = s.count > 0 ? 0 : -ENODATA;
    for (size_t i = 0; i < s.count; i++) {
        for (unsigned f = 0; f < s.list[i].count; f++) {
            buf_adds(out, f ? ";" : "");
            add_name(out, s.list[i].frames[f]);
        }
        buf_addf(out, " %.0f\n", s.list[i].amount.bytes);
    }
    stacks_release(&s);
    return result;
}

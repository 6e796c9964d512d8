/* page/markdown.c: the report for a pull request or an issue. */
#include "page/source.h"

int page_markdown(struct buf *out, struct page_source *s, struct store_error *ret_error)
{
    (void) ret_error;
    report_run_headline(out, page_view(s), &page_style_plain);
    return 0;
}

/* page/markdown.c: the report for a pull request or an issue. */
#include "page/source.h"

#include "judge/judge.h"

#include <stdlib.h>

/* The account of the series that decides. False: it has none. */
static bool find_account(struct page_source *s, struct account *ret)
{
    const struct view *v = page_view(s);
    if (v->answer.deciding >= v->count)
        return false;
    size_t i = page_series_of(s, &v->series[v->answer.deciding].info);
    return i != SIZE_MAX && recording_account(s->recording, i, ret);
}

int page_markdown(struct buf *out, struct page_source *s, struct store_error *ret_error)
{
    int r = page_load(s);
    if (r < 0) {
        store_explain(r, ret_error);
        return r;
    }
    struct account *account = malloc(sizeof(*account));
    if (!account)
        base_out_of_memory();
    bool has_account = find_account(s, account);
    report_run_markdown(out, page_view(s), has_account ? account : NULL, s->name);
    free(account);
    return 0;
}

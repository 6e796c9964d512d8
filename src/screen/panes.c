/* screen/panes.c: the text of the panes: chart, holders, messages, help. */
#include "screen/state.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a chart below its plot: the axis, its numbers, the legend. */
#define AXIS_ROWS 3u

/* ---- the chart ---- */

static const struct view_series *series_of(const struct view *v, int64_t pid, unsigned number)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->series[i].info.pid == pid && number-- == 0)
            return &v->series[i];
    return NULL;
}

static unsigned count_series(const struct view *v, int64_t pid)
{
    unsigned count = 0;
    for (size_t i = 0; i < v->count; i++)
        count += v->series[i].info.pid == pid;
    return count;
}

/* The deciding one first, then the others of the process in their order. */
const struct view_series *pane_series(const struct screen *s)
{
    const struct entry *e = screen_selected(s);
    if (!e || !e->series)
        return NULL;
    const struct view *v = s->data.view;
    unsigned count = count_series(v, e->process->pid), first = 0;
    if (count == 0)
        return NULL;
    while (first < count && series_of(v, e->process->pid, first) != e->series)
        first++;
    return series_of(v, e->process->pid, (first + s->pane_series) % count);
}

static void add_chart(const struct screen *s, unsigned width, unsigned height, struct buf *out)
{
    const struct view_series *shown = pane_series(s);
    const struct report_style style = screen_style(s, width);
    if (!shown) {
        buf_adds(out, "This process has no series to show: its memory has not moved.\n");
        return;
    }
    const struct report_series series = {&shown->info, &shown->answer, &shown->history};
    headline_series(out, &series);
    buf_addc(out, '\n');
    report_chart(out, &series, height > AXIS_ROWS + 3 ? height - AXIS_ROWS - 1 : 2, &style);
}

/* ---- the holders ---- */

/* What is known of one process. Texts are those of `all`. */
static void pick_findings(const struct findings *all, int64_t pid, struct findings *ret)
{
    *ret = (struct findings){.so_far = all->so_far, .undecided_count = all->undecided_count};
    memcpy(ret->undecided, all->undecided, sizeof(ret->undecided));
    ret->findings = calloc(all->count + 1, sizeof(*ret->findings));
    ret->caches = calloc(all->cache_count + 1, sizeof(*ret->caches));
    ret->entered = calloc(all->entered_count + 1, sizeof(*ret->entered));
    ret->sites = calloc(all->site_count + 1, sizeof(*ret->sites));
    if (!ret->findings || !ret->caches || !ret->entered || !ret->sites)
        base_out_of_memory();
    for (size_t i = 0; i < all->count; i++)
        if (all->findings[i].pid == pid)
            ret->findings[ret->count++] = all->findings[i];
    for (size_t i = 0; i < all->cache_count; i++)
        if (all->caches[i].pid == pid)
            ret->caches[ret->cache_count++] = all->caches[i];
    for (size_t i = 0; i < all->entered_count; i++)
        if (all->entered[i].pid == pid)
            ret->entered[ret->entered_count++] = all->entered[i];
    for (size_t i = 0; i < all->site_count; i++)
        if (all->sites[i].pid == pid)
            ret->sites[ret->site_count++] = all->sites[i];
}

static void add_holders(const struct screen *s, unsigned width, struct buf *out)
{
    const struct entry *e = screen_selected(s);
    const struct report_style style = screen_style(s, width);
    struct findings found;
    if (!e)
        return;
    pick_findings(&s->data.view->found, e->process->pid, &found);
    report_findings(out, &found, &style);
    if (out->len == 0)
        format_wrapped(out,
                       "Nothing is known about holders in this process. tidemark attaches to a "
                       "Python process once its memory seems to leak, and searches for them then.",
                       0, &style);
    free(found.findings);
    free(found.caches);
    free(found.entered);
    free(found.sites);
}

/* ---- all of them ---- */

static void add_messages(const struct screen *s, unsigned width, struct buf *out)
{
    const struct report_style style = screen_style(s, width);
    for (unsigned i = s->message_count; i-- > 0;)
        format_wrapped(out, s->messages[i], 0, &style);
    if (s->message_count == 0)
        buf_adds(out, "No message yet.\n");
}

void pane_text(const struct screen *s, unsigned width, unsigned height, struct buf *out)
{
    if (s->pane == PANE_CHART)
        add_chart(s, width, height, out);
    else if (s->pane == PANE_HOLDERS)
        add_holders(s, width, out);
    else
        add_messages(s, width, out);
}

/* Of a process with several series: which of them. */
static void add_series_title(const struct screen *s, const struct view_series *series,
                             struct buf *out)
{
    unsigned count = count_series(s->data.view, series->info.pid);
    buf_adds(out, series->info.name);
    if (count > 1)
        buf_addf(out, " (%u of %u series; Tab: the next)", s->pane_series % count + 1, count);
}

void pane_title(const struct screen *s, struct buf *out)
{
    const struct entry *e = screen_selected(s);
    const struct view_series *series = s->pane == PANE_CHART ? pane_series(s) : NULL;
    if (s->pane == PANE_MESSAGES)
        buf_adds(out, "messages, the newest first");
    else if (series)
        add_series_title(s, series, out);
    else if (e)
        buf_adds(out, e->process->label);
    if (s->pane == PANE_HOLDERS)
        buf_adds(out, ": holders");
}

void help_text(struct buf *out)
{
    buf_adds(out, "up down k j  select a process\n"
                  "PgUp PgDn    a page; g G: the ends\n"
                  "Enter c      chart of its memory\n"
                  "Tab          its next series\n"
                  "o            holders of its memory\n"
                  "m            messages\n"
                  "J K          scroll the open pane\n"
                  "Esc          close the pane, or filter\n"
                  "left right   fold, unfold; also h l\n"
                  "Space *      fold this one, all\n"
                  "t            tree, or plain list\n"
                  "s            sort by the next column\n"
                  "M R V P      memory rate verdict pid\n"
                  "I            sort the other way\n"
                  "/            filter: name, command, pid\n"
                  "Ctrl-L       draw again\n"
                  "q            leave, print the report\n"
                  "\n"
                  "memory    its share (PSS): adds up\n"
                  "history   of its floor, to now\n"
                  "floor     low-water mark of the series\n"
                  "limit in  at this rate\n");
}

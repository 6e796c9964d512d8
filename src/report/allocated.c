/* report/allocated.c: where the memory that stays is allocated, as text. */
#include "report/allocated.h"
#include "report/text.h"

#define STACK_SHOWN 8u
#define TRACERS_SHOWN 3u

void allocated_brief(struct buf *out, const struct findings *f, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < f->site_count && text.len == 0; i++)
        if (!f->sites[i].has_stopped)
            buf_adds(&text, f->sites[i].sentence);
    text_fact(out, "allocated", &text, style);
}

static void add_site(struct buf *out, const char *label, const struct site_view *s,
                     const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, s->sentence);
    if (s->has_stopped) {
        text_quiet_fact(out, label, &text, style);
        return;
    }
    text_fact(out, label, &text, style);
    for (unsigned i = 0; i < s->stack_count && i < STACK_SHOWN; i++)
        text_reason(out, "", s->stack[i], style);
    if (s->stack_count > STACK_SHOWN) {
        buf_addf(&text, "and %u more callers: tidemark flame has them",
                 s->stack_count - STACK_SHOWN);
        text_reason(out, "", buf_text(&text), style);
    }
    buf_release(&text);
}

static void add_some(struct buf *out, const struct findings *f, bool stopped,
                     const struct report_style *style)
{
    const char *label = stopped ? "warm-up" : "allocated";
    for (size_t i = 0; i < f->site_count; i++) {
        if (f->sites[i].has_stopped != stopped)
            continue;
        add_site(out, label, &f->sites[i], style);
        label = "";
    }
}

void allocated_text(struct buf *out, const struct findings *f, const struct report_style *style)
{
    add_some(out, f, false, style);
    add_some(out, f, true, style);
}

void allocated_tracers(struct buf *out, const struct findings *f, const struct report_style *style)
{
    for (size_t i = 0; i < f->tracer_count && i < TRACERS_SHOWN; i++) {
        struct buf text = BUF_INIT;
        site_words_tracer(&text, &f->tracers[i]);
        text_fact(out, i == 0 ? "tracer" : "", &text, style);
    }
}

/* plot/head.c: what stands above a chart: the verdict, why and what to do. */
#include "plot/head.h"

#include <string.h>

#define LINE 1.4 /* height of a line, in sizes of its text */

static const struct report_style words = {.width = FORMAT_MAX_WIDTH};

/* ---- one of them ---- */

static struct text_style label_style(const struct saying *s)
{
    struct text_style style = s->style;
    style.is_bold = true;
    style.paint.rgb = s->label_rgb;
    return style;
}

static double plate_padding(const struct saying *s)
{
    return s->has_plate ? 0.4 * s->style.size : 0;
}

static void wrap(struct saying *s, struct canvas *c, const char *sentence, double width,
                 unsigned most)
{
    struct text_style bold = label_style(s);
    double label = canvas_text_width(c, buf_text(&s->label), &bold);
    s->indent = label + 2 * plate_padding(s) + 0.45 * s->style.size;
    if (most > 0)
        lines_wrap(&s->lines, c, sentence, s->indent, width, most, &s->style);
}

void saying_verdict(struct saying *s, struct canvas *c, const struct look *look,
                    enum verdict verdict, enum severity severity, const char *sentence, double size,
                    double width, unsigned most)
{
    *s = (struct saying){.style = look_text(look, size, look->ink),
                         .has_plate = true,
                         .plate = look->verdict[verdict],
                         .label_rgb = look->on_verdict};
    s->style.is_bold = true;
    format_verdict(&s->label, verdict, severity, &words);
    wrap(s, c, sentence, width, most);
}

void saying_plain(struct saying *s, struct canvas *c, const struct look *look, const char *label,
                  const char *sentence, double width, unsigned most)
{
    *s = (struct saying){.style = look_text(look, LOOK_SAYING, look->ink), .label_rgb = look->ink};
    buf_addf(&s->label, "%s:", label);
    wrap(s, c, sentence, width, *sentence ? most : 0);
}

double saying_height(const struct saying *s)
{
    return s->lines.count * LINE * s->style.size;
}

void saying_draw(const struct saying *s, struct canvas *c, struct labels *l, struct point at)
{
    struct text_style bold = label_style(s);
    double size = s->style.size, padding = plate_padding(s);
    if (s->lines.count == 0)
        return;
    at.y += size;
    struct point label = {at.x + padding, at.y};
    struct box box = canvas_text_box(c, label, buf_text(&s->label), &bold);
    struct box plate = {at.x, box.top - 0.12 * size, box.right + padding, box.bottom + 0.03 * size};
    if (s->has_plate)
        canvas_rect(c, plate, 0.25 * size, look_paint(s->plate, 1));
    canvas_text(c, label, buf_text(&s->label), &bold);
    labels_take(l, box);
    for (unsigned i = 0; i < s->lines.count; i++) {
        struct point p = {at.x + (i == 0 ? s->indent : 0), at.y + i * LINE * size};
        labels_take(l, canvas_text_box(c, p, buf_text(&s->lines.text[i]), &s->style));
        canvas_text(c, p, buf_text(&s->lines.text[i]), &s->style);
    }
}

void saying_release(struct saying *s)
{
    buf_release(&s->label);
    lines_release(&s->lines);
}

/* ---- the three of a report ---- */

/* The sentence without the verdict in front of it, which gets a plate of its own. */
static const char *after_verdict(const char *text, const struct saying *title)
{
    size_t len = strlen(buf_text(&title->label));
    bool has = strncmp(text, buf_text(&title->label), len) == 0;
    const char *rest = has ? text + len + strspn(text + len, ": ") : text;
    return *rest ? rest : text;
}

void head_init(struct head *h, struct canvas *c, const struct look *look,
               const struct report_job *job, double width, const struct head_room *room)
{
    struct buf text = BUF_INIT;
    const struct job_answer *a = job->answer;
    summary_verdict(&text, job, &words);
    saying_verdict(&h->title, c, look, a->verdict, a->severity, "", LOOK_TITLE, width, 0);
    const char *sentence = after_verdict(buf_text(&text), &h->title);
    wrap(&h->title, c, sentence, width, room->title);
    buf_clear(&text);
    summary_why(&text, job, &words);
    saying_plain(&h->why, c, look, "why", buf_text(&text), width, room->why);
    buf_clear(&text);
    summary_next(&text, job, &words);
    saying_plain(&h->next, c, look, summary_next_label(job), buf_text(&text), width, room->next);
    buf_release(&text);
}

double head_height(const struct head *h)
{
    double title = saying_height(&h->title);
    return title + (title > 0 ? 0.25 * h->title.style.size : 0) + saying_height(&h->why) +
           saying_height(&h->next);
}

void head_draw(const struct head *h, struct canvas *c, struct labels *l, struct point at)
{
    saying_draw(&h->title, c, l, at);
    at.y += saying_height(&h->title) + 0.25 * h->title.style.size;
    saying_draw(&h->why, c, l, at);
    at.y += saying_height(&h->why);
    saying_draw(&h->next, c, l, at);
}

void head_release(struct head *h)
{
    saying_release(&h->title);
    saying_release(&h->why);
    saying_release(&h->next);
}

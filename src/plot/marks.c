/* plot/marks.c: what is named in a chart: spikes, the onset of a leak, the alarm. */
#include "plot/chart.h"

#include <math.h>
#include <string.h>

#define MOST_SPIKES HISTORY_BLOCKS
#define MANY_SPIKES 40u /* from here on their marks are small */

/* The top of neighbouring blocks that stand out. */
struct spike {
    unsigned block;
    double height;
    const char *name; /* of the activity; NULL: not known */
};

struct spikes {
    struct spike list[MOST_SPIKES];
    unsigned count;
};

bool marks_any_spike(const struct report_series *s)
{
    return s->answer->spikes.count > 0 && s->answer->spikes.height > 0;
}

bool marks_is_spike(const struct chart *c, unsigned block)
{
    double height = c->s->history->blocks[block].peak - c->floor[block];
    return marks_any_spike(c->s) && height > 0.5 * c->s->answer->spikes.height;
}

/* The activity's name, where the answer counts spikes during it too. */
static const char *name_of(const struct chart *c, unsigned activity)
{
    const struct answer *a = c->s->answer;
    if (activity == 0 || activity > c->job->activity_count)
        return NULL;
    const char *name = c->job->activities[activity - 1];
    for (unsigned i = 0; i < a->spikes.during_count; i++)
        if (strncmp(a->spikes.during[i].name, name, ANSWER_ACTIVITY_LENGTH - 1) == 0)
            return a->spikes.during[i].name;
    return NULL;
}

static void find_spikes(const struct chart *c, struct spikes *ret)
{
    const struct history *h = c->s->history;
    bool is_inside = false;
    ret->count = 0;
    for (unsigned i = 0; i < h->count; i++) {
        double height = h->blocks[i].peak - c->floor[i];
        bool is_spike = marks_is_spike(c, i);
        struct spike found = {i, height, name_of(c, h->blocks[i].activity)};
        if (is_spike && !is_inside)
            ret->list[ret->count++] = found;
        else if (is_spike && height > ret->list[ret->count - 1].height)
            ret->list[ret->count - 1] = found;
        is_inside = is_spike;
    }
}

/* As many as the answer counts, the highest. */
static void keep_highest(struct spikes *all, unsigned most)
{
    while (all->count > most) {
        unsigned lowest = 0;
        for (unsigned i = 1; i < all->count; i++)
            if (all->list[i].height < all->list[lowest].height)
                lowest = i;
        all->count--;
        memmove(&all->list[lowest], &all->list[lowest + 1],
                (all->count - lowest) * sizeof(all->list[0]));
    }
}

static struct point top_of(const struct chart *c, const struct spike *s)
{
    const struct history_block *b = &c->s->history->blocks[s->block];
    return (struct point){chart_x(c, b->at), chart_y(c, b->peak)};
}

/* A diamond. */
static void draw_spike(struct chart *c, const struct spike *s, double size)
{
    struct point top = top_of(c, s);
    const struct point points[4] = {
        {top.x, top.y - size}, {top.x + size, top.y}, {top.x, top.y + size}, {top.x - size, top.y}};
    canvas_area(c->canvas, points, 4, look_paint(c->look->spike, 1));
}

/* ---- names of spikes ---- */

static bool has_name(const struct spike *s, const char *name)
{
    return name ? s->name && strcmp(s->name, name) == 0 : !s->name;
}

/* "evaluate: 20 spikes, typically 45 MB"; of those without a name how many, and how high. */
static void say_spikes(const struct chart *c, struct buf *out, const char *name, unsigned count)
{
    const struct answer *a = c->s->answer;
    if (name)
        buf_addf(out, "%s: ", name);
    units_add_count(out, count, 0);
    buf_adds(out, count == 1 ? " spike" : " spikes");
    if (!name || a->spikes.during_count == 1) {
        buf_adds(out, count == 1 ? ", +" : ", typically +");
        series_add_value(out, a->spikes.height, c->s->info->unit);
    }
}

static bool label_spike(struct chart *c, const struct spike *s, const char *text, bool anyhow)
{
    struct point top = top_of(c, s);
    double gap = 11 * c->look->unit;
    const struct point places[] = {{top.x, top.y - gap},
                                   {top.x - gap / 2, top.y - gap},
                                   {top.x + gap / 2, top.y - gap},
                                   {top.x + gap, top.y + gap / 2},
                                   {top.x - gap, top.y + gap / 2}};
    static const enum align aligns[] = {ALIGN_MIDDLE, ALIGN_LEFT, ALIGN_RIGHT, ALIGN_LEFT,
                                        ALIGN_RIGHT};
    return chart_label(c, places, aligns, 5, text, c->look->spike, anyhow);
}

/* At one of its spikes, where there is room. */
static void label_spikes(struct chart *c, const struct spikes *all, const char *name,
                         unsigned count)
{
    struct buf text = BUF_INIT;
    bool is_done = false;
    say_spikes(c, &text, name, count);
    for (int anyhow = 0; anyhow < 2; anyhow++)
        for (unsigned i = 0; i < all->count && !is_done; i++)
            is_done = has_name(&all->list[i], name) &&
                      label_spike(c, &all->list[i], buf_text(&text), anyhow > 0);
    buf_release(&text);
}

static void draw_spikes(struct chart *c)
{
    struct spikes all;
    const struct answer *a = c->s->answer;
    find_spikes(c, &all);
    keep_highest(&all, a->spikes.count);
    double size = (all.count >= MANY_SPIKES ? 2.5 : 4.5) * c->look->unit;
    for (unsigned i = 0; i < all.count; i++)
        draw_spike(c, &all.list[i], size);
    for (unsigned i = 0; i < a->spikes.during_count; i++)
        label_spikes(c, &all, a->spikes.during[i].name, a->spikes.during[i].count);
    if (a->spikes.during_count == 0 && all.count > 0)
        label_spikes(c, &all, NULL, a->spikes.count);
}

/* ---- moments ---- */

#define ROWS 6u

/* "leak begins, step 120" beside its line, as far up as there is room. */
static void label_moment(struct chart *c, double x, const char *words, double at, uint32_t rgb)
{
    double gap = 8 * c->look->unit, size = look_text(c->look, LOOK_LABEL, 0).size;
    struct point places[2 * ROWS];
    enum align aligns[2 * ROWS];
    for (unsigned i = 0; i < ROWS; i++) {
        double y = c->plot.top + gap + (1 + 1.5 * i) * size;
        places[2 * i] = (struct point){x + gap, y};
        places[2 * i + 1] = (struct point){x - gap, y};
        aligns[2 * i] = ALIGN_LEFT;
        aligns[2 * i + 1] = ALIGN_RIGHT;
    }
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s, ", words);
    format_position_words(&text, at, c->s);
    chart_label(c, places, aligns, 2 * ROWS, buf_text(&text), rgb, true);
    buf_release(&text);
}

/* A moment that is worth an upright line. */
struct moment {
    const char *words;
    double at, dash;
    uint32_t rgb;
};

static bool is_inside(const struct chart *c, double at)
{
    double x = chart_x(c, at), unit = c->look->unit;
    return isfinite(at) && x >= c->plot.left - unit && x <= c->plot.right + unit;
}

static void draw_moment(struct chart *c, const struct moment *m)
{
    double x = chart_x(c, m->at), unit = c->look->unit;
    canvas_stroke(c->canvas, (struct point){x, c->plot.top}, (struct point){x, c->plot.bottom},
                  1.5 * unit, m->dash * unit, look_paint(m->rgb, 1));
    const struct point flag[3] = {{x - 5 * unit, c->plot.bottom},
                                  {x + 5 * unit, c->plot.bottom},
                                  {x, c->plot.bottom - 8 * unit}};
    canvas_area(c->canvas, flag, 3, look_paint(m->rgb, 1));
    c->upright[c->upright_count++] = x;
}

void marks_draw(struct chart *c)
{
    const struct answer *a = c->s->answer;
    bool is_leak = a->verdict == VERDICT_LEAK;
    const struct moment moments[2] = {
        {"leak begins", is_leak ? a->onset_at : NAN, 3, c->look->ink},
        {is_leak ? "alarm" : "alarm, withdrawn", a->alarm_at, is_leak ? 0 : 3,
         is_leak ? c->look->alarm : c->look->quiet},
    };
    for (unsigned i = 0; i < 2; i++)
        if (is_inside(c, moments[i].at))
            draw_moment(c, &moments[i]);
    for (unsigned i = 0; i < 2; i++)
        if (is_inside(c, moments[i].at))
            label_moment(c, chart_x(c, moments[i].at), moments[i].words, moments[i].at,
                         moments[i].rgb);
    draw_spikes(c);
}

/* plot/picture.c: the whole picture: its head, one or several charts, its foot. */
#include "plot/picture.h"

#include "plot/chart.h"
#include "plot/head.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In units. */
#define MARGIN 24.0
#define HEADING 26.0 /* of a single chart */
#define FOOT 20.0
#define GAP 22.0          /* between charts */
#define LEAST_WIDTH 260.0 /* of one of several charts */
#define LEAST_HEIGHT 200.0

#define WIDE 1200.0
#define HIGH 675.0
#define LEAST_UNIT 0.62

struct drawing {
    struct canvas *canvas;
    struct look look;
    struct labels labels;
    const struct plot_job *job;
    const struct plot_options *options;
    size_t panels[PICTURE_PANELS]; /* indices of series */
    size_t count, left_out;
};

static const struct report_style words = {.width = FORMAT_MAX_WIDTH};

/* ---- which series ---- */

static bool can_draw(const struct plot_job *job, size_t i)
{
    return curve_can_draw(job->job->series[i].history);
}

static bool is_main(const struct plot_job *job, size_t i)
{
    return !job->parts || job->parts[i] == PART_MAIN;
}

/* The lower, the more it needs attention; UNSHOWN: it has no chart. */
#define RANK_MAIN 4
#define RANK_OTHER 5
#define UNSHOWN 6

static int rank_of(const struct plot_job *job, size_t i, enum plot_choice choice)
{
    const struct answer *a = job->job->series[i].answer;
    bool is_deciding = i == job->job->answer->deciding;
    if (!can_draw(job, i))
        return UNSHOWN;
    if (is_deciding)
        return 0;
    if (choice == PLOT_DECIDING)
        return UNSHOWN;
    if (a->verdict == VERDICT_LEAK)
        return a->severity != SEVERITY_NEGLIGIBLE ? 1 : 3;
    if (a->verdict == VERDICT_INCONCLUSIVE && a->suspect)
        return 2;
    if (is_main(job, i))
        return RANK_MAIN;
    bool is_memory = job->job->series[i].info->unit == SERIES_BYTES;
    return choice == PLOT_EVERY || is_memory ? RANK_OTHER : UNSHOWN;
}

/* Healthy ones only where the user selected them, or where nothing else needs attention. */
static int last_rank(const struct plot_job *job, enum plot_choice choice)
{
    size_t attention = 0;
    for (size_t i = 0; i < job->job->count; i++)
        attention += rank_of(job, i, choice) < RANK_MAIN;
    return choice == PLOT_EVERY || attention < 2 ? RANK_OTHER : RANK_MAIN - 1;
}

/* As many as there is room for. */
static size_t most_panels(const struct drawing *d)
{
    double unit = d->look.unit;
    double across = floor((d->options->width - MARGIN * unit) / (LEAST_WIDTH * unit));
    double down = floor((d->options->height - 120 * unit) / (LEAST_HEIGHT * unit));
    double most = fmax(across, 1) * fmax(down, 1);
    return most < PICTURE_PANELS ? (size_t) most : PICTURE_PANELS;
}

static void choose(struct drawing *d)
{
    enum plot_choice choice = d->options->choice;
    int last = last_rank(d->job, choice);
    size_t most = most_panels(d);
    for (int rank = 0; rank <= last; rank++)
        for (size_t i = 0; i < d->job->job->count; i++) {
            if (rank_of(d->job, i, choice) != rank)
                continue;
            if (d->count < most)
                d->panels[d->count++] = i;
            else
                d->left_out++;
        }
    /* No series decides, or it has no sample. */
    for (size_t i = 0; i < d->job->job->count && d->count == 0; i++)
        if (can_draw(d->job, i))
            d->panels[d->count++] = i;
}

/* ---- the legend ---- */

enum key { KEY_FLOOR, KEY_RANGE, KEY_SPIKE, KEY_AHEAD, KEYS };

static const char *const key_words[KEYS] = {"floor (lowest level)", "range up to the peak", "spike",
                                            "forecast"};

static void draw_sample(struct drawing *d, enum key key, struct box b)
{
    const struct look *l = &d->look;
    double y = (b.top + b.bottom) / 2, x = (b.left + b.right) / 2, s = 4.5 * l->unit;
    struct point from = {b.left, y}, to = {b.right, y};
    const struct point diamond[4] = {{x, y - s}, {x + s, y}, {x, y + s}, {x - s, y}};
    if (key == KEY_FLOOR)
        canvas_stroke(d->canvas, from, to, 3 * l->unit, 0, look_paint(l->floor, 1));
    else if (key == KEY_RANGE)
        canvas_rect(d->canvas, b, 0, look_paint(l->range, 0.55));
    else if (key == KEY_SPIKE)
        canvas_area(d->canvas, diamond, 4, look_paint(l->spike, 1));
    else
        canvas_stroke(d->canvas, from, to, 2 * l->unit, 5 * l->unit, look_paint(l->floor, 1));
}

static bool has_key(const struct chart *c, enum key key)
{
    if (key == KEY_RANGE)
        return chart_has_range(c);
    if (key == KEY_SPIKE)
        return marks_any_spike(c->s);
    return key != KEY_AHEAD || c->ahead.is_shown;
}

/* Right-aligned on a baseline; what does not fit is left out. */
static void draw_legend(struct drawing *d, const struct chart *c, double right, double baseline)
{
    const struct look *l = &d->look;
    struct text_style style = look_text(l, LOOK_SMALL, l->quiet);
    for (int key = KEYS - 1; key >= 0; key--) {
        if (!has_key(c, (enum key) key))
            continue;
        double width = canvas_text_width(d->canvas, key_words[key], &style);
        double left = right - width - 30 * l->unit;
        struct box box = {left, baseline - style.size, right, baseline + 0.3 * style.size};
        if (!labels_fit(&d->labels, box, 6 * l->unit))
            continue;
        labels_take(&d->labels, box);
        draw_sample(d, (enum key) key,
                    (struct box){left, baseline - 0.72 * style.size, left + 24 * l->unit,
                                 baseline + 0.05 * style.size});
        canvas_text(d->canvas, (struct point){left + 30 * l->unit, baseline}, key_words[key],
                    &style);
        right = left - 16 * l->unit;
    }
}

/* ---- charts ---- */

static struct chart *chart_new(struct drawing *d, size_t panel)
{
    struct chart *c = calloc(1, sizeof(*c));
    if (!c)
        base_out_of_memory();
    c->canvas = d->canvas;
    c->look = &d->look;
    c->labels = &d->labels;
    c->job = d->job;
    c->s = &d->job->job->series[d->panels[panel]];
    return c;
}

/* "host.anon", with the process where the name has none. */
static void add_name(struct buf *out, const struct series_info *info)
{
    utf8_add_clean(out, info->name, false);
    if (info->device && !strstr(info->name, info->device)) {
        buf_adds(out, " · ");
        utf8_add_clean(out, info->device, false);
    }
    format_pid(out, info, &words);
}

static void draw_name(struct drawing *d, const struct series_info *info, struct point at,
                      double width)
{
    struct text_style style = look_text(&d->look, LOOK_SAYING, d->look.ink);
    struct buf name = BUF_INIT, cut = BUF_INIT;
    style.is_bold = true;
    add_name(&name, info);
    canvas_cut(d->canvas, &cut, buf_text(&name), width, &style);
    labels_put(&d->labels, d->canvas, at, buf_text(&cut), &style);
    buf_release(&name);
    buf_release(&cut);
}

/* One chart with the name of its series and the legend above it. */
static int draw_single(struct drawing *d, struct box box, bool has_heading)
{
    struct chart *c = chart_new(d, 0);
    double unit = d->look.unit, baseline = box.top + LOOK_SAYING * unit;
    if (has_heading) {
        draw_name(d, c->s->info, (struct point){box.left, baseline}, (box.right - box.left) * 0.6);
        box.top += HEADING * unit;
    }
    int r = chart_draw(c, box, d->options->by_time);
    if (r == 0 && has_heading)
        draw_legend(d, c, box.right, baseline);
    free(c);
    return r;
}

/* "trainer 4242 host.anon: grows 64.1 KB/step since step 8". */
static void say_panel(struct drawing *d, size_t panel, double width, struct saying *ret)
{
    const struct report_series *s = &d->job->job->series[d->panels[panel]];
    struct buf text = BUF_INIT;
    add_name(&text, s->info);
    buf_adds(&text, ": ");
    headline_series(&text, s);
    saying_verdict(ret, d->canvas, &d->look, s->answer->verdict, s->answer->severity,
                   buf_text(&text), LOOK_LABEL, width, 2);
    buf_release(&text);
}

/* All charts begin alike below what is said of them. */
static double saying_room(struct drawing *d, double width)
{
    double most = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct saying verdict;
        say_panel(d, i, width, &verdict);
        most = fmax(most, saying_height(&verdict));
        saying_release(&verdict);
    }
    return most + 4 * d->look.unit;
}

/* One of several: its own verdict above it. */
static int draw_panel(struct drawing *d, size_t panel, struct box box, double room)
{
    struct chart *c = chart_new(d, panel);
    struct saying verdict;
    say_panel(d, panel, box.right - box.left, &verdict);
    saying_draw(&verdict, d->canvas, &d->labels, (struct point){box.left, box.top});
    saying_release(&verdict);
    box.top += room;
    int r = chart_draw(c, box, d->options->by_time);
    free(c);
    return r;
}

/* The number of columns that makes charts about twice as wide as high. */
static size_t columns_for(size_t count, double width, double height, double unit)
{
    size_t most_rows = (size_t) fmax(floor(height / (0.9 * LEAST_HEIGHT * unit)), 1);
    size_t best = count;
    double least = INFINITY;
    for (size_t columns = 1; columns <= count; columns++) {
        size_t rows = (count + columns - 1) / columns;
        double shape = (width / (double) columns) / (height / (double) rows);
        double wrong = fabs(log(shape / 2.0)) + 0.15 * (double) (rows * columns - count);
        if (wrong < least && rows <= most_rows) {
            least = wrong;
            best = columns;
        }
    }
    return best;
}

static int draw_panels(struct drawing *d, struct box box)
{
    double gap = GAP * d->look.unit;
    size_t columns =
        columns_for(d->count, box.right - box.left, box.bottom - box.top, d->look.unit);
    size_t rows = (d->count + columns - 1) / columns;
    double width = (box.right - box.left - gap * (double) (columns - 1)) / (double) columns;
    double height = (box.bottom - box.top - gap / 2 * (double) (rows - 1)) / (double) rows;
    double room = saying_room(d, width);
    int r = 0;
    for (size_t i = 0; i < d->count && r == 0; i++) {
        size_t column = i % columns, row = i / columns;
        double left = box.left + (width + gap) * (double) column;
        double top = box.top + (height + gap / 2) * (double) row;
        r = draw_panel(d, i, (struct box){left, top, left + width, top + height}, room);
    }
    return r;
}

/* ---- the foot ---- */

static void begin_fact(struct buf *out, const char *between)
{
    buf_adds(out, out->len > 0 ? between : "");
}

/* "12 min, 2,346 steps, 3 epochs, 9 processes". */
static void add_facts(struct buf *out, const struct drawing *d)
{
    const struct plot_job *j = d->job;
    if (isfinite(j->seconds))
        units_add_duration(out, j->seconds);
    if (isfinite(j->steps)) {
        begin_fact(out, ", ");
        series_add_length(out, j->steps, false, CLOCK_STEP);
    }
    if (j->epochs > 0) {
        begin_fact(out, ", ");
        buf_addf(out, "%.0f epoch%s", j->epochs, j->epochs == 1 ? "" : "s");
    }
    if (j->processes > 1) {
        begin_fact(out, ", ");
        buf_addf(out, "%u processes", j->processes);
    }
    if (d->left_out > 0) {
        begin_fact(out, "; ");
        buf_addf(out, "%zu more series %s no room here", d->left_out,
                 d->left_out == 1 ? "has" : "have");
    }
}

static void draw_foot(struct drawing *d, struct box box)
{
    struct text_style style = look_text(&d->look, LOOK_SMALL, d->look.quiet);
    struct buf facts = BUF_INIT, left = BUF_INIT;
    double baseline = box.bottom - 0.25 * style.size, gap = 16 * d->look.unit;
    const char *who = d->job->command ? d->job->command : d->job->job->source;
    style.align = ALIGN_RIGHT;
    labels_put(&d->labels, d->canvas, (struct point){box.right, baseline},
               "tidemark " TIDEMARK_VERSION, &style);
    double room = box.right - box.left - gap -
                  canvas_text_width(d->canvas, "tidemark " TIDEMARK_VERSION, &style);
    style.align = ALIGN_LEFT;
    add_facts(&facts, d);
    double used = canvas_text_width(d->canvas, buf_text(&facts), &style);
    if (who && *who && room > used + 3 * gap)
        canvas_cut(d->canvas, &left, who, room - used - gap, &style);
    buf_adds(&left, left.len > 0 && facts.len > 0 ? " · " : "");
    if (used <= room)
        buf_adds(&left, buf_text(&facts));
    labels_put(&d->labels, d->canvas, (struct point){box.left, baseline}, buf_text(&left), &style);
    buf_release(&facts);
    buf_release(&left);
}

/* ---- all of it ---- */

/* What a small picture loses, the least important first. */
static const struct layout {
    struct head_room head;
    bool has_heading, has_foot;
} layouts[] = {
    {{3, 3, 3}, true, true},   {{3, 2, 2}, true, true},   {{2, 1, 2}, true, true},
    {{2, 1, 1}, true, true},   {{2, 1, 1}, true, false},  {{2, 0, 1}, true, false},
    {{2, 0, 1}, false, false}, {{2, 0, 0}, false, false}, {{1, 0, 0}, false, false},
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* Of the picture, for the charts. */
static double least_share(const struct drawing *d)
{
    return d->count > 1 ? 0.68 : 0.58;
}

static int draw_body(struct drawing *d, const struct head *head, const struct layout *l,
                     struct box box)
{
    double unit = d->look.unit;
    head_draw(head, d->canvas, &d->labels, (struct point){box.left, box.top});
    if (l->has_foot)
        draw_foot(d, box);
    box.top += head_height(head) + 8 * unit;
    box.bottom -= l->has_foot ? FOOT * unit : 0;
    return d->count > 1 ? draw_panels(d, box) : draw_single(d, box, l->has_heading);
}

static int draw(struct drawing *d)
{
    const struct plot_options *o = d->options;
    double margin = MARGIN * d->look.unit;
    struct box box = {margin, 0.8 * margin, o->width - margin, o->height - 0.6 * margin};
    struct head head;
    size_t i = 0;
    for (;; i++) {
        head_init(&head, d->canvas, &d->look, d->job->job, box.right - box.left, &layouts[i].head);
        double used = head_height(&head) + (layouts[i].has_foot ? FOOT * d->look.unit : 0);
        if (box.bottom - box.top - used >= least_share(d) * o->height || i + 1 == LAYOUTS)
            break;
        head_release(&head);
    }
    int r = draw_body(d, &head, &layouts[i], box);
    head_release(&head);
    return r;
}

/* What a screen reader says. */
static void describe(struct picture *p, const struct drawing *d)
{
    struct buf text = BUF_INIT, name = BUF_INIT;
    summary_verdict(&text, d->job->job, &words);
    utf8_add_clean(&p->title, buf_text(&text), false);
    buf_clear(&text);
    buf_adds(&text, "why: ");
    summary_why(&text, d->job->job, &words);
    buf_addf(&text, ". %s: ", summary_next_label(d->job->job));
    summary_next(&text, d->job->job, &words);
    utf8_add_clean(&p->description, buf_text(&text), false);
    for (size_t i = 0; i < d->count; i++) {
        buf_clear(&name);
        add_name(&name, d->job->job->series[d->panels[i]].info);
        buf_addf(&p->description, "%s%s", i == 0 ? ". Shown: " : ", ", buf_text(&name));
    }
    p->canvas.title = buf_text(&p->title);
    p->canvas.description = buf_text(&p->description);
    buf_release(&text);
    buf_release(&name);
}

int picture_init(struct picture *p, const struct plot_job *job, const struct plot_options *options)
{
    *p = (struct picture){.title = BUF_INIT};
    double unit = fmin(options->width / WIDE, options->height / HIGH);
    struct drawing d = {.canvas = &p->canvas, .job = job, .options = options};
    struct box all = {0, 0, options->width, options->height};
    canvas_init(&p->canvas, options->width, options->height);
    look_init(&d.look, options->dark, fmax(unit, LEAST_UNIT));
    labels_init(&d.labels, all);
    canvas_rect(&p->canvas, all, 0, look_paint(d.look.background, 1));
    choose(&d);
    int r = d.count > 0 ? draw(&d) : -ENODATA;
    if (r == 0)
        describe(p, &d);
    else
        picture_release(p);
    labels_release(&d.labels);
    return r;
}

void picture_release(struct picture *p)
{
    canvas_release(&p->canvas);
    buf_release(&p->title);
    buf_release(&p->description);
}

/* ---- as files ---- */

int plot_svg(struct buf *out, const struct plot_job *job, const struct plot_options *options)
{
    struct picture p;
    int r = picture_init(&p, job, options);
    if (r < 0)
        return r;
    canvas_svg(out, &p.canvas);
    picture_release(&p);
    return 0;
}

int plot_png(struct buf *out, const struct plot_job *job, const struct plot_options *options)
{
    struct picture p;
    int r = picture_init(&p, job, options);
    if (r < 0)
        return r;
    canvas_png(out, &p.canvas, options->scale);
    picture_release(&p);
    return 0;
}

/* report/chart.c: the floor of a series and the range above it, in a few rows of characters. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 16u
#define INDENT 2u
#define RIGHT_MARGIN 6u /* for the clock's unit */

enum dot { DOT_NONE, DOT_RANGE, DOT_FLOOR };

/*
 * A canvas of characters, each of `across` x `down` dots (braille 2 x 4, ASCII 1 x 1). The lowest
 * and the highest tick lie in the middle of the bottom and the top row.
 */
struct chart {
    const struct report_style *style;
    unsigned columns, rows, across, down;
    struct axis x, y;
    bool has_range;
    unsigned char dots[MAX_ROWS * 4][FORMAT_MAX_WIDTH * 2]; /* enum dot; row 0 is the top */
};

/* What each column of dots shows; NAN: no sample falls into it. */
struct profile {
    double floor[FORMAT_MAX_WIDTH * 2];
    double top[FORMAT_MAX_WIDTH * 2];
};

static unsigned column_of(const struct chart *c, double at)
{
    double last = c->columns * c->across - 1;
    double column = (at - c->x.low) / (c->x.high - c->x.low) * last;
    return (unsigned) fmin(fmax(round(column), 0), last);
}

/* Height of a value in dots above the bottom. */
static unsigned height_of(const struct chart *c, double value)
{
    double rows = (value - c->y.low) / (c->y.high - c->y.low) * (c->rows - 1);
    double dots = floor((rows + 0.5) * c->down);
    return (unsigned) fmin(fmax(dots, 0), c->rows * c->down - 1);
}

/* Draws straight lines where no sample fell between two columns. */
static void fill_gaps(double *values, unsigned count)
{
    unsigned known = 0;
    for (unsigned i = 1; i < count; i++) {
        if (isnan(values[i]))
            continue;
        for (unsigned k = known + 1; k < i; k++) {
            double share = (double) (k - known) / (i - known);
            values[k] = values[known] + share * (values[i] - values[known]);
        }
        known = i;
    }
}

static void make_profile(const struct chart *c, const struct history *h, struct profile *p)
{
    unsigned count = c->columns * c->across;
    double floor_of[HISTORY_BLOCKS];

    for (unsigned i = 0; i < count; i++)
        p->floor[i] = p->top[i] = NAN;
    report_floor(h, floor_of);
    for (unsigned i = 0; i < h->count; i++) {
        unsigned column = column_of(c, h->blocks[i].at);
        p->floor[column] = fmin(p->floor[column], floor_of[i]);
        p->top[column] = fmax(p->top[column], h->blocks[i].peak);
    }
    fill_gaps(p->floor, count);
    fill_gaps(p->top, count);
}

static void set_dot(struct chart *c, unsigned column, unsigned height, enum dot dot)
{
    c->dots[c->rows * c->down - 1 - height][column] = (unsigned char) dot;
}

/* The range is stippled, and left out where it is no thicker than the line. */
static void draw_range(struct chart *c, unsigned column, double floor, double top)
{
    double dot = (c->y.high - c->y.low) / ((c->rows - 1) * c->down);
    if (top - floor < (c->down > 1 ? 1.5 : 0.75) * dot)
        return;
    unsigned from = height_of(c, floor), to = height_of(c, top);
    c->has_range = c->has_range || to > from;
    for (unsigned height = from + 1; height <= to; height++) {
        if (c->down == 1 || (height + column) % 2 == 0)
            set_dot(c, column, height, DOT_RANGE);
    }
}

static void draw(struct chart *c, const struct profile *p)
{
    unsigned before = 0;
    for (unsigned i = 0; i < c->columns * c->across && !isnan(p->floor[i]); i++) {
        unsigned height = height_of(c, p->floor[i]);
        draw_range(c, i, p->floor[i], p->top[i]);
        set_dot(c, i, height, DOT_FLOOR);
        /* Join steep parts to the previous column. */
        for (unsigned k = before + 1; i > 0 && k < height; k++)
            set_dot(c, i, k, DOT_FLOOR);
        for (unsigned k = height + 1; i > 0 && k < before; k++)
            set_dot(c, i, k, DOT_FLOOR);
        before = height;
    }
}

/* ---- as characters ---- */

static void add_braille(struct buf *out, const struct chart *c, unsigned row, unsigned column)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

    unsigned cell = 0;
    for (unsigned y = 0; y < 4; y++) {
        for (unsigned x = 0; x < 2; x++)
            cell |= c->dots[row * 4 + y][column * 2 + x] != DOT_NONE ? bits[y][x] : 0u;
    }
    if (cell == 0)
        buf_addc(out, ' ');
    else
        buf_addf(out, "\xe2%c%c", (int) (0xa0 | cell >> 6), (int) (0x80 | (cell & 0x3f)));
}

static void add_cell(struct buf *out, const struct chart *c, unsigned row, unsigned column)
{
    if (!c->style->ascii)
        add_braille(out, c, row, column);
    else
        buf_addc(out, " .*"[c->dots[row][column]]);
}

/* The tick in the middle of a row; NAN: none. */
static double row_tick(const struct chart *c, unsigned row)
{
    double value = c->y.high - (c->y.high - c->y.low) * row / (c->rows - 1);
    double tick = axis_next_tick(&c->y, value);
    return fabs(tick - value) < 1e-6 * c->y.step * c->y.scale ? tick : NAN;
}

static void add_row_label(struct buf *out, const struct chart *c, unsigned row, unsigned width)
{
    struct buf label = BUF_INIT;
    double tick = row_tick(c, row);
    if (!isnan(tick)) {
        axis_add_number(&c->y, tick, &label);
        buf_adds(&label, c->y.name);
    }
    buf_repeat(out, " ", INDENT + width - format_columns(buf_text(&label)));
    buf_adds(out, buf_text(&label));
    bool has_tick = !isnan(tick);
    format_color(out, FORMAT_DIM, c->style);
    buf_adds(out, c->style->ascii ? (has_tick ? " +" : " |") : (has_tick ? " ┤" : " │"));
    format_color(out, FORMAT_RESET, c->style);
    buf_release(&label);
}

static void add_rows(struct buf *out, const struct chart *c, unsigned label_width)
{
    for (unsigned row = 0; row < c->rows; row++) {
        add_row_label(out, c, row, label_width);
        unsigned used = c->columns;
        for (bool blank = true; blank && used > 0; used -= blank) {
            for (unsigned y = 0; y < c->down; y++) {
                for (unsigned x = 0; x < c->across; x++)
                    blank = blank && !c->dots[row * c->down + y][(used - 1) * c->across + x];
            }
        }
        for (unsigned column = 0; column < used; column++)
            add_cell(out, c, row, column);
        buf_addc(out, '\n');
    }
}

/* Adds the line under the chart and its numbers. */
static void add_clock_axis(struct buf *out, const struct chart *c, unsigned label_width)
{
    struct buf line = BUF_INIT, numbers = BUF_INIT;
    unsigned drawn = 0;
    const char *rule = format_glyphs(c->style)->rule;

    double first = axis_next_tick(&c->x, c->x.low), step = c->x.step * c->x.scale;
    for (unsigned i = 0; i < c->columns && first + i * step <= c->x.high + 1e-9 * step; i++) {
        double tick = first + i * step;
        unsigned column = column_of(c, tick) / c->across;
        struct buf number = BUF_INIT;
        axis_add_number(&c->x, tick, &number);
        unsigned width = (unsigned) number.len;
        unsigned start = column > width / 2 ? column - width / 2 : 0;
        if (drawn == 0 || start > numbers.len) {
            buf_repeat(&numbers, " ", start - numbers.len);
            buf_adds(&numbers, buf_text(&number));
            buf_repeat(&line, rule, column - drawn);
            buf_adds(&line, c->style->ascii ? "+" : "┬");
            drawn = column + 1;
        }
        buf_release(&number);
    }
    buf_repeat(&line, rule, c->columns > drawn ? c->columns - drawn : 0);

    buf_repeat(out, " ", INDENT + label_width + 1);
    format_color(out, FORMAT_DIM, c->style);
    buf_addf(out, "%s%s", c->style->ascii ? "+" : "└", buf_text(&line));
    format_color(out, FORMAT_RESET, c->style);
    buf_addc(out, '\n');
    buf_repeat(out, " ", INDENT + label_width + 2);
    buf_adds(out, buf_text(&numbers));
    unsigned gap = c->columns > numbers.len ? c->columns - (unsigned) numbers.len : 0;
    buf_repeat(out, " ", gap + 1);
    buf_addf(out, "%s\n", c->x.name);
    buf_release(&line);
    buf_release(&numbers);
}

static void add_legend(struct buf *out, const struct chart *c, unsigned label_width)
{
    buf_repeat(out, " ", INDENT + label_width + 2);
    format_color(out, FORMAT_DIM, c->style);
    buf_adds(out,
             c->style->ascii ? "*** floor   ... range above it" : "⠤⠤⠤ floor   ⢕⢕⢕ range above it");
    format_color(out, FORMAT_RESET, c->style);
    buf_addc(out, '\n');
}

/* ---- the layout ---- */

/* The number of rows that puts every tick of the value axis into the middle of one. */
static unsigned rows_for(const struct axis *y, unsigned height)
{
    unsigned intervals = (unsigned) round((y->high - y->low) / (y->step * y->scale));
    unsigned each = (height - 1 + intervals / 2) / intervals;
    unsigned rows = intervals * (each > 0 ? each : 1) + 1;
    return rows < MAX_ROWS ? rows : MAX_ROWS;
}

static unsigned widest_label(const struct chart *c)
{
    unsigned widest = 0;
    for (unsigned row = 0; row < c->rows; row++) {
        double tick = row_tick(c, row);
        if (isnan(tick))
            continue;
        struct buf label = BUF_INIT;
        axis_add_number(&c->y, tick, &label);
        buf_adds(&label, c->y.name);
        unsigned width = (unsigned) label.len;
        widest = width > widest ? width : widest;
        buf_release(&label);
    }
    return widest;
}

void report_chart(struct buf *out, const struct report_series *s, unsigned height,
                  const struct report_style *style)
{
    const struct history *h = s->history;
    if (!curve_can_draw(h))
        return;
    struct chart *c = calloc(1, sizeof(*c));
    if (!c)
        base_out_of_memory();
    c->style = style;
    c->across = style->ascii ? 1 : 2;
    c->down = style->ascii ? 1 : 4;

    double low, high;
    curve_range(s, &low, &high);
    axis_values(&c->y, low, high, 4, s->info->unit);
    c->rows = rows_for(&c->y, height);
    unsigned label_width = widest_label(c);
    c->columns = format_width(style) - INDENT - label_width - 2 - RIGHT_MARGIN;
    double from = h->blocks[0].at, to = h->blocks[h->count - 1].at;
    axis_clock(&c->x, from, to > from ? to : from + 1, s->answer->first_at, c->columns / 12 + 1,
               s->info->clock);

    struct profile profile;
    make_profile(c, h, &profile);
    draw(c, &profile);
    add_rows(out, c, label_width);
    add_clock_axis(out, c, label_width);
    if (c->has_range)
        add_legend(out, c, label_width);
    free(c);
}

/* report/flame.c: stacks as a flame graph: one SVG that needs nothing else. */
#include "report/flame_script_text.h"
#include "report/flame_style_text.h"
#include "report/stacks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* In pixels. The script lays the frames out anew in the width of its window. */
#define SIDE 10.0
#define WIDTH 1180.0
#define ROW 19.0
#define LINE 19.0
#define COLUMN 7.25 /* a character of the frames' font, or a little more */
#define LEAST_TEXT 3

/* How much is left out, until the picture is small enough. */
static const struct {
    double least_share;  /* of the whole: callees with less are merged */
    unsigned chain_ends; /* frames that are drawn at each end of a chain without branches */
} details[] = {{0.001, 1000}, {0.001, 16}, {0.001, 8}, {0.001, 4},
               {0.002, 4},    {0.005, 4},  {0.02, 2},  {0.1, 1}};
#define DETAILS (sizeof(details) / sizeof(details[0]))

#define NAME_COLUMNS 300u
#define TITLE_COLUMNS 100u
#define FACT_COLUMNS 150u
#define TWO_SIDED_95 1.96

struct flame {
    struct buf *out;
    const struct report_stacks *r;
    const struct stacks *stacks;
    const struct stacks_tree *tree;
    double least_share;
    unsigned chain_ends;
    double top;      /* of the first row */
    unsigned levels; /* that were drawn */
};

/* ---- texts from outside ---- */

/* Escapes a clean text for elements and attributes. XML has no U+FFFE and U+FFFF. */
static void add_escaped(struct buf *out, const char *text)
{
    static const struct {
        const char *plain, *escaped;
    } pairs[] = {
        {"&", "&amp;"}, {"<", "&lt;"},         {">", "&gt;"},         {"\"", "&quot;"},
        {"'", "&#39;"}, {"\xef\xbf\xbe", "?"}, {"\xef\xbf\xbf", "?"},
    };
    while (*text) {
        size_t i = 0, count = sizeof(pairs) / sizeof(pairs[0]);
        while (i < count && strncmp(text, pairs[i].plain, strlen(pairs[i].plain)) != 0)
            i++;
        if (i < count)
            buf_adds(out, pairs[i].escaped);
        else
            buf_addc(out, *text);
        text += i < count ? strlen(pairs[i].plain) : 1;
    }
}

/* At most so many characters; what is too long loses its middle. */
static void add_text(struct buf *out, const char *text, unsigned columns)
{
    static const struct report_style style = {.width = 0};
    struct buf clean = BUF_INIT;
    format_clean_cut(&clean, text, columns, &style);
    add_escaped(out, buf_text(&clean));
    buf_release(&clean);
}

/* What fits of a clean text; what is too long loses its end. */
static void add_label(struct buf *out, const char *text, unsigned columns)
{
    struct buf cut = BUF_INIT;
    const char *s = text;
    for (unsigned i = 0; *s && i < columns; i++, s += utf8_length(s)) {
        bool is_last = i + 1 == columns && s[utf8_length(s)];
        buf_add(&cut, is_last ? "\xe2\x80\xa6" : s, is_last ? 3 : utf8_length(s));
    }
    add_escaped(out, buf_text(&cut));
    buf_release(&cut);
}

/* ---- frames ---- */

/* The growth may be chance: two standard errors cover it. */
static bool is_unsure(const struct flame *f, double bytes, double variance)
{
    return f->r->value == REPORT_GROWTH && bytes < TWO_SIDED_95 * sqrt(variance);
}

static void add_amount(struct buf *out, double bytes, double variance)
{
    double error = TWO_SIDED_95 * sqrt(variance);
    units_add_bytes(out, bytes);
    if (isfinite(error))
        format_bounds(out, bytes, fmax(0, bytes - error), bytes + error, SERIES_BYTES);
}

static void add_place(struct buf *out, const struct site_frame *f)
{
    const char *place = f->file[0] ? f->file : f->module;
    add_text(out, place, NAME_COLUMNS);
    if (f->file[0] && f->line > 0)
        buf_addf(out, ":%d", f->line);
    if (f->file[0] && f->module[0]) {
        buf_adds(out, " in ");
        add_text(out, f->module, NAME_COLUMNS);
    }
    if (f->is_inlined)
        buf_adds(out, " (inlined)");
}

/* Its first two lines are what the script searches; the first is the label of the frame. */
static void add_tip(const struct flame *f, const char *name, const struct stacks_node *n)
{
    struct buf *out = f->out;
    buf_adds(out, "<title>");
    add_text(out, name, NAME_COLUMNS);
    buf_addc(out, '\n');
    if (n->frame)
        add_place(out, n->frame);
    buf_addc(out, '\n');
    add_amount(out, n->bytes, n->variance);
    buf_adds(out, ", ");
    units_add_percent(out, n->bytes / f->stacks->total.bytes);
    if (is_unsure(f, n->bytes, n->variance))
        buf_adds(out, "\nmay be chance: too few samples");
    buf_adds(out, "</title>");
}

/* One box, as wide as its share, `before` bytes from the left. */
static void add_box(struct flame *f, const char *class, const char *name,
                    const struct stacks_node *n, double before, unsigned level)
{
    double total = f->stacks->total.bytes, width = n->bytes / total * WIDTH;
    double x = SIDE + before / total * WIDTH, y = f->top + level * ROW;
    double columns = (width - 6) / COLUMN;
    buf_addf(f->out, "<g class=\"frame %s%s\" data-level=\"%u\">", class,
             is_unsure(f, n->bytes, n->variance) ? " u" : "", level);
    add_tip(f, name, n);
    buf_addf(f->out, "<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\"/>", x, y, width,
             ROW - 1);
    if (columns >= LEAST_TEXT) {
        buf_addf(f->out, "<text x=\"%.1f\" y=\"%g\">", x + 4, y + ROW - 6);
        add_label(f->out, name, (unsigned) columns);
        buf_adds(f->out, "</text>");
    }
    buf_adds(f->out, "</g>\n");
    f->levels = level >= f->levels ? level + 1 : f->levels;
}

/* The callees from `first` on, which are too narrow, as one box. */
static void add_merged(struct flame *f, size_t first, double before, unsigned level)
{
    struct stacks_node merged = {.frame = NULL};
    unsigned count = 0;
    for (size_t i = first; i; i = f->tree->nodes[i].next, count++) {
        merged.bytes += f->tree->nodes[i].bytes;
        merged.variance += f->tree->nodes[i].variance;
    }
    if (merged.bytes < f->least_share * f->stacks->total.bytes)
        return;
    struct buf name = BUF_INIT;
    buf_addf(&name, "(%u narrow ones)", count);
    add_box(f, "m", buf_text(&name), &merged, before, level);
    buf_release(&name);
}

static void add_whole_name(struct buf *name, const struct stacks *s)
{
    buf_adds(name, "all: ");
    units_add_bytes(name, s->total.bytes);
}

static void add_frame(struct flame *f, size_t index, double before, unsigned level)
{
    static const char *const classes[FRAME_ORIGINS] = {"o", "l", "n", "h"};
    const struct stacks_node *n = &f->tree->nodes[index];
    struct buf name = BUF_INIT;
    if (n->frame)
        stacks_add_frame(&name, n->frame);
    else
        add_whole_name(&name, f->stacks);
    add_box(f, classes[n->frame ? stacks_origin(n->frame) : FRAME_HEADING], buf_text(&name), n,
            before, level);
    buf_release(&name);
}

static void add_left_out(struct flame *f, const struct stacks_node *n, unsigned count,
                         double before, unsigned level)
{
    struct stacks_node folded = {.bytes = n->bytes, .variance = n->variance};
    struct buf name = BUF_INIT;
    buf_addf(&name, "(%u frames left out)", count);
    add_box(f, "m", buf_text(&name), &folded, before, level);
    buf_release(&name);
}

/* Frames from `index` inwards that each call the next one alone. */
static unsigned chain_length(const struct stacks_tree *t, size_t index)
{
    unsigned length = 1;
    for (size_t i = t->nodes[index].child; i && !t->nodes[i].next; i = t->nodes[i].child)
        length++;
    return length;
}

static void add_callees(struct flame *f, size_t index, double before, unsigned level);

/* A frame, what it calls, and so on; of a long chain without branches both ends. */
static void add_chain(struct flame *f, size_t index, double before, unsigned level)
{
    unsigned length = chain_length(f->tree, index);
    size_t last = index;
    for (unsigned i = 0; i < length; i++, index = f->tree->nodes[index].child) {
        bool is_inner = i >= f->chain_ends && i + f->chain_ends < length;
        last = index;
        if (is_inner && i == f->chain_ends)
            add_left_out(f, &f->tree->nodes[index], length - 2 * f->chain_ends, before, level++);
        if (!is_inner)
            add_frame(f, index, before, level++);
    }
    add_callees(f, last, before, level);
}

static void add_callees(struct flame *f, size_t index, double before, unsigned level)
{
    double least = f->least_share * f->stacks->total.bytes;
    size_t i = f->tree->nodes[index].child;
    for (; i && f->tree->nodes[i].bytes >= least; i = f->tree->nodes[i].next) {
        add_chain(f, i, before, level);
        before += f->tree->nodes[i].bytes;
    }
    if (i)
        add_merged(f, i, before, level);
}

/* ---- what stands above ---- */

/* A sentence in lines of FACT_COLUMNS; `text` is clean. */
static void add_fact(struct flame *f, const char *text)
{
    while (*text) {
        size_t len = strlen(text), columns = format_columns(text);
        if (columns > FACT_COLUMNS) {
            len = FACT_COLUMNS;
            while (len > 1 && text[len] != ' ')
                len--;
        }
        struct buf line = BUF_INIT;
        buf_add(&line, text, len);
        buf_addf(f->out, "<text class=\"fact\" x=\"%g\" y=\"%g\">", SIDE, f->top);
        add_text(f->out, buf_text(&line), FACT_COLUMNS);
        buf_adds(f->out, "</text>\n");
        buf_release(&line);
        f->top += LINE;
        text += len;
        text += strspn(text, " ");
    }
}

static void add_title(struct flame *f)
{
    static const char *const titles[REPORT_VALUES] = {"Memory growth", "Live memory",
                                                      "Memory allocated"};
    const char *command = f->r->command;
    buf_addf(f->out, "<text class=\"title\" x=\"%g\" y=\"28\">%s%s", SIDE, titles[f->r->value],
             command ? " of " : "");
    add_text(f->out, command ? command : "", TITLE_COLUMNS);
    buf_adds(f->out, "</text>\n");
    f->top = 52;
}

/* Growth of the processes as measured from outside; NAN: not known of all of them. */
static double measured_growth(const struct report_stacks *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum += r->list[i].growth;
    return r->value == REPORT_GROWTH ? sum : (double) NAN;
}

static double longest_interval(const struct report_stacks *r)
{
    double longest = 0;
    for (size_t i = 0; i < r->count; i++)
        longest = fmax(longest, r->list[i].sites->interval);
    return longest;
}

static void add_processes(struct buf *out, const struct report_stacks *r)
{
    static const struct report_style style = {.width = 0};
    if (r->count == 1)
        format_clean_cut(out, r->list[0].process, 60, &style);
    else
        buf_addf(out, "%zu processes", r->count);
}

/* "trainer 7, steps 1 to 900: 45 MB (43 to 47 MB) in 12 sites, 92 % of the 49 MB that ..." */
static void add_whole(struct flame *f)
{
    struct buf text = BUF_INIT;
    const struct amount *total = &f->stacks->total;
    double growth = measured_growth(f->r), interval = longest_interval(f->r);
    add_processes(&text, f->r);
    buf_adds(&text, ", ");
    stacks_add_span(&text, f->r);
    buf_adds(&text, ": ");
    add_amount(&text, total->bytes, total->error * total->error);
    buf_addf(&text, " in %zu site%s", f->stacks->count, f->stacks->count == 1 ? "" : "s");
    if (growth >= 1) {
        buf_adds(&text, ", ");
        units_add_percent(&text, total->bytes / growth);
        buf_adds(&text, " of the measured growth of ");
        units_add_bytes(&text, growth);
    }
    if (interval >= 1) {
        buf_adds(&text, "; estimated from one sample in ");
        units_add_bytes(&text, interval);
    }
    add_fact(f, buf_text(&text));
    buf_release(&text);
}

static void add_facts(struct flame *f)
{
    struct buf lacks = BUF_INIT, text = BUF_INIT;
    add_whole(f);
    stacks_add_lacks(&lacks, f->r, f->stacks);
    if (lacks.len > 0)
        buf_addf(&text, "Not shown: %s", buf_text(&lacks));
    add_fact(f, buf_text(&text));
    buf_release(&text);
    buf_release(&lacks);
}

static void add_key(struct flame *f, double *x, const char *class, const char *text)
{
    buf_addf(f->out, "<g class=\"%s\"><rect x=\"%g\" y=\"%g\" width=\"14\" height=\"14\"/></g>",
             class, *x, f->top - 12);
    buf_addf(f->out, "<text class=\"key\" x=\"%g\" y=\"%g\">%s</text>\n", *x + 20, f->top, text);
    *x += 46 + 7.2 * (double) strlen(text);
}

static void add_legend(struct flame *f)
{
    double x = SIDE;
    f->top += 4;
    add_key(f, &x, "o", "your Python");
    add_key(f, &x, "l", "Python of packages");
    add_key(f, &x, "n", "native");
    if (f->r->value == REPORT_GROWTH)
        add_key(f, &x, "o u", "may be chance");
    buf_addf(f->out,
             "<text class=\"key keys gone\" x=\"%g\" y=\"%g\">click: zoom \xc2\xb7 arrows: move"
             " \xc2\xb7 Enter: zoom \xc2\xb7 /: search \xc2\xb7 Esc: all</text>\n",
             x, f->top);
    f->top += LINE;
}

/* Without the script, which shows it, there is nothing to type into. */
static void add_search(struct flame *f)
{
    buf_addf(
        f->out,
        "<g class=\"search gone\"><foreignObject x=\"%g\" y=\"%g\" width=\"300\" height=\"28\">"
        "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\""
        " placeholder=\"search functions and files\" aria-label=\"search\"/></foreignObject>\n"
        "<text class=\"found\" x=\"%g\" y=\"%g\"></text></g>\n"
        "<text class=\"reset right gone\" x=\"%g\" y=\"%g\" text-anchor=\"end\">show all"
        "</text>\n",
        SIDE, f->top - 8, SIDE + 312, f->top + 10, SIDE + WIDTH, f->top + 10);
    f->top += 32;
}

static void add_chart(struct flame *f)
{
    buf_addf(f->out,
             "<g class=\"chart\" data-bytes=\"%.0f\" data-side=\"%g\" data-width=\"%g\""
             " data-row=\"%g\" data-column=\"%g\">\n",
             f->stacks->total.bytes, SIDE, WIDTH, ROW, COLUMN);
    add_chain(f, 0, 0, 0);
    buf_adds(f->out, "</g>\n");
}

/* ---- the picture ---- */

static void add_body(struct flame *f)
{
    add_title(f);
    add_facts(f);
    add_legend(f);
    add_search(f);
    add_chart(f);
    buf_adds(f->out, "<g class=\"tip gone\"><rect rx=\"4\"/><text/></g>\n<script><![CDATA[\n");
    buf_adds(f->out, flame_script_text);
    buf_adds(f->out, "]]></script>\n</svg>\n");
}

static void add_picture(struct flame *f)
{
    struct buf *out = f->out, body = BUF_INIT;
    f->out = &body;
    add_body(f);
    f->out = out;
    double width = WIDTH + 2 * SIDE, height = f->top + f->levels * ROW + SIDE + 90;
    buf_addf(out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\""
             " viewBox=\"0 0 %g %g\">\n<style><![CDATA[\n%s]]></style>\n",
             width, height, width, height, flame_style_text);
    buf_add(out, buf_text(&body), body.len);
    buf_release(&body);
}

int report_flame(struct buf *out, const struct report_stacks *r)
{
    struct stacks s;
    struct stacks_tree t;
    stacks_init(&s, r, false);
    stacks_tree_init(&t, &s);
    int result = s.count > 0 ? 0 : -ENODATA;
    struct buf picture = BUF_INIT;
    for (size_t i = 0; i < DETAILS && result == 0; i++) {
        struct flame f = {&picture, r, &s, &t, details[i].least_share, details[i].chain_ends, 0, 0};
        buf_clear(&picture);
        add_picture(&f);
        if (picture.len <= FLAME_MOST_BYTES)
            break;
    }
    buf_add(out, buf_text(&picture), picture.len);
    buf_release(&picture);
    stacks_tree_release(&t);
    stacks_release(&s);
    return result;
}

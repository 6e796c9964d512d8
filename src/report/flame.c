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
#define TITLE_COLUMNS 110u
#define PLACE_COLUMNS 80u
#define COMMAND_COLUMNS 200u
#define FACT_COLUMNS 150u
#define TWO_SIDED_95 1.96

static const char *const classes[FRAME_ORIGINS] = {"o", "l", "n", "h"};

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

/* XML has no U+FFFE and U+FFFF. */
void report_escape(struct buf *out, const char *text)
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
    report_escape(out, buf_text(&clean));
    buf_release(&clean);
}

/* Where " (train.py:41)" begins; else the end. */
static const char *place_of(const char *name)
{
    const char *found = NULL;
    for (const char *s = strstr(name, " ("); s; s = strstr(s + 1, " ("))
        found = s;
    return found && found > name ? found : name + strlen(name);
}

/* What fits of a clean name: all, all but the file, or its beginning. */
static void add_label(struct buf *out, const char *name, unsigned columns)
{
    struct buf label = BUF_INIT, cut = BUF_INIT;
    buf_adds(&label, name);
    if (format_columns(name) > columns) {
        buf_clear(&label);
        buf_add(&label, name, (size_t) (place_of(name) - name));
    }
    const char *s = buf_text(&label);
    for (unsigned i = 0; *s && i < columns; i++, s += utf8_length(s)) {
        bool is_last = i + 1 == columns && s[utf8_length(s)];
        buf_add(&cut, is_last ? "\xe2\x80\xa6" : s, is_last ? 3 : utf8_length(s));
    }
    report_escape(out, buf_text(&cut));
    buf_release(&label);
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

/* Starts a text of the head, which the script breaks into lines anew. */
static void begin_lines(struct flame *f, const char *class)
{
    buf_addf(f->out, "<text class=\"flow %s\">", class);
}

static void end_lines(struct flame *f)
{
    buf_adds(f->out, "</text>\n");
}

/* A line of a text; `text` is clean. */
static void add_line(struct flame *f, const char *text, size_t len)
{
    struct buf line = BUF_INIT;
    buf_add(&line, text, len);
    buf_addf(f->out, "<tspan x=\"%g\" y=\"%g\">", SIDE, f->top);
    report_escape(f->out, buf_text(&line));
    buf_adds(f->out, "</tspan>");
    buf_release(&line);
    f->top += LINE;
}

/* A text in lines of `columns`; `text` is clean. */
static void add_lines(struct flame *f, const char *class, const char *text, unsigned columns)
{
    if (!*text)
        return;
    begin_lines(f, class);
    while (*text) {
        size_t len = strlen(text);
        if (format_columns(text) > columns) {
            len = columns;
            while (len > 1 && text[len] != ' ')
                len--;
            while (len == 1 && text[len] && text[len] != ' ')
                len++; /* one long word */
        }
        add_line(f, text, len);
        text += len;
        text += strspn(text, " ");
    }
    end_lines(f);
}

/* Adds a clean text that has at most so many characters. */
static void add_cut(struct buf *out, const char *text, unsigned columns)
{
    static const struct report_style style = {.width = 0};
    format_clean_cut(out, text, columns, &style);
}

/* ---- the answer ---- */

/* The frame of the user's that most bytes come from, with those bytes. */
static const struct site_frame *largest_own(const struct stacks *s, double *ret_bytes)
{
    const struct site_frame *largest = NULL;
    *ret_bytes = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct site_frame *own = s->list[i].site->own;
        double bytes = 0;
        for (size_t k = 0; own && k < s->count; k++)
            if (s->list[k].site->own && stacks_is_same_frame(own, s->list[k].site->own))
                bytes += s->list[k].amount.bytes;
        if (bytes > *ret_bytes) {
            largest = own;
            *ret_bytes = bytes;
        }
    }
    return largest;
}

static void add_value(struct buf *out, const struct report_stacks *r, double bytes)
{
    static const char *const kept_how[REPORT_VALUES] = {"", " kept", " allocated"};
    buf_adds(out, r->value == REPORT_GROWTH ? "+" : "");
    units_add_bytes(out, bytes);
    buf_adds(out, kept_how[r->value]);
    buf_adds(out, !r->span ? ", " : r->value == REPORT_LIVE ? " at " : " in ");
    stacks_add_span(out, r);
}

/* "+45.2 MB in steps 100 to 900; 92 % from remember (train.py:23)" */
static void add_title(struct flame *f)
{
    double bytes;
    const struct site_frame *own = largest_own(f->stacks, &bytes);
    struct buf text = BUF_INIT;
    add_value(&text, f->r, f->stacks->total.bytes);
    if (own) {
        struct buf name = BUF_INIT;
        buf_adds(&text, "; ");
        units_add_percent(&text, bytes / f->stacks->total.bytes);
        buf_adds(&text, " from ");
        stacks_add_frame(&name, own);
        add_cut(&text, buf_text(&name), PLACE_COLUMNS);
        buf_release(&name);
    }
    f->top = 30;
    add_lines(f, "title", buf_text(&text), TITLE_COLUMNS);
    f->top += 4;
    buf_release(&text);
}

/* "python3 train.py, trainer 7" */
static void add_job(struct flame *f)
{
    struct buf text = BUF_INIT;
    if (f->r->command) {
        add_cut(&text, f->r->command, COMMAND_COLUMNS);
        buf_adds(&text, ", ");
    }
    if (f->r->count == 1)
        add_cut(&text, f->r->list[0].process, PLACE_COLUMNS);
    else
        buf_addf(&text, "%zu processes", f->r->count);
    add_lines(f, "fact", buf_text(&text), FACT_COLUMNS);
    buf_release(&text);
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

/* "45.2 MB (43.0 to 47.4 MB) in 12 call stacks, estimated from one sample in 64 KB; the process
 * grew by 49 MB, with free heap memory" */
static void add_whole(struct flame *f)
{
    struct buf text = BUF_INIT;
    const struct amount *total = &f->stacks->total;
    double growth = measured_growth(f->r), interval = longest_interval(f->r);
    add_amount(&text, total->bytes, total->error * total->error);
    buf_addf(&text, " in %zu call stack%s", f->stacks->count, f->stacks->count == 1 ? "" : "s");
    if (interval >= 1) {
        buf_adds(&text, ", estimated from one sample in ");
        units_add_bytes(&text, interval);
    }
    if (growth >= 1) {
        buf_adds(&text, f->r->count == 1 ? "; the process grew by " : "; the processes grew by ");
        units_add_bytes(&text, growth);
        buf_adds(&text, ", with free heap memory");
    }
    add_lines(f, "fact", buf_text(&text), FACT_COLUMNS);
    buf_release(&text);
}

static void add_facts(struct flame *f)
{
    struct buf lacks = BUF_INIT, text = BUF_INIT;
    add_job(f);
    add_whole(f);
    stacks_add_lacks(&lacks, f->r, f->stacks);
    if (lacks.len > 0)
        buf_addf(&text, "Not shown: %s", buf_text(&lacks));
    add_lines(f, "fact", buf_text(&text), FACT_COLUMNS);
    buf_release(&text);
    buf_release(&lacks);
}

/* ---- the legend ---- */

/* `class`: of the frames; NULL: a word on the keys, which only the script gives a meaning. */
static void add_key(struct flame *f, double *x, const char *class, const char *text)
{
    buf_addf(f->out, "<g class=\"key %s\" transform=\"translate(%g %g)\">", class ? class : "gone",
             *x, f->top);
    if (class)
        buf_adds(f->out, "<rect y=\"-12\" width=\"14\" height=\"14\" rx=\"2\"/>");
    buf_addf(f->out, "<text x=\"%d\">%s</text></g>\n", class ? 20 : 0, text);
    *x += 46 + 7.2 * (double) strlen(text);
}

static bool has_origin(const struct stacks *s, enum frame_origin origin)
{
    for (size_t i = 0; i < s->count; i++)
        for (unsigned k = 0; k < s->list[i].count; k++)
            if (stacks_origin(s->list[i].frames[k]) == origin)
                return true;
    return false;
}

static bool has_unsure(const struct flame *f)
{
    for (size_t i = 0; i < f->tree->count; i++)
        if (is_unsure(f, f->tree->nodes[i].bytes, f->tree->nodes[i].variance))
            return true;
    return false;
}

static void add_legend(struct flame *f)
{
    static const char *const names[] = {"your code", "Python of packages", "native libraries"};
    static const char *const hints[] = {"click, Enter: zoom", "arrows: move", "/: search",
                                        "Esc: all"};
    double x = SIDE;
    f->top += 6;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (has_origin(f->stacks, (enum frame_origin) i))
            add_key(f, &x, classes[i], names[i]);
    if (has_unsure(f))
        add_key(f, &x, "o u", "faded: may be chance");
    for (unsigned i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        add_key(f, &x, NULL, hints[i]);
    f->top += LINE;
}

/* Without the script, which shows it, there is nothing to type into. */
static void add_search(struct flame *f)
{
    buf_addf(
        f->out,
        "<g class=\"search gone\" transform=\"translate(0 %g)\">"
        "<foreignObject x=\"%g\" y=\"-8\" width=\"300\" height=\"28\">"
        "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\""
        " placeholder=\"search functions and files\" aria-label=\"search\"/></foreignObject>\n"
        "<text class=\"found\" x=\"%g\" y=\"10\"></text>"
        "<text class=\"reset gone\" x=\"%g\" y=\"10\" text-anchor=\"end\">show all</text></g>\n",
        f->top, SIDE, SIDE + 312, SIDE + WIDTH);
    f->top += 32;
}

static void add_chart(struct flame *f)
{
    buf_addf(f->out,
             "<g class=\"chart\" data-bytes=\"%.0f\" data-side=\"%g\" data-width=\"%g\""
             " data-row=\"%g\" data-column=\"%g\" data-top=\"%g\">\n",
             f->stacks->total.bytes, SIDE, WIDTH, ROW, COLUMN, f->top);
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
    buf_adds(f->out,
             "<g class=\"tip gone\"><rect rx=\"4\"/><text></text></g>\n<script><![CDATA[\n");
    buf_adds(f->out, flame_script_text);
    buf_adds(f->out, "]]></script>\n</svg>\n");
}

static void add_picture(struct flame *f)
{
    struct buf *out = f->out, body = BUF_INIT;
    f->out = &body;
    add_body(f);
    f->out = out;
    double width = WIDTH + 2 * SIDE, height = f->top + f->levels * ROW + SIDE;
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

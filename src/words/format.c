/* words/format.c: how values, rates, positions and sentences look in every report. */
#include "words/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const struct format_glyphs *format_glyphs(const struct report_style *style)
{
    static const struct format_glyphs unicode = {"–", "→", "•", "·", "─", "≤"};
    static const struct format_glyphs ascii = {"-", "->", "-", "|", "-", "<="};

    return style->ascii ? &ascii : &unicode;
}

unsigned format_width(const struct report_style *style)
{
    if (style->width < 40)
        return 40;
    return style->width < FORMAT_MAX_WIDTH ? style->width : FORMAT_MAX_WIDTH;
}

void format_color(struct buf *out, enum format_color color, const struct report_style *style)
{
    static const char *const codes[] = {
        [FORMAT_RESET] = "\033[0m",  [FORMAT_BOLD] = "\033[1m",     [FORMAT_DIM] = "\033[2m",
        [FORMAT_RED] = "\033[1;31m", [FORMAT_GREEN] = "\033[1;32m", [FORMAT_YELLOW] = "\033[1;33m",
    };

    if (style->color)
        buf_adds(out, codes[color]);
}

unsigned format_columns(const char *text)
{
    unsigned columns = 0;
    for (const char *s = text; *s; s++) {
        if (*s == '\033')
            s += strcspn(s, "m");
        else
            columns += ((unsigned char) *s & 0xc0) != 0x80;
        if (!*s)
            break;
    }
    return columns;
}

/* The position of column `column` in a text without colours. */
static const char *column_place(const char *text, unsigned column)
{
    while (column > 0 && *text) {
        text++;
        while (((unsigned char) *text & 0xc0) == 0x80)
            text++;
        column--;
    }
    return text;
}

void format_clean_cut(struct buf *out, const char *text, unsigned columns,
                      const struct report_style *style)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, style->ascii);
    const char *begin = buf_text(&clean);
    unsigned all = format_columns(begin);
    if (all <= columns) {
        buf_adds(out, begin);
    } else {
        const char *gap = style->ascii ? ".." : "…";
        unsigned kept = columns - format_columns(gap), tail = kept / 2;
        buf_add(out, begin, (size_t) (column_place(begin, kept - tail) - begin));
        buf_addf(out, "%s%s", gap, column_place(begin, all - tail));
    }
    buf_release(&clean);
}

/* A unit stays with the number before it and never starts a line. */
static bool is_unit(const char *word)
{
    if (word[0] == '%')
        return true;
    size_t len = strspn(word, "KMGTPB");
    return len > 0 && len <= 2 && word[len - 1] == 'B' && !isalnum((unsigned char) word[len]);
}

size_t format_piece_length(const char *text)
{
    size_t len = strcspn(text, " ");
    while (text[len] == ' ' && is_unit(text + len + 1))
        len += 1 + strcspn(text + len + 1, " ");
    return len;
}

void format_wrapped(struct buf *out, const char *text, unsigned indent,
                    const struct report_style *style)
{
    unsigned width = format_width(style), column = indent;
    struct buf piece = BUF_INIT;

    for (const char *s = text + strspn(text, " "); *s; s += strspn(s, " ")) {
        buf_clear(&piece);
        buf_add(&piece, s, format_piece_length(s));
        s += piece.len;
        unsigned columns = format_columns(buf_text(&piece));
        if (column > indent && column + 1 + columns > width) {
            buf_addc(out, '\n');
            buf_repeat(out, " ", indent);
            column = indent;
        } else if (column > indent) {
            buf_addc(out, ' ');
            column++;
        }
        buf_adds(out, buf_text(&piece));
        column += columns;
    }
    buf_release(&piece);
    buf_addc(out, '\n');
}

void format_range(struct buf *out, const char *first, const char *last, const char *separator)
{
    const char *unit_first = strchr(first, ' '), *unit_last = strchr(last, ' ');
    bool shared = unit_first && unit_last && strcmp(unit_first, unit_last) == 0;
    buf_add(out, first, shared ? (size_t) (unit_first - first) : strlen(first));
    buf_addf(out, " %s %s", separator, last);
}

void format_values(struct buf *out, double low, double high, const char *separator,
                   enum series_unit unit)
{
    struct buf first = BUF_INIT, last = BUF_INIT;
    series_add_value(&first, low, unit);
    series_add_value(&last, high, unit);
    format_range(out, buf_text(&first), buf_text(&last), separator);
    buf_release(&first);
    buf_release(&last);
}

/* Whether both values print the same. */
static bool same_text(double a, double b, enum series_unit unit)
{
    struct buf first = BUF_INIT, second = BUF_INIT;
    series_add_value(&first, a, unit);
    series_add_value(&second, b, unit);
    bool same = strcmp(buf_text(&first), buf_text(&second)) == 0;
    buf_release(&first);
    buf_release(&second);
    return same;
}

void format_change(struct buf *out, double from, double to, enum series_unit unit,
                   const struct report_style *style)
{
    if (same_text(from, to, unit))
        series_add_value(out, to, unit);
    else
        format_values(out, from, to, format_glyphs(style)->arrow, unit);
}

void format_rate(struct buf *out, double rate, const struct series_info *info)
{
    series_add_rate(out, rate, info->unit, info->clock);
}

void format_current_rate(struct buf *out, const struct answer *a, const struct series_info *info,
                         const struct report_style *style)
{
    bool bound = a->verdict == VERDICT_NO_LEAK && isfinite(a->rate_upper) && a->rate_upper > 0;
    if (bound)
        buf_addf(out, "%s ", format_glyphs(style)->most);
    if (bound || isfinite(a->rate))
        format_rate(out, bound ? a->rate_upper : a->rate, info);
}

void format_bounds(struct buf *out, double value, double low, double high, enum series_unit unit)
{
    if (!isfinite(low) || !isfinite(high))
        return;
    if (same_text(low, value, unit) && same_text(high, value, unit))
        return;
    buf_adds(out, " (");
    format_values(out, low, high, "to", unit);
    buf_addc(out, ')');
}

void format_rate_bounds(struct buf *out, double rate, double low, double high,
                        const struct series_info *info)
{
    format_bounds(out, series_rate_shown(rate, info->clock), series_rate_shown(low, info->clock),
                  series_rate_shown(high, info->clock), info->unit);
}

void format_position(struct buf *out, double at, const struct report_series *s)
{
    if (s->info->clock == CLOCK_STEP)
        format_position_words(out, at, s);
    else
        units_add_duration(out, at - s->answer->first_at);
}

void format_position_words(struct buf *out, double at, const struct report_series *s)
{
    series_add_position(out, at, s->answer->first_at, s->info->clock);
}

void format_span(struct buf *out, double from, double to, const struct report_series *s,
                 const struct report_style *style)
{
    const char *dash = format_glyphs(style)->dash;
    if (s->info->clock == CLOCK_STEP) {
        units_add_count(out, round(from), 0);
        buf_adds(out, dash);
        units_add_count(out, round(to), 0);
        return;
    }
    double origin = s->answer->first_at;
    struct buf first = BUF_INIT, last = BUF_INIT;
    units_add_duration(&first, from - origin);
    units_add_duration(&last, to - origin);
    const char *unit_first = strchr(buf_text(&first), ' ');
    const char *unit_last = strchr(buf_text(&last), ' ');
    bool drop = from <= origin || (unit_first && unit_last && strcmp(unit_first, unit_last) == 0);
    buf_add(out, buf_text(&first), drop ? strcspn(buf_text(&first), " ") : first.len);
    buf_addf(out, "%s%s%s%s", drop ? "" : " ", dash, drop ? "" : " ", buf_text(&last));
    buf_release(&first);
    buf_release(&last);
}

void format_more(struct buf *out, double length, enum series_clock clock)
{
    struct buf text = BUF_INIT;
    series_add_length(&text, length, true, clock);
    const char *all = buf_text(&text), *steps = strstr(all, " step");
    if (steps)
        buf_addf(out, "about %.*s more%s", (int) (steps - all), all, steps);
    else
        buf_addf(out, "about %s more", all);
    buf_release(&text);
}

void format_pid(struct buf *out, const struct series_info *info, const struct report_style *style)
{
    char pid[32];
    snprintf(pid, sizeof(pid), "%" PRId64, info->pid);
    if (info->pid != 0 && !strstr(info->name, pid))
        buf_addf(out, " %s pid %s", format_glyphs(style)->dot, pid);
}

const char *format_label(const struct series_info *info)
{
    return strcmp(info->kind, "memory") == 0 ? info->name : info->kind;
}

void format_verdict(struct buf *out, enum verdict verdict, enum severity severity,
                    const struct report_style *style)
{
    if (verdict == VERDICT_LEAK) {
        if (severity != SEVERITY_NEGLIGIBLE)
            format_color(out, FORMAT_RED, style);
        buf_adds(out, "LEAK");
        if (severity != SEVERITY_NONE)
            buf_addf(out, " (%s)", severity_name(severity));
    } else if (verdict == VERDICT_NO_LEAK) {
        format_color(out, FORMAT_GREEN, style);
        buf_adds(out, "NO LEAK");
    } else {
        format_color(out, FORMAT_YELLOW, style);
        buf_adds(out, "INCONCLUSIVE");
    }
    format_color(out, FORMAT_RESET, style);
}

const struct phase *format_last_phase(const struct answer *a)
{
    return a->phase_count > 0 ? &a->phases[a->phase_count - 1] : NULL;
}

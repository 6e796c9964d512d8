/* words/format.h: how values, rates, positions and sentences look in every report. */
#ifndef TIDEMARK_WORDS_FORMAT_H
#define TIDEMARK_WORDS_FORMAT_H

#include "words/report_job.h"

/* Texts are never laid out wider than this, however wide the terminal is. */
#define FORMAT_MAX_WIDTH 100u

/* The characters that differ between Unicode and ASCII. */
struct format_glyphs {
    const char *dash;   /* between the ends of a span */
    const char *arrow;  /* from one level to another */
    const char *bullet; /* before one of several sentences */
    const char *dot;    /* between facts of one line */
    const char *rule;   /* one column of a horizontal line */
    const char *most;   /* before an upper bound */
};

const struct format_glyphs *format_glyphs(const struct report_style *style);

/* style->width within what a layout can use. */
unsigned format_width(const struct report_style *style);

enum format_color {
    FORMAT_RESET,
    FORMAT_BOLD,
    FORMAT_DIM,
    FORMAT_RED,
    FORMAT_GREEN,
    FORMAT_YELLOW,
};

/* Nothing without style->color. */
void format_color(struct buf *out, enum format_color color, const struct report_style *style);

/* A text from outside, cleaned, in at most `columns`: what is too long loses its middle. */
void format_clean_cut(struct buf *out, const char *text, unsigned columns,
                      const struct report_style *style);

/* Columns `text` takes on a terminal: one a character, colours take none. */
unsigned format_columns(const char *text);

/* Adds `text` broken into lines of the style's width; the first line is taken to begin at column
 * `indent`, the others are moved there. Ends with a line end. */
void format_wrapped(struct buf *out, const char *text, unsigned indent,
                    const struct report_style *style);

/* Length of the piece at `text` that stays on one line: a word, a number with its unit of memory.
 */
size_t format_piece_length(const char *text);

/* "145 to 151 MB", "9.2 to 12 million steps": what both end in is said once. */
void format_range(struct buf *out, const char *first, const char *last, const char *separator);

/* The same of two values. */
void format_values(struct buf *out, double low, double high, const char *separator,
                   enum series_unit unit);

/* "5.42 -> 15.4 GB"; one value where both read the same. */
void format_change(struct buf *out, double from, double to, enum series_unit unit,
                   const struct report_style *style);

/* A rate in the unit and on the clock of the series. */
void format_rate(struct buf *out, double rate, const struct series_info *info);

/* The rate of an answer in a cell: where there is no leak, its upper bound: "≤ 72.5 B/step".
 * Nothing where it is not known. */
void format_current_rate(struct buf *out, const struct answer *a, const struct series_info *info,
                         const struct report_style *style);

/* " (145 to 151 MB)"; nothing where the bounds are unknown or say no more than `value` does. */
void format_bounds(struct buf *out, double value, double low, double high, enum series_unit unit);

/* The same of a rate, in the measure in which format_rate() writes it. */
void format_rate_bounds(struct buf *out, double rate, double low, double high,
                        const struct series_info *info);

/* A position: "step 40", or the time since the run's first sample: "12 min". */
void format_position(struct buf *out, double at, const struct report_series *s);

/* The same in a running sentence: "step 40", "12 min into the run", "the start". */
void format_position_words(struct buf *out, double at, const struct report_series *s);

/* Between two positions: "10-80" in steps, "0-12 min". */
void format_span(struct buf *out, double from, double to, const struct report_series *s,
                 const struct report_style *style);

/* What is still missing: "about 150 more steps", "about 12 min more". */
void format_more(struct buf *out, double length, enum series_clock clock);

/* " | pid 7", where the pid is known and not part of the name. */
void format_pid(struct buf *out, const struct series_info *info, const struct report_style *style);

/* What one calls the series: its kind, or its name where the kind is not known. */
const char *format_label(const struct series_info *info);

/* "LEAK (low)", "NO LEAK", "INCONCLUSIVE", coloured. */
void format_verdict(struct buf *out, enum verdict verdict, enum severity severity,
                    const struct report_style *style);

/* The last phase, NULL where there is none. */
const struct phase *format_last_phase(const struct answer *a);

#endif

/* report/report.h: answers as text for people and JSON for programs. Does no I/O. */
#ifndef TIDEMARK_REPORT_H
#define TIDEMARK_REPORT_H

#include "verdict/verdict.h"

#include <stdbool.h>
#include <stddef.h>

/* How the text may look. */
struct report_style {
    unsigned width; /* columns of the terminal */
    bool color;     /* ANSI colours */
    bool ascii;     /* no character beyond ASCII */
};

/* One judged series. Nothing is owned. */
struct report_series {
    const struct series_info *info;
    const struct answer *answer;
    const struct history *history;
};

struct report_job {
    const struct report_series *series;
    size_t count;
    const struct job_answer *answer;
    const char *source; /* file name; NULL: absent */
};

/* The report of `analyze`: the verdict in one sentence, then for each series, or of many for those
 * that need attention, chart, phases, forecast, reasons. */
void report_text(struct buf *out, const struct report_job *job, const struct report_style *style);

/* Its first sentence alone, with a line end and never broken: "LEAK (low): rss grows 5 MB/step". */
void report_headline(struct buf *out, const struct report_job *job,
                     const struct report_style *style);

/* The JSON answer of docs/JSON.md: laid out, ends with a line end. */
void report_json(struct buf *out, const struct report_job *job);

/* One line a series, sizes in MB, counts as they are: the contract of `analyze --batch`. */
void report_batch(struct buf *out, const struct series_info *info, const struct answer *a);

/* The same counter in two runs. */
struct report_pair {
    const struct report_series *a, *b;
};

/* Two runs: the series that are compared, and the counts (tensors, ...) that both have. */
struct report_runs {
    struct report_series a, b;
    const struct comparison *comparison;
    const struct report_pair *counts;
    size_t count_pairs;
};

/* `compare`: the two side by side, then what differs. */
void report_comparison(struct buf *out, const struct report_runs *runs,
                       const struct report_style *style);
void report_comparison_json(struct buf *out, const struct report_runs *runs);

/* The chart alone: floor and range of the history, `width` x `height` characters with axes. */
void report_chart(struct buf *out, const struct report_series *s, unsigned height,
                  const struct report_style *style);

#endif

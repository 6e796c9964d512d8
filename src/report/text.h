/* report/text.h: the pieces that reports for people are made of. Private. */
#ifndef TIDEMARK_REPORT_TEXT_H
#define TIDEMARK_REPORT_TEXT_H

#include "report/report.h"

/* A label and the sentence beside it; empty sentence: nothing. Releases the sentence. */
void text_fact(struct buf *out, const char *label, struct buf *sentence,
               const struct report_style *style);

/* The same, dim: it is no trouble. */
void text_quiet_fact(struct buf *out, const char *label, struct buf *sentence,
                     const struct report_style *style);

/* "fix: ...", with continuation lines indented; empty text: nothing. Releases the text. */
void text_answer(struct buf *out, const char *label, struct buf *text,
                 const struct report_style *style);

/* The answer in three lines: verdict, why, fix. The ending repeats it in the report's last line. */
void text_opening(struct buf *out, const struct report_job *job, const struct report_style *style);
void text_ending(struct buf *out, const struct report_job *job, const struct report_style *style);

/* Lines that a short report has left for its middle, between its head and its tail. */
unsigned text_room(const struct buf *head, const struct buf *tail);

/* The middle of a short report: for a leak that matters its chart, holders and severity; other
 * leaks. Takes at most `lines`: what does not fit is counted, and the chart gets lower. */
void text_brief(struct buf *out, const struct report_job *job, unsigned lines,
                const struct report_style *style);

/* One of several reasons beside a label: a bullet and a text from outside. */
void text_reason(struct buf *out, const char *label, const char *reason,
                 const struct report_style *style);

/* One line per series, leaks first. */
void text_summary(struct buf *out, const struct report_job *job, const struct report_style *style);

/* One of several series: a ruled heading and its own sentence above chart, phases, reasons. */
void text_section(struct buf *out, const struct report_series *s, const struct report_style *style);

#endif

/* report/text.h: the pieces that reports for people are made of. Private. */
#ifndef TIDEMARK_REPORT_TEXT_H
#define TIDEMARK_REPORT_TEXT_H

#include "report/report.h"

/* A word and the sentence beside it, which is released; nothing if the sentence is empty. */
void text_fact(struct buf *out, const char *label, struct buf *sentence,
               const struct report_style *style);

/* "fix: ...", and the text under itself where it is long; it is released. Nothing if empty. */
void text_answer(struct buf *out, const char *label, struct buf *text,
                 const struct report_style *style);

/* The answer in three lines: verdict, why, fix. The last line repeats it. */
void text_opening(struct buf *out, const struct report_job *job, const struct report_style *style);
void text_ending(struct buf *out, const struct report_job *job, const struct report_style *style);

/* Lines a short report has left beside what stands before and behind its middle. */
unsigned text_room(const struct buf *head, const struct buf *tail);

/* Between the two, where the answer is all that is wanted: of a leak that matters its chart, who
 * holds what grows, how much it matters; what else leaks. In at most `lines`: what has no room is
 * counted, and the chart gets lower. */
void text_brief(struct buf *out, const struct report_job *job, unsigned lines,
                const struct report_style *style);

/* One of several reasons beside a word: a bullet, and a text from outside. */
void text_reason(struct buf *out, const char *label, const char *reason,
                 const struct report_style *style);

/* One line a series, leaks first. */
void text_summary(struct buf *out, const struct report_job *job, const struct report_style *style);

/* One of several series: a ruled heading and a sentence of its own above chart, phases, reasons. */
void text_section(struct buf *out, const struct report_series *s, const struct report_style *style);

#endif

/*
 * words/summary.h: the answer of a report in three lines: what is the case, the evidence in
 * numbers, the next thing to do; and the line at the end that repeats it. No line ends; never
 * broken.
 */
#ifndef TIDEMARK_WORDS_SUMMARY_H
#define TIDEMARK_WORDS_SUMMARY_H

#include "words/report_job.h"

/* "LEAK (high): trainer 4242 host.anon grows 16.0 MB/step; limit in 82 s". */
void summary_verdict(struct buf *out, const struct report_job *job,
                     const struct report_style *style);

/* "+4.66 GB in 298 steps (3.0 epochs); `loss_history` +1.00 tensors a step". */
void summary_why(struct buf *out, const struct report_job *job, const struct report_style *style);

/* "`loss_history`, demo.py:31: keep loss.item() instead". */
void summary_next(struct buf *out, const struct report_job *job, const struct report_style *style);

/* What stands before that: "fix" where something leaks, or "next". */
const char *summary_next_label(const struct report_job *job);

/* "LEAK (high): `loss_history`, demo.py:31, 16.0 MB/step". */
void summary_end(struct buf *out, const struct report_job *job, const struct report_style *style);

/* "4 more series: 3 fine, 1 too short to tell"; nothing where all are named already. */
void summary_others(struct buf *out, const struct report_job *job);

/* How much a leak matters, and why: "high: ten times this run would add 48.4 GB; 18.7 GB are left,
 * enough for 1,200 steps". */
void summary_severity(struct buf *out, const struct report_series *s);

/* "`loss_history`, demo.py:31", without the folders where it would take more columns; 0: as many as
 * it takes. Nothing where no holder has a name. */
void summary_place(struct buf *out, const struct finding *f, unsigned columns);

/* The same of two jobs: "A: host.anon grows 157 KB/step; B: host.anon, flat at 114 MB", "in A, `x`,
 * a.py:3: keep loss.item() instead", "A: LEAK (low); B: NO LEAK: `x`, a.py:3". */
void summary_pair_why(struct buf *out, const struct report_job *a, const struct report_job *b);
void summary_pair_next(struct buf *out, const struct report_job *a, const struct report_job *b,
                       const struct report_style *style);
void summary_pair_end(struct buf *out, const struct report_job *a, const struct report_job *b,
                      const struct report_style *style);

/* "INCONCLUSIVE: the command ran for 6.3 ms, too short to judge its memory". */
void summary_short(struct buf *out, double seconds, const struct report_style *style);

/* What the growth of the system can be that the balance sheet does not explain. */
void summary_unexplained(struct buf *out);

/* What to look for where no holder is known, by the kind of memory; NULL: nothing. */
const char *summary_look_for(const char *kind);

#endif

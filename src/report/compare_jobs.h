/* report/compare_jobs.h: what two jobs leak and why, side by side. Private. */
#ifndef TIDEMARK_REPORT_COMPARE_JOBS_H
#define TIDEMARK_REPORT_COMPARE_JOBS_H

#include "report/report.h"

/* "B leaks where A did not: list 'x', main (a.py:3), +12.0 KB/step."; empty where neither leaks. */
void compare_jobs_summary(struct buf *out, const struct report_job *a, const struct report_job *b);

/* One line with the verdicts of both jobs, where one of them has several series. */
void compare_jobs_verdicts(struct buf *out, const struct report_job *a, const struct report_job *b,
                           const struct report_style *style);

/* One bullet point for each leaking series and each cause. */
void compare_jobs_points(struct buf *out, const struct report_job *a, const struct report_job *b,
                         const struct report_style *style);

/* The members "same_leaks", "jobs", "leaking" and "causes". */
void compare_jobs_json(struct json *j, const struct report_job *a, const struct report_job *b);

#endif

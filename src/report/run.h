/* report/run.h: a watched job as the report_job that other reports take. Private. */
#ifndef TIDEMARK_REPORT_RUN_H
#define TIDEMARK_REPORT_RUN_H

#include "report/report.h"

struct run_job {
    struct report_series *series;
    struct report_job job;
};

/* Points into the view. */
void run_job_init(struct run_job *j, const struct view *v);
void run_job_release(struct run_job *j);

#endif

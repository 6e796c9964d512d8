/* words/report_job.h: what is put into words: judged series, the job they belong to, the style. */
#ifndef TIDEMARK_WORDS_REPORT_JOB_H
#define TIDEMARK_WORDS_REPORT_JOB_H

#include "base/base.h"
#include "verdict/verdict.h"
#include "words/finding.h"

#include <stdbool.h>
#include <stddef.h>

/* How the text may look. */
struct report_style {
    unsigned width; /* columns of the terminal */
    bool color;     /* ANSI colours */
    bool ascii;     /* no character beyond ASCII */
    bool full;      /* everything, not the answer alone */
};

/* One judged series. Nothing is owned. */
struct report_series {
    const struct series_info *info;
    const struct answer *answer;
    const struct history *history;
};

/* Processes of one role and one parent whose series of one kind grow alike. */
struct series_group {
    unsigned processes; /* with the series itself: 1, it alone */
    double low, high;   /* rates */
};

struct report_job {
    const struct report_series *series;
    size_t count;
    const struct job_answer *answer;
    const char *source;               /* file name; NULL: absent */
    const struct series_group *group; /* of the deciding series; NULL: it alone */
    bool watched;       /* a running job: the one series that matters most is always named */
    const char *unread; /* why a running job's processes could not be read; NULL: they were */
    const struct findings *found; /* NULL: no census was taken */
    const struct view_pattern *patterns;
    unsigned pattern_count;
};

#endif

/* plot/plot.h: a judged job as one picture, SVG or PNG. Does no I/O. */
#ifndef TIDEMARK_PLOT_H
#define TIDEMARK_PLOT_H

#include "base/base.h"
#include "report/report.h"

#include <stdbool.h>

/* Which series get a chart. */
enum plot_choice {
    PLOT_DECIDING,  /* the one that decides the verdict */
    PLOT_ATTENTION, /* those that need attention; of a healthy job its memory */
    PLOT_EVERY,     /* all of the job, because the user selected them */
};

/* What is drawn. Nothing is owned. */
struct plot_job {
    const struct report_job *job;
    const enum job_part *parts;    /* one for each series; NULL: all are main */
    const char *command;           /* for people, redacted; NULL: not known */
    double seconds, steps, epochs; /* that the job was watched; NAN: not known */
    unsigned processes;            /* at a time; 0: not known */
    const char *const *activities; /* names; the first is number 1 in a history */
    unsigned activity_count;
};

struct plot_options {
    double width, height; /* in pixels: PLOT_LEAST to PLOT_MOST */
    double scale;         /* pixels of a PNG for each: PLOT_LEAST_SCALE to PLOT_MOST_SCALE */
    bool dark;
    bool by_time; /* time on the axis although the verdict is by steps */
    enum plot_choice choice;
};

#define PLOT_OPTIONS_INIT ((struct plot_options){.width = 1200, .height = 675, .scale = 1})
#define PLOT_LEAST 200.0
#define PLOT_MOST 8192.0 /* of a PNG also after scaling */
#define PLOT_LEAST_SCALE 0.5
#define PLOT_MOST_SCALE 4.0

/*
 * Adds one self-contained picture. Every text from outside is cleaned and escaped. The same job and
 * options give the same bytes. -ENODATA: no series has a sample that can be drawn; -ENOTSUP:
 * by_time, and no times were recorded. Nothing is added then.
 */
int plot_svg(struct buf *out, const struct plot_job *job, const struct plot_options *options);
int plot_png(struct buf *out, const struct plot_job *job, const struct plot_options *options);

#endif

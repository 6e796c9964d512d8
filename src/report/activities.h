/* report/activities.h: what a program reported doing beside its steps, for people and programs. */
#ifndef TIDEMARK_REPORT_ACTIVITIES_H
#define TIDEMARK_REPORT_ACTIVITIES_H

#include "report/report.h"

/* One line per phase: "evaluate 12 times, 3.1 s each, up to 1.20 GB above the floor, ..."; empty if
 * the program reported none. */
void activities_text(struct buf *out, const struct view *v, const struct report_style *style);

/* The member "phases"; left out if the program reported none. */
void activities_json(struct json *j, const struct view *v);

#endif

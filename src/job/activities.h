/* job/activities.h: what programs say they do beside their steps: they evaluate, they save. */
#ifndef TIDEMARK_JOB_ACTIVITIES_H
#define TIDEMARK_JOB_ACTIVITIES_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct job;
struct member;
struct track;

/* The activities that a process, or any process of the job, is in. */
struct activity_scope {
    unsigned inside[WIRE_PHASES];     /* so many processes are */
    unsigned char order[WIRE_PHASES]; /* as they began */
    unsigned count;
};

struct activity_total {
    uint64_t times, ended;
    double seconds; /* of those that have ended */
};

/* Of all processes, by their names: the first 16, and "other". All 0 at first. */
struct activities {
    char *names[WIRE_PHASES];
    unsigned count;
    struct activity_scope scope;
    struct activity_total totals[WIRE_PHASES]; /* as last counted */
};

void activities_release(struct activities *a);

/* Its place among the names. What a process calls it is cleaned first. */
unsigned activities_place(struct activities *a, const char *reported);

/* A process begins or ends one. */
void job_change_activity(struct job *j, struct member *m, unsigned activity, bool begins);

/* A value of a series, be it a sample or between two: for its activities. */
void job_see(struct job *j, struct track *t, double value);
/* The same of one that was told for an activity alone, perhaps before its first begins. */
void job_see_aside(struct job *j, struct track *t, double value);

#endif

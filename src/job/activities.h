/* job/activities.h: what programs report doing besides steps: evaluating, saving. */
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
    unsigned inside[WIRE_PHASES];     /* number of processes in each activity */
    unsigned char order[WIRE_PHASES]; /* in the order they began */
    unsigned count;
};

struct activity_total {
    uint64_t times, ended;
    double seconds; /* of those that have ended */
};

/* The activities of all processes by name: the first 16, and "other". All 0 at first. */
struct activities {
    char *names[WIRE_PHASES];
    unsigned count;
    struct activity_scope scope;
    struct activity_total totals[WIRE_PHASES]; /* as last counted */
};

void activities_release(struct activities *a);

/* Returns its index among the names. Cleans the name a process reported first. */
unsigned activities_place(struct activities *a, const char *reported);

/* A process begins or ends an activity. */
void job_change_activity(struct job *j, struct member *m, unsigned activity, bool begins);

/* Notes a value of a series for its activities; it may fall between two samples. */
void job_see(struct job *j, struct track *t, double value);
/* The same for a value reported for an activity alone, perhaps before the first one begins. */
void job_see_aside(struct job *j, struct track *t, double value);

#endif

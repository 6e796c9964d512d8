/* watch/state.h: the state of a watch. Private to watch/. */
#ifndef TIDEMARK_WATCH_STATE_H
#define TIDEMARK_WATCH_STATE_H

#include "job/job.h"
#include "judge/judge.h"
#include "sample/sample.h"
#include "watch/watch.h"

/* A process that tidemark attached to, or was to. */
struct process_entry {
    struct proc_id id;
    char label[MEMBER_LABEL];
    char *command;
    char *python, *why; /* why: the reason it did not */
    double stopped, longest_stop;
    unsigned stops;
    bool left, ended;
    double at;    /* time of the attempt */
    double again; /* time to try again; INFINITY: never */
};

struct watch {
    struct watch_options options;
    struct job job;
    struct sampler *sampler;
    struct sheet sheet;
    struct series_info status_series; /* texts of the last status */
    struct process_entry *entries;
    size_t entry_count;

    double started; /* wall clock */
    struct watch_end end;
    double next_commit;
    double cpu_seconds; /* of all ticks */
    bool near_limit_announced, elsewhere_announced;
};

/* entries.c */
void entries_view(const struct watch *w, struct findings *ret);
bool entries_have(const struct watch *w, struct proc_id id); /* tidemark attached, or tried to */
void entries_release(struct watch *w);

/* announce.c: adds news of new leaks, and of leaks that turned out to be none. */
void announce(struct job *j, double seconds);

#endif

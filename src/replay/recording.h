/* replay/recording.h: what the rest of replay/ needs from a recording. Private to replay/. */
#ifndef TIDEMARK_REPLAY_RECORDING_H
#define TIDEMARK_REPLAY_RECORDING_H

#include "job/job.h"
#include "judge/judge.h"
#include "replay/replay.h"

struct job *recording_job(struct recording *r);
const struct store_run *recording_run(const struct recording *r);

/* The index of the series that a track was filled from; recording_count(): none. */
size_t recording_index_of(const struct recording *r, const struct track *t);

#endif

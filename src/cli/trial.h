/* cli/trial.h: runs a command once with a setting and measures the run. */
#ifndef TIDEMARK_CLI_TRIAL_H
#define TIDEMARK_CLI_TRIAL_H

#include "replay/replay.h"
#include "watch/watch.h"

/* The command and where to record its runs. Nothing is owned. */
struct trial_job {
    char *const *argv; /* of the command, NULL-terminated */
    double steps;      /* ended with SIGTERM after this many steps; 0: ends by itself */
    const char *folder;
    bool keep; /* keep run files and logs there */
};

struct trial {
    const struct tradeoff_setting *setting;
    unsigned round; /* the first is 1; 0: a rehearsal */
};

enum trial_end {
    TRIAL_MEASURED,
    TRIAL_FAILED,      /* with a message and the last lines of the command's output */
    TRIAL_INTERRUPTED, /* by the user, with a message: the command got the signal and ended */
};

/* Passes the setting to the probe in the command's processes. */
#define TRIAL_VARIABLE "TIDEMARK_CLEANUP"

/* From now on Ctrl-C and similar signals end a trial instead of tidemark. */
void trial_take_signals(void);

struct trial_result {
    struct measured_run measured;
    double steps, seconds; /* of the whole run */
};

/* Runs the command under `tidemark run` with its output in a file. Fills *ret only for
 * TRIAL_MEASURED. */
enum trial_end trial_run(const struct trial_job *job, const struct trial *trial,
                         struct trial_result *ret);

#endif

/* cli/trial.h: one run of a command with a setting, and what is measured in it. */
#ifndef TIDEMARK_CLI_TRIAL_H
#define TIDEMARK_CLI_TRIAL_H

#include "replay/replay.h"
#include "watch/watch.h"

/* The command and where its runs are recorded. Nothing is owned. */
struct trial_job {
    char *const *argv; /* of the command, NULL-terminated */
    double steps;      /* ended kindly after so many; 0: by itself */
    const char *folder;
    bool keep; /* run files and logs stay there */
};

struct trial {
    const struct tradeoff_setting *setting;
    unsigned round; /* the first is 1; 0: a rehearsal */
};

enum trial_end {
    TRIAL_MEASURED,
    TRIAL_FAILED,      /* said, with the last lines of what the command wrote */
    TRIAL_INTERRUPTED, /* by the user, said: the command was told, and has ended */
};

/* What tells the probe in a command's processes the setting. */
#define TRIAL_VARIABLE "TIDEMARK_CLEANUP"

/* From now on Ctrl-C and the like end a trial instead of us. */
void trial_take_signals(void);

struct trial_result {
    struct measured_run measured;
    double steps, seconds; /* of the whole run */
};

/* Runs the command under `tidemark run` with its output in a file. *ret is filled where it was
 * measured. */
enum trial_end trial_run(const struct trial_job *job, const struct trial *trial,
                         struct trial_result *ret);

#endif

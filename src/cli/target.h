/* cli/target.h: finds the running process that the user means: --pid N, or --find PATTERN. */
#ifndef TIDEMARK_CLI_TARGET_H
#define TIDEMARK_CLI_TARGET_H

#include "base/base.h"
#include "cli/options.h"

#include <stdbool.h>
#include <sys/types.h>

/* The user's options; 0, false and NULL: not given. */
struct target {
    double pid;
    const char *pattern;
    bool wait;
};

/* The rows of an option table that fill a struct target. */
#define TARGET_OPTIONS(target)                                                                     \
    {"pid", OPTION_NUMBER, &(target)->pid, "the number of a process", NULL},                       \
        {"find", OPTION_TEXT, &(target)->pattern, "a part of a command line", NULL},               \
    {                                                                                              \
        "wait", OPTION_FLAG, &(target)->wait, NULL, NULL                                           \
    }

/* 0, or -EINVAL with a message. */
int target_check(const struct target *t, const char *command, int operands);

/* Finds the process and its arguments, NUL-separated. -errno, with a message. */
int target_find(const struct target *t, const char *command, pid_t *ret_pid,
                struct buf *ret_arguments);

/* The texts between the NULs; the caller frees the array. */
const char **target_split(const struct buf *arguments, size_t *ret_count);

#endif

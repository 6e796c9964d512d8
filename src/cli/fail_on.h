/* cli/fail_on.h: --fail-on: which verdicts change the exit status. */
#ifndef TIDEMARK_CLI_FAIL_ON_H
#define TIDEMARK_CLI_FAIL_ON_H

#include "verdict/verdict.h"

struct fail_on {
    bool leak, inconclusive;
    enum severity least;
};

/* Reads "leak" (low and above), "leak:medium" (medium and above), "inconclusive", or several with
 * commas, into a struct fail_on. -EINVAL. */
int fail_on_parse(const char *text, void *target);

/* The row of an option table that fills a struct fail_on. */
#define FAIL_ON_OPTION(fail_on)                                                                    \
    {                                                                                              \
        "fail-on", OPTION_PARSED, (fail_on),                                                       \
            "leak, leak:negligible|low|medium|high or inconclusive", fail_on_parse                 \
    }

/* The exit status for a verdict. */
int fail_on_status(const struct fail_on *f, enum verdict verdict, enum severity severity);

#endif

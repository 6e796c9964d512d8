/* words/causes.h: what each cause is called, and how to fix it. */
#ifndef TIDEMARK_WORDS_CAUSES_H
#define TIDEMARK_WORDS_CAUSES_H

#include "advice/advice.h"

struct cause_words {
    const char *name;   /* "retained-loss", as in JSON */
    const char *fix;    /* what to write instead, in the imperative */
    const char *reason; /* why that helps, or what shows it; NULL: the fix says it */
};

const struct cause_words *cause_words(enum cause cause);
/* The same where the line that allocates is known, perhaps on a device: the fix is to be made
 * there. */
const struct cause_words *cause_words_at_line(enum cause cause, bool is_of_device);

#endif

/* words/settings.h: settings that a run has a reason to change, as sentences. */
#ifndef TIDEMARK_WORDS_SETTINGS_H
#define TIDEMARK_WORDS_SETTINGS_H

#include "advice/advice.h"

/* "num_workers": what to set. */
const char *setting_name(enum setting_kind kind);

/* Where there are none. */
const char *setting_none(void);

/* The measurement behind it and what the change would save; `facts` are those it was judged by. */
void setting_describe(struct buf *out, const struct setting *s, const struct setting_facts *facts);

#endif

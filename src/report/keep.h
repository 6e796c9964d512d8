/* report/keep.h: how what was kept is read, piece by piece. Private. */
#ifndef TIDEMARK_REPORT_KEEP_H
#define TIDEMARK_REPORT_KEEP_H

#include "report/report.h"

/* One member of an object: the value is the next token. Reads or skips it; -EINVAL. */
typedef int keep_member_reader(struct json_reader *r, const struct json_token *key, void *to);

/* What follows a `{` up to its `}`. */
int keep_read_members(struct json_reader *r, keep_member_reader *read, void *to);

int keep_expect(struct json_reader *r, enum json_type type);

/* The next token is of that type; else *ret is what came instead, JSON_END where it is no JSON. */
bool keep_next_is(struct json_reader *r, enum json_type type, struct json_token *ret);

bool keep_is_within(double value, double most); /* 0 to `most` */

/* The text of a string; the caller owns it. The second takes the place of what was there. */
char *keep_text_of(const struct json_token *t);
int keep_read_text(struct json_reader *r, const char **ret);

#endif

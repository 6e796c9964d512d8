/* report/json.h: what the JSON documents of the reports share. Private. */
#ifndef TIDEMARK_REPORT_JSON_H
#define TIDEMARK_REPORT_JSON_H

#include "report/report.h"

/* begin() opens the document's object with its version and schema; end() closes it and ends the
 * line. */
void report_json_begin(struct json *j, struct buf *out);
void report_json_end(struct json *j);

/* The members "verdict", "severity" and "summary"; then "series" with all of them. */
void report_json_verdict(struct json *j, const struct report_job *job);
void report_json_all_series(struct json *j, const struct report_job *job);
/* "series" with those for which `shown` is true; NULL: all. */
void report_json_some_series(struct json *j, const struct report_job *job, const bool *shown);
/* The member "findings" and those that belong to it. */
void report_json_found(struct json *j, const struct findings *found);
void report_json_patterns(struct json *j, const struct view_pattern *patterns, unsigned count);

/* One judged series as an object under `key`; NULL in an array. */
void report_json_series(struct json *j, const char *key, const struct report_series *s);

#endif

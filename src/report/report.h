/* report/report.h: answers as text for people and JSON for programs. Does no I/O. */
#ifndef TIDEMARK_REPORT_H
#define TIDEMARK_REPORT_H

#include "verdict/verdict.h"
#include "view/view.h"
#include "words/words.h"

#include <stdbool.h>
#include <stddef.h>

struct account;
struct advice_facts;

/* The report of `analyze`: the answer in three lines, of a leak its chart, and the verdict once
 * more in the last line. With style->full for each series, or of many for those that need
 * attention, chart, phases, forecast, reasons. */
void report_text(struct buf *out, const struct report_job *job, const struct report_style *style);

/* How the judgement of a process's memory comes about: the report's own verdict, what the engine
 * saw, every part with its interval and fate, the rule and what it was held against. */
void report_why(struct buf *out, const char *series, const struct answer *answer,
                const struct account *a, const struct report_style *style);
void report_why_json(struct json *j, const char *series, const struct answer *answer,
                     const struct account *a);

/* Its first three lines alone: verdict, why, fix. */
void report_opening(struct buf *out, const struct report_job *job,
                    const struct report_style *style);

/* Its first sentence alone, with a line end and never broken: "LEAK (low): rss grows 5 MB/step". */
void report_headline(struct buf *out, const struct report_job *job,
                     const struct report_style *style);

/* The JSON answer of docs/JSON.md: laid out, ends with a line end. */
void report_json(struct buf *out, const struct report_job *job);

/* One line a series, sizes in MB, counts as they are: the contract of `analyze --batch`. */
void report_batch(struct buf *out, const struct series_info *info, const struct answer *a);

/* The same counter in two runs. */
struct report_pair {
    const struct report_series *a, *b;
};

/* Two runs: the jobs, the series that are compared, and the counts (tensors, ...) that both have.
 */
struct report_runs {
    const struct report_job *job_a, *job_b;
    struct report_series a, b;
    const struct comparison *comparison;
    const struct report_pair *counts;
    size_t count_pairs;
};

/* Whether both leak or neither does, in the same series and, where they are known, for the same
 * causes. A negligible leak is neither. */
bool report_jobs_leak_alike(const struct report_job *a, const struct report_job *b);

/* `compare`: verdict, why and fix of both jobs; what leaks, what differs; the verdicts once more.
 * With style->full also the two curves side by side. Or the first sentence alone. */
void report_comparison(struct buf *out, const struct report_runs *runs,
                       const struct report_style *style);
void report_comparison_headline(struct buf *out, const struct report_runs *runs,
                                const struct report_style *style);
void report_comparison_json(struct buf *out, const struct report_runs *runs);

/* ---- one job with several settings ---- */

/* Nothing is owned. */
struct report_tradeoff {
    const struct tradeoff *tradeoff;
    const struct tradeoff_row *rows; /* of each setting */
    const char *command;             /* for people, redacted */
    double steps_low, steps_high;    /* of a run, as far as it is looked at */
    const char *const *notes;        /* what else is to be known, a sentence each */
    size_t note_count;
};

/* `tradeoff`: what was found, then every measure with every setting. */
void report_tradeoff(struct buf *out, const struct report_tradeoff *r,
                     const struct report_style *style);
void report_tradeoff_json(struct buf *out, const struct report_tradeoff *r);

/* ---- a watched job ---- */

/*
 * `run`, `watch`, `show`: the answer in three lines, of a leak its chart and who holds it, and the
 * verdict once more in the last line. With style->full also what was watched, the balance sheet,
 * the series that need attention, and what else is to be known. Of a command that ended before
 * anything could be known, one sentence. `run_file`: where all of it is kept; NULL: nowhere;
 * "": nowhere, and there is no --full.
 */
void report_run_text(struct buf *out, const struct view *v, const char *run_file,
                     const struct report_style *style);
void report_run_headline(struct buf *out, const struct view *v, const struct report_style *style);
void report_run_json(struct buf *out, const struct view *v);

/* The paragraph for the moment at which a series turns to leak; ends with a line end. */
void report_alarm(struct buf *out, const struct view *v, size_t series,
                  const struct report_style *style);
/* The same for one that was announced, and is no leak after all. */
void report_withdrawal(struct buf *out, const struct view *v, size_t series,
                       const struct report_style *style);

/* Anything else that is announced, as a paragraph. */
void report_notice(struct buf *out, const char *sentence, const struct report_style *style);

/* "12 min | step 412/1000 | job 812 MB, floor 800 MB | ...": one line without a line end, cut to
 * the style's width; width 0: not cut. */
void report_status(struct buf *out, const struct view_status *s, double seconds,
                   const struct report_style *style);

/*
 * A view as a text from which it can be made again, byte for byte in every report: what a run file
 * keeps for `show`. -EINVAL: not such a text; *ret is empty then. Release it as any other view.
 */
void report_keep(struct buf *out, const struct view *v);
int report_recall(const char *text, size_t len, struct view *ret);

/* ---- what a process holds ---- */

/* Nothing is owned. */
struct report_objects {
    const struct wire_census *census;
    const struct attached_process *process;
};

/* `objects`: types by memory and count, tensors, what they are for. */
void report_objects_text(struct buf *out, const struct report_objects *o,
                         const struct report_style *style);
/* Of several processes; `found` has all that tidemark attached to or could not attach to. */
void report_objects_json(struct buf *out, const struct report_objects *list, size_t count,
                         const struct findings *found);

/* ---- advice ---- */

/* What `advise` tells; nothing is owned. */
struct report_advice {
    const char *command;   /* NULL: watched by pid */
    double seconds, steps; /* that were recorded; steps NAN: none */
    bool finished;         /* the run has its final answer */
    const char *ending;    /* of a command that failed: how it ended; NULL: it did not fail */
    const struct view *view;
    const struct advice_facts *evidence;
};

/* The verdict; where memory settles, the least and a good size with their reasons; what the
 * constant part is made of; settings for which there is a reason. */
void report_advice_text(struct buf *out, const struct report_advice *a,
                        const struct report_style *style);
void report_advice_json(struct buf *out, const struct report_advice *a);

/* The chart alone: floor and range of the history, `width` x `height` characters with axes. */
void report_chart(struct buf *out, const struct report_series *s, unsigned height,
                  const struct report_style *style);

#endif

/* report/report.h: answers as text for people and JSON for programs. Does no I/O. */
#ifndef TIDEMARK_REPORT_H
#define TIDEMARK_REPORT_H

#include "report/axis.h"
#include "report/curve.h"
#include "verdict/verdict.h"
#include "view/view.h"
#include "words/words.h"

#include <stdbool.h>
#include <stddef.h>

struct account;
struct advice_facts;
struct sites;

/* The report of `analyze`: the answer in three lines, for a leak its chart, and the verdict again
 * in the last line. With style->full also chart, phases, forecast and reasons of each series; of
 * many series, only of those that need attention. */
void report_text(struct buf *out, const struct report_job *job, const struct report_style *style);

/* How the verdict on a process's memory comes about: the report's verdict, the engine's findings,
 * every part with its interval and fate, the rule and its thresholds. */
void report_why(struct buf *out, const char *series, const struct answer *answer,
                const struct account *a, const struct report_style *style);
void report_why_json(struct json *j, const char *series, const struct answer *answer,
                     const struct account *a);

/* Only its first three lines: verdict, why, fix. */
void report_opening(struct buf *out, const struct report_job *job,
                    const struct report_style *style);

/* The same line by line, for those who lay them out themselves: cleaned, not coloured, no line
 * ends; an empty one: nothing to say. The caller releases them. */
struct report_lines {
    struct buf verdict, why, next;
    const char *next_label; /* "fix", "next", "ended" */
};
void report_lines(struct report_lines *ret, const struct report_job *job,
                  const struct report_style *style);
void report_lines_release(struct report_lines *lines);

/* Only its first sentence, on one unwrapped line with a line end: "LEAK (low): rss grows 5
 * MB/step". */
void report_headline(struct buf *out, const struct report_job *job,
                     const struct report_style *style);

/* The JSON answer of docs/JSON.md: indented, ends with a line end. */
void report_json(struct buf *out, const struct report_job *job);

/* One line per series, sizes in MB, counts unscaled: the contract of `analyze --batch`. */
void report_batch(struct buf *out, const struct series_info *info, const struct answer *a);

/* The same counter in two runs. */
struct report_pair {
    const struct report_series *a, *b;
};

/* Two runs: the jobs, the compared series, and the counts (tensors, ...) that both have. */
struct report_runs {
    const struct report_job *job_a, *job_b;
    struct report_series a, b;
    const struct comparison *comparison;
    const struct report_pair *counts;
    size_t count_pairs;
};

/* Whether both leak or neither does. Leaks must be in the same series and, where causes are known
 * for both, have the same causes. A negligible leak is a class of its own. */
bool report_jobs_leak_alike(const struct report_job *a, const struct report_job *b);

/* `compare`: verdict, why and fix of both jobs; what leaks, what differs; the verdicts again. With
 * style->full also both curves side by side. The headline is only the first sentence. */
void report_comparison(struct buf *out, const struct report_runs *runs,
                       const struct report_style *style);
void report_comparison_headline(struct buf *out, const struct report_runs *runs,
                                const struct report_style *style);
void report_comparison_json(struct buf *out, const struct report_runs *runs);

/* ---- one job with several settings ---- */

/* Nothing is owned. */
struct report_tradeoff {
    const struct tradeoff *tradeoff;
    const struct tradeoff_row *rows; /* one for each setting */
    const char *command;             /* for people, redacted */
    double steps_low, steps_high;    /* steps of a run that were measured */
    const char *const *notes;        /* further notes, one sentence each */
    size_t note_count;
};

/* `tradeoff`: the findings, then every measure for every setting. */
void report_tradeoff(struct buf *out, const struct report_tradeoff *r,
                     const struct report_style *style);
void report_tradeoff_json(struct buf *out, const struct report_tradeoff *r);

/* ---- a watched job ---- */

/*
 * `run`, `watch`, `show`: the answer in three lines, for a leak its chart and holders, and the
 * verdict again in the last line. With style->full also the job, the balance sheet, the series that
 * need attention, and notes. A command that ended before anything was known gets one sentence.
 * `run_file`: where the run is stored; NULL: not stored; "": not stored, and --full is not
 * available.
 */
void report_run_text(struct buf *out, const struct view *v, const char *run_file,
                     const struct report_style *style);
void report_run_headline(struct buf *out, const struct view *v, const struct report_style *style);
void report_run_json(struct buf *out, const struct view *v);
/* The same with only those of its series for which `shown` is true. */
void report_run_json_of(struct buf *out, const struct view *v, const bool *shown);

/* The run itself, a fact a line, for those who lay them out themselves: the command, how long it
 * was watched, how it ended, its limit, notes, what tidemark cost. Cleaned. The caller releases
 * them. */
#define REPORT_FACTS (VIEW_NOTES + 5u)
struct report_facts {
    struct report_fact {
        const char *label; /* "command", "watched", "ended", "limit", "note", "tidemark" */
        struct buf text;
    } list[REPORT_FACTS];
    size_t count;
};
void report_run_facts(struct report_facts *ret, const struct view *v);
void report_facts_release(struct report_facts *facts);

/*
 * The report as GitHub shows Markdown, for a pull request or an issue: verdict, why, fix; what
 * grows, its holders, the ledger of the deciding series; the run. `account`: of that series; NULL:
 * it has none. Texts from the run are escaped: they make no links, mentions or markup.
 */
void report_run_markdown(struct buf *out, const struct view *v, const struct account *account,
                         const char *run_file);

/* The opening of report_run_text(). */
void report_run_lines(struct report_lines *ret, const struct view *v,
                      const struct report_style *style);

/* A paragraph for each growth and its holder, with its evidence; then what is not known and why,
 * and the processes that tidemark attached to or could not. Nothing where nothing is known. */
void report_findings(struct buf *out, const struct findings *f, const struct report_style *style);

/* The paragraph announced when a series turns to leak; ends with a line end. */
void report_alarm(struct buf *out, const struct view *v, size_t series,
                  const struct report_style *style);
/* The same when an announced series is not a leak after all. */
void report_withdrawal(struct buf *out, const struct view *v, size_t series,
                       const struct report_style *style);

/* A paragraph for anything else that is announced. */
void report_notice(struct buf *out, const char *sentence, const struct report_style *style);

/* "12 min | step 412/1000 | job 812 MB, floor 800 MB | ...": one line without a line end, cut to
 * the style's width; width 0: not cut. */
void report_status(struct buf *out, const struct view_status *s, double seconds,
                   const struct report_style *style);

/*
 * Writes a view as a text that restores it byte for byte in every report: run files keep it for
 * `show`. -EINVAL: not such a text; *ret is empty then. Release the restored view like any other.
 */
void report_keep(struct buf *out, const struct view *v);
int report_recall(const char *text, size_t len, struct view *ret);

/* ---- what a process holds ---- */

/* Nothing is owned. */
struct report_objects {
    const struct wire_census *census;
    const struct attached_process *process;
};

/* `objects`: types by memory and count, tensors, purposes. */
void report_objects_text(struct buf *out, const struct report_objects *o,
                         const struct report_style *style);
/* The same for several processes; `found` has all that tidemark attached to or could not attach
 * to. */
void report_objects_json(struct buf *out, const struct report_objects *list, size_t count,
                         const struct findings *found);

/* ---- where memory was allocated ---- */

/* The sites of one process. Nothing is owned. */
struct report_sites {
    const char *process; /* "trainer 31025" */
    int64_t pid;
    const struct sites *sites;
    double growth; /* of its anonymous memory in the span, as measured from outside; NAN */
};

enum report_value {
    REPORT_GROWTH,    /* bytes that a site gained in the span; those that lost some are left out */
    REPORT_LIVE,      /* bytes that it keeps at the end of the span */
    REPORT_ALLOCATED, /* bytes that it allocated in the span, kept or not */
    REPORT_VALUES,
};

const char *report_value_name(enum report_value value); /* "growth", "live", "allocated" */

/* What is shown of the sites of a run. Nothing is owned. */
struct report_stacks {
    const char *command; /* for people, redacted; NULL: watched by pid */
    double started;      /* wall clock at second 0; NAN: not known */
    const struct report_sites *list;
    size_t count;
    enum report_value value;
    double from, to; /* seconds of the run; NAN: the first and the last look at each process */
    double second_step, last_step; /* when they were reported; NAN: no steps */
    const char *span;              /* the same in words: "steps 100 to 940"; NULL: not known */
    unsigned kinds;                /* of memory: a bit for each enum site_kind; 0: all */
};

/* Seconds of the run: the ends of the span of a process. */
void report_stacks_span(const struct report_stacks *r, size_t process, double *ret_from,
                        double *ret_to);
/* The same of all processes together. */
double report_stacks_from(const struct report_stacks *r);
double report_stacks_to(const struct report_stacks *r);

/*
 * All of them show sampled bytes, scaled up. A stack loses allocators, the C library and the
 * interpreter's machinery, unless it consists of nothing else; JSON has it whole. Each returns 0,
 * or -ENODATA if there is nothing to show.
 */

/* One self-contained SVG of at most FLAME_MOST_BYTES: the outermost call on top, as in a Python
 * traceback, and the widest first. */
#define FLAME_MOST_BYTES ((size_t) 1 << 20)
int report_flame(struct buf *out, const struct report_stacks *r);
/* Brendan Gregg's format: "outermost;...;innermost BYTES", a line a stack. */
int report_collapsed(struct buf *out, const struct report_stacks *r);
/* The file format of speedscope: one sampled profile a process. */
int report_speedscope(struct buf *out, const struct report_stacks *r);
/* pprof's profile.proto in gzip's format: objects and bytes, allocated and in use, and growth;
 * r->value selects nothing. */
int report_pprof(struct buf *out, const struct report_stacks *r);
/* docs/JSON.md: every listed site of the wanted kinds, with its points. */
int report_sites_json(struct buf *out, const struct report_stacks *r);

/* Escapes a clean text for elements and attributes of XML. */
void report_escape(struct buf *out, const char *text);

/* ---- advice ---- */

/* What `advise` reports. Nothing is owned. */
struct report_advice {
    const char *command;   /* NULL: watched by pid */
    double seconds, steps; /* recorded; steps NAN: none */
    bool finished;         /* the run has its final answer */
    const char *ending;    /* how a failed command ended; NULL: it did not fail */
    const struct view *view;
    const struct advice_facts *evidence;
};

/* The verdict; where memory settles, the minimum and recommended size with their reasons; what the
 * constant part consists of; settings that the run gives a reason to change. */
void report_advice_text(struct buf *out, const struct report_advice *a,
                        const struct report_style *style);
void report_advice_json(struct buf *out, const struct report_advice *a);

/* Only the chart: floor and range of the history with axes, `height` rows in the style's width. */
void report_chart(struct buf *out, const struct report_series *s, unsigned height,
                  const struct report_style *style);

#endif

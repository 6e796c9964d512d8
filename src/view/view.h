/* view/view.h: everything known about a job at one moment, as plain data. */
#ifndef TIDEMARK_VIEW_VIEW_H
#define TIDEMARK_VIEW_VIEW_H

#include "advice/advice.h"
#include "base/base.h"
#include "proc/proc.h"
#include "verdict/verdict.h"
#include "wire/wire.h"
#include "words/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job;
struct member;
struct track;

/* One judged series. Texts and history belong to the view. */
struct view_series {
    size_t id; /* equal in all views of one tick */
    struct series_info info;
    struct answer answer;
    struct history history;
    enum job_part part;
    struct series_group group; /* the processes that grow alike */
};

/* One row of the balance sheet: a process, or all processes of one role. Bytes; NAN: not known. */
struct view_row {
    char *label; /* "trainer 4242", "3 data workers" */
    enum proc_role role;
    int64_t pid; /* 0: several */
    unsigned processes;
    double pss_first, pss;          /* PSS: shared pages split, so that rows add up */
    double anon, file, shmem, swap; /* the parts of pss */
    double rss;                     /* for display: shared pages count for each process */
    double gpu;
    bool grows; /* at least one of its series leaks or is suspect */
};

/* A series in a phase. Counts the stays that were measured: some may be too short for that. */
struct view_activity_series {
    size_t series; /* of the view */
    double height; /* maximum above the floor around a stay, in bytes */
    double kept;   /* average increase from before a stay to after it */
    uint64_t looked_at, given_back;
};

/* What the program reported doing besides its steps: "evaluate". */
struct view_activity {
    char *name;
    uint64_t times, ended; /* begun, and ended */
    double seconds;        /* total of those that ended */
    struct view_activity_series *series;
    size_t count;
};

#define VIEW_NOTES 12
#define VIEW_PATTERNS 8

/* The behaviour of memory in a job that is not known to leak. */
struct view_pattern {
    enum pattern pattern;
    char *text; /* which memory, and how far it went, with the pattern's name */
};

/* Everything a report needs. The view owns all of it. */
struct view {
    struct view_series *series;
    size_t count;
    struct job_answer answer;

    char *command, *arguments;           /* for people; as a JSON array of strings */
    double started;                      /* wall clock */
    double seconds, steps, step, epochs; /* time watched; steps made in it; the current step */
    char *steps_from; /* "output", "optimizer", "framework", "watcher"; NULL: no steps */
    unsigned processes, most_processes;
    uint64_t processes_seen;
    double limit;
    char *limit_source;

    struct view_activity *phases; /* in the order they were first reported */
    size_t phase_count;
    struct findings found;

    struct view_row *rows;
    size_t row_count;
    struct view_row total;
    double system_first, system_last, system_total; /* RAM in use */
    double shm_first, shm_last;                     /* in /dev/shm */

    double watcher_cpu_seconds, watcher_bytes, stall_seconds;

    bool ended;              /* the command's end is known */
    int status;              /* as waitpid() gives it */
    char *ending;            /* how it ended, in a sentence; NULL: nothing to say */
    char *unread;            /* why processes could not be read; NULL: all were */
    char *notes[VIEW_NOTES]; /* what else the user should know, one sentence each */
    unsigned note_count;
    unsigned warning_count; /* number of first notes that the short report shows too */
    struct view_pattern patterns[VIEW_PATTERNS]; /* largest movement first */
    unsigned pattern_count;
};

/* Describes every member, for JSON and for run files. */
extern const struct field_table view_fields, view_pattern_fields, findings_fields, finding_fields,
    census_view_fields, attached_process_fields;

void view_release(struct view *v);

/* The data of the status line, cheap enough to make every second. NAN: not known. */
struct view_status {
    double total, floor; /* of the whole job, in bytes */
    double step, step_total;
    size_t processes;
    enum verdict verdict;
    enum severity severity;
    bool suspect;
    struct series_info series; /* the deciding one; its texts are valid until the next call */
    double rate;               /* of that series, per unit of its clock */
    double needs;              /* until it can be judged, in units of its clock */
    double limit, limit_seconds;
};

/* ---- the processes of a running job ---- */

#define VIEW_LABEL 64

/* One living process. Bytes; NAN: not known. */
struct view_process {
    int64_t pid, parent;    /* parent 0: none that is in the list */
    char label[VIEW_LABEL]; /* "data worker 4242" */
    char *command;          /* redacted; NULL: not known */
    struct view_row memory; /* of it alone, as in the balance sheet; its label is NULL */
    double whole;           /* the same memory, with that of its descendants */
    size_t descendants;
    bool moves; /* at least one of its series is not flat */
};

/* In the order in which they joined; cheap enough to make every second. Owns its texts. */
struct view_tree {
    struct view_process *list;
    size_t count;
};

void view_tree_release(struct view_tree *t);

/* The verdict on one process by its own series; `deciding` is the index of a series of the view,
 * SIZE_MAX where the view shows none of that process. */
void view_judge_process(const struct view *v, int64_t pid, struct job_answer *ret);

/* ---- made of a job ---- */

/* A track and its owner; member NULL: the job itself. */
struct subject {
    struct track *track;
    const struct member *member;
    size_t id;
};

/* Texts are copied; view_release_info() frees them. */
void view_fill_info(const struct job *j, const struct subject *s, struct series_info *ret);
void view_release_info(struct series_info *info);

/* Adds every series that is worth showing, and the job's answer. */
void view_judge(struct job *j, struct view *v);

/* Finds growth and its holders, once the view has its series and its answer. */
void view_findings(struct job *j, struct view *v);
/* Adds them as news, once, where the leak was announced before they were known. */
void view_review_findings(struct job *j);

/* Finds patterns that look like a leak, once the view has its series and its answer. */
void view_patterns(struct job *j, struct view *v);

/* The caller frees the texts of its series: view_release_info(). `step`: the current step. */
void view_fill_status(struct job *j, double step, struct view_status *ret);

/* The caller releases it: view_tree_release(). */
void view_fill_tree(const struct job *j, struct view_tree *ret);

/* Whether a whole device is in use, where the driver does not name the processes. */
bool view_device_is_used(const struct job *j, const struct track *t);

/* ---- the balance sheet ---- */

/* The sheet of the last time the job was whole. All 0 at first. */
struct sheet {
    double seconds;
    double system, shm; /* in use at that moment */
    struct view_row *rows;
    size_t count;
    struct view_row total;
    unsigned unread;  /* processes whose shares have not been read yet */
    unsigned late;    /* ... whose shares are due again and late */
    double late_most; /* most seconds since they were last read */
};

/* `late_seconds`: shares that are due and were read longer ago than that are late. */
void sheet_take(struct sheet *s, const struct job *j, double seconds, double shm,
                double late_seconds);
void sheet_release(struct sheet *s);
void sheet_view(const struct sheet *s, struct view *v);

/* ---- data workers ---- */

#define WORKER_LABEL 64

/* The facts on the data workers of one process, forked or spawned. */
struct worker_copies {
    struct copy_facts facts;
    struct copies judged;
    char parent[WORKER_LABEL], type[16], owner[WIRE_NAME_LENGTH], attribute[WIRE_NAME_LENGTH];
};

/* Adds news of what workers copy, once for each process that has workers. */
void workers_review(struct job *j);
/* Finds the workers that copied most. Returns the number of processes with something to report;
 * *ret is set unless that is 0. */
unsigned workers_find_most(struct job *j, struct worker_copies *ret);
/* The same in words, for the report. False: nothing to report. */
bool workers_describe(struct job *j, struct buf *out);

#endif

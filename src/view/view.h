/* view/view.h: all that is known of a job at one moment, as plain data. */
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
    size_t id; /* the same in views of the same tick */
    struct series_info info;
    struct answer answer;
    struct history history;
    enum job_part part;
    struct series_group group; /* of processes that grow alike */
};

/* A line of the balance sheet: a process, or all of one role. Bytes; NAN: not known. */
struct view_row {
    char *label; /* "trainer 4242", "3 data workers" */
    enum proc_role role;
    int64_t pid; /* 0: several */
    unsigned processes;
    double pss_first, pss;          /* its share of what it shares, so that rows add up */
    double anon, file, shmem, swap; /* of the same sum */
    double rss;                     /* for the eye: shared pages counted for each */
    double gpu;
    bool grows; /* a series of it leaks or is suspect */
};

/* A series in a phase, by its stays that were looked at: some may be too short for that. */
struct view_activity_series {
    size_t series; /* of the view */
    double height; /* most above the floor around a stay, in bytes */
    double kept;   /* what there was more after it than before, on average */
    uint64_t looked_at, given_back;
};

/* What the program said it did beside its steps: "evaluate". */
struct view_activity {
    char *name;
    uint64_t times, ended; /* entered, and left again */
    double seconds;        /* of those that ended, in all */
    struct view_activity_series *series;
    size_t count;
};

#define VIEW_NOTES 12
#define VIEW_PATTERNS 8

/* What memory does in a job that is not known to leak. */
struct view_pattern {
    enum pattern pattern;
    char *text; /* which memory, and how far it went, with the name of the pattern */
};

/* Everything a report needs; it owns all of it. */
struct view {
    struct view_series *series;
    size_t count;
    struct job_answer answer;

    char *command, *arguments;           /* for people; as a JSON array of texts */
    double started;                      /* wall clock */
    double seconds, steps, step, epochs; /* watched; steps made meanwhile; where it stands */
    char *steps_from; /* "output", "optimizer", "framework", "watcher"; NULL: there are none */
    unsigned processes, most_processes;
    uint64_t processes_seen;
    double limit;
    char *limit_source;

    struct view_activity *phases; /* in the order they were first told */
    size_t phase_count;
    struct findings found;

    struct view_row *rows;
    size_t row_count;
    struct view_row total;
    double system_first, system_last, system_total; /* RAM in use */
    double shm_first, shm_last;                     /* in /dev/shm */
    double unexplained; /* growth of the system that neither the job nor /dev/shm explains */

    double watcher_cpu_seconds, watcher_bytes, stall_seconds;

    bool ended;              /* the command's end is known */
    int status;              /* as waitpid() gives it */
    char *ending;            /* what is known about its end, in a sentence; NULL: nothing to say */
    char *unread;            /* why processes could not be read; NULL: all were */
    char *notes[VIEW_NOTES]; /* what else the user should know, a sentence each */
    unsigned note_count;
    unsigned warning_count; /* so many of them, the first, are in the short report, too */
    struct view_pattern patterns[VIEW_PATTERNS]; /* the one that moved most first */
    unsigned pattern_count;
};

/* Every member: what is shown of them as JSON, and kept in a run file. */
extern const struct field_table view_fields, view_pattern_fields;

void view_release(struct view *v);

/* One line's worth, cheap enough for every second. NAN: not known. */
struct view_status {
    double total, floor; /* bytes, of the whole job */
    double step, step_total;
    size_t processes;
    enum verdict verdict;
    enum severity severity;
    bool suspect;
    struct series_info series; /* the one that decides; texts are valid until the next call */
    double rate;               /* of it, per unit of its clock */
    double needs;              /* until it can be judged, in units of its clock */
    double limit, limit_seconds;
};

/* ---- made of a job ---- */

/* A track and whose it is; member NULL: the job's own. */
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

/* What grows and who holds it, once the view has its series and its answer. */
void view_findings(struct job *j, struct view *v);
/* News of it, once, where the leak was announced before it was known. */
void view_review_findings(struct job *j);

/* The look-alikes of a leak that there are, once the view has its series and its answer. */
void view_patterns(struct job *j, struct view *v);

/* The texts of its series are the caller's: view_release_info(). `step`: where the program stands.
 */
void view_fill_status(struct job *j, double step, struct view_status *ret);

/* A whole device is in use, by whom the driver does not say. */
bool view_device_is_used(const struct job *j, const struct track *t);

/* ---- the balance sheet ---- */

/* As it was when the job was last whole. All 0 at first. */
struct sheet {
    double seconds;
    double system, shm; /* used at that moment */
    struct view_row *rows;
    size_t count;
    struct view_row total;
    unsigned unread;  /* processes whose shares wait for their turn */
    unsigned late;    /* ... for their turn to be read again */
    double late_most; /* so many seconds after they were read last */
};

/* `late_seconds`: shares that are due and were read longer ago are late. */
void sheet_take(struct sheet *s, const struct job *j, double seconds, double shm,
                double late_seconds);
void sheet_release(struct sheet *s);
void sheet_view(const struct sheet *s, struct view *v);

/* ---- data workers ---- */

#define WORKER_LABEL 64

/* The facts on the data workers of one process, forked or spawned ones. */
struct worker_copies {
    struct copy_facts facts;
    struct copies judged;
    char parent[WORKER_LABEL], type[16], owner[WIRE_NAME_LENGTH], attribute[WIRE_NAME_LENGTH];
};

/* News of what is copied, once for each process that has workers. */
void workers_review(struct job *j);
/* Of all that is worth telling the workers that copied most. Returns of how many processes there is
 * something to tell; *ret is set where that is not 0. */
unsigned workers_find_most(struct job *j, struct worker_copies *ret);
/* The same in words, for the report. False: nothing to tell. */
bool workers_describe(struct job *j, struct buf *out);

#endif

/*
 * words/notes.h: what a report says beside its series, a sentence each: what could not be read,
 * what the job left behind, who else grows. Facts in, one sentence out; nothing where there is
 * nothing to say.
 */
#ifndef TIDEMARK_WORDS_NOTES_H
#define TIDEMARK_WORDS_NOTES_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* Another process grows while the job does not. Bytes. */
struct elsewhere_facts {
    int pid; /* 0: nobody */
    char command[32];
    double grew, system, job; /* since the first survey: that process, all RAM in use, the job */
};

void note_elsewhere(struct buf *out, const struct elsewhere_facts *f);

/* Files in /dev/shm that no process maps or has open. Bytes; NAN: not worth a sentence. */
struct shm_notes {
    double left; /* in files of the job ... */
    size_t left_count;
    const char *left_first; /* ... the name of one of them */
    double unknown;         /* in files that the job or another may have written */
};

void note_shm(struct buf *out, const struct shm_notes *f);

/* `why`: "too many open files". */
void note_unread(struct buf *out, const char *why);

enum no_clock {
    NO_CLOCK_ONE_MOMENT, /* all steps were reported at once */
    NO_CLOCK_INSIDE,     /* a program that watches itself reported none */
    NO_CLOCK_OUTPUT,     /* the output of the command has none */
};

void note_no_clock(struct buf *out, enum no_clock why);

/* A process whose reports cannot be read, by its label; NULL: "It". */
void note_foreign_probe(struct buf *out, const char *process);

void note_no_gpu(struct buf *out, const char *why);
void note_gpu_without_pids(struct buf *out);

/* Proportional shares (PSS) of so many processes: */
void note_shares_forbidden(struct buf *out, unsigned processes);
void note_shares_unread(struct buf *out, unsigned unread, unsigned processes);
void note_shares_late(struct buf *out, unsigned late, unsigned processes, double seconds);

/* One action of TIDEMARK_CLEANUP: adds to a sentence that note_cleanup_begin() began. */
void note_cleanup_begin(struct buf *out);
void note_cleanup_action(struct buf *out, bool first, const char *action, double freed_bytes,
                         double seconds);
void note_cleanup_refused(struct buf *out);
/* --trace was given, and no process was traced. */
void note_not_traced(struct buf *out);

void note_store_incomplete(struct buf *out, const char *why);
void note_still_running(struct buf *out, size_t processes);

/* The three that are announced at once. */
void note_near_limit(struct buf *out, double used, double limit, const char *source);
void note_store_failed(struct buf *out, const char *why);
void note_store_works_again(struct buf *out);

#endif

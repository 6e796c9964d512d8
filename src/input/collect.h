/* input/collect.h: what all readers share: the series found so far, and the summary. */
#ifndef TIDEMARK_INPUT_COLLECT_H
#define TIDEMARK_INPUT_COLLECT_H

#include "input/input.h"

/* More open series than this are ignored. */
#define COLLECT_MAX_TRACKS 4096

/* One series being delivered. The collector owns it; collect_end() ends it. */
struct track {
    struct track *next; /* in its bucket */
    char *key;          /* unique among the series of its source */
    int series;         /* the sink's number */
    enum series_clock clock;
    uint64_t samples;
    double first, last; /* positions on the clock, since the last restart */
    double stride;      /* the longest advance so far */
    double offset;      /* added to steps that restart with every epoch */
    double epoch;       /* the last epoch number; NAN: none yet */
    unsigned backwards; /* consecutive restarts, each after a single sample */
    uint64_t section;   /* for the reader's own use */
    double unit;        /* likewise: the unit of plain numbers */
};

/*
 * Passes samples to the sink and keeps the summary. One owner, one thread. Functions that can fail
 * return the sink's negative return, which every reader returns at once.
 */
struct collector {
    const struct input_sink *sink;
    const struct input_options *options;
    struct input_summary *summary;
    struct track *buckets[1024];
    size_t tracks;
    uint64_t opened; /* in all */
};

/* A moment on both clocks; NAN: not given. */
struct position {
    double step, seconds;
    double epoch; /* number of the step's epoch */
    double total; /* steps of that epoch, as in "12/100" */
};

#define POSITION_NONE                                                                              \
    (struct position)                                                                              \
    {                                                                                              \
        NAN, NAN, NAN, NAN                                                                         \
    }

struct track *collect_find(const struct collector *c, const char *key);

/* Opens a series; -E2BIG: too many of them are open. The key is copied. */
int collect_open(struct collector *c, const char *key, const struct series_info *info,
                 const struct input_hints *hints, struct track **ret);

/* True if `at` is so far back that the program must have restarted. */
bool track_fell_back(const struct track *t, double at);

/*
 * Passes one sample on, unless it is not finite. If the clock falls back to the start, the series
 * restarts; if the epoch advanced at the same time, the steps of the epochs are added up. -EINVAL:
 * the clock falls from row to row (the error is set).
 */
int collect_sample(struct collector *c, struct track *t, struct position at, double value);

int collect_restart(struct collector *c, struct track *t);
int collect_epoch(struct collector *c, struct track *t, double at);
int collect_end(struct collector *c, struct track *t); /* frees `t` */
int collect_end_all(struct collector *c);

/* Calls `visit` for every open track. Stops at the first negative return and returns it. */
int collect_each(struct collector *c,
                 int (*visit)(struct collector *c, struct track *t, void *context), void *context);

/* Frees the tracks without calling the sink. */
void collect_release(struct collector *c);

/* Counts an unreadable line that looked like data; keeps the first one with its reason. */
void collect_skip(struct collector *c, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Skips a line that is not text or is too long. False: it is neither. */
bool collect_skip_damaged(struct collector *c, const struct line *line);

/* Adds a guess to show to the user, if there is room. */
void collect_guess(struct collector *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the error and returns -EINVAL. `line` 0: no line. */
int collect_error(struct collector *c, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

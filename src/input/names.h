/* input/names.h: the meaning of a column, a field or a label, from its name. Pure. */
#ifndef TIDEMARK_INPUT_NAMES_H
#define TIDEMARK_INPUT_NAMES_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

enum name_role {
    NAME_OTHER,  /* no known meaning */
    NAME_NOISE,  /* a number, but not an amount of memory: a loss, a percentage, a rate, a delta */
    NAME_STEP,   /* the training step */
    NAME_TIME,   /* a time */
    NAME_EPOCH,  /* the number of the epoch */
    NAME_PID,    /* the process of the row's values */
    NAME_DEVICE, /* the device */
    NAME_OWNER,  /* an owner: a process, a rank, a host, a series */
    NAME_METRIC, /* the counter of the row's value */
    NAME_MEMORY, /* a size */
    NAME_COUNT,  /* a number of things */
};

struct name_meaning {
    enum name_role role;
    const char *kind;    /* of a series, as in base/series.h; "memory" if unspecified */
    double unit;         /* bytes per plain number; NAN if the name has no unit */
    double time_unit;    /* seconds per plain number of a NAME_TIME */
    char device[16];     /* "cuda:0"; empty if the name has no device */
    bool is_generic;     /* "value", "used": another column says of what */
    bool is_cpu, is_gpu; /* names a side of the machine */
};

/* Words end at case changes, at digits, and at anything else: "gpu0_rssMB". */
struct name_meaning name_read(const char *name, size_t len);

/* The latest names and their meanings: a log repeats the same names in every line. Zero is empty.
 * */
struct name_memo {
    struct {
        char name[40];
        size_t len;
        struct name_meaning meaning;
    } entries[32];
};

/* The same as name_read(), faster for names met before. */
struct name_meaning name_recall(struct name_memo *memo, const char *name, size_t len);

/* True if the comma-separated `list` has `name` (in any case) or its number, counted from 1. */
bool name_listed(const char *list, const char *name, size_t len, size_t number);

/*
 * The unit that an option or a word names: a size factor, or 1 with *ret_unit SERIES_COUNT for
 * "count". 0: unknown.
 */
double name_unit(const char *text, enum series_unit *ret_unit);

/*
 * The assumed unit of plain numbers that have none, judged by the first one: MB, or bytes if MB
 * would mean more than a terabyte. *ret_word names it.
 */
double name_assume_unit(double first, const char **ret_word);

#endif

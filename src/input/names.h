/* input/names.h: what a column, a field or a label means, judged by its name. Pure. */
#ifndef TIDEMARK_INPUT_NAMES_H
#define TIDEMARK_INPUT_NAMES_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

enum name_role {
    NAME_OTHER,  /* says nothing */
    NAME_NOISE,  /* a number, but no level of memory: a loss, a percentage, a rate, a delta */
    NAME_STEP,   /* the training step */
    NAME_TIME,   /* a moment */
    NAME_EPOCH,  /* the number of the epoch */
    NAME_PID,    /* whose values the row holds */
    NAME_DEVICE, /* on which device */
    NAME_OWNER,  /* whose: a process, a rank, a host, a series */
    NAME_METRIC, /* which counter the row's value is of */
    NAME_MEMORY, /* a size */
    NAME_COUNT,  /* a number of things */
};

struct name_meaning {
    enum name_role role;
    const char *kind;    /* of a series, as in base/series.h; "memory" where it is not told */
    double unit;         /* bytes per plain number; NAN where the name does not tell */
    double time_unit;    /* seconds per plain number of a NAME_TIME */
    char device[16];     /* "cuda:0"; empty where the name does not tell */
    bool is_generic;     /* "value", "used": a value, of what the row says elsewhere */
    bool is_cpu, is_gpu; /* names a side of the machine */
};

/* Words are parted at case changes, digits and anything that is neither: "gpu0_rssMB". */
struct name_meaning name_read(const char *name, size_t len);

/* The latest names and what they mean: a log says the same ones in every line. Zero is empty. */
struct name_memo {
    struct {
        char name[40];
        size_t len;
        struct name_meaning meaning;
    } entries[32];
};

/* The same as name_read(), faster for names met before. */
struct name_meaning name_recall(struct name_memo *memo, const char *name, size_t len);

/* True if the comma separated `list` names `name` (in any case) or its number, counted from 1. */
bool name_listed(const char *list, const char *name, size_t len, size_t number);

/*
 * The unit an option or a word names: a size factor, or 1 with *ret_unit SERIES_COUNT for "count".
 * 0: not known.
 */
double name_unit(const char *text, enum series_unit *ret_unit);

/*
 * What plain numbers are taken for where nothing tells, judged by the first of them: MB, or bytes
 * where that would be more than a terabyte. *ret_word says which.
 */
double name_assume_unit(double first, const char **ret_word);

#endif

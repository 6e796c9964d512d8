/* input/text_line.h: one line of a training log: where it stands and what it measures. Pure. */
#ifndef TIDEMARK_INPUT_TEXT_LINE_H
#define TIDEMARK_INPUT_TEXT_LINE_H

#include "base/base.h"
#include "input/input.h"
#include "input/names.h"
#include "input/when.h"

#define TEXT_MAX_VALUES 12

/* A level that the line tells. Deltas, rates, ranges and estimates are none. */
struct text_value {
    const char *label; /* in the line, not NUL-terminated; len 0: none */
    size_t label_len;
    struct name_meaning meaning;
    const char *device;  /* "cpu", "cuda"; NULL: not told */
    const char *counted; /* "tensors", where the word stands behind the number */
    double value, resolution;
    enum series_unit unit;
    bool is_plain; /* nothing told the unit: `value` is the number as it stands */
};

struct text_line {
    double step;     /* NAN: not told */
    double step_end; /* of "Steps 10-80"; NAN otherwise */
    double total;    /* of "12/100"; NAN otherwise */
    double epoch;    /* NAN: not told */
    bool has_moment;
    struct when moment;
    int64_t pid;
    bool is_trainwatch;  /* one of its step lines: VRAM is torch's allocated memory */
    const char *trouble; /* the line is meant to be data but cannot be read */
    struct text_value values[TEXT_MAX_VALUES];
    size_t count;
};

/*
 * Reads a line; texts in *ret point into it. Prose gives no values: the clock has to stand where
 * logs have it, and a value behind a name that means memory or right behind the clock.
 */
void text_line_parse(const char *text, size_t len, const struct input_options *options,
                     struct name_memo *memo, struct text_line *ret);

/* Letters of any case; NULL where `text` does not begin with the whole word, else behind it. */
const char *text_skip_word(const char *text, const char *word);

/* Behind blanks, quote marks, list marks and emphasis. */
const char *text_skip_decoration(const char *text);

#endif

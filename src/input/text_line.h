/* input/text_line.h: one line of a training log: its position and its values. Pure. */
#ifndef TIDEMARK_INPUT_TEXT_LINE_H
#define TIDEMARK_INPUT_TEXT_LINE_H

#include "base/base.h"
#include "input/input.h"
#include "input/names.h"
#include "input/when.h"

#define TEXT_MAX_VALUES 12

/* A level in the line. Deltas, rates, ranges and estimates are not levels. */
struct text_value {
    const char *label; /* in the line, not NUL-terminated; len 0: none */
    size_t label_len;
    struct name_meaning meaning;
    const char *device;  /* "cpu", "cuda"; NULL: none */
    const char *counted; /* "tensors", if that word follows the number */
    double value, resolution;
    enum series_unit unit;
    bool is_plain; /* no unit: `value` is the number as printed */
};

struct text_line {
    double step;     /* NAN: none */
    double step_end; /* of "Steps 10-80"; NAN otherwise */
    double total;    /* of "12/100"; NAN otherwise */
    double epoch;    /* NAN: none */
    bool has_moment;
    struct when moment;
    int64_t pid;
    bool is_trainwatch;  /* a TrainWatch step line: VRAM is torch's allocated memory */
    const char *trouble; /* why a line that should be data cannot be read */
    struct text_value values[TEXT_MAX_VALUES];
    size_t count;
};

/*
 * Reads a line; texts in *ret point into it. Prose gives no values: the clock must be where logs
 * put it, and a value must follow a name that means memory, or the clock itself.
 */
void text_line_parse(const char *text, size_t len, const struct input_options *options,
                     struct name_memo *memo, struct text_line *ret);

/* Skips a word, ignoring case; NULL if `text` does not begin with the whole word, else its end. */
const char *text_skip_word(const char *text, const char *word);

/* Skips blanks, quote marks, list marks and emphasis. */
const char *text_skip_decoration(const char *text);

#endif

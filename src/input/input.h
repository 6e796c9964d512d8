/* input/input.h: the logs and tables people already have, as series. */
#ifndef TIDEMARK_INPUT_H
#define TIDEMARK_INPUT_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a source says of a series beside its samples. 0: nothing said. */
struct input_hints {
    double epoch_length; /* in units of the series' clock */
    double horizon;
    double limit; /* in the series' unit */
};

/*
 * Where samples go. Calls come in the order of the file. `series` is called once before a series'
 * first sample; its texts are valid during the call only; the returned number (>= 0) names the
 * series from then on. A negative return of any call stops the reading and is handed on.
 */
struct input_sink {
    void *context;
    int (*series)(void *context, const struct series_info *info, const struct input_hints *hints);
    /* `step` or `seconds` is NAN where the source does not tell it; `value` in the series' unit. */
    int (*sample)(void *context, int series, double step, double seconds, double value);
    int (*epoch)(void *context, int series, double at); /* an epoch ended at `at` on the clock */
    int (*restart)(void *context, int series);          /* the same program began anew */
    int (*end)(void *context, int series);              /* nothing more of this series will come */
};

/*
 * What the user said about the source; NULL and 0: find out. The texts must outlive the input.
 * A unit that is not known makes input_read() say so.
 */
struct input_options {
    const char *clock_column;  /* name or 1-based number of the column with the step or the time */
    const char *value_columns; /* comma separated names or numbers; others are passed over */
    const char *unit;          /* of plain numbers: "MB", "GiB", "bytes", "count" */
    int clock;                 /* 0: find out; 1: steps; 2: seconds */
    bool batch;                /* only JSON lines with one whole series each (docs/JSON.md) */
    bool follow;               /* at the end of the stream wait for more (input_read returns 0) */
};

/* What was found, for one line to the user, and what was passed over. */
struct input_summary {
    char format[64];   /* "CSV with a header", "training log", ... */
    char guesses[200]; /* "clock: column 'step'; 'rss_mb' in MB"; may be empty */
    uint64_t lines;
    uint64_t samples;
    uint64_t skipped;       /* lines that looked like data and could not be read */
    uint64_t first_skipped; /* number of the first of them */
    char skip_reason[120];  /* why, for that one */
    char error[240];        /* set on -EINVAL: line, what was found, what was expected */
    uint64_t error_line;    /* 0: no line */
};

/*
 * Reads a source to its end. Every parser is streaming: memory does not grow with the file.
 * The format is found from the first lines. 0; -EINVAL: no series in it (summary->error says
 * what was found and expected); -EISDIR; any other -errno of reading or of the sink.
 * What was delivered before an error stays delivered.
 */
struct input;

int input_new(int fd, const struct input_options *options, const struct input_sink *sink,
              struct input **ret);
struct input *input_free(struct input *in); /* accepts NULL, returns NULL */

/* Reads until the stream ends. With `follow` it may be called again when there is more. */
int input_read(struct input *in);

/* Says `end` for every series still open and judges the whole: -EINVAL if nothing was found. */
int input_finish(struct input *in);

const struct input_summary *input_summary(const struct input *in);

/* ---- where a running program stands, by its own output ---- */

/*
 * The step clock of a program nobody changed. Fed with its output as it comes, in any pieces: text
 * lines ("Step 12", "step 12/100", "epoch 2 batch 40/782", {'loss': .., 'epoch': ..}), tqdm bars
 * (with their carriage returns and escapes), Lightning's, Keras' and Hugging Face's bars and log
 * lines. Several things may count at once (a bar of the epoch, a line a hundred steps, a bar of the
 * validation): one source is chosen, the training steps, finest first; bars of validation,
 * download, evaluation, tokenisation never are. Bars that begin anew with each epoch are put one
 * behind the other. A count is believed once it has advanced, one given by `regex` at once. Where
 * only samples are counted ("Train Epoch: 1 [640/60000 (1%)]") these are the steps. One owner, one
 * thread; bounded memory, lines beyond 4 KiB are cut.
 */
struct progress;

struct progress_mark {
    double step;         /* global, never falls except where the program began anew (`restarted`);
                            NAN: the program tells its epochs only */
    double epoch;        /* epochs completed so far, a whole number; NAN: not known */
    double epoch_length; /* steps an epoch; NAN: not known */
    double total;        /* steps the program itself says it will make; NAN: not said */
    double made;         /* steps of this count that were told so far; NAN as `step` is */
    bool is_each;        /* it tells every step */
    bool restarted;      /* the count began anew: another run of the training */
};

/*
 * `regex`: POSIX extended, its first group is the step (and its second, if any, the epoch); NULL:
 * find out. -EINVAL: `error` says what is wrong with it; -ENOMEM.
 */
int progress_new(const char *regex, char error[160], struct progress **ret);
struct progress *progress_free(struct progress *p); /* accepts NULL, returns NULL */

/*
 * True: the bytes moved the clock (its step, or the epoch alone), *ret is where it stands after
 * the last of them.
 */
bool progress_feed(struct progress *p, const char *bytes, size_t len, struct progress_mark *ret);

#endif

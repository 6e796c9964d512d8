/* input/input.h: reads the logs and tables people already have, as series. */
#ifndef TIDEMARK_INPUT_H
#define TIDEMARK_INPUT_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a source states about a series besides its samples. 0: not stated. */
struct input_hints {
    double epoch_length; /* in units of the series' clock */
    double horizon;
    double limit; /* in the series' unit */
};

/*
 * Receives the samples. Calls come in the order of the file. `series` is called once, before a
 * series' first sample; its texts are valid only during the call, and its return value (>= 0) is
 * the series' number from then on. A negative return of any call stops the reading and is returned.
 */
struct input_sink {
    void *context;
    int (*series)(void *context, const struct series_info *info, const struct input_hints *hints);
    /* `step` or `seconds` is NAN if the source lacks it; `value` is in the series' unit. */
    int (*sample)(void *context, int series, double step, double seconds, double value);
    int (*epoch)(void *context, int series, double at); /* an epoch ended at `at` on the clock */
    int (*restart)(void *context, int series);          /* the same program restarted */
    int (*end)(void *context, int series);              /* the series is complete */
};

/*
 * What the user said about the source; NULL and 0: find out. The texts must outlive the input.
 * input_read() reports an unknown unit.
 */
struct input_options {
    const char *clock_column;  /* name or 1-based number of the column with the step or the time */
    const char *value_columns; /* comma-separated names or numbers; other columns are ignored */
    const char *unit;          /* of plain numbers: "MB", "GiB", "bytes", "count" */
    int clock;                 /* 0: find out; 1: steps; 2: seconds */
    bool batch;                /* only JSON lines with one whole series each (docs/JSON.md) */
    bool follow;               /* at the end of the stream wait for more (input_read returns 0) */
};

/* What was found, as one line for the user, and what was skipped. */
struct input_summary {
    char format[64];   /* "CSV with a header", "training log", ... */
    char guesses[200]; /* "clock: column 'step'; 'rss_mb' in MB"; may be empty */
    uint64_t lines;
    uint64_t samples;
    uint64_t skipped;       /* unreadable lines that looked like data */
    uint64_t first_skipped; /* number of the first of them */
    char skip_reason[120];  /* why, for that one */
    char error[240];        /* set on -EINVAL: line, what was found, what was expected */
    uint64_t error_line;    /* 0: no line */
};

/*
 * Reads a source to its end. Every parser streams: memory does not grow with the file. The first
 * lines decide the format. 0; -EINVAL: no series in it (summary->error says what was found and what
 * was expected); -EISDIR; any other -errno of reading or of the sink. Samples delivered before an
 * error stay delivered.
 */
struct input;

int input_new(int fd, const struct input_options *options, const struct input_sink *sink,
              struct input **ret);
struct input *input_free(struct input *in); /* accepts NULL, returns NULL */

/* Reads until the stream ends. With `follow`, call it again when there is more to read. */
int input_read(struct input *in);

/* Ends every open series and judges the source as a whole: -EINVAL if nothing was found. */
int input_finish(struct input *in);

const struct input_summary *input_summary(const struct input *in);

/* ---- the progress of a running program, from its own output ---- */

/*
 * The step clock of an unmodified program. It reads the program's output in any pieces: text lines
 * ("Step 12", "step 12/100", "epoch 2 batch 40/782", {'loss': .., 'epoch': ..}), tqdm bars (with
 * carriage returns and escape sequences), and the bars and log lines of Lightning, Keras and
 * Hugging Face. Several counts may run at once: a bar of the epoch, a line every hundred steps, a
 * validation bar. The clock uses one of them: the finest count of training steps, never a bar of
 * validation, download, evaluation or tokenization. Bars that restart with each epoch
 * are added up. A count is believed once it has advanced, one given by `regex` at once. Where only
 * samples are counted ("Train Epoch: 1 [640/60000 (1%)]"), samples are the steps. One owner, one
 * thread; bounded memory; lines are cut at 4 KiB.
 */
struct progress;

struct progress_mark {
    double step;         /* global; falls only when the program restarted (`restarted`);
                            NAN: the program prints only its epochs */
    double epoch;        /* epochs completed so far, a whole number; NAN: not known */
    double epoch_length; /* steps per epoch; NAN: not known */
    double total;        /* steps the program says it will make; NAN: not stated */
    double made;         /* steps of this count printed so far; NAN whenever `step` is */
    bool is_each;        /* it prints every step */
    bool restarted;      /* the count restarted: another run of the training */
};

/*
 * `regex`: POSIX extended; its first group is the step (and its second, if any, the epoch); NULL:
 * find out. -EINVAL: `error` says what is wrong with it; -ENOMEM.
 */
int progress_new(const char *regex, char error[160], struct progress **ret);
struct progress *progress_free(struct progress *p); /* accepts NULL, returns NULL */

/*
 * True if the bytes moved the clock (its step, or only its epoch). *ret is its position after the
 * last of them.
 */
bool progress_feed(struct progress *p, const char *bytes, size_t len, struct progress_mark *ret);

#endif

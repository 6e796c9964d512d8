/* base/series.h: the vocabulary: what a series measures, and in which unit. */
#ifndef TIDEMARK_BASE_SERIES_H
#define TIDEMARK_BASE_SERIES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Glossary, used the same everywhere:
 *   series   one counter of one process against a clock
 *   kind     which counter: "host.rss", "torch.allocated", "py.tensors", ... ("memory": not known)
 *   clock    what rates refer to: the training step, or the second
 *   unit     what is counted: bytes, or things
 *   at       a position on the series' clock; `step` and `seconds` name one clock each
 *   absent   not known: NAN for numbers, NULL for texts; never 0
 */
enum series_unit { SERIES_BYTES, SERIES_COUNT };

enum series_clock { CLOCK_STEP, CLOCK_SECONDS };

/* Who a series belongs to. Texts are owned by whoever made the struct; NULL or 0 is absent. */
struct series_info {
    const char *name; /* the source's name: a column, a heading, an id; never NULL */
    const char *kind; /* never NULL */
    const char *device;
    int64_t pid;
    const char *role, *rank, *command, *start; /* of a watched process */
    enum series_unit unit;
    enum series_clock clock;
    double resolution; /* one unit of the last printed digit if the source rounds; else 0 */
};

/* Release texts only if a struct owns them. */
struct field_table;
extern const struct field_table series_info_fields;

/* "step" / "s"; "bytes" / "count". */
const char *series_clock_name(enum series_clock clock);
const char *series_unit_name(enum series_unit unit);

/* "9.34 GB"; "7,070", "1.5", "0.004". */
void series_add_value(struct buf *b, double value, enum series_unit unit);

/*
 * "148 MB/step", "2.30 MB/min", "1.5/step". Rates on the clock are per second, but memory growth
 * shows over minutes, so people see the rate per minute: series_rate_shown() is that number.
 */
void series_add_rate(struct buf *b, double rate, enum series_unit unit, enum series_clock clock);
double series_rate_shown(double rate, enum series_clock clock);

/* A length on the clock: "1 step", "1,200 steps", "12 min"; `about`: no more than two digits,
 * "2.1 million steps". */
void series_add_length(struct buf *b, double length, bool about, enum series_clock clock);

/* A position in a sentence: "step 40", "12 min into the run", "the start". `start`: the run's. */
void series_add_position(struct buf *b, double at, double start, enum series_clock clock);

/*
 * The smallest growth that counter `kind` can show, in its unit. The kernel's counters drift on
 * their own (1 MiB); an allocator's counters and counts are exact (0). -1: an unknown kind; the
 * engine infers the resolution from the values.
 */
double series_kind_resolution(const char *kind);

#endif

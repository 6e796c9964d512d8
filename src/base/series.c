/* base/series.c: the vocabulary: what a series measures, and in which unit. */
#include "base/series.h"

#include "base/fields.h"
#include "base/units.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *series_clock_name(enum series_clock clock)
{
    return clock == CLOCK_STEP ? "step" : "s";
}

const char *series_unit_name(enum series_unit unit)
{
    return unit == SERIES_BYTES ? "bytes" : "count";
}

static const char *unit_word(unsigned unit)
{
    return unit <= SERIES_COUNT ? series_unit_name((enum series_unit) unit) : NULL;
}

static const char *clock_word(unsigned clock)
{
    return clock <= CLOCK_SECONDS ? series_clock_name((enum series_clock) clock) : NULL;
}

static const struct field_entry info_list[] = {
    FIELD_PLAIN(series_info, name, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(series_info, kind, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(series_info, device),
    FIELD_AS(series_info, unit, .type = FIELD_WORD, .word = unit_word),
    FIELD_AS(series_info, clock, .type = FIELD_WORD, .word = clock_word),
    FIELD_PLAIN(series_info, pid, .flags = FIELD_HIDDEN),
    FIELD_PLAIN(series_info, role, .flags = FIELD_HIDDEN),
    FIELD_PLAIN(series_info, rank, .flags = FIELD_HIDDEN),
    FIELD_PLAIN(series_info, command, .flags = FIELD_HIDDEN),
    FIELD_PLAIN(series_info, start, .flags = FIELD_HIDDEN),
    FIELD_PLAIN(series_info, resolution, .flags = FIELD_HIDDEN),
};
const struct field_table series_info_fields = FIELDS(series_info, info_list);

/* Decimals that show two digits of a small count: one thread in 250 steps is 0.004 per step. */
static int count_decimals(double count)
{
    double size = fabs(count);
    if (!(size < 1) || size < 1e-6)
        return size < 10 ? 2 : size < 100 ? 1 : 0;
    return 1 - (int) floor(log10(size));
}

void series_add_value(struct buf *b, double value, enum series_unit unit)
{
    if (unit == SERIES_BYTES)
        units_add_bytes(b, value);
    else
        units_add_count(b, value, count_decimals(value));
}

double series_rate_shown(double rate, enum series_clock clock)
{
    return clock == CLOCK_STEP ? rate : rate * 60;
}

void series_add_rate(struct buf *b, double rate, enum series_unit unit, enum series_clock clock)
{
    series_add_value(b, series_rate_shown(rate, clock), unit);
    buf_adds(b, clock == CLOCK_STEP ? "/step" : "/min");
}

static double two_digits(double value)
{
    if (!(fabs(value) >= 1) || isinf(value))
        return value;
    double scale = pow(10, floor(log10(fabs(value))) - 1);
    return scale < 1 ? round(value) : round(value / scale) * scale;
}

void series_add_length(struct buf *b, double length, bool about, enum series_clock clock)
{
    if (clock == CLOCK_SECONDS) {
        units_add_duration(b, length);
        return;
    }
    double shown = about ? two_digits(length) : round(length);
    if (about && fabs(shown) >= 1e6) {
        bool billions = fabs(shown) >= 1e9;
        units_add_count(b, shown / (billions ? 1e9 : 1e6), 1);
        buf_addf(b, " %s steps", billions ? "billion" : "million");
        return;
    }
    units_add_count(b, shown, 0);
    buf_adds(b, shown == 1 ? " step" : " steps");
}

void series_add_position(struct buf *b, double at, double start, enum series_clock clock)
{
    if (clock == CLOCK_STEP) {
        buf_adds(b, "step ");
        units_add_count(b, round(at), 0);
    } else if (at <= start) {
        buf_adds(b, "the start");
    } else {
        units_add_duration(b, at - start);
        buf_adds(b, " into the run");
    }
}

double series_kind_resolution(const char *kind)
{
    /* A name that ends in '.' stands for the whole family. */
    static const struct {
        const char *name;
        double resolution;
    } kinds[] = {
        {"host.", 1024.0 * 1024.0},
        {"heap.", 1024.0 * 1024.0},
        {"gpu.used", 2.0 * 1024.0 * 1024.0}, /* the driver allocates in units of 2 MiB */
        {"torch.", 0.0},
        {"py.tensors", 16.0}, /* jobs that begin one after the other create a few more */
        {"py.", 0.0},
        {"fds", 0.0},
        {"threads", 0.0},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t len = strlen(kinds[i].name);
        bool family = kinds[i].name[len - 1] == '.';
        if (family ? strncmp(kind, kinds[i].name, len) == 0 : strcmp(kind, kinds[i].name) == 0)
            return kinds[i].resolution;
    }
    return -1.0;
}

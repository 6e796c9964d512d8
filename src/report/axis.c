/* report/axis.c: round numbers for the axes of a chart. */
#include "report/axis.h"

#include <math.h>

/* The smallest of 1, 2, 5 times a power of ten that is at least `least`. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    static const double factors[] = {1, 2, 5, 10};

    for (unsigned i = 0; i < 4; i++) {
        if (factors[i] * power >= least * (1 - 1e-9))
            return factors[i] * power;
    }
    return 10 * power;
}

static int decimals_of(double step)
{
    int decimals = 0;
    while (decimals < 9 && fabs(step - round(step)) > 1e-6 * step) {
        step *= 10;
        decimals++;
    }
    return decimals;
}

/* Sets a step that leaves at most `intervals` whole steps over the widened range. */
static void fit_step(struct axis *a, unsigned intervals)
{
    double low = (a->low - a->origin) / a->scale, high = (a->high - a->origin) / a->scale;
    a->step = round_step((high - low) / intervals);
    while (ceil(high / a->step - 1e-9) - floor(low / a->step + 1e-9) > intervals)
        a->step = round_step(a->step * 1.5);
    a->decimals = decimals_of(a->step);
}

void axis_values(struct axis *a, double low, double high, unsigned intervals, enum series_unit unit)
{
    static const char *const names[] = {" B", " KB", " MB", " GB", " TB", " PB"};

    *a = (struct axis){.low = low, .high = high, .scale = 1, .name = ""};
    size_t i = 0;
    double largest = fmax(fabs(low), fabs(high));
    if (unit == SERIES_BYTES) {
        while (i + 1 < sizeof(names) / sizeof(names[0]) && largest >= a->scale * 1024) {
            a->scale *= 1024;
            i++;
        }
    }
    fit_step(a, intervals);
    /* Many decimals are harder to read than a smaller unit. */
    while (i > 0 && a->decimals > 2) {
        a->scale /= 1024;
        i--;
        fit_step(a, intervals);
    }
    if (unit == SERIES_BYTES)
        a->name = names[i];
    a->low = floor(low / a->scale / a->step + 1e-9) * a->step * a->scale;
    a->high = ceil(high / a->scale / a->step - 1e-9) * a->step * a->scale;
}

void axis_clock(struct axis *a, double low, double high, double origin, unsigned intervals,
                enum series_clock clock)
{
    static const struct {
        double below, size;
        const char *name;
    } scales[] = {
        {120, 1, "s"},
        {7200, 60, "min"},
        {4 * 86400, 3600, "h"},
        {INFINITY, 86400, "days"},
    };

    *a = (struct axis){.low = low, .high = high, .origin = origin, .scale = 1, .name = "step"};
    if (clock == CLOCK_STEP) {
        a->origin = 0;
    } else {
        size_t i = 0;
        while (high - low >= scales[i].below)
            i++;
        a->scale = scales[i].size;
        a->name = scales[i].name;
    }
    a->step = round_step((high - low) / a->scale / intervals);
    if (clock == CLOCK_STEP)
        a->step = fmax(a->step, 1);
    a->decimals = decimals_of(a->step);
}

double axis_next_tick(const struct axis *a, double position)
{
    double ticks = ceil((position - a->origin) / a->scale / a->step - 1e-6);
    return a->origin + ticks * a->step * a->scale;
}

void axis_add_number(const struct axis *a, double position, struct buf *out)
{
    double number = (position - a->origin) / a->scale;
    /* All numbers of an axis have the same decimals; whole numbers may need separators. */
    if (a->decimals > 0 && fabs(number) < 1000)
        buf_addf(out, "%.*f", a->decimals, number);
    else
        units_add_count(out, number, a->decimals);
}

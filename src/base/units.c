/* base/units.c: sizes, counts and durations as text for people. */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* From here on nobody counts digits: use exponent notation. */
#define HUGE_NUMBER 1e15

#define LEAST_BYTES 1e-6

/* Drops the zeros after a decimal point, and the point with them. */
static void strip_zeros(char *number)
{
    if (!strchr(number, '.'))
        return;
    size_t len = strlen(number);
    while (number[len - 1] == '0')
        len--;
    if (number[len - 1] == '.')
        len--;
    number[len] = '\0';
}

/* Decimals that leave three significant digits. */
static int three_digits(double value)
{
    if (value >= 99.95)
        return 0;
    return value >= 9.995 ? 1 : 2;
}

static void add_small_bytes(struct buf *b, double bytes)
{
    char text[32];
    snprintf(text, sizeof(text), "%.3g", bytes);
    if (bytes >= 999.5)
        snprintf(text, sizeof(text), "%.0f", bytes);
    buf_addf(b, "%s B", text);
}

void units_add_bytes(struct buf *b, double bytes)
{
    static const char *const names[] = {"KB", "MB", "GB", "TB", "PB"};

    if (!isfinite(bytes)) {
        buf_adds(b, "?");
        return;
    }
    if (fabs(bytes) < LEAST_BYTES)
        bytes = 0;
    if (bytes < 0)
        buf_addc(b, '-');
    bytes = fabs(bytes);
    if (bytes < 1023.5) {
        add_small_bytes(b, bytes);
        return;
    }
    size_t i = 0;
    for (bytes /= 1024.0; bytes >= 1023.5 && i + 1 < sizeof(names) / sizeof(names[0]); i++)
        bytes /= 1024.0;
    if (bytes < HUGE_NUMBER)
        buf_addf(b, "%.*f %s", three_digits(bytes), bytes, names[i]);
    else
        buf_addf(b, "%.3g %s", bytes, names[i]);
}

void units_add_count(struct buf *b, double count, int decimals)
{
    if (!isfinite(count)) {
        buf_adds(b, "?");
        return;
    }
    if (fabs(count) >= HUGE_NUMBER) {
        buf_addf(b, "%.3g", count);
        return;
    }
    char text[64];
    snprintf(text, sizeof(text), "%.*f", decimals, fabs(count));
    strip_zeros(text);
    if (count < 0 && strcmp(text, "0") != 0)
        buf_addc(b, '-');

    size_t whole = strcspn(text, ".");
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0)
            buf_addc(b, ',');
        buf_addc(b, text[i]);
    }
    buf_adds(b, text + whole);
}

void units_add_duration(struct buf *b, double seconds)
{
    static const struct {
        double below; /* exclusive, in seconds */
        double size;
        const char *name;
    } scales[] = {
        {0.01, 0.001, "ms"},
        {90.0, 1.0, "s"},
        {90.0 * 60.0, 60.0, "min"},
        {48.0 * 3600.0, 3600.0, "h"},
        {730.0 * 86400.0, 86400.0, "days"},
        {INFINITY, 365.25 * 86400.0, "years"},
    };

    if (!isfinite(seconds)) {
        buf_adds(b, "?");
        return;
    }
    size_t i = seconds == 0; /* zero is shown as 0 s */
    while (fabs(seconds) >= scales[i].below)
        i++;
    double value = seconds / scales[i].size;
    units_add_count(b, value, fabs(value) < 1 ? 2 : fabs(value) < 9.95 ? 1 : 0);
    buf_addf(b, " %s", scales[i].name);
}

void units_add_short_time(struct buf *b, double seconds)
{
    if (!isfinite(seconds)) {
        buf_adds(b, "?");
        return;
    }
    double size = fabs(seconds) < 999.5e-6 ? 1e-6 : fabs(seconds) < 0.9995 ? 1e-3 : 1;
    const char *name = size == 1 ? "s" : size > 1e-4 ? "ms" : "us";
    double value = seconds / size;
    buf_addf(b, "%.*f %s", three_digits(fabs(value)), value, name);
}

void units_add_percent(struct buf *b, double share)
{
    double percent = 100 * fabs(share);
    units_add_count(b, 100 * share, percent < 0.995 ? 2 : percent < 9.95 ? 1 : 0);
    buf_adds(b, " %");
}

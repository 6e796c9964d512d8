/* screen/spark.c: a series as a few characters. */
#include "screen/spark.h"

#include <math.h>

#define LEVEL_SHARE 0.05

static unsigned column_of(double at, double from, double to, unsigned columns)
{
    double share = to > from ? (at - from) / (to - from) : 1;
    double column = floor(share * columns);
    return (unsigned) fmin(fmax(column, 0), columns - 1);
}

void spark_values(const struct history *h, unsigned columns, double *ret)
{
    for (unsigned i = 0; i < columns; i++)
        ret[i] = NAN;
    if (h->count == 0 || columns == 0)
        return;
    double from = h->blocks[0].at, to = h->blocks[h->count - 1].at;
    for (unsigned i = 0; i < h->count; i++) {
        unsigned column = column_of(h->blocks[i].at, from, to, columns);
        ret[column] = fmin(ret[column], h->blocks[i].min);
    }
    /* Between two samples the level is that of the first. */
    for (unsigned i = 1; i < columns; i++)
        ret[i] = isnan(ret[i]) ? ret[i - 1] : ret[i];
}

void spark_add(struct buf *out, const double *values, unsigned columns, bool grows, bool ascii)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[] = {"_", "_", ".", ".", "-", "-", "=", "#"};
    double low = INFINITY, high = -INFINITY;
    for (unsigned i = 0; i < columns; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    double span = fmax(high - low, grows ? 0 : LEVEL_SHARE * fabs(high));
    for (unsigned i = 0; i < columns; i++) {
        if (!isfinite(values[i])) {
            buf_addc(out, ' ');
            continue;
        }
        double level = span > 0 ? floor((values[i] - low) / span * 7.999) : 0;
        unsigned k = (unsigned) fmin(fmax(level, 0), 7);
        buf_adds(out, ascii ? marks[k] : bars[k]);
    }
}

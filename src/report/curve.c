/* report/curve.c: what a chart of a series shows: its floor and its range. */
#include "report/curve.h"

#include <math.h>

void report_floor(const struct history *h, double *ret_floor)
{
    int count = (int) h->count, half = count / 24 < 6 ? count / 24 : 6;
    for (int i = 0; i < count; i++) {
        ret_floor[i] = -INFINITY;
        for (int middle = i - half; middle <= i + half; middle++) {
            double least = INFINITY;
            for (int k = middle - half; k <= middle + half; k++) {
                if (k >= 0 && k < count)
                    least = fmin(least, h->blocks[k].min);
            }
            ret_floor[i] = fmax(ret_floor[i], least);
        }
    }
}

void curve_range(const struct report_series *s, double *ret_low, double *ret_high)
{
    double low = INFINITY, high = -INFINITY;
    for (unsigned i = 0; i < s->history->count; i++) {
        low = fmin(low, s->history->blocks[i].min);
        high = fmax(high, s->history->blocks[i].peak);
    }
    bool is_flat = s->answer->verdict == VERDICT_NO_LEAK || high == low;
    double least = (is_flat ? 0.02 : 1e-9) * fabs(high);
    least = fmax(least, s->info->unit == SERIES_COUNT ? 2 : 512);
    if (high - low < least) {
        double middle = (high + low) / 2;
        low = low >= 0 ? fmax(middle - least / 2, 0) : middle - least / 2;
        high = middle + least / 2;
    }
    *ret_low = low >= 0 && low < high / 4 ? 0 : low;
    *ret_high = high;
}

bool curve_can_draw(const struct history *h)
{
    if (!h || h->count == 0)
        return false;
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_block *b = &h->blocks[i];
        if (fabs(b->at) > 1e15 || fabs(b->min) > 1e18 || fabs(b->peak) > 1e18)
            return false;
    }
    return true;
}

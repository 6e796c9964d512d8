/* judge/looks.c: how much a process and its heap grew between two comparable heap samples. */
#include "judge/looks.h"

#include <math.h>

/* Two heap samples that differ by less than this share of the growth are equally good. */
#define ABOUT_SHARE (1.0 / 16)

/* At least this many samples. */
#define LEAST_LOOKS 3

/* Samples with Python's arenas are compared if they span at least this share of the time. */
#define SPAN_SHARE 0.5

/* Both may rise for a moment: in-use bytes within a step, the process while its objects are
 * counted. */
static double height(const struct heap_point *p)
{
    return p->in_use + p->anon;
}

static double lowest(const struct heap_point *from, const struct heap_point *end)
{
    double low = height(from);
    for (const struct heap_point *p = from; p < end; p++)
        low = fmin(low, height(p));
    return low;
}

/* The first sample of the second half of that time; there are at least two. */
static const struct heap_point *middle_of(const struct heap_point *from,
                                          const struct heap_point *end)
{
    const struct heap_point *p = from + 1;
    while (p < end - 1 && p->seconds < (from->seconds + end[-1].seconds) / 2)
        p++;
    return p;
}

static double slope_of(const struct heap_point *from, const struct heap_point *end)
{
    if (end - from < 2)
        return 0;
    const struct heap_point *middle = middle_of(from, end);
    return (lowest(middle, end) - lowest(from, middle)) / ((end[-1].seconds - from->seconds) / 2);
}

/* The height without the growth: where it grows, every later sample is higher. */
static double level(const struct heap_point *p, double slope)
{
    return height(p) - slope * p->seconds;
}

/* The level of the lowest samples. */
static double low_of(const struct heap_point *from, const struct heap_point *end, double slope,
                     double about)
{
    double low = level(from, slope);
    for (const struct heap_point *p = from; p < end; p++)
        low = fmin(low, level(p, slope));
    return low + about;
}

/* Between two moments at which memory was about as low as in that half of the time, as far apart as
 * possible. */
static struct heap_growth between_lows(const struct heap_point *begin, const struct heap_point *end)
{
    const struct heap_point *middle = middle_of(begin, end), *first = begin, *last = end - 1;
    double about = ABOUT_SHARE * fmax(last->anon - begin->anon, 0);
    double slope_first = slope_of(begin, middle), slope_last = slope_of(middle, end);
    while (level(first, slope_first) > low_of(begin, middle, slope_first, about))
        first++;
    while (level(last, slope_last) > low_of(middle, end, slope_last, about))
        last--;
    return (struct heap_growth){last->anon - first->anon,
                                last->in_use - first->in_use,
                                last->free - first->free,
                                last->asked - first->asked,
                                last->arenas_used - first->arenas_used,
                                last->arenas_free - first->arenas_free,
                                first->seconds,
                                last->seconds};
}

static const struct heap_point *first_since(const struct heap_point *begin,
                                            const struct heap_point *end, double seconds)
{
    while (begin < end && begin->seconds < seconds)
        begin++;
    return begin;
}

/* Holders' gains are known up to the last census, so they are compared with the process's growth up
 * to then. */
static const struct heap_point *last_counted(const struct job *j, const struct evidence *f,
                                             const struct heap_point *begin,
                                             const struct heap_point *end)
{
    if (!f->census || f->census->growing_count == 0 || begin == end)
        return end;
    double counted = evidence_seconds(j, f->census->time) + HEAP_SAME_SECONDS;
    bool is_most = counted - begin->seconds > (end[-1].seconds - begin->seconds) / 2;
    const struct heap_point *last = first_since(begin, end, counted);
    return is_most && last - begin >= LEAST_LOOKS ? last : end;
}

/* Fewer samples compare worse, so this is only for growth that includes free memory in arenas. */
static bool compare_with_arenas(const struct heap_point *begin, const struct heap_point *end,
                                struct heap_growth *ret)
{
    struct heap_point known[HEAP_POINTS];
    size_t count = 0;
    for (const struct heap_point *p = begin; p < end; p++)
        if (!isnan(p->arenas_free))
            known[count++] = *p;
    if (count < LEAST_LOOKS || known[count - 1].seconds - known[0].seconds <
                                   SPAN_SHARE * (end[-1].seconds - begin->seconds))
        return false;
    *ret = between_lows(known, known + count);
    return ret->anon > 0 && ret->arenas_free > LEDGER_SMALL * ret->anon;
}

/*
 * The time since the growth began, without its first quarter: a new activity first fills what it
 * needs and keeps that. Growth that may have stopped can have come at any time. False: too few
 * samples.
 *
 * The heap grows in leaps, and the process with it, so both are compared at the same two moments
 * and not by a line through all samples.
 */
bool looks_compare(const struct job *j, const struct evidence *f, double since, bool may_stop,
                   struct heap_growth *ret)
{
    const struct heap_point *begin = f->heap, *end = f->heap + f->heap_count;
    begin = first_since(begin, end, since);
    end = last_counted(j, f, begin, end);
    if (!may_stop && begin < end)
        begin = first_since(begin, end, begin->seconds + (end[-1].seconds - begin->seconds) / 4);
    if (end - begin < LEAST_LOOKS)
        return false;
    if (!compare_with_arenas(begin, end, ret))
        *ret = between_lows(begin, end);
    return true;
}

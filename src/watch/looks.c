/* watch/looks.c: by how much a process and its heap grew, between two looks that compare. */
#include "watch/session.h"

#include <math.h>

/* Two looks at the heap that differ by so little of the growth are as good as each other. */
#define ABOUT_SHARE (1.0 / 16)

/* So many are needed. */
#define LEAST_LOOKS 3

static double lowest_in_use(const struct heap_point *from, const struct heap_point *end)
{
    double low = from->in_use;
    for (const struct heap_point *p = from; p < end; p++)
        low = fmin(low, p->in_use);
    return low;
}

/* What is in use may rise and fall: between two moments at which it was about as low as it was in
 * that half of the time, as far from each other as can be. */
static struct heap_growth between_lows(const struct heap_point *begin, const struct heap_point *end)
{
    const struct heap_point *first = begin, *last = end - 1, *middle = begin + 1;
    double half = (first->seconds + last->seconds) / 2;
    while (middle < last && middle->seconds < half)
        middle++;
    double about = ABOUT_SHARE * fmax(last->anon - begin->anon, 0);
    double low_first = lowest_in_use(begin, middle) + about;
    double low_last = lowest_in_use(middle, end) + about;
    while (first->in_use > low_first)
        first++;
    while (last->in_use > low_last)
        last--;
    return (struct heap_growth){last->anon - first->anon, last->in_use - first->in_use,
                                last->free - first->free, last->asked - first->asked,
                                first->seconds,           last->seconds};
}

static const struct heap_point *first_since(const struct heap_point *begin,
                                            const struct heap_point *end, double seconds)
{
    while (begin < end && begin->seconds < seconds)
        begin++;
    return begin;
}

/*
 * Since it grows, without the first quarter of that: what begins fills what it needs, and keeps
 * that. What has grown and may have stopped came at any time. False: there are too few looks.
 *
 * The heap grows by leaps, and the process with it: what it has grown by is that of the same two
 * moments, not what a line through all of them says.
 */
bool looks_compare(const struct found *f, double since, bool may_stop, struct heap_growth *ret)
{
    const struct heap_point *begin = f->heap, *end = f->heap + f->heap_count;
    begin = first_since(begin, end, since);
    if (!may_stop && begin < end)
        begin = first_since(begin, end, begin->seconds + (end[-1].seconds - begin->seconds) / 4);
    if (end - begin < LEAST_LOOKS)
        return false;
    *ret = between_lows(begin, end);
    return true;
}

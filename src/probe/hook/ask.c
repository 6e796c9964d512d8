/* probe/hook/ask.c: the public functions for a program's questions about its own objects. */
#include "probe/base/allocator.h"
#include "probe/base/libc.h"
#include "probe/census/inspect.h"
#include "probe/census/writer.h"
#include "probe/hook/ring.h"
#include "wire/wire.h"

#include <errno.h>
#include <pthread.h>

#define SHOWN __attribute__((visibility("default")))

#define HOLDERS_MOST 32u

struct tidemark_probe_growth {
    struct survey survey;
};

/* ---- a program that watches itself ---- */

static void heed_forks(void)
{
    (void) libc_at_fork(inspect_forget);
}

SHOWN void tidemark_probe_step(const struct tidemark_probe_listener *l)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!inspect_is_due() || !python_find())
        return;
    pthread_once(&once, heed_forks);
    if (l)
        inspect_moment(INSPECT_STEP, l);
    else
        ring_inspect(INSPECT_STEP);
}

SHOWN int tidemark_probe_search(const struct tidemark_probe_listener *l, int begin)
{
    return python_find() && inspect_search(l, begin);
}

/* ---- questions ---- */

/* One census, and the pause it caused. */
static int take_census(struct survey *c, struct report_cost *cost)
{
    uint64_t begin = wire_now();
    tensors_learn();
    if (!survey_prepare(c))
        return -ENOMEM;
    c->knows_heap = allocator_read(&c->heap);
    survey_take(c, begin, UINT64_MAX, GRADIENTS_IN_PROCESS);
    cost->censuses++;
    cost->pause_ns += wire_now() - begin;
    cost->longest_pause_ns = cost->pause_ns;
    return 0;
}

static int hand_over(const struct survey *c, const struct finding *findings, size_t count,
                     const struct report_cost *cost, tidemark_probe_take *take, void *context)
{
    char *text = places_map(REPORT_WHOLE_BYTES);
    if (!text)
        return -ENOMEM;
    take(context, text, report_write_whole(c, findings, count, cost, text, REPORT_WHOLE_BYTES));
    places_unmap(text, REPORT_WHOLE_BYTES);
    return 0;
}

/* Keeps the caller's Python error. */
struct errors {
    py_object *type, *value, *traceback;
};

static bool begin(struct errors *e)
{
    if (!python_find())
        return false;
    py.PyErr_Fetch(&e->type, &e->value, &e->traceback);
    return true;
}

static int end(const struct errors *e, int result)
{
    py.PyErr_Restore(e->type, e->value, e->traceback);
    return result;
}

static int begin_census(bool tracked, tidemark_probe_take *take, void *context, struct survey **ret)
{
    struct report_cost cost = {0};
    struct survey *c = tracked ? survey_new(0) : survey_new_pair();
    if (!c)
        return heap_learn() ? -ENOMEM : -ENOSYS;
    int r = take_census(c, &cost);
    if (r == 0)
        r = hand_over(c, NULL, 0, &cost, take, context);
    if (r == 0)
        *ret = c;
    else
        survey_free(c);
    return r;
}

SHOWN int tidemark_probe_census(int tracked, tidemark_probe_take *take, void *context)
{
    struct errors e;
    struct survey *c = NULL;
    if (!begin(&e))
        return -ENOSYS;
    int r = begin_census(tracked, take, context, &c);
    survey_free(c);
    return end(&e, r);
}

SHOWN int tidemark_probe_growth_begin(tidemark_probe_take *take, void *context,
                                      struct tidemark_probe_growth **ret)
{
    struct errors e;
    struct survey *c = NULL;
    if (!begin(&e))
        return -ENOSYS;
    int r = begin_census(false, take, context, &c);
    if (r == 0)
        *ret = (struct tidemark_probe_growth *) c;
    return end(&e, r);
}

/* Searches only for what the caller asked: nothing else is urgent, and the program is paused. */
static int end_growth(struct survey *c, tidemark_probe_take *take, void *context)
{
    static struct finding findings[FINDINGS_OF_PAIR];
    struct report_cost cost = {0};
    uint64_t start = wire_now();
    int r = take_census(c, &cost);
    if (r < 0)
        return r;
    size_t count = findings_make(c, true, findings, FINDINGS_OF_PAIR);
    cost.searches = 1;
    cost.pause_ns = cost.longest_pause_ns = wire_now() - start;
    return hand_over(c, findings, count, &cost, take, context);
}

SHOWN int tidemark_probe_growth_end(struct tidemark_probe_growth *g, tidemark_probe_take *take,
                                    void *context)
{
    struct errors e;
    if (!begin(&e))
        return -ENOSYS;
    int r = end_growth(&g->survey, take, context);
    survey_free(&g->survey);
    return end(&e, r);
}

SHOWN void tidemark_probe_growth_drop(struct tidemark_probe_growth *g)
{
    if (g)
        survey_free(&g->survey);
}

static int find_holders(py_object *object, tidemark_probe_take *take, void *context)
{
    static struct holder holders[HOLDERS_MOST];
    char *text = places_map(REPORT_BYTES);
    if (!text)
        return -ENOMEM;
    tensors_learn();
    size_t count = holders_of(object, holders, HOLDERS_MOST);
    take(context, text, report_write_holders(holders, count, text, REPORT_BYTES));
    places_unmap(text, REPORT_BYTES);
    return 0;
}

SHOWN int tidemark_probe_holders(void *object, tidemark_probe_take *take, void *context)
{
    struct errors e;
    if (!begin(&e))
        return -ENOSYS;
    return end(&e, heap_learn() ? find_holders(object, take, context) : -ENOSYS);
}

/* probe/census/whole.c: a child that counts the whole heap once. */
#include "probe/census/whole.h"

#include "probe/base/child.h"
#include "probe/census/writer.h"
#include "wire/wire.h"

#define CHILD_SECONDS 60u

struct work {
    void (*report)(const char *text, size_t len);
    uint64_t begun;
    bool knows_heap;
    struct allocator_facts heap; /* read before the fork: a child could wait for malloc's lock */
};

static void count(void *context)
{
    const struct work *w = context;
    struct acts none = {0};
    struct report_cost cost = {.censuses = 1, .pause_ns = wire_now() - w->begun};
    struct survey *c = survey_new_pair();
    char *text = places_map(REPORT_BYTES);
    if (!c || !text || !survey_prepare(c))
        return;
    cost.longest_pause_ns = cost.pause_ns;
    c->knows_heap = w->knows_heap;
    c->heap = w->heap;
    survey_take(c, wire_now(), UINT64_MAX, GRADIENTS_OF_SNAPSHOT);
    w->report(text, report_write(c, NULL, 0, &cost, &none, text, REPORT_BYTES));
}

pid_t whole_count(void (*report)(const char *text, size_t len))
{
    struct work w = {.report = report, .begun = wire_now()};
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    tensors_learn();
    w.knows_heap = allocator_read(&w.heap);
    pid_t child = child_start(count, &w, CHILD_SECONDS);
    py.PyErr_Restore(type, value, traceback);
    return child;
}

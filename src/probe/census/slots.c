/* probe/census/slots.c: containers made at full length and filled by index. */
#include "probe/census/slots.h"

#include "probe/base/heap.h"

/* references visited in all; beyond that, nothing is found */
#define REFERENCES_MOST (4u << 20)

struct slots {
    const struct survey *survey;
    py_object *const *objects;
    size_t count;
    uint64_t least, references;
    uint32_t met; /* one bit per object */
    ptrdiff_t length;
};

_Static_assert(SURVEY_SAMPLES <= 32, "a bit each");

static int meet(py_object *o, void *context)
{
    struct slots *s = context;
    for (size_t i = 0; i < s->count; i++)
        if (s->objects[i] == o)
            s->met |= UINT32_C(1) << i;
    return ++s->references > REFERENCES_MOST;
}

static bool is_as_long_as_before(const struct slots *s, const py_object *o, uint64_t *ret)
{
    const struct place *now = places_find(&s->survey->lengths, (uintptr_t) o);
    const struct place *before = places_find(&s->survey->lengths_before, (uintptr_t) o);
    if (!now || !before || now->value != before->value || now->value < s->least)
        return false;
    *ret = now->value;
    return true;
}

/* One of the objects may be the current step's own: it often has the memory of an object from the
 * last step. */
#define OF_THE_STEP 1u
#define OF_THE_STEP_FROM 4u /* with fewer objects, all must be there */

static bool has_most(const struct slots *s)
{
    size_t others = s->count >= OF_THE_STEP_FROM ? OF_THE_STEP : 0;
    return (size_t) __builtin_popcount(s->met) + others >= s->count;
}

static bool visit_container(py_object *o, void *context)
{
    struct slots *s = context;
    uint64_t length;
    if (!is_as_long_as_before(s, o, &length))
        return true;
    s->met = 0;
    heap_edges(o, meet, s);
    if (has_most(s))
        s->length = (ptrdiff_t) length;
    return s->length < 0 && s->references <= REFERENCES_MOST;
}

ptrdiff_t slots_holding(const struct survey *c, py_object *const *objects, size_t count,
                        uint64_t least)
{
    struct slots s = {
        .survey = c, .objects = objects, .count = count, .least = least, .length = -1};
    if (count > 0)
        heap_visit(visit_container, &s);
    return s.length;
}

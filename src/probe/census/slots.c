/* probe/census/slots.c: containers that were made at their full length, and are filled. */
#include "probe/census/slots.h"

#include "probe/base/heap.h"

/* So many references are looked at; in containers beyond them nothing is found. */
#define LOOKS_MOST (4u << 20)

struct slots {
    const struct survey *survey;
    py_object *const *objects;
    size_t count;
    uint64_t least, looks;
    uint32_t met; /* a bit for each of the objects */
    ptrdiff_t length;
};

_Static_assert(SURVEY_SAMPLES <= 32, "a bit each");

static int meet(py_object *o, void *context)
{
    struct slots *s = context;
    for (size_t i = 0; i < s->count; i++)
        if (s->objects[i] == o)
            s->met |= UINT32_C(1) << i;
    return ++s->looks > LOOKS_MOST;
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

/* One may be the step's own, which has the memory of an older one: as a rule that of the last step.
 */
#define OF_THE_STEP 1u
#define OF_THE_STEP_FROM 4u /* of fewer, each has to be there */

static bool has_most(const struct slots *s)
{
    size_t others = s->count >= OF_THE_STEP_FROM ? OF_THE_STEP : 0;
    return (size_t) __builtin_popcount(s->met) + others >= s->count;
}

static bool look_into(py_object *o, void *context)
{
    struct slots *s = context;
    uint64_t length;
    if (!is_as_long_as_before(s, o, &length))
        return true;
    s->met = 0;
    heap_edges(o, meet, s);
    if (has_most(s))
        s->length = (ptrdiff_t) length;
    return s->length < 0 && s->looks <= LOOKS_MOST;
}

ptrdiff_t slots_holding(const struct survey *c, py_object *const *objects, size_t count,
                        uint64_t least)
{
    struct slots s = {
        .survey = c, .objects = objects, .count = count, .least = least, .length = -1};
    if (count > 0)
        heap_visit(look_into, &s);
    return s.length;
}

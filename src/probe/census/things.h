/* probe/census/things.h: what an object is, as a census tells it. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_THINGS_H
#define TIDEMARK_PROBE_CENSUS_THINGS_H

#include "probe/census/tensors.h"
#include "wire/wire.h"

struct thing {
    enum wire_thing_kind kind;
    char type[96]; /* "collections.deque"; cut where it is longer */
    bool is_read;  /* a tensor of which the facts are known */
    struct tensor_facts facts;
};

/* "list", "torch.nn.parameter.Parameter". Cut where it is too long. */
void things_type_name(const py_object *type, char *ret, size_t size);

void things_describe(const py_object *o, struct thing *ret);

/* Nobody could tell them apart by what is said of them. */
bool things_are_alike(const struct thing *a, const struct thing *b);

#endif

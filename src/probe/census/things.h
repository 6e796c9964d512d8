/* probe/census/things.h: describes an object for a census. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_THINGS_H
#define TIDEMARK_PROBE_CENSUS_THINGS_H

#include "probe/census/tensors.h"
#include "wire/wire.h"

struct thing {
    enum wire_thing_kind kind;
    char type[96]; /* "collections.deque"; truncated if longer */
    bool is_read;  /* a tensor with known facts */
    struct tensor_facts facts;
};

/* "list", "torch.nn.parameter.Parameter"; truncated if too long. */
void things_type_name(const py_object *type, char *ret, size_t size);

void things_describe(const py_object *o, struct thing *ret);

/* Their descriptions are the same to a reader. */
bool things_are_alike(const struct thing *a, const struct thing *b);

#endif

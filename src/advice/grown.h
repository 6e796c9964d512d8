/* advice/grown.h: what a census says about the growth of one kind of objects. Private to advice/.
 */
#ifndef TIDEMARK_ADVICE_GROWN_H
#define TIDEMARK_ADVICE_GROWN_H

#include "advice/causes.h"

/* Its first holder; NULL: none is known. */
const struct wire_census_holder *grown_holder(const struct wire_census_growing *g);
bool grown_is_held_as(const struct wire_census_growing *g, enum wire_holder_kind kind);

/* The name of its type, its items, its holder or the holder's function has one of these words. */
bool grown_speaks_of_any(const struct wire_census_growing *g, const char *const *words);

bool grown_has_tensors(const struct wire_census_growing *g);
bool grown_keeps_a_graph(const struct wire_census_growing *g);

/* The first row of the table of rules that holds. */
enum cause grown_cause(const struct wire_census_growing *g, const struct cause_facts *facts);

#endif

/* probe/census/writer.h: writes a census as text for the watcher (wire/census.h). Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_WRITER_H
#define TIDEMARK_PROBE_CENSUS_WRITER_H

#include "probe/census/act.h"
#include "probe/census/growing.h"

/* The cost of all censuses so far. */
struct report_cost {
    uint64_t censuses, searches;
    uint64_t pause_ns, longest_pause_ns; /* the program was paused */
    uint64_t child_ns;                   /* processor time of forked children */
};

#define REPORT_BYTES 262144u
#define REPORT_WHOLE_BYTES 2097152u /* enough for every type and every group */

/* Writes at most `size` bytes of whole lines; returns how many. */
size_t report_write(const struct survey *c, const struct finding *findings, size_t count,
                    const struct report_cost *cost, const struct acts *acts, char *ret,
                    size_t size);

/* The same with all types and all groups of tensors. */
size_t report_write_whole(const struct survey *c, const struct finding *findings, size_t count,
                          const struct report_cost *cost, char *ret, size_t size);

/* The holders of one object: holder records only. */
size_t report_write_holders(const struct holder *holders, size_t count, char *ret, size_t size);

#endif

/* probe/census/whole.h: a child that counts the whole heap once. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_WHOLE_H
#define TIDEMARK_PROBE_CENSUS_WHOLE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts a child that counts every object, tracked or not, and calls `report` in the child with the
 * text described in wire/census.h. The program is paused for the fork only, and the report says for
 * how long. Returns the child's pid, for child_has_ended(); negative: -errno. The GIL is held; no
 * error is left behind.
 */
pid_t whole_count(void (*report)(const char *text, size_t len));

#endif

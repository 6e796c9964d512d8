/* probe/census/whole.h: all that a process holds, counted once by a child. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_WHOLE_H
#define TIDEMARK_PROBE_CENSUS_WHOLE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts a child that counts every object, also those the collector does not track, and hands the
 * report over in the child, as wire/census.h describes it. The program stands still for the fork,
 * which is what the report says. Returns the child's pid, for child_has_ended(); negative: -errno.
 * The GIL is held; no error is left behind.
 */
pid_t whole_count(void (*tell)(const char *text, size_t len));

#endif

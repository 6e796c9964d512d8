/* probe/attach/tracing.h: the allocation tracer in a process that was already running. Private to
 * probe/attach. */
#ifndef TIDEMARK_PROBE_ATTACH_TRACING_H
#define TIDEMARK_PROBE_ATTACH_TRACING_H

#include <stdbool.h>

/*
 * Nothing is changed until the watcher orders samples. Then import tables of the loaded files lead
 * to functions of this library, and those of files that are loaded later too. They stay so until
 * the end, also while no samples are ordered: what is freed must be seen. All of these but the last
 * two hold the GIL.
 */
void tracing_begin(const char *directory);

/* Between two instructions of the program: does what the watcher orders now. Some nanoseconds if
 * nothing changed. */
void tracing_look(void);

/* Puts everything back. Functions of this library that threads are in, or that the program has got
 * by dlsym(), pass on for ever. False: not possible now, unless `at_once`; call it again. */
bool tracing_end(bool at_once);

/* On any thread: tracing_look() would do something. */
bool tracing_is_behind(void);
/* In the child of a fork. */
void tracing_forked(void);

#endif

/* probe/trace/lookup.h: the program's dlsym(). Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_LOOKUP_H
#define TIDEMARK_PROBE_TRACE_LOOKUP_H

/*
 * A program may ask for malloc() in the C library itself, past every function before it: ctypes
 * does. So there is a function of ours before dlsym(): where the answer is the function behind one
 * of ours, it is ours instead. Every other question goes on to dlsym() as if the program had asked
 * there: dlsym() finds the asking file by its return address (RTLD_NEXT).
 *
 * Whoever asks here has often just loaded a file: then its import tables are patched as well, if
 * those of others are.
 */
#ifdef __x86_64__
#define LOOKUP_IS_POSSIBLE
void *lookup_dlsym(void *handle, const char *name);
#endif

/* The function of that name which comes after ours; NULL: none. */
void *lookup_next(const char *name);

/* dlsym() itself. NULL: not known yet. */
extern void *lookup_behind __attribute__((visibility("hidden")));

#endif

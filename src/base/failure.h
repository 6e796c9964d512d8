/* base/failure.h: what is said, and done, where the system gives no more. */
#ifndef TIDEMARK_BASE_FAILURE_H
#define TIDEMARK_BASE_FAILURE_H

/* The exit status of a program that ran out of memory. */
#define FAILURE_STATUS 1

/*
 * Ends this process: writes "tidemark: out of memory" to standard error and exits with
 * FAILURE_STATUS at once, without running exit handlers. Allocates nothing, takes no lock, may be
 * called anywhere, also in the child of a fork. Not for what runs inside other people's programs
 * unless nothing else is left.
 */
_Noreturn void base_out_of_memory(void);

/* An errno in words, with the way out where there is one: "too many open files: raise ulimit -n".
 * Valid until the next call in this thread. */
const char *error_words(int error);

#endif

/* base/failure.h: what happens when the system runs out of memory or files. */
#ifndef TIDEMARK_BASE_FAILURE_H
#define TIDEMARK_BASE_FAILURE_H

#include <stdbool.h>

/* The exit status of a program that ran out of memory. */
#define FAILURE_STATUS 1

/*
 * For a failed allocation where the caller has no error code to return. Ends this process at once:
 * writes "tidemark: out of memory" to standard error and exits with FAILURE_STATUS, without exit
 * handlers. Inside base_guard() it ends only the guarded work. Allocates nothing, takes no lock,
 * and may be called anywhere, also in the child of a fork.
 */
__attribute__((noreturn)) void base_out_of_memory(void); /* cppcheck knows no _Noreturn */

/*
 * Runs work(context) and returns its result. -ENOMEM: the work called base_out_of_memory() in this
 * thread and was abandoned by longjmp(). Nothing is printed. Everything the work allocated is lost,
 * and an object it was changing may be half changed: do not use it again, do not free it. The work
 * may not be inside a callback of a foreign library, nor hold a lock that the caller cannot
 * release. Guards nest. The child of a fork is not guarded: it ends.
 *
 * Two callers need this, because their process is not tidemark's to end:
 * - lib/: the process is the user's own training. The watcher is given up, the call and all later
 *   ones return -ENOMEM, and the training goes on. The loss is a few hundred KB and the end of the
 *   run file, which stays readable up to its last commit.
 * - `tidemark run`: its exit status is that of the command. The command goes on unwatched.
 */
int base_guard(int (*work)(void *context), void *context);

/* An errno in words, with the remedy if there is one: "too many open files: raise ulimit -n".
 * Valid until the next call in this thread. */
const char *error_words(int error);

/* Whether this process or the machine ran out of descriptors: the unopened file may exist. */
bool error_lacks_files(int error);

#endif

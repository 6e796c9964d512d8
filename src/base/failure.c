/* base/failure.c: what is said, and done, where the system gives no more. */
#include "base/failure.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

_Noreturn void base_out_of_memory(void)
{
    static const char line[] = "tidemark: out of memory\n";
    ssize_t n = write(STDERR_FILENO, line, sizeof line - 1);
    (void) n;
    _exit(FAILURE_STATUS);
}

const char *error_words(int error)
{
    switch (error) {
    case EMFILE:
        return "too many open files: raise ulimit -n";
    case ENFILE:
        return "too many open files on this machine";
    case ENOMEM:
        return "out of memory";
    default:
        return strerror(error);
    }
}

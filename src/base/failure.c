/* base/failure.c: what happens when the system runs out of memory or files. */
#include "base/failure.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

struct guard {
    jmp_buf way_out;
    pid_t pid;
    struct guard *outer;
};

static _Thread_local struct guard *guard;

_Noreturn void base_out_of_memory(void)
{
    static const char line[] = "tidemark: out of memory\n";
    if (guard && guard->pid == getpid())
        longjmp(guard->way_out, 1);
    ssize_t n = write(STDERR_FILENO, line, sizeof line - 1);
    (void) n;
    _exit(FAILURE_STATUS);
}

int base_guard(int (*work)(void *context), void *context)
{
    struct guard own = {.pid = getpid(), .outer = guard};
    if (setjmp(own.way_out) != 0) {
        guard = own.outer;
        return -ENOMEM;
    }
    guard = &own;
    int r = work(context);
    guard = own.outer;
    return r;
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

bool error_lacks_files(int error)
{
    return error == EMFILE || error == ENFILE;
}

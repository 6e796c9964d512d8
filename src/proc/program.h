/* proc/program.h: which program a command line runs, and what that says about its role. Pure. */
#ifndef TIDEMARK_PROC_PROGRAM_H
#define TIDEMARK_PROC_PROGRAM_H

#include <stddef.h>

enum program_sort {
    PROGRAM_ANY,         /* anything else: may train */
    PROGRAM_WRAPPER,     /* starts other programs and waits for them */
    PROGRAM_HELPER,      /* known not to train */
    PROGRAM_COMPILER,    /* compiles kernels or code */
    PROGRAM_SPAWNED,     /* a worker that multiprocessing started with exec */
    PROGRAM_FORK_SERVER, /* a helper whose forked children are workers */
};

struct program {
    enum program_sort sort;
    char name[48]; /* printable: "torchrun", "train.py", "torch.distributed.run", "bash" */
};

/*
 * Sees through interpreters: for `python -u -m torch.distributed.run x.py` the program is the
 * module, for `/usr/bin/python3 /usr/bin/torchrun x.py` the script. `comm` (may be NULL) is used
 * when there are no arguments.
 */
void program_identify(const char *arguments, size_t len, const char *comm, struct program *ret);

#endif

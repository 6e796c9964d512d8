/* cli/doctor.h: what works on this machine: the checks of `tidemark doctor`. */
#ifndef TIDEMARK_CLI_DOCTOR_H
#define TIDEMARK_CLI_DOCTOR_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* LIMITED: works partly or less well; NO: does not work here. */
enum doctor_state { DOCTOR_OK, DOCTOR_LIMITED, DOCTOR_NO };

/*
 * One thing that was tried. Programs read `name`, which never changes; all other texts are for
 * people. A check that is not OK has advice: what to do, or that nothing needs doing.
 */
struct doctor_check {
    char group[80], name[32], title[24];
    enum doctor_state state;
    struct buf detail, advice;
    bool is_vital; /* without it neither run nor watch works */
};

/*
 * The checks in the order they ran. Every check tries the thing itself and concludes nothing from
 * version numbers. One owner, one thread; the checks fork, so no other thread may run.
 */
struct doctor {
    struct doctor_check *checks;
    size_t count;
    pid_t pid; /* the process to check; 0: none */
    char group[80];
};

void doctor_init(struct doctor *d, pid_t pid);
void doctor_release(struct doctor *d);

/* Runs all checks. May take several seconds if it has to wake a GPU. */
void doctor_run(struct doctor *d);

/* False: a vital check failed. */
bool doctor_works(const struct doctor *d);

/* ---- for the checks themselves ---- */

/* Later checks belong to this group. */
void doctor_begin_group(struct doctor *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a check that is OK and has no texts; valid until the next is added. */
struct doctor_check *doctor_add(struct doctor *d, const char *name, const char *title);

/* Sets the state and the detail. */
void doctor_set(struct doctor_check *c, enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads a whole small file. -errno. */
int doctor_read_file(const char *path, struct buf *ret);

/* Seconds on a monotonic clock. */
double doctor_seconds(void);

/* True: this PID namespace is not the machine's own. */
bool doctor_in_container(void);

void doctor_check_processes(struct doctor *d); /* doctor_process.c */
void doctor_check_target(struct doctor *d);    /* doctor_process.c: d->pid */
void doctor_check_memory(struct doctor *d);    /* doctor_memory.c */
void doctor_check_gpu(struct doctor *d);       /* doctor_gpu.c */
void doctor_check_record(struct doctor *d);    /* doctor_record.c */
void doctor_check_symbols(struct doctor *d);   /* doctor_symbols.c */
void doctor_check_inside(struct doctor *d);    /* doctor_inside.c */
void doctor_check_attach(struct doctor *d);    /* doctor_inside.c: d->pid */

#endif

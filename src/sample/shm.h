/* sample/shm.h: the files in /dev/shm and whose they are. No I/O: shared.c looks. */
#ifndef TIDEMARK_SAMPLE_SHM_H
#define TIDEMARK_SAMPLE_SHM_H

#include "proc/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum shm_owner {
    SHM_UNKNOWN, /* nobody was ever seen to hold it */
    SHM_JOB,
    SHM_OTHERS,
};

struct shm_file {
    uint64_t inode;
    char *name;         /* below /dev/shm; NULL: it has none any more */
    double bytes, size; /* what it takes, and how long it is */
    double before;      /* what it took when watching began: no growth of this watch */
    uid_t uid;
    enum shm_owner owner;
    bool is_held;    /* by a process of the job, at the last look */
    bool was_held;   /* by whom it belongs to, at some look */
    bool is_guessed; /* nobody was seen to hold it: it is whose it can be */
    bool is_there;   /* it was met at the last look */
};

/* Ascending by inode. */
struct shm_files {
    struct shm_file *list;
    size_t count, capacity;
};

void shm_files_release(struct shm_files *f);

/* A look begins: nothing is there, and nobody holds anything. */
void shm_files_begin(struct shm_files *f);
/* The file of that inode is there, new or known; it stays where it is until the next call. */
struct shm_file *shm_files_meet(struct shm_files *f, uint64_t inode);
struct shm_file *shm_files_find(const struct shm_files *f, uint64_t inode); /* NULL: not met */
/* The look ends: what was not met is gone. */
void shm_files_end(struct shm_files *f);

/* What all have that belong to `owner`, less what they had before; `ret_room` (may be NULL): what
 * is missing until they are full. */
double shm_files_bytes(const struct shm_files *f, enum shm_owner owner, double *ret_room);

/* Files of the job that came since watching began, have a name, and are held by no process of it.
 * `ret_first`: one of them. */
size_t shm_files_left(const struct shm_files *f, double *ret_bytes,
                      const struct shm_file **ret_first);

/* What other processes can have written; ascending by pid. */
struct shm_writer {
    struct proc_id id;
    double bytes, before; /* so far; by the first survey, 0: it is younger */
};

struct shm_writers {
    struct shm_writer *list;
    size_t count, capacity;
};

void shm_writers_release(struct shm_writers *x);
/* `last`: the survey before; empty: this is the first. */
void shm_writers_add(struct shm_writers *x, const struct shm_writers *last, struct proc_id id,
                     double bytes);
/* Whether one of them alone can have written so much since the first survey. */
bool shm_writers_could(const struct shm_writers *x, double bytes);

/*
 * Files that nobody was seen to hold are the job's if the job can have written as much as they have
 * become, and no other process can. Where both can it is theirs who were seen with files that
 * nobody holds now: the job's if it alone was; else it stays open.
 */
enum shm_owner shm_judge(const struct shm_files *f, bool job_could, bool others_could);

/*
 * The number of a process in a file's name, from *position on, which moves behind it: one that no
 * letter or digit touches, as most programs write it; random names are full of digits. 0: no more.
 */
pid_t shm_name_number(const char *name, size_t *position);

#endif

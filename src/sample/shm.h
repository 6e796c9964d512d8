/* sample/shm.h: the files in /dev/shm and their owners. No I/O: shared.c reads them. */
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
    double bytes, size; /* bytes it uses, and its length */
    double before;      /* bytes used when watching began: no growth of this watch */
    uid_t uid;
    enum shm_owner owner;
    bool is_held;    /* by a process of the job, at the last check */
    bool was_held;   /* by its owner, at some check */
    bool is_guessed; /* nobody was seen to hold it: its owner is a guess */
    bool is_there;   /* it was found at the last check */
};

/* Ascending by inode. */
struct shm_files {
    struct shm_file *list;
    size_t count, capacity;
};

void shm_files_release(struct shm_files *f);

/* A check begins: no file is there or held. */
void shm_files_begin(struct shm_files *f);
/* Notes that the file of that inode is there, new or known. The pointer is valid until the next
 * call. */
struct shm_file *shm_files_meet(struct shm_files *f, uint64_t inode);
struct shm_file *shm_files_find(const struct shm_files *f, uint64_t inode); /* NULL: not found */
/* The check ends: drops files that were not found. */
void shm_files_end(struct shm_files *f);

/* Bytes of all files of `owner`, less what they used before; `ret_room` (may be NULL): bytes
 * missing until they are full. */
double shm_files_bytes(const struct shm_files *f, enum shm_owner owner, double *ret_room);

/* Counts the job's files that came since watching began, have a name, and are held by none of
 * its processes. `ret_first`: one of them. */
size_t shm_files_left(const struct shm_files *f, double *ret_bytes,
                      const struct shm_file **ret_first);

/* What another process can have written; ascending by pid. */
struct shm_writer {
    struct proc_id id;
    double bytes, before; /* so far; by the first survey; 0: it is younger */
};

struct shm_writers {
    struct shm_writer *list;
    size_t count, capacity;
};

void shm_writers_release(struct shm_writers *x);
/* `last`: the previous survey; empty: this is the first. */
void shm_writers_add(struct shm_writers *x, const struct shm_writers *last, struct proc_id id,
                     double bytes);
/* Whether one process alone can have written that much since the first survey. */
bool shm_writers_could(const struct shm_writers *x, double bytes);

/*
 * Decides whose files nobody was seen to hold. They are the job's if the job can have written their
 * growth, and no other process can. If both can, they belong to whoever was seen with files that
 * nobody holds now: to the job if it alone was; else the owner stays unknown.
 */
enum shm_owner shm_judge(const struct shm_files *f, bool job_could, bool others_could);

/* The pid in a file's name, from *position on, which moves past it. It must not touch a letter
 * or digit, as most programs write it; random names are full of digits. 0: no more. */
pid_t shm_name_number(const char *name, size_t *position);

#endif

/* sample/shm.c: the files in /dev/shm and their owners. */
#include "sample/shm.h"

#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

void shm_files_release(struct shm_files *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->list[i].name);
    free(f->list);
    *f = (struct shm_files){0};
}

/* Index of the first file whose inode is not less. */
static size_t place_of(const struct shm_files *f, uint64_t inode)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->list[middle].inode < inode)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void make_room(struct shm_files *f)
{
    if (f->count < f->capacity)
        return;
    f->capacity = f->capacity ? 2 * f->capacity : 16;
    f->list = reallocarray(f->list, f->capacity, sizeof(*f->list));
    if (!f->list)
        base_out_of_memory();
}

void shm_files_begin(struct shm_files *f)
{
    for (size_t i = 0; i < f->count; i++)
        f->list[i].is_there = f->list[i].is_held = false;
}

struct shm_file *shm_files_find(const struct shm_files *f, uint64_t inode)
{
    size_t at = place_of(f, inode);
    return at < f->count && f->list[at].inode == inode ? &f->list[at] : NULL;
}

struct shm_file *shm_files_meet(struct shm_files *f, uint64_t inode)
{
    struct shm_file *known = shm_files_find(f, inode);
    if (!known) {
        size_t at = place_of(f, inode);
        make_room(f);
        memmove(&f->list[at + 1], &f->list[at], (f->count - at) * sizeof(*f->list));
        f->count++;
        known = &f->list[at];
        *known = (struct shm_file){.inode = inode};
    }
    known->is_there = true;
    return known;
}

void shm_files_end(struct shm_files *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].is_there)
            f->list[kept++] = f->list[i];
        else
            free(f->list[i].name);
    }
    f->count = kept;
}

/* ---- who writes ---- */

void shm_writers_release(struct shm_writers *x)
{
    free(x->list);
    *x = (struct shm_writers){0};
}

static const struct shm_writer *find_writer(const struct shm_writers *x, struct proc_id id)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->list[middle].id.pid < id.pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->count && proc_id_equal(x->list[low].id, id) ? &x->list[low] : NULL;
}

void shm_writers_add(struct shm_writers *x, const struct shm_writers *last, struct proc_id id,
                     double bytes)
{
    const struct shm_writer *known = find_writer(last, id);
    double before = last->count == 0 ? bytes : known ? known->before : 0;
    if (x->count == x->capacity) {
        x->capacity = x->capacity ? 2 * x->capacity : 64;
        x->list = reallocarray(x->list, x->capacity, sizeof(*x->list));
        if (!x->list)
            base_out_of_memory();
    }
    x->list[x->count++] = (struct shm_writer){id, bytes, before};
}

bool shm_writers_could(const struct shm_writers *x, double bytes)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->list[i].bytes - x->list[i].before >= bytes)
            return true;
    return false;
}

/* ---- whose they are ---- */

/* Whether there are files that this owner was seen to hold and holds no more. */
static bool left_files(const struct shm_files *f, enum shm_owner owner)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct shm_file *x = &f->list[i];
        if (x->owner == owner && x->was_held && !x->is_held && x->name && x->before == 0)
            return true;
    }
    return false;
}

enum shm_owner shm_judge(const struct shm_files *f, bool job_could, bool others_could)
{
    if (!job_could)
        return SHM_OTHERS;
    if (!others_could)
        return SHM_JOB;
    bool job = left_files(f, SHM_JOB), others = left_files(f, SHM_OTHERS);
    return job == others ? SHM_UNKNOWN : job ? SHM_JOB : SHM_OTHERS;
}

double shm_files_bytes(const struct shm_files *f, enum shm_owner owner, double *ret_room)
{
    double bytes = 0, room = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct shm_file *x = &f->list[i];
        if (x->owner != owner)
            continue;
        bytes += fmax(0, x->bytes - x->before);
        room += fmax(0, x->size - x->bytes);
    }
    if (ret_room)
        *ret_room = room;
    return bytes;
}

size_t shm_files_left(const struct shm_files *f, double *ret_bytes,
                      const struct shm_file **ret_first)
{
    size_t count = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct shm_file *x = &f->list[i];
        if (x->owner != SHM_JOB || x->is_held || !x->name || x->before > 0)
            continue;
        *ret_bytes += x->bytes;
        if (count++ == 0)
            *ret_first = x;
    }
    return count;
}

pid_t shm_name_number(const char *name, size_t *position)
{
    const char *s = name + *position;
    while (*s) {
        const char *begin = s;
        while (isalnum((unsigned char) *s))
            s++;
        char *end = NULL;
        long number = *begin >= '1' && *begin <= '9' ? strtol(begin, &end, 10) : 0;
        bool is_whole = end == s && number <= INT32_MAX;
        s += *s != '\0' && s == begin;
        if (is_whole) {
            *position = (size_t) (s - name);
            return (pid_t) number;
        }
    }
    *position = (size_t) (s - name);
    return 0;
}

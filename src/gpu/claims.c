/* gpu/claims.c: merges what a driver reports per context into one amount per process. */
#include "gpu/claims.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

void gpu_claims_release(struct gpu_claims *c)
{
    free(c->list);
    *c = (struct gpu_claims){0};
}

int gpu_claims_add(struct gpu_claims *c, const struct gpu_claim *claim)
{
    if (c->count == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 32;
        struct gpu_claim *list = realloc(c->list, cap * sizeof *list);
        if (!list)
            return -ENOMEM;
        c->list = list;
        c->cap = cap;
    }
    c->list[c->count++] = *claim;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct gpu_claim *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

size_t gpu_claims_fold(struct gpu_claims *c, struct gpu_process *ret)
{
    if (c->count > 1)
        qsort(c->list, c->count, sizeof *c->list, compare);
    size_t count = 0;
    for (size_t from = 0, to; from < c->count; from = to) {
        const struct gpu_claim *first = &c->list[from];
        double used_bytes = first->used_bytes;
        /* fmax() takes the one that is known. */
        for (to = from + 1; to < c->count && compare(first, &c->list[to]) == 0; to++)
            used_bytes = fmax(used_bytes, c->list[to].used_bytes);
        if (count > 0 && ret[count - 1].pid == first->pid)
            ret[count - 1].used_bytes += used_bytes;
        else
            ret[count++] = (struct gpu_process){first->pid, used_bytes};
    }
    return count;
}

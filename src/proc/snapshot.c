/* proc/snapshot.c: every process of the machine with its arguments, at one moment. */
#include "proc/snapshot.h"
#include "proc/stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int snapshot_find(const struct snapshot *s, pid_t pid)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->list[middle].stat.id.pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->list[low].stat.id.pid == pid ? (int) low : -1;
}

static bool read_process(int root, pid_t pid, struct snapshot_process *ret)
{
    char path[32];
    ret->arguments = BUF_INIT;
    if (proc_stat_read_at(root, pid, &ret->arguments, &ret->stat) < 0 ||
        proc_stat_ended(&ret->stat))
        return false;
    snprintf(path, sizeof path, "%d/cmdline", (int) pid);
    return file_read_at(root, path, &ret->arguments) == 0;
}

/* A pid reused while the snapshot was taken could create a cycle of parents. */
static int find_parent(const struct snapshot *s, size_t i)
{
    int parent = snapshot_find(s, s->list[i].stat.parent);
    size_t steps = 0;
    for (int up = parent; up >= 0; up = snapshot_find(s, s->list[up].stat.parent)) {
        if ((size_t) up == i || steps++ > s->count)
            return -1;
    }
    return parent;
}

int snapshot_take(int root, const struct pids *pids, struct snapshot *ret)
{
    struct snapshot s = {calloc(pids->count ? pids->count : 1, sizeof *s.list), 0};
    if (!s.list)
        return -ENOMEM;
    for (size_t i = 0; i < pids->count; i++) {
        struct snapshot_process *p = &s.list[s.count];
        if (read_process(root, pids->list[i], p))
            s.count++;
        else
            buf_release(&p->arguments);
    }
    for (size_t i = 0; i < s.count; i++)
        s.list[i].parent = find_parent(&s, i);
    *ret = s;
    return 0;
}

void snapshot_release(struct snapshot *s)
{
    for (size_t i = 0; i < s->count; i++)
        buf_release(&s->list[i].arguments);
    free(s->list);
    *s = (struct snapshot){NULL, 0};
}

/* proc/survey.c: the resident memory of every process of the machine. */
#include "proc/file.h"
#include "proc/stat.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct surveyed {
    struct proc_id id;
    double rss;
    char comm[32];
};

/* Ascending by pid. */
struct proc_survey {
    size_t count;
    struct surveyed list[];
};

/* Leaves out processes that end during the survey, and forks without an exit signal: they share
 * their program's memory and are not programs of their own. -ENOMEM. */
static int survey(int root, const struct pids *pids, struct proc_survey **ret)
{
    struct proc_survey *s = malloc(sizeof *s + pids->count * sizeof *s->list);
    if (!s)
        return -ENOMEM;
    s->count = 0;
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < pids->count; i++) {
        struct proc_stat stat;
        if (proc_stat_read_at(root, pids->list[i], &text, &stat) < 0 || proc_stat_ended(&stat) ||
            stat.is_silent)
            continue;
        struct surveyed *one = &s->list[s->count++];
        one->id = stat.id;
        one->rss = stat.rss;
        memcpy(one->comm, stat.comm, sizeof one->comm);
    }
    buf_release(&text);
    *ret = s;
    return 0;
}

int proc_survey_take(const char *root, struct proc_survey **ret)
{
    DIR *directory = opendir(root);
    if (!directory)
        return -errno;
    struct pids pids = PIDS_INIT;
    int r = pids_read(directory, &pids);
    if (r == 0)
        r = survey(dirfd(directory), &pids, ret);
    pids_release(&pids);
    closedir(directory);
    return r;
}

struct proc_survey *proc_survey_free(struct proc_survey *s)
{
    free(s);
    return NULL;
}

int proc_survey_grower(const struct proc_survey *a, const struct proc_survey *b,
                       bool (*skip)(void *context, struct proc_id id, const char *comm),
                       void *context, struct proc_grower *ret)
{
    const struct surveyed *most = NULL;
    double most_before = 0;
    for (size_t i = 0, j = 0; i < b->count; i++) {
        const struct surveyed *now = &b->list[i];
        while (j < a->count && a->list[j].id.pid < now->id.pid)
            j++;
        bool known = j < a->count && proc_id_equal(a->list[j].id, now->id);
        double before = known ? a->list[j].rss : 0;
        double growth = now->rss - before;
        if (growth <= (most ? most->rss - most_before : 0) ||
            (skip && skip(context, now->id, now->comm)))
            continue;
        most = now;
        most_before = before;
    }
    if (!most)
        return -ENOENT;
    *ret = (struct proc_grower){.id = most->id, .before = most_before, .now = most->rss};
    memcpy(ret->comm, most->comm, sizeof ret->comm);
    return 0;
}

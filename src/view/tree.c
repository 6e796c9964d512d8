/* view/tree.c: the living processes of a job, and the verdict on one of them. */
#include "view/series.h"

#include <stdlib.h>
#include <string.h>

void view_tree_release(struct view_tree *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i].command);
    free(t->list);
    *t = (struct view_tree){0};
}

/* The nearest ancestor that lives: a wrapper may have ended. 0: none. */
static int64_t living_parent(const struct job *j, const struct member *m)
{
    size_t most = j->member_count; /* a guard: no chain of parents is longer */
    do {
        m = m->parent.pid > 0 ? job_find(j, m->parent) : NULL;
    } while (m && !member_is_alive(m) && most-- > 0);
    return m && member_is_alive(m) ? m->id.pid : 0;
}

static void add(const struct job *j, const struct member *m, struct view_tree *t)
{
    struct view_process *p = &t->list[t->count++];
    *p = (struct view_process){
        .pid = m->id.pid,
        .parent = living_parent(j, m),
        .command = m->command ? strdup(m->command) : NULL,
        .memory = {.role = m->role.role, .pid = m->id.pid, .grows = member_is_wary(m)},
        .moves = m->moves,
    };
    if (m->command && !p->command)
        base_out_of_memory();
    member_label(m, p->label);
    sheet_add_member(&p->memory, m);
    p->whole = p->memory.pss;
}

static struct view_process *find(const struct view_tree *t, int64_t pid)
{
    for (size_t i = 0; pid > 0 && i < t->count; i++)
        if (t->list[i].pid == pid)
            return &t->list[i];
    return NULL;
}

/* Adds each process to all its ancestors. Parents are alive, so that pids are unique. */
static void sum_up(struct view_tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct view_process *up = find(t, t->list[i].parent);
        for (size_t most = t->count; up && most > 0; most--, up = find(t, up->parent)) {
            up->whole += t->list[i].memory.pss;
            up->descendants++;
        }
    }
}

void view_fill_tree(const struct job *j, struct view_tree *ret)
{
    *ret = (struct view_tree){.list = calloc(j->member_count + 1, sizeof(*ret->list))};
    if (!ret->list)
        base_out_of_memory();
    for (size_t i = 0; i < j->member_count; i++)
        if (member_is_alive(j->members[i]))
            add(j, j->members[i], ret);
    sum_up(ret);
}

/* ---- the verdict on one ---- */

void view_judge_process(const struct view *v, int64_t pid, struct job_answer *ret)
{
    const struct answer **answers = calloc(v->count + 1, sizeof(*answers));
    size_t *places = calloc(v->count + 1, sizeof(*places)), count = 0;
    if (!answers || !places)
        base_out_of_memory();
    for (size_t i = 0; i < v->count; i++) {
        if (v->series[i].info.pid != pid)
            continue;
        answers[count] = &v->series[i].answer;
        places[count++] = i;
    }
    job_judge(answers, NULL, count, ret);
    if (count > 0)
        ret->deciding = places[ret->deciding];
    free(answers);
    free(places);
}

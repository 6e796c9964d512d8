/* proc/roles.c: which processes of the tree wrap, train and help. */
#include "proc/program.h"
#include "proc/stat.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that waits for its child uses less than these shares of its child's CPU and memory. */
#define WAITING_CPU 0.1
#define WAITING_SIZE 0.2
/* An interpreter needs about this much CPU time to start, which proves nothing yet. */
#define START_UP_CPU 1.0
/* A process spawned by multiprocessing is a rank, not a data worker, if it is this many times as
 * large as its parent. */
#define SPAWNED_SIZE 2.0
/* Next to a trainer of a certain size, a process below these shares does something else. */
#define BESIDE_CPU 0.1
#define BESIDE_SIZE 0.05

/* What the judgement has found out about each process. */
struct node {
    struct program program;
    int child, sibling; /* first child, next sibling; -1: none */
    int heaviest; /* of it and its descendants, without helpers, compilers and forks, which share
                     their parent's memory */
};

struct judge {
    const struct role_evidence *e;
    struct role_finding *f;
    struct node *n;
    size_t count;
};

const char *proc_role_name(enum proc_role role)
{
    static const char *const names[] = {
        [ROLE_UNKNOWN] = "unknown",         [ROLE_WRAPPER] = "wrapper",
        [ROLE_TRAINER] = "trainer",         [ROLE_RANK] = "rank",
        [ROLE_DATA_WORKER] = "data worker", [ROLE_COMPILE_WORKER] = "compile worker",
        [ROLE_HELPER] = "helper",
    };
    assert((size_t) role < sizeof names / sizeof *names);
    return names[role];
}

/* ---- evidence ---- */

static double size_of(const struct role_evidence *e)
{
    return fmax(e->anon, e->peak_anon);
}

/* `a` uses less than these shares of the CPU time and memory of `b`; false if unknown. */
static bool is_small_beside(const struct role_evidence *a, const struct role_evidence *b,
                            double cpu, double size)
{
    return a->cpu_seconds < cpu * b->cpu_seconds && size_of(a) < size * size_of(b);
}

/* `a` has done nothing since it started but wait for `b`. */
static bool only_waits(const struct role_evidence *a, const struct role_evidence *b)
{
    double cpu = a->cpu_seconds;
    return cpu < b->cpu_seconds && cpu < START_UP_CPU + WAITING_CPU * b->cpu_seconds &&
           size_of(a) < WAITING_SIZE * size_of(b);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_rank(const struct role_evidence *e)
{
    return e->rank || e->local_rank;
}

/* It was given a rank of its own rather than inheriting one. */
static bool has_own_rank(const struct judge *j, int i)
{
    const struct role_evidence *e = &j->e[i];
    if (!has_rank(e) || e->parent < 0)
        return has_rank(e);
    const struct role_evidence *parent = &j->e[e->parent];
    return !same_text(e->rank, parent->rank) || !same_text(e->local_rank, parent->local_rank);
}

/* -1: absent or not a number. */
static int parse_rank(const char *text)
{
    if (!text || *text < '0' || *text > '9')
        return -1;
    char *end;
    long number = strtol(text, &end, 10);
    return *end == '\0' && number <= 1000 * 1000 ? (int) number : -1;
}

static int rank_number(const struct role_evidence *e)
{
    return parse_rank(e->rank ? e->rank : e->local_rank);
}

/*
 * A child that was started as a rank. A trainer that set its own rank at run time passes it on to
 * every tool or worker it starts, so those are judged by what they are.
 */
static bool is_started_rank(const struct judge *j, int c)
{
    return has_own_rank(j, c) && j->n[c].program.sort == PROGRAM_ANY &&
           !is_small_beside(&j->e[c], &j->e[j->e[c].parent], WAITING_CPU, WAITING_SIZE);
}

/* The lowest local rank among the ranks it started; -1: it started none. */
static int first_rank_started(const struct judge *j, int i)
{
    int first = -1;
    for (int c = j->n[i].child; c >= 0; c = j->n[c].sibling) {
        const struct role_evidence *e = &j->e[c];
        int number = e->local_rank ? parse_rank(e->local_rank) : rank_number(e);
        if (number >= 0 && (first < 0 || number < first) && is_started_rank(j, c))
            first = number;
    }
    return first;
}

/* ---- findings ---- */

__attribute__((format(printf, 4, 5))) static void find(struct judge *j, int i, enum proc_role role,
                                                       const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    j->f[i].role = role;
    j->f[i].rank = -1;
    copy_clean(j->f[i].why, sizeof j->f[i].why, why);
}

static const char *name_of(const struct judge *j, int i)
{
    const char *name = j->n[i].program.name;
    return *name ? name : "a process without a name";
}

static bool is_lead(const struct judge *j, int i)
{
    return j->f[i].role == ROLE_TRAINER || j->f[i].role == ROLE_RANK;
}

static void add_rank(struct judge *j, int i)
{
    const struct role_evidence *e = &j->e[i];
    const char *variable = e->rank ? "RANK" : "LOCAL_RANK";
    const char *value = e->rank ? e->rank : e->local_rank;
    if (e->parent >= 0)
        find(j, i, ROLE_RANK, "started by %s with %s=%.12s", name_of(j, e->parent), variable,
             value);
    else
        find(j, i, ROLE_RANK, "has %s=%.12s in its environment", variable, value);
    j->f[i].rank = rank_number(e);
}

static void add_trainer(struct judge *j, int i)
{
    int parent = j->e[i].parent;
    if (parent >= 0)
        find(j, i, ROLE_TRAINER, "started by %s, and not a wrapper itself", name_of(j, parent));
    else if (j->n[i].child < 0 && j->count == 1)
        find(j, i, ROLE_TRAINER, "the only process of the job");
    else
        find(j, i, ROLE_TRAINER, "the first process, and not a wrapper");
}

/* ---- below a trainer ---- */

static void judge_below(struct judge *j, int i);

static void judge_children_below(struct judge *j, int i)
{
    for (int c = j->n[i].child; c >= 0; c = j->n[c].sibling)
        judge_below(j, c);
}

/* Judges a process that trains, and everything below it. */
static void judge_lead(struct judge *j, int i)
{
    int first = first_rank_started(j, i);
    if (has_rank(&j->e[i])) {
        add_rank(j, i);
    } else if (first > 0) {
        find(j, i, ROLE_RANK, "started rank %d and is rank 0 itself", first);
        j->f[i].rank = 0;
    } else {
        add_trainer(j, i);
    }
    judge_children_below(j, i);
}

/* Judges a process by its name or arguments, wherever it is in the tree. False: unknown. */
static bool judge_known(struct judge *j, int i)
{
    switch (j->n[i].program.sort) {
    case PROGRAM_COMPILER:
        find(j, i, ROLE_COMPILE_WORKER, "%s compiles code", name_of(j, i));
        return true;
    case PROGRAM_HELPER:
    case PROGRAM_FORK_SERVER:
        find(j, i, ROLE_HELPER, "%s is known not to train", name_of(j, i));
        return true;
    default:
        return false;
    }
}

/* A forked process still runs its parent's program: a fork of a helper helps, a fork of a trainer
 * feeds it. */
static void judge_forked(struct judge *j, int i)
{
    int parent = j->e[i].parent;
    const struct role_finding *of = &j->f[parent];
    if (is_lead(j, parent))
        find(j, i, ROLE_DATA_WORKER, "forked by the %s without exec", proc_role_name(of->role));
    else if (j->n[parent].program.sort == PROGRAM_FORK_SERVER)
        find(j, i, ROLE_DATA_WORKER, "forked by %s", name_of(j, parent));
    else
        find(j, i, of->role, "forked by a %s without exec", proc_role_name(of->role));
}

static void judge_below(struct judge *j, int i)
{
    const struct role_evidence *e = &j->e[i];
    if (e->comm && strncmp(e->comm, "pt_data_", 8) == 0)
        find(j, i, ROLE_DATA_WORKER, "torch named it %s", e->comm);
    else if (is_started_rank(j, i)) {
        judge_lead(j, i);
        return;
    } else if (e->forked)
        judge_forked(j, i);
    else if (j->n[i].program.sort == PROGRAM_SPAWNED)
        find(j, i, ROLE_DATA_WORKER, "spawned by %s", name_of(j, i));
    else if (!judge_known(j, i))
        find(j, i, ROLE_HELPER, "another program, started by the %s",
             proc_role_name(j->f[e->parent].role));
    judge_children_below(j, i);
}

/* ---- from the top to the trainers ---- */

/* The process it only waits for: the heaviest one in a child's tree, or a spawned child; -1:
 * none. */
static int child_waited_for(const struct judge *j, int i)
{
    const struct role_evidence *e = &j->e[i];
    for (int c = j->n[i].child; c >= 0; c = j->n[c].sibling) {
        enum program_sort sort = j->n[c].program.sort;
        int heaviest = j->n[c].heaviest;
        if (heaviest < 0)
            continue;
        bool may_train = sort == PROGRAM_ANY || sort == PROGRAM_WRAPPER;
        if (may_train && only_waits(e, &j->e[heaviest]))
            return heaviest;
        if (sort == PROGRAM_SPAWNED && is_small_beside(e, &j->e[c], WAITING_CPU, 1 / SPAWNED_SIZE))
            return c;
    }
    return -1;
}

/* True if it is a wrapper; the finding is set. */
static bool judge_wrapper(struct judge *j, int i)
{
    const struct role_evidence *e = &j->e[i];
    int waited_for = child_waited_for(j, i);
    if (j->n[i].program.sort == PROGRAM_WRAPPER)
        find(j, i, ROLE_WRAPPER, "%s starts other programs and waits for them", name_of(j, i));
    else if (first_rank_started(j, i) == 0)
        find(j, i, ROLE_WRAPPER, "starts the ranks and is not one itself");
    else if (waited_for >= 0)
        find(j, i, ROLE_WRAPPER, "waits for %s: %.0f %% of its CPU time, %.0f %% of its memory",
             name_of(j, waited_for), 100 * e->cpu_seconds / j->e[waited_for].cpu_seconds,
             100 * size_of(e) / size_of(&j->e[waited_for]));
    return j->f[i].role == ROLE_WRAPPER;
}

/* How many children of this parent multiprocessing spawned. */
static int count_spawned(const struct judge *j, int parent)
{
    int count = 0;
    for (int c = j->n[parent].child; c >= 0; c = j->n[c].sibling)
        count += j->n[c].program.sort == PROGRAM_SPAWNED;
    return count;
}

/* Their parent only waits, so the spawned processes do the work. */
static void judge_spawned(struct judge *j, int i)
{
    int count = j->e[i].parent >= 0 ? count_spawned(j, j->e[i].parent) : 1;
    judge_lead(j, i);
    if (count > 1 && j->f[i].role == ROLE_TRAINER)
        find(j, i, ROLE_RANK, "one of %d spawned processes that do the work", count);
}

static void judge_top(struct judge *j, int i)
{
    if (judge_known(j, i)) {
        judge_children_below(j, i);
    } else if (judge_wrapper(j, i)) {
        for (int c = j->n[i].child; c >= 0; c = j->n[c].sibling)
            judge_top(j, c);
    } else if (j->n[i].program.sort == PROGRAM_SPAWNED) {
        judge_spawned(j, i);
    } else {
        judge_lead(j, i);
    }
}

/* ---- the whole tree ---- */

static int heavier(const struct judge *j, int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return size_of(&j->e[b]) > size_of(&j->e[a]) ? b : a;
}

static void weigh(struct judge *j, int i)
{
    enum program_sort sort = j->n[i].program.sort;
    bool counts = sort != PROGRAM_HELPER && sort != PROGRAM_COMPILER && sort != PROGRAM_FORK_SERVER;
    j->n[i].heaviest = counts && !j->e[i].forked ? i : -1;
    for (int c = j->n[i].child; c >= 0; c = j->n[c].sibling) {
        weigh(j, c);
        if (counts)
            j->n[i].heaviest = heavier(j, j->n[i].heaviest, j->n[c].heaviest);
    }
}

static int largest_lead(const struct judge *j)
{
    int largest = -1;
    for (int i = 0; i < (int) j->count; i++) {
        if (is_lead(j, i))
            largest = heavier(j, largest, i);
    }
    return largest;
}

/* A monitor that the job script started next to the training is not a second training. */
static void demote_small(struct judge *j, int largest)
{
    for (int i = 0; i < (int) j->count; i++) {
        if (j->f[i].role != ROLE_TRAINER || i == largest ||
            !is_small_beside(&j->e[i], &j->e[largest], BESIDE_CPU, BESIDE_SIZE))
            continue;
        find(j, i, ROLE_HELPER, "small and idle beside %s", name_of(j, largest));
        judge_children_below(j, i);
    }
}

/* Every job has a trainer, even if it is called bash or sleep. */
static void promote(struct judge *j)
{
    int known = -1, wrapper = -1;
    for (int i = 0; i < (int) j->count; i++) {
        int parent = j->e[i].parent;
        bool top = parent < 0 || j->f[parent].role == ROLE_WRAPPER;
        if (j->f[i].role == ROLE_WRAPPER && j->n[i].child < 0)
            wrapper = heavier(j, wrapper, i);
        else if (j->f[i].role != ROLE_WRAPPER && j->f[i].role != ROLE_UNKNOWN && top)
            known = heavier(j, known, i);
    }
    int best = known >= 0 ? known : wrapper;
    if (best < 0)
        return;
    judge_lead(j, best);
    if (j->f[best].role == ROLE_TRAINER && j->count > 1)
        find(j, best, ROLE_TRAINER, "no other process of the job could be the trainer");
}

static void link_nodes(struct judge *j)
{
    for (size_t i = 0; i < j->count; i++) {
        const struct role_evidence *e = &j->e[i];
        struct node *n = &j->n[i];
        program_identify(e->arguments, e->arguments_len, e->comm, &n->program);
        n->child = n->sibling = n->heaviest = -1;
        j->f[i] = (struct role_finding){.role = ROLE_UNKNOWN, .rank = -1};
    }
    /* Backwards, so that the children come out in order. */
    for (int i = (int) j->count - 1; i >= 0; i--) {
        int parent = j->e[i].parent;
        if (parent < 0)
            continue;
        assert((size_t) parent < j->count);
        j->n[i].sibling = j->n[parent].child;
        j->n[parent].child = i;
    }
}

/* A process that counts steps trains, whatever it looks like from outside. */
static void believe_counts(struct judge *j)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->e[i].counts_steps && j->f[i].role != ROLE_TRAINER && j->f[i].role != ROLE_RANK)
            find(j, (int) i, ROLE_TRAINER, "it reports training steps");
}

void roles_judge(const struct role_evidence *evidence, size_t count, struct role_finding *ret)
{
    struct judge j = {evidence, ret, calloc(count ? count : 1, sizeof(struct node)), count};
    if (!j.n) {
        for (size_t i = 0; i < count; i++)
            ret[i] = (struct role_finding){.role = ROLE_UNKNOWN, .rank = -1};
        return;
    }
    link_nodes(&j);
    for (int i = 0; i < (int) count; i++) {
        if (evidence[i].parent >= 0)
            continue;
        weigh(&j, i);
        judge_top(&j, i);
    }
    int largest = largest_lead(&j);
    if (largest >= 0)
        demote_small(&j, largest);
    else
        promote(&j);
    believe_counts(&j);
    free(j.n);
}

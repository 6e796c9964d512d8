/* proc/find.c: which process a part of a command line means. */
#include "proc/command.h"
#include "proc/program.h"
#include "proc/snapshot.h"
#include "proc/stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that hold a rank. */
enum { VARIABLE_RANK, VARIABLE_LOCAL_RANK, VARIABLE_COUNT };

/* A process that may be the answer. */
struct answer {
    int process;
    enum proc_role role;
};

/* The state of one search; the arrays have an element for each process. */
struct search {
    const char *root;
    struct snapshot all;
    bool *barred;  /* never an answer */
    bool *matches; /* the pattern fits, and it is not barred */
    bool *deep;    /* it has loaded a library of deep learning, or CUDA */
    int *place;    /* index among the evidence of the tree being judged, -1: not in it */
    struct answer *answers;
    size_t answer_count;
};

static const struct snapshot_process *process(const struct search *s, int i)
{
    return &s->all.list[i];
}

/* ---- what may match ---- */

/* Programs that only mention the files they show or edit. */
static bool only_mentions(const struct snapshot_process *p)
{
    static const char *const names[] = {
        "vi",   "vim",   "nvim", "nano",   "emacs",  "code", "less",     "more",
        "tail", "head",  "cat",  "grep",   "egrep",  "rg",   "ag",       "pgrep",
        "ps",   "watch", "tmux", "screen", "SCREEN", "ssh",  "scp",      "rsync",
        "git",  "sed",   "awk",  "pkill",  "tee",    "man",  "tidemark", "tmux:",
    };
    struct program program;
    program_identify(buf_text(&p->arguments), p->arguments.len, p->stat.comm, &program);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(program.name, names[i]) == 0)
            return true;
    }
    return false;
}

static void bar(struct search *s, pid_t self)
{
    for (int i = 0; i < (int) s->all.count; i++)
        s->barred[i] = process(s, i)->arguments.len == 0 || only_mentions(process(s, i));
    /* The shell this was typed in has the pattern in its arguments too. */
    for (int i = snapshot_find(&s->all, self); i >= 0; i = process(s, i)->parent)
        s->barred[i] = true;
}

/* The arguments, joined by blanks. */
static void join_arguments(const struct snapshot_process *p, struct buf *ret)
{
    buf_clear(ret);
    const struct buf *a = &p->arguments;
    size_t len = a->len;
    while (len > 0 && a->text[len - 1] == '\0')
        len--;
    for (size_t i = 0; i < len; i++)
        buf_addc(ret, a->text[i] ? a->text[i] : ' ');
}

/* Marks what matches and returns how many do. `regex` NULL: plain text. */
static size_t match_all(struct search *s, const char *pattern, const regex_t *regex)
{
    size_t count = 0;
    struct buf line = BUF_INIT;
    for (int i = 0; i < (int) s->all.count; i++) {
        join_arguments(process(s, i), &line);
        const char *text = buf_text(&line);
        bool fits = regex ? regexec(regex, text, 0, NULL, 0) == 0 : strstr(text, pattern) != NULL;
        s->matches[i] = fits && !s->barred[i];
        count += s->matches[i];
    }
    buf_release(&line);
    return count;
}

/* -EINVAL: neither a part of any command line nor a valid expression. */
static int match(struct search *s, const char *pattern)
{
    if (*pattern == '\0')
        return -EINVAL;
    if (match_all(s, pattern, NULL) > 0)
        return 0;
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return -EINVAL;
    match_all(s, pattern, &regex);
    regfree(&regex);
    return 0;
}

/* ---- what looks like training ---- */

/* Less than any such library takes, once it is loaded. */
#define LIBRARY_LEAST 0x1p25

static bool has_loaded_library(const struct search *s, const struct snapshot_process *p)
{
    static const char *const names[] = {"libtorch",      "libcuda.so",    "libcudart",
                                        "libtensorflow", "xla_extension", "libjax_common",
                                        "libmxnet",      "libpaddle"};
    struct buf path = BUF_INIT, maps = BUF_INIT;
    bool found = false;
    if (p->stat.rss < LIBRARY_LEAST)
        return false;
    buf_addf(&path, "%s/%d/maps", s->root, (int) p->stat.id.pid);
    if (file_read_list_at(AT_FDCWD, buf_text(&path), &maps) == 0)
        for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
            found = strstr(buf_text(&maps), names[i]) != NULL;
    buf_release(&path);
    buf_release(&maps);
    return found;
}

static bool looks_like_training(const struct snapshot_process *p, bool deep)
{
    struct program program;
    program_identify(buf_text(&p->arguments), p->arguments.len, p->stat.comm, &program);
    bool may_train = program.sort == PROGRAM_ANY || program.sort == PROGRAM_SPAWNED;
    return may_train && (deep || proc_command_is_python(buf_text(&p->arguments)));
}

static void match_training(struct search *s)
{
    for (int i = 0; i < (int) s->all.count; i++) {
        if (s->barred[i])
            continue;
        s->deep[i] = has_loaded_library(s, process(s, i));
        s->matches[i] = looks_like_training(process(s, i), s->deep[i]);
    }
}

/* ---- the evidence of one tree ---- */

struct evidence_of {
    int process;
    struct buf variables[VARIABLE_COUNT];
};

/* A match and all its descendants, parents first. */
struct family {
    struct role_evidence *evidence;
    struct role_finding *findings;
    struct evidence_of *of;
    size_t count;
};

static void family_release(struct family *f)
{
    for (size_t i = 0; f->of && i < f->count; i++) {
        for (int v = 0; v < VARIABLE_COUNT; v++)
            buf_release(&f->of[i].variables[v]);
    }
    free(f->evidence);
    free(f->findings);
    free(f->of);
}

static int family_new(size_t most, struct family *ret)
{
    *ret = (struct family){calloc(most, sizeof *ret->evidence), calloc(most, sizeof *ret->findings),
                           calloc(most, sizeof *ret->of), 0};
    if (ret->evidence && ret->findings && ret->of)
        return 0;
    family_release(ret);
    return -ENOMEM;
}

static void read_details(const struct search *s, struct evidence_of *of, struct role_evidence *e)
{
    static const char *const names[VARIABLE_COUNT] = {"RANK", "LOCAL_RANK"};
    struct proc *p;
    if (proc_open(s->root, process(s, of->process)->stat.id, &p) < 0)
        return;
    struct proc_status status;
    if (proc_read_status(p, &status) == 0)
        e->anon = status.anon;
    const char **values[VARIABLE_COUNT] = {&e->rank, &e->local_rank};
    for (int v = 0; v < VARIABLE_COUNT; v++) {
        if (proc_read_variable(p, names[v], &of->variables[v]) == 0)
            *values[v] = buf_text(&of->variables[v]);
    }
    proc_free(p);
}

static bool same_arguments(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(buf_text(a), buf_text(b), a->len) == 0;
}

static void family_add(struct search *s, struct family *f, int i)
{
    const struct snapshot_process *p = process(s, i);
    struct role_evidence *e = &f->evidence[f->count];
    f->of[f->count] = (struct evidence_of){i, {BUF_INIT, BUF_INIT}};
    *e = (struct role_evidence){
        .arguments = buf_text(&p->arguments),
        .arguments_len = p->arguments.len,
        .comm = p->stat.comm,
        .parent = f->count == 0 ? -1 : s->place[p->parent],
        .anon = p->stat.rss,
        .peak_anon = NAN,
        .cpu_seconds = (double) p->stat.cpu_ticks / (double) sysconf(_SC_CLK_TCK),
        .age_seconds = NAN,
    };
    e->forked = e->parent >= 0 && same_arguments(&p->arguments, &process(s, p->parent)->arguments);
    read_details(s, &f->of[f->count], e);
    s->place[i] = (int) f->count++;
}

/* Repeats until nobody joins: pids wrap around, so children may come before parents. */
static void family_fill(struct search *s, struct family *f, int top)
{
    for (int i = 0; i < (int) s->all.count; i++)
        s->place[i] = -1;
    family_add(s, f, top);
    for (size_t before = 0; before < f->count;) {
        before = f->count;
        for (int i = 0; i < (int) s->all.count; i++) {
            int parent = process(s, i)->parent;
            if (s->place[i] < 0 && parent >= 0 && s->place[parent] >= 0 &&
                process(s, i)->arguments.len > 0)
                family_add(s, f, i);
        }
    }
}

static void answer(struct search *s, int i, enum proc_role role)
{
    for (size_t k = 0; k < s->answer_count; k++) {
        if (s->answers[k].process == i)
            return;
    }
    s->answers[s->answer_count++] = (struct answer){i, role};
}

/* A shell between two commands: nobody means the `sleep` it waits for. */
static bool is_passing(const struct search *s, int i)
{
    const struct snapshot_process *p = process(s, i);
    struct program program;
    program_identify(buf_text(&p->arguments), p->arguments.len, p->stat.comm, &program);
    return !s->matches[i] && (program.sort == PROGRAM_HELPER || program.sort == PROGRAM_COMPILER);
}

static void answer_lead(struct search *s, const struct family *f, size_t lead)
{
    int i = f->of[lead].process, parent = f->evidence[lead].parent;
    enum proc_role role = f->findings[lead].role;
    if (s->barred[i] || (role != ROLE_TRAINER && role != ROLE_RANK))
        return;
    /* A rank that started the others has them in its tree. */
    if (role == ROLE_RANK && parent >= 0 && f->findings[parent].role == ROLE_RANK)
        return;
    if (is_passing(s, i))
        answer(s, f->of[0].process, f->findings[0].role);
    else
        answer(s, i, role);
}

static int judge_family(struct search *s, int top)
{
    struct family f;
    int r = family_new(s->all.count, &f);
    if (r < 0)
        return r;
    family_fill(s, &f, top);
    roles_judge(f.evidence, f.count, f.findings);
    for (size_t i = 0; i < f.count; i++)
        answer_lead(s, &f, i);
    family_release(&f);
    return 0;
}

/* It matches, and none of its ancestors does. */
static bool is_top(const struct search *s, int i)
{
    if (!s->matches[i])
        return false;
    for (int up = process(s, i)->parent; up >= 0; up = process(s, up)->parent) {
        if (s->matches[up])
            return false;
    }
    return true;
}

static bool is_rank_of(const struct search *s, size_t i, int parent)
{
    return s->answers[i].role == ROLE_RANK && process(s, s->answers[i].process)->parent == parent;
}

/* A launcher of at least two of the matches; -1: none. */
static int common_launcher(const struct search *s)
{
    for (size_t i = 0; i < s->answer_count; i++) {
        int parent = process(s, s->answers[i].process)->parent;
        if (parent < 0 || s->barred[parent] || !is_rank_of(s, i, parent))
            continue;
        for (size_t k = i + 1; k < s->answer_count; k++) {
            if (is_rank_of(s, k, parent))
                return parent;
        }
    }
    return -1;
}

/* The ranks of one launcher are one job, and only the launcher's tree holds them all. */
static void merge_ranks(struct search *s)
{
    for (int launcher; (launcher = common_launcher(s)) >= 0;) {
        size_t kept = 0;
        for (size_t i = 0; i < s->answer_count; i++) {
            if (!is_rank_of(s, i, launcher))
                s->answers[kept++] = s->answers[i];
        }
        s->answers[kept++] = (struct answer){launcher, ROLE_WRAPPER};
        s->answer_count = kept;
    }
}

static void fill_match(const struct search *s, const struct answer *a, struct proc_match *ret)
{
    const struct snapshot_process *p = process(s, a->process);
    *ret = (struct proc_match){
        .id = p->stat.id, .role = a->role, .rss = p->stat.rss, .has_library = s->deep[a->process]};
    struct buf command = BUF_INIT;
    proc_add_command(&command, buf_text(&p->arguments), p->arguments.len);
    copy_clean(ret->command, sizeof ret->command, buf_text(&command));
    buf_release(&command);
}

static int by_size(const void *a, const void *b)
{
    const struct proc_match *x = a, *y = b;
    if (x->has_library != y->has_library)
        return x->has_library ? -1 : 1;
    return (x->rss < y->rss) - (x->rss > y->rss);
}

/* `pattern` NULL: whatever looks like training. */
static int search(struct search *s, const char *pattern, pid_t self)
{
    int r = 0;
    bar(s, self);
    if (pattern)
        r = match(s, pattern);
    else
        match_training(s);
    for (int i = 0; i < (int) s->all.count && r == 0; i++) {
        if (is_top(s, i))
            r = judge_family(s, i);
    }
    if (r == 0)
        merge_ranks(s);
    return r;
}

static int give_matches(const struct search *s, struct proc_match **ret_list, size_t *ret_count)
{
    struct proc_match *list = calloc(s->answer_count ? s->answer_count : 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < s->answer_count; i++)
        fill_match(s, &s->answers[i], &list[i]);
    qsort(list, s->answer_count, sizeof *list, by_size);
    *ret_list = list;
    *ret_count = s->answer_count;
    return (int) s->answer_count;
}

static int snapshot_of(const char *root, struct snapshot *ret)
{
    DIR *directory = opendir(root);
    if (!directory)
        return -errno;
    struct pids pids = PIDS_INIT;
    int r = pids_read(directory, &pids);
    if (r == 0)
        r = snapshot_take(dirfd(directory), &pids, ret);
    pids_release(&pids);
    closedir(directory);
    return r;
}

static int find(const char *root, const char *pattern, pid_t self, struct proc_match **ret_list,
                size_t *ret_count)
{
    struct search s = {.root = root};
    int r = snapshot_of(root, &s.all);
    if (r < 0)
        return r;
    size_t most = s.all.count ? s.all.count : 1;
    s.barred = calloc(most, sizeof *s.barred);
    s.matches = calloc(most, sizeof *s.matches);
    s.deep = calloc(most, sizeof *s.deep);
    s.place = calloc(most, sizeof *s.place);
    s.answers = calloc(most, sizeof *s.answers);
    bool has_room = s.barred && s.matches && s.deep && s.place && s.answers;
    r = has_room ? search(&s, pattern, self) : -ENOMEM;
    if (r == 0)
        r = give_matches(&s, ret_list, ret_count);
    free(s.barred);
    free(s.matches);
    free(s.deep);
    free(s.place);
    free(s.answers);
    snapshot_release(&s.all);
    return r;
}

int proc_find(const char *root, const char *pattern, pid_t self, struct proc_match **ret_list,
              size_t *ret_count)
{
    return find(root, pattern, self, ret_list, ret_count);
}

int proc_find_training(const char *root, pid_t self, struct proc_match **ret_list,
                       size_t *ret_count)
{
    return find(root, NULL, self, ret_list, ret_count);
}

/* cli/traced.c: the traced sites of a run file, and the user's choice among them. */
#include "cli/traced.h"

#include "cli/cli.h"
#include "cli/load_run.h"
#include "sites/sites.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct traced {
    struct store *store;
    struct recording *recording;
    struct report_stacks stacks;
    struct report_sites *list;
    int64_t *ids; /* of the processes of the list, in the store */
    size_t count, unreadable;
    char *span;
};

/* ---- options ---- */

/* SITE_KINDS: none. */
static enum site_kind kind_named(const char *name, size_t len)
{
    unsigned i = 0;
    while (i < SITE_KINDS && (strlen(site_kind_name((enum site_kind) i)) != len ||
                              strncmp(site_kind_name((enum site_kind) i), name, len) != 0))
        i++;
    return (enum site_kind) i;
}

int traced_parse_kind(const char *text, void *ret_kinds)
{
    unsigned kinds = 0;
    for (const char *s = text; *s; s += strspn(s, ",")) {
        size_t len = strcspn(s, ",");
        enum site_kind kind = kind_named(s, len);
        if (kind == SITE_KINDS)
            return -EINVAL;
        kinds |= 1u << kind;
        s += len;
    }
    *(unsigned *) ret_kinds |= kinds;
    return kinds ? 0 : -EINVAL;
}

/* Seconds of a unit of time; 0: it is none. */
static double time_unit(const char *word)
{
    static const struct {
        const char *word;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(word, units[i].word) == 0)
            return units[i].seconds;
    return 0;
}

int traced_parse_moment(const char *text, void *ret_moment)
{
    char *end;
    double number = strtod(text, &end), unit = time_unit(end);
    struct traced_moment *m = ret_moment;
    if (end == text || !isfinite(number) || number < 0 || (*end && unit == 0))
        return -EINVAL;
    *m = (struct traced_moment){*end ? (double) NAN : number, *end ? number * unit : (double) NAN};
    return 0;
}

static bool is_given(const struct traced_moment *m)
{
    return isfinite(m->step) || isfinite(m->seconds);
}

bool traced_options_given(const struct traced_options *o)
{
    return o->growth || o->live || o->allocated || o->pid > 0 || o->kinds || is_given(&o->from) ||
           is_given(&o->to);
}

static int check_options(const char *path, const struct traced_options *o)
{
    if (o->growth + o->live + o->allocated > 1) {
        cli_say("%s: choose one of --growth, --live and --allocated", path);
        return -EINVAL;
    }
    if (o->live && is_given(&o->from)) {
        cli_say("%s: --live shows one moment: --to chooses it, --from has no meaning", path);
        return -EINVAL;
    }
    return 0;
}

/* ---- processes ---- */

static int add_sites(void *context, int64_t process, const char *text)
{
    struct traced *t = context;
    struct sites *sites;
    if (sites_parse(text, strlen(text), &sites) < 0) {
        t->unreadable++;
        return 0;
    }
    t->list = reallocarray(t->list, t->count + 1, sizeof(*t->list));
    t->ids = reallocarray(t->ids, t->count + 1, sizeof(*t->ids));
    if (!t->list || !t->ids)
        base_out_of_memory();
    t->ids[t->count] = process;
    t->list[t->count++] = (struct report_sites){.sites = sites, .growth = NAN};
    return 0;
}

static int name_process(void *context, int64_t id, const struct store_process *p)
{
    struct traced *t = context;
    for (size_t i = 0; i < t->count; i++) {
        struct buf name = BUF_INIT;
        if (t->ids[i] != id || t->list[i].process)
            continue;
        if (p->role)
            buf_addf(&name, "%s ", p->role);
        buf_addf(&name, "%lld", (long long) p->pid);
        t->list[i].process = name.text;
        t->list[i].pid = p->pid;
    }
    return 0;
}

static void drop_process(struct traced *t, size_t i)
{
    sites_free((struct sites *) t->list[i].sites);
    free((char *) t->list[i].process);
    t->count--;
    memmove(&t->list[i], &t->list[i + 1], (t->count - i) * sizeof(*t->list));
    memmove(&t->ids[i], &t->ids[i + 1], (t->count - i) * sizeof(*t->ids));
}

static void say_processes(const struct traced *t, const char *path, double pid)
{
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < t->count; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", t->list[i].process);
    cli_say("%s: process %.0f was not traced; traced were: %s", path, pid, buf_text(&names));
    buf_release(&names);
}

static int choose_process(struct traced *t, const char *path, double pid)
{
    bool found = false;
    for (size_t i = 0; i < t->count; i++)
        found |= (double) t->list[i].pid == pid;
    if (pid > 0 && !found) {
        say_processes(t, path, pid);
        return -EINVAL;
    }
    for (size_t i = t->count; pid > 0 && i-- > 0;)
        if ((double) t->list[i].pid != pid)
            drop_process(t, i);
    return 0;
}

static int check_traced(const struct traced *t, const char *path)
{
    if (t->count > 0)
        return 0;
    if (t->unreadable > 0)
        cli_say("%s: its traced allocations are damaged or of another version of tidemark", path);
    else if (!store_is_finished(t->store))
        cli_say("%s: no allocations were traced yet: the run has not ended; try again later", path);
    else
        cli_say("%s: no allocations were traced: nothing grew enough to be suspect, or tracing was"
                " off; trace from the start with: tidemark run --trace -- COMMAND",
                path);
    return -ENODATA;
}

static int read_processes(struct traced *t, const char *path, const struct traced_options *o)
{
    int r = store_each_sites(t->store, add_sites, t);
    if (r == 0)
        r = store_each_process(t->store, name_process, t);
    for (size_t i = t->count; i-- > 0;)
        if (!t->list[i].process)
            drop_process(t, i); /* a damaged file may lack the process */
    if (r < 0) {
        load_run_explain(path, r);
        return r;
    }
    r = check_traced(t, path);
    return r < 0 ? r : choose_process(t, path, o->pid);
}

/* ---- the span ---- */

/* When a step of the last count was reached. */
struct reached {
    double step, seconds;
    double before_step, before_seconds, last_step;
};

static int reach_mark(void *context, double seconds, double step, bool begins)
{
    struct reached *m = context;
    if (begins) {
        *m = (struct reached){m->step, NAN, NAN, NAN, NAN};
        return 0;
    }
    if (!isfinite(step))
        return 0;
    if (isnan(m->seconds) && step >= m->step) {
        double share = (m->step - m->before_step) / (step - m->before_step);
        m->seconds =
            share > 0 ? m->before_seconds + share * (seconds - m->before_seconds) : seconds;
    }
    m->before_step = m->last_step = step;
    m->before_seconds = seconds;
    return 0;
}

static int find_seconds(const struct traced *t, const char *path, const struct traced_moment *m,
                        double *ret)
{
    struct reached reached = {m->step, NAN, NAN, NAN, NAN};
    *ret = m->seconds;
    if (!isfinite(m->step))
        return 0;
    recording_each_mark(t->recording, reach_mark, &reached);
    *ret = reached.seconds;
    if (isfinite(*ret))
        return 0;
    if (isnan(reached.last_step))
        cli_say("%s: the run reported no steps: give a time such as %gs", path, m->step);
    else
        cli_say("%s: the run reported no step %g: the last is %g", path, m->step,
                reached.last_step);
    return -EINVAL;
}

/* The last step before a moment. */
struct passed {
    double seconds, step;
};

static int pass_mark(void *context, double seconds, double step, bool begins)
{
    struct passed *p = context;
    if (begins)
        p->step = NAN;
    else if (isfinite(step) && (seconds <= p->seconds || isnan(p->step)))
        p->step = step;
    return 0;
}

/* NAN: the run reported no steps. */
static double step_at(const struct traced *t, const struct traced_moment *m, double seconds)
{
    struct passed p = {seconds, NAN};
    if (isfinite(m->step))
        return m->step;
    recording_each_mark(t->recording, pass_mark, &p);
    return p.step;
}

/* When the second step and the last one were reported. */
struct ends_of_steps {
    unsigned count;
    double second, last;
};

static int reach_step(void *context, double seconds, double step, bool begins)
{
    struct ends_of_steps *e = context;
    if (begins || !isfinite(step))
        return 0;
    if (++e->count == 2)
        e->second = seconds;
    e->last = seconds;
    return 0;
}

static void find_steps(struct traced *t)
{
    struct ends_of_steps e = {0, NAN, NAN};
    recording_each_mark(t->recording, reach_step, &e);
    t->stacks.second_step = e.second;
    t->stacks.last_step = e.last;
}

/* "steps 100 to 940", "step 940"; nothing where times were given or there are no steps: the report
 * has the times. */
static void name_span(struct traced *t, const struct traced_options *o)
{
    struct buf span = BUF_INIT;
    if (isfinite(o->from.seconds) || isfinite(o->to.seconds))
        return;
    double from = step_at(t, &o->from, report_stacks_from(&t->stacks));
    double to = step_at(t, &o->to, report_stacks_to(&t->stacks));
    if (!(from <= to))
        return; /* also where the count began anew in between */
    if (o->live)
        buf_addf(&span, "step %.0f", to);
    else
        buf_addf(&span, "steps %.0f to %.0f", from, to);
    t->stacks.span = t->span = span.text;
}

/* Whether anything was sampled in the span. */
static int check_traced_then(const struct traced *t, const char *path)
{
    double armed = NAN, last = NAN;
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < t->count; i++) {
        armed = fmin(armed, t->list[i].sites->armed);
        last = fmax(last, t->list[i].sites->seconds);
    }
    if (report_stacks_from(&t->stacks) < report_stacks_to(&t->stacks) &&
        report_stacks_from(&t->stacks) < last && report_stacks_to(&t->stacks) > armed)
        return 0;
    units_add_duration(&text, armed);
    buf_adds(&text, " to ");
    units_add_duration(&text, last);
    cli_say("%s: nothing was traced then: tracing lasted from %s after the start", path,
            buf_text(&text));
    buf_release(&text);
    return -ENODATA;
}

static int find_span(struct traced *t, const char *path, const struct traced_options *o)
{
    int r = find_seconds(t, path, &o->from, &t->stacks.from);
    find_steps(t);
    if (r == 0)
        r = find_seconds(t, path, &o->to, &t->stacks.to);
    if (r == 0 && t->stacks.from >= t->stacks.to) {
        cli_say("%s: --from is not before --to", path);
        r = -EINVAL;
    }
    if (r == 0)
        r = check_traced_then(t, path);
    name_span(t, o);
    return r;
}

/* ---- growth from outside ---- */

/* The value of a series at two moments, interpolated between its samples. */
struct ends {
    double at[2], values[2];
    double seconds, value; /* the sample before; NAN: none */
};

static int measure_sample(void *context, double step, const struct store_sample *s)
{
    (void) step;
    struct ends *e = context;
    for (unsigned i = 0; i < 2; i++) {
        double share = (e->at[i] - e->seconds) / (s->seconds - e->seconds);
        if (share > 0 && share <= 1)
            e->values[i] = e->value + share * (s->value - e->value);
        else if (s->seconds <= e->at[i] || isnan(e->values[i]))
            e->values[i] = s->value;
    }
    e->seconds = s->seconds;
    e->value = s->value;
    return 0;
}

static bool is_memory_of(const struct series_info *info, int64_t pid)
{
    return info->pid == pid && info->kind && strcmp(info->kind, "host.anon") == 0;
}

static void measure_growth(struct traced *t, size_t process)
{
    struct report_sites *p = &t->list[process];
    struct ends e = {{NAN, NAN}, {NAN, NAN}, NAN, NAN};
    report_stacks_span(&t->stacks, process, &e.at[0], &e.at[1]);
    for (size_t i = 0; i < recording_count(t->recording); i++)
        if (is_memory_of(&recording_series(t->recording, i)->info, p->pid))
            (void) recording_each_sample(t->recording, i, measure_sample, &e);
    p->growth = e.values[1] - e.values[0];
}

/* ---- the whole ---- */

static int fill(struct traced *t, const char *path, const struct traced_options *o)
{
    int r = read_processes(t, path, o);
    if (r < 0)
        return r;
    r = recording_new(t->store, &t->recording);
    if (r < 0) {
        load_run_explain(path, r);
        return r;
    }
    t->stacks = (struct report_stacks){
        .command = store_run(t->store)->title,
        .started = store_run(t->store)->started,
        .list = t->list,
        .count = t->count,
        .value = o->live        ? REPORT_LIVE
                 : o->allocated ? REPORT_ALLOCATED
                                : REPORT_GROWTH,
        .kinds = o->kinds,
    };
    r = find_span(t, path, o);
    for (size_t i = 0; i < t->count && r == 0; i++)
        measure_growth(t, i);
    return r;
}

int traced_load(const char *path, const struct traced_options *o, struct traced **ret)
{
    int r = check_options(path, o);
    if (r < 0)
        return r;
    struct traced *t = calloc(1, sizeof(*t));
    if (!t)
        base_out_of_memory();
    r = load_run_open(path, &t->store);
    if (r == 0)
        r = fill(t, path, o);
    if (r < 0) {
        traced_free(t);
        return r;
    }
    if (t->unreadable > 0)
        cli_say("%s: the traced allocations of %zu process(es) cannot be read and are left out",
                path, t->unreadable);
    *ret = t;
    return 0;
}

struct traced *traced_free(struct traced *t)
{
    if (!t)
        return NULL;
    while (t->count > 0)
        drop_process(t, t->count - 1);
    recording_free(t->recording);
    store_free(t->store);
    free(t->list);
    free(t->ids);
    free(t->span);
    free(t);
    return NULL;
}

const struct report_stacks *traced_stacks(const struct traced *t)
{
    return &t->stacks;
}

void traced_say_nothing(const struct traced *t, const char *path)
{
    static const char *const nothing[REPORT_VALUES] = {"no traced call stack%s grew",
                                                       "no traced call stack%s kept memory",
                                                       "no traced call stack%s allocated memory"};
    struct buf text = BUF_INIT;
    buf_addf(&text, nothing[t->stacks.value], t->stacks.kinds ? " of these kinds" : "");
    if (t->span)
        buf_addf(&text, " %s %s", t->stacks.value == REPORT_LIVE ? "at" : "in", t->span);
    cli_say("%s: %s", path, buf_text(&text));
    if (t->stacks.value == REPORT_GROWTH)
        cli_say("%s: --live shows what is kept, --allocated what was allocated", path);
    buf_release(&text);
}

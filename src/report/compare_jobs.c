/* report/compare_jobs.c: what two jobs leak and why, side by side. */
#include "report/compare_jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is compared ---- */

/* A series or a cause that leaks in A, in B, or in both. NULL: not in that job. */
struct couple {
    const void *in[2];
    unsigned others[2]; /* more of the same in one job: data workers */
};

/* The item that represents both. */
static const void *one_of(const struct couple *c)
{
    return c->in[0] ? c->in[0] : c->in[1];
}

struct couples {
    struct couple *list;
    size_t count;
};

typedef bool is_alike(const void *a, const void *b);

static void couples_release(struct couples *c)
{
    free(c->list);
}

/* Adds an item to the couple that is alike, or as a new one. */
static void couples_add(struct couples *c, size_t side, const void *item, is_alike *alike)
{
    for (size_t i = 0; i < c->count; i++) {
        struct couple *x = &c->list[i];
        if (!alike(one_of(x), item))
            continue;
        x->others[side] += x->in[side] != NULL;
        x->in[side] = x->in[side] ? x->in[side] : item;
        return;
    }
    c->list = reallocarray(c->list, c->count + 1, sizeof(*c->list));
    if (!c->list)
        base_out_of_memory();
    struct couple *x = &c->list[c->count++];
    *x = (struct couple){.in = {NULL, NULL}};
    x->in[side] = item;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* These counters mean the same: logs have one of them, run files another. */
static bool is_host_memory(const char *kind)
{
    static const char *const kinds[] = {"memory", "host.anon", "host.rss", "host.pss"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

/* A log does not name the process of its counter. */
static bool may_be_same_text(const char *a, const char *b)
{
    return !a || !b || strcmp(a, b) == 0;
}

/* The same counter of the same part of the job; pids differ between runs. */
static bool is_same_series(const void *a, const void *b)
{
    const struct series_info *x = ((const struct report_series *) a)->info;
    const struct series_info *y = ((const struct report_series *) b)->info;
    return (strcmp(x->kind, y->kind) == 0 ||
            (is_host_memory(x->kind) && is_host_memory(y->kind))) &&
           is_same_text(x->device, y->device) && may_be_same_text(x->role, y->role) &&
           may_be_same_text(x->rank, y->rank);
}

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* The line changes with the program, and the same program may be in another folder. */
static bool is_same_cause(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    return is_same_text(x->cause, y->cause) && is_same_text(x->holder, y->holder) &&
           is_same_text(file_name(x->file), file_name(y->file)) &&
           (x->holder || is_same_text(x->what, y->what));
}

static bool leaks(const struct report_series *s)
{
    return s->answer->verdict == VERDICT_LEAK;
}

/* A leaking sum adds nothing if one of its parts leaks. */
static bool is_sum_of_leaking(const struct report_job *job, const struct report_series *sum)
{
    for (size_t i = 0; !sum->info->pid && i < job->count; i++) {
        const struct report_series *part = &job->series[i];
        if (part->info->pid && leaks(part) && is_same_text(part->info->kind, sum->info->kind) &&
            is_same_text(part->info->device, sum->info->device))
            return true;
    }
    return false;
}

static struct couples leaking_series(const struct report_job *const jobs[2])
{
    struct couples c = {0};
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < jobs[side]->count; i++) {
            const struct report_series *s = &jobs[side]->series[i];
            if (leaks(s) && !is_sum_of_leaking(jobs[side], s))
                couples_add(&c, side, s, is_same_series);
        }
    return c;
}

/* Growth in a job that does not leak is not a cause. */
static struct couples causes(const struct report_job *const jobs[2])
{
    struct couples c = {0};
    for (size_t side = 0; side < 2; side++) {
        const struct report_job *job = jobs[side];
        bool has_causes = job->answer->verdict == VERDICT_LEAK && job->found;
        for (size_t i = 0; has_causes && i < job->found->count; i++)
            couples_add(&c, side, &job->found->findings[i], is_same_cause);
    }
    return c;
}

/* An item of this job that the other one lacks; NULL: none. */
static const void *alone_in(const struct couples *c, size_t side)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].in[side] && !c->list[i].in[1 - side])
            return c->list[i].in[side];
    return NULL;
}

enum leakage { LEAKS_NOT, LEAKS_NEGLIGIBLY, LEAKS };

static enum leakage leakage_of(const struct report_job *job)
{
    if (job->answer->verdict != VERDICT_LEAK)
        return LEAKS_NOT;
    return job->answer->severity == SEVERITY_NEGLIGIBLE ? LEAKS_NEGLIGIBLY : LEAKS;
}

bool report_jobs_leak_alike(const struct report_job *a, const struct report_job *b)
{
    const struct report_job *jobs[2] = {a, b};
    struct couples series = leaking_series(jobs), why = causes(jobs);
    bool alike = leakage_of(a) == leakage_of(b) && !alone_in(&series, 0) && !alone_in(&series, 1);
    /* Causes are compared only if both jobs have some. */
    bool both_known = a->found && a->found->count > 0 && b->found && b->found->count > 0;
    alike = alike && !(both_known && (alone_in(&why, 0) || alone_in(&why, 1)));
    couples_release(&series);
    couples_release(&why);
    return alike;
}

/* ---- in words ---- */

/* "+12.0 KB/step"; in items if bytes are not known. */
static void add_growth(struct buf *out, const struct finding *f)
{
    const struct {
        double rate;
        enum series_unit unit;
        enum series_clock clock;
    } rates[] = {
        {f->bytes_per_step, SERIES_BYTES, CLOCK_STEP},
        {f->bytes_per_second, SERIES_BYTES, CLOCK_SECONDS},
        {f->count_per_step, SERIES_COUNT, CLOCK_STEP},
        {f->count_per_second, SERIES_COUNT, CLOCK_SECONDS},
    };
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (isfinite(rates[i].rate)) {
            buf_addc(out, '+');
            series_add_rate(out, rates[i].rate, rates[i].unit, rates[i].clock);
            return;
        }
}

/* "list 'x', main (a.py:3)". */
static void add_cause(struct buf *out, const struct finding *f)
{
    buf_adds(out, f->holder ? f->holder : f->what ? f->what : f->sentence);
    if (f->where)
        buf_addf(out, ", %s", f->where);
}

static void add_series(struct buf *out, const struct report_series *s)
{
    buf_adds(out, s->info->name);
    buf_adds(out, " grows ");
    format_rate(out, s->answer->rate, s->info);
}

/* What leaks in one job: the first cause that the other lacks; otherwise its leaking series. */
static void add_first_leak(struct buf *out, const struct report_job *const jobs[2], size_t side)
{
    struct couples why = causes(jobs), series = leaking_series(jobs);
    const struct finding *cause = alone_in(&why, side);
    const struct report_series *leak = alone_in(&series, side);
    const struct report_job *job = jobs[side];
    if (cause) {
        add_cause(out, cause);
        buf_adds(out, ", ");
        add_growth(out, cause);
    } else if (leak || job->answer->deciding < job->count) {
        add_series(out, leak ? leak : &job->series[job->answer->deciding]);
    }
    couples_release(&why);
    couples_release(&series);
}

static void add_one_leaks(struct buf *out, const struct report_job *const jobs[2], size_t side)
{
    const struct report_job *other = jobs[1 - side];
    const char *one = side == 0 ? "A" : "B", *two = side == 0 ? "B" : "A";
    bool negligible = leakage_of(jobs[side]) == LEAKS_NEGLIGIBLY;
    buf_addf(out, "%s leaks%s", one, negligible ? " a negligible amount" : "");
    if (leakage_of(other) == LEAKS_NEGLIGIBLY)
        buf_addf(out, ", and %s a negligible amount", two);
    else if (other->answer->verdict == VERDICT_INCONCLUSIVE)
        buf_addf(out, "; whether %s does is not known", two);
    else
        buf_adds(out, side == 1 ? " where A did not" : ", and B does not");
    buf_adds(out, ": ");
    add_first_leak(out, jobs, side);
    buf_addc(out, '.');
}

void compare_jobs_summary(struct buf *out, const struct report_job *a, const struct report_job *b)
{
    const struct report_job *jobs[2] = {a, b};
    enum leakage in_a = leakage_of(a), in_b = leakage_of(b);
    if (in_a != in_b)
        add_one_leaks(out, jobs, in_b > in_a);
    else if (in_a != LEAKS_NOT && report_jobs_leak_alike(a, b))
        buf_adds(out, "Both leak, in the same places.");
    else if (in_a != LEAKS_NOT)
        buf_adds(out, "Both leak, in different places.");
}

void compare_jobs_verdicts(struct buf *out, const struct report_job *a, const struct report_job *b,
                           const struct report_style *style)
{
    if (a->count < 2 && b->count < 2)
        return;
    buf_adds(out, "  whole job: ");
    format_verdict(out, a->answer->verdict, a->answer->severity, style);
    buf_adds(out, " in A, ");
    format_verdict(out, b->answer->verdict, b->answer->severity, style);
    buf_adds(out, " in B\n\n");
}

/* "Only in B: ", "In both: ". */
static void add_where(struct buf *out, const struct couple *c)
{
    buf_adds(out, c->in[0] && c->in[1] ? "In both: " : c->in[0] ? "Only in A: " : "Only in B: ");
}

static void add_point(struct buf *out, struct buf *text, const struct report_style *style)
{
    struct buf clean = BUF_INIT;
    buf_addf(out, "  %s ", format_glyphs(style)->bullet);
    utf8_add_clean(&clean, buf_text(text), style->ascii);
    format_wrapped(out, buf_text(&clean), 4, style);
    buf_release(&clean);
    buf_release(text);
}

static void add_cause_point(struct buf *out, const struct couple *c,
                            const struct report_style *style)
{
    struct buf text = BUF_INIT;
    add_where(&text, c);
    add_cause(&text, one_of(c));
    buf_adds(&text, ": ");
    add_growth(&text, one_of(c));
    if (c->in[0] && c->in[1]) {
        buf_adds(&text, " in A, ");
        add_growth(&text, c->in[1]);
        buf_adds(&text, " in B");
    }
    buf_addc(&text, '.');
    add_point(out, &text, style);
}

static void add_series_point(struct buf *out, const struct couple *c,
                             const struct report_style *style)
{
    struct buf text = BUF_INIT;
    const struct report_series *b = c->in[1];
    unsigned others = c->others[!c->in[0]];
    add_where(&text, c);
    add_series(&text, one_of(c));
    if (others > 0)
        buf_addf(&text, " (and %u others like it)", others);
    if (c->in[0] && b) {
        buf_adds(&text, " in A, ");
        format_rate(&text, b->answer->rate, b->info);
        buf_adds(&text, " in B");
    }
    buf_addc(&text, '.');
    add_point(out, &text, style);
}

/* A job that leaks in hundreds of places has one cause for them. */
#define POINTS_MOST 8u

void compare_jobs_points(struct buf *out, const struct report_job *a, const struct report_job *b,
                         const struct report_style *style)
{
    const struct report_job *jobs[2] = {a, b};
    struct couples series = leaking_series(jobs), why = causes(jobs);
    if (series.count + why.count > 0)
        buf_adds(out, "\n  What leaks:\n");
    for (size_t i = 0; i < why.count && i < POINTS_MOST; i++)
        add_cause_point(out, &why.list[i], style);
    for (size_t i = 0; i < series.count && i < POINTS_MOST; i++)
        add_series_point(out, &series.list[i], style);
    if (series.count > POINTS_MOST) {
        struct buf text = BUF_INIT;
        buf_addf(&text, "and %zu more series", series.count - POINTS_MOST);
        add_point(out, &text, style);
    }
    couples_release(&series);
    couples_release(&why);
}

/* ---- JSON ---- */

static const char *where_name(const struct couple *c)
{
    return c->in[0] && c->in[1] ? "both" : c->in[0] ? "a" : "b";
}

static void add_json_job(struct json *j, const char *key, const struct report_job *job)
{
    json_object_begin(j, key);
    json_string(j, "verdict", verdict_name(job->answer->verdict));
    if (job->answer->severity != SEVERITY_NONE)
        json_string(j, "severity", severity_name(job->answer->severity));
    json_integer(j, "series", (int64_t) job->count);
    json_integer(j, "leaking", job->answer->leaks);
    json_object_end(j);
}

static void add_json_rate(struct json *j, const char *key, const struct report_series *s)
{
    if (s)
        json_number(j, key, s->answer->rate);
}

static void add_json_series(struct json *j, const struct couple *c)
{
    const struct report_series *a = c->in[0], *b = c->in[1], *one = one_of(c);
    json_object_begin(j, NULL);
    json_string(j, "in", where_name(c));
    fields_show(j, &series_info_fields, one->info, one->info->clock, NULL, NULL);
    json_string(j, "role", one->info->role);
    add_json_rate(j, "rate_a", a);
    add_json_rate(j, "rate_b", b);
    json_integer(j, "alike_a", a ? 1 + c->others[0] : 0);
    json_integer(j, "alike_b", b ? 1 + c->others[1] : 0);
    json_object_end(j);
}

static void add_json_cause(struct json *j, const struct couple *c)
{
    const struct finding *a = c->in[0], *b = c->in[1];
    json_object_begin(j, NULL);
    json_string(j, "in", where_name(c));
    for (size_t side = 0; side < 2; side++) {
        if (!c->in[side])
            continue;
        json_object_begin(j, side == 0 ? "a" : "b");
        fields_show(j, &finding_fields, side == 0 ? a : b, CLOCK_STEP, NULL, NULL);
        json_object_end(j);
    }
    json_object_end(j);
}

void compare_jobs_json(struct json *j, const struct report_job *a, const struct report_job *b)
{
    const struct report_job *jobs[2] = {a, b};
    struct couples series = leaking_series(jobs), why = causes(jobs);
    json_bool(j, "same_leaks", report_jobs_leak_alike(a, b));
    json_object_begin(j, "jobs");
    add_json_job(j, "a", a);
    add_json_job(j, "b", b);
    json_object_end(j);
    json_array_begin(j, "leaking");
    for (size_t i = 0; i < series.count; i++)
        add_json_series(j, &series.list[i]);
    json_array_end(j);
    json_array_begin(j, "causes");
    for (size_t i = 0; i < why.count; i++)
        add_json_cause(j, &why.list[i]);
    json_array_end(j);
    couples_release(&series);
    couples_release(&why);
}

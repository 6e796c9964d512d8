/* view/findings.c: makes findings of the censuses: which objects grow, their holders and causes.
 * It gathers facts; the sentences are in words/. */
#include "view/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    char *result = strdup(buf_text(&clean));
    if (!result)
        base_out_of_memory();
    buf_release(&clean);
    return result;
}

/* ---- the facts of a process ---- */

struct process_facts {
    struct member *member;
    enum series_clock clock;
    char label[MEMBER_LABEL];
    struct growth_facts growths[WIRE_CENSUS_GROWING];
    struct rise rises[WIRE_CENSUS_GROWING]; /* of the same */
    unsigned places[WIRE_CENSUS_GROWING];   /* in the census */
    struct cause_facts facts;
    double seconds_a_unit; /* of the clock */
    double heap_rate;      /* of malloc's in-use bytes; NAN: not known */
    struct account host;   /* of its growth; the job's where no process is known to grow */
    struct traced device;  /* of torch's memory on the device where most was allocated */
    struct traced pinned;  /* of its pinned memory */
    double pinned_rate;    /* of torch's pinned memory, whatever its verdict; NAN: not known */
    bool leaks;            /* one of its series leaks */
    bool by_objects;       /* its objects grow: even small growth of its memory counts */
    bool is_part;          /* the job's memory grows, by a process that is not known */
};

/* After `tidemark profile`, or where tidemark attached for it, any growth so far is worth a
 * finding. */
static bool is_wary(const struct job *j, const struct answer *a)
{
    bool is_asked = j->is_profiled || job_any_attached_climbs(j);
    bool grows = a->suspect || (is_asked && a->rate_low > 0);
    return a->verdict == VERDICT_LEAK || (a->verdict == VERDICT_INCONCLUSIVE && grows);
}

/* By more than any program creeps by: enough for a finding where no object grows. */
static bool has_risen(const struct view_series *s)
{
    const struct answer *a = &s->answer;
    double least = s->info.unit == SERIES_BYTES ? LEAST_RISE : LEAST_RISE_OF_COUNTS;
    return a->verdict == VERDICT_LEAK || a->suspect || a->floor_last - a->floor_first >= least;
}

/* An open answer may end in a short phase, as after a table was made larger. Then the rate of all
 * growth up to now counts. As a factor on the answer's rate. */
static double pace_of_growth(const struct answer *a)
{
    if (a->phase_count == 0 || !(a->rate > 0))
        return 1;
    const struct phase *last = &a->phases[a->phase_count - 1], *first = track_growing_since(a);
    return first == last
               ? 1
               : (last->level_to - first->level_from) / (last->to - first->from) / a->rate;
}

static double rate_on(const struct view_series *s, enum series_clock clock)
{
    const struct answer *a = &s->answer;
    double rate = s->info.clock == clock ? a->rate
                  : clock == CLOCK_STEP  ? a->rate_per_step
                                         : a->rate_per_second;
    return rate * pace_of_growth(a);
}

static bool is_of(const struct view_series *s, const struct member *m)
{
    return s->info.pid == m->id.pid && (!s->info.start || strcmp(s->info.start, m->start) == 0);
}

static void add_to(double *sum, double rate)
{
    if (rate > 0)
        *sum = (*sum > 0 ? *sum : 0) + rate;
}

static void take_series(const struct job *j, struct process_facts *p, const struct view_series *s)
{
    struct cause_facts *f = &p->facts;
    const struct {
        const char *kind;
        bool is_of_objects; /* a census may show which */
        double *rate;
    } kinds[] = {
        {"host.anon", true, &f->host_rate},   {"torch.allocated", true, &f->allocated_rate},
        {"gpu.used", false, &f->gpu_rate},    {"py.tensors", true, &f->tensors_rate},
        {"fds", false, &f->fds_rate},         {"host.shmem", false, &f->shared_rate},
        {"threads", false, &f->threads_rate}, {HEAP_USED, true, &p->heap_rate},
    };
    double rate = rate_on(s, p->clock);
    f->allocated_known = f->allocated_known || strcmp(s->info.kind, "torch.allocated") == 0;
    if (strcmp(s->info.kind, "torch.reserved") == 0 && isfinite(rate))
        f->reserved_growth = (isfinite(f->reserved_growth) ? f->reserved_growth : 0) + rate;
    if (strcmp(s->info.kind, "torch.pinned") == 0)
        add_to(&p->pinned_rate, rate);
    p->leaks = p->leaks || s->answer.verdict == VERDICT_LEAK;
    bool rises = strcmp(s->info.kind, "py.tensors") == 0 && s->part == PART_MAIN;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && (rises || is_wary(j, &s->answer));
         i++)
        if (strcmp(s->info.kind, kinds[i].kind) == 0 &&
            ((kinds[i].is_of_objects && p->by_objects) || has_risen(s)))
            add_to(kinds[i].rate, rate);
}

/* The series of the job's memory; NULL: it does not grow. */
static const struct view_series *growing_total(const struct job *j, const struct view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        if (s->part == PART_TOTAL && strcmp(s->info.kind, "host.anon") == 0)
            return is_wary(j, &s->answer) ? s : NULL;
    }
    return NULL;
}

static bool is_in_sum(const struct job *j, const struct view_series *s)
{
    for (size_t i = 0; i < j->member_count; i++)
        if (is_of(s, j->members[i]) && member_is_in_sum(j->members[i], &j->sums[JOB_ANON]))
            return true;
    return false;
}

/* The rate of the job's memory; NAN: one of its processes is known to grow. Those that have ended
 * do not count. */
static double total_rate(const struct job *j, const struct view *v, enum series_clock clock)
{
    const struct view_series *total = growing_total(j, v);
    for (size_t i = 0; total && i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        if (s != total && strcmp(s->info.kind, "host.anon") == 0 && is_wary(j, &s->answer) &&
            is_in_sum(j, s))
            return NAN;
    }
    return total ? rate_on(total, clock) : (double) NAN;
}

/* Seconds in a unit of its clock, by its own series. */
static double seconds_a_unit(const struct view *v, const struct process_facts *p)
{
    if (p->clock == CLOCK_SECONDS)
        return 1;
    for (size_t i = 0; i < v->count; i++) {
        const struct answer *a = &v->series[i].answer;
        double length = (a->last_seconds - a->first_seconds) / (a->last_at - a->first_at);
        if (is_of(&v->series[i], p->member) && v->series[i].info.clock == CLOCK_STEP && length > 0)
            return length;
    }
    return NAN;
}

/* Its memory is known not to grow, so the growth of the job is another process's. */
static bool stands_still(const struct view *v, const struct member *m)
{
    for (size_t i = 0; i < v->count; i++)
        if (is_of(&v->series[i], m) && strcmp(v->series[i].info.kind, "host.anon") == 0)
            return v->series[i].answer.verdict == VERDICT_NO_LEAK;
    return false;
}

static void gather_series(const struct job *j, const struct view *v, struct process_facts *p)
{
    struct cause_facts *f = &p->facts;
    f->host_rate = f->allocated_rate = f->tensors_rate = f->gpu_rate = NAN;
    f->shared_rate = f->fds_rate = f->threads_rate = f->reserved_growth = p->heap_rate = NAN;
    f->processes_rate = NAN;
    p->pinned_rate = NAN;
    for (size_t i = 0; i < v->count; i++)
        if (is_of(&v->series[i], p->member))
            take_series(j, p, &v->series[i]);
    for (size_t i = 0; i < v->count && member_is_trainer(p->member); i++) {
        const struct view_series *s = &v->series[i];
        if (strcmp(s->info.kind, "processes") == 0 && is_wary(j, &s->answer) && has_risen(s))
            add_to(&f->processes_rate, rate_on(s, p->clock));
    }
    /* The driver maps pinned memory as it maps shared memory. */
    f->shared_is_pinned = p->pinned_rate > f->shared_rate / 2;
    if (isnan(f->host_rate))
        f->host_rate = p->heap_rate;
    double total = total_rate(j, v, p->clock);
    p->is_part = isnan(f->host_rate) && total > 0 && !stands_still(v, p->member);
    if (p->is_part)
        f->host_rate = total;
    p->seconds_a_unit = seconds_a_unit(v, p);
}

/* ---- the share of the growth that each explains ---- */

static struct interval share_of(struct interval bytes, double whole)
{
    if (!(whole > 0))
        return (struct interval){0, 0};
    return (struct interval){fmin(bytes.low / whole, 1), fmin(bytes.high / whole, 1)};
}

static void add_interval(struct interval *to, struct interval x)
{
    to->low += x.low;
    to->high += x.high;
}

/* False: its host memory does not grow. */
static bool account_host(struct job *j, struct process_facts *p)
{
    struct track *own = &p->member->tracks[MEMBER_ANON];
    return p->is_part ? account_of(j, NULL, &j->sums[JOB_ANON], &p->host)
                      : account_of(j, p->member, own, &p->host);
}

static void gather_host_shares(struct job *j, struct process_facts *p)
{
    struct cause_facts *f = &p->facts;
    f->heap_used = f->heap_free = NAN;
    if (!(f->host_rate > 0) || !account_host(j, p))
        return;
    double whole = account_whole(&p->host), total = p->host.ledger.total;
    for (size_t i = 0; i < f->growth_count; i++)
        p->growths[i].host_share =
            share_of(account_bytes_of(&p->host, p->growths[i].growing), whole);
    if (!(total > 0))
        return;
    f->unexplained = share_of(account_unheld(&p->host), whole);
    f->censused = p->host.evidence.is_censused && !p->is_part;
    f->heap_used = p->host.evidence.heap_used / total;
    if (p->host.traced.count > 0 && !p->host.traced.lines[0].has_stopped)
        f->traced = traced_share(&p->host.traced, &p->host.traced.lines[0]);
    f->heap_free = isnan(f->heap_used) ? (double) NAN : account_kept_free(&p->host) / total;
}

/* Growth of the process's memory on all devices together. */
struct device_growth {
    double whole;
    struct interval by[WIRE_CENSUS_GROWING], rest;
    bool is_censused;
};

static void add_device(struct job *j, struct process_facts *p, struct track *t,
                       struct device_growth *to)
{
    struct account a;
    if (strcmp(t->kind, "torch.allocated") != 0 || !track_is_wary(t) ||
        !account_of(j, p->member, t, &a))
        return;
    if (a.traced.count > 0 && a.traced.gain.bytes > p->device.gain.bytes)
        p->device = a.traced;
    to->whole += account_whole(&a);
    to->is_censused = to->is_censused && a.evidence.is_censused;
    add_interval(&to->rest, account_unheld(&a));
    for (size_t i = 0; i < p->facts.growth_count; i++)
        add_interval(&to->by[i], account_bytes_of(&a, p->growths[i].growing));
}

static void gather_device_shares(struct job *j, struct process_facts *p)
{
    struct device_growth all = {.is_censused = true};
    if (!(p->facts.allocated_rate > 0))
        return;
    for (size_t i = 0; i < p->member->reported_count; i++)
        add_device(j, p, &p->member->reported[i], &all);
    for (size_t i = 0; i < p->facts.growth_count; i++)
        p->growths[i].device_share = share_of(all.by[i], all.whole);
    p->facts.device_unexplained =
        all.is_censused ? share_of(all.rest, all.whole) : (struct interval){0, 1};
    if (p->device.count > 0 && !p->device.lines[0].has_stopped)
        p->facts.device_traced = traced_share(&p->device, &p->device.lines[0]);
}

static void gather_shares(struct job *j, struct process_facts *p)
{
    gather_host_shares(j, p);
    gather_device_shares(j, p);
    if (p->pinned_rate > 0)
        (void) traced_of_memory(p->member, SITE_PINNED, "", &p->pinned);
}

static void gather_model(const struct wire_census *c, struct cause_facts *f)
{
    f->model_bytes = f->model_tensors = NAN;
    for (unsigned i = 0; i < c->purpose_count; i++)
        if (strcmp(c->purposes[i].name, "parameters") == 0) {
            add_to(&f->model_bytes, c->purposes[i].bytes);
            add_to(&f->model_tensors, c->purposes[i].count);
        }
}

/* By the names of torch's classes. */
static bool has_profiler(const struct wire_census *c)
{
    for (unsigned i = 0; i < c->type_count; i++)
        if (strstr(c->types[i].name, "profiler.profile") || strstr(c->types[i].name, "KinetoProf"))
            return true;
    return false;
}

/* The points of one large object are bytes, not items. */
static struct growth_facts growth_of(const struct wire_census_growing *g, const struct rise *r)
{
    struct growth_facts f = {
        .growing = g,
        .count_rate = r->rate,
        .host_rate = r->rate * g->host_per_item,
        .device_rate = r->rate * g->device_per_item,
    };
    if (g->form == WIRE_CENSUS_GRAPH)
        f.host_rate = f.device_rate = NAN;
    if (g->form == WIRE_CENSUS_SIZE) {
        bool on_device = g->device_per_item > 0 || (g->item_depth > 0 && g->item[0].on_device);
        f.host_rate = on_device ? (double) NAN : r->rate;
        f.device_rate = on_device ? r->rate : (double) NAN;
    }
    return f;
}

static void gather_growths(const struct job *j, struct process_facts *p)
{
    const struct evidence *found = p->member->evidence;
    struct cause_facts *f = &p->facts;
    f->growths = p->growths;
    f->model_bytes = f->model_tensors = NAN;
    if (!found || !found->census)
        return;
    const struct wire_census *c = found->census;
    gather_model(c, f);
    f->groups = c->groups;
    f->group_count = c->group_count;
    f->profiler = c->profiler || has_profiler(c);
    for (unsigned i = 0; i < c->tensors_count; i++)
        f->graph_tensors += fmax(fmax(c->tensors[i].grad_fn, c->tensors[i].requires_grad), 0);
    for (unsigned i = 0; i < c->growing_count; i++) {
        struct rise r = rise_of(j, p->member, i, p->clock, p->seconds_a_unit);
        if (!r.steady || isfinite(c->growing[i].bound))
            continue;
        p->growths[f->growth_count] = growth_of(&c->growing[i], &r);
        p->rises[f->growth_count] = r;
        p->places[f->growth_count++] = i;
    }
}

/* In a job that leaks, only leaking processes have findings; before that, suspect ones too. */
static bool has_trouble(const struct view *v, const struct process_facts *p)
{
    const struct cause_facts *f = &p->facts;
    if (v->answer.verdict == VERDICT_LEAK && !p->leaks && !p->is_part)
        return false;
    return f->host_rate > 0 || f->allocated_rate > 0 || f->tensors_rate > 0 || f->gpu_rate > 0 ||
           f->shared_rate > 0 || f->fds_rate > 0 || f->threads_rate > 0 || f->processes_rate > 0;
}

/* ---- findings ---- */

static void append(struct finding **list, size_t *count, const struct finding *f)
{
    *list = reallocarray(*list, *count + 1, sizeof(**list));
    if (!*list)
        base_out_of_memory();
    (*list)[(*count)++] = *f;
}

static void finding_init(struct finding *f, const struct member *m)
{
    *f = (struct finding){.pid = m->id.pid, .processes = 1};
    f->line = f->count_per_step = f->count_per_second = f->share = NAN;
    f->bytes_per_step = f->bytes_per_second = NAN;
    f->host_bytes_per_step = f->device_bytes_per_step = NAN;
    f->points = f->bound = f->full_step = NAN;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Ranks of one job find the same holder: one finding stands for all. Without a holder, two
 * findings cannot be compared. */
static bool is_known(struct findings *all, const struct finding *f)
{
    for (size_t i = 0; i < all->count; i++) {
        struct finding *x = &all->findings[i];
        if (f->holder && x->pid != f->pid && same_text(x->cause, f->cause) &&
            same_text(x->holder, f->holder) && same_text(x->where, f->where)) {
            x->processes++;
            return true;
        }
    }
    return false;
}

static void add_evidence(struct finding *f, const char *text)
{
    if (f->evidence_count < FINDING_TEXTS)
        f->evidence[f->evidence_count++] = copy(text);
}

/* Where it was counted: "from 20 at step 20 to 500 at step 499". */
static void add_points(struct finding *f, const struct process_facts *p, const struct rise *r,
                       bool is_bytes)
{
    struct buf text = BUF_INIT;
    const struct census_points points = {
        .first = r->first,
        .last = r->last,
        .from = r->from,
        .to = r->to,
        .unit = is_bytes ? SERIES_BYTES : SERIES_COUNT,
        .clock = p->clock,
        .censuses = r->points,
    };
    evidence_words_points(&text, &points);
    add_evidence(f, buf_text(&text));
    buf_release(&text);
}

static double sum_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static void fill_rates(struct finding *f, const struct process_facts *p,
                       const struct finding_facts *facts, const struct rise *r)
{
    double bytes = sum_of(facts->host_rate, facts->device_rate);
    f->points = r->points;
    f->count_per_second = r->per_second;
    f->bytes_per_second = bytes * r->per_second / r->rate;
    if (p->clock != CLOCK_STEP)
        return;
    f->count_per_step = r->rate;
    f->bytes_per_step = bytes;
    f->host_bytes_per_step = facts->host_rate;
    f->device_bytes_per_step = facts->device_rate;
}

/* The bytes of a graph or an image are not in the heap, but in the process. Where one holder alone
 * has such items, and nothing else was found, all of the growth is its. */
static bool is_all_there_is(const struct causes *all, const struct cause_found *c)
{
    unsigned held = 0;
    for (unsigned i = 0; i < all->count; i++) {
        const struct wire_census_growing *g =
            all->list[i].growth ? all->list[i].growth->growing : NULL;
        held += g && (g->holder_count == 0 || g->holders[0].kind != WIRE_HOLDER_NATIVE);
    }
    return c->holds_more && held == 1;
}

static void describe_growth(const struct process_facts *p, const struct causes *all,
                            const struct cause_found *c, struct finding *f)
{
    size_t i = (size_t) (c->growth - p->growths);
    bool whole = is_all_there_is(all, c);
    struct finding_facts facts = {
        .growing = c->growth->growing,
        .line = c->growth->growing->addition,
        .clock = p->clock,
        .count_rate = c->growth->count_rate,
        .host_rate = whole && p->facts.host_rate > 0 ? p->facts.host_rate : c->growth->host_rate,
        .device_rate =
            whole && p->facts.allocated_rate > 0 ? p->facts.allocated_rate : c->growth->device_rate,
        .is_whole = whole && (p->facts.host_rate > 0 || p->facts.allocated_rate > 0),
        .process = p->label,
        .cause = cause_words(c->cause),
    };
    finding_words(&facts, f);
    fill_rates(f, p, &facts, &p->rises[i]);
    add_points(f, p, &p->rises[i], c->growth->growing->form == WIRE_CENSUS_SIZE);
    if (c->growth->growing->view > 0) {
        struct buf text = BUF_INIT;
        evidence_words_view(&text, c->growth->growing->view);
        add_evidence(f, buf_text(&text));
        buf_release(&text);
    }
}

/* A cause that the counters alone show: its first evidence is the sentence. */
static void describe_counters(const struct process_facts *p, const struct cause_found *c,
                              struct finding *f)
{
    const struct finding_facts facts = {
        .process = p->label,
        .cause =
            c->is_traced ? cause_words_at_line(c->cause, c->is_of_device) : cause_words(c->cause),
        .evidence = c->evidence_count > 0 ? c->evidence[0] : NULL,
    };
    finding_words(&facts, f);
}

/* The memory whose lines may explain it: a holder's items are there where they weigh more. */
static const struct traced *traced_for(const struct process_facts *p, const struct cause_found *c)
{
    const struct growth_facts *g = c->growth;
    if (c->cause == CAUSE_PINNED)
        return &p->pinned;
    bool is_there = c->is_of_device || (g && g->device_share.high > g->host_share.high);
    return is_there ? &p->device : &p->host.traced;
}

/* Who allocates what the holder keeps; or the line itself, where nobody is known to hold it. */
static void add_line(const struct process_facts *p, const struct cause_found *c, bool is_first,
                     struct finding *f)
{
    const struct traced *t = traced_for(p, c);
    const struct wire_census_growing *g = c->growth ? c->growth->growing : NULL;
    const struct wire_census_holder *h = g && g->holder_count > 0 ? &g->holders[0] : NULL;
    bool is_place = c->is_traced || (c->cause == CAUSE_PINNED && !c->growth);
    const struct traced_line *l = is_place && t->count > 0 ? &t->lines[0] : view_line_of(t, h);
    struct buf text = BUF_INIT;
    if (!l && is_first && t->count > 0 && traced_share(t, &t->lines[0]).low >= LEDGER_MOST)
        l = &t->lines[0];
    if (!l)
        return;
    if (is_place)
        view_place_of(l, f);
    if (c->is_traced && !c->growth)
        view_line_is_cause(l, f);
    f->allocated = view_site_what(l->site);
    site_words_allocated(&text, f->allocated, traced_share(t, l), l->site->kind);
    add_evidence(f, buf_text(&text));
    buf_release(&text);
}

static void add_cause(struct findings *all, const struct process_facts *p,
                      const struct causes *causes, const struct cause_found *c)
{
    struct finding f;
    finding_init(&f, p->member);
    f.share = c->share;
    if (c->growth)
        describe_growth(p, causes, c, &f);
    else
        describe_counters(p, c, &f);
    for (unsigned i = c->growth ? 0 : 1; i < c->evidence_count; i++)
        add_evidence(&f, c->evidence[i]);
    add_line(p, c, c == &causes->list[0], &f);
    if (is_known(all, &f) || all->count == FINDINGS_MOST)
        fields_release(&finding_fields, &f);
    else
        append(&all->findings, &all->count, &f);
}

static void add_undecided(struct findings *all, const char *text)
{
    for (unsigned i = 0; i < all->undecided_count; i++)
        if (strcmp(all->undecided[i], text) == 0)
            return;
    if (all->undecided_count < FINDING_TEXTS)
        all->undecided[all->undecided_count++] = copy(text);
}

/* ---- caches ---- */

static void add_cache(struct findings *all, const struct process_facts *p, unsigned place,
                      const struct rise *r)
{
    const struct wire_census_growing *g = &p->member->evidence->census->growing[place];
    const struct growth_facts growth = growth_of(g, r);
    const struct finding_facts facts = {
        .growing = g,
        .line = g->addition,
        .clock = p->clock,
        .count_rate = r->rate,
        .host_rate = growth.host_rate,
        .device_rate = growth.device_rate,
        .process = p->label,
    };
    struct finding f;
    finding_init(&f, p->member);
    finding_words(&facts, &f);
    fill_rates(&f, p, &facts, r);
    f.bound = g->bound;
    double full = r->to + (g->bound - r->last) / r->rate;
    f.full_step = p->clock == CLOCK_STEP ? full : (double) NAN;
    struct buf text = BUF_INIT;
    evidence_words_bound(&text, r->last, g->bound, full, p->clock);
    add_evidence(&f, buf_text(&text));
    buf_release(&text);
    append(&all->caches, &all->cache_count, &f);
}

/* It explains a material part of the growth. */
static bool matters(const struct process_facts *p, const struct wire_census_growing *g,
                    const struct rise *r)
{
    const struct growth_facts f = growth_of(g, r);
    return member_fills(p->member) || f.host_rate >= LEDGER_SMALL * p->facts.host_rate ||
           f.device_rate >= LEDGER_SMALL * p->facts.allocated_rate;
}

static void add_caches(const struct job *j, struct findings *all, const struct process_facts *p)
{
    const struct evidence *found = p->member->evidence;
    for (unsigned i = 0; found && found->census && i < found->census->growing_count; i++) {
        const struct wire_census_growing *g = &found->census->growing[i];
        struct rise r = rise_of(j, p->member, i, p->clock, p->seconds_a_unit);
        bool fills = isfinite(g->bound) && r.steady && r.last < g->bound;
        if (fills && matters(p, g, &r) && all->cache_count < FINDINGS_MOST)
            add_cache(all, p, i, &r);
    }
}

/* ---- what a census counted ---- */

static void copy_tensors(const struct wire_census *c, struct census_view *ret)
{
    for (unsigned i = 0; i < c->tensors_count && ret->device_count < CENSUS_VIEW_DEVICES; i++)
        ret->tensors[ret->device_count++] = (struct census_tensors){
            copy(c->tensors[i].device), c->tensors[i].count, c->tensors[i].bytes};
    for (unsigned i = 0; i < c->purpose_count && ret->purpose_count < CENSUS_VIEW_PURPOSES; i++)
        ret->purposes[ret->purpose_count++] =
            (struct census_purpose){copy(c->purposes[i].name), copy(c->purposes[i].device),
                                    c->purposes[i].count, c->purposes[i].bytes};
}

/* ---- what was tried out ---- */

/* Any program gives back less than this. */
#define LEAST_GIVEN_BACK 0x1p20

static void add_tried(struct census_view *x, enum tried what, const struct wire_census_act *a)
{
    struct buf text = BUF_INIT;
    const struct tried_facts facts = {
        .what = what,
        .times = a->times,
        .objects = a->objects,
        .bytes = a->bytes,
        .gave_back = a->bytes >= LEAST_GIVEN_BACK,
    };
    if (a->times > 0 && x->note_count < FINDING_TEXTS) {
        evidence_words_tried(&text, &facts);
        x->notes[x->note_count++] = copy(buf_text(&text));
    }
    buf_release(&text);
}

static void add_census(struct findings *all, const struct member *m)
{
    const struct wire_census *c = m->evidence->census;
    char label[MEMBER_LABEL];
    all->censuses = reallocarray(all->censuses, all->census_count + 1, sizeof(*all->censuses));
    if (!all->censuses)
        base_out_of_memory();
    struct census_view *x = &all->censuses[all->census_count++];
    member_label(m, label);
    *x = (struct census_view){
        .pid = m->id.pid,
        .process = copy(label),
        .objects = c->objects,
        .complete = c->complete,
        .censuses = c->censuses,
        .searches = c->searches,
        .pause_seconds = c->pause_seconds,
        .longest_pause_seconds = c->longest_pause_seconds,
        .child_seconds = c->child_seconds,
    };
    copy_tensors(c, x);
    for (unsigned i = 0; i < c->note_count && x->note_count < FINDING_TEXTS; i++)
        x->notes[x->note_count++] = copy(c->notes[i]);
    add_tried(x, TRIED_GC, &c->gc);
    add_tried(x, TRIED_TRIM, &c->trim);
}

/* ---- all of it ---- */

static void add_not_found(struct findings *all, const struct process_facts *p, enum not_found why)
{
    const struct wire_census *c = p->member->evidence ? p->member->evidence->census : NULL;
    struct buf text = BUF_INIT;
    evidence_words_not_found(&text, why, p->label, c ? c->in_a_row : 0, RISE_LEAST_POINTS);
    add_undecided(all, buf_text(&text));
    buf_release(&text);
}

/* A census waits for a step, a printed line, or the batch of a DataLoader's worker. A Python
 * process that has none of them is never counted. */
static void explain_no_census(struct findings *all, const struct process_facts *p)
{
    const struct member *m = p->member;
    if (!p->leaks || (m->evidence && m->evidence->census))
        return;
    if (m->role.role == ROLE_DATA_WORKER)
        add_not_found(all, p, NOT_FOUND_WORKER);
    else if (m->command && proc_command_is_python(m->command))
        add_not_found(all, p, NOT_FOUND_IDLE);
}

/* A short run is over before its objects were counted often enough. */
static void explain_no_finding(const struct job *j, struct findings *all,
                               const struct process_facts *p)
{
    const struct evidence *f = p->member->evidence;
    if (!p->leaks || !f || !f->census)
        return;
    if (f->census->in_a_row < RISE_LEAST_POINTS)
        add_not_found(all, p, NOT_FOUND_FEW);
    else if (f->census->ended)
        add_not_found(all, p, NOT_FOUND_ENDED);
    else if (!evidence_is_of_late(j, p->member))
        add_not_found(all, p, NOT_FOUND_EARLY);
    else if (!account_knows_graphs(p->member, &p->host.evidence))
        add_not_found(all, p, NOT_FOUND_GRAPHS);
}

static void look_at(struct job *j, struct view *v, struct member *m, struct process_facts *p)
{
    struct causes causes;
    *p = (struct process_facts){.member = m,
                                .clock = clock_runs(&j->clock) ? CLOCK_STEP : CLOCK_SECONDS,
                                .by_objects = true};
    member_label(m, p->label);
    gather_series(j, v, p);
    gather_growths(j, p);
    if (p->facts.growth_count == 0) {
        p->by_objects = false;
        gather_series(j, v, p);
    }
    if (!has_trouble(v, p)) {
        if (member_fills(m))
            add_caches(j, &v->found, p);
        return;
    }
    gather_shares(j, p);
    causes_rank(&p->facts, &causes);
    for (unsigned i = 0; i < causes.count; i++)
        add_cause(&v->found, p, &causes, &causes.list[i]);
    for (unsigned i = 0; i < causes.undecided_count; i++)
        add_undecided(&v->found, causes.undecided[i]);
    if (causes.count == 0)
        explain_no_finding(j, &v->found, p);
    explain_no_census(&v->found, p);
    add_caches(j, &v->found, p);
    const struct traced *const traced[] = {&p->host.traced, &p->device, &p->pinned};
    for (size_t i = 0; i < sizeof(traced) / sizeof(traced[0]); i++)
        if (traced[i]->count > 0)
            view_sites(j, m, traced[i], &v->found);
}

void view_findings(struct job *j, struct view *v)
{
    struct process_facts *p = malloc(sizeof(*p));
    if (!p)
        base_out_of_memory();
    v->found.so_far = v->answer.verdict != VERDICT_LEAK;
    for (size_t i = 0; i < j->member_count; i++) {
        struct member *m = j->members[i];
        if (m->evidence && m->evidence->census)
            add_census(&v->found, m);
        if (m->evidence && m->evidence->sites)
            view_tracer(m, &v->found);
        /* A job that does not leak has no causes; a bounded cache that fills is not one. */
        if (m->has_tracks && (v->answer.verdict != VERDICT_NO_LEAK || member_fills(m)))
            look_at(j, v, m, p);
        else if (m->evidence && m->evidence->sites)
            view_warm_up(j, m, &v->found);
    }
    free(p);
    j->cause_announced = j->cause_announced || (v->found.count > 0 && v->found.findings[0].holder);
}

void view_review_findings(struct job *j)
{
    struct view v = {0};
    if (!(j->leak_announced || job_any_attached_climbs(j)) || j->cause_announced ||
        !j->holders_known)
        return;
    j->holders_known = false;
    view_judge(j, &v);
    view_findings(j, &v);
    if (j->cause_announced)
        job_add_news(j, NEWS_CAUSE, 0, "%s: %s", j->leak_announced ? "cause" : "growing so far",
                     v.found.findings[0].sentence);
    view_release(&v);
}

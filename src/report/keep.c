/* report/keep.c: a view as a text from which it can be made again. */
#include "report/keep.h"
#include "report/found.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is kept of each struct, by name ---- */

struct field {
    const char *name;
    size_t offset;
};

#define NUMBER(type, member)                                                                       \
    {                                                                                              \
#member, offsetof(struct type, member)                                                     \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct field answer_numbers[] = {
    NUMBER(answer, confidence),
    NUMBER(answer, first_at),
    NUMBER(answer, last_at),
    NUMBER(answer, first_seconds),
    NUMBER(answer, last_seconds),
    NUMBER(answer, epoch_length),
    NUMBER(answer, horizon),
    NUMBER(answer, plan),
    NUMBER(answer, limit),
    NUMBER(answer, min),
    NUMBER(answer, max),
    NUMBER(answer, mean),
    NUMBER(answer, last),
    NUMBER(answer, floor_first),
    NUMBER(answer, floor_last),
    NUMBER(answer, noise),
    NUMBER(answer, suspect_at),
    NUMBER(answer, alarm_at),
    NUMBER(answer, onset_at),
    NUMBER(answer, onset_seconds),
    NUMBER(answer, rate),
    NUMBER(answer, rate_low),
    NUMBER(answer, rate_high),
    NUMBER(answer, rate_upper),
    NUMBER(answer, rate_per_step),
    NUMBER(answer, rate_per_epoch),
    NUMBER(answer, rate_per_second),
    NUMBER(answer, warm_up_end),
    NUMBER(answer, warm_up_epochs),
    NUMBER(answer, forecast.plan_value),
    NUMBER(answer, forecast.plan_low),
    NUMBER(answer, forecast.plan_high),
    NUMBER(answer, forecast.limit_at),
    NUMBER(answer, forecast.limit_low),
    NUMBER(answer, forecast.limit_high),
    NUMBER(answer, forecast.limit_seconds),
    NUMBER(answer, needs.at_least),
    NUMBER(answer, needs.seconds),
    NUMBER(answer, naive.rate),
    NUMBER(answer, naive.warm_up_share),
    NUMBER(answer, spikes.height),
};

static const struct field phase_numbers[] = {
    NUMBER(phase, from),      NUMBER(phase, to),   NUMBER(phase, level_from),
    NUMBER(phase, level_to),  NUMBER(phase, rate), NUMBER(phase, rate_low),
    NUMBER(phase, rate_high),
};

static const struct field block_numbers[] = {
    NUMBER(history_block, at),   NUMBER(history_block, seconds), NUMBER(history_block, min),
    NUMBER(history_block, mean), NUMBER(history_block, peak),
};

static const struct field row_numbers[] = {
    NUMBER(watch_row, pss_first), NUMBER(watch_row, pss),   NUMBER(watch_row, anon),
    NUMBER(watch_row, file),      NUMBER(watch_row, shmem), NUMBER(watch_row, swap),
    NUMBER(watch_row, rss),       NUMBER(watch_row, gpu),
};

static const struct field view_numbers[] = {
    NUMBER(watch_view, started),
    NUMBER(watch_view, seconds),
    NUMBER(watch_view, steps),
    NUMBER(watch_view, step),
    NUMBER(watch_view, epochs),
    NUMBER(watch_view, limit),
    NUMBER(watch_view, system_first),
    NUMBER(watch_view, system_last),
    NUMBER(watch_view, system_total),
    NUMBER(watch_view, shm_first),
    NUMBER(watch_view, shm_last),
    NUMBER(watch_view, unexplained),
    NUMBER(watch_view, watcher_cpu_seconds),
    NUMBER(watch_view, watcher_bytes),
    NUMBER(watch_view, stall_seconds),
};

/* Everything but the numbers above; all are kept as numbers. */
enum answer_integer {
    ANSWER_VERDICT,
    ANSWER_SUSPECT,
    ANSWER_SEVERITY,
    ANSWER_PATTERN,
    ANSWER_SAMPLES,
    ANSWER_REFUSED,
    ANSWER_RESTARTS,
    ANSWER_MISLEADS,
    ANSWER_SPIKES,
    ANSWER_RECOVERED,
    ANSWER_INTEGERS,
};

/*
 * The numbers of severities in run files. They are places in this table and not those of the enum,
 * whose order may change: a new severity goes to the end. A reader that does not know a number
 * judges the run anew.
 */
static const enum severity kept_severities[] = {
    SEVERITY_NONE, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_NEGLIGIBLE,
};
static const unsigned kept_severity_most = COUNT_OF(kept_severities) - 1;

static int64_t severity_kept(enum severity severity)
{
    int64_t number = 0;
    while (kept_severities[number] != severity)
        number++;
    return number;
}

/* ---- writing ---- */

/* JSON has no infinity: it is kept as a word, and what is not known is left out. */
static void keep_number(struct json *j, const char *key, double value)
{
    if (isinf(value))
        json_string(j, key, value > 0 ? "inf" : "-inf");
    else if (isnan(value))
        json_null(j, key);
    else
        json_number(j, key, value);
}

static void keep_numbers(struct json *j, const char *key, const void *from,
                         const struct field *fields, size_t count)
{
    json_array_begin(j, key);
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, (const char *) from + fields[i].offset, sizeof(value));
        keep_number(j, NULL, value);
    }
    json_array_end(j);
}

static void keep_integers(struct json *j, const char *key, const int64_t *values, size_t count)
{
    json_array_begin(j, key);
    for (size_t i = 0; i < count; i++)
        json_integer(j, NULL, values[i]);
    json_array_end(j);
}

static void keep_answer(struct json *j, const struct answer *a)
{
    const int64_t integers[ANSWER_INTEGERS] = {
        [ANSWER_VERDICT] = a->verdict,
        [ANSWER_SUSPECT] = a->suspect,
        [ANSWER_SEVERITY] = severity_kept(a->severity),
        [ANSWER_PATTERN] = a->pattern,
        [ANSWER_SAMPLES] = (int64_t) a->samples,
        [ANSWER_REFUSED] = (int64_t) a->refused,
        [ANSWER_RESTARTS] = (int64_t) a->restarts,
        [ANSWER_MISLEADS] = a->naive.misleads,
        [ANSWER_SPIKES] = a->spikes.count,
        [ANSWER_RECOVERED] = a->spikes.recovered,
    };
    keep_integers(j, "integers", integers, ANSWER_INTEGERS);
    keep_numbers(j, "numbers", a, answer_numbers, COUNT_OF(answer_numbers));
    json_array_begin(j, "phases");
    for (unsigned i = 0; i < a->phase_count; i++) {
        json_integer(j, NULL, a->phases[i].name);
        keep_numbers(j, NULL, &a->phases[i], phase_numbers, COUNT_OF(phase_numbers));
    }
    json_array_end(j);
    json_array_begin(j, "during");
    for (unsigned i = 0; i < a->spikes.during_count; i++) {
        json_string(j, NULL, a->spikes.during[i].name);
        json_integer(j, NULL, a->spikes.during[i].count);
    }
    json_array_end(j);
    json_array_begin(j, "why");
    for (unsigned i = 0; i < a->why_count; i++)
        json_string(j, NULL, a->why[i]);
    json_array_end(j);
    json_string(j, "needs", a->needs.why);
}

static void keep_history(struct json *j, const struct history *h)
{
    json_array_begin(j, "history");
    for (unsigned i = 0; i < h->count; i++) {
        json_integer(j, NULL, (int64_t) h->blocks[i].count);
        keep_numbers(j, NULL, &h->blocks[i], block_numbers, COUNT_OF(block_numbers));
    }
    json_array_end(j);
}

static void keep_series(struct json *j, const struct watch_series *s)
{
    const struct series_info *info = &s->info;
    const int64_t what[] = {info->pid, info->unit, info->clock, s->part};
    json_object_begin(j, NULL);
    json_string(j, "name", info->name);
    json_string(j, "kind", info->kind);
    json_string(j, "device", info->device);
    json_string(j, "role", info->role);
    json_string(j, "rank", info->rank);
    json_string(j, "command", info->command);
    json_string(j, "start", info->start);
    keep_integers(j, "what", what, COUNT_OF(what));
    keep_answer(j, &s->answer);
    keep_history(j, &s->history);
    json_object_end(j);
}

static void keep_phase(struct json *j, const struct watch_phase *p)
{
    json_object_begin(j, NULL);
    json_string(j, "name", p->name);
    json_integer(j, "times", (int64_t) p->times);
    json_integer(j, "ended", (int64_t) p->ended);
    json_number(j, "seconds", p->seconds);
    json_array_begin(j, "series");
    for (size_t i = 0; i < p->count; i++) {
        const struct watch_phase_series *s = &p->series[i];
        json_array_begin(j, NULL);
        json_integer(j, NULL, (int64_t) s->series);
        json_number(j, NULL, s->height);
        json_number(j, NULL, s->kept);
        json_integer(j, NULL, (int64_t) s->looked_at);
        json_integer(j, NULL, (int64_t) s->given_back);
        json_array_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void keep_row(struct json *j, const char *key, const struct watch_row *r)
{
    json_object_begin(j, key);
    json_string(j, "label", r->label);
    json_integer(j, "processes", r->processes);
    json_integer(j, "role", r->role);
    json_integer(j, "pid", r->pid);
    json_integer(j, "grows", r->grows);
    keep_numbers(j, "numbers", r, row_numbers, COUNT_OF(row_numbers));
    json_object_end(j);
}

void report_keep(struct buf *out, const struct watch_view *v)
{
    const int64_t job[] = {v->answer.verdict,
                           severity_kept(v->answer.severity),
                           (int64_t) v->answer.deciding,
                           v->answer.leaks,
                           v->answer.inconclusives,
                           v->answer.no_leaks,
                           v->processes,
                           v->most_processes,
                           (int64_t) v->processes_seen,
                           v->ended,
                           v->status};
    struct json j;
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    keep_integers(&j, "job", job, COUNT_OF(job));
    keep_numbers(&j, "numbers", v, view_numbers, COUNT_OF(view_numbers));
    json_string(&j, "command", v->command);
    json_string(&j, "arguments", v->arguments);
    json_string(&j, "limit_source", v->limit_source);
    json_string(&j, "steps_from", v->steps_from);
    json_string(&j, "ending", v->ending);
    json_string(&j, "unread", v->unread);
    json_array_begin(&j, "notes");
    for (unsigned i = 0; i < v->note_count; i++)
        json_string(&j, NULL, v->notes[i]);
    json_array_end(&j);
    keep_row(&j, "total", &v->total);
    json_array_begin(&j, "rows");
    for (size_t i = 0; i < v->row_count; i++)
        keep_row(&j, NULL, &v->rows[i]);
    json_array_end(&j);
    json_array_begin(&j, "series");
    for (size_t i = 0; i < v->count; i++)
        keep_series(&j, &v->series[i]);
    json_array_end(&j);
    json_array_begin(&j, "phases");
    for (size_t i = 0; i < v->phase_count; i++)
        keep_phase(&j, &v->phases[i]);
    json_array_end(&j);
    json_array_begin(&j, "patterns");
    for (unsigned i = 0; i < v->pattern_count; i++) {
        json_integer(&j, NULL, v->patterns[i].pattern);
        json_string(&j, NULL, v->patterns[i].text);
    }
    json_array_end(&j);
    json_object_begin(&j, "found");
    found_json(&j, &v->found);
    json_object_end(&j);
    json_object_end(&j);
}

/* ---- reading ---- */

int keep_read_members(struct json_reader *r, keep_member_reader *read, void *to)
{
    struct json_token t;
    for (;;) {
        if (json_next(r, &t) < 0)
            return -EINVAL;
        if (t.type == JSON_OBJECT_END)
            return 0;
        if (t.type != JSON_KEY || read(r, &t, to) < 0)
            return -EINVAL;
    }
}

int keep_expect(struct json_reader *r, enum json_type type)
{
    struct json_token t;
    return json_next(r, &t) == 0 && t.type == type ? 0 : -EINVAL;
}

bool keep_next_is(struct json_reader *r, enum json_type type, struct json_token *ret)
{
    if (json_next(r, ret) < 0)
        ret->type = JSON_END;
    return ret->type == type;
}

static int number_of(const struct json_token *t, double *ret)
{
    if (t->type == JSON_NUMBER)
        *ret = t->number;
    else if (t->type == JSON_NULL)
        *ret = NAN;
    else if (t->type == JSON_STRING && json_token_is(t, "inf"))
        *ret = INFINITY;
    else if (t->type == JSON_STRING && json_token_is(t, "-inf"))
        *ret = -INFINITY;
    else
        return -EINVAL;
    return 0;
}

/* Exactly `count` numbers behind a `[`, and the `]`. */
static int read_rest(struct json_reader *r, double *ret, size_t count)
{
    struct json_token t;
    for (size_t i = 0; i < count; i++)
        if (json_next(r, &t) < 0 || number_of(&t, &ret[i]) < 0)
            return -EINVAL;
    return keep_expect(r, JSON_ARRAY_END);
}

static int read_array(struct json_reader *r, double *ret, size_t count)
{
    return keep_expect(r, JSON_ARRAY_BEGIN) < 0 ? -EINVAL : read_rest(r, ret, count);
}

#define MOST_NUMBERS 64

static int read_numbers(struct json_reader *r, void *to, const struct field *fields, size_t count)
{
    double values[MOST_NUMBERS];
    if (read_array(r, values, count) < 0)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        memcpy((char *) to + fields[i].offset, &values[i], sizeof(values[i]));
    return 0;
}

bool keep_is_within(double value, double most)
{
    return value >= 0 && value <= most;
}

char *keep_text_of(const struct json_token *t)
{
    struct buf text = BUF_INIT;
    json_token_text(t, &text);
    char *copy = strdup(buf_text(&text));
    buf_release(&text);
    if (!copy)
        base_out_of_memory();
    return copy;
}

int keep_read_text(struct json_reader *r, const char **ret)
{
    struct json_token t;
    if (json_next(r, &t) < 0 || t.type != JSON_STRING)
        return -EINVAL;
    free((char *) *ret);
    *ret = keep_text_of(&t);
    return 0;
}

/* A sentence, cut to whole characters where it is too long. */
static void line_of(const struct json_token *t, char ret[ANSWER_WHY_LENGTH])
{
    struct buf text = BUF_INIT;
    size_t used = 0;
    json_token_text(t, &text);
    for (const char *s = buf_text(&text); *s;) {
        size_t len = utf8_length(s);
        if (used + (len ? len : 1) >= ANSWER_WHY_LENGTH)
            break;
        memcpy(ret + used, len ? s : "?", len ? len : 1);
        used += len ? len : 1;
        s += len ? len : 1;
    }
    ret[used] = '\0';
    buf_release(&text);
}

static int read_line(struct json_reader *r, char ret[ANSWER_WHY_LENGTH])
{
    struct json_token t;
    if (!keep_next_is(r, JSON_STRING, &t))
        return -EINVAL;
    line_of(&t, ret);
    return 0;
}

static int read_answer_integers(struct json_reader *r, struct answer *a)
{
    double v[ANSWER_INTEGERS];
    if (read_array(r, v, ANSWER_INTEGERS) < 0 || !keep_is_within(v[ANSWER_VERDICT], VERDICT_LEAK) ||
        !keep_is_within(v[ANSWER_SEVERITY], kept_severity_most) ||
        !keep_is_within(v[ANSWER_PATTERN], PATTERN_ACCELERATING))
        return -EINVAL;
    a->verdict = (enum verdict) v[ANSWER_VERDICT];
    a->suspect = v[ANSWER_SUSPECT] != 0;
    a->severity = kept_severities[(size_t) v[ANSWER_SEVERITY]];
    a->pattern = (enum pattern) v[ANSWER_PATTERN];
    a->samples = keep_is_within(v[ANSWER_SAMPLES], 1e15) ? (uint64_t) v[ANSWER_SAMPLES] : 0;
    a->refused = keep_is_within(v[ANSWER_REFUSED], 1e15) ? (uint64_t) v[ANSWER_REFUSED] : 0;
    a->restarts = keep_is_within(v[ANSWER_RESTARTS], 1e15) ? (uint64_t) v[ANSWER_RESTARTS] : 0;
    a->naive.misleads = v[ANSWER_MISLEADS] != 0;
    a->spikes.count = keep_is_within(v[ANSWER_SPIKES], 1e9) ? (unsigned) v[ANSWER_SPIKES] : 0;
    a->spikes.recovered = v[ANSWER_RECOVERED] != 0;
    return 0;
}

static int read_phases(struct json_reader *r, struct answer *a)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_NUMBER, &t)) {
        if (a->phase_count == ANSWER_PHASES || !keep_is_within(t.number, PHASE_LEVEL_SHIFT))
            return -EINVAL;
        struct phase *p = &a->phases[a->phase_count++];
        p->name = (enum phase_name) t.number;
        if (read_numbers(r, p, phase_numbers, COUNT_OF(phase_numbers)) < 0)
            return -EINVAL;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

/* Pairs of a name and how many. */
static int read_during(struct json_reader *r, struct answer *a)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_STRING, &t)) {
        struct spike_activity *x = &a->spikes.during[a->spikes.during_count];
        char *name = keep_text_of(&t);
        bool fits = a->spikes.during_count < ANSWER_ACTIVITIES && strlen(name) < sizeof(x->name);
        if (fits)
            memcpy(x->name, name, strlen(name) + 1);
        free(name);
        if (!fits || !keep_next_is(r, JSON_NUMBER, &t) || !keep_is_within(t.number, 1e9))
            return -EINVAL;
        x->count = (unsigned) t.number;
        a->spikes.during_count++;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_whys(struct json_reader *r, struct answer *a)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_STRING, &t) && a->why_count < ANSWER_WHY) {
        line_of(&t, a->why[a->why_count++]);
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_history(struct json_reader *r, struct history *h)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_NUMBER, &t)) {
        struct history_block block;
        if (h->count == HISTORY_BLOCKS || !keep_is_within(t.number, 1e15) ||
            read_numbers(r, &block, block_numbers, COUNT_OF(block_numbers)) < 0 ||
            !isfinite(block.at + block.min + block.mean + block.peak))
            return -EINVAL;
        block.count = (uint64_t) t.number;
        block.max = block.peak; /* a chart shows no more */
        block.activity = 0;
        if (!h->blocks)
            h->blocks = malloc(HISTORY_BLOCKS * sizeof(*h->blocks));
        if (!h->blocks)
            base_out_of_memory();
        h->capacity = HISTORY_BLOCKS;
        h->blocks[h->count++] = block;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_what(struct json_reader *r, struct watch_series *s)
{
    double v[4];
    if (read_array(r, v, 4) < 0 || !keep_is_within(v[0], 1e10) ||
        !keep_is_within(v[1], SERIES_COUNT) || !keep_is_within(v[2], CLOCK_SECONDS) ||
        !keep_is_within(v[3], PART_TOTAL))
        return -EINVAL;
    s->info.pid = (int64_t) v[0];
    s->info.unit = (enum series_unit) v[1];
    s->info.clock = (enum series_clock) v[2];
    s->part = (enum job_part) v[3];
    return 0;
}

static int read_series_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_series *s = to;
    const struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"name", &s->info.name},   {"kind", &s->info.kind}, {"device", &s->info.device},
        {"role", &s->info.role},   {"rank", &s->info.rank}, {"command", &s->info.command},
        {"start", &s->info.start},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (json_token_is(key, texts[i].name))
            return keep_read_text(r, texts[i].text);
    if (json_token_is(key, "what"))
        return read_what(r, s);
    if (json_token_is(key, "integers"))
        return read_answer_integers(r, &s->answer);
    if (json_token_is(key, "numbers"))
        return read_numbers(r, &s->answer, answer_numbers, COUNT_OF(answer_numbers));
    if (json_token_is(key, "phases"))
        return read_phases(r, &s->answer);
    if (json_token_is(key, "during"))
        return read_during(r, &s->answer);
    if (json_token_is(key, "why"))
        return read_whys(r, &s->answer);
    if (json_token_is(key, "needs"))
        return read_line(r, s->answer.needs.why);
    if (json_token_is(key, "history"))
        return read_history(r, &s->history);
    return json_skip(r);
}

static int read_series(struct json_reader *r, struct watch_view *v)
{
    v->series = realloc(v->series, (v->count + 1) * sizeof(*v->series));
    if (!v->series)
        base_out_of_memory();
    struct watch_series *s = &v->series[v->count++];
    memset(s, 0, sizeof(*s));
    answer_clear(&s->answer);
    history_init(&s->history);
    if (keep_read_members(r, read_series_member, s) < 0)
        return -EINVAL;
    return s->info.name && s->info.kind ? 0 : -EINVAL;
}

/* Which series it is of is checked when all are there. */
static int read_phase_series(struct json_reader *r, struct watch_phase *p)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_ARRAY_BEGIN, &t)) {
        double n[5];
        if (read_rest(r, n, 5) < 0 || !keep_is_within(n[0], 1e9) || !isfinite(n[1] + n[2]) ||
            !keep_is_within(n[3], 1e15) || !keep_is_within(n[4], n[3]))
            return -EINVAL;
        p->series = reallocarray(p->series, p->count + 1, sizeof(*p->series));
        if (!p->series)
            base_out_of_memory();
        p->series[p->count++] = (struct watch_phase_series){(size_t) n[0], n[1], n[2],
                                                            (uint64_t) n[3], (uint64_t) n[4]};
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_phase_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_phase *p = to;
    struct json_token t;
    if (json_token_is(key, "name"))
        return keep_read_text(r, (const char **) &p->name);
    if (json_token_is(key, "series"))
        return read_phase_series(r, p);
    bool times = json_token_is(key, "times"), ended = json_token_is(key, "ended");
    if (!times && !ended && !json_token_is(key, "seconds"))
        return json_skip(r);
    if (!keep_next_is(r, JSON_NUMBER, &t) || !keep_is_within(t.number, 1e15))
        return -EINVAL;
    if (times || ended)
        *(times ? &p->times : &p->ended) = (uint64_t) t.number;
    else
        p->seconds = t.number;
    return 0;
}

static int read_phase(struct json_reader *r, struct watch_view *v)
{
    v->phases = reallocarray(v->phases, v->phase_count + 1, sizeof(*v->phases));
    if (!v->phases)
        base_out_of_memory();
    struct watch_phase *p = &v->phases[v->phase_count++];
    memset(p, 0, sizeof(*p));
    if (keep_read_members(r, read_phase_member, p) < 0)
        return -EINVAL;
    return p->name ? 0 : -EINVAL;
}

static bool phases_are_sane(const struct watch_view *v)
{
    for (size_t i = 0; i < v->phase_count; i++)
        for (size_t k = 0; k < v->phases[i].count; k++)
            if (v->phases[i].series[k].series >= v->count)
                return false;
    return true;
}

static int read_row_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_row *row = to;
    struct json_token t;
    if (json_token_is(key, "label"))
        return keep_read_text(r, (const char **) &row->label);
    if (json_token_is(key, "numbers"))
        return read_numbers(r, row, row_numbers, COUNT_OF(row_numbers));
    static const char *const names[] = {"processes", "grows", "pid", "role"};
    size_t which = 0;
    while (which < COUNT_OF(names) && !json_token_is(key, names[which]))
        which++;
    if (which == COUNT_OF(names))
        return json_skip(r);
    if (json_next(r, &t) < 0 || t.type != JSON_NUMBER ||
        !keep_is_within(t.number, which == 3 ? ROLE_HELPER : 1e9))
        return -EINVAL;
    if (which == 0)
        row->processes = (unsigned) t.number;
    else if (which == 1)
        row->grows = t.number != 0;
    else if (which == 2)
        row->pid = (int64_t) t.number;
    else
        row->role = (enum proc_role) t.number;
    return 0;
}

static int read_row(struct json_reader *r, struct watch_view *v)
{
    v->rows = realloc(v->rows, (v->row_count + 1) * sizeof(*v->rows));
    if (!v->rows)
        base_out_of_memory();
    struct watch_row *row = &v->rows[v->row_count++];
    memset(row, 0, sizeof(*row));
    if (keep_read_members(r, read_row_member, row) < 0)
        return -EINVAL;
    return row->label ? 0 : -EINVAL;
}

/* The sum has no label, and a view does not own one for it. */
static int read_total(struct json_reader *r, struct watch_row *total)
{
    int e = keep_expect(r, JSON_OBJECT_BEGIN);
    if (e == 0)
        e = keep_read_members(r, read_row_member, total);
    free(total->label);
    total->label = NULL;
    return e;
}

/* An array of objects. */
static int read_objects(struct json_reader *r,
                        int (*read)(struct json_reader *, struct watch_view *),
                        struct watch_view *v)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_OBJECT_BEGIN, &t))
        if (read(r, v) < 0)
            return -EINVAL;
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_notes(struct json_reader *r, struct watch_view *v)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_STRING, &t) && v->note_count < WATCH_NOTES)
        v->notes[v->note_count++] = keep_text_of(&t);
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

/* Pairs of a pattern and what it is the pattern of. */
static int read_patterns(struct json_reader *r, struct watch_view *v)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_NUMBER, &t)) {
        if (v->pattern_count == WATCH_PATTERNS || !keep_is_within(t.number, PATTERN_ACCELERATING))
            return -EINVAL;
        struct watch_pattern *p = &v->patterns[v->pattern_count];
        *p = (struct watch_pattern){.pattern = (enum pattern) t.number};
        if (keep_read_text(r, (const char **) &p->text) < 0)
            return -EINVAL;
        v->pattern_count++;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_job(struct json_reader *r, struct watch_view *v)
{
    double n[11];
    if (read_array(r, n, 11) < 0 || !keep_is_within(n[0], VERDICT_LEAK) ||
        !keep_is_within(n[1], kept_severity_most))
        return -EINVAL;
    v->answer.verdict = (enum verdict) n[0];
    v->answer.severity = kept_severities[(size_t) n[1]];
    v->answer.deciding = keep_is_within(n[2], 1e6) ? (size_t) n[2] : SIZE_MAX;
    unsigned *counts[] = {&v->answer.leaks, &v->answer.inconclusives, &v->answer.no_leaks,
                          &v->processes, &v->most_processes};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        *counts[i] = keep_is_within(n[3 + i], 1e9) ? (unsigned) n[3 + i] : 0;
    v->processes_seen = keep_is_within(n[8], 1e15) ? (uint64_t) n[8] : 0;
    v->ended = n[9] != 0;
    v->status = keep_is_within(n[10], 1e6) ? (int) n[10] : 0;
    return 0;
}

static int read_view_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_view *v = to;
    if (json_token_is(key, "job"))
        return read_job(r, v);
    if (json_token_is(key, "numbers"))
        return read_numbers(r, v, view_numbers, COUNT_OF(view_numbers));
    if (json_token_is(key, "command"))
        return keep_read_text(r, (const char **) &v->command);
    if (json_token_is(key, "arguments"))
        return keep_read_text(r, (const char **) &v->arguments);
    if (json_token_is(key, "limit_source"))
        return keep_read_text(r, (const char **) &v->limit_source);
    if (json_token_is(key, "steps_from"))
        return keep_read_text(r, (const char **) &v->steps_from);
    if (json_token_is(key, "ending"))
        return keep_read_text(r, (const char **) &v->ending);
    if (json_token_is(key, "unread"))
        return keep_read_text(r, (const char **) &v->unread);
    if (json_token_is(key, "notes"))
        return read_notes(r, v);
    if (json_token_is(key, "total"))
        return read_total(r, &v->total);
    if (json_token_is(key, "rows"))
        return read_objects(r, read_row, v);
    if (json_token_is(key, "series"))
        return read_objects(r, read_series, v);
    if (json_token_is(key, "phases"))
        return read_objects(r, read_phase, v);
    if (json_token_is(key, "patterns"))
        return read_patterns(r, v);
    if (json_token_is(key, "found"))
        return found_read_json(r, &v->found);
    return json_skip(r);
}

int report_recall(const char *text, size_t len, struct watch_view *ret)
{
    struct json_reader r;
    memset(ret, 0, sizeof(*ret));
    json_reader_init(&r, text, len);
    int e = keep_expect(&r, JSON_OBJECT_BEGIN);
    if (e == 0)
        e = keep_read_members(&r, read_view_member, ret);
    if (e == 0)
        e = keep_expect(&r, JSON_END);
    if (e == 0 && ((ret->limit > 0 && !ret->limit_source) || !phases_are_sane(ret)))
        e = -EINVAL;
    if (e < 0)
        watch_view_release(ret);
    return e;
}

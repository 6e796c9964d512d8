/* report/advice.c: the memory a job needs and settings that help, for people and programs. */
#include "replay/replay.h"
#include "report/json.h"
#include "report/run.h"
#include "report/table.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>

#define INDENT 2u

/* ---- what was judged ---- */

struct judged {
    struct size sizes[1 + ADVICE_DEVICES];
    struct settings settings;
};

static struct judged *judge(const struct advice_facts *e)
{
    struct judged *j = calloc(1, sizeof(*j));
    if (!j)
        base_out_of_memory();
    for (size_t i = 0; i < e->size_count; i++)
        size_judge(&e->sizes[i], &j->sizes[i]);
    settings_judge(&e->settings, &j->settings);
    return j;
}

static bool any_leaks(const struct report_advice *a, const struct judged *j)
{
    for (size_t i = 0; i < a->evidence->size_count; i++)
        if (j->sizes[i].leaks)
            return true;
    return false;
}

/* The run supports a size for at least one kind of memory. */
static bool is_supported(const struct report_advice *a, const struct judged *j)
{
    for (size_t i = 0; i < a->evidence->size_count; i++)
        if (isfinite(j->sizes[i].minimum))
            return true;
    return false;
}

/* ---- text: what it is about ---- */

static enum size_caveat caveat_of(const struct report_advice *a, const struct judged *j)
{
    if (any_leaks(a, j))
        return CAVEAT_LEAK;
    return a->ending ? CAVEAT_FAILED : is_supported(a, j) ? CAVEAT_NONE : CAVEAT_SHORT;
}

static void add_caveat(struct buf *out, const struct report_advice *a, const struct judged *j,
                       const struct report_style *style)
{
    struct buf text = BUF_INIT;
    size_caveat(&text, caveat_of(a, j), a->ending);
    if (text.len > 0)
        format_wrapped(out, buf_text(&text), 0, style);
    buf_release(&text);
}

static void add_headline(struct buf *out, const struct report_advice *a, const struct judged *j,
                         const struct report_style *style)
{
    struct run_job job;
    run_job_init(&job, a->view);
    text_opening(out, &job.job, style);
    run_job_release(&job);
    add_caveat(out, a, j, style);
    buf_addc(out, '\n');
}

static void add_ending(struct buf *out, const struct report_advice *a,
                       const struct report_style *style)
{
    struct run_job job;
    run_job_init(&job, a->view);
    text_ending(out, &job.job, style);
    run_job_release(&job);
}

static void add_about(struct buf *out, const struct report_advice *a,
                      const struct report_style *style)
{
    struct buf command = BUF_INIT, seen = BUF_INIT, plan = BUF_INIT;
    if (a->command)
        format_clean_cut(&command, a->command, 3 * format_width(style), style);
    text_fact(out, "command", &command, style);
    units_add_duration(&seen, a->seconds);
    if (isfinite(a->steps)) {
        buf_adds(&seen, ", ");
        series_add_length(&seen, a->steps, false, CLOCK_STEP);
    }
    buf_adds(&seen, a->finished ? "" : ", without a final answer");
    text_fact(out, "seen", &seen, style);
    if (isfinite(a->evidence->plan)) {
        bool steps = a->evidence->clock == CLOCK_STEP;
        buf_adds(&plan, "up to ");
        series_add_position(&plan, a->evidence->plan, 0, steps ? CLOCK_STEP : CLOCK_SECONDS);
    }
    text_fact(out, "plan", &plan, style);
}

/* ---- text: sizes ---- */

/* "165 MB", "step 83 (2.1 min)". */
static void add_settling(struct table *t, const struct size_facts *f, const struct size *s)
{
    const struct answer *a = f->answer;
    if (!s->settled) {
        table_add(t, a->verdict == VERDICT_LEAK ? "never" : "not yet");
        table_add(t, "");
        return;
    }
    units_add_bytes(&t->cell, f->settled);
    table_end_cell(t);
    if (isfinite(a->warm_up_end)) {
        series_add_position(&t->cell, a->warm_up_end, a->first_at, f->clock);
        if (f->clock == CLOCK_STEP && isfinite(f->warm_up_seconds)) {
            buf_adds(&t->cell, " (");
            units_add_duration(&t->cell, f->warm_up_seconds);
            buf_addc(&t->cell, ')');
        }
    } else {
        buf_adds(&t->cell, "the start");
    }
    table_end_cell(t);
}

static void add_bytes(struct table *t, double bytes)
{
    if (isfinite(bytes))
        units_add_bytes(&t->cell, bytes);
    else
        buf_adds(&t->cell, "none");
    table_end_cell(t);
}

static void add_sizes(struct buf *out, const struct advice_facts *e, const struct judged *j)
{
    struct table t = TABLE_INIT(6);
    static const char *const heading[] = {"memory", "settles at", "after",
                                          "peak",   "minimum",    "recommended"};
    if (e->size_count == 0)
        return;
    for (unsigned i = 0; i < 6; i++)
        table_add(&t, heading[i]);
    for (size_t i = 0; i < e->size_count; i++) {
        table_add(&t, e->sizes[i].name);
        add_settling(&t, &e->sizes[i], &j->sizes[i]);
        add_bytes(&t, e->sizes[i].peak);
        add_bytes(&t, j->sizes[i].minimum);
        add_bytes(&t, j->sizes[i].recommended);
    }
    buf_addc(out, '\n');
    table_render(&t, out, INDENT);
    buf_addc(out, '\n');
}

/* The sentences of the reasons in a row, after the name of the memory. */
static void add_reasons(struct buf *out, const char *label, const struct size_facts *f,
                        const struct size_reasons *reasons, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (reasons->count > 0)
        buf_addf(&text, "%s:", f->name);
    for (unsigned i = 0; i < reasons->count; i++) {
        buf_addc(&text, ' ');
        size_describe(&text, &reasons->list[i], f);
    }
    text_fact(out, label, &text, style);
}

static void add_size_reasons(struct buf *out, const struct report_advice *a, const struct judged *j,
                             const struct report_style *style)
{
    const struct advice_facts *e = a->evidence;
    const char *label = is_supported(a, j) ? "minimum" : "reasons";
    bool first = true;
    for (size_t i = 0; i < e->size_count; i++)
        add_reasons(out, i == 0 ? label : "", &e->sizes[i], &j->sizes[i].minimum_why, style);
    for (size_t i = 0; i < e->size_count; i++) {
        if (isnan(j->sizes[i].recommended))
            continue;
        add_reasons(out, first ? "margin" : "", &e->sizes[i], &j->sizes[i].recommended_why, style);
        first = false;
    }
}

/* ---- text: the rest ---- */

/* "20 compile workers: 8.00 GB by RSS, 1.10 GB by share, stable; without them 1.02 GB less". */
static void add_parts(struct buf *out, const struct advice_facts *e,
                      const struct report_style *style)
{
    for (size_t i = 0; i < e->part_count; i++) {
        const struct part_facts *p = &e->parts[i];
        struct buf text = BUF_INIT;
        buf_addf(&text, "%u %s%s: ", p->processes, p->role, p->processes == 1 ? "" : "s");
        size_overhead(&text, p);
        text_fact(out, i == 0 ? "overhead" : "", &text, style);
    }
}

static void add_settings(struct buf *out, const struct report_advice *a, const struct judged *j,
                         const struct report_style *style)
{
    for (unsigned i = 0; i < j->settings.count; i++) {
        struct buf text = BUF_INIT;
        buf_addf(&text, "%s: ", setting_name(j->settings.list[i].kind));
        setting_describe(&text, &j->settings.list[i], &a->evidence->settings);
        text_fact(out, i == 0 ? "settings" : "", &text, style);
    }
    if (j->settings.count > 0 || !is_supported(a, j))
        return;
    struct buf text = BUF_INIT;
    buf_adds(&text, setting_none());
    text_fact(out, "settings", &text, style);
}

void report_advice_text(struct buf *out, const struct report_advice *a,
                        const struct report_style *style)
{
    struct judged *j = judge(a->evidence);
    add_headline(out, a, j, style);
    add_about(out, a, style);
    add_sizes(out, a->evidence, j);
    add_size_reasons(out, a, j, style);
    add_parts(out, a->evidence, style);
    add_settings(out, a, j, style);
    add_ending(out, a, style);
    free(j);
}

/* ---- JSON ---- */

static void add_json_reasons(struct json *j, const char *key, const struct size_facts *f,
                             const struct size_reasons *reasons)
{
    json_array_begin(j, key);
    for (unsigned i = 0; i < reasons->count; i++) {
        struct buf text = BUF_INIT;
        size_describe(&text, &reasons->list[i], f);
        json_string(j, NULL, buf_text(&text));
        buf_release(&text);
    }
    json_array_end(j);
}

static void add_json_size(struct json *j, const struct size_facts *f, const struct size *s)
{
    const struct answer *a = f->answer;
    bool steps = f->clock == CLOCK_STEP;
    json_object_begin(j, NULL);
    json_string(j, "name", f->name);
    json_string(j, "verdict", verdict_name(s->verdict));
    if (s->verdict == VERDICT_LEAK)
        json_string(j, "severity", severity_name(a->severity));
    json_string(j, "clock", series_clock_name(f->clock));
    json_number(j, "settled", s->settled ? f->settled : (double) NAN);
    json_number(j, "peak", f->peak);
    if (s->settled) {
        json_number(j, "warm_up_end_step", steps ? a->warm_up_end : (double) NAN);
        json_number(j, "warm_up_end_seconds", f->warm_up_seconds);
    }
    json_number(j, "copied", f->copied);
    json_number(j, "shared", f->shared);
    json_number(j, "files", f->files);
    json_number(j, "capacity", f->capacity);
    json_number(j, "minimum", s->minimum);
    add_json_reasons(j, "minimum_why", f, &s->minimum_why);
    json_number(j, "recommended", s->recommended);
    add_json_reasons(j, "recommended_why", f, &s->recommended_why);
    json_number(j, steps ? "lasts_until_step" : "lasts_until_seconds", s->grows_until);
    json_number(j, "for_plan", s->for_plan);
    json_object_end(j);
}

static void add_json_part(struct json *j, const struct part_facts *p)
{
    json_object_begin(j, NULL);
    json_string(j, "role", p->role);
    json_integer(j, "processes", p->processes);
    json_number(j, "rss", p->rss);
    json_number(j, "pss", p->pss);
    json_number(j, "private", p->private_bytes);
    json_bool(j, "stable", p->stable);
    json_object_end(j);
}

static void add_json_copies(struct json *j, const struct copy_facts *f)
{
    struct copies c;
    if (!f)
        return;
    copies_judge(f, &c);
    json_object_begin(j, "copies");
    json_string(j, "parent", f->parent);
    json_bool(j, "spawned", f->spawned);
    json_integer(j, "workers", f->workers);
    json_number(j, "each", f->each);
    json_number(j, "all", f->measured == f->workers ? f->all : (double) NAN);
    json_number(j, "inherited", f->spawned ? (double) NAN : f->inherited);
    if (!f->spawned && f->trend != COPIES_UNKNOWN)
        json_bool(j, "grows", f->trend == COPIES_GROW);
    json_number(j, "ends_at", c.ends_at);
    if (c.named || c.part) {
        json_string(j, "owner", f->owner);
        json_string(j, "attribute", f->attribute);
        json_string(j, "type", f->type);
        json_number(j, "objects", f->objects);
    }
    json_object_end(j);
}

void report_advice_json(struct buf *out, const struct report_advice *a)
{
    const struct advice_facts *e = a->evidence;
    struct judged *judged = judge(e);
    struct json j;
    struct run_job job;
    run_job_init(&job, a->view);
    report_json_begin(&j, out);
    report_json_verdict(&j, &job.job);
    json_number(&j, "seconds", a->seconds);
    json_number(&j, "steps", a->steps);
    json_bool(&j, "finished", a->finished);
    json_bool(&j, "supported", is_supported(a, judged));
    json_string(&j, "failed", a->ending);
    json_number(&j, e->clock == CLOCK_STEP ? "plan_steps" : "plan_seconds", e->plan);
    json_array_begin(&j, "memory");
    for (size_t i = 0; i < e->size_count; i++)
        add_json_size(&j, &e->sizes[i], &judged->sizes[i]);
    json_array_end(&j);
    json_array_begin(&j, "overhead");
    for (size_t i = 0; i < e->part_count; i++)
        add_json_part(&j, &e->parts[i]);
    json_array_end(&j);
    add_json_copies(&j, e->settings.copies);
    json_array_begin(&j, "settings");
    for (unsigned i = 0; i < judged->settings.count; i++) {
        json_object_begin(&j, NULL);
        struct buf why = BUF_INIT;
        setting_describe(&why, &judged->settings.list[i], &e->settings);
        json_string(&j, "setting", setting_name(judged->settings.list[i].kind));
        json_string(&j, "why", buf_text(&why));
        buf_release(&why);
        json_object_end(&j);
    }
    json_array_end(&j);
    report_json_end(&j);
    run_job_release(&job);
    free(judged);
}

/* report/sites.c: where processes allocated their memory, as JSON. */
#include "report/json.h"
#include "report/stacks.h"

#include <errno.h>
#include <math.h>

#define SUMMARY_CHARACTERS 200u

static void add_frame(struct json *j, const struct site_frame *f)
{
    json_object_begin(j, NULL);
    json_string(j, "function", f->function[0] ? f->function : NULL);
    json_string(j, "file", f->file[0] ? f->file : NULL);
    if (f->line > 0)
        json_integer(j, "line", f->line);
    if (f->module[0]) {
        json_string(j, "module", f->module);
        json_integer(j, "offset", (int64_t) f->offset);
    }
    if (f->is_inlined)
        json_bool(j, "inlined", true);
    json_object_end(j);
}

static void add_frames(struct json *j, const struct site *s)
{
    json_array_begin(j, "frames");
    for (unsigned i = 0; i < s->frame_count; i++)
        add_frame(j, &s->frames[i]);
    json_array_end(j);
    int own = site_own_frame(s);
    if (own >= 0)
        json_integer(j, "own_frame", own);
    if (s->is_truncated)
        json_bool(j, "truncated", true);
}

static void add_points(struct json *j, const struct site_point *points, unsigned count)
{
    json_array_begin(j, "points");
    for (const struct site_point *p = points; p < points + count; p++) {
        json_object_begin(j, NULL);
        json_number(j, "seconds", p->seconds);
        json_number(j, "bytes", p->bytes);
        json_number(j, "error", sqrt(p->variance));
        json_number(j, "allocated", p->allocated);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_cohorts(struct json *j, const struct site *s)
{
    json_array_begin(j, "cohorts");
    for (unsigned i = 0; i < SITE_COHORTS; i++)
        json_number(j, NULL, s->cohorts[i]);
    json_array_end(j);
}

static void add_site(struct json *j, const struct report_stacks *r, const struct sites *sites,
                     const struct site *s)
{
    struct amount live = stacks_amount(r, sites, s, REPORT_LIVE);
    struct amount growth = stacks_amount(r, sites, s, REPORT_GROWTH);
    struct buf summary = BUF_INIT;
    site_describe(s, SUMMARY_CHARACTERS, &summary);
    json_object_begin(j, NULL);
    json_string(j, "summary", buf_text(&summary));
    json_string(j, "kind", site_kind_name(s->kind));
    json_string(j, "device", s->device[0] ? s->device : NULL);
    json_string(j, "habit",
                site_habit(s) == SITE_HABIT_UNKNOWN ? NULL : site_habit_name(site_habit(s)));
    json_number(j, "growth", growth.bytes);
    json_number(j, "growth_error", growth.error);
    json_number(j, "live", live.bytes);
    json_number(j, "live_error", live.error);
    json_number(j, "allocated", stacks_amount(r, sites, s, REPORT_ALLOCATED).bytes);
    json_number(j, "objects", s->objects);
    json_number(j, "samples", s->samples);
    json_number(j, "samples_live", s->live);
    add_frames(j, s);
    add_points(j, s->points, s->point_count);
    add_cohorts(j, s);
    json_object_end(j);
    buf_release(&summary);
}

static void add_tracer(struct json *j, const struct sites *s)
{
    json_object_begin(j, "tracer");
    json_number(j, "armed_seconds", s->armed);
    json_number(j, "last_seconds", s->seconds);
    json_number(j, "interval", s->interval);
    json_bool(j, "native", s->has_native);
    json_bool(j, "python", s->has_python);
    json_number(j, "samples", s->samples);
    json_number(j, "dropped", s->dropped);
    json_number(j, "dropped_bytes", s->dropped_bytes);
    json_number(j, "stackless", s->stackless);
    json_number(j, "lost_frees", s->lost_frees);
    json_number(j, "spent_seconds", s->spent_seconds);
    json_object_end(j);
}

static void add_process(struct json *j, const struct report_stacks *r, const struct report_sites *p)
{
    const struct sites *s = p->sites;
    json_object_begin(j, NULL);
    json_string(j, "name", p->process);
    json_integer(j, "pid", p->pid);
    add_tracer(j, s);
    json_number(j, "kept", s->kept);
    json_number(j, "kept_error", sqrt(s->kept_variance));
    json_number(j, "others", s->others);
    json_number(j, "not_seen", s->not_seen);
    json_number(j, "measured_growth", p->growth);
    add_points(j, s->points, s->point_count);
    json_array_begin(j, "sites");
    for (size_t i = 0; i < s->count; i++)
        if (stacks_wants(r, &s->list[i]))
            add_site(j, r, s, &s->list[i]);
    json_array_end(j);
    json_object_end(j);
}

int report_sites_json(struct buf *out, const struct report_stacks *r)
{
    struct json j;
    if (r->count == 0)
        return -ENODATA;
    report_json_begin(&j, out);
    json_string(&j, "command", r->command);
    json_number(&j, "started", r->started);
    json_number(&j, "from_seconds", report_stacks_from(r));
    json_number(&j, "to_seconds", report_stacks_to(r));
    json_array_begin(&j, "processes");
    for (size_t i = 0; i < r->count; i++)
        add_process(&j, r, &r->list[i]);
    json_array_end(&j);
    report_json_end(&j);
    return 0;
}

/* report/activities.c: what a program reported doing beside its steps. */
#include "report/activities.h"
#include "report/text.h"

#include <string.h>

#define PHASES_MOST 8u /* lines */

/* Smaller rises are not reported. */
#define HEIGHT_BYTES (1024.0 * 1024)

/* ---- text ---- */

static void add_times(struct buf *out, const struct view_activity *p)
{
    if (p->times == 1) {
        buf_adds(out, " once");
    } else {
        buf_addc(out, ' ');
        units_add_count(out, (double) p->times, 0);
        buf_adds(out, " times");
    }
    if (p->ended > 0) {
        buf_adds(out, ", ");
        units_add_duration(out, p->seconds / (double) p->ended);
        buf_adds(out, p->times == 1 ? "" : " each");
    }
    if (p->ended < p->times)
        buf_adds(out, p->times == 1 ? ", not ended" : ", the last not ended");
}

/* The higher of two series of the same memory. */
static const struct view_activity_series *higher(const struct view_activity_series *a,
                                                 const struct view_activity_series *b)
{
    return !a || b->height > a->height ? b : a;
}

/* The highest rise of the kinds with this prefix; NULL: none worth reporting. */
static const struct view_activity_series *highest(const struct view *v,
                                                  const struct view_activity *p, const char *kind)
{
    const struct view_activity_series *found = NULL;
    for (size_t i = 0; i < p->count; i++)
        if (strncmp(v->series[p->series[i].series].info.kind, kind, strlen(kind)) == 0)
            found = higher(found, &p->series[i]);
    return found && found->height >= HEIGHT_BYTES ? found : NULL;
}

/* "each of the 11 times that could be looked at", "3 of 12 times". */
static void add_share(struct buf *out, const struct view_activity *p, uint64_t count,
                      uint64_t looked_at)
{
    bool is_part = looked_at < p->times;
    if (count < looked_at) {
        units_add_count(out, (double) count, 0);
        buf_adds(out, " of ");
    } else {
        buf_adds(out, "each of the ");
    }
    units_add_count(out, (double) looked_at, 0);
    buf_adds(out, looked_at == 1 ? " time" : " times");
    buf_adds(out, is_part ? " that could be looked at" : "");
}

static void add_given_back(struct buf *out, const struct view_activity *p,
                           const struct view_activity_series *s)
{
    uint64_t kept = s->looked_at - s->given_back;
    bool once = p->times == 1;
    if (kept == 0 && s->looked_at == p->times) {
        buf_adds(out, once ? ", given back" : ", given back each time");
        return;
    }
    buf_adds(out, kept > 0 ? ", not all given back" : ", given back");
    if (!once) {
        buf_addc(out, ' ');
        add_share(out, p, kept > 0 ? kept : s->given_back, s->looked_at);
    }
    if (kept > 0 && s->kept > 0) {
        buf_adds(out, s->looked_at == 1 ? ": " : ": on average ");
        units_add_bytes(out, s->kept);
        buf_adds(out, " stayed");
    }
}

static void add_height(struct buf *out, const struct view *v, const struct view_activity *p,
                       const char *kind, const char *before)
{
    const struct view_activity_series *s = highest(v, p, kind);
    if (!s)
        return;
    const struct series_info *info = &v->series[s->series].info;
    buf_adds(out, before);
    units_add_bytes(out, s->height);
    buf_addf(out, " above the floor (%s%s%s)", info->kind, info->device ? " " : "",
             info->device ? info->device : "");
    add_given_back(out, p, s);
}

static void add_phase(struct buf *out, const struct view *v, const struct view_activity *p)
{
    buf_adds(out, p->name);
    add_times(out, p);
    add_height(out, v, p, "host.", ", up to ");
    add_height(out, v, p, highest(v, p, "torch.allocated") ? "torch.allocated" : "gpu.",
               "; up to ");
}

void activities_text(struct buf *out, const struct view *v, const struct report_style *style)
{
    for (size_t i = 0; i < v->phase_count && i < PHASES_MOST; i++) {
        struct buf text = BUF_INIT, clean = BUF_INIT;
        add_phase(&text, v, &v->phases[i]);
        utf8_add_clean(&clean, buf_text(&text), style->ascii);
        buf_release(&text);
        text_fact(out, i == 0 ? "phases" : "", &clean, style);
    }
    if (v->phase_count > PHASES_MOST) {
        struct buf text = BUF_INIT;
        buf_addf(&text, "and %zu more", v->phase_count - PHASES_MOST);
        text_fact(out, "", &text, style);
    }
}

/* ---- JSON ---- */

static void add_json_series(struct json *j, const struct view *v,
                            const struct view_activity_series *s)
{
    const struct series_info *info = &v->series[s->series].info;
    json_object_begin(j, NULL);
    json_string(j, "name", info->name);
    json_string(j, "kind", info->kind);
    json_string(j, "device", info->device);
    if (info->pid > 0)
        json_integer(j, "pid", info->pid);
    json_number(j, "above_floor", s->height);
    json_number(j, "kept", s->kept);
    json_integer(j, "looked_at", (int64_t) s->looked_at);
    json_integer(j, "given_back", (int64_t) s->given_back);
    json_object_end(j);
}

void activities_json(struct json *j, const struct view *v)
{
    if (v->phase_count == 0)
        return;
    json_array_begin(j, "phases");
    for (size_t i = 0; i < v->phase_count; i++) {
        const struct view_activity *p = &v->phases[i];
        json_object_begin(j, NULL);
        json_string(j, "name", p->name);
        json_integer(j, "times", (int64_t) p->times);
        json_integer(j, "ended", (int64_t) p->ended);
        json_number(j, "seconds", p->seconds);
        json_array_begin(j, "series");
        for (size_t k = 0; k < p->count; k++)
            add_json_series(j, v, &p->series[k]);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

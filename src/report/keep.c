/* report/keep.c: writes a view as a text and restores it. */
#include "report/report.h"

#include <errno.h>
#include <math.h>

/* The version of the text. A new member needs no new version; a member with another meaning
 * does. */
#define VERSION 2

void report_keep(struct buf *out, const struct view *v)
{
    struct json j;
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    json_integer(&j, "version", VERSION);
    fields_keep(&j, "view", &view_fields, v);
    json_object_end(&j);
}

/* ---- what the members have to do with each other ---- */

/* Charts need finite numbers. */
static bool history_is_sane(const struct history *h)
{
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_block *b = &h->blocks[i];
        if (!isfinite(b->at + b->min + b->mean + b->max + b->peak))
            return false;
    }
    return true;
}

static bool activity_is_sane(const struct view_activity *p, size_t series_count)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct view_activity_series *s = &p->series[i];
        if (s->series >= series_count || s->given_back > s->looked_at ||
            !isfinite(s->height + s->kept))
            return false;
    }
    return true;
}

static bool view_is_sane(const struct view *v)
{
    if ((v->limit > 0 && !v->limit_source) || v->warning_count > v->note_count)
        return false;
    for (size_t i = 0; i < v->count; i++)
        if (!history_is_sane(&v->series[i].history))
            return false;
    for (size_t i = 0; i < v->phase_count; i++)
        if (!activity_is_sane(&v->phases[i], v->count))
            return false;
    for (size_t i = 0; i < v->found.entered_count; i++)
        if (!v->found.entered[i].python && !v->found.entered[i].why)
            return false;
    return true;
}

/* ---- reading ---- */

/* The whole of `{"version": N, "view": {...}}`. */
static int read_text(struct json_reader *r, struct view *ret)
{
    struct json_token t;
    bool is_ours = json_next(r, &t) == 0 && t.type == JSON_OBJECT_BEGIN && json_next(r, &t) == 0 &&
                   t.type == JSON_KEY && json_token_is(&t, "version") && json_next(r, &t) == 0 &&
                   t.type == JSON_NUMBER && t.number == VERSION && json_next(r, &t) == 0 &&
                   t.type == JSON_KEY && json_token_is(&t, "view");
    if (!is_ours || fields_recall(r, &view_fields, ret) < 0)
        return -EINVAL;
    bool is_over = json_next(r, &t) == 0 && t.type == JSON_OBJECT_END && json_next(r, &t) == 0 &&
                   t.type == JSON_END;
    return is_over && view_is_sane(ret) ? 0 : -EINVAL;
}

int report_recall(const char *text, size_t len, struct view *ret)
{
    struct json_reader r;
    fields_clear(&view_fields, ret);
    json_reader_init(&r, text, len);
    int e = read_text(&r, ret);
    if (e < 0)
        view_release(ret);
    return e;
}

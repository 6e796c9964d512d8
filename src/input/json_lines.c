/* input/json_lines.c: JSON lines: one object per sample, or one object per series. */
#include "input/names.h"
#include "input/reader.h"
#include "input/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEGABYTE 0x1p20

struct json_lines {
    struct collector *c;
    struct table *table;
    struct buf path;  /* of the field being read: "gpu.memory" */
    struct buf texts; /* cells that had to be unescaped; never grows within a line */
};

/* A whole series in one object. The readers are at the first element of their array. */
struct series_object {
    struct buf id, kind, unit;
    struct json_reader t, v, restarts;
    size_t t_count, v_count;
    bool has_t, has_v, has_restarts;
    double epoch_length, horizon, limit_mb;
};

static int json_lines_open(struct collector *c, void **ret_state)
{
    struct json_lines *j = calloc(1, sizeof *j);
    if (!j)
        return -ENOMEM;
    struct table_style style = {.columns_are = "field"};
    int r = table_new(c, &style, &j->table);
    if (r < 0) {
        free(j);
        return r;
    }
    j->c = c;
    *ret_state = j;
    return 0;
}

static void json_lines_close(void *state)
{
    struct json_lines *j = state;
    table_free(j->table);
    buf_release(&j->path);
    buf_release(&j->texts);
    free(j);
}

/* Reads an array of numbers and nulls; returns where it begins and how many there are. */
static int take_numbers(struct json_reader *r, bool null_ok, struct json_reader *ret_begin,
                        size_t *ret_count)
{
    struct json_token token;
    if (json_next(r, &token) < 0 || token.type != JSON_ARRAY_BEGIN)
        return -EINVAL;
    struct json_reader begin = *r;
    size_t count = 0;
    for (;; count++) {
        if (json_next(r, &token) < 0)
            return -EINVAL;
        if (token.type == JSON_ARRAY_END)
            break;
        if (token.type != JSON_NUMBER && !(null_ok && token.type == JSON_NULL))
            return -EINVAL;
    }
    *ret_begin = begin;
    *ret_count = count;
    return 0;
}

/* A number, or null for none. */
static int take_number(struct json_reader *r, double *ret)
{
    struct json_token token;
    if (json_next(r, &token) < 0 || (token.type != JSON_NUMBER && token.type != JSON_NULL))
        return -EINVAL;
    if (token.type == JSON_NUMBER)
        *ret = token.number;
    return 0;
}

/* A text; numbers serve as ids too. */
static int take_text(struct json_reader *r, struct buf *ret)
{
    struct json_token token;
    if (json_next(r, &token) < 0)
        return -EINVAL;
    buf_clear(ret);
    if (token.type == JSON_STRING)
        json_token_text(&token, ret);
    else if (token.type == JSON_NUMBER)
        buf_add(ret, token.text, token.len);
    else if (token.type != JSON_NULL)
        return -EINVAL;
    return 0;
}

static int take_member(struct json_reader *r, const struct json_token *key, struct series_object *o)
{
    size_t ignored;
    if (json_token_is(key, "t")) {
        o->has_t = true;
        return take_numbers(r, false, &o->t, &o->t_count);
    }
    if (json_token_is(key, "v")) {
        o->has_v = true;
        return take_numbers(r, true, &o->v, &o->v_count);
    }
    if (json_token_is(key, "restarts")) {
        o->has_restarts = true;
        return take_numbers(r, false, &o->restarts, &ignored);
    }
    if (json_token_is(key, "id"))
        return take_text(r, &o->id);
    if (json_token_is(key, "kind"))
        return take_text(r, &o->kind);
    if (json_token_is(key, "unit"))
        return take_text(r, &o->unit);
    if (json_token_is(key, "epoch_len"))
        return take_number(r, &o->epoch_length);
    if (json_token_is(key, "horizon"))
        return take_number(r, &o->horizon);
    return json_token_is(key, "limit_mb") ? take_number(r, &o->limit_mb) : json_skip(r);
}

/* NULL if the object is a whole series, else what is wrong with it. */
static const char *read_series(const struct line *line, struct series_object *o)
{
    struct json_reader r;
    struct json_token token;
    json_reader_init(&r, line->text, line->len);
    if (json_next(&r, &token) < 0 || token.type != JSON_OBJECT_BEGIN)
        return "not a JSON object";
    for (;;) {
        if (json_next(&r, &token) < 0)
            return "not valid JSON";
        if (token.type == JSON_OBJECT_END)
            break;
        if (take_member(&r, &token, o) < 0)
            return "a field of the series is malformed";
    }
    if (json_next(&r, &token) < 0)
        return "text after the JSON object";
    if (!o->has_v)
        return "no field 'v' with the values";
    if (o->has_t && o->t_count != o->v_count)
        return "'t' and 'v' have different lengths";
    if (o->unit.len > 0 && strcmp(o->unit.text, "step") != 0 && strcmp(o->unit.text, "s") != 0)
        return "'unit' is neither \"step\" nor \"s\"";
    return NULL;
}

/* The next position at which the program restarted; infinite: none. */
static double next_restart(struct series_object *o)
{
    struct json_token token;
    if (!o->has_restarts || json_next(&o->restarts, &token) < 0 || token.type != JSON_NUMBER) {
        o->has_restarts = false;
        return INFINITY;
    }
    return token.number;
}

static int open_series(struct collector *c, const struct series_object *o, uint64_t line,
                       double *ret_factor, struct track **ret)
{
    struct name_meaning m = name_read(buf_text(&o->kind), o->kind.len);
    bool is_count = m.role == NAME_COUNT;
    double factor = is_count ? 1 : MEGABYTE;
    struct buf name = BUF_INIT;
    if (o->id.len > 0)
        buf_add(&name, o->id.text, o->id.len);
    else
        buf_addf(&name, "line %llu", (unsigned long long) line);
    struct series_info info = {
        .name = buf_text(&name),
        .kind = m.kind,
        .device = m.device[0] ? m.device : NULL,
        .unit = is_count ? SERIES_COUNT : SERIES_BYTES,
        .clock = strcmp(buf_text(&o->unit), "s") == 0 ? CLOCK_SECONDS : CLOCK_STEP,
    };
    struct input_hints hints = {
        .epoch_length = fmax(o->epoch_length, 0),
        .horizon = fmax(o->horizon, 0),
        .limit = fmax(o->limit_mb * factor, 0),
    };
    /* Never the key of a table's series: those begin with a digit. */
    int r = collect_open(c, "series", &info, &hints, ret);
    buf_release(&name);
    *ret_factor = factor;
    return r;
}

/* Passes the samples on; the arrays have been checked. */
static int pass_samples(struct collector *c, struct series_object *o, struct track *track,
                        double factor)
{
    double restart = next_restart(o);
    int r = 0;
    for (size_t i = 0; i < o->v_count && r >= 0; i++) {
        struct json_token at = {.number = (double) i + 1}, value;
        if (o->has_t)
            json_next(&o->t, &at);
        json_next(&o->v, &value);
        for (; r >= 0 && at.number >= restart; restart = next_restart(o))
            r = collect_restart(c, track);
        double v = value.type == JSON_NUMBER ? value.number * factor : NAN;
        if (r < 0 || !isfinite(v))
            continue;
        bool by_step = track->clock == CLOCK_STEP;
        c->summary->samples++;
        r = c->sink->sample(c->sink->context, track->series, by_step ? at.number : NAN,
                            by_step ? NAN : at.number, v);
    }
    return r;
}

static int pass_series(struct json_lines *j, struct series_object *o, uint64_t line)
{
    struct track *track;
    double factor;
    int r = open_series(j->c, o, line, &factor, &track);
    if (r >= 0)
        r = pass_samples(j->c, o, track, factor);
    return r < 0 ? r : collect_end(j->c, track);
}

static int series_line(struct json_lines *j, const struct line *line)
{
    struct series_object o = {.epoch_length = 0};
    const char *trouble = read_series(line, &o);
    int r = 0;
    if (trouble)
        collect_skip(j->c, line->number, "%s", trouble);
    else
        r = pass_series(j, &o, line->number);
    buf_release(&o.id);
    buf_release(&o.kind);
    buf_release(&o.unit);
    return r;
}

/* Makes a cell of a number, or of a text such as "5,552 MB". -EINVAL: not JSON. */
static int set_cell(struct json_lines *j, const struct json_token *value)
{
    if (value->type != JSON_NUMBER && value->type != JSON_STRING)
        return 0;
    int column = table_column(j->table, buf_text(&j->path), j->path.len);
    if (column < 0)
        return column == -E2BIG ? 0 : column;
    bool is_escaped = value->type == JSON_STRING && memchr(value->text, '\\', value->len);
    size_t begin = j->texts.len;
    if (is_escaped)
        json_token_text(value, &j->texts);
    table_set(j->table, (size_t) column, is_escaped ? j->texts.text + begin : value->text,
              is_escaped ? j->texts.len - begin : value->len);
    return 0;
}

/* Reads the members of an object and of its nested objects as cells. -EINVAL: not JSON. */
static int read_cells(struct json_lines *j, struct json_reader *r)
{
    size_t ends[64]; /* of the path at each depth; the reader allows no more */
    ends[0] = 0;
    buf_clear(&j->path);
    for (;;) {
        struct json_token token;
        if (json_next(r, &token) < 0)
            return -EINVAL;
        if (token.type == JSON_END)
            return 0;
        unsigned depth = r->depth;
        if (token.type == JSON_KEY) {
            j->path.len = ends[depth - 1];
            buf_addf(&j->path, "%s%.*s", j->path.len > 0 ? "." : "",
                     (int) (token.len < 200 ? token.len : 200), token.text);
        } else if (token.type == JSON_OBJECT_BEGIN) {
            ends[depth - 1] = depth > 1 ? j->path.len : 0;
        } else if (token.type == JSON_ARRAY_BEGIN) {
            /* An array is not a sample: skip to its end. */
            while (r->depth >= depth) {
                if (json_next(r, &token) < 0)
                    return -EINVAL;
            }
        } else {
            int result = set_cell(j, &token);
            if (result < 0)
                return result;
        }
    }
}

/* The object's text without the punctuation of an array of objects. */
static struct line trim(const struct line *line)
{
    struct line l = *line;
    while (l.len > 0 && strchr(" \t[,", l.text[0])) {
        l.text++;
        l.len--;
    }
    while (l.len > 0 && strchr(" \t,]", l.text[l.len - 1]))
        l.len--;
    return l;
}

/* True if the object has a member `v` that is an array: a whole series. */
static bool is_series(const struct line *line)
{
    struct json_reader r;
    struct json_token token;
    json_reader_init(&r, line->text, line->len);
    if (json_next(&r, &token) < 0 || token.type != JSON_OBJECT_BEGIN)
        return false;
    while (json_next(&r, &token) == 0 && token.type == JSON_KEY) {
        if (json_token_is(&token, "v"))
            return json_next(&r, &token) == 0 && token.type == JSON_ARRAY_BEGIN;
        if (json_skip(&r) < 0)
            return false;
    }
    return false;
}

static int sample_line(struct json_lines *j, const struct line *line)
{
    struct json_reader r;
    /* Unescaping never lengthens a text, so the length of the line is enough for all cells. */
    if (memchr(line->text, '\\', line->len))
        buf_add(&j->texts, line->text, line->len);
    buf_clear(&j->texts);
    json_reader_init(&r, line->text, line->len);
    int result = line->len > 0 && line->text[0] == '{' ? read_cells(j, &r) : -EINVAL;
    if (result == 0)
        return table_row(j->table, line->number);
    table_clear_row(j->table);
    if (result == -EINVAL)
        collect_skip(j->c, line->number, "not a JSON object (character %zu)", r.pos + 1);
    return result == -EINVAL ? 0 : result;
}

static int json_lines_line(void *state, const struct line *line)
{
    struct json_lines *j = state;
    struct line l = trim(line);
    if (collect_skip_damaged(j->c, line) || l.len == 0)
        return 0;
    return j->c->options->batch || is_series(&l) ? series_line(j, &l) : sample_line(j, &l);
}

static int json_lines_explain(void *state)
{
    struct json_lines *j = state;
    const struct input_summary *s = j->c->summary;
    bool batch = j->c->options->batch;
    if (s->skipped > 0)
        return collect_error(j->c, s->first_skipped,
                             "no %s could be read (the first: %s); expected %s",
                             batch ? "series" : "sample", s->skip_reason,
                             batch ? "JSON lines with 'id', 'unit', 't' and 'v'"
                                   : "one JSON object per line (jq -c '.[]' converts an array)");
    if (table_columns(j->table) == 0)
        return collect_error(
            j->c, 0,
            "no number in any JSON object: expected one object per sample, such as "
            "{\"step\": 10, \"rss_mb\": 5552}");
    return table_explain(j->table);
}

/* True if the object has a member named like memory. */
static bool has_memory(const struct line *line)
{
    struct json_reader r;
    struct json_token token;
    json_reader_init(&r, line->text, line->len);
    while (json_next(&r, &token) == 0 && token.type != JSON_END) {
        if (token.type != JSON_KEY)
            continue;
        struct name_meaning m = name_read(token.text, token.len);
        if (m.role == NAME_MEMORY || m.role == NAME_COUNT || m.is_generic)
            return true;
    }
    return false;
}

bool json_lines_looks_like(const struct line *line)
{
    struct line l = trim(line);
    return l.len > 0 && l.text[0] == '{' && (is_series(&l) || has_memory(&l));
}

const struct reader json_lines_reader = {
    .name = "JSON lines",
    .open = json_lines_open,
    .line = json_lines_line,
    .explain = json_lines_explain,
    .close = json_lines_close,
};

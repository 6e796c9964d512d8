/* report/found_json.c: what grows and who holds it, as JSON and back. */
#include "report/found.h"
#include "report/keep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CENSUSES_MOST 4096u
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what a finding and a census have, by name ---- */

struct member {
    const char *name;
    size_t offset;
};

#define MEMBER(type, member)                                                                       \
    {                                                                                              \
#member, offsetof(struct type, member)                                                     \
    }

static const struct member finding_texts[] = {
    MEMBER(watch_finding, what),   MEMBER(watch_finding, holder),   MEMBER(watch_finding, kind),
    MEMBER(watch_finding, where),  MEMBER(watch_finding, file),     MEMBER(watch_finding, cause),
    MEMBER(watch_finding, advice), MEMBER(watch_finding, sentence),
};

static const struct member finding_numbers[] = {
    MEMBER(watch_finding, line),
    MEMBER(watch_finding, count_per_step),
    MEMBER(watch_finding, bytes_per_step),
    MEMBER(watch_finding, host_bytes_per_step),
    MEMBER(watch_finding, device_bytes_per_step),
    MEMBER(watch_finding, count_per_second),
    MEMBER(watch_finding, bytes_per_second),
    MEMBER(watch_finding, share),
    MEMBER(watch_finding, points),
    MEMBER(watch_finding, bound),
    MEMBER(watch_finding, full_step),
};

static const struct member census_numbers[] = {
    MEMBER(watch_census, objects),
    MEMBER(watch_census, censuses),
    MEMBER(watch_census, searches),
    MEMBER(watch_census, pause_seconds),
    MEMBER(watch_census, longest_pause_seconds),
    MEMBER(watch_census, child_seconds),
};

static const struct member entered_texts[] = {
    MEMBER(watch_entered, process),
    MEMBER(watch_entered, command),
    MEMBER(watch_entered, python),
    MEMBER(watch_entered, why),
};

static const struct member entered_numbers[] = {
    MEMBER(watch_entered, stops),
    MEMBER(watch_entered, stopped_seconds),
    MEMBER(watch_entered, longest_stop_seconds),
    MEMBER(watch_entered, attached_seconds),
};

static const double *number_in(const void *of, const struct member *m)
{
    return (const void *) ((const char *) of + m->offset);
}

static double *number_at(void *of, const struct member *m)
{
    return (void *) ((char *) of + m->offset);
}

static char *const *text_in(const void *of, const struct member *m)
{
    return (const void *) ((const char *) of + m->offset);
}

static const char **text_at(void *of, const struct member *m)
{
    return (void *) ((char *) of + m->offset);
}

/* ---- writing ---- */

static void add_texts(struct json *j, const void *from, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_string(j, members[i].name, *text_in(from, &members[i]));
}

static void add_numbers(struct json *j, const void *from, const struct member *members,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_number(j, members[i].name, *number_in(from, &members[i]));
}

static void add_list(struct json *j, const char *key, char *const *texts, unsigned count)
{
    if (count == 0)
        return;
    json_array_begin(j, key);
    for (unsigned i = 0; i < count; i++)
        json_string(j, NULL, texts[i]);
    json_array_end(j);
}

static void add_finding(struct json *j, const struct watch_finding *f)
{
    json_object_begin(j, NULL);
    add_texts(j, f, finding_texts, COUNT_OF(finding_texts));
    add_numbers(j, f, finding_numbers, COUNT_OF(finding_numbers));
    json_integer(j, "pid", f->pid);
    json_integer(j, "processes", f->processes);
    add_list(j, "evidence", f->evidence, f->evidence_count);
    add_list(j, "also", f->also, f->also_count);
    json_object_end(j);
}

static void add_census(struct json *j, const struct watch_census *c)
{
    json_object_begin(j, NULL);
    json_integer(j, "pid", c->pid);
    json_string(j, "process", c->process);
    add_numbers(j, c, census_numbers, COUNT_OF(census_numbers));
    json_bool(j, "complete", c->complete);
    json_array_begin(j, "tensors");
    for (unsigned i = 0; i < c->device_count; i++) {
        json_object_begin(j, NULL);
        json_string(j, "device", c->tensors[i].device);
        json_number(j, "count", c->tensors[i].count);
        json_number(j, "bytes", c->tensors[i].bytes);
        json_object_end(j);
    }
    json_array_end(j);
    json_array_begin(j, "purposes");
    for (unsigned i = 0; i < c->purpose_count; i++) {
        json_object_begin(j, NULL);
        json_string(j, "name", c->purposes[i].name);
        json_string(j, "device", c->purposes[i].device);
        json_number(j, "count", c->purposes[i].count);
        json_number(j, "bytes", c->purposes[i].bytes);
        json_object_end(j);
    }
    json_array_end(j);
    add_list(j, "notes", c->notes, c->note_count);
    json_object_end(j);
}

static void add_entered(struct json *j, const struct watch_entered *e)
{
    json_object_begin(j, NULL);
    json_integer(j, "pid", e->pid);
    add_texts(j, e, entered_texts, COUNT_OF(entered_texts));
    add_numbers(j, e, entered_numbers, COUNT_OF(entered_numbers));
    if (e->python)
        json_bool(j, "counted", e->counted);
    json_bool(j, "left", e->left);
    json_bool(j, "ended", e->ended);
    json_object_end(j);
}

void found_entered_json(struct json *j, const struct watch_found *f)
{
    if (f->entered_count == 0)
        return;
    json_array_begin(j, "entered");
    for (size_t i = 0; i < f->entered_count; i++)
        add_entered(j, &f->entered[i]);
    json_array_end(j);
}

void found_json(struct json *j, const struct watch_found *f)
{
    found_entered_json(j, f);
    json_array_begin(j, "findings");
    for (size_t i = 0; i < f->count; i++)
        add_finding(j, &f->findings[i]);
    json_array_end(j);
    if (f->count > 0)
        json_bool(j, "growing_so_far", f->so_far);
    if (f->cache_count > 0) {
        json_array_begin(j, "caches");
        for (size_t i = 0; i < f->cache_count; i++)
            add_finding(j, &f->caches[i]);
        json_array_end(j);
    }
    add_list(j, "undecided", f->undecided, f->undecided_count);
    if (f->census_count > 0) {
        json_array_begin(j, "censuses");
        for (size_t i = 0; i < f->census_count; i++)
            add_census(j, &f->censuses[i]);
        json_array_end(j);
    }
}

/* ---- reading ---- */

static const struct member *find_member(const struct member *members, size_t count,
                                        const struct json_token *key)
{
    for (size_t i = 0; i < count; i++)
        if (json_token_is(key, members[i].name))
            return &members[i];
    return NULL;
}

static int read_number(struct json_reader *r, double *ret)
{
    struct json_token t;
    if (!keep_next_is(r, JSON_NUMBER, &t))
        return -EINVAL;
    *ret = t.number;
    return 0;
}

static int read_integer(struct json_reader *r, double most, int64_t *ret)
{
    double value;
    if (read_number(r, &value) < 0 || !keep_is_within(value, most))
        return -EINVAL;
    *ret = (int64_t) value;
    return 0;
}

static int read_bool(struct json_reader *r, bool *ret)
{
    struct json_token t;
    if (json_next(r, &t) < 0 || (t.type != JSON_TRUE && t.type != JSON_FALSE))
        return -EINVAL;
    *ret = t.type == JSON_TRUE;
    return 0;
}

static int read_list(struct json_reader *r, char *texts[FINDING_TEXTS], unsigned *count)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_STRING, &t) && *count < FINDING_TEXTS)
        texts[(*count)++] = keep_text_of(&t);
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_finding_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_finding *f = to;
    int64_t integer = 0;
    int e;
    const struct member *m = find_member(finding_texts, COUNT_OF(finding_texts), key);
    if (m)
        return keep_read_text(r, text_at(f, m));
    m = find_member(finding_numbers, COUNT_OF(finding_numbers), key);
    if (m)
        return read_number(r, number_at(f, m));
    if (json_token_is(key, "evidence"))
        return read_list(r, f->evidence, &f->evidence_count);
    if (json_token_is(key, "also"))
        return read_list(r, f->also, &f->also_count);
    if (json_token_is(key, "pid"))
        return read_integer(r, 1e10, &f->pid);
    if (!json_token_is(key, "processes"))
        return json_skip(r);
    e = read_integer(r, 1e6, &integer);
    f->processes = (unsigned) integer;
    return e;
}

static void clear_numbers(void *of, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *number_at(of, &members[i]) = NAN;
}

/* One more at the end of a list, all of it absent. */
static void *grow(void *list, size_t count, size_t size)
{
    char *grown = reallocarray(list, count + 1, size);
    if (!grown)
        base_out_of_memory();
    memset(grown + count * size, 0, size);
    return grown;
}

static int read_findings(struct json_reader *r, struct watch_finding **list, size_t *count)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_OBJECT_BEGIN, &t)) {
        if (*count == FINDINGS_MOST)
            return -EINVAL;
        *list = grow(*list, *count, sizeof(**list));
        struct watch_finding *f = &(*list)[(*count)++];
        clear_numbers(f, finding_numbers, COUNT_OF(finding_numbers));
        if (keep_read_members(r, read_finding_member, f) < 0 || !f->sentence)
            return -EINVAL;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

/* A line of tensors or of a purpose. */
struct counted {
    const char *name, *device;
    double count, bytes;
};

static int read_counted_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct counted *c = to;
    if (json_token_is(key, "name"))
        return keep_read_text(r, &c->name);
    if (json_token_is(key, "device"))
        return keep_read_text(r, &c->device);
    if (json_token_is(key, "count"))
        return read_number(r, &c->count);
    if (json_token_is(key, "bytes"))
        return read_number(r, &c->bytes);
    return json_skip(r);
}

static int read_counted(struct json_reader *r, struct counted *ret)
{
    *ret = (struct counted){.count = NAN, .bytes = NAN};
    return keep_read_members(r, read_counted_member, ret);
}

static int read_tensors(struct json_reader *r, struct watch_census *c)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_OBJECT_BEGIN, &t)) {
        struct counted x;
        int e = read_counted(r, &x);
        free((char *) x.name);
        if (e == 0 && x.device && c->device_count < CENSUS_VIEW_DEVICES) {
            c->tensors[c->device_count++] =
                (struct watch_tensors){(char *) x.device, x.count, x.bytes};
            continue;
        }
        free((char *) x.device);
        return -EINVAL;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_purposes(struct json_reader *r, struct watch_census *c)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_OBJECT_BEGIN, &t)) {
        struct counted x;
        int e = read_counted(r, &x);
        if (e == 0 && x.name && x.device && c->purpose_count < CENSUS_VIEW_PURPOSES) {
            c->purposes[c->purpose_count++] =
                (struct watch_purpose){(char *) x.name, (char *) x.device, x.count, x.bytes};
            continue;
        }
        free((char *) x.name);
        free((char *) x.device);
        return -EINVAL;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_census_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_census *c = to;
    const struct member *m = find_member(census_numbers, COUNT_OF(census_numbers), key);
    if (m)
        return read_number(r, number_at(c, m));
    if (json_token_is(key, "process"))
        return keep_read_text(r, (const char **) &c->process);
    if (json_token_is(key, "pid"))
        return read_integer(r, 1e10, &c->pid);
    if (json_token_is(key, "complete"))
        return read_bool(r, &c->complete);
    if (json_token_is(key, "tensors"))
        return read_tensors(r, c);
    if (json_token_is(key, "purposes"))
        return read_purposes(r, c);
    if (json_token_is(key, "notes"))
        return read_list(r, c->notes, &c->note_count);
    return json_skip(r);
}

static int read_censuses(struct json_reader *r, struct watch_found *f)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_OBJECT_BEGIN, &t)) {
        if (f->census_count == CENSUSES_MOST)
            return -EINVAL;
        f->censuses = grow(f->censuses, f->census_count, sizeof(*f->censuses));
        struct watch_census *c = &f->censuses[f->census_count++];
        clear_numbers(c, census_numbers, COUNT_OF(census_numbers));
        if (keep_read_members(r, read_census_member, c) < 0 || !c->process)
            return -EINVAL;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_entered_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_entered *e = to;
    const struct member *m = find_member(entered_texts, COUNT_OF(entered_texts), key);
    if (m)
        return keep_read_text(r, text_at(e, m));
    m = find_member(entered_numbers, COUNT_OF(entered_numbers), key);
    if (m)
        return read_number(r, number_at(e, m));
    if (json_token_is(key, "pid"))
        return read_integer(r, 1e10, &e->pid);
    if (json_token_is(key, "counted"))
        return read_bool(r, &e->counted);
    if (json_token_is(key, "left"))
        return read_bool(r, &e->left);
    if (json_token_is(key, "ended"))
        return read_bool(r, &e->ended);
    return json_skip(r);
}

static int read_entered(struct json_reader *r, struct watch_found *f)
{
    struct json_token t;
    if (keep_expect(r, JSON_ARRAY_BEGIN) < 0)
        return -EINVAL;
    while (keep_next_is(r, JSON_OBJECT_BEGIN, &t)) {
        if (f->entered_count == CENSUSES_MOST)
            return -EINVAL;
        f->entered = grow(f->entered, f->entered_count, sizeof(*f->entered));
        struct watch_entered *e = &f->entered[f->entered_count++];
        clear_numbers(e, entered_numbers, COUNT_OF(entered_numbers));
        if (keep_read_members(r, read_entered_member, e) < 0 || !e->process ||
            (!e->python && !e->why))
            return -EINVAL;
    }
    return t.type == JSON_ARRAY_END ? 0 : -EINVAL;
}

static int read_found_member(struct json_reader *r, const struct json_token *key, void *to)
{
    struct watch_found *f = to;
    if (json_token_is(key, "findings"))
        return read_findings(r, &f->findings, &f->count);
    if (json_token_is(key, "caches"))
        return read_findings(r, &f->caches, &f->cache_count);
    if (json_token_is(key, "growing_so_far"))
        return read_bool(r, &f->so_far);
    if (json_token_is(key, "undecided"))
        return read_list(r, f->undecided, &f->undecided_count);
    if (json_token_is(key, "censuses"))
        return read_censuses(r, f);
    if (json_token_is(key, "entered"))
        return read_entered(r, f);
    return json_skip(r);
}

int found_read_json(struct json_reader *r, struct watch_found *ret)
{
    if (keep_expect(r, JSON_OBJECT_BEGIN) < 0)
        return -EINVAL;
    return keep_read_members(r, read_found_member, ret);
}

/*
 * report/pprof.c: stacks as pprof's profile.proto, in gzip's format. The messages and their field
 * numbers are those of https://github.com/google/pprof/blob/main/proto/profile.proto.
 */
#include "report/pool.h"
#include "report/protobuf.h"
#include "report/stacks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_SAMPLE_TYPE
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES,
    MAPPING_HAS_LINES,
    MAPPING_HAS_INLINED
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

/* Where modules were loaded is not kept, and addresses must not overlap: each gets a range. */
#define MODULE_BYTES (UINT64_C(1) << 40)
#define NS 1e9

static const char *const value_types[][2] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
    {"inuse_space", "bytes"},   {"growth_space", "bytes"},
};
#define VALUE_TYPES (sizeof(value_types) / sizeof(value_types[0]))

/* Functions and locations are pooled as messages without their id, which is the number and 1. */
struct profile {
    const struct report_stacks *r;
    struct buf samples;
    struct pool strings, modules, functions, locations;
};

/* ---- tables ---- */

/* Readers refuse text that is not UTF-8. */
static int64_t string_number(struct profile *p, const char *text)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    size_t number = pool_number(&p->strings, buf_text(&clean), clean.len);
    buf_release(&clean);
    return (int64_t) number;
}

static int64_t message_id(struct pool *pool, struct buf *message)
{
    size_t number = pool_number(pool, buf_text(message), message->len);
    buf_release(message);
    return (int64_t) number + 1;
}

/* Without a system name: pprof would take that as mangled, and lose "<module>". */
static int64_t function_id(struct profile *p, const struct site_frame *f)
{
    struct buf name = BUF_INIT, message = BUF_INIT;
    if (f->function[0])
        buf_adds(&name, f->function);
    else
        stacks_add_frame(&name, f);
    protobuf_add(&message, FUNCTION_NAME, string_number(p, buf_text(&name)));
    protobuf_add(&message, FUNCTION_FILE, string_number(p, f->file[0] ? f->file : f->module));
    buf_release(&name);
    return message_id(&p->functions, &message);
}

static void add_line(struct profile *p, struct buf *location, const struct site_frame *f)
{
    struct buf line = BUF_INIT;
    protobuf_add(&line, LINE_FUNCTION, function_id(p, f));
    protobuf_add(&line, LINE_NUMBER, f->line);
    protobuf_add_bytes(location, LOCATION_LINE, buf_text(&line), line.len);
    buf_release(&line);
}

static uint64_t module_start(size_t number)
{
    return MODULE_BYTES * (number + 1);
}

/* The place of the frame at `*at` of a stack and of those that it was inlined into, which are
 * before it; moves past them. */
static int64_t location_id(struct profile *p, const struct stack *k, unsigned *at)
{
    struct buf message = BUF_INIT;
    const struct site_frame *f = k->frames[*at - 1];
    if (f->module[0]) {
        size_t module = pool_number(&p->modules, f->module, strlen(f->module));
        uint64_t address = module_start(module) + (f->offset & (MODULE_BYTES - 1));
        protobuf_add(&message, LOCATION_MAPPING, (int64_t) module + 1);
        protobuf_add(&message, LOCATION_ADDRESS, (int64_t) address);
    }
    bool more = true;
    while (more) {
        f = k->frames[--*at];
        add_line(p, &message, f);
        more = f->is_inlined && *at > 0 && k->frames[*at - 1]->module[0];
    }
    return message_id(&p->locations, &message);
}

/* The first module gives the profile its name. */
static void add_program(struct profile *p)
{
    const char *name = p->r->command ? p->r->command : "a watched job";
    pool_number(&p->modules, name, strlen(name));
}

/* ---- samples ---- */

static void add_text_label(struct profile *p, struct buf *sample, const char *key, const char *text)
{
    struct buf label = BUF_INIT;
    protobuf_add(&label, LABEL_KEY, string_number(p, key));
    protobuf_add(&label, LABEL_TEXT, string_number(p, text));
    protobuf_add_bytes(sample, SAMPLE_LABEL, buf_text(&label), label.len);
    buf_release(&label);
}

static void add_labels(struct profile *p, struct buf *sample, const struct stack *k)
{
    const struct report_sites *process = &p->r->list[k->process];
    add_text_label(p, sample, "process", process->process);
    add_text_label(p, sample, "memory", site_kind_name(k->site->kind));
    if (k->site->device[0])
        add_text_label(p, sample, "device", k->site->device);
}

/* Objects, by the mean size of those that the site keeps at the end; where it keeps none, at least
 * those that were sampled. */
static double object_count(const struct site *s, double bytes)
{
    const struct site_point *last = s->point_count > 0 ? &s->points[s->point_count - 1] : NULL;
    if (last && last->bytes > 0 && s->objects > 0)
        return bytes * s->objects / last->bytes;
    return bytes > 0 ? fmax(1, s->samples) : 0;
}

static void add_values(struct profile *p, struct buf *sample, const struct stack *k)
{
    const struct sites *sites = p->r->list[k->process].sites;
    double allocated = stacks_amount(p->r, sites, k->site, REPORT_ALLOCATED).bytes;
    double live = stacks_amount(p->r, sites, k->site, REPORT_LIVE).bytes;
    double growth = stacks_amount(p->r, sites, k->site, REPORT_GROWTH).bytes;
    const double values[VALUE_TYPES] = {object_count(k->site, allocated), allocated,
                                        object_count(k->site, live), live, growth};
    int64_t numbers[VALUE_TYPES];
    for (size_t i = 0; i < VALUE_TYPES; i++)
        numbers[i] = isfinite(values[i]) ? llround(values[i]) : 0;
    protobuf_add_packed(sample, SAMPLE_VALUES, numbers, VALUE_TYPES);
}

static void add_sample(struct profile *p, const struct stack *k)
{
    int64_t ids[SITES_MOST_FRAMES + 3];
    struct buf sample = BUF_INIT;
    size_t count = 0;
    for (unsigned at = k->count; at > 0 && count < sizeof(ids) / sizeof(ids[0]);)
        ids[count++] = location_id(p, k, &at);
    protobuf_add_packed(&sample, SAMPLE_LOCATIONS, ids, count);
    add_values(p, &sample, k);
    add_labels(p, &sample, k);
    protobuf_add_bytes(&p->samples, PROFILE_SAMPLE, buf_text(&sample), sample.len);
    buf_release(&sample);
}

/* ---- the profile ---- */

static void add_value_type(struct profile *p, struct buf *out, unsigned field, const char *type,
                           const char *unit)
{
    struct buf message = BUF_INIT;
    protobuf_add(&message, VALUE_TYPE, string_number(p, type));
    protobuf_add(&message, VALUE_UNIT, string_number(p, unit));
    protobuf_add_bytes(out, field, buf_text(&message), message.len);
    buf_release(&message);
}

static void add_mappings(struct profile *p, struct buf *out)
{
    for (size_t i = 0; i < p->modules.count; i++) {
        const struct pool_text *module = &p->modules.list[i];
        struct buf message = BUF_INIT, path = BUF_INIT;
        buf_add(&path, module->bytes, module->len);
        protobuf_add(&message, MAPPING_ID, (int64_t) i + 1);
        protobuf_add(&message, MAPPING_START, (int64_t) module_start(i));
        protobuf_add(&message, MAPPING_LIMIT, (int64_t) module_start(i + 1));
        protobuf_add(&message, MAPPING_FILE, string_number(p, buf_text(&path)));
        for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINED; field++)
            protobuf_add(&message, field, 1);
        protobuf_add_bytes(out, PROFILE_MAPPING, buf_text(&message), message.len);
        buf_release(&path);
        buf_release(&message);
    }
}

static void add_table(struct buf *out, unsigned field, unsigned id_field, const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        struct buf message = BUF_INIT;
        protobuf_add(&message, id_field, (int64_t) i + 1);
        buf_add(&message, pool->list[i].bytes, pool->list[i].len);
        protobuf_add_bytes(out, field, buf_text(&message), message.len);
        buf_release(&message);
    }
}

static void add_comments(struct profile *p, struct buf *out, const struct stacks *s)
{
    struct buf lacks = BUF_INIT;
    protobuf_add(out, PROFILE_COMMENT, string_number(p, "tidemark " TIDEMARK_VERSION));
    if (p->r->command)
        protobuf_add(out, PROFILE_COMMENT, string_number(p, p->r->command));
    stacks_add_lacks(&lacks, p->r, s);
    if (lacks.len > 0)
        protobuf_add(out, PROFILE_COMMENT, string_number(p, buf_text(&lacks)));
    buf_release(&lacks);
}

static void add_circumstances(struct profile *p, struct buf *out)
{
    double interval = 1, from = report_stacks_from(p->r), to = report_stacks_to(p->r);
    for (size_t i = 0; i < p->r->count; i++)
        interval = fmax(interval, p->r->list[i].sites->interval);
    if (isfinite(p->r->started))
        protobuf_add(out, PROFILE_TIME_NS, llround((p->r->started + from) * NS));
    protobuf_add(out, PROFILE_DURATION_NS, llround(fmax(0, to - from) * NS));
    add_value_type(p, out, PROFILE_PERIOD_TYPE, "space", "bytes");
    protobuf_add(out, PROFILE_PERIOD, llround(interval));
    protobuf_add(out, PROFILE_DEFAULT_SAMPLE_TYPE, string_number(p, "inuse_space"));
}

/* Strings come last: what is before them numbers them. */
static void add_profile(struct profile *p, struct buf *out, const struct stacks *s)
{
    for (size_t i = 0; i < VALUE_TYPES; i++)
        add_value_type(p, out, PROFILE_SAMPLE_TYPE, value_types[i][0], value_types[i][1]);
    for (size_t i = 0; i < s->count; i++)
        add_sample(p, &s->list[i]);
    buf_add(out, buf_text(&p->samples), p->samples.len);
    add_mappings(p, out);
    add_table(out, PROFILE_LOCATION, LOCATION_ID, &p->locations);
    add_table(out, PROFILE_FUNCTION, FUNCTION_ID, &p->functions);
    add_circumstances(p, out);
    add_comments(p, out, s);
    for (size_t i = 0; i < p->strings.count; i++)
        protobuf_add_bytes(out, PROFILE_STRING, p->strings.list[i].bytes, p->strings.list[i].len);
}

int report_pprof(struct buf *out, const struct report_stacks *r)
{
    struct profile p = {.r = r};
    struct stacks s;
    struct buf message = BUF_INIT;
    stacks_init(&s, r, true);
    int result = s.count > 0 ? 0 : -ENODATA;
    pool_number(&p.strings, "", 0);
    add_program(&p);
    add_profile(&p, &message, &s);
    if (result == 0)
        protobuf_add_gzip(out, buf_text(&message), message.len);
    buf_release(&message);
    buf_release(&p.samples);
    pool_release(&p.strings);
    pool_release(&p.modules);
    pool_release(&p.functions);
    pool_release(&p.locations);
    stacks_release(&s);
    return result;
}

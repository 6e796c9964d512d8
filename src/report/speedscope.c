/* report/speedscope.c: stacks as a file of speedscope (https://www.speedscope.app/). */
#include "report/json.h"
#include "report/stacks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The frames of the file, each once, in the order of stacks_compare_frames(). */
struct frames {
    const struct site_frame **list;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct site_frame *const *x = a, *const *y = b;
    return stacks_compare_frames(*x, *y);
}

static void frames_init(struct frames *f, const struct stacks *s)
{
    size_t total = 0, kept = 0;
    for (size_t i = 0; i < s->count; i++)
        total += s->list[i].count;
    f->list = calloc(total + 1, sizeof(struct site_frame *));
    if (!f->list)
        base_out_of_memory();
    f->count = 0;
    for (size_t i = 0; i < s->count; i++)
        for (unsigned k = 0; k < s->list[i].count; k++)
            f->list[f->count++] = s->list[i].frames[k];
    qsort(f->list, f->count, sizeof(struct site_frame *), compare);
    for (size_t i = 0; i < f->count; i++)
        if (kept == 0 || compare(&f->list[i], &f->list[kept - 1]) != 0)
            f->list[kept++] = f->list[i];
    f->count = kept;
}

static int64_t frames_index(const struct frames *f, const struct site_frame *frame)
{
    const struct site_frame **at =
        bsearch(&frame, f->list, f->count, sizeof(struct site_frame *), compare);
    return at - f->list;
}

static void add_frames(struct json *j, const struct frames *f)
{
    json_object_begin(j, "shared");
    json_array_begin(j, "frames");
    for (size_t i = 0; i < f->count; i++) {
        const struct site_frame *frame = f->list[i];
        const char *file = frame->file[0] ? frame->file : frame->module;
        struct buf name = BUF_INIT;
        stacks_add_frame(&name, frame);
        json_object_begin(j, NULL);
        json_string(j, "name", buf_text(&name));
        json_string(j, "file", file[0] ? file : NULL);
        if (frame->line > 0)
            json_integer(j, "line", frame->line);
        json_object_end(j);
        buf_release(&name);
    }
    json_array_end(j);
    json_object_end(j);
}

static void add_samples(struct json *j, const struct stacks *s, size_t process,
                        const struct frames *f)
{
    json_array_begin(j, "samples");
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].process != process)
            continue;
        json_array_begin(j, NULL);
        for (unsigned k = 0; k < s->list[i].count; k++)
            json_integer(j, NULL, frames_index(f, s->list[i].frames[k]));
        json_array_end(j);
    }
    json_array_end(j);
}

/* Whole bytes; returns their sum. */
static double add_weights(struct json *j, const struct stacks *s, size_t process)
{
    double sum = 0;
    json_array_begin(j, "weights");
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].process != process)
            continue;
        json_number(j, NULL, round(s->list[i].amount.bytes));
        sum += round(s->list[i].amount.bytes);
    }
    json_array_end(j);
    return sum;
}

static void add_profile(struct json *j, const struct report_stacks *r, const struct stacks *s,
                        size_t process, const struct frames *f)
{
    struct buf name = BUF_INIT;
    buf_addf(&name, "%s of %s, ", report_value_name(r->value), r->list[process].process);
    stacks_add_span(&name, r);
    json_object_begin(j, NULL);
    json_string(j, "type", "sampled");
    json_string(j, "name", buf_text(&name));
    json_string(j, "unit", "bytes");
    add_samples(j, s, process, f);
    double sum = add_weights(j, s, process);
    json_number(j, "startValue", 0);
    json_number(j, "endValue", sum);
    json_object_end(j);
    buf_release(&name);
}

static bool has_stacks(const struct stacks *s, size_t process)
{
    size_t i = 0;
    while (i < s->count && s->list[i].process != process)
        i++;
    return i < s->count;
}

int report_speedscope(struct buf *out, const struct report_stacks *r)
{
    struct stacks s;
    struct frames f;
    struct json j;
    stacks_init(&s, r, false);
    int result = s.count > 0 ? 0 : -ENODATA;
    frames_init(&f, &s);
    if (result == 0) {
        json_init(&j, out, 0);
        json_object_begin(&j, NULL);
        json_string(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
        json_string(&j, "exporter", "tidemark " TIDEMARK_VERSION);
        json_string(&j, "name", r->command ? r->command : "a watched job");
        json_integer(&j, "activeProfileIndex", 0);
        add_frames(&j, &f);
        json_array_begin(&j, "profiles");
        for (size_t i = 0; i < r->count; i++)
            if (has_stacks(&s, i))
                add_profile(&j, r, &s, i, &f);
        json_array_end(&j);
        json_object_end(&j);
        buf_addc(out, '\n');
    }
    free(f.list);
    stacks_release(&s);
    return result;
}

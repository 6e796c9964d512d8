/* tests/unit/test_sites_looks.c: looks at a trace file, and the sites of them. */
#include "sites/sites.h"

#include "trace_file.h"
#include "unit.h"

#include <errno.h>

#define KB 1024.0

static int look(struct site_looks *l, const struct wire_trace_layout *t, double second)
{
    return site_looks_take(l, t, sizeof(*t), TRACE_ORIGIN, trace_time(second));
}

/* Names "f" with the offset, in hundreds; above 0x1000 also what it was inlined into. */
static size_t name(void *context, const struct site_address *a, struct site_frame *ret, size_t most)
{
    static char texts[8][32];
    static unsigned next;
    unsigned *calls = context;
    if (calls)
        ++*calls;
    if (a->offset < 0x100 || most < 2)
        return 0;
    char *text = texts[next++ % 8];
    snprintf(text, 32, "f%x", (unsigned) a->offset / 0x100);
    ret[0] = (struct site_frame){.function = text, .file = "", .line = 0};
    if (a->offset < 0x1000)
        return 1;
    ret[0].is_inlined = true;
    ret[1] = (struct site_frame){.function = "outer", .file = "outer.cc", .line = 7};
    return 2;
}

static uint32_t python_stack(struct wire_trace_layout *t, uint32_t line)
{
    uint64_t words[] = {trace_python(t, "train", "/home/me/train.py", line)};
    return trace_stack(t, WIRE_TRACE_PYTHON, words, 1);
}

TEST(looks__refuse_what_is_no_trace_file)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    CHECK(site_looks_take(l, t, sizeof(*t) - 1, 0, 1) == -EPROTO);
    t->version++;
    CHECK(look(l, t, 2) == -EPROTONOSUPPORT);
    t->version--;
    t->armed_at = 0;
    CHECK(look(l, t, 2) == -EAGAIN);
    t->magic = 0;
    CHECK(look(l, t, 2) == -EPROTO);
    CHECK(!site_looks_sites(l, name, NULL));
    site_looks_free(l);
    free(t);
}

static int last_look(struct site_looks *l, const struct wire_trace_layout *t, double second)
{
    return site_looks_take_last(l, t, sizeof(*t), TRACE_ORIGIN, trace_time(second));
}

/* What a function keeps in a variable of its own is freed when it returns, which it does before the
 * process has ended. */
TEST(looks__leave_out_the_end_where_the_process_freed_what_it_had)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1);
    CHECK(last_look(l, t, 1.5) == 0); /* there is no look before it */
    size_t dies = trace_sample(t, a, 100, 1000, 1.6);
    CHECK(look(l, t, 2) == 0);
    trace_sample(t, a, 100, 1000, 2.5);
    CHECK(last_look(l, t, 2.6) == 0); /* it keeps more */
    CHECK(last_look(l, t, 2.7) == 0); /* it keeps as much */
    trace_free(t, dies);
    CHECK(last_look(l, t, 2.8) == -ESTALE);

    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->count == 1 && s->seconds == 2.7 && s->kept == 2000);
    CHECK(s->list[0].points[s->list[0].point_count - 1].remains == 2000);
    sites_free(s);
    t->start++; /* another process */
    CHECK(last_look(l, t, 3) == 0);
    site_looks_free(l);
    free(t);
}

TEST(looks__sum_what_every_site_keeps)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1), b = python_stack(t, 2);
    trace_sample(t, a, 100, 1000, 1.5);
    size_t dies = trace_sample(t, b, 200, 5000, 1.5);
    CHECK(look(l, t, 2) == 0);
    trace_free(t, dies);
    trace_sample(t, a, 50, 500, 2.5);
    CHECK(look(l, t, 3) == 0);
    CHECK(look(l, t, 3) == -ERANGE);

    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->count == 2 && s->list[0].frames[0].line == 1);
    CHECK(s->armed == 1 && s->seconds == 3 && s->interval == 65536 && s->samples == 3);
    const struct site *x = &s->list[0], *y = &s->list[1];
    CHECK(x->point_count == 3 && x->points[0].seconds == 1 && x->points[0].bytes == 0);
    CHECK(x->points[1].bytes == 1000 && x->points[1].variance == 1000 * 900);
    CHECK(x->points[1].remains == 1000);
    CHECK(x->points[2].bytes == 1500 && x->points[2].variance == 1000 * 900 + 500 * 450);
    CHECK(x->points[2].remains == 1500 && x->points[2].remains_variance == x->points[2].variance);
    CHECK(x->points[2].allocated == 1500 && x->samples == 2 && x->live == 2);
    CHECK(x->cohorts[8] == 1000 && x->cohorts[24] == 500);
    CHECK(y->points[1].bytes == 5000 && y->points[1].remains == 0 && y->points[2].bytes == 0);
    CHECK(y->points[2].allocated == 5000 && y->live == 0);
    CHECK(s->kept == 1500 && s->points[1].bytes == 6000 && s->points[1].remains == 1000);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

static double kept_of_one(enum wire_trace_kind kind, uint64_t size, double weight)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint64_t words[] = {trace_python(t, "train", "/home/me/train.py", 1)};
    t->is_glibc_heap = 1;
    trace_sample(t, trace_stack(t, kind, words, 1), size, (float) weight, 1.5);
    struct sites *s = look(l, t, 2) == 0 ? site_looks_sites(l, name, NULL) : NULL;
    double kept = s ? s->kept : (double) NAN;
    double variance = s ? s->points[s->point_count - 1].variance : (double) NAN;
    double taken = kept * (double) size / weight;
    sites_free(s);
    site_looks_free(l);
    free(t);
    return fabs(variance - kept * (kept - taken)) < 1 ? kept : (double) NAN;
}

TEST(looks__count_what_the_c_library_takes_for_a_block)
{
    CHECK_NEAR(kept_of_one(WIRE_TRACE_MALLOC, 1, 1000), 32000, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_MALLOC, 16, 1600), 3200, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_MALLOC, 24, 2400), 3200, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_MALLOC, 25, 2500), 4800, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_PYTHON, 24, 2400), 3200, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_PYTHON, 512, 5120), 5120, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_PYTHON, 600, 6000), 6080, 0.1);
    CHECK_NEAR(kept_of_one(WIRE_TRACE_MAPPED, 4096, 4096), 4096, 0.1);
}

TEST(looks__skip_torn_records_and_nonsense)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1);
    trace_sample(t, a, 100, 1000, 1.5);
    size_t torn = trace_sample(t, a, 100, 1000, 1.5);
    t->live_samples[torn].size++;
    const float weights[] = {NAN, INFINITY, -1, 0};
    for (int i = 0; i < 4; i++)
        t->live_samples[trace_sample(t, a, 100, 1000, 1.5)].weight = weights[i];
    size_t unknown = trace_sample(t, a, 100, 70, 1.5);
    t->live_samples[unknown].stack = 123456789;
    trace_seal(t, unknown);
    CHECK(look(l, t, 2) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->count == 2 && s->kept == 1070);
    CHECK(s->list[0].live == 1 && s->list[0].points[1].bytes == 1000);
    CHECK(s->list[1].live == 1 && s->list[1].frame_count == 0);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__name_every_address_once_and_merge_stacks_that_read_the_same)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint64_t train = trace_python(t, "train", "/home/me/train.py", 41);
    const uint64_t offsets[] = {0x210, 0x220, 0x310, 0x210};
    for (int i = 0; i < 4; i++) {
        uint64_t words[] = {trace_native(t, "/lib/a.so", offsets[i]),
                            trace_native(t, "/lib/b.so", 0x1010), train};
        enum wire_trace_kind kind = i == 3 ? WIRE_TRACE_MAPPED : WIRE_TRACE_MALLOC;
        trace_sample(t, trace_stack(t, kind, words, 3), 100, 1000 + i, 1.5);
    }
    CHECK(look(l, t, 2) == 0);
    unsigned calls = 0;
    struct sites *s = site_looks_sites(l, name, &calls);
    CHECK(calls == 4 && s->count == 3);
    const struct site *x = &s->list[0];
    CHECK(x->points[1].bytes == 2001 && x->live == 2 && x->samples == 2 && x->frame_count == 4);
    CHECK_TEXT(x->frames[0].function, "f2");
    CHECK_TEXT(x->frames[0].module, "/lib/a.so");
    CHECK(x->frames[1].is_inlined && !x->frames[2].is_inlined && x->frames[2].offset == 0x1010);
    CHECK_TEXT(x->frames[2].function, "outer");
    CHECK_TEXT(x->frames[3].file, "/home/me/train.py");
    CHECK(x->frames[3].line == 41 && !x->frames[3].module[0]);
    CHECK(s->list[1].kind == SITE_MAPPED && s->list[2].kind == SITE_MALLOC);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__keep_stacks_apart_whose_frames_have_no_name)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t words[] = {trace_native(t, "/lib/a.so", 0x10 + i / 2)};
        trace_sample(t, trace_stack(t, WIRE_TRACE_MALLOC, words, 1), 100, 1000, 1.5);
    }
    CHECK(look(l, t, 2) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s->count == 2 && s->list[0].points[1].bytes == 2000);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__trust_no_index)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint64_t words[] = {(UINT64_C(600) << WIRE_TRACE_MODULE_SHIFT) | 5,
                        (UINT64_C(9) << WIRE_TRACE_MODULE_SHIFT) | 5, UINT64_MAX,
                        WIRE_TRACE_PYTHON_FRAME | UINT64_C(1) << WIRE_TRACE_FUNCTION_SHIFT};
    uint32_t a = trace_stack(t, WIRE_TRACE_MALLOC, words, 4);
    t->functions[1] = (struct wire_trace_function){
        .key = 1, .name = WIRE_TRACE_TEXT - 1, .file = UINT32_MAX, .first_line = 12, .ready = 1};
    uint32_t beyond = trace_stack(t, WIRE_TRACE_MALLOC, words, 1);
    t->stacks[beyond].frames = UINT32_MAX;
    uint32_t deep = trace_stack(t, WIRE_TRACE_MALLOC, words, 1);
    t->stacks[deep].depth = UINT16_MAX;
    uint32_t strange = trace_stack(t, WIRE_TRACE_MALLOC, words, 1);
    t->stacks[strange].kind = 200;
    trace_sample(t, a, 10, 4000, 1.5);
    trace_sample(t, beyond, 10, 30, 1.5);
    trace_sample(t, deep, 10, 200, 1.5);
    trace_sample(t, strange, 10, 1000, 1.5);
    t->text_used = t->module_count = UINT32_MAX;
    CHECK(look(l, t, 2) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s->count == 2 && s->kept == 5230 && s->list[0].frame_count == 4);
    CHECK_TEXT(s->list[0].frames[0].module, "?");
    CHECK_TEXT(s->list[0].frames[1].module, "?");
    CHECK_TEXT(s->list[0].frames[3].function, "");
    CHECK(s->list[0].frames[3].line == 12);
    CHECK(s->list[1].frame_count == 0 && s->list[1].points[1].bytes == 1230);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__keep_points_evenly_spaced_and_the_last_one)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1);
    for (int i = 1; i <= 300; i++) {
        trace_sample(t, a, 100, 1000, i + 0.5);
        CHECK(look(l, t, 1 + i) == 0);
    }
    struct sites *s = site_looks_sites(l, name, NULL);
    const struct site *x = &s->list[0];
    CHECK(x->point_count <= SITE_POINTS && x->point_count > SITE_POINTS / 2);
    double step = x->points[1].seconds - x->points[0].seconds;
    for (unsigned k = 0; k < x->point_count; k++) {
        const struct site_point *p = &x->points[k];
        CHECK_NEAR(p->bytes, 1000 * (p->seconds - 1), 1e-3);
        CHECK(p->remains == p->bytes);
        CHECK(k + 1 == x->point_count || fabs(p->seconds - 1 - k * step) < 1e-6);
    }
    CHECK(x->points[x->point_count - 1].seconds == 301);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__begin_anew_with_another_file)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1);
    trace_sample(t, a, 100, 1000, 1.5);
    CHECK(look(l, t, 10) == 0);
    t->began++;
    CHECK(look(l, t, 5) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s->point_count == 2 && s->seconds == 5);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__list_what_keeps_most_and_what_allocates_most)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    for (uint32_t i = 0; i < 400; i++)
        trace_sample(t, python_stack(t, i + 1), 100, 1000 + i, 1.5);
    uint32_t churns = python_stack(t, 1000);
    t->stacks[churns].bytes = 1 << 30;
    CHECK(look(l, t, 2) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s->count == SITES_MOST && s->list[0].points[1].bytes == 1399);
    CHECK(s->list[SITES_MOST - 1].points[1].allocated == 1 << 30);
    double listed = 0;
    for (size_t i = 0; i < s->count; i++)
        listed += s->list[i].points[1].bytes;
    CHECK_NEAR(listed + s->others, s->kept, 1e-6 * s->kept);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__at_a_program_that_has_ended_are_at_its_end)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1);
    trace_sample(t, a, 100, 1000, 1.5);
    CHECK(look(l, t, 2) == 0);
    trace_sample(t, a, 100, 1000, 2.5);
    t->moment = trace_time(3);
    t->is_frozen = 1;
    CHECK(look(l, t, 9) == 0 && look(l, t, 10) == -ERANGE);

    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->seconds == 3 && s->kept == 2000);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__leave_out_what_a_program_frees_as_it_ends)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t a = python_stack(t, 1);
    size_t first = trace_sample(t, a, 100, 1000, 1.5);
    CHECK(look(l, t, 2) == 0);
    t->moment = trace_time(3);
    trace_free(t, first);
    CHECK(site_looks_take_last(l, t, sizeof(*t), TRACE_ORIGIN, trace_time(9)) == -ESTALE);
    for (int i = 0; i < 3; i++)
        trace_sample(t, a, 100, 1000, 2.5);
    CHECK(site_looks_take_last(l, t, sizeof(*t), TRACE_ORIGIN, trace_time(9)) == 0);

    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->seconds == 3 && s->kept == 3000);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

/* ---- blocks that torch lists ---- */

static void list_block(struct wire_trace_layout *t, uint32_t stack, uint64_t size, double second)
{
    struct wire_trace_blocks *b = &t->blocks;
    b->list[b->count++] = (struct wire_trace_block){
        .size = size,
        .weight = (float) size,
        .stack = stack,
        .birth = (uint32_t) ((second - 1) / 0.01 + 0.5),
    };
}

static uint32_t device_stack(struct wire_trace_layout *t, enum wire_trace_kind kind, uint8_t device,
                             uint32_t line)
{
    uint64_t word = trace_python(t, "forward", "/home/me/model.py", line);
    uint32_t stack = trace_stack(t, kind, &word, 1);
    t->stacks[stack].device = device;
    return stack;
}

static struct wire_trace_layout *file_with_blocks(void)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    wire_trace_blocks_begin(&t->blocks);
    t->blocks.armed_at = trace_time(1);
    t->blocks.moment = trace_time(2);
    t->blocks.lists = 2;
    t->blocks.memories[1] = (struct wire_trace_memory){.before = 5000, .now = 9000};
    list_block(t, device_stack(t, WIRE_TRACE_DEVICE, 1, 7), 4096, 1.5);
    wire_trace_blocks_end(&t->blocks);
    return t;
}

TEST(looks__keep_memory_of_devices_apart)
{
    struct wire_trace_layout *t = file_with_blocks();
    struct site_looks *l = site_looks_new();
    uint32_t pinned = device_stack(t, WIRE_TRACE_PINNED, 0, 8);
    trace_sample(t, python_stack(t, 1), 100, 1000, 1.5);
    list_block(t, pinned, 512, 1.5);
    list_block(t, python_stack(t, 2), 7000, 1.5); /* no stack of torch's */
    list_block(t, 123456789, 7000, 1.5);
    CHECK(look(l, t, 3) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->kept == 1000 && s->others == 0 && s->points[1].bytes == 1000);
    CHECK(s->list[0].kind == SITE_DEVICE && s->list[0].points[1].bytes == 4096);
    CHECK(s->list[0].points[1].variance == 0);
    CHECK_TEXT(s->list[0].device, "cuda:1");
    CHECK(s->list[1].kind == SITE_PYTHON && s->list[2].kind == SITE_PINNED);
    CHECK_TEXT(s->list[2].device, "");
    const struct site_memory *m = sites_memory(s, SITE_DEVICE, "cuda:1");
    CHECK(m && m->growth == 4000 && m->seconds == 2 && s->memory_count == 1);
    CHECK(!sites_memory(s, SITE_DEVICE, "cuda:0") && !sites_memory(s, SITE_PINNED, ""));
    sites_free(s);
    site_looks_free(l);
    free(t);
}

/* The watcher copies the file from its beginning to its end while the process replaces the list. */
TEST(looks__take_no_list_that_was_replaced_meanwhile)
{
    const size_t head = offsetof(struct wire_trace_layout, blocks.count);
    const size_t tail = offsetof(struct wire_trace_layout, blocks.same_version);
    for (int ended = 0; ended < 2; ended++) {
        struct wire_trace_layout *t = file_with_blocks(), *copy = file_with_blocks();
        struct site_looks *l = site_looks_new();
        CHECK(look(l, t, 3) == 0);
        memcpy((void *) copy, (const void *) t, head);
        wire_trace_blocks_begin(&t->blocks);
        t->blocks.list[0].size = 1;
        memcpy((char *) copy + head, (const char *) t + head, tail - head);
        if (ended)
            wire_trace_blocks_end(&t->blocks);
        memcpy((char *) copy + tail, (const char *) t + tail, sizeof(*t) - tail);
        CHECK(look(l, copy, 4) == 0);
        struct sites *s = site_looks_sites(l, name, NULL);
        CHECK(s && s->list[0].points[s->point_count - 1].bytes == 4096 && s->list[0].objects == 1);
        sites_free(s);
        site_looks_free(l);
        free(copy);
        free(t);
    }
}

TEST(looks__take_blocks_where_nothing_is_sampled)
{
    struct wire_trace_layout *t = trace_file_new(0);
    struct site_looks *l = site_looks_new();
    t->armed_at = 0;
    CHECK(look(l, t, 2) == -EAGAIN);
    trace_block(t, device_stack(t, WIRE_TRACE_DEVICE, 0, 1), 512, 3);
    t->blocks.memories[0].now = 512;
    CHECK(look(l, t, 4) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    CHECK(s && s->count == 1 && isnan(s->armed) && sites_from(s) == 2 && s->kept == 0);
    CHECK(site_gain(&s->list[0], 2, 4).bytes == 512 && site_gain(&s->list[0], 2, 4).error == 0);
    sites_free(s);
    t->armed_at = trace_time(5); /* host memory is suspect later */
    CHECK(look(l, t, 6) == 0);
    s = site_looks_sites(l, name, NULL);
    CHECK(s && s->armed == 5 && sites_from(s) == 2);
    sites_free(s);
    site_looks_free(l);
    free(t);
}

TEST(looks__skip_blocks_that_make_no_sense)
{
    struct wire_trace_layout *t = trace_file_new(65536);
    struct site_looks *l = site_looks_new();
    uint32_t stack = device_stack(t, WIRE_TRACE_DEVICE, 99, 1);
    trace_block(t, stack, 512, 3);
    trace_block(t, python_stack(t, 2), 512, 3); /* of host memory */
    trace_block(t, 7777777, 512, 3);
    trace_block(t, stack, UINT64_MAX, 3);
    trace_block(t, stack, 512, 3);
    t->blocks.list[4].weight = NAN;
    t->blocks.count = UINT64_MAX;
    CHECK(look(l, t, 4) == 0);
    struct sites *s = site_looks_sites(l, name, NULL);
    double kept = 0;
    for (size_t i = 0; s && i < s->count; i++)
        kept += s->list[i].points[s->list[i].point_count - 1].bytes;
    CHECK(s && s->memory_count == 0 && kept == 512 && s->list[0].device[0] == '\0');
    sites_free(s);
    site_looks_free(l);
    free(t);
}

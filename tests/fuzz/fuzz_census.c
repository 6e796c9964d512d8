/* tests/fuzz/fuzz_census.c: any bytes as a census: it is refused, or every report of it can be
 * written. The first byte is the growth of the process, in KB per step. */
#include "report/report.h"
#include "watch/watch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MB 1048576.0

static size_t text_of_thing(const struct wire_census_thing *t)
{
    if (t->kind >= WIRE_THING_KINDS || !wire_thing_kind_name(t->kind))
        abort();
    return strlen(t->type) + strlen(t->dtype) + strlen(t->shape) + strlen(t->device);
}

static void check_texts(const struct wire_census *c)
{
    size_t read = 0;
    for (unsigned i = 0; i < c->type_count; i++)
        read += strlen(c->types[i].name);
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        read += text_of_thing(&g->what);
        for (unsigned k = 0; k < g->item_depth; k++)
            read += text_of_thing(&g->item[k]);
        for (unsigned k = 0; k < g->holder_count; k++)
            read += strlen(g->holders[k].path) + strlen(g->holders[k].file) +
                    strlen(wire_holder_kind_name(g->holders[k].kind));
        for (unsigned k = 1; k < g->point_count; k++)
            if (g->points[k].time <= g->points[k - 1].time)
                abort();
    }
    if (read > 10 * WIRE_CENSUS_MOST_BYTES)
        abort();
}

static void train(struct wire_ring *ring, struct watch *w, double bytes_a_step)
{
    const struct wire_name name = {.kind = "host.anon", .unit = WIRE_BYTES, .judged = 1};
    unsigned number = (unsigned) wire_name(ring, &name);
    for (int i = 1; i <= 500; i++) {
        uint64_t at = (uint64_t) i * 10000000;
        wire_put(ring, WIRE_STEP, WIRE_WATCHER, 0, at, i);
        wire_put(ring, WIRE_SAMPLE, WIRE_WATCHER, number, at, 100 * MB + bytes_a_step * i);
        if (i % 100 == 0)
            watch_tick(w, i / 100.0);
    }
}

static void report(struct watch *w)
{
    struct view view, again;
    struct buf text = BUF_INIT, kept = BUF_INIT;
    const struct report_style style = {.width = 80, .full = true};
    watch_finish(w, 6, &(struct watch_end){0});
    watch_view_init(w, 6, &view);
    report_run_text(&text, &view, NULL, &style);
    report_run_json(&text, &view);
    report_keep(&kept, &view);
    if (report_recall(buf_text(&kept), kept.len, &again) < 0)
        abort();
    view_release(&again);
    view_release(&view);
    buf_release(&text);
    buf_release(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_census *c;
    if (size < 1 || wire_census_parse((const char *) data + 1, size - 1, &c) < 0)
        return 0;
    check_texts(c);
    wire_census_free(c);
    /* Only our own process, for speed. */
    struct watch_options options = {.proc_root = "/proc/self/task", .interval = 1};
    struct wire_ring *ring;
    struct watch *w;
    if (wire_open(NULL, &ring) < 0 || watch_new(&options, &w) < 0 ||
        watch_add_root(w, getpid(), false) < 0 || watch_add_ring(w, ring) < 0)
        abort();
    train(ring, w, 1024.0 * data[0]);
    if (watch_take_census(w, getpid(), (const char *) data + 1, size - 1) < 0)
        abort();
    report(w);
    watch_free(w);
    wire_close(ring);
    return 0;
}

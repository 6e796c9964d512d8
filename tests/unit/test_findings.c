/* tests/unit/test_findings.c: from the census of a process to what the report says about it. */
#include "report/report.h"
#include "watch/watch.h"

#include "census_lines.h"
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#define MB 1048576.0
#define AT(seconds) ((uint64_t) ((seconds) *1e9))

/* ---- a program that watches itself and reports what it holds ---- */

struct self {
    struct wire_ring *ring;
    struct watch *watch;
};

static bool self_start(struct self *s, bool no_inspect)
{
    /* Patience depends on the free memory below the limit; a fixed limit makes it the same on
     * every machine. */
    struct watch_options options = {
        .proc_root = "/proc", .interval = 1, .no_inspect = no_inspect, .limit_bytes = 0x1p35};
    return wire_open(NULL, &s->ring) == 0 && watch_new(&options, &s->watch) == 0 &&
           watch_add_root(s->watch, getpid(), false) == 0 && watch_add_ring(s->watch, s->ring) == 0;
}

static void self_end(struct self *s)
{
    watch_free(s->watch);
    wire_close(s->ring);
}

static void put_on(struct self *s, const char *device, const char *kind, enum wire_unit unit,
                   double seconds, double value)
{
    struct wire_name name = {.unit = (uint8_t) unit, .judged = strncmp(kind, "heap.", 5) != 0};
    snprintf(name.kind, sizeof(name.kind), "%s", kind);
    snprintf(name.device, sizeof(name.device), "%s", device);
    int number = wire_name(s->ring, &name);
    wire_put(s->ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) number, AT(seconds), value);
}

static void put(struct self *s, const char *kind, enum wire_unit unit, double seconds, double value)
{
    put_on(s, "", kind, unit, seconds, value);
}

/* What grows per step. */
struct rates {
    double bytes, tensors, heap, device;
};

/* Trains at 100 steps a second. */
static void train_between(struct self *s, int from, int to, struct rates a_step)
{
    for (int second = from; second < to; second++) {
        for (int i = 0; i < 100; i++) {
            double at = second + 0.01 * i, step = 100 * second + i + 1;
            wire_put(s->ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
            put(s, "host.anon", WIRE_BYTES, at, 100 * MB + a_step.bytes * step);
            put(s, "py.tensors", WIRE_COUNT, at, 6529 + a_step.tensors * step);
            if (a_step.device > 0)
                put(s, "torch.allocated", WIRE_BYTES, at, 60 * MB + a_step.device * step);
            if (a_step.heap > 0)
                put(s, "heap.used", WIRE_BYTES, at, 10 * MB + a_step.heap * step);
        }
        watch_tick(s->watch, second + 1);
    }
}

static void train_at(struct self *s, int seconds, struct rates a_step)
{
    train_between(s, 0, seconds, a_step);
}

static void train(struct self *s, int seconds, double bytes_a_step)
{
    train_at(s, seconds, (struct rates){.bytes = bytes_a_step});
}

static const char first_lines[] =
    WIRE_CENSUS_FIRST_LINE "\n"
                           "census\t9\t9000000000\t50000\t1\n"
                           "cost\t9\t2\t4000000\t1500000\t90000000\n"
                           "tensors\tcpu\t330\t4096\t0\t0\n"
                           "tensors\tcuda:0\t6199\t4194304\t0\t0\n"
                           "purpose\tparameters\tcuda:0\t320\t2097152\n"
                           "note\tone thread was not looked at\n";

static void take_text(struct self *s, const char *census)
{
    struct buf text = BUF_INIT;
    add_census_lines(&text, census);
    CHECK(watch_take_census(s->watch, getpid(), buf_text(&text), text.len) == 0);
    buf_release(&text);
}

static void take(struct self *s, const char *lines)
{
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s%s", first_lines, lines);
    take_text(s, buf_text(&text));
    buf_release(&text);
}

static enum pattern pattern_of(const struct view *v, const char *kind)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->series[i].info.kind, kind) == 0 && v->series[i].info.pid)
            return v->series[i].answer.pattern;
    return PATTERN_UNKNOWN;
}

static void finish(struct self *s, double seconds, struct view *ret)
{
    watch_finish(s->watch, seconds, &(struct watch_end){0});
    watch_view_init(s->watch, seconds, ret);
}

#define POINTS "1000000000:100 3000000000:300 6000000000:600 9000000000:900"
#define LOSSES                                                                                     \
    "growing\t1\tcontainer\tlist\ttensor float32 [] cpu\t600\t0\tgrad_fn\t" POINTS "\n"            \
    "holder\t1\t0.97\tlocal\tloss_history\ttrain_with_leak\t/x/demo.py\t31\n"                      \
    "holder\t1\t0.03\tattribute\ttrainer.spare\tTrainer\t/x/trainer.py\t5\n"

/* ---- what is found ---- */

TEST(findings__the_list_that_keeps_the_losses)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 16.2 * 1024);
    take(&s, LOSSES);
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1 && !v.found.so_far);
    const struct finding *f = &v.found.findings[0];
    CHECK_TEXT(f->cause, "retained-loss");
    CHECK_TEXT(f->what, "tensor float32 [] cpu");
    CHECK_TEXT(f->holder, "list 'loss_history'");
    CHECK_TEXT(f->where, "train_with_leak (/x/demo.py:31)");
    CHECK_TEXT(f->file, "/x/demo.py");
    CHECK_NEAR(f->line, 31, 0);
    CHECK_NEAR(f->count_per_step, 1, 0.01);
    CHECK_NEAR(f->count_per_second, 100, 1);
    CHECK_NEAR(f->bytes_per_step, 16.2 * 1024, 200);
    CHECK_NEAR(f->points, 4, 0);
    CHECK(f->also_count == 1);
    CHECK_TEXT(f->also[0], "`trainer.spare`, attribute of `Trainer` (/x/trainer.py:5)");
    CHECK(strstr(f->sentence,
                 "list `loss_history`, local of `train_with_leak` (/x/demo.py:31): +1.00 tensors a "
                 "step (float32 [] cpu, with the graph that made them), about 16.2 KB of host "
                 "memory a step in the process as a whole: keep loss.item() instead"));
    view_release(&v);
    self_end(&s);
}

/* On a device all of its growth is visible; on the host the graph is not. */
TEST(findings__losses_on_a_device_keep_graphs_on_the_host)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train_at(&s, 10, (struct rates){.bytes = 16.2 * 1024, .device = 512});
    take(&s, "growing\t1\tcontainer\tlist\ttensor float32 [] cuda:0\t600\t512\tgrad_fn\t" POINTS
             "\nholder\t1\t1\tlocal\tloss_history\ttrain\t/x/demo.py\t31\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
    CHECK(strstr(v.found.findings[0].sentence,
                 "about 512 B of device memory and 16.2 KB of host memory a step in the process as "
                 "a whole: keep loss.item() instead"));
    view_release(&v);
    self_end(&s);
}

/* 1,000 steps; at each of them both devices hold more. */
static void train_on_two(struct self *s, double first, double second)
{
    for (int i = 0; i < 1000; i++) {
        double at = 0.01 * i, step = i + 1;
        wire_put(s->ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
        put(s, "host.anon", WIRE_BYTES, at, 100 * MB);
        put_on(s, "cuda:0", "torch.allocated", WIRE_BYTES, at, 60 * MB + first * step);
        put_on(s, "cuda:1", "torch.allocated", WIRE_BYTES, at, 60 * MB + second * step);
        if (i % 100 == 99)
            watch_tick(s->watch, at + 0.01);
    }
}

/* Each device's memory has its holder; the one with the largest share comes first. */
TEST(findings__causes_are_ranked_over_all_devices)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train_on_two(&s, 4096, 12288);
    take(&s, "growing\t1\tcontainer\tlist\ttensor float32 [1024] cuda:0\t0\t4096\t0\t" POINTS
             "\nholder\t1\t1\tglobal\tfew\t\t/x/demo.py\t31\n"
             "growing\t2\tcontainer\tlist\ttensor float32 [3072] cuda:1\t0\t12288\t0\t" POINTS
             "\nholder\t2\t1\tglobal\tmost\t\t/x/demo.py\t32\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 2);
    CHECK(strcmp(v.found.findings[0].holder, "list 'most'") == 0);
    CHECK_NEAR(v.found.findings[0].share, 0.75, 0.02);
    CHECK_NEAR(v.found.findings[1].share, 0.25, 0.02);
    view_release(&v);
    self_end(&s);
}

/* Results of jobs started one after the other, while memory stays flat. */
TEST(findings__a_few_tensors_more_are_no_leak)
{
    static const double a_step[] = {0.012, 0.1};
    for (int i = 0; i < 2; i++) {
        struct self s;
        struct view v;
        CHECK(self_start(&s, false));
        train_at(&s, 1, (struct rates){.tensors = a_step[i]});
        take(&s, "growing\t1\tcontainer\tlist\ttensor float32 [400, 400] cpu\t640000\t0\t0\t" POINTS
                 "\nholder\t1\t1\tglobal\tresults\t\t/x/pool.py\t22\n");
        train_between(&s, 1, 10, (struct rates){.tensors = a_step[i]});
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == (i == 0 ? VERDICT_NO_LEAK : VERDICT_LEAK));
        view_release(&v);
        self_end(&s);
    }
}

TEST(findings__a_job_that_does_not_leak_is_accused_of_nothing)
{
    struct self s;
    struct view v;
    struct buf text = BUF_INIT;
    const struct report_style style = {.width = 100, .ascii = true, .full = true};
    CHECK(self_start(&s, false));
    train(&s, 10, 0);
    take(&s, LOSSES);
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK);
    CHECK(v.found.count == 0 && v.found.cache_count == 0 && v.found.census_count == 1);
    report_run_text(&text, &v, NULL, &style);
    CHECK(strstr(buf_text(&text), "  tensors   stable at 6,529 (cpu 330, cuda:0 6,199)\n"));
    CHECK(!strstr(buf_text(&text), "  cause "));
    buf_release(&text);
    view_release(&v);
    self_end(&s);
}

TEST(findings__what_is_suspect_grows_so_far)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 1, 64 * 1024);
    take(&s, "growing\t1\tcontainer\tlist\tbytes\t65536\t0\t\t"
             "100000000:10 300000000:30 600000000:60 900000000:90\n");
    watch_view_init(s.watch, 1, &v);
    CHECK(v.answer.verdict == VERDICT_INCONCLUSIVE && v.found.count == 1 && v.found.so_far);
    CHECK_TEXT(v.found.findings[0].cause, "growing-container");
    CHECK(!v.found.findings[0].holder);
    CHECK_NEAR(v.found.findings[0].share, 1, 0.05);
    view_release(&v);
    self_end(&s);
}

/* Grew at two censuses only, jumped once, paused at one, or slowed to nothing. */
TEST(findings__what_does_not_grow_steadily_is_none)
{
    static const char *const points[] = {
        "1000000000:100 9000000000:900",
        "1000000000:100 2000000000:100 9000000000:900",
        "1000000000:1 2000000000:600 3000000000:900 9000000000:901",
        "1000000000:1000 2000000000:600 9000000000:1900",
    };
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        struct self s;
        struct view v;
        char line[256];
        CHECK(self_start(&s, false));
        train(&s, 10, 64 * 1024);
        snprintf(line, sizeof(line), "growing\t1\tcontainer\tlist\tbytes\t65536\t0\t\t%s\n",
                 points[i]);
        take(&s, line);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 0);
        view_release(&v);
        self_end(&s);
    }
}

/* A few tensors, sometimes more and sometimes fewer: that is what a step makes. */
TEST(findings__a_few_objects_more_are_chance)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "growing\t1\tobjects\ttorch.Tensor\ttorch.Tensor\t4096\t0\t\t"
             "1000000000:1 2000000000:2 9000000000:4\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
    CHECK_TEXT(v.found.findings[0].cause, "native");
    view_release(&v);
    self_end(&s);
}

/* What jumped may be the growth if it is large enough; only then is nothing called native. */
TEST(findings__small_things_that_jump_leave_it_native)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "growing\t1\tcontainer\tlist\tfloat\t24\t0\t\t"
             "1000000000:1 2000000000:600 3000000000:900 9000000000:901\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
    CHECK_TEXT(v.found.findings[0].cause, "native");
    view_release(&v);
    self_end(&s);
}

/* What grew later was too small at that time to be followed. */
TEST(findings__nothing_is_native_by_a_census_of_the_beginning)
{
    static const char text[] =
        WIRE_CENSUS_FIRST_LINE "\ncensus\t4\t500000000\t50000\t1\ncost\t4\t1\t1\t1\t1\n";
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take_text(&s, text);
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 0);
    CHECK(v.found.undecided_count == 1 &&
          strstr(v.found.undecided[0], "counted only at its beginning"));
    view_release(&v);
    self_end(&s);
}

TEST(findings__a_cache_with_a_bound_is_told_where_it_ends)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "growing\t1\tcontainer\tcollections.deque\tbytes\t65536\t0\tbounded=4000\t" POINTS
             "\nholder\t1\t1\tglobal\tcache\t\t\t\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK && v.found.count == 0);
    CHECK(pattern_of(&v, "host.anon") == PATTERN_BOUNDED_CACHE);
    CHECK(v.found.cache_count == 1);
    const struct finding *f = &v.found.caches[0];
    CHECK(!f->cause && !f->advice);
    CHECK_NEAR(f->bound, 4000, 0);
    CHECK_NEAR(f->full_step, 4000, 10);
    CHECK(strstr(f->sentence, "collections.deque `cache`, a global: +1.00 items a step (bytes)"));
    CHECK(strstr(f->evidence[0], "it has 900 of at most 4,000 items and is full at about step"));
    view_release(&v);
    self_end(&s);
}

/* The number of tensors is judged by the memory they hold. */
TEST(findings__tensors_of_a_cache_or_of_next_to_nothing_are_no_leak)
{
    static const struct {
        double bytes;
        const char *bound;
        enum verdict verdict;
        enum severity severity;
    } cases[] = {{2048, "bounded=4000", VERDICT_NO_LEAK, SEVERITY_NONE},
                 {100, "", VERDICT_NO_LEAK, SEVERITY_NONE},
                 {600, "", VERDICT_LEAK, SEVERITY_NEGLIGIBLE},
                 {600, "grad_fn", VERDICT_LEAK, SEVERITY_NEGLIGIBLE}, /* as far as it can be seen */
                 {2048, "", VERDICT_LEAK, SEVERITY_LOW}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct self s;
        struct view v;
        char lines[512];
        CHECK(self_start(&s, false));
        train_at(&s, 10, (struct rates){.tensors = 1});
        snprintf(
            lines, sizeof(lines),
            "growing\t1\tcontainer\tcollections.deque\ttensor float32 [] cpu\t%.0f\t0\t%s\t%s\n",
            cases[i].bytes, cases[i].bound, POINTS);
        take(&s, lines);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == cases[i].verdict && v.answer.severity == cases[i].severity);
        view_release(&v);
        self_end(&s);
    }
}

/* torch's memory on a device grows because of a bounded container. */
TEST(findings__a_cache_on_a_device_is_no_leak)
{
    static const char *const bounds[] = {"bounded=4000", ""};
    for (unsigned i = 0; i < 2; i++) {
        struct self s;
        struct view v;
        char lines[512];
        CHECK(self_start(&s, false));
        for (int second = 0; second < 10; second++) {
            for (int k = 0; k < 100; k++) {
                double at = second + 0.01 * k, step = 100 * second + k + 1;
                wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
                put(&s, "host.anon", WIRE_BYTES, at, 100 * MB);
                put(&s, "torch.allocated", WIRE_BYTES, at, 100 * MB + 65536 * step);
            }
            watch_tick(s.watch, second + 1);
        }
        snprintf(lines, sizeof(lines),
                 "growing\t1\tcontainer\tcollections.deque\ttensor float32 [128, 128] cuda:0\t512"
                 "\t65536\t%s\t%s\nholder\t1\t1\tglobal\treplay\t\t\t\n",
                 bounds[i], POINTS);
        take(&s, lines);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == (i == 0 ? VERDICT_NO_LEAK : VERDICT_LEAK));
        CHECK(v.found.cache_count == (i == 0) && v.found.count == (i == 1));
        view_release(&v);
        self_end(&s);
    }
}

/* A cache beside it does not excuse what has no bound or keeps graphs. */
TEST(findings__a_cache_excuses_nothing_but_itself)
{
    static const char *const others[] = {
        "growing\t2\tcontainer\tlist\tbytes\t32768\t0\t\t" POINTS "\n",
        "growing\t2\tcontainer\tlist\ttensor float32 [] cpu\t512\t0\tgrad_fn\t" POINTS "\n",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct self s;
        struct view v;
        char lines[1024];
        CHECK(self_start(&s, false));
        train(&s, 10, 96 * 1024);
        snprintf(lines, sizeof(lines),
                 "growing\t1\tcontainer\tcollections.deque\tbytes\t65536\t0\tbounded=4000\t%s\n%s",
                 POINTS, others[i]);
        strncat(lines, "holder\t2\t1\tglobal\tkept\t\t/x/demo.py\t3\n",
                sizeof(lines) - strlen(lines) - 1);
        take(&s, lines);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
        view_release(&v);
        self_end(&s);
    }
}

TEST(findings__the_heap_tells_what_is_free_from_what_is_native)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    for (int i = 1; i <= 10; i++) {
        char text[256];
        train_between(&s, i - 1, i, (struct rates){.bytes = 64.0 * 1024});
        snprintf(text, sizeof(text),
                 WIRE_CENSUS_FIRST_LINE
                 "\ncensus\t%d\t%d000000000\t50000\t1\ncost\t%d\t0\t1\t1\t1\n"
                 "heap\t1000000\t%.0f\t0\n",
                 i, i, i, 64 * 1024 * 100.0 * i);
        take_text(&s, text);
    }
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK && v.found.count == 0);
    CHECK(pattern_of(&v, "host.anon") == PATTERN_ALLOCATOR_RETENTION);
    CHECK(v.pattern_count == 1 && strstr(v.patterns[0].text, "allocator-retention: "));
    view_release(&v);
    self_end(&s);
}

/* Nothing grows by the censuses, but one of them was cut off, so the counts before and after it
 * cannot be compared. */
TEST(findings__nothing_is_native_by_censuses_that_were_cut_off)
{
    for (int in_a_row = 2; in_a_row <= 3; in_a_row++) {
        struct self s;
        struct view v;
        char text[256];
        CHECK(self_start(&s, false));
        train(&s, 10, 64 * 1024);
        snprintf(text, sizeof(text),
                 WIRE_CENSUS_FIRST_LINE "\ncensus\t4\t9000000000\t50000\t1\t%d\n"
                                        "cost\t4\t0\t1\t1\t1\n",
                 in_a_row);
        take_text(&s, text);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == (in_a_row == 3));
        view_release(&v);
        self_end(&s);
    }
}

/* 1,000 steps of a process whose objects were counted meanwhile. */
static void train_counted(struct self *s, double bytes_a_step, const char *census, struct view *v)
{
    CHECK(self_start(s, false));
    train_between(s, 0, 3, (struct rates){.bytes = bytes_a_step});
    take(s, census);
    train_between(s, 3, 10, (struct rates){.bytes = bytes_a_step});
    take(s, census);
    finish(s, 10, v);
}

TEST(findings__little_that_no_object_holds_may_end_soon)
{
    struct self s;
    struct view v;
    train_counted(&s, 2048, "", &v);
    CHECK(v.answer.verdict == VERDICT_INCONCLUSIVE && v.found.count == 0);
    const struct view_series *series = &v.series[v.answer.deciding];
    CHECK_TEXT(series->info.kind, "host.anon");
    CHECK(!series->answer.suspect && series->answer.severity == SEVERITY_NONE);
    CHECK_TEXT(series->answer.why[0], "It has grown by 1.95 MB, and no Python object holds it; "
                                      "libraries keep up to 4.00 MB in their first thousands of "
                                      "calls.");
    CHECK_NEAR(series->answer.needs.at_least, 1050, 20);
    CHECK_NEAR(series->answer.needs.seconds, 10.5, 0.2);
    struct view_status status;
    watch_status(s.watch, &status);
    CHECK(status.verdict == VERDICT_INCONCLUSIVE);
    view_release(&v);
    self_end(&s);

    train_counted(&s, 8192, "", &v); /* more than libraries may keep */
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
    view_release(&v);
    self_end(&s);

    static const char *const held[] = {
        LOSSES,
        /* the memory of a file is not visible in its object */
        "growing\t1\tcontainer\tlist\t_io.TextIOWrapper\t300\t0\t\t" POINTS "\n"
        "holder\t1\t1\tglobal\tfiles\t\t/x/demo.py\t3\n",
    };
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        train_counted(&s, 2048, held[i], &v);
        CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
        view_release(&v);
        self_end(&s);
    }
}

TEST(findings__what_was_told_is_not_too_little_later)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 2048);
    take(&s, "");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
    view_release(&v);
    self_end(&s);
}

/* A list that keeps graphs pins the memory freed around them, so it is responsible for that
 * memory. */
TEST(findings__what_lies_free_excuses_no_graph)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    for (int i = 1; i <= 9; i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 WIRE_CENSUS_FIRST_LINE
                 "\ncensus\t%d\t%d000000000\t50000\t1\ncost\t%d\t0\t1\t1\t1\n"
                 "heap\t1000000\t%.0f\t0\n" LOSSES,
                 i, i, i, 64 * 1024 * 100.0 * i);
        take_text(&s, text);
    }
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
    CHECK(v.pattern_count == 0); /* a leak is not a look-alike */
    view_release(&v);
    self_end(&s);
}

/* ---- malloc's in-use memory ---- */

#define BATCHES                                                                                    \
    "growing\t1\tcontainer\tlist\tbytes\t16384\t0\t%s\t" POINTS "\n"                               \
    "holder\t1\t1\tlocal\tbatches\ttrain\t/x/demo.py\t31\n"

/* The heap grows by 16 KB a step, the process by `bytes_a_step`. */
static void fill_heap(struct self *s, double bytes_a_step, const char *census, struct view *v)
{
    CHECK(self_start(s, false));
    train_at(s, 10, (struct rates){.bytes = bytes_a_step, .heap = 16384});
    take(s, census);
    finish(s, 10, v);
}

TEST(findings__a_leak_into_what_lies_free_is_one)
{
    struct self s;
    struct view v;
    char census[512];
    snprintf(census, sizeof(census), BATCHES, "");
    fill_heap(&s, 0, census, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK);
    CHECK_TEXT(v.series[v.answer.deciding].info.kind, "heap.used");
    const struct answer *a = &v.series[v.answer.deciding].answer;
    CHECK_NEAR(a->rate, 16384, 100);
    CHECK(strstr(a->why[a->why_count - 1], "This is malloc's in-use memory"));
    CHECK(v.found.count == 1);
    CHECK_TEXT(v.found.findings[0].holder, "list 'batches'");
    CHECK_NEAR(v.found.findings[0].share, 1, 0.01);
    view_release(&v);
    self_end(&s);
}

/* 600 steps; the process grows by `bytes_a_step` during the last 350. */
static enum verdict fills_what_lies_free_first(double heap_a_step, double bytes_a_step)
{
    struct self s;
    struct view v;
    if (!self_start(&s, false))
        return VERDICT_NO_LEAK;
    for (int i = 1; i <= 600; i++) {
        wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(0.01 * i), i);
        put(&s, "host.anon", WIRE_BYTES, 0.01 * i, 100 * MB + bytes_a_step * fmax(i - 250, 0));
        put(&s, "heap.used", WIRE_BYTES, 0.01 * i, 10 * MB + heap_a_step * i);
        if (i % 20 == 0)
            watch_tick(s.watch, 0.01 * i);
    }
    take(&s, "");
    finish(&s, 10, &v);
    enum verdict verdict = v.answer.verdict;
    bool is_native = v.found.count == 1 && strcmp(v.found.findings[0].cause, "native") == 0;
    view_release(&v);
    self_end(&s);
    return verdict == VERDICT_LEAK && !is_native ? VERDICT_NO_LEAK : verdict;
}

TEST(findings__a_native_leak_fills_what_lies_free_first)
{
    CHECK(fills_what_lies_free_first(40960, 40960) == VERDICT_LEAK);
    CHECK(fills_what_lies_free_first(4096, 40960) == VERDICT_INCONCLUSIVE);
    CHECK(fills_what_lies_free_first(0, 40960) == VERDICT_INCONCLUSIVE);
}

/* The process had more than the machine has, as if it had freed memory by the time the machine
 * was read. */
TEST(findings__nobody_has_more_room_than_there_is)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    for (int i = 1; i <= 600; i++) {
        wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(0.01 * i), i);
        put(&s, "host.anon", WIRE_BYTES, 0.01 * i, 1e14 + 16 * MB * i);
        if (i % 20 == 0)
            watch_tick(s.watch, 0.01 * i);
    }
    finish(&s, 10, &v);
    const struct answer *a = &v.series[v.answer.deciding].answer;
    CHECK_TEXT(v.series[v.answer.deciding].info.kind, "host.anon");
    CHECK(a->limit_shared > 0 && a->limit <= a->limit_shared);
    view_release(&v);
    self_end(&s);
}

/* Rows of numbers, which any training keeps. */
TEST(findings__a_few_bytes_into_free_heap_are_negligible)
{
    struct self s;
    struct view v;
    char census[512];
    snprintf(census, sizeof(census), BATCHES, "");
    CHECK(self_start(&s, false));
    train_at(&s, 60, (struct rates){.heap = 600});
    take(&s, census);
    finish(&s, 60, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.answer.severity == SEVERITY_NEGLIGIBLE);
    view_release(&v);
    self_end(&s);
}

static bool has_series(const struct view *v, const char *kind)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->series[i].info.kind, kind) == 0)
            return true;
    return false;
}

TEST(findings__what_malloc_has_given_out_accuses_nobody_by_itself)
{
    struct self s;
    struct view v;
    char census[512];
    fill_heap(&s, 0, "", &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK && !has_series(&v, "heap.used"));
    CHECK(wire_wanted(s.ring) == WIRE_CENSUS_HOLDERS); /* but it triggers a search */
    view_release(&v);
    self_end(&s);
    snprintf(census, sizeof(census), BATCHES, "bounded=5000");
    fill_heap(&s, 0, census, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK && !has_series(&v, "heap.used"));
    view_release(&v);
    self_end(&s);
}

/* The collector frees it when it runs, so no heap fills forever. */
TEST(findings__what_waits_for_the_collector_does_not_fill_the_heap)
{
    struct self s;
    struct view v;
    fill_heap(
        &s, 0,
        "growing\t1\ttensors\ttorch.Tensor\ttensor float32 [64, 64] cpu\t16384\t0\tgrad_fn\t" POINTS
        "\nholder\t1\t1\tgarbage\t\t\t\t0\n",
        &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK && !has_series(&v, "heap.used"));
    view_release(&v);
    self_end(&s);
    fill_heap(
        &s, 0,
        "growing\t1\ttensors\ttorch.Tensor\ttensor float32 [64, 64] cpu\t16384\t0\tgrad_fn\t" POINTS
        "\nholder\t1\t1\tlocal\tlast.before\ttrain\t/x/demo.py\t31\n",
        &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && has_series(&v, "heap.used"));
    view_release(&v);
    self_end(&s);
}

TEST(findings__what_malloc_has_given_out_is_not_told_twice)
{
    struct self s;
    struct view v;
    char census[512];
    snprintf(census, sizeof(census), BATCHES, "");
    fill_heap(&s, 16384, census, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.answer.leaks == 1 && !has_series(&v, "heap.used"));
    CHECK_TEXT(v.series[v.answer.deciding].info.kind, "host.anon");
    CHECK_NEAR(v.found.findings[0].share, 1, 0.01);
    view_release(&v);
    self_end(&s);
}

#define LEAPS 20
#define LEAP_BYTES (50 * 65536)

/*
 * 64 KB a step arrive in leaps, of which `free_part` is free heap. In-use memory is flat after it
 * took `first` of that in the first steps. The process requests `asked_part` of the growth from the
 * kernel, the rest was requested before, and it returns `back` of other memory. No object has been
 * counted.
 */
static enum verdict leaps_of(double free_part, double first, double asked_part, double back)
{
    struct self s;
    struct view v;
    if (!self_start(&s, false))
        return VERDICT_INCONCLUSIVE;
    for (int i = 0; i < 50 * LEAPS; i++) {
        double at = 0.01 * i, leaps = LEAP_BYTES * (i / 50), used = first * fmin(i / 150.0, 1);
        double other = i < 25 * LEAPS ? back : 0;
        wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), i + 1);
        put(&s, "host.anon", WIRE_BYTES, at, 100 * MB + leaps);
        put(&s, "heap.used", WIRE_BYTES, at, 10 * MB + used);
        put(&s, "heap.asked", WIRE_BYTES, at, 200 * MB + other + asked_part * leaps);
        put(&s, "heap.free", WIRE_BYTES, at, fmax(free_part * leaps - used, 0));
        if (i % 20 == 19)
            watch_tick(s.watch, at);
    }
    finish(&s, 10, &v);
    enum verdict verdict = v.answer.verdict;
    view_release(&v);
    self_end(&s);
    return verdict;
}

static enum verdict leaps_with(double free_part, double first)
{
    return leaps_of(free_part, first, 1, 0);
}

/*
 * An array allocated at the beginning is filled, and nothing requests more. What counts is the
 * request as the process reports it, because at any other moment only what a step maps is visible.
 * In truth nothing is mapped here.
 */
TEST(findings__what_was_allocated_before_is_no_leak_when_it_is_used)
{
    CHECK(leaps_of(0, 0, 0, 0) == VERDICT_NO_LEAK);
    CHECK(leaps_of(0, 0, 1, 0) == VERDICT_LEAK);
    CHECK(leaps_of(0, 0, 1, 256 * MB) == VERDICT_LEAK); /* which hides the request */
}

TEST(findings__what_lies_free_is_no_leak_before_anything_was_counted)
{
    CHECK(leaps_with(0.9, 0) == VERDICT_NO_LEAK);
    CHECK(leaps_with(0.9, 16 * MB) == VERDICT_NO_LEAK);
    CHECK(leaps_with(0.6, 0) == VERDICT_LEAK); /* the rest is elsewhere */
    CHECK(leaps_with(0, 0) == VERDICT_LEAK);
}

/* The process keeps what was freed to malloc, so its own memory does not show the frees. */
TEST(findings__what_is_in_use_rises_and_falls)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 0);
    for (int i = 1; i <= 9; i++) {
        put(&s, "heap.used", WIRE_BYTES, i, 10 * MB + (i % 3) * 20 * MB);
        put(&s, "heap.free", WIRE_BYTES, i, 50 * MB - (i % 3) * 20 * MB);
    }
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK);
    CHECK(v.pattern_count == 1 && v.patterns[0].pattern == PATTERN_SAWTOOTH);
    CHECK(strstr(v.patterns[0].text, "repeatedly from 10.0 MB to 50.0 MB and back"));
    view_release(&v);
    self_end(&s);
}

/* No search followed the later censuses: the holder found before still counts if it is the same
 * container. */
TEST(findings__holders_stay_known)
{
    static const struct {
        const char *later;
        bool is_known;
    } cases[] = {
        {"600\t0\tgrad_fn\t" POINTS " 9500000000:950\n", true},
        {"600\t0\tgrad_fn\t1000000000:100 6000000000:600 9500000000:950\n", true}, /* thinned */
        {"600\t0\tgrad_fn\t1000000000:100 6000000000:601 9500000000:950\n", false},
        {"600\t0\tgrad_fn\t1000000000:100 9500000000:950 9700000000:970\n", false}, /* one point */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct self s;
        struct view v;
        char lines[512];
        CHECK(self_start(&s, false));
        train(&s, 10, 16.2 * 1024);
        snprintf(lines, sizeof(lines), "growing\t1\tcontainer\tlist\ttensor float32 [] cpu\t%s",
                 cases[i].later);
        take(&s, LOSSES);
        take(&s, lines);
        take(&s, lines);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 1);
        CHECK((v.found.findings[0].line == 31) == cases[i].is_known);
        view_release(&v);
        self_end(&s);
    }
}

TEST(findings__the_newest_search_counts)
{
    struct self s;
    struct view v;
    static const char line[] = "growing\t1\tcontainer\tlist\ttensor float32 [] cpu\t600\t0\t"
                               "grad_fn\t" POINTS "\n";
    char lines[512];
    CHECK(self_start(&s, false));
    train(&s, 10, 16.2 * 1024);
    snprintf(lines, sizeof(lines), "%sholder\t1\t1\tglobal\tkept\t\t/x/b.py\t7\n", line);
    take(&s, LOSSES);
    take(&s, line);
    take(&s, lines);
    take(&s, line);
    finish(&s, 10, &v);
    CHECK(v.found.count == 1);
    CHECK_TEXT(v.found.findings[0].holder, "list 'kept'");
    view_release(&v);
    self_end(&s);
}

/* The extra result of a search besides the holder: how much a cache takes. */
TEST(findings__a_bound_stays_known)
{
    struct self s;
    struct view v;
    static const char line[] = "growing\t1\tcontainer\tdict\tbytes\t65536\t0\t";
    char lines[512];
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    snprintf(lines, sizeof(lines),
             "%sbounded=4000\t" POINTS "\nholder\t1\t1\tlru_cache\tload\tload\t/x/b.py\t7\n", line);
    take(&s, lines);
    snprintf(lines, sizeof(lines), "%s\t" POINTS "\n", line);
    take(&s, lines);
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK);
    view_release(&v);
    self_end(&s);
}

/* The largest graph of each census may be a different one. A kept graph is soon a multiple of
 * it, or grows evenly. */
TEST(findings__graphs_of_changing_size_are_no_graph_that_grows)
{
    static const struct {
        const char *points;
        bool grows;
    } cases[] = {
        {"1000000000:40 3000000000:45 9000000000:90", false},
        {"1000000000:40 3000000000:400 9000000000:410", false}, /* a jump */
        {"1000000000:40 3000000000:80 9000000000:160", true},
        {"1000000000:40000 3000000000:40800 9000000000:43000", true},
        {"1000000000:40 2000000000:45 3000000000:46 8000000000:60 9000000000:61", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct self s;
        struct view v;
        char lines[512];
        CHECK(self_start(&s, false));
        train(&s, 10, 16.2 * 1024);
        snprintf(lines, sizeof(lines),
                 "growing\t1\tgraph\ttorch.Tensor\ttensor float32 [] cpu\t\t\tgrad_fn\t%s\n"
                 "holder\t1\t1\tglobal\ttotal\t\t/x/b.py\t7\n",
                 cases[i].points);
        take(&s, lines);
        finish(&s, 10, &v);
        CHECK(v.answer.verdict == VERDICT_LEAK);
        CHECK((v.found.count == 1 && v.found.findings[0].line == 7) == cases[i].grows);
        view_release(&v);
        self_end(&s);
    }
}

/* If two were always counted alike, nobody can tell which is which. */
TEST(findings__holders_are_not_mixed_up)
{
    struct self s;
    struct view v;
    static const char later[] = "growing\t1\tcontainer\tlist\tint\t600\t0\t\t" POINTS "\n"
                                "growing\t2\tcontainer\tlist\tint\t600\t0\t\t" POINTS "\n";
    CHECK(self_start(&s, false));
    train(&s, 10, 16.2 * 1024);
    take(&s, LOSSES);
    take(&s, later);
    take(&s, later);
    finish(&s, 10, &v);
    CHECK(v.found.count > 0);
    for (unsigned i = 0; i < v.found.count; i++)
        CHECK(v.found.findings[i].line != 31);
    view_release(&v);
    self_end(&s);
}

TEST(findings__a_run_that_was_too_short_says_so)
{
    struct self s;
    struct view v;
    static const char text[] =
        WIRE_CENSUS_FIRST_LINE "\ncensus\t2\t2000000000\t50000\t1\ncost\t2\t0\t1\t1\t1\n";
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take_text(&s, text);
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 0);
    CHECK(v.found.undecided_count == 1 &&
          strstr(v.found.undecided[0], "2 censuses in a row; 3 are required"));
    view_release(&v);
    self_end(&s);
}

/* By then the locals of main() are gone. */
TEST(findings__nothing_is_native_by_what_a_program_held_at_its_end)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "ended\t1\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 0);
    CHECK(v.found.undecided_count == 1 && strstr(v.found.undecided[0], "before it ended"));
    view_release(&v);
    self_end(&s);
}

TEST(findings__nothing_is_native_where_graphs_were_not_looked_at)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "tensors\tcpu\t3\t48\t1\t2\ngraphs\t1\t100000\n");
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.found.count == 0);
    CHECK(v.found.undecided_count == 1 && strstr(v.found.undecided[0], "have graphs behind them"));
    view_release(&v);
    self_end(&s);
}

/* Between two censuses it grew at half its rate, because it had only just started. */
TEST(findings__rates_begin_where_the_growth_did)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "growing\t1\tcontainer\tlist\tbytes\t65536\t0\t\t"
             "1000000000:10 5000000000:110 6000000000:210 7000000000:310 9000000000:510\n");
    finish(&s, 10, &v);
    CHECK(v.found.count == 1);
    CHECK_NEAR(v.found.findings[0].count_per_step, 1, 0.01);
    view_release(&v);
    self_end(&s);
}

TEST(findings__a_text_from_outside_drives_no_terminal)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    take(&s, "growing\t1\tcontainer\tl\033[31mist\tby\\ntes\t65536\t0\t\t" POINTS
             "\nholder\t1\t1\tlocal\tx\033]0;y\tf\xff\t/x\033\t1\n");
    finish(&s, 10, &v);
    CHECK(v.found.count == 1);
    for (const char *c = v.found.findings[0].sentence; *c; c++)
        CHECK((unsigned char) *c >= 32);
    view_release(&v);
    self_end(&s);
}

TEST(findings__what_is_no_census_changes_nothing)
{
    struct self s;
    CHECK(self_start(&s, false));
    train(&s, 1, 0);
    CHECK(watch_take_census(s.watch, getpid(), "rubbish", 7) == 0);
    CHECK(watch_take_census(s.watch, 1, first_lines, strlen(first_lines)) < 0);
    self_end(&s);
}

TEST(findings__a_census_of_another_version_is_told_once)
{
    struct self s;
    struct view v;
    unsigned told = 0;
    CHECK(self_start(&s, false));
    train(&s, 1, 0);
    for (int i = 0; i < 2; i++)
        take_text(&s, "tidemark census 1\ncensus\t1\t1\t1\t1\n");
    finish(&s, 1, &v);
    for (size_t i = 0; i < v.note_count; i++)
        told += strstr(v.notes[i], "the probe of another tidemark version loaded") != NULL;
    CHECK(told == 1);
    view_release(&v);
    self_end(&s);
}

/* ---- what is wanted ---- */

TEST(findings__holders_are_wanted_of_what_grows)
{
    struct self s;
    CHECK(self_start(&s, false));
    train(&s, 1, 0);
    CHECK(wire_wanted(s.ring) == WIRE_CENSUS_COUNT);
    self_end(&s);
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    CHECK(wire_wanted(s.ring) == WIRE_CENSUS_HOLDERS);
    self_end(&s);
    CHECK(self_start(&s, true));
    train(&s, 10, 64 * 1024);
    CHECK(wire_wanted(s.ring) == WIRE_CENSUS_NONE);
    self_end(&s);
}

/* ---- news ---- */

TEST(findings__the_cause_is_told_once_it_is_known)
{
    struct self s;
    unsigned told = 0;
    CHECK(self_start(&s, false));
    train(&s, 10, 64 * 1024);
    for (struct news n; (n = watch_next_news(s.watch)).kind != NEWS_END;)
        CHECK(n.kind != NEWS_CAUSE);
    for (int i = 0; i < 3; i++) {
        take(&s, LOSSES);
        watch_tick(s.watch, 11 + i);
        for (struct news n; (n = watch_next_news(s.watch)).kind != NEWS_END;)
            told += n.kind == NEWS_CAUSE && strstr(n.text, "loss_history");
    }
    CHECK(told == 1);
    self_end(&s);
}

/* The step at which a leak of 64 KB a step is announced; 0: never in 1,000 steps. A census is
 * taken just before step `counted`. */
static int told_at(int counted, const char *census)
{
    struct self s;
    int told = 0;
    if (!self_start(&s, false))
        return -1;
    for (int step = 1; step <= 1000 && told == 0; step++) {
        double at = 0.01 * step;
        wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
        put(&s, "host.anon", WIRE_BYTES, at, 100 * MB + 65536.0 * step);
        if (step == counted)
            take(&s, census);
        watch_tick(s.watch, at);
        for (struct news n; (n = watch_next_news(s.watch)).kind != NEWS_END;)
            told = n.kind == NEWS_LEAK ? step : told;
    }
    self_end(&s);
    return told;
}

/* The explanation of the growth may arrive just when the leak is about to be announced. */
TEST(findings__what_is_explained_by_then_is_not_told)
{
    static const char cache[] = "growing\t1\tcontainer\tdict\tbytes\t65536\t0\tbounded=4000\t"
                                "300000000:30 600000000:60 900000000:90 1200000000:120\n"
                                "holder\t1\t1\tlru_cache\tload\tload\t/x/b.py\t7\n";
    int step = told_at(0, cache);
    CHECK(step > 120);
    CHECK(told_at(step, cache) == 0);
}

/* Checks that every leak announced now is judged a leak, and adds their number to *told. */
static void count_told(struct self *s, double seconds, unsigned *told)
{
    for (struct news n; (n = watch_next_news(s->watch)).kind != NEWS_END;) {
        struct view v;
        if (n.kind != NEWS_LEAK)
            continue;
        watch_view_init(s->watch, seconds, &v);
        for (size_t i = 0; i < v.count; i++)
            CHECK(v.series[i].id != n.series || v.series[i].answer.verdict == VERDICT_LEAK);
        view_release(&v);
        ++*told;
    }
}

/* Steps of 10 ms; the watcher samples none of them before the last. */
static void train_unseen(struct self *s, int from, int to, double bytes, double bytes_a_step)
{
    for (int step = from; step <= to; step++) {
        double at = 0.01 * step;
        wire_put(s->ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
        put(s, "host.anon", WIRE_BYTES, at, bytes + bytes_a_step * (step - from + 1));
    }
    watch_tick(s->watch, 0.01 * to);
}

/* Growth sampled late may have been a leak for long enough, and may have stopped since. */
TEST(findings__what_has_stopped_by_then_is_not_told)
{
    unsigned told = 0;
    for (int still = 0; still <= 240; still += 20) {
        struct self s;
        CHECK(self_start(&s, false));
        for (int step = 1; step <= 200; step += 10)
            train_unseen(&s, step, step + 9, 100 * MB + 65536.0 * (step - 1), 65536);
        for (int step = 201; step <= 500; step++) {
            wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(0.01 * step), step);
            put(&s, "host.anon", WIRE_BYTES, 0.01 * step, 100 * MB + 65536.0 * step);
        }
        train_unseen(&s, 501, 501 + still, 100 * MB + 65536.0 * 500, 0);
        count_told(&s, 0.01 * (501 + still), &told);
        self_end(&s);
    }
    CHECK(told > 0 && told < 13);
}

/* malloc's in-use memory grows before the process does: one leak, not two. */
TEST(findings__a_leak_of_a_heap_is_told_once)
{
    for (int begins = 1; begins <= 301; begins += 60) {
        struct self s;
        unsigned told = 0;
        CHECK(self_start(&s, false));
        for (int step = 1; step <= 1500; step++) {
            double at = 0.01 * step;
            put(&s, "heap.used", WIRE_BYTES, at, 10 * MB + 65536.0 * step);
            train_unseen(&s, step, step, 100 * MB + 65536.0 * (step < begins ? 0 : step - begins),
                         0);
            if (step == 120)
                take(&s, "growing\t1\tcontainer\tlist\tbytes\t65536\t0\t\t"
                         "300000000:30 600000000:60 900000000:90 1200000000:120\n"
                         "holder\t1\t1\tlocal\tkept\ttrain\t/x/b.py\t7\n");
            count_told(&s, at, &told);
        }
        CHECK(told == 1);
        self_end(&s);
    }
}

/* ---- the report ---- */

TEST(findings__the_report_says_it_and_is_kept)
{
    struct self s;
    struct view v, again;
    struct buf text = BUF_INIT, kept = BUF_INIT, text_again = BUF_INIT, json = BUF_INIT,
               json_again = BUF_INIT;
    const struct report_style style = {.width = 100, .ascii = true, .full = true};
    CHECK(self_start(&s, false));
    train(&s, 10, 16.2 * 1024);
    take(&s, LOSSES
         "growing\t2\tcontainer\tcollections.deque\tbytes\t1024\t0\tbounded=4000\t" POINTS "\n");
    finish(&s, 10, &v);
    report_run_text(&text, &v, NULL, &style);
    report_run_json(&json, &v);
    report_keep(&kept, &v);
    CHECK(report_recall(buf_text(&kept), kept.len, &again) == 0);
    report_run_text(&text_again, &again, NULL, &style);
    report_run_json(&json_again, &again);
    CHECK_TEXT(buf_text(&text), buf_text(&text_again));
    CHECK_TEXT(buf_text(&json), buf_text(&json_again));
    CHECK(strstr(buf_text(&text), "\n  cause     list `loss_history`, local of `train_with_leak`"));
    CHECK(strstr(buf_text(&text), "  tensors   stable at 6,529 (cpu 330, cuda:0 6,199)\n"));
    CHECK(strstr(buf_text(&text), "  purpose   parameters 2.00 MB (cuda:0)\n"));
    CHECK(strstr(buf_text(&text), "  inspect   9 censuses, 2 searches for holders; the program was "
                                  "paused for 4.00 ms in all"));
    CHECK(strstr(buf_text(&json), "\"count_per_step\": "));
    view_release(&v);
    view_release(&again);
    struct buf *all[] = {&text, &kept, &text_again, &json, &json_again};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_release(all[i]);
    self_end(&s);
}

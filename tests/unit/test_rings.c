/* tests/unit/test_rings.c: what processes report from inside reaches their series and the clock. */
#include "replay/replay.h"
#include "watch/watch.h"
#include "wire/ring.h"

#include "store_files.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#define MB 1048576.0

/* A second of the watch as the time of a ring's record. */
#define AT(seconds) ((uint64_t) ((seconds) *1e9))

/* ---- a program that watches itself ---- */

struct self {
    struct wire_ring *ring;
    struct watch *watch;
};

static bool self_start(struct self *s, struct store *store)
{
    struct watch_options options = {.proc_root = "/proc", .interval = 1, .store = store};
    return wire_open(NULL, &s->ring) == 0 && watch_new(&options, &s->watch) == 0 &&
           watch_add_root(s->watch, getpid(), false) == 0 && watch_add_ring(s->watch, s->ring) == 0;
}

static void self_end(struct self *s)
{
    watch_free(s->watch);
    wire_close(s->ring);
}

/* Writes what wire_step() would write at that second. */
static void put_step(struct self *s, enum wire_source source, double seconds, double step)
{
    wire_put(s->ring, WIRE_STEP, source, 0, AT(seconds), step);
}

static void put_sample(struct self *s, const char *kind, double seconds, double value)
{
    struct wire_name name = {.unit = WIRE_BYTES, .judged = strncmp(kind, "py.", 3) != 0};
    snprintf(name.kind, sizeof(name.kind), "%s", kind);
    int number = wire_name(s->ring, &name);
    wire_put(s->ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) number, AT(seconds), value);
}

/* Trains for `seconds` seconds of 100 steps each; the counter grows by `bytes` a step. A flat
 * host.anon replaces the memory of the test itself, which must not be sampled. */
static void train(struct self *s, const char *kind, int seconds, double bytes)
{
    for (int second = 0; second < seconds; second++) {
        for (int i = 0; i < 100; i++) {
            double at = second + 0.01 * i, step = 100 * second + i + 1;
            put_step(s, WIRE_WATCHER, at, step);
            put_sample(s, kind, at, 100 * MB + bytes * step);
            if (strcmp(kind, "host.anon") != 0)
                put_sample(s, "host.anon", at, 100 * MB);
        }
        watch_tick(s->watch, second + 1);
    }
}

static const struct view_series *find_series(const struct view *v, const char *kind)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->series[i].info.kind, kind) == 0 && v->series[i].info.pid > 0)
            return &v->series[i];
    return NULL;
}

static void finish(struct self *s, double seconds, struct view *ret)
{
    watch_finish(s->watch, seconds, &(struct watch_end){0});
    watch_view_init(s->watch, seconds, ret);
}

/* ---- steps ---- */

TEST(rings__steps_told_from_inside_are_the_clock)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    CHECK(isnan(watch_steps(s.watch)));
    for (int i = 1; i <= 100; i++)
        put_step(&s, WIRE_OPTIMIZER, 0.01 * i, i);
    watch_tick(s.watch, 2);
    CHECK_NEAR(watch_steps(s.watch), 100, 0);
    finish(&s, 2, &v);
    CHECK_NEAR(v.steps, 100, 0);
    CHECK_NEAR(v.step, 100, 0);
    CHECK_TEXT(v.steps_from, "optimizer");
    view_release(&v);
    self_end(&s);
}

TEST(rings__the_count_is_exact_between_what_is_told)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    for (int i = 1; i <= 5000; i++)
        wire_step(s.ring, WIRE_WATCHER, i);
    watch_tick(s.watch, 1);
    CHECK_NEAR(watch_steps(s.watch), 5000, 0);
    wire_step(s.ring, WIRE_WATCHER, 5001);
    CHECK_NEAR(watch_steps(s.watch), 5001, 0);
    self_end(&s);
}

TEST(rings__a_resumed_job_starts_where_it_was)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 0; i < 10; i++)
        put_step(&s, WIRE_WATCHER, 0.1 * i, 50000 + i);
    watch_tick(s.watch, 2);
    CHECK_NEAR(watch_steps(s.watch), 10, 0);
    watch_view_init(s.watch, 2, &v);
    CHECK_NEAR(v.step, 50009, 0);
    view_release(&v);
    self_end(&s);
}

TEST(rings__a_step_that_two_sources_tell_counts_once)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    /* An optimizer makes its first steps before any other source reports. */
    put_step(&s, WIRE_OPTIMIZER, 0.1, 1);
    put_step(&s, WIRE_FRAMEWORK, 0.11, 50001);
    put_step(&s, WIRE_FRAMEWORK, 0.2, 50002);
    put_step(&s, WIRE_WATCHER, 0.21, 50002);
    put_step(&s, WIRE_WATCHER, 0.3, 50003);
    watch_tick(s.watch, 1);
    CHECK_NEAR(watch_steps(s.watch), 3, 0);
    self_end(&s);
}

TEST(rings__a_source_that_goes_on_with_the_numbers_of_another_has_its_count)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    /* One of the optimizer's four steps was reported. */
    put_step(&s, WIRE_OPTIMIZER, 0.1, 501);
    put_step(&s, WIRE_WATCHER, 0.2, 505);
    put_step(&s, WIRE_WATCHER, 0.3, 510);
    watch_tick(s.watch, 1);
    CHECK_NEAR(watch_steps(s.watch), 10, 0);
    self_end(&s);
}

TEST(rings__another_source_in_the_first_steps_does_not_throw_the_run_away)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 0; i < 3; i++) {
        put_step(&s, WIRE_OPTIMIZER, 0.001 * i, i + 1);
        put_sample(&s, "host.anon", 0.001 * i, 100 * MB);
    }
    for (int i = 1; i <= 1000; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, 7000 + i);
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB + 65536.0 * i);
        if (i % 100 == 0)
            watch_tick(s.watch, 0.01 * i);
    }
    CHECK_NEAR(watch_steps(s.watch), 1002, 0);
    finish(&s, 10, &v);
    const struct view_series *anon = find_series(&v, "host.anon");
    CHECK(anon && anon->answer.verdict == VERDICT_LEAK);
    CHECK(anon->answer.restarts == 0);
    CHECK_NEAR(anon->answer.rate, 65536, 1);
    CHECK_NEAR(anon->answer.last_at, 8000, 1);
    view_release(&v);
    self_end(&s);
}

TEST(rings__a_training_that_begins_anew_counts_on)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 200; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB + 65536.0 * i);
    }
    for (int i = 1; i <= 50; i++)
        put_step(&s, WIRE_WATCHER, 2 + 0.01 * i, i);
    watch_tick(s.watch, 3);
    CHECK_NEAR(watch_steps(s.watch), 250, 0);
    watch_view_init(s.watch, 3, &v);
    const struct view_series *anon = find_series(&v, "host.anon");
    CHECK(anon && anon->answer.restarts == 1);
    view_release(&v);
    self_end(&s);
}

TEST(rings__threads_that_tell_in_the_wrong_order_are_no_new_training)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 300; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, i % 2 ? i + 1 : i - 1);
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB + 65536.0 * i);
    }
    watch_tick(s.watch, 4);
    CHECK_NEAR(watch_steps(s.watch), 299, 0);
    watch_view_init(s.watch, 4, &v);
    const struct view_series *anon = find_series(&v, "host.anon");
    CHECK(anon && anon->answer.restarts == 0);
    view_release(&v);
    self_end(&s);
}

TEST(rings__what_is_printed_does_not_count_any_more)
{
    struct self s;
    struct view v;
    struct view_status status;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 20; i++) {
        char line[32];
        snprintf(line, sizeof(line), "step %d/400\n", i);
        watch_feed_output(s.watch, 0.01 * i, line, strlen(line));
    }
    watch_tick(s.watch, 1);
    watch_view_init(s.watch, 1, &v);
    CHECK_TEXT(v.steps_from, "output");
    view_release(&v);
    for (int i = 1; i <= 100; i++)
        put_step(&s, WIRE_WATCHER, 1 + 0.01 * i, i);
    watch_tick(s.watch, 2);
    CHECK_NEAR(watch_steps(s.watch), 100, 0);
    watch_status(s.watch, &status);
    CHECK(isnan(status.step_total));
    /* Four numbers per step are micro-batches: their total is not the number of steps. */
    CHECK(!watch_feed_output(s.watch, 2.1, "step 400/1600\n", 14));
    watch_status(s.watch, &status);
    CHECK(isnan(status.step_total));
    CHECK(!watch_feed_output(s.watch, 2.2, "step 101/400\n", 13));
    CHECK_NEAR(watch_steps(s.watch), 100, 0);
    self_end(&s);
}

/* Prints `rounds` lines for each step of the optimizer; each number is `stride` higher. */
static void print_and_step(struct self *s, int steps, int rounds, int stride)
{
    for (int i = 1; i <= steps; i++) {
        for (int k = 0; k < rounds; k++) {
            char line[32];
            double at = 0.1 * i + 0.01 * k;
            snprintf(line, sizeof(line), "step %d\n", stride * (rounds * (i - 1) + k + 1));
            watch_feed_output(s->watch, at, line, strlen(line));
        }
        put_step(s, WIRE_OPTIMIZER, 0.1 * i + 0.01 * (rounds - 1), i);
        watch_tick(s->watch, 0.1 * i + 0.05);
    }
}

TEST(rings__gradients_that_are_accumulated_count_by_the_rounds_that_are_printed)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    print_and_step(&s, 100, 4, 1);
    CHECK_NEAR(watch_steps(s.watch), 400, 1);
    /* The program stops printing. */
    for (int i = 101; i <= 300; i++)
        put_step(&s, WIRE_OPTIMIZER, 0.1 * i, i);
    watch_tick(s.watch, 31);
    CHECK_NEAR(watch_steps(s.watch), 300, 0);
    self_end(&s);
}

TEST(rings__samples_that_are_printed_are_no_rounds)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    print_and_step(&s, 100, 1, 64);
    CHECK_NEAR(watch_steps(s.watch), 100, 0);
    self_end(&s);
}

TEST(rings__each_step_that_is_printed_is_one_of_the_optimizers)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    print_and_step(&s, 100, 1, 1);
    watch_view_init(s.watch, 11, &v);
    CHECK_TEXT(v.steps_from, "optimizer");
    view_release(&v);
    CHECK_NEAR(watch_steps(s.watch), 100, 0);
    self_end(&s);
}

TEST(rings__the_total_that_is_printed_holds_where_the_steps_are_the_same)
{
    struct self s;
    struct view_status status;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 100; i++) {
        char line[32];
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        watch_tick(s.watch, 0.01 * i);
        snprintf(line, sizeof(line), "step %d/400\n", i);
        watch_feed_output(s.watch, 0.01 * i, line, strlen(line));
    }
    watch_status(s.watch, &status);
    CHECK_NEAR(status.step_total, 400, 0);
    wire_put(s.ring, WIRE_PLAN, WIRE_WATCHER, 0, AT(1.01), 500);
    watch_tick(s.watch, 1.1);
    CHECK(!watch_feed_output(s.watch, 1.2, "step 101/400\n", 13));
    watch_status(s.watch, &status);
    CHECK_NEAR(status.step_total, 500, 0);
    self_end(&s);
}

TEST(rings__the_first_epoch_of_a_training_that_begins_anew_ends)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 300; i++) {
        int step = i <= 150 ? i : i - 150;
        put_step(&s, WIRE_WATCHER, 0.01 * i, step);
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB + 65536.0 * i);
        int length = i <= 150 ? 50 : 60;
        if (step % length == 0)
            wire_put(s.ring, WIRE_EPOCH, WIRE_WATCHER, 0, AT(0.01 * i), (double) step / length);
    }
    watch_tick(s.watch, 4);
    finish(&s, 4, &v);
    const struct view_series *anon = find_series(&v, "host.anon");
    CHECK(anon != NULL);
    CHECK_NEAR(anon->answer.epoch_length, 60, 0);
    view_release(&v);
    self_end(&s);
}

TEST(rings__epochs_end_where_the_process_says_so)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    wire_put(s.ring, WIRE_EPOCH_LENGTH, WIRE_WATCHER, 0, AT(0), 50);
    for (int i = 1; i <= 200; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB + 65536.0 * i);
        if (i % 50 == 0)
            wire_put(s.ring, WIRE_EPOCH, WIRE_WATCHER, 0, AT(0.01 * i), 0.02 * i);
        /* The loader ends as well: the more precise source is believed. */
        if (i % 50 == 1)
            wire_put(s.ring, WIRE_EPOCH, WIRE_OPTIMIZER, 0, AT(0.01 * i), i);
    }
    watch_tick(s.watch, 3);
    finish(&s, 3, &v);
    CHECK_NEAR(v.epochs, 4, 0);
    const struct view_series *anon = find_series(&v, "host.anon");
    CHECK(anon != NULL);
    CHECK_NEAR(anon->answer.epoch_length, 50, 0);
    view_release(&v);
    self_end(&s);
}

TEST(rings__what_was_overwritten_does_not_falsify_the_count)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    put_step(&s, WIRE_WATCHER, 0.001, 1);
    watch_tick(s.watch, 0.01);
    for (int i = 2; i <= 20000; i++)
        put_step(&s, WIRE_WATCHER, 0.0005 * i, i);
    watch_tick(s.watch, 11);
    CHECK_NEAR(watch_steps(s.watch), 20000, 0);
    self_end(&s);
}

/* ---- counters ---- */

TEST(rings__memory_told_with_each_step_is_judged_on_the_step_clock)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    train(&s, "host.anon", 20, 65536);
    finish(&s, 20, &v);
    const struct view_series *anon = find_series(&v, "host.anon");
    CHECK(anon && anon->info.clock == CLOCK_STEP);
    CHECK(anon->answer.verdict == VERDICT_LEAK);
    CHECK_NEAR(anon->answer.rate, 65536, 1);
    CHECK_NEAR(anon->answer.min, 100 * MB + 65536, 0);
    view_release(&v);
    self_end(&s);
}

TEST(rings__a_process_that_falls_silent_is_looked_at_from_outside_again)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    train(&s, "host.anon", 3, 0);
    watch_view_init(s.watch, 3, &v);
    CHECK_NEAR(find_series(&v, "host.anon")->answer.min, 100 * MB, 0);
    view_release(&v);
    for (int second = 3; second < 10; second++) {
        put_step(&s, WIRE_WATCHER, second, 1000 + second);
        watch_tick(s.watch, second);
    }
    watch_view_init(s.watch, 10, &v);
    CHECK(find_series(&v, "host.anon")->answer.min < 90 * MB);
    view_release(&v);
    self_end(&s);
}

TEST(rings__a_counter_of_the_programs_own_is_a_series)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    train(&s, "pool.bytes", 10, 512);
    put_sample(&s, "py.collections", 9.9, 3);
    finish(&s, 10, &v);
    const struct view_series *pool = find_series(&v, "pool.bytes");
    CHECK(pool && pool->answer.verdict == VERDICT_LEAK);
    CHECK_NEAR(pool->answer.rate, 512, 0.1);
    CHECK(v.answer.verdict == VERDICT_LEAK && &v.series[v.answer.deciding] == pool);
    CHECK(find_series(&v, "py.collections") == NULL);
    view_release(&v);
    self_end(&s);
}

TEST(rings__a_name_from_outside_cannot_drive_the_terminal)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    train(&s, "evil\033[2J", 3, 512);
    finish(&s, 3, &v);
    CHECK(find_series(&v, "evil?[2J") != NULL);
    view_release(&v);
    self_end(&s);
}

TEST(rings__what_the_allocator_keeps_is_no_leak_of_the_program)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 2000; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        put_sample(&s, "torch.allocated", 0.01 * i, 900 * MB + (i % 7) * MB);
        put_sample(&s, "torch.reserved", 0.01 * i, 1000 * MB + 2 * MB * floor(0.1 * i));
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB);
        if (i % 100 == 0)
            watch_tick(s.watch, 0.01 * i);
    }
    finish(&s, 20, &v);
    const struct view_series *reserved = find_series(&v, "torch.reserved");
    CHECK(reserved && reserved->answer.verdict == VERDICT_NO_LEAK);
    CHECK(reserved->answer.pattern == PATTERN_ALLOCATOR_RETENTION);
    CHECK(find_series(&v, "torch.allocated")->answer.verdict == VERDICT_NO_LEAK);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK);
    CHECK(v.pattern_count == 1 && v.patterns[0].pattern == PATTERN_ALLOCATOR_RETENTION);
    view_release(&v);
    self_end(&s);
}

TEST(rings__what_torch_reserves_for_its_tensors_is_not_kept_for_nothing)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 2000; i++) { /* the optimizer's state is allocated in the first steps */
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        put_sample(&s, "torch.allocated", 0.01 * i, 100 * MB + (i < 5 ? 0 : 300 * MB));
        put_sample(&s, "torch.reserved", 0.01 * i, 120 * MB + (i < 5 ? 0 : 350 * MB));
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB);
        if (i % 100 == 0)
            watch_tick(s.watch, 0.01 * i);
    }
    finish(&s, 20, &v);
    CHECK(v.answer.verdict == VERDICT_NO_LEAK);
    for (unsigned i = 0; i < v.pattern_count; i++)
        CHECK(v.patterns[i].pattern != PATTERN_ALLOCATOR_RETENTION);
    view_release(&v);
    self_end(&s);
}

static bool is_named(const struct view *v, const char *text)
{
    for (unsigned i = 0; i < v->pattern_count; i++)
        if (strstr(v->patterns[i].text, text))
            return true;
    return false;
}

/* Gradients and the optimizer's state are allocated in the first steps, whatever is on top of
 * them later. A rise in the middle of a training is something else. */
TEST(rings__a_rise_at_the_beginning_is_a_warm_up)
{
    static const struct {
        int steps, rises_at, spikes_every, rises_again_at;
    } cases[] = {
        {2000, 5, 2000, 2000}, {2000, 5, 250, 2000},        {2000, 1200, 2000, 2000},
        {2000, 5, 2000, 1200}, {100000, 5, 100000, 100000},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct self s;
        struct view v;
        CHECK(self_start(&s, NULL));
        for (int i = 1; i < cases[c].steps - 1; i++) {
            bool is_spike = i % cases[c].spikes_every == cases[c].spikes_every - 1;
            double low = i < cases[c].rises_at ? 100 * MB : 130 * MB;
            low += i < cases[c].rises_again_at ? 0 : 20 * MB;
            put_step(&s, WIRE_WATCHER, 0.01 * i, i);
            put_sample(&s, "host.anon", 0.01 * i, is_spike ? low + 60 * MB : low);
            if (i % 100 == 0)
                watch_tick(s.watch, 0.01 * i);
        }
        finish(&s, 0.01 * cases[c].steps, &v);
        CHECK(v.answer.verdict == VERDICT_NO_LEAK);
        CHECK(is_named(&v, "warm-up: ") == (cases[c].rises_at == 5));
        CHECK(!is_named(&v, "warm-up: ") || is_named(&v, ", from 100 MB to 130 MB"));
        view_release(&v);
        self_end(&s);
    }
}

TEST(rings__what_the_program_holds_is_named_and_not_what_follows_it)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    for (int i = 1; i <= 2000; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        put_sample(&s, "torch.allocated", 0.01 * i, 900 * MB + 0.2 * MB * i);
        put_sample(&s, "torch.reserved", 0.01 * i, 1000 * MB + 2 * MB * floor(0.1 * i));
        put_sample(&s, "host.anon", 0.01 * i, 100 * MB);
        if (i % 100 == 0)
            watch_tick(s.watch, 0.01 * i);
    }
    finish(&s, 20, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.answer.leaks == 1);
    CHECK_TEXT(v.series[v.answer.deciding].info.kind, "torch.allocated");
    view_release(&v);
    self_end(&s);
}

/* ---- devices: a stand-in for the driver's library is in the build folder ---- */

/* Two devices, and our use of the second. */
static void play_gpu(const struct folder *f, double mb)
{
    FILE *file = fopen(f->file, "w");
    if (!file)
        abort();
    fprintf(file,
            "device uuid=GPU-a name=NVIDIA_T4 total=16G used=1G\n"
            "device uuid=GPU-b name=NVIDIA_T4 total=16G used=6G\n"
            "process pid=self used=%.0fM\n",
            mb);
    if (fclose(file) != 0)
        abort();
}

static bool self_start_with_gpu(struct self *s, const struct folder *f)
{
    play_gpu(f, 2048);
    setenv("TIDEMARK_STANDIN", f->file, 1);
    setenv("TIDEMARK_NVML", "tests/libnvml_standin.so", 1);
    bool started = self_start(s, NULL);
    unsetenv("TIDEMARK_NVML");
    return started;
}

TEST(rings__the_limit_of_a_device_is_what_it_has_left)
{
    struct folder f = folder_begin();
    struct self s;
    struct view v;
    CHECK(self_start_with_gpu(&s, &f));
    struct wire_name name = {.kind = "torch.allocated", .device = "cuda:1", .judged = 1};
    int number = wire_name(s.ring, &name);
    for (int i = 1; i <= 300; i++) {
        put_step(&s, WIRE_WATCHER, 0.01 * i, i);
        wire_put(s.ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) number, AT(0.01 * i), 1024 * MB);
        watch_tick(s.watch, 0.01 * i);
    }
    finish(&s, 3, &v);
    const struct view_series *torch = find_series(&v, "torch.allocated");
    CHECK(torch && torch->part == PART_MAIN);
    CHECK_NEAR(torch->answer.limit, 11 * 1024 * MB, MB);
    const struct view_series *used = find_series(&v, "gpu.used");
    CHECK(used && used->part == PART_BYSTANDER);
    view_release(&v);
    self_end(&s);
    folder_end(&f);
}

/* The driver's counter grows by 4 MB every 0.1 s. */
static void use_more_and_more(struct self *s, const struct folder *f, bool told)
{
    for (int i = 1; i <= 3000; i++) {
        double at = 0.01 * i, reserved = 1024 * MB + (told ? 4 * MB * floor(0.1 * i) : 0);
        put_step(s, WIRE_WATCHER, at, i);
        put_sample(s, "host.anon", at, 100 * MB);
        put_sample(s, "torch.allocated", at, 900 * MB);
        put_sample(s, "torch.reserved", at, reserved);
        if (i % 10 == 0) {
            play_gpu(f, 2048 + 0.4 * i);
            watch_tick(s->watch, at);
        }
    }
}

TEST(rings__a_device_that_torch_fills_is_read_by_what_torch_tells)
{
    for (int told = 0; told < 2; told++) {
        struct folder f = folder_begin();
        struct self s;
        struct view v;
        CHECK(self_start_with_gpu(&s, &f));
        use_more_and_more(&s, &f, told);
        finish(&s, 30, &v);
        const struct view_series *used = find_series(&v, "gpu.used");
        CHECK(used != NULL);
        CHECK(used->answer.verdict == (told ? VERDICT_NO_LEAK : VERDICT_LEAK));
        CHECK(v.answer.verdict == used->answer.verdict);
        view_release(&v);
        self_end(&s);
        folder_end(&f);
    }
}

/* ---- judged again ---- */

TEST(rings__a_run_file_is_judged_again_as_it_was)
{
    struct folder f = folder_begin();
    struct self s;
    struct view live, again;
    struct recording *r;
    struct store *store = create_plain(&f);
    CHECK(self_start(&s, store));
    put_step(&s, WIRE_OPTIMIZER, 0, 70000);
    train(&s, "pool.bytes", 10, 512);
    finish(&s, 10, &live);
    CHECK(store_commit(store, 10) == 0 && store_close(store, 10) == 0);
    self_end(&s);

    store = open_plain(&f);
    CHECK(store && recording_new(store, &r) == 0);
    CHECK(recording_judge(r, &(struct recording_options){0}, &again) == 0);
    const struct view_series *a = find_series(&live, "pool.bytes");
    const struct view_series *b = find_series(&again, "pool.bytes");
    CHECK(a && b && b->answer.verdict == VERDICT_LEAK);
    CHECK(b->answer.restarts == 0);
    CHECK_NEAR(b->answer.rate, a->answer.rate, 0.01);
    view_release(&live);
    view_release(&again);
    recording_free(r);
    store_free(store);
    folder_end(&f);
}

/* ---- processes of a job ---- */

/* A job whose processes are children of this test, with their rings in a folder. */
struct job {
    struct folder folder;
    struct watch *watch;
    uint64_t began;
};

static double job_now(const struct job *j)
{
    return 1e-9 * (double) (wire_now() - j->began);
}

/* The job is `pid` and its descendants; 0: nobody yet; negative: the children of this test. */
static bool job_start(struct job *j, pid_t pid)
{
    j->folder = folder_begin();
    j->began = wire_now();
    struct watch_options options = {
        .proc_root = "/proc", .rings = j->folder.path, .began = j->began};
    if (watch_new(&options, &j->watch) < 0)
        return false;
    return pid == 0 || watch_add_root(j->watch, pid < 0 ? getpid() : pid, pid < 0) == 0;
}

static void job_end(struct job *j)
{
    watch_free(j->watch);
    folder_end(&j->folder);
}

/* The number of files in the folder whose names begin and end like this. */
static unsigned count_files(const struct job *j, const char *begin, const char *end)
{
    unsigned count = 0;
    DIR *folder = opendir(j->folder.path);
    if (!folder)
        return 0;
    for (struct dirent *e; (e = readdir(folder));) {
        size_t len = strlen(e->d_name);
        bool ends = len > strlen(end) && strcmp(e->d_name + len - strlen(end), end) == 0;
        count += ends && strncmp(e->d_name, begin, strlen(begin)) == 0;
    }
    closedir(folder);
    return count;
}

static bool is_open(const struct job *j, pid_t pid)
{
    char name[32];
    snprintf(name, sizeof(name), "%d-", (int) pid);
    return count_files(j, name, WIRE_RING_SUFFIX) > 0;
}

/* Starts a child that makes steps `from` to `to` at once and then ends, or stays until it is
 * killed. */
static pid_t trainer_start(const struct job *j, int from, int to, bool stays)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct wire_ring *ring;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (wire_open(j->folder.path, &ring) < 0)
        _exit(1);
    for (int i = from; i <= to; i++)
        wire_put(ring, WIRE_STEP, WIRE_OPTIMIZER, 0, wire_now(), i);
    wire_step(ring, WIRE_OPTIMIZER, to);
    if (stays)
        pause();
    _exit(0);
}

static void trainer_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static bool wait_open(struct job *j, pid_t pid)
{
    for (int i = 0; i < 5000 && !is_open(j, pid); i++)
        usleep(1000);
    watch_tick(j->watch, job_now(j));
    return is_open(j, pid);
}

/* Ticks until this many steps are known. */
static bool reaches(struct job *j, double steps)
{
    for (int i = 0; i < 500; i++) {
        watch_tick(j->watch, job_now(j));
        if (watch_steps(j->watch) == steps)
            return true;
        usleep(10000);
    }
    return false;
}

static unsigned count_rings(const struct job *j)
{
    return count_files(j, "", WIRE_RING_SUFFIX);
}

TEST(rings__are_found_in_their_directory_and_let_go_when_the_process_ends)
{
    struct job j;
    CHECK(job_start(&j, -1));
    struct pollfd wake = {.fd = watch_wake_fd(j.watch), .events = POLLIN};
    CHECK(wake.fd >= 0 && poll(&wake, 1, 0) == 0);
    pid_t pid = trainer_start(&j, 1, 500, true);
    CHECK(poll(&wake, 1, 5000) == 1);
    CHECK(reaches(&j, 500));
    CHECK(poll(&wake, 1, 0) == 0);
    trainer_end(pid);
    watch_finish(j.watch, job_now(&j), &(struct watch_end){0});
    CHECK_NEAR(watch_steps(j.watch), 500, 0);
    CHECK(count_rings(&j) == 0);
    job_end(&j);
}

TEST(rings__of_a_process_that_came_and_went_between_two_looks_are_read)
{
    struct job j;
    CHECK(job_start(&j, -1));
    watch_tick(j.watch, job_now(&j));
    pid_t pid = trainer_start(&j, 1, 40, false);
    waitpid(pid, NULL, 0);
    watch_tick(j.watch, job_now(&j));
    CHECK_NEAR(watch_steps(j.watch), 40, 0);
    CHECK(count_rings(&j) == 0);
    job_end(&j);
}

TEST(rings__processes_that_train_together_make_each_step_once)
{
    struct job j;
    pid_t pids[3];
    CHECK(job_start(&j, -1));
    for (int i = 0; i < 3; i++) {
        pids[i] = trainer_start(&j, 1, 300 + i, true);
        CHECK(wait_open(&j, pids[i]) && reaches(&j, 300));
    }
    usleep(100000);
    CHECK(reaches(&j, 300));
    for (int i = 0; i < 3; i++)
        trainer_end(pids[i]);
    job_end(&j);
}

TEST(rings__when_the_leader_ends_another_leads)
{
    struct job j;
    CHECK(job_start(&j, -1));
    pid_t first = trainer_start(&j, 1, 300, true);
    CHECK(reaches(&j, 300));
    trainer_end(first);
    pid_t second = trainer_start(&j, 298, 320, true);
    CHECK(reaches(&j, 320));
    trainer_end(second);
    /* A process that begins at its first step runs another training. */
    pid_t third = trainer_start(&j, 1, 10, true);
    CHECK(reaches(&j, 330));
    trainer_end(third);
    job_end(&j);
}

TEST(rings__wait_until_their_process_is_met)
{
    struct job j;
    CHECK(job_start(&j, 0));
    pid_t pid = trainer_start(&j, 1, 100, true);
    CHECK(wait_open(&j, pid));
    CHECK(isnan(watch_steps(j.watch)));
    CHECK(watch_add_root(j.watch, pid, false) == 0);
    CHECK(reaches(&j, 100));
    trainer_end(pid);
    job_end(&j);
}

TEST(rings__wake_when_so_many_steps_are_made)
{
    struct job j;
    CHECK(job_start(&j, getpid()));
    watch_wake_at(j.watch, 30);
    struct wire_ring *ring;
    CHECK(wire_open(j.folder.path, &ring) == 0);
    struct pollfd wake = {.fd = watch_wake_fd(j.watch), .events = POLLIN};
    watch_tick(j.watch, job_now(&j));
    CHECK(poll(&wake, 1, 0) == 0);
    wire_step(ring, WIRE_WATCHER, 1001); /* its first step is not known yet */
    CHECK(poll(&wake, 1, 0) == 1);
    watch_tick(j.watch, job_now(&j));
    for (int i = 2; i < 30; i++)
        wire_step(ring, WIRE_WATCHER, 1000 + i);
    CHECK(poll(&wake, 1, 0) == 0);
    wire_step(ring, WIRE_WATCHER, 1030);
    CHECK(poll(&wake, 1, 0) == 1);
    watch_tick(j.watch, job_now(&j));
    CHECK_NEAR(watch_steps(j.watch), 30, 0);
    wire_close(ring);
    job_end(&j);
}

TEST(rings__that_are_none_are_passed_over)
{
    struct job j;
    char path[128];
    CHECK(job_start(&j, -1));
    snprintf(path, sizeof(path), "%s/1-1.ring", j.folder.path);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("no ring", file) >= 0 && fclose(file) == 0);
    snprintf(path, sizeof(path), "%s/2-2.ring", j.folder.path);
    CHECK(symlink("/etc/passwd", path) == 0);
    watch_tick(j.watch, job_now(&j));
    watch_finish(j.watch, job_now(&j), &(struct watch_end){0});
    CHECK(isnan(watch_steps(j.watch)));
    job_end(&j);
}

/* Starts a process with a ring like that of a probe older than this watcher. */
static pid_t start_old_one(const struct job *j)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct wire_ring *ring;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (wire_open(NULL, &ring) < 0)
        _exit(1);
    ring->layout->version = WIRE_VERSION - 1;
    char draft[128], path[160];
    snprintf(draft, sizeof(draft), "%s/draft", j->folder.path);
    snprintf(path, sizeof(path), "%s/%d-%llu" WIRE_RING_SUFFIX, j->folder.path, (int) getpid(),
             (unsigned long long) ring->layout->start);
    int fd = open(draft, O_WRONLY | O_CREAT, 0600);
    if (write(fd, ring->layout, sizeof(*ring->layout)) < 0 || rename(draft, path) < 0)
        _exit(1);
    pause();
    _exit(0);
}

static bool has_note(const struct view *v, const char *text)
{
    for (unsigned i = 0; i < v->note_count; i++)
        if (strstr(v->notes[i], text))
            return true;
    return false;
}

TEST(rings__of_an_old_probe_are_named_in_the_report)
{
    struct job j;
    struct view view;
    CHECK(job_start(&j, -1));
    pid_t pid = start_old_one(&j);
    CHECK(wait_open(&j, pid));
    for (int i = 0; i < 100 && watch_alive(j.watch) == 0; i++)
        watch_tick(j.watch, job_now(&j) + i);
    watch_tick(j.watch, job_now(&j) + 200);
    watch_view_init(j.watch, job_now(&j) + 200, &view);
    CHECK(has_note(&view, "still has the probe of another tidemark version loaded. Restart it"));
    view_release(&view);
    /* For a process that tidemark attached to, its entry says so. */
    watch_note_entry(j.watch, &(struct watch_entry){.pid = pid, .python = "3.11.2"});
    watch_view_init(j.watch, job_now(&j) + 201, &view);
    CHECK(!has_note(&view, "another tidemark version"));
    CHECK(view.found.entered_count == 1 && view.found.entered[0].why &&
          strstr(view.found.entered[0].why, "another tidemark version"));
    view_release(&view);
    trainer_end(pid);
    job_end(&j);
}

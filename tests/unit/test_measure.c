/* tests/unit/test_measure.c: what a recorded run cost: floor, peak and step time. */
#include "replay/replay.h"

#include "store_files.h"
#include "unit.h"

#define MB 1048576.0

/* A run being written: its file, the whole job's memory, and one torch counter of its trainer. */
struct made_file {
    struct folder folder;
    struct store *store;
    int64_t job, trainer;
    double seconds;
};

static int64_t add_counter(struct made_file *f, int64_t process, const char *kind)
{
    struct store_series x = {.process = process, .kind = kind, .unit = SERIES_BYTES};
    return store_add_series(f->store, &x);
}

static struct made_file make_file(void)
{
    struct made_file f = {.folder = folder_begin()};
    struct store_process p = {.pid = 4242, .role = "trainer", .rank = -1, .exit_status = NAN};
    f.store = create_plain(&f.folder);
    f.trainer = store_add_process(f.store, &p);
    f.job = add_counter(&f, 0, "host.anon");
    return f;
}

/* A mark after every step, with the job's memory. */
static void add_steps(struct made_file *f, int first, int last, double seconds_each,
                      double (*bytes)(int step))
{
    for (int step = first; step <= last; step++) {
        store_add_mark(f->store, f->seconds, step, NAN);
        store_add_sample(f->store, f->job, f->seconds, bytes(step));
        f->seconds += seconds_each;
    }
}

static struct measured_run measure(struct made_file *f, double most_steps)
{
    struct measured_run run;
    struct recording *r;
    if (store_close(f->store, f->seconds) < 0)
        abort();
    struct store *s = open_plain(&f->folder);
    if (!s || recording_new(s, &r) < 0 || recording_measure(r, most_steps, &run) < 0)
        abort();
    recording_free(r);
    store_free(s);
    folder_end(&f->folder);
    return run;
}

static double flat(int step)
{
    (void) step;
    return 100 * MB;
}

/* Climbs by 1 MB a step, after a warm-up at 1 MB with one spike. */
static double climbs(int step)
{
    return step == 2 ? 500 * MB : step < 20 ? MB : 100 * MB + step * MB;
}

TEST(measure__leaves_the_first_fifth_out_of_step_time)
{
    struct made_file f = make_file();
    add_steps(&f, 1, 20, 5, flat);
    add_steps(&f, 21, 101, 0.25, flat);
    struct measured_run run = measure(&f, 0);
    CHECK(run.steps_reported == 101 && run.steps == 80);
    CHECK_NEAR(run.values[TRADEOFF_STEP_SECONDS], 0.25, 1e-9);
}

TEST(measure__floor_is_of_the_second_half_and_peak_of_the_whole)
{
    struct made_file f = make_file();
    add_steps(&f, 1, 101, 0.5, climbs);
    struct measured_run run = measure(&f, 0);
    /* Steps 21 to 101 are measured; their second half begins at step 61. */
    CHECK_NEAR(run.values[TRADEOFF_FLOOR], 161 * MB, 1);
    CHECK_NEAR(run.values[TRADEOFF_PEAK], 500 * MB, 1);
    CHECK(isnan(run.values[TRADEOFF_GPU_FLOOR]) && isnan(run.values[TRADEOFF_RESERVED]));
}

TEST(measure__looks_at_no_more_steps_than_asked_for)
{
    struct made_file f = make_file();
    add_steps(&f, 1, 51, 0.5, flat);
    add_steps(&f, 52, 90, 9, climbs);
    struct measured_run run = measure(&f, 51);
    CHECK(run.steps == 40 && run.steps_reported == 90);
    CHECK_NEAR(run.values[TRADEOFF_STEP_SECONDS], 0.5, 1e-9);
    CHECK_NEAR(run.values[TRADEOFF_PEAK], 100 * MB, 1);
}

TEST(measure__too_few_steps_measure_nothing)
{
    struct made_file f = make_file();
    add_steps(&f, 1, MEASURE_LEAST_STEPS - 1, 1, flat);
    struct measured_run run = measure(&f, 0);
    CHECK(run.steps == 0 && run.steps_reported == MEASURE_LEAST_STEPS - 1);
    CHECK(isnan(run.values[TRADEOFF_STEP_SECONDS]) && isnan(run.values[TRADEOFF_FLOOR]));

    f = make_file();
    run = measure(&f, 0);
    CHECK(run.steps == 0 && run.steps_reported == 0);
}

TEST(measure__forgets_what_somebody_else_counted_before)
{
    struct made_file f = make_file();
    add_steps(&f, 1, 50, 9, flat);
    store_add_mark(f.store, f.seconds, NAN, NAN);
    add_steps(&f, 1, 101, 0.25, flat);
    struct measured_run run = measure(&f, 0);
    CHECK(run.steps_reported == 101);
    CHECK_NEAR(run.values[TRADEOFF_STEP_SECONDS], 0.25, 1e-9);
}

TEST(measure__counts_on_where_training_begins_anew)
{
    struct made_file f = make_file();
    add_steps(&f, 1, 51, 0.5, flat);
    add_steps(&f, 1, 51, 0.5, flat);
    CHECK(measure(&f, 0).steps_reported == 101);
}

TEST(measure__a_value_that_stood_still_was_not_written_again)
{
    struct made_file f = make_file();
    int64_t reserved = add_counter(&f, f.trainer, "torch.reserved");
    int64_t allocated = add_counter(&f, f.trainer, "torch.allocated");
    store_add_sample(f.store, reserved, 0.1, 7 * MB);
    store_add_sample(f.store, allocated, 0.1, 5 * MB);
    add_steps(&f, 1, 101, 0.5, flat);
    struct measured_run run = measure(&f, 0);
    CHECK_NEAR(run.values[TRADEOFF_GPU_FLOOR], 5 * MB, 1);
    CHECK_NEAR(run.values[TRADEOFF_RESERVED], 7 * MB, 1);
}

TEST(measure__of_several_processes_the_largest_counts)
{
    struct made_file f = make_file();
    struct store_process p = {.pid = 4243, .role = "rank", .rank = 1, .exit_status = NAN};
    int64_t first = add_counter(&f, f.trainer, "torch.allocated");
    int64_t second = add_counter(&f, store_add_process(f.store, &p), "torch.allocated");
    add_steps(&f, 1, 101, 0.5, flat);
    store_add_sample(f.store, first, 40, 5 * MB);
    store_add_sample(f.store, second, 40, 9 * MB);
    CHECK_NEAR(measure(&f, 0).values[TRADEOFF_GPU_FLOOR], 9 * MB, 1);
}

TEST(measure__a_process_that_is_alone_tells_the_memory_of_the_job)
{
    struct made_file f = make_file();
    int64_t own = add_counter(&f, f.trainer, "host.anon");
    add_steps(&f, 1, 101, 0.5, flat);
    store_add_sample(f.store, own, 40.1, 90 * MB);
    store_add_sample(f.store, own, 41.1, 120 * MB);
    struct measured_run run = measure(&f, 0);
    CHECK_NEAR(run.values[TRADEOFF_FLOOR], 90 * MB, 1);
    CHECK_NEAR(run.values[TRADEOFF_PEAK], 120 * MB, 1);

    f = make_file();
    struct store_process p = {.pid = 4243, .role = "data worker", .rank = -1, .exit_status = NAN};
    own = add_counter(&f, f.trainer, "host.anon");
    add_counter(&f, store_add_process(f.store, &p), "host.anon");
    add_steps(&f, 1, 101, 0.5, flat);
    store_add_sample(f.store, own, 40.1, 60 * MB);
    CHECK_NEAR(measure(&f, 0).values[TRADEOFF_FLOOR], 100 * MB, 1);
}

TEST(measure__cleanup_is_told_by_its_own_clock)
{
    struct made_file f = make_file();
    int64_t gc = add_counter(&f, f.trainer, "cleanup.gc.seconds");
    int64_t trim = add_counter(&f, f.trainer, "cleanup.trim.seconds");
    add_counter(&f, f.trainer, "cleanup.gc.freed");
    add_steps(&f, 1, 101, 0.5, flat);
    store_add_sample(f.store, gc, 10, 1);
    store_add_sample(f.store, gc, 40, 6);
    store_add_sample(f.store, trim, 40, 2);
    /* 8 of 40 seconds: a quarter of the other 32. */
    CHECK_NEAR(measure(&f, 0).values[TRADEOFF_CLEANUP_SHARE], 0.25, 1e-9);

    f = make_file();
    add_steps(&f, 1, 101, 0.5, flat);
    CHECK(isnan(measure(&f, 0).values[TRADEOFF_CLEANUP_SHARE]));
}

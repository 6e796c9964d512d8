/* tests/unit/test_recording.c: a run file judged again. */
#include "replay/replay.h"

#include "census_lines.h"
#include "random.h"
#include "store_files.h"
#include "unit.h"

#define MB 1048576.0

/* A run of one trainer: its memory in bytes as a function of time, and its steps. */
struct made_run {
    double seconds, steps_a_second; /* 0: it reports none */
    double (*bytes)(double seconds, struct random *random);
};

static int64_t add_trainer(struct store *s)
{
    struct store_process p = {.pid = 4242,
                              .role = "trainer",
                              .rank = -1,
                              .command = "train",
                              .first_seconds = 0,
                              .last_seconds = 1,
                              .exit_status = NAN};
    return store_add_process(s, &p);
}

static int64_t add_of(struct store *s, int64_t process, const char *kind, enum series_unit unit)
{
    struct store_series x = {.process = process, .kind = kind, .unit = unit};
    return store_add_series(s, &x);
}

static void write_run(const struct folder *f, const struct made_run *run)
{
    struct store *s = create_plain(f);
    struct random random = {7};
    int64_t series = add_of(s, add_trainer(s), "host.anon", SERIES_BYTES);
    for (double t = 0; t < run->seconds; t++) {
        if (run->steps_a_second > 0)
            store_add_mark(s, t, floor(run->steps_a_second * t), NAN);
        store_add_sample(s, series, t + 0.5, run->bytes(t, &random));
        if (store_commit(s, t) < 0)
            abort();
    }
    if (store_close(s, run->seconds) < 0)
        abort();
}

/* Judges the run; the caller releases the view. */
static int judge(const struct folder *f, const struct recording_options *options, struct view *ret)
{
    struct recording *r;
    struct store *s = open_plain(f);
    int e = s ? recording_new(s, &r) : -1;
    if (e == 0) {
        e = recording_judge(r, options, ret);
        recording_free(r);
    }
    store_free(s);
    return e;
}

/* The answer for the run's only series. */
static struct answer answer_of(const struct made_run *run)
{
    struct folder f = folder_begin();
    struct recording_options none = {0};
    struct view v = {0};
    write_run(&f, run);
    if (judge(&f, &none, &v) < 0 || v.count != 1)
        abort();
    struct answer answer = v.series[0].answer;
    view_release(&v);
    folder_end(&f);
    return answer;
}

/* ---- what is in the file ---- */

static double growing(double t, struct random *r)
{
    return 100 * MB + 0.5 * MB * t + 1024 * random_uniform(r);
}

TEST(recording__names_series_as_a_view_does)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    struct store_process rank = {.pid = 7, .role = "rank", .rank = 3, .exit_status = NAN};
    struct store_process odd = {.pid = 8, .role = "a role of tomorrow", .rank = -1};
    int64_t trainer = add_trainer(s), ranked = store_add_process(s, &rank);
    int64_t unknown = store_add_process(s, &odd);
    add_of(s, trainer, "host.anon", SERIES_BYTES);
    add_of(s, trainer, "host.rss", SERIES_BYTES);
    add_of(s, ranked, "fds", SERIES_COUNT);
    add_of(s, unknown, "torch.allocated", SERIES_BYTES);
    add_of(s, 0, "host.anon", SERIES_BYTES);
    add_of(s, 0, "processes", SERIES_COUNT);
    store_add_series(s, &(struct store_series){.kind = "host.shmem", .device = "/dev/shm"});
    store_add_series(s, &(struct store_series){.kind = "gpu.used", .device = "gpu0"});
    add_of(s, 99, "host.anon", SERIES_BYTES); /* of no process, a second series of the job */
    CHECK(store_close(s, 1) == 0);
    s = open_plain(&f);
    struct recording *r;
    CHECK(recording_new(s, &r) == 0 && recording_count(r) == 9);
    static const char *const names[] = {"trainer 4242 host.anon",
                                        "trainer 4242 host.rss",
                                        "rank 3 (7) fds",
                                        "unknown 8 torch.allocated",
                                        "whole job host.anon",
                                        "number of processes",
                                        "/dev/shm",
                                        "gpu.used of all processes gpu0",
                                        "whole job host.anon"};
    for (size_t i = 0; i < 9; i++) {
        CHECK(recording_series(r, i)->judged == (i != 1 && i != 4));
        CHECK_TEXT(recording_series(r, i)->info.name, names[i]);
    }
    CHECK(!recording_has_steps(r));
    recording_free(r);
    store_free(s);
    folder_end(&f);
}

/* A process grows by 600 KB a step for 1,000 steps. `census`: its census; NULL: none. */
static void write_with_census(const struct folder *f, const char *census)
{
    struct store *s = create_plain(f);
    int64_t trainer = add_trainer(s), anon = add_of(s, trainer, "host.anon", SERIES_BYTES);
    for (int t = 0; t <= 1000; t++) {
        store_add_mark(s, t, t, NAN);
        store_add_sample(s, anon, t, 1e8 + 6e5 * t);
        CHECK(store_commit(s, t) == 0);
    }
    if (census)
        store_set_census(s, trainer, &(struct store_census){true, 100000000000, census});
    CHECK(store_close(s, 1000) == 0);
}

/* A list grows by a tensor a step: a leak with a name. */
static void write_evidence(const struct folder *f, bool with_census)
{
    struct buf text = BUF_INIT, census = BUF_INIT;
    buf_adds(&text, WIRE_CENSUS_FIRST_LINE
             "\ncensus\t9\t1100000000000\t5000\t1\t9\n"
             "growing\t1\tcontainer\tlist\ttensor float32 [] cpu\t600000\t0\tgrad_fn\t");
    for (int t = 50; t <= 1000; t += 100)
        buf_addf(&text, "%d000000000:%d ", 100 + t, t);
    buf_adds(&text, "\nholder\t1\t1\tlocal\tlosses\ttrain\t/x/train.py\t3\naddition\t1\t7\n");
    add_census_lines(&census, buf_text(&text));
    write_with_census(f, with_census ? buf_text(&census) : NULL);
    buf_release(&text);
    buf_release(&census);
}

TEST(recording__derives_the_cause_from_the_evidence)
{
    for (int with_census = 0; with_census <= 1; with_census++) {
        struct folder f = folder_begin();
        struct recording_options none = {0};
        struct view v = {0};
        write_evidence(&f, with_census);
        CHECK(judge(&f, &none, &v) == 0 && v.answer.verdict == VERDICT_LEAK);
        CHECK(v.found.count == (size_t) with_census);
        if (v.found.count == 1) {
            CHECK_TEXT(v.found.findings[0].holder, "list 'losses'");
            CHECK_TEXT(v.found.findings[0].cause, "retained-loss");
            CHECK(v.found.findings[0].line == 7);
            CHECK(fabs(v.found.findings[0].count_per_step - 1) < 0.01);
        }
        view_release(&v);
        folder_end(&f);
    }
}

TEST(recording__a_census_of_another_version_is_no_evidence)
{
    struct folder f = folder_begin();
    struct recording *r;
    write_with_census(&f, "tidemark census 1\ncensus\t9\t1100000000000\t5000\t1\t9\n");
    struct store *s = open_plain(&f);
    CHECK(recording_new(s, &r) == 0);
    CHECK(recording_has_foreign_censuses(r) && !recording_has_evidence(r));
    recording_free(r);
    store_free(s);
    folder_end(&f);
}

struct steps {
    double seconds[8], step[8];
    unsigned count;
};

static int hear_step(void *c, double step, const struct store_sample *x)
{
    struct steps *s = c;
    s->seconds[s->count] = x->seconds;
    s->step[s->count++] = step;
    return s->count == 8 ? -1 : 0;
}

TEST(recording__knows_steps_between_marks_only)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_of(s, add_trainer(s), "host.anon", SERIES_BYTES);
    for (int t = 0; t < 7; t++)
        store_add_sample(s, series, t, 1);
    store_add_mark(s, 0.5, 10, NAN);
    store_add_mark(s, 1.5, NAN, 1);
    store_add_mark(s, 2.5, 20, NAN);
    store_add_mark(s, 3.5, 1, NAN); /* restarted */
    store_add_mark(s, 5.5, 3, NAN);
    CHECK(store_close(s, 7) == 0);
    s = open_plain(&f);
    struct recording *r;
    struct steps h = {.count = 0};
    CHECK(recording_new(s, &r) == 0 && recording_has_steps(r));
    CHECK(recording_each_sample(r, 0, hear_step, &h) == 0 && h.count == 7);
    CHECK(isnan(h.step[0]) && h.step[1] == 12.5 && h.step[2] == 17.5 && isnan(h.step[3]));
    CHECK(h.step[4] == 1.5 && h.step[5] == 2.5 && isnan(h.step[6]));
    recording_free(r);
    store_free(s);
    folder_end(&f);
}

/* ---- judged again ---- */

TEST(recording__judges_on_the_steps)
{
    struct answer a = answer_of(&(struct made_run){400, 2, growing});
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(a.rate, 0.25 * MB, 0.01 * MB);
    CHECK_NEAR(a.last_at, 798, 3);
}

TEST(recording__judges_by_time_where_there_are_no_steps)
{
    struct answer a = answer_of(&(struct made_run){400, 0, growing});
    CHECK(a.verdict == VERDICT_INCONCLUSIVE);
    CHECK_NEAR(a.rate_per_second, 0.5 * MB, 0.01 * MB);
}

TEST(recording__lets_the_user_say_otherwise)
{
    struct folder f = folder_begin();
    struct view v;
    write_run(&f, &(struct made_run){400, 2, growing});
    CHECK(judge(&f, &(struct recording_options){.by_time = true, .horizon = 50}, &v) == 0);
    CHECK(v.series[0].info.clock == CLOCK_SECONDS && v.answer.verdict == VERDICT_LEAK);
    CHECK(v.series[0].answer.horizon == 50);
    view_release(&v);
    CHECK(judge(&f, &(struct recording_options){.plan_steps = 5000, .limit_bytes = 400 * MB}, &v) ==
          0);
    CHECK(v.series[0].answer.plan == 5000 && v.series[0].answer.severity == SEVERITY_HIGH);
    view_release(&v);
    folder_end(&f);
}

static bool is_rss(void *context, const struct recorded_series *s)
{
    (void) context;
    return strcmp(s->info.kind, "host.rss") == 0;
}

TEST(recording__judges_what_is_for_the_eye_on_request)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t trainer = add_trainer(s);
    int64_t anon = add_of(s, trainer, "host.anon", SERIES_BYTES);
    int64_t rss = add_of(s, trainer, "host.rss", SERIES_BYTES);
    for (int t = 0; t < 400; t++) {
        store_add_mark(s, t, t, NAN);
        store_add_sample(s, anon, t, 1e8);
        store_add_sample(s, rss, t, 2e8);
    }
    CHECK(store_close(s, 400) == 0);
    struct view v;
    CHECK(judge(&f, &(struct recording_options){0}, &v) == 0);
    CHECK(v.count == 1 && v.answer.verdict == VERDICT_NO_LEAK);
    CHECK_TEXT(v.series[0].info.kind, "host.anon");
    view_release(&v);
    CHECK(judge(&f, &(struct recording_options){.wanted = is_rss}, &v) == 0);
    CHECK(v.count == 1 && v.answer.verdict == VERDICT_NO_LEAK);
    CHECK_TEXT(v.series[0].info.kind, "host.rss");
    view_release(&v);
    folder_end(&f);
}

TEST(recording__of_nothing_says_nothing)
{
    struct folder f = folder_begin();
    struct view v;
    CHECK(store_close(create_plain(&f), 1) == 0);
    CHECK(judge(&f, &(struct recording_options){0}, &v) == 0);
    CHECK(v.count == 0 && v.answer.deciding == SIZE_MAX);
    view_release(&v);
    folder_end(&f);
}

TEST(recording__believes_no_terms_that_cannot_be)
{
    struct folder f = folder_begin();
    struct store_run run = plain_run();
    struct store *s;
    run.horizon = run.plan_seconds = run.limit_bytes = 1e300;
    run.plan_steps = INFINITY;
    run.epoch_length = -5;
    CHECK(store_create(f.file, &run, &s) == 0);
    int64_t series = add_of(s, add_trainer(s), "host.anon", SERIES_BYTES);
    store_update_series(s, series, 1e200, "a rule of tomorrow");
    store_add_sample(s, add_of(s, 0, "processes", SERIES_COUNT), 0, 1e300);
    for (int t = 0; t < 50; t++)
        store_add_sample(s, series, t, t * MB);
    CHECK(store_close(s, 50) == 0);
    struct view v;
    CHECK(judge(&f, &(struct recording_options){0}, &v) == 0 && v.count == 1);
    CHECK(v.series[0].answer.horizon == 900 && v.answer.verdict == VERDICT_INCONCLUSIVE);
    view_release(&v);
    folder_end(&f);
}

/* ---- long runs, whose past is stored as blocks ---- */

#define HOURS 3600.0

static double noisy(double t, struct random *r)
{
    (void) t;
    return 2000 * MB + 20 * MB * random_normal(r);
}

static double spiky(double t, struct random *r)
{
    (void) t;
    double spike = random_uniform(r) < 0.02 ? 800 * MB : 0;
    return 2000 * MB + spike + 5 * MB * random_uniform(r);
}

static double leaking_under_spikes(double t, struct random *r)
{
    return spiky(t, r) + 0.006 * MB * t;
}

static double sawtooth(double t, struct random *r)
{
    return 2000 * MB + 10 * MB * fmod(t, 37) + MB * random_uniform(r);
}

TEST(recording__sees_no_growth_where_blocks_become_samples)
{
    static const struct made_run runs[] = {
        {3 * HOURS, 10, noisy}, {3 * HOURS, 0, noisy},    {3 * HOURS, 10, spiky},
        {3 * HOURS, 0, spiky},  {3 * HOURS, 0, sawtooth},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        CHECK(answer_of(&runs[i]).verdict == VERDICT_NO_LEAK);
}

TEST(recording__finds_the_leak_in_blocks)
{
    struct answer a = answer_of(&(struct made_run){3 * HOURS, 10, leaking_under_spikes});
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(a.rate, 0.0006 * MB, 0.0001 * MB);
    a = answer_of(&(struct made_run){3 * HOURS, 0, leaking_under_spikes});
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(a.rate, 0.006 * MB, 0.001 * MB);
}

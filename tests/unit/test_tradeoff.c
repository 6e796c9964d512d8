/* tests/unit/test_tradeoff.c: settings of a job: what is real, what is noise, and what has too
 * few rounds. */
#include "words/tradeoff.h"

#include "random.h"
#include "unit.h"

#define MB 1048576.0
#define MOST_RUNS 512

/* A table being filled; settings[0] is the unchanged job. */
struct made {
    struct tradeoff_setting settings[TRADEOFF_MAX_SETTINGS];
    struct tradeoff_run runs[MOST_RUNS];
    struct tradeoff t;
    struct tradeoff_row rows[TRADEOFF_MAX_SETTINGS];
};

static void make(struct made *m)
{
    *m = (struct made){0};
    m->t = (struct tradeoff){.settings = m->settings, .runs = m->runs, .setting_count = 1};
    for (unsigned i = 0; i < TRADEOFF_MAX_SETTINGS; i++)
        for (unsigned d = 0; d < TRADEOFF_DIMENSIONS; d++)
            m->settings[i].said[d] = TRADEOFF_UNSAID;
}

static size_t add_setting(struct made *m, enum tradeoff_dimension dimension, int value)
{
    m->settings[m->t.setting_count].said[dimension] = value;
    return m->t.setting_count++;
}

static void add_run(struct made *m, size_t setting, unsigned round, double floor, double seconds)
{
    struct tradeoff_run *run = &m->runs[m->t.run_count++];
    *run = (struct tradeoff_run){.setting = setting, .round = round};
    for (unsigned i = 0; i < TRADEOFF_MEASURES; i++)
        run->values[i] = NAN;
    run->values[TRADEOFF_FLOOR] = floor;
    run->values[TRADEOFF_STEP_SECONDS] = seconds;
}

/* Adds `rounds` rounds of all settings with these values and this much noise. */
static void add_rounds(struct made *m, unsigned rounds, const double *floors, const double *seconds,
                       double noise_bytes, double noise_seconds, uint64_t seed)
{
    struct random random = {seed};
    for (unsigned r = 0; r < rounds; r++)
        for (size_t s = 0; s < m->t.setting_count; s++)
            add_run(m, s, r, floors[s] + noise_bytes * random_normal(&random),
                    seconds[s] + noise_seconds * random_normal(&random));
    tradeoff_compare(&m->t, m->rows);
}

static enum tradeoff_finding finding(const struct made *m, size_t s, enum tradeoff_measure measure)
{
    return m->rows[s].cells[measure].finding;
}

/* The summary, valid until the next call. */
static const char *summary(const struct made *m)
{
    static char text[2000];
    struct buf out = BUF_INIT;
    tradeoff_add_summary(&out, &m->t, m->rows);
    snprintf(text, sizeof(text), "%s", buf_text(&out));
    buf_release(&out);
    return text;
}

TEST(tradeoff__a_clear_difference_is_real)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 10);
    add_rounds(&m, 5, (double[]){800 * MB, 588 * MB}, (double[]){0.1, 0.113}, MB, 0.0005, 1);
    CHECK(finding(&m, 1, TRADEOFF_FLOOR) == FINDING_REAL);
    CHECK(finding(&m, 1, TRADEOFF_STEP_SECONDS) == FINDING_REAL);
    CHECK(finding(&m, 1, TRADEOFF_GPU_FLOOR) == FINDING_ABSENT);
    CHECK(finding(&m, 0, TRADEOFF_FLOOR) == FINDING_ABSENT);
    const struct tradeoff_cell *c = &m.rows[1].cells[TRADEOFF_FLOOR];
    CHECK_NEAR(c->difference, -212 * MB, 3 * MB);
    CHECK(c->difference_low < c->difference && c->difference_high < 0 && c->pairs == 5);
    CHECK_NEAR(m.rows[1].cells[TRADEOFF_STEP_SECONDS].share, 0.13, 0.02);
    CHECK(strstr(summary(&m), "Cleanup every 10 steps takes 21"));
    CHECK(strstr(summary(&m), " MB off the floor, and costs 1"));
    CHECK(strstr(summary(&m), " % of step time."));
}

TEST(tradeoff__noise_is_not_called_a_difference)
{
    unsigned freed = 0, slower = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        static struct made m;
        make(&m);
        for (int every = 1; every <= 4; every++)
            add_setting(&m, TRADEOFF_EVERY, every);
        double floors[5] = {9e8, 9e8, 9e8, 9e8, 9e8}, seconds[5] = {1, 1, 1, 1, 1};
        add_rounds(&m, 3 + (unsigned) (seed % 4), floors, seconds, 20 * MB, 0.05, seed);
        bool any_memory = false, any_time = false;
        for (size_t s = 1; s < 5; s++) {
            any_memory |= finding(&m, s, TRADEOFF_FLOOR) == FINDING_REAL;
            any_time |= finding(&m, s, TRADEOFF_STEP_SECONDS) == FINDING_REAL;
        }
        freed += any_memory;
        slower += any_time;
    }
    /* At most one table in twenty. 80 is 4.4 standard deviations above that, so more is our
     * mistake. */
    CHECK(freed <= 80 && slower <= 80);
    CHECK(freed > 3 && slower > 3);
}

/* Three rounds say little about the spread of one setting, but enough about that of four. */
TEST(tradeoff__what_is_plain_to_see_is_real_after_three_rounds)
{
    unsigned real = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        static struct made m;
        make(&m);
        for (int every = 1; every <= 4; every++)
            add_setting(&m, TRADEOFF_EVERY, every);
        double floors[5] = {9e8, 9e8, 9e8, 9e8, 9e8}, seconds[5] = {1, 10, 3, 1, 1};
        struct random random = {seed};
        for (unsigned r = 0; r < 3; r++)
            for (size_t s = 0; s < 5; s++)
                add_run(&m, s, r, floors[s], seconds[s] * exp(0.1 * random_normal(&random)));
        tradeoff_compare(&m.t, m.rows);
        real += finding(&m, 1, TRADEOFF_STEP_SECONDS) == FINDING_REAL;
        real += finding(&m, 2, TRADEOFF_STEP_SECONDS) == FINDING_REAL;
    }
    CHECK(real >= 380);
}

TEST(tradeoff__a_setting_that_scatters_more_is_not_called_real_by_the_others)
{
    unsigned called = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        static struct made m;
        make(&m);
        for (int every = 1; every <= 4; every++)
            add_setting(&m, TRADEOFF_EVERY, every);
        struct random random = {seed};
        for (unsigned r = 0; r < 3; r++)
            for (size_t s = 0; s < 5; s++)
                add_run(&m, s, r, 9e8, exp((s == 4 ? 0.5 : 0.05) * random_normal(&random)));
        tradeoff_compare(&m.t, m.rows);
        called += finding(&m, 4, TRADEOFF_STEP_SECONDS) == FINDING_REAL;
    }
    CHECK(called <= 50);
}

TEST(tradeoff__drift_from_round_to_round_does_not_hide_a_difference)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 1);
    for (unsigned r = 0; r < 4; r++) {
        double drift = 100 * MB * r;
        add_run(&m, 0, r, 500 * MB + drift + (r % 2 ? 0 : MB / 4), 1);
        add_run(&m, 1, r, 480 * MB + drift, 1);
    }
    tradeoff_compare(&m.t, m.rows);
    CHECK(finding(&m, 1, TRADEOFF_FLOOR) == FINDING_REAL);
}

TEST(tradeoff__a_busy_machine_does_not_hide_a_slower_step)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 1);
    static const double busy[] = {1, 2.2, 3.1};
    for (unsigned r = 0; r < 3; r++) {
        add_run(&m, 0, r, 500 * MB, 0.01 * busy[r]);
        add_run(&m, 1, r, 500 * MB, 0.03 * busy[r] * (1 + 0.02 * r));
    }
    tradeoff_compare(&m.t, m.rows);
    const struct tradeoff_cell *c = &m.rows[1].cells[TRADEOFF_STEP_SECONDS];
    CHECK(c->finding == FINDING_REAL);
    CHECK_NEAR(c->share, 2.06, 0.01);
    CHECK(c->difference_low > 0 && c->difference_low < c->difference &&
          c->difference < c->difference_high);
}

TEST(tradeoff__what_cleanup_takes_is_told_where_step_times_scatter)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 10);
    add_rounds(&m, 4, (double[]){800 * MB, 500 * MB}, (double[]){1, 1}, MB, 0.1, 5);
    CHECK(strstr(summary(&m), ", and its cost in step time is within noise."));
    for (size_t i = 0; i < m.t.run_count; i++)
        m.runs[i].values[TRADEOFF_CLEANUP_SHARE] = m.runs[i].setting == 1 ? 0.013 : NAN;
    tradeoff_compare(&m.t, m.rows);
    CHECK(finding(&m, 1, TRADEOFF_CLEANUP_SHARE) == FINDING_ABSENT);
    CHECK(strstr(summary(&m), "is within noise (cleanup itself takes 1.3 %)."));
}

TEST(tradeoff__two_rounds_are_too_few)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 10);
    add_rounds(&m, 2, (double[]){800 * MB, 10 * MB}, (double[]){0.1, 9}, 0, 0, 1);
    CHECK(finding(&m, 1, TRADEOFF_FLOOR) == FINDING_TOO_FEW);
    CHECK_TEXT(summary(&m),
               "Not enough repeats to tell a difference from noise: at least 3 of each "
               "setting are needed.");
    CHECK(tradeoff_best(&m.t, m.rows, TRADEOFF_EVERY) == 0);
}

TEST(tradeoff__no_runs_at_all)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 10);
    tradeoff_compare(&m.t, m.rows);
    CHECK(finding(&m, 1, TRADEOFF_FLOOR) == FINDING_ABSENT);
    CHECK(isnan(m.rows[0].cells[TRADEOFF_FLOOR].mean) && m.rows[0].cells[TRADEOFF_FLOOR].runs == 0);
    CHECK(strstr(summary(&m), "Not enough repeats"));
}

TEST(tradeoff__a_round_without_the_job_as_it_is_does_not_count)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 10);
    for (unsigned r = 0; r < 3; r++) {
        add_run(&m, 1, r, 10 * MB, 1);
        if (r < 2)
            add_run(&m, 0, r, 800 * MB, 1);
    }
    tradeoff_compare(&m.t, m.rows);
    CHECK(m.rows[1].cells[TRADEOFF_FLOOR].runs == 3 && m.rows[1].cells[TRADEOFF_FLOOR].pairs == 2);
    CHECK(finding(&m, 1, TRADEOFF_FLOOR) == FINDING_TOO_FEW);
}

TEST(tradeoff__what_the_kernel_counts_is_not_held_to_less_than_a_megabyte)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 10);
    add_rounds(&m, 3, (double[]){800 * MB, 800 * MB - 4096}, (double[]){1, 1}, 0, 0, 1);
    CHECK(finding(&m, 1, TRADEOFF_FLOOR) == FINDING_NOISE);
}

TEST(tradeoff__nothing_freed_says_so_and_how_much_the_noise_could_hide)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 1);
    add_setting(&m, TRADEOFF_EVERY, 20);
    add_rounds(&m, 6, (double[]){8e8, 8e8, 8e8}, (double[]){1, 1.5, 1}, MB, 0.01, 3);
    CHECK(strncmp(summary(&m), "No setting frees anything beyond the noise (the floor falls by ",
                  63) == 0);
    CHECK(strstr(summary(&m), "if at all): leave cleanup out. Cleanup every step costs "));
    CHECK(!strstr(summary(&m), "every 20"));
}

TEST(tradeoff__other_settings_have_their_words)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_SET_TO_NONE, 1);
    add_setting(&m, TRADEOFF_WORKERS, 4);
    size_t both = add_setting(&m, TRADEOFF_SET_TO_NONE, 1);
    m.settings[both].said[TRADEOFF_WORKERS] = 4;
    add_rounds(&m, 5, (double[]){8e8, 7e8, 9e8, 8e8}, (double[]){1, 1, 0.5, 0.5}, MB / 4, 0.001, 3);
    CHECK(strstr(summary(&m), "set_to_none=True takes "));
    CHECK(strstr(summary(&m), "within noise. num_workers=4 adds "));
    CHECK(strstr(summary(&m), " MB to the floor, and makes a step 50 % shorter."));
    CHECK(strstr(summary(&m), "set_to_none=True and num_workers=4 makes a step 50 % shorter."));
    struct buf name = BUF_INIT;
    tradeoff_add_name(&name, &m.settings[0]);
    buf_addc(&name, '|');
    tradeoff_add_name(&name, &m.settings[both]);
    CHECK_TEXT(buf_text(&name), "as it is|set_to_none yes, 4 workers");
    buf_release(&name);
}

TEST(tradeoff__the_best_frees_most_at_the_least_cost)
{
    static struct made m;
    make(&m);
    add_setting(&m, TRADEOFF_EVERY, 1);
    size_t five = add_setting(&m, TRADEOFF_EVERY, 5);
    add_setting(&m, TRADEOFF_EVERY, 20);
    size_t faster = add_setting(&m, TRADEOFF_WORKERS, 2);
    add_setting(&m, TRADEOFF_SET_TO_NONE, 0);
    add_rounds(&m, 6, (double[]){800 * MB, 500 * MB, 505 * MB, 700 * MB, 800 * MB, 800 * MB},
               (double[]){1, 1.5, 1.1, 1.05, 0.8, 1}, MB, 0.005, 7);
    CHECK(tradeoff_best(&m.t, m.rows, TRADEOFF_EVERY) == five);
    CHECK(tradeoff_best(&m.t, m.rows, TRADEOFF_WORKERS) == faster);
    CHECK(tradeoff_best(&m.t, m.rows, TRADEOFF_SET_TO_NONE) == 0);
}

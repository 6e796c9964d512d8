/* tests/unit/test_sites_gain.c: what a site gained, against programs whose growth is known. */
#include "traced_program.h"
#include "unit.h"

TEST(gain__interpolates_and_leaves_out_what_remains)
{
    const struct site s = {.points = {{0, 0, 0, 0, 0, 0},
                                      {10, 1000, 100, 1000, 900, 90},
                                      {20, 1100, 110, 1100, 1100, 110}},
                           .point_count = 3};
    struct site_gain all = site_gain(&s, 0, 20), late = site_gain(&s, 10, 20);
    CHECK(all.bytes == 1100 && fabs(all.error - sqrt(110)) < 1e-9);
    CHECK(late.bytes == 100 && fabs(late.error - sqrt(100 + 110 - 180)) < 1e-9);
    struct site_gain half = site_gain(&s, 12.5, 17.5);
    CHECK(half.bytes == 50 && fabs(half.error - 0.5 * late.error) < 1e-9);
    struct site_gain beyond = site_gain(&s, -5, 50), none = site_gain(&s, 7, 7);
    CHECK(beyond.bytes == 1100 && none.bytes == 0 && none.error == 0);
}

TEST(gain__of_one_point_is_nothing_and_of_none_not_known)
{
    const struct site one = {.points = {{5, 1000, 100, 0, 0, 0}}, .point_count = 1};
    const struct site none = {.point_count = 0};
    CHECK(site_gain(&one, 0, 10).bytes == 0);
    CHECK(isnan(site_gain(&none, 0, 10).bytes));
}

/* ---- against the truth ---- */

#define ROUNDS 8
#define RUNS 150
#define KB 1024

static const struct traced_site sites[] = {
    /* a leak; a large set kept from the first round; the same with a leak of a tenth beside what it
     * throws away; a buffer of 3 rounds; churn; large objects; a mix of lifetimes */
    {512, 400, 1000, FOREVER, 1, ROUNDS},  {512, 8000, 1000, FOREVER, 1, 1},
    {1024, 1000, 100, FOREVER, 1, ROUNDS}, {4096, 200, 1000, 3, 1, ROUNDS},
    {100, 5000, 0, 1, 1, ROUNDS},          {200 * KB, 4, 1000, 4, 2, ROUNDS},
    {64, 10000, 500, 5, 1, ROUNDS},
};
#define SITES (sizeof(sites) / sizeof(sites[0]))

/* Of a window, over all runs: squares of (gain - truth) / error, and their mean. */
struct window {
    unsigned from, to;
    double squares, worst, runs, off, outside, wrong;
};

static struct traced_program program;

static void compare(const struct sites *s, struct window *w)
{
    for (unsigned i = 0; i < SITES; i++) {
        const struct site *site = site_of_line(s, (int) i + 1);
        struct site_gain g = site_gain(site, 2 + w->from, 2 + w->to);
        double truth = program_truth(&sites[i], w->to) - program_truth(&sites[i], w->from);
        double kept = program_truth(&sites[i], w->from) + program_truth(&sites[i], w->to);
        bool is_certain = g.error <= 1e-3 * kept;
        w->wrong += is_certain && fabs(g.bytes - truth) > 3e-3 * kept;
        if (is_certain)
            continue;
        double z = (g.bytes - truth) / g.error;
        w->squares += z * z;
        w->off += z;
        w->worst = fmax(w->worst, fabs(z));
        w->outside += fabs(z) > 3;
        w->runs++;
    }
}

static void simulate(unsigned thin_at, struct window *windows, unsigned count)
{
    for (uint64_t run = 0; run < RUNS; run++) {
        struct site_looks *l = site_looks_new();
        program_begin(&program, sites, SITES, 8 * KB, 77 * run + thin_at);
        while (program.round < ROUNDS) {
            program_round(&program);
            if (program.round == thin_at)
                program_thin(&program, 16 * KB);
            if (program.round % 2 == 0)
                program_look(&program, l);
        }
        struct sites *s = site_looks_sites(l, NULL, NULL);
        for (unsigned i = 0; i < count; i++)
            compare(s, &windows[i]);
        sites_free(s);
        site_looks_free(l);
    }
    for (unsigned i = 0; i < count; i++) {
        struct window *w = &windows[i];
        printf("  rounds %u to %u: mean square %.3f, mean %.3f, worst %.1f, %g of %g beyond 3\n",
               w->from, w->to, w->squares / w->runs, w->off / w->runs, w->worst, w->outside,
               w->runs);
    }
}

/* Large allocations are all sampled, and what is constant cancels: there the error is 0. */
static bool knows_its_error(const struct window *w, double least_mean)
{
    double mean = w->squares / w->runs;
    return mean > least_mean && mean < 1.15 && w->wrong == 0 &&
           w->outside <= 0.0027 * w->runs + 3 * sqrt(0.0027 * w->runs);
}

TEST(gain__up_to_the_end_knows_its_error)
{
    struct window windows[] = {{.from = 2, .to = 8}, {.from = 4, .to = 8}, {.from = 6, .to = 8}};
    simulate(0, windows, 3);
    for (int i = 0; i < 3; i++)
        CHECK(knows_its_error(&windows[i], 0.85));
}

TEST(gain__between_earlier_moments_claims_no_smaller_error)
{
    struct window windows[] = {{.from = 2, .to = 6}, {.from = 4, .to = 6}};
    simulate(0, windows, 2);
    for (int i = 0; i < 2; i++)
        CHECK(knows_its_error(&windows[i], 0.7));
}

TEST(gain__knows_its_error_when_samples_were_thinned)
{
    struct window windows[] = {{.from = 2, .to = 8}, {.from = 4, .to = 8}, {.from = 6, .to = 8}};
    simulate(5, windows, 3);
    for (int i = 0; i < 3; i++)
        CHECK(knows_its_error(&windows[i], 0.85));
}

TEST(gain__of_a_large_constant_set_has_no_error)
{
    struct site_looks *l = site_looks_new();
    program_begin(&program, sites, SITES, 8 * KB, 1);
    for (int i = 0; i < 8; i++)
        program_round(&program), program_look(&program, l);
    struct sites *s = site_looks_sites(l, NULL, NULL);
    struct site_gain g = site_gain(site_of_line(s, 2), 3, 10);
    CHECK(g.bytes == 0 && g.error == 0);
    CHECK(site_at(site_of_line(s, 2), 3).variance > 0);
    CHECK(sites_gain(s, 3, 10).bytes > 0);
    sites_free(s);
    site_looks_free(l);
    program_end(&program);
}

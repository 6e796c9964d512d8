/* tests/unit/test_fit.c: lines, steps and curves, against known answers and simulated truth. */
#include "stat/fit.h"

#include "random.h"
#include "unit.h"

#include <float.h>

#define MANY FIT_MAX_POINTS

/* x = first, first + every, ... */
static void space(double *x, size_t n, double first, double every)
{
    for (size_t i = 0; i < n; i++)
        x[i] = first + every * (double) i;
}

/* ---- lines ---- */

TEST(fit_line__finds_an_exact_line)
{
    double x[] = {1, 2, 3, 4}, y[] = {5, 7, 9, 11};
    struct line_fit f;
    fit_line(x, y, 4, &f);
    CHECK(f.slope == 2 && f.intercept == 3);
    CHECK(f.sxx == 5);
    CHECK(f.rss == 0 && f.autocorrelation == 0);
}

TEST(fit_line__gives_the_textbook_residuals)
{
    double x[] = {0, 1, 2, 3}, y[] = {0, 2, 1, 3};
    struct line_fit f;
    fit_line(x, y, 4, &f);
    CHECK_NEAR(f.slope, 0.8, 1e-12);
    CHECK_NEAR(f.intercept, 0.3, 1e-12);
    CHECK_NEAR(f.rss, 1.8, 1e-12);
}

TEST(fit_line__without_points_is_zero)
{
    struct line_fit f = {1, 1, 1, 1, 1};
    fit_line(NULL, NULL, 0, &f);
    CHECK(f.slope == 0 && f.intercept == 0 && f.sxx == 0 && f.rss == 0);
}

TEST(fit_line__through_one_point_is_level)
{
    double x = 7, y = -3;
    struct line_fit f;
    fit_line(&x, &y, 1, &f);
    CHECK(f.slope == 0 && f.intercept == -3);
    CHECK(f.sxx == 0 && f.rss == 0);
}

TEST(fit_line__at_one_position_is_the_mean)
{
    double x[] = {5, 5, 5}, y[] = {1, 2, 6};
    struct line_fit f;
    fit_line(x, y, 3, &f);
    CHECK(f.slope == 0 && f.intercept == 3);
    CHECK(f.sxx == 0 && f.rss == 14);
    CHECK(fit_slope(x, y, 3) == 0);
}

TEST(fit_line__of_a_constant_is_level)
{
    double x[MANY], y[MANY];
    space(x, MANY, 0, 1);
    for (size_t i = 0; i < MANY; i++)
        y[i] = 4096;
    struct line_fit f;
    fit_line(x, y, MANY, &f);
    CHECK(f.slope == 0 && f.intercept == 4096 && f.rss == 0 && f.autocorrelation == 0);
}

TEST(fit_line__keeps_its_digits_far_from_zero)
{
    double x[MANY], y[MANY];
    space(x, MANY, 1e9, 100);
    for (size_t i = 0; i < MANY; i++)
        y[i] = 1e13 + 1e-3 * (x[i] - 1e9);
    struct line_fit f;
    fit_line(x, y, MANY, &f);
    /* A double near 1e13 is a multiple of 1/512; the residuals may be no larger. */
    double grain = 1.0 / 512;
    CHECK_NEAR(f.slope, 1e-3, 1e-6);
    CHECK(f.rss <= MANY * grain * grain);
    CHECK_NEAR(fit_slope(x, y, MANY), f.slope, 1e-12);
}

TEST(fit_line__sees_that_neighbours_err_alike)
{
    double x[40], alike[40], in_turn[40];
    space(x, 40, 0, 1);
    for (size_t i = 0; i < 40; i++) {
        alike[i] = i / 5 % 2 ? 1 : -1;
        in_turn[i] = i % 2 ? 1 : -1;
    }
    struct line_fit f;
    fit_line(x, alike, 40, &f);
    CHECK(f.autocorrelation > 0.5 && f.autocorrelation <= 0.9);
    fit_line(x, in_turn, 40, &f);
    CHECK(f.autocorrelation == 0);
}

/* Autocorrelated residuals: each is `memory` times the previous one plus new noise. */
static void remember(struct random *r, double memory, double *y, size_t n)
{
    double state = random_normal(r) / sqrt(1 - memory * memory);
    for (size_t i = 0; i < n; i++) {
        y[i] = state;
        state = memory * state + random_normal(r);
    }
}

static double mean_autocorrelation(double memory, size_t n)
{
    struct random r = {1};
    double x[MANY], y[MANY], sum = 0;
    space(x, n, 0, 1);
    for (int run = 0; run < 2000; run++) {
        struct line_fit f;
        remember(&r, memory, y, n);
        fit_line(x, y, n, &f);
        sum += f.autocorrelation;
    }
    return sum / 2000;
}

TEST(fit_line__estimates_the_autocorrelation)
{
    CHECK_NEAR(mean_autocorrelation(0.6, MANY), 0.6, 0.02);
    /* The fit removes some of it, and more with fewer points. */
    CHECK_NEAR(mean_autocorrelation(0.6, 48), 0.6, 0.08);
}

TEST(fit_line__has_an_error_that_covers_the_truth)
{
    struct random r = {2};
    double x[30], y[30];
    int covered = 0, runs = 4000;
    space(x, 30, 100, 7);
    for (int run = 0; run < runs; run++) {
        struct line_fit f;
        for (size_t i = 0; i < 30; i++)
            y[i] = 1000 + 0.5 * x[i] + 20 * random_normal(&r);
        fit_line(x, y, 30, &f);
        double error = sqrt(f.rss / 28 / f.sxx);
        covered += fabs(f.slope - 0.5) < 2.048 * error; /* Student, 28 degrees of freedom, 95 % */
    }
    CHECK_NEAR((double) covered / runs, 0.95, 0.01);
}

TEST(fit_slope__is_the_slope_of_the_line)
{
    double x[] = {0, 1, 2, 3}, y[] = {0, 2, 1, 3};
    CHECK_NEAR(fit_slope(x, y, 4), 0.8, 1e-12);
    CHECK(fit_slope(x, y, 1) == 0);
    CHECK(fit_slope(x, y, 0) == 0);
}

/* ---- steps ---- */

TEST(fit_steps__finds_none_one_and_two)
{
    double flat[] = {3, 3, 3, 3}, one[] = {0, 0, 0, 5, 5, 5}, two[] = {1, 1, 4, 4, 2, 2};
    double rss[FIT_MAX_STEPS + 1];
    fit_steps(flat, 4, rss);
    CHECK(rss[0] == 0 && rss[1] == 0 && rss[2] == 0 && rss[3] == 0);
    fit_steps(one, 6, rss);
    CHECK_NEAR(rss[0], 37.5, 1e-12);
    CHECK(rss[1] == 0);
    fit_steps(two, 6, rss);
    CHECK_NEAR(rss[1], 4, 1e-12);
    CHECK(rss[2] == 0 && rss[3] == 0);
}

TEST(fit_steps__leaves_nothing_over_where_every_point_is_a_step)
{
    double y[] = {1, 8, 3, 4};
    double rss[FIT_MAX_STEPS + 1];
    for (size_t n = 1; n <= 4; n++) {
        fit_steps(y, n, rss);
        for (size_t k = n - 1; k <= FIT_MAX_STEPS; k++)
            CHECK(rss[k] == 0);
    }
}

static double about_mean(const double *y, size_t first, size_t end)
{
    double mean = 0, rss = 0;
    for (size_t i = first; i < end; i++)
        mean += y[i] / (double) (end - first);
    for (size_t i = first; i < end; i++)
        rss += (y[i] - mean) * (y[i] - mean);
    return rss;
}

/* The best two steps by exhaustive search. */
static double try_two_steps(const double *y, size_t n)
{
    double least = DBL_MAX;
    for (size_t a = 1; a + 1 < n; a++)
        for (size_t b = a + 1; b < n; b++)
            least = fmin(least, about_mean(y, 0, a) + about_mean(y, a, b) + about_mean(y, b, n));
    return least;
}

TEST(fit_steps__is_as_good_as_trying_all)
{
    struct random r = {3};
    double y[FIT_STEP_POINTS], rss[FIT_MAX_STEPS + 1];
    for (int run = 0; run < 20; run++) {
        for (size_t i = 0; i < FIT_STEP_POINTS; i++)
            y[i] = 1e6 + random_normal(&r);
        fit_steps(y, FIT_STEP_POINTS, rss);
        CHECK_NEAR(rss[0], about_mean(y, 0, FIT_STEP_POINTS), 1e-6);
        CHECK_NEAR(rss[2], try_two_steps(y, FIT_STEP_POINTS), 1e-6);
        CHECK(rss[0] >= rss[1] && rss[1] >= rss[2] && rss[2] >= rss[3]);
    }
}

TEST(fit_steps__keeps_its_digits_far_from_zero)
{
    double y[20], rss[FIT_MAX_STEPS + 1];
    for (size_t i = 0; i < 20; i++)
        y[i] = 1e13 + (i < 7 ? 0 : 1);
    fit_steps(y, 20, rss);
    CHECK_NEAR(rss[0], 7.0 * 13 / 20, 1e-9);
    CHECK(rss[1] == 0);
}

/* ---- growth that fades ---- */

enum growth_shape { LOGARITHM, SATURATION, LINE, SLOWER, FASTER };

/* The true curves over 0..100, about 100 high. */
static double shape_at(enum growth_shape shape, double x)
{
    switch (shape) {
    case LOGARITHM:
        return 40 * log1p(x * 12 / 100);
    case SATURATION:
        return 100 * (1 - exp(-x * 3 / 100));
    case SLOWER:
        return x < 40 ? 2 * x : 80 + 0.3 * (x - 40);
    case FASTER:
        return x < 60 ? 0.3 * x : 18 + 2 * (x - 60);
    default:
        return x;
    }
}

static struct fade_fit fade_of(enum growth_shape shape, double noise, uint64_t seed)
{
    struct random r = {seed};
    double x[64], y[64];
    space(x, 64, 0, 100.0 / 63);
    for (size_t i = 0; i < 64; i++)
        y[i] = 5000 + shape_at(shape, x[i]) + noise * random_normal(&r);
    struct fade_fit f;
    fit_fade(x, y, 64, 64 * 1e-4, &f);
    return f;
}

TEST(fit_fade__prefers_a_curve_for_growth_that_fades)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fade_fit f = fade_of(LOGARITHM, 1, seed);
        CHECK(f.valid && f.fading_score < f.kinked_score && f.fading_score < f.line_score);
        f = fade_of(SATURATION, 1, seed);
        CHECK(f.valid && f.fading_score < f.kinked_score && f.fading_score < f.line_score);
    }
}

TEST(fit_fade__knows_the_pace_at_the_end)
{
    struct fade_fit f = fade_of(LOGARITHM, 0, 0);
    double end = 40 * 0.12 / 13, mean = 40 * log(13) / 100;
    CHECK_NEAR(f.end_slope, end, 1e-6);
    CHECK_NEAR(f.end_ratio, end / mean, 1e-6);
    f = fade_of(SATURATION, 0, 0);
    CHECK_NEAR(f.end_slope, 3 * exp(-3), 1e-6);
    CHECK_NEAR(f.end_ratio, 3 * exp(-3) / (1 - exp(-3)), 1e-6);
}

TEST(fit_fade__prefers_a_line_for_a_line)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fade_fit f = fade_of(LINE, 1, seed);
        CHECK(f.line_score < f.kinked_score);
        CHECK(!f.valid || f.line_score < f.fading_score);
    }
    struct fade_fit exact = fade_of(LINE, 0, 0);
    CHECK(exact.line_score < exact.kinked_score && exact.line_score < exact.fading_score);
}

TEST(fit_fade__prefers_a_kink_for_a_kink)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fade_fit f = fade_of(SLOWER, 1, seed);
        CHECK(f.kinked_score < f.line_score && f.kinked_score < f.fading_score);
        f = fade_of(FASTER, 1, seed);
        CHECK(f.kinked_score < f.line_score);
        CHECK(!f.valid || f.kinked_score < f.fading_score);
    }
}

TEST(fit_fade__is_not_for_what_falls)
{
    double x[20], y[20];
    space(x, 20, 0, 1);
    for (size_t i = 0; i < 20; i++)
        y[i] = -log1p(x[i]);
    struct fade_fit f;
    fit_fade(x, y, 20, 1e-6, &f);
    CHECK(!f.valid);
}

TEST(fit_fade__says_nothing_of_a_point_or_a_constant)
{
    double x[8] = {0}, y[8];
    for (size_t i = 0; i < 8; i++)
        y[i] = 77;
    struct fade_fit f;
    fit_fade(x, y, 1, 0, &f);
    CHECK(!f.valid);
    space(x, 8, 0, 1);
    fit_fade(x, y, 8, 0, &f);
    CHECK(!f.valid && !isnan(f.line_score) && !isnan(f.kinked_score));
}

/* ---- the slope at the end ---- */

TEST(fit_end__of_a_line_is_its_slope)
{
    double x[20], y[20];
    struct end_fit f;
    space(x, 20, 50, 2);
    for (size_t i = 0; i < 20; i++)
        y[i] = 10 + 3 * x[i];
    fit_end(x, y, 20, 0.3, &f);
    CHECK(f.shape == END_LINE);
    CHECK_NEAR(f.slope, 3, 1e-9);
    CHECK(f.mean_slope == f.slope && f.knot == 50);
    /* Nothing is left over, so the error is that of the smallest deviation. */
    CHECK_NEAR(f.error, 0.3 * sqrt(20.0 / 18) / sqrt(4 * 665.0), 1e-9);
}

TEST(fit_end__of_a_parabola_is_steeper_than_its_mean)
{
    double x[20], y[20];
    struct end_fit f;
    space(x, 20, 1000, 1);
    for (size_t i = 0; i < 20; i++)
        y[i] = (double) (i * i);
    fit_end(x, y, 20, 1e-3, &f);
    CHECK(f.shape == END_PARABOLA);
    CHECK_NEAR(f.slope, 38, 1e-6);
    CHECK_NEAR(f.mean_slope, 19, 1e-6);
}

TEST(fit_end__of_a_kink_is_the_second_slope)
{
    double x[20], y[20];
    struct end_fit f;
    space(x, 20, 0, 1);
    for (size_t i = 0; i < 20; i++)
        y[i] = i < 10 ? (double) i : 10 + 5 * (double) (i - 10);
    fit_end(x, y, 20, 1e-3, &f);
    CHECK(f.shape == END_KINK);
    CHECK_NEAR(f.slope, 5, 1e-6);
    CHECK_NEAR(f.before, 1, 1e-6);
    CHECK_NEAR(f.knot, 10, 1e-9);
}

TEST(fit_end__covers_the_truth_of_a_noisy_parabola)
{
    struct random r = {4};
    double x[32], y[32];
    int bent = 0, covered = 0;
    space(x, 32, 0, 1);
    for (int run = 0; run < 1000; run++) {
        struct end_fit f;
        for (size_t i = 0; i < 32; i++)
            y[i] = 0.2 * x[i] * x[i] + random_normal(&r);
        fit_end(x, y, 32, 1e-3, &f);
        if (f.shape != END_PARABOLA)
            continue;
        bent++;
        covered += fabs(f.slope - 0.4 * 31) < 2.05 * f.error;
    }
    CHECK(bent > 900);
    CHECK_NEAR((double) covered / bent, 0.95, 0.03);
}

TEST(fit_end__sees_no_curve_in_a_noisy_line)
{
    struct random r = {5};
    double x[32], y[32];
    int curved = 0;
    space(x, 32, 0, 1);
    for (int run = 0; run < 1000; run++) {
        struct end_fit f;
        for (size_t i = 0; i < 32; i++)
            y[i] = 2 * x[i] + random_normal(&r);
        fit_end(x, y, 32, 1e-3, &f);
        curved += f.shape != END_LINE;
    }
    CHECK(curved <= 10);
}

TEST(fit_end__bends_only_with_eight_points)
{
    double x[7], y[7];
    struct end_fit f;
    space(x, 7, 0, 1);
    for (size_t i = 0; i < 7; i++)
        y[i] = (double) (i * i);
    for (size_t n = 4; n <= 7; n++) {
        fit_end(x, y, n, 1e-6, &f);
        CHECK(f.shape == END_LINE);
        CHECK_NEAR(f.slope, (double) (n - 1), 1e-9);
    }
}

TEST(fit_end__at_one_position_knows_nothing)
{
    double x[10], y[10];
    struct end_fit f;
    space(x, 10, 3, 0);
    space(y, 10, 0, 1);
    fit_end(x, y, 10, 1, &f);
    CHECK(f.shape == END_LINE && f.slope == 0 && f.error == INFINITY);
}

/* ---- noise ---- */

/* The mean over `runs` rows of white noise of deviation 1 on top of a slope and a step. */
static double mean_noise(int runs, double slope, double step)
{
    struct random r = {6};
    double y[MANY], sum = 0;
    for (int run = 0; run < runs; run++) {
        for (size_t i = 0; i < MANY; i++)
            y[i] = slope * (double) i + (i < 100 ? 0 : step) + random_normal(&r);
        sum += fit_noise(y, MANY);
    }
    return sum / runs;
}

TEST(fit_noise__recovers_the_deviation)
{
    CHECK_NEAR(mean_noise(1, 0, 0), 1, 0.15);
    CHECK_NEAR(mean_noise(500, 0, 0), 1, 0.02);
}

TEST(fit_noise__is_blind_to_slope_and_step)
{
    double plain = mean_noise(50, 0, 0);
    CHECK_NEAR(mean_noise(50, 1e6, 0), plain, 1e-6);
    CHECK_NEAR(mean_noise(50, 0, 1e6), plain, 0.03);
    CHECK_NEAR(mean_noise(50, -300, -1e6), plain, 0.03);
}

TEST(fit_noise__of_an_exact_line_is_zero)
{
    double y[MANY];
    space(y, MANY, 26214400, 512);
    CHECK(fit_noise(y, MANY) == 0);
    space(y, MANY, 5, 0);
    CHECK(fit_noise(y, MANY) == 0);
}

TEST(fit_noise__needs_six_points)
{
    double y[] = {1, 9, 2, 8, 3, 7};
    CHECK(isnan(fit_noise(y, 0)));
    CHECK(isnan(fit_noise(y, 5)));
    /* The absolute second differences are 15, 13, 11 and 9. */
    CHECK_NEAR(fit_noise(y, 6), 1.4826 * 12 / sqrt(6), 1e-12);
}

TEST(fit_median__takes_the_middle)
{
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, one[] = {7}, equal[] = {2, 2, 2, 2};
    CHECK(fit_median(odd, 3) == 5);
    CHECK(fit_median(even, 4) == 2.5);
    CHECK(fit_median(one, 1) == 7);
    CHECK(fit_median(equal, 4) == 2);
    CHECK(isnan(fit_median(one, 0)));
}

TEST(fit_median__of_many_agrees_with_that_of_few)
{
    struct random r = {7};
    for (size_t n = 28; n <= 40; n++) {
        double y[40], below = 0, above = 0;
        for (size_t i = 0; i < n; i++)
            y[i] = random_normal(&r);
        double middle = fit_median(y, n);
        for (size_t i = 0; i < n; i++) {
            below += y[i] < middle;
            above += y[i] > middle;
        }
        CHECK(below == above && below >= (double) (n - 1) / 2 - 0.5);
    }
}

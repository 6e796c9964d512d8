/* tests/unit/test_segment.c: the low-water mark, and the straight segments of a run. */
#include "stat/segment.h"

#include "random.h"
#include "unit.h"

/* ---- the floor ---- */

#define SAME(a, b) (memcmp((a), (b), sizeof(a)) == 0)

TEST(floor_of__cuts_spikes_narrower_than_the_width)
{
    double y[] = {4, 4, 9, 4, 4, 8, 8, 4, 4, 4}, floor[10];
    double wide_left[] = {4, 4, 4, 4, 4, 8, 8, 4, 4, 4};
    double none_left[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    floor_of(y, 10, 2, floor);
    CHECK(SAME(floor, wide_left));
    floor_of(y, 10, 3, floor);
    CHECK(SAME(floor, none_left));
}

TEST(floor_of__with_width_one_changes_nothing)
{
    double y[] = {4, 9, 1, 7, 7, 3}, floor[6];
    floor_of(y, 6, 1, floor);
    CHECK(SAME(floor, y));
}

TEST(floor_of__leaves_ramps_steps_and_falls)
{
    double ramp[] = {1, 2, 3, 4, 5, 6, 7, 8}, step[] = {1, 1, 1, 1, 5, 5, 5, 5};
    double fall[] = {9, 8, 7, 6, 5, 4, 3, 2}, drop[] = {5, 5, 5, 5, 1, 1, 1, 1}, floor[8];
    for (size_t width = 1; width <= 4; width++) {
        floor_of(ramp, 8, width, floor);
        CHECK(SAME(floor, ramp));
        floor_of(step, 8, width, floor);
        CHECK(SAME(floor, step));
        floor_of(fall, 8, width, floor);
        CHECK(SAME(floor, fall));
        floor_of(drop, 8, width, floor);
        CHECK(SAME(floor, drop));
    }
}

TEST(floor_of__keeps_dips)
{
    double y[] = {6, 6, 6, 2, 6, 6, 6}, floor[7];
    floor_of(y, 7, 3, floor);
    CHECK(SAME(floor, y));
}

TEST(floor_of__cuts_spikes_off_a_ramp)
{
    double y[40], floor[40];
    for (size_t i = 0; i < 40; i++)
        y[i] = (double) i + (i % 8 == 4 ? 100 : 0);
    floor_of(y, 40, 3, floor);
    for (size_t i = 0; i < 40; i++)
        CHECK_NEAR(floor[i], (double) i, 1);
}

TEST(floor_of__is_never_above_its_values)
{
    struct random r = {1};
    double y[SEGMENT_POINTS], floor[SEGMENT_POINTS], again[SEGMENT_POINTS];
    for (size_t i = 0; i < SEGMENT_POINTS; i++)
        y[i] = random_normal(&r);
    for (size_t width = 1; width <= 24; width++) {
        floor_of(y, SEGMENT_POINTS, width, floor);
        for (size_t i = 0; i < SEGMENT_POINTS; i++)
            CHECK(floor[i] <= y[i]);
        floor_of(floor, SEGMENT_POINTS, width, again);
        CHECK(SAME(floor, again));
    }
}

TEST(floor_of__takes_windows_as_long_as_the_run)
{
    double one = 3, y[] = {5, 2, 7}, floor[3];
    floor_of(&one, 1, 1, floor);
    CHECK(floor[0] == 3);
    floor_of(&one, 1, SEGMENT_POINTS, floor);
    CHECK(floor[0] == 3);
    /* What touches an end of the run may continue beyond it. */
    floor_of(y, 3, SEGMENT_POINTS, floor);
    CHECK(SAME(floor, y));
}

/* ---- one line ---- */

TEST(segment_fit__describes_its_points_only)
{
    double x[] = {0, 1, 2, 3, 4, 5}, y[] = {99, 99, 10, 12, 14, 99};
    struct segment s;
    segment_fit(x, y, 2, 5, 0.5, &s);
    CHECK(s.first == 2 && s.last == 4);
    CHECK_NEAR(s.slope, 2, 1e-12);
    CHECK_NEAR(s.from, 10, 1e-12);
    CHECK_NEAR(s.to, 14, 1e-12);
    CHECK_NEAR(s.error, 0.5 / sqrt(2), 1e-12);
}

TEST(segment_fit__of_one_point_knows_no_slope)
{
    double x[] = {3, 3}, y[] = {8, 8};
    struct segment s;
    segment_fit(x, y, 0, 1, 0.1, &s);
    CHECK(s.slope == 0 && s.from == 8 && s.to == 8 && s.error == INFINITY);
    segment_fit(x, y, 0, 2, 0.1, &s);
    CHECK(s.slope == 0 && s.error == INFINITY);
}

TEST(segment_fit__has_an_error_that_covers_the_truth)
{
    struct random r = {2};
    double x[60], y[60];
    int covered = 0, runs = 2000;
    for (int run = 0; run < runs; run++) {
        struct segment s;
        for (size_t i = 0; i < 60; i++) {
            x[i] = 10 * (double) i;
            y[i] = 1e9 - 3 * x[i] + 50 * random_normal(&r);
        }
        segment_fit(x, y, 0, 60, 1e-3, &s);
        covered += fabs(s.slope + 3) < 1.96 * s.error;
    }
    /* Allowing for correlated errors makes it a little wider than white noise needs. */
    CHECK((double) covered / runs >= 0.94 && (double) covered / runs < 0.99);
}

TEST(segment_fit__has_a_wider_error_where_neighbours_err_alike)
{
    struct random r = {7};
    double x[120], y[120], state = 0;
    int covered = 0, runs = 2000;
    for (int run = 0; run < runs; run++) {
        struct segment s;
        for (size_t i = 0; i < 120; i++) {
            x[i] = (double) i;
            y[i] = 2 * x[i] + (state = 0.6 * state + random_normal(&r));
        }
        segment_fit(x, y, 0, 120, 1e-3, &s);
        covered += fabs(s.slope - 2) < 1.96 * s.error;
    }
    CHECK_NEAR((double) covered / runs, 0.95, 0.04);
}

/* ---- several lines ---- */

/* Lines from corner to corner: corners[k] at x = joints[k]. */
static double path_at(double x, const double *joints, const double *corners, size_t count)
{
    size_t k = 1;
    while (k + 1 < count && x >= joints[k])
        k++;
    double share = (x - joints[k - 1]) / (joints[k] - joints[k - 1]);
    return corners[k - 1] + share * (corners[k] - corners[k - 1]);
}

static size_t lines_of_path(const double *joints, const double *corners, size_t count, size_t n,
                            double noise, struct segment segments[SEGMENT_MAX])
{
    struct random r = {3};
    double x[SEGMENT_POINTS], y[SEGMENT_POINTS];
    for (size_t i = 0; i < n; i++) {
        x[i] = (double) i;
        y[i] = path_at(x[i], joints, corners, count) + noise * random_normal(&r);
    }
    return segment_lines(x, y, n, fmax(noise / 10, 1e-6), segments);
}

TEST(segment_lines__of_a_line_is_one)
{
    double joints[] = {0, 191}, rising[] = {1e9, 1e9 + 512 * 191}, flat[] = {7, 7};
    struct segment s[SEGMENT_MAX];
    for (int noisy = 0; noisy < 2; noisy++) {
        CHECK(lines_of_path(joints, rising, 2, SEGMENT_POINTS, 40 * noisy, s) == 1);
        CHECK(s[0].first == 0 && s[0].last == SEGMENT_POINTS - 1);
        CHECK_NEAR(s[0].slope, 512, 0.5);
        CHECK(lines_of_path(joints, flat, 2, SEGMENT_POINTS, noisy, s) == 1);
        CHECK_NEAR(s[0].slope, 0, 0.01);
    }
}

TEST(segment_lines__finds_the_end_of_a_warm_up)
{
    double joints[] = {0, 60, 191}, corners[] = {1000, 7000, 7000};
    struct segment s[SEGMENT_MAX];
    CHECK(lines_of_path(joints, corners, 3, SEGMENT_POINTS, 20, s) == 2);
    CHECK_NEAR((double) s[0].last, 60, 2);
    CHECK(s[1].first == s[0].last + 1 && s[1].last == SEGMENT_POINTS - 1);
    CHECK_NEAR(s[0].slope, 100, 1);
    CHECK_NEAR(s[1].slope, 0, 0.2);
}

TEST(segment_lines__gives_a_joint_to_the_stretch_before)
{
    double joints[] = {0, 60, 191}, corners[] = {1000, 7000, 7000};
    struct segment s[SEGMENT_MAX];
    CHECK(lines_of_path(joints, corners, 3, SEGMENT_POINTS, 0, s) == 2);
    CHECK(s[0].last == 60 && s[1].first == 61);
}

TEST(segment_lines__finds_three_pieces)
{
    double joints[] = {0, 50, 120, 191}, corners[] = {100, 5100, 5100, 12200};
    struct segment s[SEGMENT_MAX];
    CHECK(lines_of_path(joints, corners, 4, SEGMENT_POINTS, 30, s) == 3);
    CHECK_NEAR((double) s[0].last, 50, 2);
    CHECK_NEAR((double) s[1].last, 120, 2);
    CHECK_NEAR(s[2].slope, 100, 2);
}

TEST(segment_lines__finds_a_jump)
{
    double x[80], y[80];
    struct segment s[SEGMENT_MAX];
    for (size_t i = 0; i < 80; i++) {
        x[i] = 50000 + 10 * (double) i;
        y[i] = i < 33 ? 1e9 : 1.2e9;
    }
    CHECK(segment_lines(x, y, 80, 1e3, s) == 2);
    CHECK(s[0].last == 32 && s[1].first == 33);
    CHECK_NEAR(s[0].to, 1e9, 1);
    CHECK_NEAR(s[1].from, 1.2e9, 1);
}

TEST(segment_lines__cuts_the_documents_test_run_after_step_40)
{
    double y[] = {4993, 6389, 8039, 9432, 9451, 9462, 9473, 9503, 9539, 9566};
    double x[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    struct segment s[SEGMENT_MAX];
    CHECK(segment_lines(x, y, 10, 1, s) == 2);
    CHECK(x[s[0].first] == 10 && x[s[0].last] == 40);
    CHECK(x[s[1].first] == 50 && x[s[1].last] == 100);
    CHECK_NEAR(s[0].slope, 148, 3);
    CHECK_NEAR(s[1].slope, 2.3, 0.15);
}

TEST(segment_lines__covers_the_run_without_gap_or_overlap)
{
    struct random r = {4};
    for (size_t n = 1; n <= SEGMENT_POINTS; n += n < 20 ? 1 : 17) {
        double x[SEGMENT_POINTS], y[SEGMENT_POINTS], level = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (double) i;
            y[i] = level += random_normal(&r);
        }
        struct segment s[SEGMENT_MAX];
        size_t count = segment_lines(x, y, n, 0, s);
        CHECK(count >= 1 && count <= SEGMENT_MAX);
        CHECK(s[0].first == 0 && s[count - 1].last == n - 1);
        for (size_t k = 0; k < count; k++) {
            CHECK(s[k].last >= s[k].first);
            CHECK(k == 0 || s[k].first == s[k - 1].last + 1);
            CHECK(isfinite(s[k].from) && isfinite(s[k].to) && isfinite(s[k].slope));
        }
    }
}

TEST(segment_lines__sees_no_second_piece_in_noise)
{
    struct random r = {5};
    int more = 0;
    for (int run = 0; run < 200; run++) {
        double x[100], y[100];
        for (size_t i = 0; i < 100; i++) {
            x[i] = (double) i;
            y[i] = 3 * x[i] + random_normal(&r);
        }
        struct segment s[SEGMENT_MAX];
        more += segment_lines(x, y, 100, 1e-3, s) > 1;
    }
    CHECK(more <= 2);
}

TEST(segment_lines__of_one_position_or_constant_is_one)
{
    double x[50] = {0}, y[50] = {0};
    struct segment s[SEGMENT_MAX];
    CHECK(segment_lines(x, y, 1, 0, s) == 1 && s[0].first == 0 && s[0].last == 0);
    CHECK(segment_lines(x, y, 50, 0, s) == 1 && s[0].slope == 0 && s[0].error == INFINITY);
    for (size_t i = 0; i < 50; i++)
        x[i] = (double) i;
    CHECK(segment_lines(x, y, 50, 0, s) == 1 && s[0].slope == 0 && s[0].error == 0);
}

TEST(segment_lines__keeps_its_digits_far_from_zero)
{
    double x[100], y[100];
    struct segment s[SEGMENT_MAX];
    for (size_t i = 0; i < 100; i++) {
        x[i] = 1.7e9 + 10 * (double) i;
        y[i] = 1e13 + (i < 40 ? 1000 * (double) i : 40000);
    }
    CHECK(segment_lines(x, y, 100, 1, s) == 2);
    CHECK_NEAR((double) s[0].last, 40, 1);
    CHECK_NEAR(s[0].slope, 100, 0.1);
    CHECK_NEAR(s[1].slope, 0, 0.1);
}

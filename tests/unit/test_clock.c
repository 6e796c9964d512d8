/* tests/unit/test_clock.c: which step ran at a given second. */
#include "job/clock.h"
#include "unit.h"

TEST(clock__knows_nothing_at_first)
{
    struct step_clock c;
    clock_init(&c);
    CHECK(!clock_runs(&c));
    CHECK(!clock_first(&c) && !clock_last(&c));
    CHECK(isnan(clock_step_at(&c, 0)));
    CHECK(isnan(clock_step_lately(&c, 0)));
    CHECK(isnan(c.epoch) && isnan(c.epoch_length) && isnan(c.total));
}

TEST(clock__one_mark_is_one_moment)
{
    struct step_clock c;
    clock_init(&c);
    clock_mark(&c, 5, 100);
    CHECK(!clock_runs(&c));
    CHECK_NEAR(clock_step_at(&c, 5), 100, 0);
    CHECK(isnan(clock_step_at(&c, 4.9)));
    CHECK(isnan(clock_step_at(&c, 5.1)));
    CHECK(isnan(clock_step_lately(&c, 5)));
}

TEST(clock__steps_are_even_between_two_marks)
{
    struct step_clock c;
    clock_init(&c);
    clock_mark(&c, 10, 100);
    clock_mark(&c, 20, 200);
    clock_mark(&c, 40, 300);
    CHECK(clock_runs(&c));
    CHECK_NEAR(clock_step_at(&c, 10), 100, 0);
    CHECK_NEAR(clock_step_at(&c, 15), 150, 1e-9);
    CHECK_NEAR(clock_step_at(&c, 30), 250, 1e-9);
    CHECK_NEAR(clock_step_at(&c, 40), 300, 0);
    CHECK(isnan(clock_step_at(&c, 9)));
    CHECK(isnan(clock_step_at(&c, 41)));
    CHECK(isnan(clock_step_at(&c, NAN)));
    CHECK(isnan(clock_step_lately(&c, 15))); /* before the last two marks */
    CHECK_NEAR(clock_step_lately(&c, 30), 250, 1e-9);
}

TEST(clock__two_marks_of_one_moment)
{
    struct step_clock c;
    clock_init(&c);
    clock_mark(&c, 1, 1);
    clock_mark(&c, 1, 2);
    clock_mark(&c, 1, 3);
    CHECK_NEAR(clock_step_lately(&c, 1), 3, 0);
    double step = clock_step_at(&c, 1);
    CHECK(step >= 1 && step <= 3);
}

TEST(clock__a_lower_step_begins_anew)
{
    struct step_clock c;
    clock_init(&c);
    clock_mark(&c, 1, 500);
    clock_mark(&c, 2, 600);
    clock_mark(&c, 3, 0);
    CHECK_NEAR(clock_first(&c)->step, 0, 0);
    CHECK(isnan(clock_step_at(&c, 1.5)));
    CHECK(isnan(clock_step_lately(&c, 2.5)));
    clock_mark(&c, 4, 100);
    CHECK_NEAR(clock_step_at(&c, 3.5), 50, 1e-9);
}

TEST(clock__the_same_step_again_goes_on)
{
    struct step_clock c;
    clock_init(&c);
    clock_mark(&c, 1, 10);
    clock_mark(&c, 2, 10);
    CHECK(clock_runs(&c));
    CHECK_NEAR(clock_step_at(&c, 1.5), 10, 0);
}

/* With 100 steps a second for a day, every answer is right within the spacing of the marks. */
TEST(clock__stays_exact_where_steps_are_even)
{
    struct step_clock c;
    clock_init(&c);
    const double last = 8640000;
    for (double step = 0; step <= last; step++)
        clock_mark(&c, step / 100, step);
    CHECK(c.count <= CLOCK_MARKS);
    CHECK(c.count >= CLOCK_MARKS / 4);
    CHECK_NEAR(clock_last(&c)->step, last, 0);
    CHECK_NEAR(clock_first(&c)->step, 0, 0);
    for (double at = 1; at <= last / 100; at += 997)
        CHECK_NEAR(clock_step_at(&c, at), at * 100, 1e-3);
}

/* Marks at the end are as far apart as at the beginning, and seconds never fall. */
TEST(clock__marks_are_kept_evenly)
{
    struct step_clock c;
    clock_init(&c);
    for (double step = 0; step < 100000; step++)
        clock_mark(&c, step * 0.02, step);
    double widest = 0;
    for (unsigned i = 1; i < c.count; i++) {
        double gap = c.marks[i].seconds - c.marks[i - 1].seconds;
        CHECK(gap > 0);
        widest = gap > widest ? gap : widest;
    }
    CHECK(widest < 2000.0 / CLOCK_MARKS * 4);
}

TEST(clock__a_flood_of_marks_at_one_moment_fits)
{
    struct step_clock c;
    clock_init(&c);
    for (unsigned i = 0; i < 5 * CLOCK_MARKS; i++)
        clock_mark(&c, 7, i);
    CHECK(c.count <= CLOCK_MARKS);
    CHECK_NEAR(clock_first(&c)->step, 0, 0);
    CHECK_NEAR(clock_last(&c)->step, 5 * CLOCK_MARKS - 1, 0);
}

TEST(clock__many_restarts_keep_it_small)
{
    struct step_clock c;
    clock_init(&c);
    double seconds = 0;
    for (unsigned run = 0; run < 2000; run++)
        for (unsigned step = 0; step < 50; step++)
            clock_mark(&c, seconds += 0.01, step);
    CHECK(c.count <= CLOCK_MARKS);
    CHECK_NEAR(clock_last(&c)->step, 49, 0);
}

TEST(clock__another_count_has_nothing_to_do_with_the_last)
{
    struct step_clock c;
    clock_init(&c);
    clock_mark(&c, 1, 10);
    clock_mark(&c, 2, 20);
    clock_begin_count(&c);
    CHECK(!clock_runs(&c) && !clock_first(&c) && isnan(c.now.step));
    clock_mark(&c, 3, 50000);
    clock_mark(&c, 4, 50010);
    CHECK(isnan(clock_step_at(&c, 2.5)));
    CHECK_NEAR(clock_step_at(&c, 3.5), 50005, 1e-9);
    CHECK_NEAR(clock_first(&c)->step, 50000, 0);
}

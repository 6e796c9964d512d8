/* tests/unit/test_climb.c: growth that deserves a look inside, long before there is a verdict. */
#include "job/climb.h"

#include "unit.h"

#include <math.h>

#define MB 1048576.0

/* The second at which the climb becomes even, given a value for each second; 0: never in two
 * minutes. */
static int even_after(double (*value)(double seconds))
{
    struct climb c = {0};
    for (int i = 0; i < 120; i++) {
        climb_push(&c, i, value(i));
        if (climb_is_even(&c, 2 * MB))
            return i;
    }
    return 0;
}

static double leak(double t)
{
    return 50 * MB + t * MB + (fmod(t, 3) < 1 ? 20 * MB : 0); /* plus what each step frees again */
}

static double slow(double t)
{
    return t * MB / 60;
}

static double flat(double t)
{
    return 50 * MB + 5 * MB * sin(t);
}

static double jump(double t)
{
    return 50 * MB + (t > 30 ? 100 * MB : 0) + t * MB / 100;
}

static double warm_up(double t)
{
    return 200 * MB * (1 - exp(-t / 10));
}

static double sawtooth(double t)
{
    return fmod(t, 25) * MB;
}

TEST(climb__is_known_within_a_minute)
{
    int after = even_after(leak);
    CHECK(after > 0 && after <= 55);
}

TEST(climb__is_no_jump_no_warm_up_and_no_teeth)
{
    CHECK(even_after(slow) == 0); /* too little per minute: left to the engine */
    CHECK(even_after(flat) == 0);
    CHECK(even_after(jump) == 0);
    CHECK(even_after(warm_up) == 0);
    CHECK(even_after(sawtooth) == 0);
}

TEST(climb__begins_anew_where_nobody_looked)
{
    struct climb c = {0};
    for (int i = 0; i < 50; i++)
        climb_push(&c, i, i * MB);
    CHECK(climb_is_even(&c, 2 * MB));
    climb_push(&c, 90, 90 * MB);
    CHECK(!climb_is_even(&c, 2 * MB));
}

/* tests/unit/test_student.c: Student's distribution against the printed tables. */
#include "stat/stat.h"

#include "unit.h"

TEST(student__agrees_with_the_tables)
{
    CHECK_NEAR(student_quantile(0.05, 1), 12.706, 0.001);
    CHECK_NEAR(student_quantile(0.05, 2), 4.3027, 0.0001);
    CHECK_NEAR(student_quantile(0.05, 3), 3.1824, 0.0001);
    CHECK_NEAR(student_quantile(0.01, 4), 4.6041, 0.0001);
    CHECK_NEAR(student_quantile(0.002, 7), 4.7853, 0.0001);
    CHECK_NEAR(student_quantile(0.05, 30), 2.0423, 0.0001);
    CHECK_NEAR(student_quantile(0.05, 99), 1.9842, 0.0001);
}

TEST(student__chance_and_quantile_are_each_other_inverse)
{
    for (unsigned freedom = 1; freedom < 40; freedom++) {
        for (double chance = 0.001; chance < 1; chance *= 3)
            CHECK_NEAR(student_chance(student_quantile(chance, freedom), freedom), chance, 1e-9);
    }
}

TEST(student__ends_are_certain)
{
    CHECK(student_chance(0, 1) == 1);
    CHECK(student_chance(0, 6) == 1);
    CHECK(student_chance(INFINITY, 3) < 1e-15);
    CHECK(student_chance(-4.3027, 2) < 0.0501 && student_chance(-4.3027, 2) > 0.0499);
}

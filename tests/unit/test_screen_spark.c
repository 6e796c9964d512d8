/* tests/unit/test_screen_spark.c: a series as a few characters. */
#include "screen/spark.h"
#include "unit.h"

static const char *spark(const double *values, unsigned count, bool ascii)
{
    static struct buf out;
    buf_clear(&out);
    spark_add(&out, values, count, false, ascii);
    return buf_text(&out);
}

static void history_of(struct history *h, const double *values, unsigned count)
{
    history_init(h);
    for (unsigned i = 0; i < count; i++)
        history_push(h, i, i, values[i]);
}

TEST(spark__rises_with_its_series)
{
    double values[] = {0, 1, 2, 3, 4, 5, 6, 7};
    CHECK_TEXT(spark(values, 8, false), "▁▂▃▄▅▆▇█");
    CHECK_TEXT(spark(values, 8, true), "__..--=#");
}

TEST(spark__is_level_where_a_series_only_trembles)
{
    double values[] = {1000, 1001, 999, 1002};
    CHECK_TEXT(spark(values, 4, false), "▁▁▁▁");
    double zeros[] = {0, 0};
    CHECK_TEXT(spark(zeros, 2, false), "▁▁");
}

TEST(spark__shows_little_growth_where_it_is_proven)
{
    double values[] = {1000, 1001, 1002, 1003};
    struct buf out = BUF_INIT;
    spark_add(&out, values, 4, true, false);
    CHECK_TEXT(buf_text(&out), "▁▃▆█");
    buf_release(&out);
    CHECK_TEXT(spark(values, 4, false), "▁▁▁▁");
}

TEST(spark__is_blank_where_nothing_is_known)
{
    double values[] = {NAN, 1, 9};
    CHECK_TEXT(spark(values, 3, false), " ▁█");
    double none[] = {NAN, NAN};
    CHECK_TEXT(spark(none, 2, false), "  ");
    CHECK_TEXT(spark(none, 0, false), "");
}

TEST(spark__takes_the_floor_of_each_span)
{
    double values[] = {5, 9, 4, 9, 8, 9, 7, 9}, got[2];
    struct history h;
    history_of(&h, values, 8);
    spark_values(&h, 2, got);
    CHECK_NEAR(got[0], 4, 0);
    CHECK_NEAR(got[1], 7, 0);
    history_release(&h);
}

TEST(spark__keeps_the_level_between_two_samples)
{
    double values[] = {5, 6}, got[6];
    struct history h;
    history_of(&h, values, 2);
    spark_values(&h, 6, got);
    for (unsigned i = 0; i < 5; i++)
        CHECK_NEAR(got[i], 5, 0);
    CHECK_NEAR(got[5], 6, 0);
    history_release(&h);
}

TEST(spark__of_one_sample_or_none_is_no_trouble)
{
    double one = 3, got[3];
    struct history h;
    history_of(&h, &one, 1);
    spark_values(&h, 3, got);
    CHECK(isnan(got[0]) && got[2] == 3);
    history_release(&h);
    history_init(&h);
    spark_values(&h, 3, got);
    CHECK(isnan(got[0]) && isnan(got[2]));
    spark_values(&h, 0, got);
    history_release(&h);
}

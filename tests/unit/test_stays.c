/* tests/unit/test_stays.c: what a series did during the phases of its program. */
#include "job/stays.h"
#include "unit.h"

#define MB 1048576.0

enum { EVALUATE, SAVE };

/* One stay in a phase: a sample in it, and one after it. */
static void stay(struct stays *s, unsigned phase, double in, double after)
{
    stays_begin(s, phase, NAN);
    stays_note(s, in);
    stays_end(s, phase);
    stays_note(s, after);
}

TEST(stays__a_spike_is_measured_from_the_floor_around_it)
{
    struct stays s = {0};
    struct stay found;
    CHECK(!stays_found(&s, EVALUATE, &found));
    stays_begin(&s, EVALUATE, 100 * MB);
    stays_note(&s, 180 * MB);
    stays_note(&s, 300 * MB);
    stays_note(&s, 120 * MB);
    CHECK(!stays_found(&s, EVALUATE, &found));
    stays_end(&s, EVALUATE);
    CHECK(!stays_found(&s, EVALUATE, &found)); /* no sample follows it yet */
    stays_note(&s, 140 * MB);
    stays_note(&s, 100 * MB);
    stays_note(&s, 130 * MB);
    CHECK(stays_found(&s, EVALUATE, &found));
    CHECK(found.looked_at == 1 && found.given_back == 1);
    CHECK_NEAR(found.height, 200 * MB, 0);
    CHECK_NEAR(found.kept, 0, 0);
    CHECK(!stays_found(&s, SAVE, &found));
}

TEST(stays__what_stayed_was_not_given_back)
{
    struct stays s = {0};
    struct stay found;
    stays_note(&s, 100 * MB);
    for (int i = 1; i <= 12; i++)
        stay(&s, EVALUATE, (200 + 10 * i) * MB, (100 + 10 * i) * MB);
    CHECK(stays_found(&s, EVALUATE, &found));
    CHECK(found.looked_at == 12 && found.given_back == 0);
    CHECK_NEAR(found.kept, 120 * MB, 0);
    CHECK_NEAR(found.height, 100 * MB, 0);
}

/* A little always stays, because of how allocators work. */
TEST(stays__a_little_of_much_is_nothing)
{
    struct stays s = {0};
    struct stay found;
    stays_note(&s, 100 * MB);
    stay(&s, EVALUATE, 300 * MB, 103 * MB);
    stay(&s, SAVE, 105 * MB, 103.9 * MB);
    CHECK(stays_found(&s, EVALUATE, &found) && found.given_back == 1);
    CHECK(stays_found(&s, SAVE, &found) && found.given_back == 1);
    stay(&s, SAVE, 110 * MB, 105.5 * MB);
    CHECK(stays_found(&s, SAVE, &found) && found.looked_at == 2 && found.given_back == 1);
}

/* Memory that was there before, or falls when the program ends, does not belong to the phase. */
TEST(stays__what_was_there_before_is_not_of_the_phase)
{
    struct stays s = {0};
    struct stay found;
    stays_begin(&s, SAVE, 200 * MB);
    stays_note(&s, 200 * MB);
    stays_end(&s, SAVE);
    stays_note(&s, 10 * MB);
    CHECK(stays_found(&s, SAVE, &found));
    CHECK_NEAR(found.height, 0, 0);
    CHECK(found.given_back == 1);
}

TEST(stays__phases_in_one_another_are_each_for_itself)
{
    struct stays s = {0};
    struct stay found;
    stays_begin(&s, EVALUATE, 100 * MB);
    stays_note(&s, 150 * MB);
    stays_begin(&s, SAVE, 150 * MB);
    stays_note(&s, 400 * MB);
    stays_end(&s, SAVE);
    stays_note(&s, 150 * MB);
    stays_end(&s, EVALUATE);
    stays_note(&s, 100 * MB);
    CHECK(stays_found(&s, SAVE, &found));
    CHECK_NEAR(found.height, 250 * MB, 0);
    CHECK(stays_found(&s, EVALUATE, &found));
    CHECK_NEAR(found.height, 300 * MB, 0);
}

/* What another phase takes right afterwards was not left by this one. */
TEST(stays__the_next_phase_ends_what_comes_after)
{
    struct stays s = {0};
    struct stay found;
    stays_note(&s, 100 * MB);
    stays_begin(&s, EVALUATE, NAN);
    stays_note(&s, 200 * MB);
    stays_end(&s, EVALUATE);
    stays_note(&s, 100 * MB);
    stay(&s, SAVE, 50 * MB, 20 * MB);
    CHECK(stays_found(&s, EVALUATE, &found));
    CHECK_NEAR(found.kept, 0, 0);
    CHECK_NEAR(found.height, 100 * MB, 0);
}

/* An end without a begin, and a begin about which nothing is known. */
TEST(stays__what_is_not_known_is_not_counted)
{
    struct stays s = {0};
    struct stay found;
    stays_end(&s, EVALUATE);
    stays_note(&s, 100 * MB);
    CHECK(!stays_found(&s, EVALUATE, &found));
    s = (struct stays){0};
    stays_begin(&s, EVALUATE, NAN);
    stays_note(&s, 100 * MB);
    stays_end(&s, EVALUATE);
    stays_note(&s, 100 * MB);
    CHECK(!stays_found(&s, EVALUATE, &found));
}

/* An allocator keeps what the first evaluation took, and reuses it. */
TEST(stays__what_is_kept_once_is_no_rise)
{
    struct stays s = {0};
    struct stay found;
    stays_note(&s, 100 * MB);
    stay(&s, EVALUATE, 300 * MB, 150 * MB);
    CHECK(stays_found(&s, EVALUATE, &found) && found.looked_at == 1 && found.given_back == 0);
    CHECK_NEAR(found.kept, 50 * MB, 0);
    stay(&s, EVALUATE, 300 * MB, 150 * MB);
    stays_note(&s, 110 * MB);
    stay(&s, EVALUATE, 300 * MB, 148 * MB); /* lower in between: no more than was kept */
    stay(&s, EVALUATE, 300 * MB, 150 * MB);
    CHECK(stays_found(&s, EVALUATE, &found) && found.looked_at == 4 && found.given_back == 4);
    CHECK_NEAR(found.kept, 0, 0);
}

/* A second step up is a rise. */
TEST(stays__what_rises_again_is_told_with_the_first)
{
    struct stays s = {0};
    struct stay found;
    stays_note(&s, 100 * MB);
    stay(&s, EVALUATE, 300 * MB, 150 * MB);
    stay(&s, EVALUATE, 300 * MB, 150 * MB);
    stay(&s, EVALUATE, 300 * MB, 180 * MB);
    CHECK(stays_found(&s, EVALUATE, &found) && found.looked_at == 3 && found.given_back == 1);
    CHECK_NEAR(found.kept, 80 * MB, 0);
}

/* What the training itself leaks between two stays does not belong to them. */
TEST(stays__growth_between_them_is_not_theirs)
{
    struct stays s = {0};
    struct stay found;
    stays_note(&s, 100 * MB);
    for (int i = 1; i <= 5; i++) {
        stay(&s, EVALUATE, 300 * MB, (100 + 10 * (i - 1)) * MB);
        stays_note(&s, (100 + 10 * i) * MB);
    }
    CHECK(stays_found(&s, EVALUATE, &found) && found.looked_at == 5 && found.given_back == 5);
}

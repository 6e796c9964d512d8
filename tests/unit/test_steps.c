/* tests/unit/test_steps.c: which calls are steps, and which loaders make an epoch. */
#include "unit.h"

#include "probe/hook/step_counter.h"

static const char first, second, train, held_out, other;

static void step(struct step_counter *c, const void *optimizer, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        steps_of_optimizer(c, optimizer, false);
}

TEST(steps__those_of_the_first_optimizer_count)
{
    struct step_counter c = {0};
    for (unsigned i = 0; i < 100; i++) {
        CHECK(steps_of_optimizer(&c, &first, false));
        CHECK(!steps_of_optimizer(&c, &second, false));
    }
    CHECK_NEAR(c.steps, 100, 0);
}

TEST(steps__another_goes_on_where_the_first_is_gone)
{
    struct step_counter c = {0};
    step(&c, &first, 10);
    CHECK(steps_of_optimizer(&c, &second, true));
    CHECK_NEAR(c.steps, 11, 0);
}

TEST(steps__another_takes_over_when_the_first_makes_none)
{
    struct step_counter c = {0};
    step(&c, &first, 10);
    step(&c, &second, 100);
    CHECK(c.optimizer == &second);
    CHECK_NEAR(c.steps, 10 + 51, 0);
}

/* One optimizer for every task of a stream; all of them are kept. */
TEST(steps__optimizers_that_follow_each_other_all_count)
{
    struct step_counter c = {0};
    static const char tasks[150];
    for (unsigned i = 0; i < 150; i++)
        step(&c, &tasks[i], 2);
    CHECK_NEAR(c.steps, 300 - 49, 0);
}

TEST(steps__two_that_alternate_after_one_was_done_count_once)
{
    struct step_counter c = {0};
    step(&c, &first, 10);
    step(&c, &second, 60);
    double before = c.steps;
    for (unsigned i = 0; i < 40; i++) {
        step(&c, &second, 1);
        step(&c, &other, 1);
    }
    CHECK(c.steps - before <= 41);
}

TEST(steps__many_critic_steps_for_one_of_the_generator)
{
    struct step_counter c = {0};
    for (unsigned i = 0; i < 20; i++) {
        step(&c, &first, 1);
        step(&c, &second, 5);
    }
    CHECK_NEAR(c.steps, 20, 0);
}

TEST(steps__an_epoch_is_the_end_of_the_loader_that_feeds_them)
{
    struct step_counter c = {0};
    for (unsigned epoch = 1; epoch <= 3; epoch++) {
        for (unsigned i = 0; i < 40; i++) {
            steps_batch_taken(&c, &train, 40);
            step(&c, &first, 1);
            if (i % 10 == 5) {
                steps_batch_taken(&c, &held_out, 1);
                CHECK(!steps_loader_exhausted(&c, &held_out));
            }
        }
        CHECK(steps_loader_exhausted(&c, &train));
        CHECK_NEAR(c.epochs, epoch, 0);
    }
}

/* Some frameworks count the batches and never request one too many. */
TEST(steps__a_loader_that_has_given_all_ends_with_the_next_batch)
{
    struct step_counter c = {0};
    for (unsigned epoch = 0; epoch < 3; epoch++) {
        for (unsigned i = 0; i < 40; i++) {
            CHECK(steps_batch_taken(&c, &train, 40).epoch_ended == (epoch > 0 && i == 0));
            step(&c, &first, 1);
        }
        CHECK_NEAR(c.epochs, epoch, 0);
    }
    CHECK(steps_batch_taken(&c, &held_out, 5).epoch_ended);
    CHECK_NEAR(c.epochs, 3, 0);
    CHECK_NEAR(c.steps_at_epoch, 120, 0);
}

TEST(steps__two_loaders_that_end_together_are_one_epoch)
{
    struct step_counter c = {0};
    for (unsigned i = 0; i < 40; i++) {
        steps_batch_taken(&c, &train, 40);
        steps_batch_taken(&c, &other, 40);
        step(&c, &first, 1);
    }
    CHECK(steps_loader_exhausted(&c, &train));
    CHECK(!steps_loader_exhausted(&c, &other));
    CHECK_NEAR(c.epochs, 1, 0);
}

/* The last batch is fetched ahead, and the first one of the validation before the last steps. */
TEST(steps__a_loader_that_begins_before_the_last_step_is_no_epoch)
{
    struct step_counter c = {0};
    for (unsigned epoch = 1; epoch <= 3; epoch++) {
        for (unsigned i = 0; i < 40; i++) {
            steps_batch_taken(&c, &train, 40);
            step(&c, &first, i < 39);
        }
        steps_loader_exhausted(&c, &train);
        steps_batch_taken(&c, &held_out, 40);
        step(&c, &first, 1);
        steps_loader_exhausted(&c, &held_out);
        CHECK_NEAR(c.epochs, epoch, 0);
    }
}

TEST(steps__a_loader_that_was_never_read_is_no_epoch)
{
    struct step_counter c = {0};
    step(&c, &first, 5);
    CHECK(!steps_loader_exhausted(&c, &train));
}

/* An epoch of 100 batches, four per step, two fetched ahead. */
TEST(steps__the_length_of_an_epoch_is_told_once_and_in_steps)
{
    struct step_counter c = {0};
    double told = NAN;
    unsigned times = 0;
    steps_batch_taken(&c, &train, 100);
    steps_batch_taken(&c, &train, 100);
    for (unsigned i = 2; i < 100; i++) {
        struct loader_news news = steps_batch_taken(&c, &train, 100);
        if (isfinite(news.epoch_length)) {
            told = news.epoch_length;
            times++;
        }
        if (i % 4 == 0)
            step(&c, &first, 1);
    }
    CHECK(times == 1);
    CHECK_NEAR(told, 25, 0);
}

TEST(steps__a_loader_without_length_tells_none)
{
    struct step_counter c = {0};
    for (unsigned i = 0; i < 40; i++) {
        CHECK(isnan(steps_batch_taken(&c, &train, NAN).epoch_length));
        step(&c, &first, 1);
    }
}

TEST(steps__more_loaders_than_are_remembered)
{
    static const char many[20];
    struct step_counter c = {0};
    for (unsigned i = 0; i < 20; i++) {
        steps_batch_taken(&c, &many[i], 5);
        step(&c, &first, 1);
    }
    CHECK(!steps_loader_exhausted(&c, &many[0]));
    CHECK(steps_loader_exhausted(&c, &many[19]));
}

TEST(steps__somebody_else_counts)
{
    struct step_counter c = {0};
    steps_batch_taken(&c, &train, 10);
    steps_are(&c, 50010);
    CHECK(steps_loader_exhausted(&c, &train));
    CHECK_NEAR(c.steps, 50010, 0);
}

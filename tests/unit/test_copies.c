/* tests/unit/test_copies.c: what data workers copy, and what the report says about it. */
#include "unit.h"
#include "words/copies.h"

#define MB (1024.0 * 1024)

static struct copy_facts two_workers(double each)
{
    return (struct copy_facts){
        .parent = "trainer 7",
        .workers = 2,
        .measured = 2,
        .each = each,
        .all = 2 * each,
        .inherited = 200 * MB,
        .trend = COPIES_STAND,
        .rate = NAN,
        .clock = CLOCK_STEP,
        .objects = 0,
    };
}

static struct copy_facts two_named(double each, double objects)
{
    struct copy_facts f = two_workers(each);
    f.type = "list";
    f.owner = "Files";
    f.attribute = "samples";
    f.objects = f.objects_all = objects;
    return f;
}

static const char *said(const struct copy_facts *f)
{
    static char text[2048];
    struct buf b = BUF_INIT;
    struct copies c;
    copies_judge(f, &c);
    copies_describe(&b, f, &c);
    snprintf(text, sizeof(text), "%s", buf_text(&b));
    buf_release(&b);
    return text;
}

static bool matters(const struct copy_facts *f)
{
    struct copies c;
    copies_judge(f, &c);
    return c.matter;
}

TEST(copies__what_every_worker_copies_is_not_told)
{
    struct copy_facts f = two_workers(30 * MB);
    CHECK(!matters(&f));
    f.each = 110 * MB;
    f.inherited = 420 * MB;
    CHECK(!matters(&f));
    f = two_named(6 * MB, 46 * MB);
    CHECK(!matters(&f));
    f = two_workers(NAN);
    CHECK(!matters(&f));
}

TEST(copies__a_list_that_is_copied_is_named)
{
    struct copy_facts f = two_named(52 * MB, 46 * MB);
    CHECK(matters(&f));
    CHECK_TEXT(
        said(&f),
        "2 data workers of trainer 7 have copied 52.0 MB each (104 MB in all) of the 200 MB they "
        "shared at the fork. It is mostly Files.samples, a list with about 46.0 MB of Python "
        "objects: reading an object writes its reference count, which copies its page. It does "
        "not grow any more: not a leak. To share it, keep it as one numpy array, torch tensor or "
        "Arrow "
        "table (self.samples: one array for each field, not of objects), or use fewer workers.");
}

TEST(copies__an_attribute_that_explains_little_is_not_named)
{
    struct copies c;
    struct copy_facts f = two_named(110 * MB, 5 * MB);
    copies_judge(&f, &c);
    CHECK(c.matter && !c.named && !c.part);
    CHECK(!strstr(said(&f), "samples"));
    f = two_named(110 * MB, 40 * MB);
    copies_judge(&f, &c);
    CHECK(c.matter && !c.named && c.part);
    CHECK(strstr(said(&f), "Part of that may be Files.samples, a list with about 40.0 MB"));
    f = two_named(20 * MB, 190 * MB);
    copies_judge(&f, &c);
    CHECK(!c.named && !c.matter);
}

/* Measured with two workers and a list of 22.9 MB: 29.2 MB each with random reads, of which the
 * interpreter takes 6 MB to 7 MB; 19.6 MB with sequential reads. */
TEST(copies__growth_ends_at_the_size_of_the_list_at_most)
{
    struct copies c;
    struct copy_facts f = two_named(30 * MB, 100 * MB);
    f.trend = COPIES_GROW;
    f.rate = MB;
    copies_judge(&f, &c);
    CHECK(c.matter);
    CHECK_NEAR(c.ends_at, 106.5 * MB, 0);
    CHECK(strstr(said(&f), "It still grows by 1.00 MB/step each, to at most about 106 MB each, "
                           "when each has read every object: not a leak."));
    f.workers = f.measured = 1;
    f.all = f.each = 40 * MB;
    CHECK(strstr(said(&f), "1.00 MB/step, to at most about 106 MB, when it has read every object"));
}

/* Read in order, or in part: the copies stay as they are, and the report promises nothing else. */
TEST(copies__what_stands_is_not_said_to_go_on)
{
    struct copies c;
    struct copy_facts f = two_named(56 * MB, 100 * MB);
    copies_judge(&f, &c);
    CHECK(isnan(c.ends_at));
    CHECK(strstr(said(&f), "It does not grow any more: not a leak. To share it"));
}

TEST(copies__the_end_is_never_more_than_was_shared)
{
    struct copies c;
    struct copy_facts f = two_named(60 * MB, 100 * MB);
    f.trend = COPIES_GROW;
    f.inherited = 90 * MB;
    copies_judge(&f, &c);
    CHECK_NEAR(c.ends_at, 90 * MB, 0);
}

TEST(copies__what_nobody_names_ends_at_what_was_shared)
{
    struct copies c;
    struct copy_facts f = two_workers(110 * MB);
    f.trend = COPIES_GROW;
    f.rate = MB;
    copies_judge(&f, &c);
    CHECK(c.matter && !c.named);
    CHECK_NEAR(c.ends_at, 200 * MB, 0);
    CHECK(strstr(said(&f), "1.00 MB/step each, to at most 200 MB each: not a leak."));
}

/* From outside nobody knows what it is: this much may be the dataset or the interpreter. */
TEST(copies__without_a_probe_the_way_to_know_is_said)
{
    struct copies c;
    struct copy_facts f = two_workers(60 * MB);
    f.inherited = 400 * MB;
    copies_judge(&f, &c);
    CHECK(!c.matter && c.may_matter);
    CHECK(strstr(said(&f), "Whether part of this is the dataset is only known if the job is "
                           "started with 'tidemark run'."));
    CHECK(!strstr(said(&f), "numpy"));
    f.probed = true;
    copies_judge(&f, &c);
    CHECK(!c.matter && !c.may_matter);
    f = two_workers(130 * MB);
    copies_judge(&f, &c);
    CHECK(c.matter && !c.may_matter);
    CHECK(strstr(said(&f), "Which attribute of the dataset it is is only known"));
    f = two_workers(10 * MB);
    copies_judge(&f, &c);
    CHECK(!c.matter && !c.may_matter);
}

TEST(copies__too_few_looks_say_nothing_about_growth)
{
    struct copy_facts f = two_named(52 * MB, 46 * MB);
    f.trend = COPIES_UNKNOWN;
    CHECK(!strstr(said(&f), "grow"));
    CHECK(strstr(said(&f), "That is almost all of it: not a leak."));
    f = two_workers(130 * MB);
    f.trend = COPIES_UNKNOWN;
    CHECK(strstr(said(&f), "It cannot exceed what was shared at the fork: not a leak."));
    f = two_named(20 * MB, 46 * MB);
    f.trend = COPIES_UNKNOWN;
    CHECK(
        strstr(said(&f), "It ends at about 52.5 MB at most each, when each has read every object"));
}

TEST(copies__what_is_known_of_one_is_not_multiplied)
{
    struct copy_facts f = two_named(52 * MB, 46 * MB);
    f.measured = 1;
    f.all = f.each;
    CHECK(matters(&f));
    CHECK(strstr(said(&f), "2 data workers of trainer 7 have copied 52.0 MB each of the"));
    f.workers = 1;
    CHECK(strstr(said(&f), "the data worker of trainer 7 has copied 52.0 MB of the"));
}

TEST(copies__spawned_workers_are_told_by_what_they_were_given)
{
    struct copy_facts f = two_workers(210 * MB);
    f.spawned = true;
    CHECK(!matters(&f));
    f = two_named(210 * MB, 46 * MB);
    f.spawned = true;
    CHECK(matters(&f));
    CHECK(strstr(said(&f), "were spawned, not forked, and share nothing with it: up to 210 MB"));
    CHECK(strstr(said(&f), "Part of that is Files.samples, a list with about 46.0 MB"));
    f.each = 40 * MB;
    CHECK(!matters(&f));
}

static enum copy_trend trend_of(const double *values, unsigned count, double *ret_rate)
{
    struct history h;
    history_init(&h);
    for (unsigned i = 0; i < count; i++)
        history_push(&h, i, i, values[i] * MB);
    enum copy_trend trend = copies_trend(&h, ret_rate);
    history_release(&h);
    return trend;
}

TEST(copies__the_trend_is_of_the_last_quarter)
{
    double rate;
    CHECK(trend_of((double[]){50}, 1, &rate) == COPIES_UNKNOWN);
    CHECK(trend_of((double[]){0, 40, 50, 51, 51.2, 51.3}, 6, &rate) == COPIES_STAND);
    CHECK(isnan(rate));
    CHECK(trend_of((double[]){10, 20, 30, 40, 50}, 5, &rate) == COPIES_GROW);
    CHECK_NEAR(rate, 10 * MB, 1);
}

TEST(left__is_what_no_fault_has_copied)
{
    CHECK(copies_left(0, 200 * MB, 5 * MB) == 195 * MB);
    CHECK(copies_left(195 * MB, 10 * MB, 80 * MB) == 195 * MB); /* copied in full */
    CHECK(copies_left(195 * MB, -40 * MB, 0) == 195 * MB);
}

/* tests/unit/test_sites_words.c: lines that allocate, in words. */
#include "words/sites.h"

#include "unit.h"

#include <math.h>

#define KB 1024.0
#define MB (1024 * KB)

static char text[600];

static const char *taken(struct buf *b)
{
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

static const char *frame(struct site_frame f)
{
    struct buf b = BUF_INIT;
    site_words_frame(&b, &f);
    return taken(&b);
}

TEST(site_words__a_frame_has_what_is_known_of_it)
{
    CHECK_TEXT(frame((struct site_frame){"step", "/me/train.py", 41, "", 0, false}),
               "step (/me/train.py:41)");
    CHECK_TEXT(frame((struct site_frame){"at::empty", "", 0, "/lib/libtorch.so", 9, false}),
               "at::empty (libtorch.so)");
    CHECK_TEXT(frame((struct site_frame){"", "", 0, "/lib/libleak.so", 0x1234, false}),
               "libleak.so+0x1234");
    CHECK_TEXT(frame((struct site_frame){"leak", "/src/leak.c", 7, "/lib/libleak.so", 9, true}),
               "leak (/src/leak.c:7)");
    CHECK_TEXT(frame((struct site_frame){"", "", 0, "", 0, false}), "");
}

static struct site_facts leaks(void)
{
    return (struct site_facts){
        .what = "train.py:41 step",
        .bytes_a_unit = {3.5 * KB, 4.5 * KB},
        .rate = 4 * KB,
        .clock = CLOCK_STEP,
        .share = {0.9, 0.98},
        .habit = SITE_KEEPS,
    };
}

static const char *words(const struct site_facts *f)
{
    struct buf b = BUF_INIT;
    site_words(&b, f);
    return taken(&b);
}

TEST(site_words__a_leak_has_its_rate_and_its_share)
{
    struct site_facts f = leaks();
    CHECK_TEXT(words(&f), "train.py:41 step: +4.00 KB a step (3.50 KB to 4.50 KB), 90 to 98 % of "
                          "the growth; all of it stays");
    f.clock = CLOCK_SECONDS;
    f.habit = SITE_HABIT_UNKNOWN;
    CHECK_TEXT(words(&f), "train.py:41 step: +240 KB a minute (210 KB to 270 KB), 90 to 98 % of "
                          "the growth");
}

TEST(site_words__a_line_that_stopped_has_no_rate)
{
    struct site_facts f = leaks();
    f.has_stopped = true;
    CHECK_TEXT(words(&f), "train.py:41 step: has stopped growing, 90 to 98 % of the growth");
    f.has_stopped = false;
    f.rate = NAN; /* no steps were counted */
    f.habit = SITE_KEPT_EARLY;
    CHECK_TEXT(words(&f),
               "train.py:41 step: 90 to 98 % of the growth; most of it from the beginning");
}

TEST(site_words__memory_that_may_be_replaced_explains_at_most_so_much)
{
    struct site_facts f = leaks();
    f.habit = SITE_ROTATES;
    f.share = (struct interval){0, 0.4};
    f.bytes_a_unit.low = 0;
    CHECK_TEXT(words(&f), "train.py:41 step: +4.00 KB a step (0 B to 4.50 KB), up to 40 % of the "
                          "growth; new memory replaces old");
    f.share = (struct interval){0.001, 0.004};
    f.habit = SITE_CHURNS;
    CHECK_TEXT(words(&f), "train.py:41 step: +4.00 KB a step (0 B to 4.50 KB), up to 1 % of the "
                          "growth; most of it is freed again");
}

TEST(site_words__say_where_a_finding_was_allocated)
{
    struct buf b = BUF_INIT;
    site_words_allocated(&b, "train.py:41 step", (struct interval){0.92, 0.921}, SITE_MALLOC);
    CHECK_TEXT(taken(&b), "allocated at train.py:41 step (92 % of the growth)");
    site_words_allocated(&b, "train.py:41 step", (struct interval){0, 1}, SITE_DEVICE);
    CHECK_TEXT(taken(&b), "allocated at train.py:41 step (up to 100 % of the growth of device "
                          "memory)");
}

static const char *tracer(const struct tracer_view *t)
{
    struct buf b = BUF_INIT;
    site_words_tracer(&b, t);
    return taken(&b);
}

TEST(site_words__say_what_the_tracer_did)
{
    struct tracer_view t = {
        .process = "trainer 7",
        .from = 12,
        .to = 90,
        .interval = 512 * KB,
        .samples = 1234,
        .not_seen = NAN,
        .spent_seconds = 0.02,
        .has_native = true,
        .has_python = true,
    };
    CHECK_TEXT(tracer(&t),
               "trainer 7: one allocation in about 512 KB sampled from 12.0 s to 90.0 s: "
               "1,234 samples took 20.0 ms");
    t.not_seen = -5 * MB; /* within its error */
    t.has_python = false; /* a C program */
    CHECK(!strstr(tracer(&t), "passed") && !strstr(text, "functions"));
    t.not_seen = 3 * MB;
    t.dropped = 2;
    CHECK(strstr(tracer(&t), "; at least 3.00 MB of the growth passed the tracer by; 2 samples "
                             "found no room"));
    t.has_native = false;
    CHECK(strstr(tracer(&t), "; without functions: stacks cannot be read here"));
    t.has_python = true;
    CHECK(strstr(tracer(&t), "; Python functions only: native stacks cannot be read here"));
    t.from = NAN;
    t.blocks_from = 12;
    t.blocks_to = 80;
    t.blocks_seconds = 0.1;
    CHECK_TEXT(tracer(&t), "trainer 7: torch recorded its allocations on devices from 12.0 s to "
                           "80.0 s: reading them took 100 ms");
}

/* tests/unit/test_patterns.c: look-alikes of a leak, in words. */
#include "words/patterns.h"

#include "unit.h"

#include <stdio.h>

#define MB (1024.0 * 1024)

static const char *taken(struct buf *b)
{
    static char text[256];
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

TEST(patterns__one_that_returns_and_one_that_does_not)
{
    struct buf out = BUF_INIT;
    struct pattern_facts f = {.pattern = PATTERN_SPIKES,
                              .series = "trainer 7 host.anon",
                              .low = 100 * MB,
                              .high = 200 * MB,
                              .returns = true};
    pattern_describe(&out, &f);
    CHECK_TEXT(taken(&out),
               "spikes: trainer 7 host.anon, repeatedly from 100 MB to 200 MB and back");
    f.pattern = PATTERN_BOUNDED_CACHE;
    f.returns = false;
    f.slows = true;
    f.others = 2;
    pattern_describe(&out, &f);
    CHECK_TEXT(taken(&out), "bounded-cache: trainer 7 host.anon, from 100 MB to 200 MB, ever more "
                            "slowly, and 2 other series");
}

TEST(patterns__copies_of_one_worker_and_of_several)
{
    struct buf out = BUF_INIT;
    pattern_describe_copies(&out, 1, "trainer 7", 20 * MB);
    CHECK_TEXT(taken(&out), "copy-on-write: 1 data worker of trainer 7 copied 20.0 MB");
    pattern_describe_copies(&out, 3, "trainer 7", 60 * MB);
    CHECK_TEXT(taken(&out), "copy-on-write: 3 data workers of trainer 7 copied 60.0 MB in all");
}

TEST(patterns__a_heap_that_goes_up_and_down)
{
    struct buf out = BUF_INIT;
    pattern_describe_heap(&out, "trainer 7", 10 * MB, 90 * MB);
    CHECK_TEXT(taken(&out),
               "sawtooth: malloc's in-use memory in trainer 7, repeatedly from 10.0 MB "
               "to 90.0 MB and back");
}

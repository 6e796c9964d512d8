/* tests/unit/test_evidence.c: what the censuses showed, in words. */
#include "words/evidence.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>

#define MB (1024.0 * 1024)

static const char *taken(struct buf *b)
{
    static char text[1024];
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

TEST(evidence__points_of_a_growth)
{
    struct buf out = BUF_INIT;
    struct census_points p = {20, 500, 20, 499, SERIES_COUNT, CLOCK_STEP, 12};
    evidence_words_points(&out, &p);
    CHECK_TEXT(taken(&out), "from 20 at step 20 to 500 at step 499, more at each of 12 censuses");
    p = (struct census_points){MB, 2 * MB, NAN, NAN, SERIES_BYTES, CLOCK_SECONDS, 3};
    evidence_words_points(&out, &p);
    CHECK_TEXT(taken(&out), "from 1.00 MB to 2.00 MB, more at each of 3 censuses");
}

TEST(evidence__views_and_bounds)
{
    struct buf out = BUF_INIT;
    evidence_words_view(&out, 4 * MB);
    CHECK_TEXT(taken(&out), "each is a view that keeps 4.00 MB more than it shows; x.clone() would "
                            "not");
    evidence_words_bound(&out, 300, 1000, 1240.2, CLOCK_STEP);
    CHECK_TEXT(taken(&out), "it has 300 of at most 1,000 items and is full at about step 1,241");
}

TEST(evidence__what_was_tried_and_what_that_shows)
{
    struct buf out = BUF_INIT;
    struct tried_facts f = {TRIED_GC, 2, 5000, 187 * MB, true};
    evidence_words_tried(&out, &f);
    CHECK_TEXT(taken(&out), "gc.collect() (--probe gc), tried 2 times, found 5,000 unreachable "
                            "objects and gave back 187 MB: reference cycles were waiting for the "
                            "collector");
    f = (struct tried_facts){TRIED_GC, 1, 0, 0, false};
    evidence_words_tried(&out, &f);
    CHECK_TEXT(taken(&out),
               "gc.collect() (--probe gc), tried 1 time, gave back nothing: the growth "
               "is reachable, or is in native code");
    f = (struct tried_facts){TRIED_TRIM, 1, 0, 3 * MB, true};
    evidence_words_tried(&out, &f);
    CHECK_TEXT(taken(&out), "malloc_trim() (--probe trim), tried 1 time, gave back 3.00 MB: malloc "
                            "retained what the program had freed");
    f.gave_back = false;
    evidence_words_tried(&out, &f);
    CHECK(strstr(taken(&out), "gave back nothing: the growth is in use"));
}

static const char *not_found(enum not_found why)
{
    struct buf out = BUF_INIT;
    evidence_words_not_found(&out, why, "trainer 7", 1, 3);
    return taken(&out);
}

TEST(evidence__why_the_holder_is_not_known)
{
    CHECK_TEXT(
        not_found(NOT_FOUND_IDLE),
        "the holder in trainer 7 is not known: tidemark counts objects when an optimizer steps "
        "or a line is printed, and this process did neither. Print a line now and then in its "
        "loop, or call tidemark.Watcher().step()");
    CHECK_TEXT(not_found(NOT_FOUND_FEW), "the holder in trainer 7 is not known: 1 census in a row; "
                                         "3 are required. A longer run would tell");
    CHECK_TEXT(not_found(NOT_FOUND_ENDED),
               "the holder in trainer 7 is not known: two censuses before it ended, and what it "
               "held is gone. A longer run would tell");
    CHECK_TEXT(not_found(NOT_FOUND_EARLY),
               "the holder in trainer 7 is not known: its objects were counted only at its "
               "beginning. A longer run would tell");
    CHECK_TEXT(not_found(NOT_FOUND_GRAPHS),
               "the holder in trainer 7 is not known: tensors have graphs behind them, which were "
               "not measured often enough. A longer run would tell");
    CHECK_TEXT(
        not_found(NOT_FOUND_WORKER),
        "the holder in trainer 7 is not known: tidemark counts a worker's objects at the "
        "batches of a DataLoader, and saw none. In a DataLoader's worker, check what the "
        "dataset keeps in __getitem__ and what its transforms keep, or train a few hundred "
        "steps with num_workers=0. In a pool or a manager, check what it receives and keeps");
}

/* tests/unit/test_attached.c: attaching and detaching, as sentences. */
#include "unit.h"
#include "words/attached.h"

static char text[500];

static const char *taken(struct buf *b)
{
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

static const char *described(const struct attached_process *e)
{
    struct buf b = BUF_INIT;
    attached_describe(&b, e);
    return taken(&b);
}

TEST(attached__a_process_has_its_pauses_and_its_end)
{
    char process[] = "trainer 7", python[] = "3.12.1", why[] = "it is no Python";
    struct attached_process e = {.process = process,
                                 .python = python,
                                 .stops = 2,
                                 .stopped_seconds = 0.0007,
                                 .attached_seconds = 30,
                                 .counted = true,
                                 .left = true};
    CHECK_TEXT(described(&e), "trainer 7 (Python 3.12.1), paused for 700 us in 2 stops; detached; "
                              "only the idle probe library stays loaded");
    e.stops = 1;
    e.ended = true;
    CHECK_TEXT(described(&e), "trainer 7 (Python 3.12.1), paused for 700 us in 1 stop; it has "
                              "ended since");
    e.ended = e.left = e.counted = false;
    CHECK(strstr(described(&e), "; no objects were counted: no safe point came within 30 s: its "
                                "main thread is inside one long call."));
    e = (struct attached_process){.process = process, .why = why};
    CHECK_TEXT(described(&e), "trainer 7: it is no Python");
}

TEST(attached__is_announced_with_the_pause)
{
    struct buf b = BUF_INIT;
    attached_announce(&b, "trainer 7", 0.0007, -1);
    CHECK_TEXT(taken(&b), "tidemark: attached to trainer 7 (paused 700 us)\n");
    attached_announce(&b, "trainer 7", 0.0007, 1000);
    CHECK_TEXT(taken(&b), "tidemark: attached to trainer 7 as user 1000, with that user's rights "
                          "to files (paused 700 us)\n");
    attached_announce_waiting(&b);
    CHECK_TEXT(taken(&b), "tidemark: waiting to attach: a process is inside a long call\n");
}

TEST(attached__a_failure_says_what_to_run)
{
    struct buf b = BUF_INIT;
    attached_announce_failure(&b, "trainer 7", 7, "Not allowed.", REMEDY_NONE);
    CHECK_TEXT(taken(&b), "tidemark: could not attach to trainer 7. Not allowed.\n");
    attached_announce_failure(&b, "trainer 7", 7,
                              "could not attach to process 7 (python3): it is a "
                              "kernel thread.",
                              REMEDY_NONE);
    CHECK_TEXT(taken(&b),
               "tidemark: could not attach to process 7 (python3): it is a kernel thread.\n");
    attached_announce_failure(&b, "trainer 7", 7, "Not allowed.", REMEDY_ROOT);
    CHECK_TEXT(taken(&b), "tidemark: could not attach to trainer 7. Not allowed. To find the "
                          "holder, run sudo tidemark profile --pid 7\n");
    attached_announce_failure(&b, "trainer 7", 7, "It is busy.", REMEDY_RETRY);
    CHECK_TEXT(taken(&b), "tidemark: could not attach to trainer 7. It is busy. tidemark tries "
                          "again in a minute; or run tidemark profile --pid 7\n");
    attached_announce_suspect(&b, "trainer 7", 7);
    CHECK_TEXT(taken(&b), "tidemark: trainer 7 grows. To find the holder, run tidemark profile "
                          "--pid 7\n");
}

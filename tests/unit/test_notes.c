/* tests/unit/test_notes.c: the notes next to the series of a report. */
#include "words/notes.h"

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

#define SAID(call)                                                                                 \
    ({                                                                                             \
        struct buf out = BUF_INIT;                                                                 \
        call;                                                                                      \
        taken(&out);                                                                               \
    })

TEST(notes__another_process_is_named_with_what_to_do)
{
    struct elsewhere_facts f = {
        .pid = 42, .command = "python3", .grew = 413 * MB, .system = 799 * MB, .job = -3 * MB};
    CHECK_TEXT(SAID(note_elsewhere(&out, &f)),
               "memory in use on this machine grew by 799 MB, this job by 0 B. Process 42 "
               "(python3) grew by 413 MB; if that is the training, run: tidemark watch --pid 42");
}

TEST(notes__files_left_behind_are_counted_and_named)
{
    struct shm_notes f = {
        .left = 20 * MB, .left_count = 1, .left_first = "torch_1_2", .unknown = NAN};
    CHECK_TEXT(SAID(note_shm(&out, &f)),
               "this job left 20.0 MB behind in /dev/shm, in 1 file that none of its processes "
               "maps or has open: /dev/shm/torch_1_2. A file there stays until somebody deletes "
               "it");
    f.left_count = 3;
    CHECK(strstr(SAID(note_shm(&out, &f)), "in 3 files that none of its processes maps or has "
                                           "open: /dev/shm/torch_1_2 and 2 more. A file"));
    f.unknown = 5 * MB;
    CHECK(strstr(SAID(note_shm(&out, &f)), "deletes it. 5.00 MB appeared in /dev/shm in files"));
    f.left = NAN;
    CHECK_TEXT(SAID(note_shm(&out, &f)),
               "5.00 MB appeared in /dev/shm in files that no process maps or has open. This job "
               "or another may have written them, so they are not counted. To list them: ls -lt "
               "/dev/shm");
    f.unknown = NAN;
    CHECK_TEXT(SAID(note_shm(&out, &f)), "");
}

TEST(notes__why_processes_are_missing)
{
    CHECK_TEXT(SAID(note_unread(&out, "too many open files")),
               "some processes of the job are missing here, because they could not be read: too "
               "many open files");
}

TEST(notes__why_there_is_no_step_clock)
{
    CHECK_TEXT(SAID(note_no_clock(&out, NO_CLOCK_ONE_MOMENT)),
               "all steps were reported at one moment, so memory was not sampled between them");
    CHECK_TEXT(SAID(note_no_clock(&out, NO_CLOCK_INSIDE)),
               "the program reported no steps: judged by time");
    CHECK_TEXT(SAID(note_no_clock(&out, NO_CLOCK_OUTPUT)),
               "no steps were found in the output: judged by time. If the output has them, "
               "describe them with --step-regex 'step ([0-9]+)'; tidemark.Watcher counts those of "
               "any loop");
}

TEST(notes__a_probe_of_another_version)
{
    CHECK_TEXT(SAID(note_foreign_probe(&out, "trainer 7")),
               "trainer 7 still has the probe of another tidemark version loaded. Restart it, or "
               "use that version");
    CHECK(strncmp(SAID(note_foreign_probe(&out, NULL)), "It still has", 12) == 0);
}

TEST(notes__what_the_driver_does_not_say)
{
    CHECK_TEXT(SAID(note_no_gpu(&out, "no NVIDIA driver")), "no GPU series: no NVIDIA driver");
    CHECK_TEXT(SAID(note_gpu_without_pids(&out)),
               "the driver names no process of this job: GPU memory is that of whole devices");
}

TEST(notes__shares_that_were_not_read)
{
    CHECK_TEXT(SAID(note_shares_forbidden(&out, 1)),
               "PSS of 1 process cannot be read. RSS is used instead; it counts shared pages once "
               "per process");
    CHECK(strncmp(SAID(note_shares_forbidden(&out, 2)), "PSS of 2 processes cannot", 25) == 0);
    CHECK_TEXT(SAID(note_shares_unread(&out, 3, 900)),
               "PSS of 3 of 900 processes was not read: reading so many would slow the job down. A "
               "forked process without PSS counts what it allocated itself");
    CHECK_TEXT(SAID(note_shares_late(&out, 3, 900, 44.6)),
               "PSS of 3 of 900 processes was read up to 45 s ago: reading so many more often "
               "would slow the job down. Since then it is moved on by what each allocates");
}

static void add_actions(struct buf *out)
{
    note_cleanup_begin(out);
    note_cleanup_action(out, true, "gc", 2 * MB, 0.0123);
    note_cleanup_action(out, false, "trim", 0, 1.5);
}

TEST(notes__cleanup_says_what_each_action_freed)
{
    CHECK_TEXT(SAID(add_actions(&out)),
               "cleanup: gc freed 2.00 MB in 0.0123 s; trim freed nothing in 1.5 s");
    CHECK_TEXT(SAID(note_cleanup_refused(&out)),
               "TIDEMARK_CLEANUP is not valid, so the job ran as if it were not set. Example: "
               "every=10,gc=1,trim=0");
}

TEST(notes__the_run_file_and_the_end)
{
    CHECK_TEXT(SAID(note_store_incomplete(&out, "disk full")),
               "the run file lacks the end: disk full");
    CHECK_TEXT(SAID(note_store_failed(&out, "No space left on device")),
               "the run file cannot be written (No space left on device); tidemark goes on "
               "watching");
    CHECK_TEXT(SAID(note_store_works_again(&out)), "the run file is written again; it has a gap");
    CHECK_TEXT(SAID(note_still_running(&out, 1)), "1 process of the job still runs");
    CHECK_TEXT(SAID(note_still_running(&out, 4)), "4 processes of the job still run");
}

TEST(notes__memory_that_is_almost_full)
{
    CHECK_TEXT(SAID(note_near_limit(&out, 460 * MB, 500 * MB, "cgroup")),
               "460 MB of 500 MB (cgroup) are in use, 92 %");
}

/* tests/unit/test_progress_output.c: the step clock from the captured output of real programs. */
#include "input/input.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

struct told {
    struct progress_mark mark;
    size_t marks, restarts;
    bool fell;
};

/* A file of tests/data/output, found beside this one. The caller frees it. */
static char *read_output(const char *name, size_t *ret_len)
{
    char path[4096];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/../data/output/%s.out", slash ? (int) (slash - __FILE__) : 1,
             slash ? __FILE__ : ".", name);
    FILE *f = fopen(path, "re");
    char *bytes = malloc(1 << 16);
    if (!f || !bytes) {
        perror(path);
        abort();
    }
    *ret_len = fread(bytes, 1, 1 << 16, f);
    fclose(f);
    return bytes;
}

static struct told tell_in_pieces(const char *name, size_t piece)
{
    size_t len;
    char *bytes = read_output(name, &len), error[160];
    struct told told = {.mark = {.step = NAN, .epoch = NAN}};
    struct progress *p;
    if (progress_new(NULL, error, &p) < 0)
        abort();
    for (size_t at = 0; at < len; at += piece) {
        struct progress_mark mark;
        if (!progress_feed(p, bytes + at, len - at < piece ? len - at : piece, &mark))
            continue;
        told.fell = told.fell || (mark.step < told.mark.step && !mark.restarted);
        told.restarts += mark.restarted;
        told.mark = mark;
        told.marks++;
    }
    progress_free(p);
    free(bytes);
    return told;
}

/* The final position of the clock must not depend on the pieces. */
static struct told tell(const char *name)
{
    static const size_t pieces[] = {7, 64, 1000, 1 << 16};
    struct told told = tell_in_pieces(name, 1);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct told other = tell_in_pieces(name, pieces[i]);
        told.fell = told.fell || other.fell || other.mark.step < told.mark.step ||
                    other.mark.step > told.mark.step || other.restarts != told.restarts;
    }
    return told;
}

#define CHECK_ENDS(name, step_, epoch_, length_, total_)                                           \
    do {                                                                                           \
        struct told told = tell(name);                                                             \
        CHECK_NEAR(told.mark.step, step_, 0);                                                      \
        CHECK_NEAR(told.mark.epoch, epoch_, 0);                                                    \
        CHECK_NEAR(told.mark.epoch_length, length_, 0);                                            \
        CHECK_NEAR(told.mark.total, total_, 0);                                                    \
        CHECK(told.restarts == 0 && !told.fell);                                                   \
    } while (0)

TEST(progress_output__tqdm_with_epochs_and_validation)
{
    CHECK_ENDS("tqdm_pipe", 150, 2, 50, 150);
    CHECK_ENDS("tqdm_pty", 150, 2, 50, 150);
}

TEST(progress_output__tqdm_bar_of_batches_under_a_bar_of_epochs)
{
    CHECK_ENDS("tqdm_nested_pty", 180, 3, 60, 180);
}

TEST(progress_output__tqdm_without_a_total_after_a_download)
{
    struct told told = tell("tqdm_no_total");
    CHECK(told.mark.step == 80 && isnan(told.mark.total) && isnan(told.mark.epoch));
    CHECK(told.marks == 20 && !told.fell);
}

TEST(progress_output__tqdm_with_rescaled_numbers)
{
    struct told told = tell("tqdm_scaled");
    CHECK(told.mark.step == 5000 && told.mark.total == 5000 && !told.fell);
}

TEST(progress_output__lightning_with_tqdm)
{
    struct told told = tell("lightning_pipe");
    CHECK(told.mark.step == 150 && told.mark.epoch == 2 && told.mark.epoch_length == 50);
    CHECK(isnan(told.mark.total) && told.restarts == 0 && !told.fell);
    told = tell("lightning_pty");
    CHECK(told.mark.step == 150 && told.mark.epoch == 2 && told.mark.epoch_length == 50);
}

TEST(progress_output__lightning_with_rich)
{
    CHECK_ENDS("lightning_rich_pty", 150, 2, 50, 150);
}

TEST(progress_output__hugging_face_with_nested_evaluation)
{
    CHECK_ENDS("hf_trainer", 120, 3, 40, 120);
}

TEST(progress_output__hugging_face_without_bars_tells_epochs)
{
    struct told told = tell("hf_no_bar");
    CHECK(isnan(told.mark.step) && told.mark.epoch == 3 && !told.fell);
}

TEST(progress_output__keras_with_validation_and_evaluation)
{
    CHECK_ENDS("keras_pipe", 96, 2, 32, 96);
    CHECK_ENDS("keras_pty", 96, 2, 32, 96);
}

TEST(progress_output__pytorch_example_counts_samples)
{
    struct told told = tell("mnist");
    CHECK(told.mark.step == 2 * 3200 + 2560 && told.mark.epoch == 2);
    CHECK(told.mark.epoch_length == 3200 && !told.fell);
}

TEST(progress_output__torchrun_begins_anew)
{
    struct told told = tell("torchrun_elastic");
    CHECK(told.restarts == 1 && !told.fell);
    CHECK(told.mark.step == 39 && told.mark.total == 100);
}

TEST(progress_output__ranks_of_torchrun_count_once)
{
    /* 31 steps of the first attempt and 40 of the second: without a total it may be an epoch. */
    struct told told = tell("torchrun_ranks");
    CHECK(told.mark.step == 70 && told.restarts == 0 && !told.fell);
}

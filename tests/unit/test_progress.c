/* tests/unit/test_progress.c: the step clock from program output made up for the test. */
#include "input/input.h"
#include "unit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

/* What feeding bytes returned, and whether the marks kept their promises. */
struct told {
    struct progress_mark mark; /* the last one */
    size_t marks, restarts;
    bool fell; /* without reporting a restart */
};

static void feed(struct progress *p, const char *bytes, size_t len, struct told *told)
{
    struct progress_mark mark;
    if (!progress_feed(p, bytes, len, &mark))
        return;
    told->fell = told->fell || (told->marks > 0 && mark.step < told->mark.step && !mark.restarted);
    told->restarts += mark.restarted;
    told->marks++;
    told->mark = mark;
}

static struct told tell_pieces(const char *regex, const char *text, size_t piece)
{
    char error[160];
    struct progress *p;
    struct told told = {.mark = {.step = NAN, .epoch = NAN}};
    if (progress_new(regex, error, &p) < 0)
        return told;
    for (size_t len = strlen(text), at = 0; at < len; at += piece)
        feed(p, text + at, len - at < piece ? len - at : piece, &told);
    progress_free(p);
    return told;
}

/* Feeds byte by byte: a mark for every line that moved the clock. */
static struct told tell(const char *text)
{
    return tell_pieces(NULL, text, 1);
}

/* A text of `count` lines; each has its number in place of '@', from `first` by `stride`. */
static char *lines_of(const char *line, int first, int stride, int count)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (int i = 0; i < count; i++) {
        for (const char *p = line; *p; p++) {
            if (*p == '@')
                fprintf(f, "%d", first + i * stride);
            else
                fputc(*p, f);
        }
    }
    fclose(f);
    return text;
}

/* The step after lines numbered 11 and 12; NAN if they are not believed. */
static double reads(const char *line)
{
    char *text = lines_of(line, 11, 1, 2);
    struct told told = tell(text);
    free(text);
    return told.mark.step;
}

#define CHECK_READS(line) CHECK_NEAR(reads(line), 12, 0)
#define CHECK_IGNORES(line) CHECK(isnan(reads(line)))

TEST(progress__reads_steps_of_plain_lines)
{
    CHECK_READS("step @\n");
    CHECK_READS("Step @/100\n");
    CHECK_READS("step=@\n");
    CHECK_READS("step @ of 100\n");
    CHECK_READS("[step @] loss 0.3\n");
    CHECK_READS("Step    @ | loss=1.6321 | time=0.31s | CPU=12.1%\n");
    CHECK_READS("iter @:\n");
    CHECK_READS("iteration @\n");
    CHECK_READS("global_step: @\n");
    CHECK_READS("iter @: loss 3.2, time 20ms\n");
    CHECK_READS(
        " iteration       @/     500 | consumed samples:          160 | lm loss: 9.1E+00\n");
    CHECK_READS("[01/01 10:00:00 d2.utils.events]:  eta: 0:10:00  iter: @  total_loss: 1.2\n");
    CHECK_READS("step @ done\n");
    CHECK_READS("step @ took 0.31 s\n");
    CHECK_READS("Training step @: loss 0.3\r\n");
    CHECK_READS("Memory after step @: 5.2 GB\n");
    CHECK_READS("update @ loss=0.1\n");
    CHECK_READS("Episode @ return -21.0\n");
    CHECK_READS("episode: @/500 reward=3.5\n");
    CHECK_READS("rollout @ done\n");
    CHECK_READS("round @ accuracy 0.61\n");
    CHECK_READS("request @ done score 0.012\n");
}

TEST(progress__reads_steps_behind_what_loggers_put_in_front)
{
    CHECK_READS("2026-01-01 10:00:00,123 INFO trainer: step @ loss 0.3\n");
    CHECK_READS("2026-01-01T10:00:00Z step @\n");
    CHECK_READS("[rank0]: step @\n");
    CHECK_READS("(RayTrainWorker pid=123) step @\n");
    CHECK_READS("INFO step @\n");
    CHECK_READS("INFO:root:step @\n");
    CHECK_READS("I0101 10:00:00.000000 1234 train.py:12] step @\n");
    CHECK_READS("\033[32mINFO\033[0m step \033[1m@\033[0m loss\n");
}

TEST(progress__reads_steps_of_key_value_lines)
{
    CHECK_READS("{\"step\": @, \"loss\": 0.3}\n");
    CHECK_READS("{\"loss\": 0.3, \"val_loss\": 4.9e-05, \"trainer/global_step\": @}\n");
    CHECK_READS("{'loss': '0.52', 'step': '@'}\n");
    CHECK_READS("loss=0.3 lr=4.9e-05 step=@\n");
    CHECK_READS("{\"_step\":@}\n");
}

TEST(progress__reads_batches_behind_their_epoch)
{
    CHECK_READS("[Epoch 3/10] [Batch @/782] loss: 0.3\n");
    CHECK_READS("Epoch [2/5], Step [@/600], Loss: 0.3\n");
    CHECK_READS("Epoch: [2][ @/600]\tTime 0.1 (0.2)\tLoss 6.9\n");
    CHECK_READS("Epoch: [0]  [ @/1000]  eta: 0:10:00  lr: 0.1\n");
    CHECK_READS("Epoch(train)  [1][  @/1000]  lr: 1.0e-02  eta: 0:10:00\n");
    CHECK_READS("epoch 001:    @ / 1041 loss=3.2, ppl=9.1\n");
    CHECK_READS("[2,  @] loss: 2.218\n");
    CHECK_READS("Train Epoch: 1 [@/60000 (1%)]\tLoss: 2.3\n");
    CHECK_READS("loss: 2.303494  [   @/60000]\n");
}

TEST(progress__reads_bars)
{
    CHECK_READS(" 12%|#2        | @/100 [00:10<01:12,  6.04it/s]\r");
    CHECK_READS(
        "\r 12%|\xe2\x96\x88\xe2\x96\x8f        | @/500 [00:10<01:12,  1.04s/it, loss=0.5]");
    CHECK_READS(
        "\rEpoch 0:  12%|#2        | @/100 [00:01<00:09,  9.3it/s, v_num=3, train_loss=0.5]");
    CHECK_READS("\rEpoch 0:  12%|#2  | @/100 [00:01<00:09,  9.3it/s, lrs=[0.1, 0.2]]");
    CHECK_READS("\r@it [00:03,  4.0it/s]");
    CHECK_READS("\rtrain: @batch [00:03,  4.0batch/s]");
    CHECK_READS("\rTraining:  12%|#2   | @/100 [00:03<00:04,  4.0batch/s]\033[A");
    CHECK_READS("\r12% @/100 [00:03<00:04,  4.0it/s]");
    CHECK_READS("\r 12%|#2  | @/100\r");
    CHECK_READS("epoch 001:  12%|#2        | @/1000 [00:10<01:12,  6.04it/s, loss=3.2]\n");
    CHECK_READS("Epoch 0/9 \xe2\x94\x81\xe2\x94\x81\xe2\x95\xb8 @/100 0:00:01 \xe2\x80\xa2 0:00:09 "
                "9.30it/s\r");
    CHECK_READS(" @/1875 [=>............................] - ETA: 3s - loss: 0.5\b\b\b\b\r");
    CHECK_READS(" @/Unknown - 3s 2ms/step - loss: 0.5\r");
    CHECK_READS("Train epoch 1:  12%|#2  | @/100 [00:03<00:04, 31.0ex/s]\r");
}

TEST(progress__reads_rescaled_bars)
{
    struct told told = tell("\rtrain:  20%|## | 1.00k/5.00k [00:01<00:04, 1.00kit/s]"
                            "\rtrain:  24%|##4| 1.20k/5.00k [00:01<00:04, 1.00kit/s]");
    CHECK_NEAR(told.mark.step, 1200, 1e-6);
    CHECK_NEAR(told.mark.total, 5000, 1e-6);
}

TEST(progress__takes_no_bar_of_other_work)
{
    static const char *const others[] = {
        "Validating",
        "Validation DataLoader 0",
        "Sanity Checking DataLoader 0",
        "Evaluating",
        "Eval",
        "test",
        "Testing DataLoader 0",
        "Predicting",
        "Downloading",
        "Map",
        "Map (num_proc=4)",
        "Tokenizing",
        "Loading checkpoint shards",
        "Generating train split",
        "Saving",
        "Running tokenizer on dataset",
        "Filter",
        "Epoch 3 [val]",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[160];
        snprintf(text, sizeof text, "\r%s:  12%%|# | @/100 [00:10<01:12,  6.04it/s]", others[i]);
        CHECK_IGNORES(text);
    }
    CHECK_IGNORES("\r 12%|#2     | @/100 [00:10<01:12,  6.04MB/s]");
    CHECK_IGNORES("\rmodel.bin:  12%|#2     | @M/100M [00:10<01:12,  6.04kB/s]");
    CHECK_IGNORES("\r 12%|#2     | @/100 [00:10<01:12,  6.04ba/s]");
    CHECK_IGNORES("\r@ examples [00:10, 600.04 examples/s]");
}

TEST(progress__takes_no_line_of_other_work)
{
    CHECK_IGNORES("Validation step @\n");
    CHECK_IGNORES("[val] step @ loss 0.3\n");
    CHECK_IGNORES("Epoch(val)  [1][  @/1000]\n");
    CHECK_IGNORES("Test: [ @/100]\tTime 0.1 Loss 3\n");
    CHECK_IGNORES("eval/step: @\n");
    CHECK_READS("tests/train.py: step @\n");
    CHECK_READS("[my-test-run] step @\n");
    CHECK_READS("step @: train loss 2.5, val loss 2.6\n");
}

TEST(progress__takes_no_settings_and_no_prose)
{
    CHECK_IGNORES("max_steps = @\n");
    CHECK_IGNORES("num_epochs: @\n");
    CHECK_IGNORES("warmup steps: @\n");
    CHECK_IGNORES("Total optimization steps = @\n  Number of trainable steps: @\n");
    CHECK_IGNORES("eval every @ steps\n");
    CHECK_IGNORES("batch size @\n");
    CHECK_IGNORES("  File \"train.py\", line @, in step\n");
    CHECK_IGNORES("torch 2.@, transformers 4.@.0\n");
    CHECK_IGNORES("As step @ shows, the loss falls.\nIn step @ we begin.\n");
    CHECK_IGNORES("Steps @-80: 12 MB\n");
    CHECK_IGNORES("step @%\nstep @.5\nstep @ms\n");
    CHECK_IGNORES("Accuracy: @/10000 (94%)\n");
    CHECK_IGNORES("[@/5] building train.o\n");
    CHECK_IGNORES("step -@\nstep_@\nsteps@x\n");
    CHECK_IGNORES("line @ of 100\n");
}

TEST(progress__does_not_believe_headings)
{
    CHECK(tell("Step 1: install the driver\nStep 2: configure the host\nStep 3: run it\n").marks ==
          0);
    CHECK(tell("Step 5\nStep 5\nStep 5\n").marks == 0);
    CHECK(tell("Step 5\nStep 4\nStep 3\n").marks == 0);
}

TEST(progress__tells_the_first_mark_once_a_count_has_advanced)
{
    struct told told = tell("step 7/90 loss 1\n");
    CHECK(told.marks == 0);
    told = tell("step 7/90 loss 1\nstep 8/90 loss 1\n");
    CHECK(told.marks == 1 && told.mark.step == 8 && told.mark.total == 90);
    CHECK(isnan(told.mark.epoch) && isnan(told.mark.epoch_length) && !told.mark.restarted);
}

TEST(progress__reads_lines_in_any_pieces)
{
    char *text = lines_of("step @ loss 0.3\n", 1, 1, 30);
    for (size_t piece = 1; piece < 40; piece++) {
        struct told told = tell_pieces(NULL, text, piece);
        CHECK(told.mark.step == 30 && !told.fell && told.marks <= 29);
    }
    struct told told = tell_pieces(NULL, text, strlen(text));
    free(text);
    CHECK(told.marks == 1 && told.mark.step == 30);
}

TEST(progress__waits_for_the_end_of_a_plain_line)
{
    CHECK(tell("step 1\nstep 12").marks == 0);
    CHECK(tell("step 1\nstep 12\n").mark.step == 12);
}

TEST(progress__reads_a_bar_before_it_is_drawn_again)
{
    CHECK(
        tell("\r 1%| | 1/100 [00:10<01:12, 6.04it/s]\r 2%| | 2/100 [00:10<01:12, 6.04it/s").marks ==
        0);
    CHECK(tell("\r 1%| | 1/100 [00:10<01:12, 6.04it/s]\r 2%| | 2/100 [00:10<01:12, 6.04it/s]")
              .marks == 1);
}

TEST(progress__reads_what_is_printed_behind_a_bar)
{
    struct told told = tell("\r 1%| | 1/100 [00:10<01:12, 6.04it/s]global_step 501\n"
                            "\r 2%| | 2/100 [00:10<01:12, 6.04it/s]global_step 502\n"
                            "\r 3%| | 3/100 [00:10<01:12, 6.04it/s]global_step 503\n");
    CHECK(told.marks == 2 && !told.fell);
    CHECK_NEAR(told.mark.step, 3, 0.5);
}

TEST(progress__reads_steps_after_a_line_without_an_end)
{
    char *junk = calloc(1, 100001);
    memset(junk, 'x', 100000);
    struct progress *p;
    char error[160];
    struct told told = {.marks = 0};
    CHECK(progress_new(NULL, error, &p) == 0);
    feed(p, "step 1\n", 7, &told);
    feed(p, junk, 100000, &told);
    feed(p, " step 50\nstep 2\n", 16, &told);
    progress_free(p);
    free(junk);
    CHECK(told.marks == 1 && told.mark.step == 2);
}

TEST(progress__is_not_led_astray_by_metrics_in_front)
{
    CHECK_READS("mAP: 0.45 step @\n");
    CHECK_READS("Generator loss 0.3, step @\n");
    CHECK_READS("{\"eval_loss\": 0.3, \"step\": @}\n");
}

TEST(progress__ignores_a_slower_rank_behind_the_heading_of_an_epoch)
{
    char *text = lines_of("step @ loss 1\n", 1, 1, 50), twice[4000];
    snprintf(twice, sizeof twice, "epoch 1\n%sepoch 2\nstep 49 loss 1\n%s", text, text);
    free(text);
    struct told told = tell(twice);
    CHECK(told.mark.step == 100 && told.mark.epoch_length == 50 && !told.fell);
}

TEST(progress__knows_epochs_of_several_lengths)
{
    struct told told = tell("epoch 1 batch 1/70\nepoch 1 batch 70/70\nepoch 2 batch 1/90\n"
                            "epoch 2 batch 90/90\nepoch 3 batch 1/50\n");
    CHECK(told.mark.step == 161 && told.mark.epoch_length == 50 && told.mark.epoch == 2);
}

TEST(progress__knows_a_step_that_goes_on_over_epochs)
{
    char text[8000] = "";
    for (int i = 1; i <= 90; i++)
        snprintf(text + strlen(text), 100, "{\"step\": %d, \"epoch\": %d}\n", i, (i - 1) / 30);
    struct told told = tell(text);
    CHECK(told.mark.step == 90 && told.mark.epoch == 2 && told.mark.epoch_length == 30);
    CHECK(isnan(told.mark.total));
}

TEST(progress__begins_the_epochs_anew_with_the_program)
{
    char *text = lines_of("step @/1000 loss 1\n", 0, 1, 100), twice[8000];
    snprintf(twice, sizeof twice, "epoch 1\nepoch 2\n%sepoch 0\n%s", text, text);
    free(text);
    struct told told = tell(twice);
    CHECK(told.restarts == 1 && told.mark.step == 99 && told.mark.epoch == 0);
}

TEST(progress__puts_epochs_one_behind_the_other)
{
    struct told told = tell("Epoch 1 batch 781/782\nEpoch 1 batch 782/782\nEpoch 2 batch 1/782\n");
    CHECK(told.mark.step == 783 && told.mark.epoch == 1 && told.mark.epoch_length == 782);
    CHECK(told.restarts == 0 && !told.fell && isnan(told.mark.total));
    told = tell("Epoch 1/3 batch 1/782\nEpoch 1/3 batch 700/782\nEpoch 2/3 batch 1/782\n");
    CHECK(told.mark.step == 783 && told.mark.total == 3 * 782);
    told = tell("Epoch 1/3 batch 100/782\nEpoch 2/3 batch 100/782\nEpoch 3/3 batch 100/782\n");
    CHECK(told.mark.step == 2 * 782 + 100);
}

TEST(progress__counts_epochs_from_0_or_1)
{
    CHECK(tell("Epoch 0 batch 1/9\nEpoch 0 batch 9/9\nEpoch 1 batch 1/9\n").mark.epoch == 1);
    CHECK(tell("Epoch 1 batch 1/9\nEpoch 1 batch 9/9\nEpoch 2 batch 1/9\n").mark.epoch == 1);
}

TEST(progress__finds_the_length_of_epochs_where_they_begin_anew)
{
    char *text = lines_of("step @ loss 1\n", 0, 1, 50), twice[4000];
    snprintf(twice, sizeof twice, "epoch 1\n%sepoch 2\n%s", text, text);
    struct told told = tell(twice);
    CHECK(told.mark.step == 99 && told.mark.epoch_length == 50 && told.mark.epoch == 1);
    /* Without any epoch or total: believed a little later. */
    snprintf(twice, sizeof twice, "%s%s", text, text);
    free(text);
    told = tell(twice);
    CHECK(told.mark.step == 99 && told.mark.epoch == 1 && told.restarts == 0 && !told.fell);
}

TEST(progress__takes_a_bar_after_a_complete_one_for_the_next_epoch)
{
    struct told told = tell("\r50%| | 4/8 [00:01<00:01, 4it/s]\r100%| | 8/8 [00:02<00:00, 4it/s]\n"
                            "\r  0%| | 0/8 [00:00<?, ?it/s]\r50%| | 4/8 [00:01<00:01, 4it/s]");
    CHECK(told.mark.step == 12 && told.mark.epoch == 1 && told.mark.epoch_length == 8);
    CHECK(told.restarts == 0 && !told.fell);
}

TEST(progress__says_when_a_count_began_anew_before_its_end)
{
    char *text = lines_of("step @/1000 loss 1\n", 0, 1, 100), twice[8000];
    snprintf(twice, sizeof twice, "%s%s", text, text);
    free(text);
    struct told told = tell(twice);
    CHECK(told.restarts == 1 && !told.fell);
    CHECK(told.mark.step == 99 && told.mark.total == 1000);
}

/* The steps made according to lines from `first` by `stride`. */
static double made(int first, int stride, int count)
{
    char *text = lines_of("step @\n", first, stride, count);
    struct told told = tell(text);
    free(text);
    return told.mark.made;
}

TEST(progress__counts_the_steps_that_were_made)
{
    CHECK_NEAR(made(1, 1, 600), 600, 0);
    CHECK_NEAR(made(0, 1, 600), 600, 0);
    CHECK_NEAR(made(10, 10, 60), 600, 0);
    CHECK_NEAR(made(0, 10, 60), 591, 0);
    CHECK_NEAR(tell("step 1\nstep 10\nstep 20\n").mark.made, 20, 0);
    const char *strides = "at 10\nat 20\nat 30\n";
    CHECK_NEAR(tell_pieces("at ([0-9]+)", strides, 1).mark.made, 30, 0);
    CHECK_NEAR(made(501, 1, 100), 100, 0); /* resumed, or joined late */
    CHECK_NEAR(made(500, 10, 11), 101, 0);
    CHECK(isnan(tell("epoch 1/3\nepoch 2/3\n").mark.made));
}

TEST(progress__says_when_a_count_went_back_to_a_checkpoint)
{
    char *first = lines_of("global_step @\n", 1, 1, 700);
    char *second = lines_of("global_step @\n", 500, 1, 100);
    char *text = malloc(strlen(first) + strlen(second) + 1);
    stpcpy(stpcpy(text, first), second);
    struct told told = tell(text);
    free(first);
    free(second);
    free(text);
    CHECK(told.restarts == 1 && told.mark.step == 599 && told.mark.made == 100);
}

TEST(progress__begins_where_a_resumed_program_does)
{
    struct told told = tell("step 50000/90000\nstep 50010/90000\n");
    CHECK(told.mark.step == 50010 && told.mark.total == 90000 && told.restarts == 0);
}

TEST(progress__does_not_count_the_steps_of_ranks_twice)
{
    char text[8000] = "";
    for (int i = 1; i <= 60; i++) {
        snprintf(text + strlen(text), 100, "[rank0] step %d loss 1\n[rank1] step %d loss 1\n", i,
                 i);
    }
    struct told told = tell(text);
    CHECK(told.mark.step == 60 && told.marks == 59 && told.restarts == 0 && !told.fell);
}

TEST(progress__ignores_older_steps_of_a_slower_rank)
{
    char text[8000] = "";
    for (int i = 1; i <= 60; i++)
        snprintf(text + strlen(text), 100, "step %d/100 loss 1\nstep %d/100 loss 1\n", i,
                 i - i / 4);
    struct told told = tell(text);
    CHECK(told.mark.step == 60 && told.marks == 59 && told.restarts == 0 && !told.fell);
}

TEST(progress__ignores_the_end_of_an_epoch_from_a_slower_rank)
{
    char *first = lines_of("\r1%| | @/200 [00:01<00:01, 4it/s]", 0, 1, 201);
    char text[20000];
    snprintf(text, sizeof text,
             "%s\r0%%| | 0/200 [00:00<?, ?it/s]\r0%%| | 1/200 [00:00<00:09, 1it/s]"
             "\r99%%| | 199/200 [00:00<00:09, 1it/s]\r0%%| | 2/200 [00:00<00:09, 1it/s]",
             first);
    free(first);
    struct told told = tell(text);
    CHECK(told.mark.step == 202 && !told.fell && told.restarts == 0);
}

TEST(progress__prefers_the_global_count_of_a_line)
{
    struct told told = tell("epoch 2 step 40 global_step 822\nepoch 2 step 41 global_step 823\n");
    CHECK(told.mark.step == 823 && told.mark.epoch == 1);
}

TEST(progress__prefers_words_to_a_bare_bar)
{
    struct told told = tell("\r1%| | 10/90 [00:01<00:01, 4it/s]\r1%| | 11/90 [00:01<00:01, 4it/s]\n"
                            "step 11\n\r1%| | 12/90 [00:01<00:01, 4it/s]\nstep 12\n"
                            "\r1%| | 14/90 [00:01<00:01, 4it/s]\nstep 13\n");
    CHECK(told.mark.step == 13 && !told.fell);
}

TEST(progress__stays_with_the_finer_count)
{
    char text[20000] = "";
    for (int i = 1; i <= 200; i++) {
        snprintf(text + strlen(text), 100, "\r1%%| | %d/900 [00:01<00:01, 4it/s]", i);
        if (i % 50 == 0)
            snprintf(text + strlen(text), 100, "\nSaved checkpoint at step %d\n", i);
    }
    struct told told = tell(text);
    CHECK(told.mark.step == 200 && told.marks == 199 && !told.fell && told.mark.total == 900);
}

TEST(progress__gives_up_a_silent_source)
{
    char *later = lines_of("\r1%| | @/900 [00:01<00:01, 4it/s]", 0, 1, 61);
    char text[8000];
    snprintf(text, sizeof text, "Step 1/3 Load\nStep 2/3 Load\nStep 3/3 Load\n%s", later);
    free(later);
    struct told told = tell(text);
    CHECK(!told.fell && told.mark.step == 60 && told.mark.total == 900);
}

TEST(progress__counts_nothing_twice_when_the_source_changes)
{
    char *first = lines_of("step @\n", 1, 1, 500);
    char *second = lines_of("train it again, iter @ of the loop: 3\n", 1, 1, 100);
    char *text = malloc(strlen(first) + strlen(second) + 1);
    stpcpy(stpcpy(text, first), second);
    struct told told = tell(text);
    free(first);
    free(second);
    free(text);
    CHECK(!told.fell && told.restarts == 0);
    CHECK_NEAR(told.mark.step, 599, 1);
}

TEST(progress__is_not_led_away_by_a_nested_evaluation)
{
    char text[40000] = "";
    for (int i = 1; i <= 60; i++)
        snprintf(text + strlen(text), 100, "\r1%%| | %d/500 [00:01<00:01, 4it/s]", i);
    for (int i = 1; i <= 125; i++)
        snprintf(text + strlen(text), 100, "\n\r1%%| | %d/125 [00:01<00:01, 4it/s]\033[A", i);
    snprintf(text + strlen(text), 100, "\r1%%| | 61/500 [00:01<00:01, 4it/s]");
    struct told told = tell(text);
    CHECK(told.mark.step == 61 && told.marks == 60 && told.mark.total == 500);
}

TEST(progress__tells_epochs_where_there_are_no_steps)
{
    struct told told = tell("Epoch 1: train_loss=0.5 val_loss=0.6\n");
    CHECK(told.marks == 0);
    told = tell("Epoch 1: train_loss=0.5 val_loss=0.6\nEpoch 2: train_loss=0.5 val_loss=0.6\n");
    CHECK(told.marks == 1 && isnan(told.mark.step) && told.mark.epoch == 1);
    told = tell("{'loss': 0.52, 'learning_rate': 4.9e-05, 'epoch': 0.92}\n"
                "{'loss': 0.52, 'learning_rate': 4.9e-05, 'epoch': 2.04}\n");
    CHECK(told.marks == 1 && isnan(told.mark.step) && told.mark.epoch == 2);
}

TEST(progress__takes_a_bar_of_epochs_for_epochs)
{
    struct told told = tell("\rEpoch:  0%| | 0/3 [00:00<?, ?it/s]\n"
                            "\rIteration:  50%| | 4/8 [00:01<00:01, 4it/s]"
                            "\rIteration:  100%| | 8/8 [00:01<00:01, 4it/s]\n"
                            "\rEpoch:  33%| | 1/3 [00:00<00:09, 3s/it]\n"
                            "\rIteration:  0%| | 0/8 [00:01<00:01, 4it/s]"
                            "\rIteration:  50%| | 4/8 [00:01<00:01, 4it/s]");
    CHECK(told.mark.step == 12 && told.mark.epoch == 1 && told.mark.epoch_length == 8);
    CHECK(told.mark.total == 24);
}

TEST(progress__regex_is_all_that_counts)
{
    struct told told = tell_pieces("it#([0-9]+)", "step 1\nit#5 a\nstep 2\nstep 3\nit#6\n", 1);
    CHECK(told.marks == 2 && told.mark.step == 6);
    told = tell_pieces("b([0-9]+) e([0-9]+)", "b8 e1\nb9 e1\nb1 e2\nb2 e2\n", 1);
    CHECK(told.mark.step == 11 && told.mark.epoch == 1 && !told.fell);
    told = tell_pieces("([0-9]+)/100", "\r 1%| | 1/100 [00:01<00:01, 4it/s]", 1);
    CHECK(told.marks == 1 && told.mark.step == 1);
    told = tell_pieces("it (x?)", "it 5\nit 6\n", 1);
    CHECK(told.marks == 0);
}

TEST(progress__says_what_is_wrong_with_a_regex)
{
    char error[160] = "";
    struct progress *p = NULL;
    CHECK(progress_new("step [0-9]+", error, &p) == -EINVAL && p == NULL);
    CHECK_TEXT(error, "needs a group: (\xe2\x80\xa6) around the step");
    CHECK(progress_new("step ([0-9]+", error, &p) == -EINVAL && p == NULL);
    CHECK(strcasestr(error, "unmatched"));
    CHECK(progress_free(NULL) == NULL);
}

TEST(progress__passes_over_what_is_no_text)
{
    struct progress *p;
    char error[160], bytes[256];
    struct told told = {.marks = 0};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char) i;
    CHECK(progress_new(NULL, error, &p) == 0);
    for (int i = 0; i < 100; i++)
        feed(p, bytes, sizeof bytes, &told);
    feed(p, "\nstep\0 1\nstep\0 2\n", 17, &told);
    progress_free(p);
    CHECK(told.marks == 1 && told.mark.step == 2);
}

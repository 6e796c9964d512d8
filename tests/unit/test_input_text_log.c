/* tests/unit/test_input_text_log.c: training logs as people paste them. */
#include "record.h"
#include "unit.h"

TEST(text_log__keeps_two_runs_apart)
{
    struct record *r = record_data("run1_run2.log");
    CHECK(r->result == 0 && r->count == 2);
    CHECK_TEXT(r->series[0].name, "Run 1 (Process 177381)");
    CHECK(r->series[0].pid == 177381 && r->series[0].count == 7);
    CHECK(r->series[0].value[0] == 5552 * MB && r->series[0].value[6] == 15736 * MB);
    CHECK_TEXT(r->series[1].name, "Run 2 (Process 179532)");
    CHECK(r->series[1].pid == 179532 && r->series[1].count == 24);
    CHECK(r->series[1].step[23] == 240 && r->series[1].value[23] == 17032 * MB);
    CHECK(r->series[0].restarts == 0 && r->series[0].ended);
    CHECK(r->series[0].resolution == MB && r->series[0].clock == CLOCK_STEP);
    CHECK_TEXT(r->summary.format, "training log");
}

TEST(text_log__reads_the_test_run)
{
    static const double mb[] = {4993, 6389, 8039, 9432, 9451, 9462, 9473, 9503, 9539, 9566};
    struct record *r = record_data("test_run.log");
    CHECK(r->result == 0 && r->count == 1 && r->series[0].count == 10);
    for (size_t i = 0; i < 10; i++) {
        CHECK(r->series[0].step[i] == 10.0 * (double) (i + 1));
        CHECK(r->series[0].value[i] == mb[i] * MB);
    }
}

TEST(text_log__reads_trainwatch_steps_and_finer_deltas)
{
    struct record *r = record_data("trainwatch_leak.log");
    CHECK(r->result == 0 && r->count == 2);
    struct recorded *vram = &r->series[0], *delta = &r->series[1];
    CHECK_TEXT(vram->name, "VRAM");
    CHECK_TEXT(vram->kind, "torch.allocated");
    CHECK(vram->count == 23 && vram->value[22] == 26 * MB && vram->resolution == MB);
    CHECK(vram->epochs == 3 && vram->epoch_at[0] == 700 && vram->epoch_at[2] == 2300);
    CHECK_TEXT(delta->name, "VRAM delta");
    CHECK_TEXT(delta->kind, "torch.allocated");
    CHECK(delta->count == 3 && delta->epochs == 3);
    CHECK(delta->step[0] == 700 && delta->value[0] == 0);
    CHECK(delta->step[1] == 1500);
    CHECK_NEAR(delta->value[1], 0.4 * MB, 1);
    CHECK_NEAR(delta->value[2], 0.8 * MB, 1);
    CHECK_NEAR(delta->resolution, 0.1 * MB, 1);
}

TEST(text_log__reads_a_clean_trainwatch_run)
{
    struct record *r = record_data("trainwatch_correct.log");
    CHECK(r->result == 0 && r->count == 2);
    CHECK(r->series[0].count == 23 && r->series[0].value[22] == 25 * MB);
    CHECK(r->series[1].count == 3 && r->series[1].value[2] == 0);
}

TEST(text_log__does_not_need_the_check_mark)
{
    struct record *r = record_text("Step 1 | loss=1 | CPU=1% | RAM=7.6% | VRAM=25MB\n"
                                   "\x82\xfa\xec Epoch 1 complete - baselines set\n"
                                   "Step 2 | loss=1 | CPU=1% | RAM=7.6% | VRAM=25MB\n");
    CHECK(r->count == 1 && r->series[0].epochs == 1);
}

TEST(text_log__counts_tensors_by_device)
{
    struct record *r = record_data("tensors.log");
    CHECK(r->result == 0 && r->count == 3);
    CHECK_TEXT(r->series[0].kind, "py.tensors");
    CHECK(r->series[0].unit == SERIES_COUNT && r->series[0].count == 3);
    CHECK(r->series[0].step[0] == 10 && r->series[0].step[1] == 80 && r->series[0].step[2] == 90);
    CHECK(r->series[0].value[1] == 6529 && r->series[0].value[2] == 7070);
    CHECK_TEXT(r->series[1].device, "cpu");
    CHECK(r->series[1].value[2] == 355);
    CHECK_TEXT(r->series[2].device, "cuda");
    CHECK(r->series[2].value[0] == 6199);
}

TEST(text_log__reads_tensors_and_memory_in_one_line)
{
    struct record *r = record_text("Step 10: 6,484 tensors (CPU: 330, GPU: 6,154), RAM: 5,552 MB\n"
                                   "Step 20+: 6,529 tensors (stable throughout)\n");
    CHECK(r->count == 4);
    CHECK(r->series[0].count == 2 && r->series[0].step[1] == 20);
    CHECK_TEXT(r->series[3].name, "RAM");
    CHECK(r->series[3].value[0] == 5552 * MB);
}

TEST(text_log__reads_times_of_day)
{
    struct record *r = record_text("13:18:20  6.2 GB  <- Training\n"
                                   "13:18:25  10.4 GB  <- Validation starts (+4 GB spike!)\n"
                                   "13:18:30  4.8 GB  <- GC recovered\n");
    CHECK(r->result == 0 && r->count == 1);
    CHECK(r->series[0].clock == CLOCK_SECONDS && r->series[0].count == 3);
    CHECK(r->series[0].seconds[0] == 0 && r->series[0].seconds[2] == 10);
    CHECK(r->series[0].value[1] == 10.4 * 1024 * MB);
    r = record_text("23:59:55  6.2 GB\n00:00:05  6.3 GB\n");
    CHECK(r->series[0].seconds[1] == 10 && r->series[0].restarts == 0);
}

TEST(text_log__takes_nothing_from_prose)
{
    struct record *r = record_data("prose.md");
    CHECK(r->result == -EINVAL && r->count == 0);
    CHECK(strstr(r->summary.error, "no memory value"));
}

TEST(text_log__takes_deltas_rates_and_estimates_for_no_levels)
{
    struct record *r =
        record_text("Step 10: 5,000 MB (+52 MB)\nStep 20: +52 MB\nStep 30: ~5,552 MB\n"
                    "Step 40: 5 MB/step\nStep 50: 5 MB per step\nStep 60-70: 115 MB\n"
                    "Steps 80+: 17,000 MB\nStep 90: 10-36 MB\nStep 95: RAM=7.6%\n");
    CHECK(r->count == 1 && r->series[0].count == 1);
}

TEST(text_log__names_series_after_their_heading)
{
    struct record *r =
        record_text("# Doc\n## 1. T4 \xe2\x9c\x85\n### Output\n```\n# no heading\n"
                    "Step 1: 5 MB\nStep 2: 6 MB\n```\n"
                    "## 2. P100\n### Output\n```\nStep 1: 7 MB\nStep 2: 8 MB\n```\n");
    CHECK(r->count == 2);
    CHECK_TEXT(r->series[0].name, "1. T4 / Output");
    CHECK_TEXT(r->series[1].name, "2. P100 / Output");
    CHECK(r->series[0].count == 2 && r->series[1].value[0] == 7 * MB);
    CHECK(r->series[0].restarts == 0);
}

TEST(text_log__goes_on_under_a_new_heading)
{
    struct record *r = record_text("## Epoch 1\nStep 1: 5 MB\nStep 2: 6 MB\n## Epoch 2\n"
                                   "Step 3: 7 MB\nStep 4: 8 MB\n");
    CHECK(r->count == 1 && r->series[0].count == 4);
}

TEST(text_log__ends_a_run_where_the_process_was_restarted)
{
    struct record *r = record_text("Step 1: 5 MB\nStep 2: 6 MB\n[Process restarted]\n"
                                   "Step 3: 5 MB\nStep 4: 6 MB\n");
    CHECK(r->count == 2);
    CHECK_TEXT(r->series[0].name, "memory");
    CHECK_TEXT(r->series[1].name, "run 2");
    r = record_text("Step 1: 5 MB\nStep 2: 6 MB\nStep 3: 7 MB\nStep 1: 5 MB\n");
    CHECK(r->count == 1 && r->series[0].restarts == 1);
}

TEST(text_log__passes_over_what_loggers_write_first)
{
    static const char *const lines[] = {
        "2025-10-20 13:18:20,123 - INFO - trainer - Step 10: RAM 5,552 MB\n",
        "2025-10-20 13:18:20.123 | INFO     | __main__:train:45 - Step 10: RAM=5,552 MB\n",
        "INFO:trainer:step 10 ram 5,552 MB\n",
        "Oct  2 13:18:20 host train[123]: Step 10: 5,552 MB\n",
        "Memory usage at step 10: 5,552 MB\n",
        "step:10 train_loss:4.5 train_time:100ms peak memory:5552 MiB\n",
        "[2025-10-20 13:18:20] [rank0] step=10 loss=0.5 ram=5,552MB\n",
        "\x1b[32mINFO\x1b[0m: Step 10/500 | RAM: 5,552 MB\n",
        "> - Step 10: 5,552 MB\n",
        "{'loss': 1.2, 'step': 10, 'ram_mb': 5552}\n",
        "  5%|#         | 10/200 [00:10<03:10,  1.00s/it, loss=0.5, mem=5552MB]\n",
        "Step 10 | VRAM: 5552/16000 MB\n",
        "[10/20 13:18:20 d2]:  eta: 0:10:00  iter: 10  loss: 1.2  max_mem: 5552M\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct record *r = record_text(lines[i]);
        if (r->count != 1 || r->series[0].count != 1 || r->series[0].step[0] != 10 ||
            r->series[0].value[0] != 5552 * MB)
            UNIT_FAIL("%d series from: %s", r->count, lines[i]);
    }
}

TEST(text_log__takes_the_pid_from_the_line)
{
    struct record *r =
        record_text("[pid 12] Step 1: 5 MB\n[pid 13] Step 1: 6 MB\n[pid 12] Step 2: 5 MB\n");
    CHECK(r->count == 2 && r->series[0].pid == 12 && r->series[1].pid == 13);
    CHECK(r->series[0].count == 2);
}

TEST(text_log__puts_the_iterations_of_epochs_one_behind_the_other)
{
    struct record *r = record_text("Epoch: [0]  [   0/1000]  lr: 0.01  max mem: 5552\n"
                                   "Epoch: [0]  [ 500/1000]  lr: 0.01  max mem: 5553\n"
                                   "Epoch: [1]  [   0/1000]  lr: 0.01  max mem: 5554\n"
                                   "Epoch(val)  [1][ 10/10]  memory: 99\n");
    CHECK(r->count == 1 && r->series[0].count == 3);
    CHECK(r->series[0].step[2] == 1000 && r->series[0].epochs == 1);
    CHECK(strstr(r->summary.guesses, "'max mem' has no unit, taken as MB"));
}

TEST(text_log__counts_a_line_it_should_have_been_able_to_read)
{
    struct record *r = record_text("Step 1: 5 MB\nStep 2: ?? MB\nStep 3: 6 MB\n");
    CHECK(r->series[0].count == 2);
    CHECK(r->summary.skipped == 1 && r->summary.first_skipped == 2);
}

TEST(text_log__says_that_there_is_no_number)
{
    struct record *r = record_text("nothing here\nbut words\n");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "no number found"));
}

TEST(text_log__knows_the_epoch_from_its_first_line)
{
    struct record *r =
        record_text("Epoch 0:  10%|# | 1/600 [00:05<00:40, 2.2it/s, loss=0.3, gpu_mem=50.0MiB]\n"
                    "Epoch 0:  10%|# | 2/600 [00:05<00:40, 2.2it/s, loss=0.3, gpu_mem=51.0MiB]\n");
    CHECK(r->result == 0 && r->series[0].hints.epoch_length == 600);
    /* A total without an epoch may be the total of the whole training. */
    r = record_text(" 1%|# | 1/600 [00:05<00:40, 2.2it/s, mem=50.0MiB]\n");
    CHECK(r->result == 0 && r->series[0].hints.epoch_length == 0);
}

TEST(text_log__says_that_epochs_are_its_clock)
{
    struct record *r = record_text("{'loss': 0.5, 'epoch': 0.01, 'mem_mb': 5.5}\n"
                                   "{'loss': 0.4, 'epoch': 0.02, 'mem_mb': 6.5}\n");
    CHECK_TEXT(r->summary.guesses, "clock: epochs (called steps from here on)");
}

TEST(text_log__names_the_value_that_was_not_found)
{
    struct input_options options = {.value_columns = "vram"};
    struct record *r = record_with("Step 1: 5 MB\nStep 2: 6 MB\n", options);
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "no value called 'vram' (--value)"));
}

TEST(text_log__finds_the_step_before_the_name_of_a_value)
{
    struct record *r = record_text("Epoch 1 Step 5 Memory allocated: 50.5 MB, reserved: 60 MB\n"
                                   "Epoch 1 Step 6 Memory allocated: 51.5 MB, reserved: 60 MB\n");
    CHECK(r->result == 0 && r->count == 2);
    CHECK(r->series[0].step[0] == 5 && r->series[0].step[1] == 6);
    CHECK(record_text("Step 2 of the guide: 50 MB\n")->result == -EINVAL);
}

TEST(text_log__reads_the_dates_of_hugging_face)
{
    struct record *r = record_text("10/20/2025 23:59:50 - INFO - __main__ - GPU memory: 5 GB\n"
                                   "10/21/2025 00:00:20 - INFO - __main__ - GPU memory: 6 GB\n");
    CHECK(r->result == 0 && r->series[0].count == 2);
    CHECK(r->series[0].seconds[1] == 30);
}

TEST(text_log__takes_the_epoch_from_the_line_above)
{
    struct record *r = record_text("Epoch 1/3\n100/100 [====] - loss: 0.5 - mem_mb: 50\n"
                                   "Epoch 2/3\n100/100 [====] - loss: 0.5 - mem_mb: 51\n"
                                   "Epoch 3/3\n50/100 [==>..] - loss: 0.5 - mem_mb: 52\n");
    CHECK(r->result == 0 && r->count == 1 && r->series[0].count == 3);
    CHECK(r->series[0].step[1] == 200 && r->series[0].step[2] == 250);
    CHECK(r->series[0].epochs == 2 && r->series[0].restarts == 0);
    CHECK(r->series[0].hints.epoch_length == 100);
}

TEST(text_log__puts_epochs_of_a_known_length_one_behind_the_other)
{
    /* The last line of the first epoch is not its end. */
    struct record *r = record_text("Epoch 1: 50/120 [0:1<0:1, mem=50MB]\n"
                                   "Epoch 1: 100/120 [0:1<0:1, mem=51MB]\n"
                                   "Epoch 2: 50/120 [0:1<0:1, mem=52MB]\n");
    CHECK(r->series[0].count == 3 && r->series[0].step[2] == 170);
}

/* tests/unit/test_input_csv.c: tables of text as series. */
#include "record.h"
#include "unit.h"

TEST(csv__reads_a_clock_and_a_value_column)
{
    struct record *r = record_text("step,rss_mb\n10,5552\n20,7159.5\n");
    CHECK(r->result == 0 && r->count == 1);
    CHECK_TEXT(r->series[0].name, "rss_mb");
    CHECK_TEXT(r->series[0].kind, "host.rss");
    CHECK(r->series[0].clock == CLOCK_STEP && r->series[0].unit == SERIES_BYTES);
    CHECK(r->series[0].count == 2 && r->series[0].ended);
    CHECK(r->series[0].step[1] == 20);
    CHECK(isnan(r->series[0].seconds[1]));
    CHECK(r->series[0].value[1] == 7159.5 * MB);
    CHECK(r->series[0].resolution == MB);
    CHECK_TEXT(r->summary.format, "CSV with a header");
    CHECK_TEXT(r->summary.guesses, "clock: column 'step'");
}

TEST(csv__passes_time_on_beside_the_step)
{
    struct record *r = record_text("time,step,rss_mb,vms_mb,loss\n"
                                   "2025-10-20T13:18:20Z,1,10,20,0.5\n"
                                   "2025-10-20T15:18:25+02:00,2,11,21,0.4\n");
    CHECK(r->result == 0 && r->count == 2);
    CHECK_TEXT(r->series[1].kind, "host.vsize");
    CHECK(r->series[0].clock == CLOCK_STEP);
    CHECK(r->series[0].step[1] == 2 && r->series[0].seconds[1] == 5);
}

TEST(csv__reads_every_kind_of_time)
{
    CHECK(record_text("t,mem_mb\n1700000000,1\n1700000030,2\n")->series[0].seconds[1] == 30);
    CHECK(record_text("timestamp_ms,mem_mb\n1700000000000,1\n1700000030000,2\n")
              ->series[0]
              .seconds[1] == 30);
    CHECK(
        record_text("timestamp,mem_mb\n1700000000000,1\n1700000030000,2\n")->series[0].seconds[1] ==
        30);
    CHECK(record_text("time,mem_mb\n23:59:50,1\n00:00:20,2\n")->series[0].seconds[1] == 30);
    CHECK(record_text("date,mem_mb\n2025/10/20 23:59:50.5,1\n2025/10/21 00:00:20.5,2\n")
              ->series[0]
              .seconds[1] == 30);
    struct record *r = record_text("elapsed_min,mem_mb\n1,1\n2,2\n");
    CHECK(r->series[0].clock == CLOCK_SECONDS && r->series[0].seconds[0] == 60);
}

TEST(csv__reads_units_from_names_values_and_options)
{
    CHECK(record_text("step,used_gb\n1,2\n2,3\n")->series[0].value[0] == 0x1p31);
    CHECK(record_text("step,RAM (MB)\n1,2\n2,3\n")->series[0].value[0] == 2 * MB);
    CHECK(record_text("step,mem_bytes\n1,2\n2,3\n")->series[0].value[0] == 2);
    CHECK(record_text("step,rss_kb\n1,2\n2,3\n")->series[0].value[0] == 2048);
    CHECK(record_text("step,rss_mb\n1,2 GB\n2,3\n")->series[0].value[0] == 0x1p31);
    CHECK(record_text("step,usedMiB\n1,2\n2,3\n")->series[0].value[0] == 2 * MB);
    struct record *r = record_with("step,mem\n1,2\n2,3\n", (struct input_options){.unit = "GiB"});
    CHECK(r->series[0].value[0] == 0x1p31);
}

TEST(csv__says_what_unit_it_assumed)
{
    struct record *r = record_text("step,usage\n1,2\n2,3\n");
    CHECK(r->series[0].value[0] == 2 * MB);
    CHECK(strstr(r->summary.guesses, "'usage' has no unit, taken as MB"));
    r = record_text("step,torch.allocated\n1,26214400\n2,26214912\n");
    CHECK(r->series[0].value[1] == 26214912);
    CHECK(strstr(r->summary.guesses, "taken as bytes"));
    CHECK_TEXT(r->series[0].kind, "torch.allocated");
}

TEST(csv__counts_things_as_things)
{
    struct record *r = record_text("step,tensors,fds\n1,6484,30\n2,6529,31\n");
    CHECK(r->count == 2 && r->series[0].unit == SERIES_COUNT);
    CHECK(r->series[0].value[1] == 6529);
    CHECK_TEXT(r->series[0].kind, "py.tensors");
    CHECK_TEXT(r->series[1].kind, "fds");
}

TEST(csv__reads_tabs_and_semicolons_and_decimal_commas)
{
    struct record *r = record_text("step\tmem\n10\t5,552 MB\n20\t6.5 GB\n");
    CHECK(r->series[0].value[0] == 5552 * MB && r->series[0].value[1] == 6.5 * 1024 * MB);
    r = record_text("step;rss_mb\r\n10;5552,25\r\n20;5,552\r\n");
    CHECK(r->count == 1);
    CHECK_NEAR(r->series[0].value[0], 5552.25 * MB, 1);
    CHECK_NEAR(r->series[0].value[1], 5.552 * MB, 1);
}

TEST(csv__reads_quoted_fields)
{
    struct record *r = record_text("\"step\",\"process\",\"rss \"\"now\"\" (MB)\"\n"
                                   "10,\"a, \"\"b\"\"\",\"5,552\"\n");
    CHECK(r->result == 0 && r->count == 1);
    CHECK_TEXT(r->series[0].name, "a, \"b\"");
    CHECK(r->series[0].value[0] == 5552 * MB);
}

TEST(csv__makes_a_series_of_every_pid)
{
    struct record *r = record_text("pid,step,rss_mb\n7,1,10\n8,1,20\n7,2,11\n8,2,21\n9,3,5\n");
    CHECK(r->count == 3);
    CHECK_TEXT(r->series[1].name, "pid 8");
    CHECK(r->series[1].pid == 8 && r->series[1].count == 2);
    CHECK(r->series[1].value[1] == 21 * MB);
}

TEST(csv__reads_the_long_form)
{
    struct record *r = record_text("step,kind,value\n1,rss_mb,5\n1,loss,0.2\n1,torch.allocated,7\n"
                                   "2,rss_mb,6\n2,tensors,100\n");
    CHECK(r->result == 0 && r->count == 3);
    CHECK_TEXT(r->series[0].kind, "host.rss");
    CHECK_TEXT(r->series[1].kind, "torch.allocated");
    CHECK(r->series[2].unit == SERIES_COUNT && r->series[2].value[0] == 100);
    r = record_text("step,series,value\n1,main,5\n1,worker 1,7\n2,main,6\n");
    CHECK(r->count == 2);
    CHECK_TEXT(r->series[1].name, "worker 1");
    r = record_text("step,type,rss_mb\n1,train,5\n2,eval,7\n3,train,6\n");
    CHECK(r->count == 1 && r->series[0].count == 3);
}

TEST(csv__restarts_where_the_step_begins_anew)
{
    struct record *r = record_text("step,mem_mb\n1,5\n2,5\n3,6\n1,7\n2,7\n");
    CHECK(r->count == 1 && r->series[0].restarts == 1 && r->series[0].count == 5);
    r = record_text("step,mem_mb\n10,5\n20,5\n30,6\n29,7\n40,7\n");
    CHECK(r->series[0].restarts == 0);
}

TEST(csv__puts_the_batches_of_epochs_one_behind_the_other)
{
    struct record *r = record_text("epoch,batch,mem_mb\n0,1,5\n0,2,5\n0,3,6\n1,1,7\n1,2,7\n1,3,7\n"
                                   "2,1,7\n0,1,3\n");
    CHECK(r->count == 1);
    CHECK(r->series[0].step[3] == 4 && r->series[0].step[6] == 7);
    CHECK(r->series[0].epochs == 2 && r->series[0].epoch_at[0] == 3);
    CHECK(r->series[0].restarts == 1 && r->series[0].step[7] == 1);
}

TEST(csv__marks_epochs)
{
    struct record *r = record_text("step,epoch,mem_mb\n10,0.5,5\n20,0.9,5\n30,1.1,6\n40,2.0,6\n");
    CHECK(r->series[0].epochs == 2);
    CHECK(r->series[0].epoch_at[0] == 20 && r->series[0].epoch_at[1] == 30);
}

TEST(csv__skips_and_counts_bad_lines)
{
    struct record *r =
        record_text("step,mem_mb\n1,5\nx,5\n3,abc\n4,7,8\n5,7\n6,\n7,N/A\n# note\n\n");
    CHECK(r->result == 0 && r->series[0].count == 2);
    CHECK(r->summary.skipped == 3 && r->summary.first_skipped == 3);
    CHECK_TEXT(r->summary.skip_reason, "column 'step': 'x' is not a step");
}

TEST(csv__obeys_the_options)
{
    struct record *r =
        record_with("a,b,c\n1,5,9\n2,6,9\n",
                    (struct input_options){.clock_column = "1", .value_columns = "C, b"});
    CHECK(r->result == 0 && r->count == 2);
    CHECK_TEXT(r->series[0].name, "b");
    CHECK(r->series[0].step[1] == 2);
    r = record_with("step,time,mem_mb\n1,60,5\n2,70,5\n", (struct input_options){.clock = 2});
    CHECK(r->series[0].clock == CLOCK_SECONDS && r->series[0].seconds[1] == 70);
}

TEST(csv__counts_rows_where_there_is_no_clock)
{
    struct record *r = record_text("rss_mb\n100\n101\n102\n");
    CHECK(r->result == 0 && r->series[0].step[2] == 3);
    CHECK(strstr(r->summary.guesses, "rows are counted as steps"));
    r = record_text("100\n101\n102\n");
    CHECK(r->result == 0 && r->series[0].count == 3);
}

TEST(csv__reads_tables_without_a_header)
{
    struct record *r = record_text("10,100\n20,101\n30,102\n");
    CHECK(r->result == 0 && r->count == 1 && r->series[0].count == 3);
    CHECK(r->series[0].step[0] == 10 && r->series[0].value[0] == 100 * MB);
    CHECK_TEXT(r->summary.format, "CSV without a header");
}

TEST(csv__says_which_columns_it_found_where_none_is_memory)
{
    struct record *r = record_text("step,loss\n1,0.5\n2,0.4\n");
    CHECK(r->result == -EINVAL && r->summary.error_line == 1);
    CHECK(strstr(r->summary.error, "'step', 'loss'") && strstr(r->summary.error, "--value"));
    r = record_with("step,mem_mb\n1,5\n", (struct input_options){.value_columns = "foo"});
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "'foo' (--value)"));
    r = record_with("step,mem_mb\n1,5\n", (struct input_options){.clock_column = "foo"});
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "'foo' (--clock)"));
}

TEST(csv__gives_a_series_a_name_where_its_column_has_none)
{
    struct record *r =
        record_with("step,\n1,5\n2,6\n", (struct input_options){.value_columns = "2"});
    CHECK(r->result == 0 && r->count == 1);
    CHECK_TEXT(r->series[0].name, "column 2");
}

TEST(csv__wants_rows_below_the_header)
{
    struct record *r = record_text("step,rss_mb\n");
    CHECK(r->result == -EINVAL && r->summary.error_line == 1);
    CHECK(strstr(r->summary.error, "header without a row"));
    r = record_text("step,rss_mb\n1,2\n");
    CHECK(r->result == 0 && r->series[0].count == 1);
}

TEST(csv__says_why_no_row_could_be_read)
{
    struct record *r = record_text("step,rss_mb\nx,1\ny,2\n");
    CHECK(r->result == -EINVAL && r->summary.error_line == 2);
    CHECK(strstr(r->summary.error, "'x' is not a step"));
}

static int count_series(void *context, const struct series_info *info,
                        const struct input_hints *hints)
{
    (void) info;
    (void) hints;
    return (*(int *) context)++;
}

static int ignore_sample(void *context, int series, double step, double seconds, double value)
{
    (void) context;
    return isfinite(step) && isnan(seconds) && value == 5 * MB && series >= 0 ? 0 : -EIO;
}

static int ignore_end(void *context, int series)
{
    (void) context;
    return series >= 0 ? 0 : -EIO;
}

TEST(csv__bounds_the_number_of_series)
{
    int fd = memfd_create("many", MFD_CLOEXEC), series = 0;
    dprintf(fd, "pid,step,rss_mb\n");
    for (int i = 1; i <= 4100; i++)
        dprintf(fd, "%d,1,5\n", i);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    struct input_sink sink = {
        .context = &series, .series = count_series, .sample = ignore_sample, .end = ignore_end};
    struct input_options none = {0};
    struct input *in;
    CHECK(input_new(fd, &none, &sink, &in) == 0);
    CHECK(input_read(in) == 0 && input_finish(in) == 0);
    CHECK(series == 4096);
    CHECK(input_summary(in)->skipped == 4 && input_summary(in)->first_skipped == 4098);
    CHECK_TEXT(input_summary(in)->skip_reason, "more than 4096 series at one time");
    input_free(in);
    close(fd);
}

TEST(csv__reads_nvidia_smi)
{
    static const char header[] = "timestamp, pid, process_name, used_gpu_memory [MiB], gpu_uuid\n";
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s", header);
    buf_adds(&text, "2025/01/02 23:59:58.123, 100, python, 1234 MiB, GPU-a\n");
    buf_adds(&text, "2025/01/02 23:59:58.123, 101, python, [N/A], GPU-a\n");
    buf_addf(&text, "%s", header);
    buf_adds(&text, "2025/01/03 00:00:03.123, 100, python, 1300 MiB, GPU-a\n");
    buf_adds(&text, "2025/01/03 00:00:03.123, 100, python, 10 MiB, GPU-b\n");
    struct record *r = record_text(buf_text(&text));
    buf_release(&text);
    CHECK(r->result == 0 && r->count == 2 && r->summary.skipped == 0);
    CHECK_TEXT(r->series[0].kind, "gpu.used");
    CHECK_TEXT(r->series[0].device, "GPU-a");
    CHECK(r->series[0].pid == 100 && r->series[0].count == 2);
    CHECK(r->series[0].seconds[1] == 5 && r->series[0].value[1] == 1300 * MB);
    CHECK_TEXT(r->series[1].device, "GPU-b");
    CHECK_TEXT(r->summary.format, "nvidia-smi CSV with a header");
}

TEST(csv__reads_nvidia_smi_by_gpu)
{
    struct record *r = record_text("timestamp, index, memory.used [MiB], memory.total [MiB], "
                                   "utilization.gpu [%]\n"
                                   "2025/01/02 23:59:58.123, 0, 1234 MiB, 16000 MiB, 5 %\n"
                                   "2025/01/02 23:59:58.123, 1, 1235 MiB, 16000 MiB, 5 %\n");
    CHECK(r->result == 0 && r->count == 2);
    CHECK_TEXT(r->series[1].kind, "gpu.used");
    CHECK_TEXT(r->series[1].device, "1");
}

TEST(csv__skips_cells_of_another_unit_than_those_before)
{
    struct record *r = record_text("step,mem\n1,5 GB\n2,6\n3,0\n4,7 GB\n");
    CHECK(r->result == 0 && r->series[0].count == 3);
    CHECK(r->series[0].value[2] == 7 * 0x1p30);
    CHECK(r->summary.skipped == 1 && r->summary.first_skipped == 3);
    CHECK_TEXT(r->summary.skip_reason,
               "column 'mem': '6' has no unit, but earlier ones have one (mixed units)");
    r = record_text("step,mem\n1,5\n2,6 GB\n3,7\n");
    CHECK(r->series[0].count == 2 && r->series[0].value[1] == 7 * MB);
    CHECK(strstr(r->summary.skip_reason, "'6 GB' has a unit"));
    /* The name gives the unit of plain numbers, so nothing is mixed up. */
    CHECK(record_text("step,mem_mb\n1,5 GB\n2,6\n")->summary.skipped == 0);
}

TEST(csv__takes_the_unit_that_a_row_tells)
{
    struct record *r = record_text("seconds,step,pid,role,kind,device,unit,value,floor,max,count\n"
                                   "0.5,1,7,trainer,host.shmem,,bytes,4096,4096,4096,1\n"
                                   "0.5,1,7,trainer,fds,,count,12,12,12,1\n"
                                   "0.5,1,,job,processes,,count,3,3,3,1\n"
                                   "0.5,1,,job,system.used,,MB,5,4,6,8\n");
    CHECK(r->result == 0 && r->count == 4);
    CHECK_TEXT(r->series[0].name, "trainer host.shmem pid 7");
    CHECK(r->series[0].value[0] == 4096 && r->series[0].unit == SERIES_BYTES);
    CHECK(r->series[1].value[0] == 12 && r->series[1].unit == SERIES_COUNT);
    CHECK_TEXT(r->series[2].kind, "processes");
    CHECK(r->series[2].value[0] == 3 && r->series[2].unit == SERIES_COUNT);
    CHECK(r->series[3].value[0] == 5 * MB && r->series[3].unit == SERIES_BYTES);
    CHECK(r->series[0].step[0] == 1 && r->series[0].seconds[0] == 0.5);
}

TEST(csv__takes_a_counter_for_a_value_beside_the_long_form)
{
    CHECK(record_text("step,kind,value,rss_mb\n1,a,5,6\n2,a,7,8\n")->series[0].value[0] == 6 * MB);
    CHECK(record_text("step,value,max\n1,5,6\n2,7,8\n")->count == 2);
}

TEST(csv__tells_of_time_where_no_row_has_a_step)
{
    struct record *r = record_text("seconds,step,rss_mb\n1,,5\n2,,6\n");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "--time"));
}

TEST(csv__says_which_column_holds_no_number)
{
    struct record *r = record_text("step,rss_mb\n1,nan\n2,nan\n3,n/a\n");
    CHECK(r->result == -EINVAL);
    CHECK_TEXT(r->summary.error, "no number in column 'rss_mb'");
}

TEST(csv__tells_that_it_does_not_read_every_column)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "step");
    for (int i = 0; i < 600; i++)
        buf_addf(&text, ",c%d", i);
    for (int row = 0; row < 2; row++) {
        buf_addf(&text, "\n%d", row);
        buf_repeat(&text, ",5", 600);
    }
    struct input_options one = {.value_columns = "c7"};
    struct record *r = record_with(buf_text(&text), one);
    buf_release(&text);
    CHECK(r->result == 0 && r->count == 1);
    CHECK(strstr(r->summary.guesses, "only the first 512 columns are read"));
}

TEST(csv__says_that_epochs_are_its_clock)
{
    struct record *r = record_text("epoch,rss_mb\n1,5\n2,6\n");
    CHECK_TEXT(r->summary.guesses, "clock: column 'epoch' (epochs are called steps from here on)");
}

TEST(csv__refuses_rows_that_are_upside_down)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "step,rss_mb\n");
    for (int i = 20; i > 0; i--)
        buf_addf(&text, "%d,5\n", i);
    struct record *r = record_text(buf_text(&text));
    buf_release(&text);
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "the clock falls from row to row"));
    /* A program that restarts again and again is another matter. */
    r = record_text("step,rss_mb\n0,5\n1,6\n0,5\n1,6\n0,5\n1,6\n0,5\n1,6\n0,5\n1,6\n0,5\n1,6\n"
                    "0,5\n1,6\n0,5\n1,6\n0,5\n1,6\n0,5\n1,6\n");
    CHECK(r->result == 0 && r->series[0].restarts == 9);
}

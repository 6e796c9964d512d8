/* tests/unit/test_input_others.c: mprof, names, moments, and the life of a source. */
#include "record.h"
#include "unit.h"

#include "input/names.h"
#include "input/when.h"

TEST(mprof__reads_the_process_and_its_children)
{
    struct record *r = record_text("CMDLINE python train.py --x 1\nMEM 1.5 1700000000.1\n"
                                   "FUNC main.f 1 2 3 4\nMEM 2.5 1700000000.2\n"
                                   "CHLD 77 3.5 1700000000.2\nMEM 2.x 1\nMEM 3.5 1700000001.1\n");
    CHECK(r->result == 0 && r->count == 2);
    CHECK_TEXT(r->series[0].name, "python train.py --x 1");
    CHECK_TEXT(r->series[0].kind, "host.rss");
    CHECK(r->series[0].clock == CLOCK_SECONDS && r->series[0].count == 3);
    CHECK_NEAR(r->series[0].seconds[2], 1, 1e-6);
    CHECK(r->series[0].value[0] == 1.5 * MB);
    CHECK(r->series[1].pid == 77 && r->series[1].value[0] == 3.5 * MB);
    CHECK(r->summary.skipped == 1 && r->summary.first_skipped == 6);
    CHECK_TEXT(r->summary.format, "memory_profiler (mprof)");
}

TEST(mprof__does_not_take_the_end_of_a_child_for_a_size)
{
    struct record *r = record_text("MEM 1.5 1700000000\nCHLD 77 3.5 1700000000\n"
                                   "CHLD 77 0.000000 1700000001\nMEM 1.6 1700000001\n");
    CHECK(r->result == 0 && r->series[0].count == 2 && r->series[1].count == 1);
    CHECK(r->summary.skipped == 0);
}

TEST(mprof__wants_a_sample)
{
    struct record *r = record_text("CMDLINE python train.py\nFUNC f 1 2 3 4\n");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "MEM MiB seconds"));
}

TEST(input__refuses_what_is_empty_or_binary)
{
    struct record *r = record_text("");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "empty"));
    r = record_bytes("\x7f"
                     "ELF\0\0\0\0",
                     8, NULL);
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "binary") && r->summary.error_line == 1);
    r = record_bytes("\xff\xfes\0t\0", 6, NULL);
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "UTF-16"));
}

TEST(input__counts_damage_in_a_good_file)
{
    struct record *r = record_bytes("step,rss_mb\n1,5\n\0\0\0\n2,6\n", 24, NULL);
    CHECK(r->result == 0 && r->series[0].count == 2);
    CHECK(r->summary.skipped == 1 && r->summary.first_skipped == 3);
    CHECK_TEXT(r->summary.skip_reason, "a NUL byte");
}

TEST(input__refuses_a_directory_and_an_unknown_unit)
{
    CHECK(record_fd(open("/", O_RDONLY | O_DIRECTORY), NULL, 0)->result == -EISDIR);
    struct record *r = record_with("step,mem\n1,5\n", (struct input_options){.unit = "km"});
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "'km'"));
}

TEST(input__hands_on_what_the_sink_answers)
{
    int fd = memfd_create("sink", MFD_CLOEXEC);
    CHECK(write(fd, "Step 1: 5 MB\nStep 2: 6 MB\n", 26) == 26 && lseek(fd, 0, SEEK_SET) == 0);
    struct record *r = record_fd(fd, NULL, -EPIPE);
    CHECK(r->result == -EPIPE && r->series[0].count == 1);
}

TEST(input__follows_a_growing_file)
{
    static struct record record;
    struct input_sink sink = {&record,      record_series,  record_sample,
                              record_epoch, record_restart, record_end};
    struct input_options follow = {.follow = true};
    struct input *in;
    int fd = memfd_create("follow", MFD_CLOEXEC);
    CHECK(input_new(fd, &follow, &sink, &in) == 0);
    CHECK(pwrite(fd, "step,rss_mb\n1,5\n2,", 18, 0) == 18);
    CHECK(input_read(in) == 0 && record.series[0].count == 1);
    CHECK(input_read(in) == 0 && record.series[0].count == 1);
    CHECK(pwrite(fd, "6\n3,7", 5, 18) == 5);
    CHECK(input_read(in) == 0 && record.series[0].count == 2);
    CHECK(!record.series[0].ended);
    CHECK(input_finish(in) == 0 && record.series[0].count == 3 && record.series[0].ended);
    CHECK(record.series[0].value[1] == 6 * MB);
    CHECK(input_finish(in) == 0);
    input_free(in);
    close(fd);
    CHECK(input_free(NULL) == NULL);
}

TEST(input__decides_on_a_log_at_last)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_adds(&text, "loading, please wait\n");
    buf_adds(&text, "Step 1: 5 MB\nStep 2: 6 MB\n");
    struct record *r = record_text(buf_text(&text));
    buf_release(&text);
    CHECK(r->result == 0 && r->series[0].count == 2 && r->summary.lines == 1002);
}

static enum name_role role(const char *name)
{
    return name_read(name, strlen(name)).role;
}

TEST(names__tell_clocks_from_durations)
{
    CHECK(role("global_step") == NAME_STEP && role("trainer/global_step") == NAME_STEP);
    CHECK(role("iteration") == NAME_STEP && role("batch_size") != NAME_STEP);
    CHECK(role("timestamp") == NAME_TIME && role("elapsed_s") == NAME_TIME);
    CHECK(role("step_time") != NAME_TIME && role("data_time") != NAME_TIME);
    CHECK(role("epoch") == NAME_EPOCH && role("pid") == NAME_PID);
    CHECK(name_read("time_ms", 7).time_unit == 1e-3);
}

TEST(names__tell_levels_from_everything_else)
{
    static const char *const levels[] = {"rss",      "rss_mb",  "VmRSS",      "memoryMB",
                                         "gpu0",     "mem_gb",  "used_bytes", "vram",
                                         "gpu_used", "CPU mem", "max_mem",    "heap"};
    static const char *const noise[] = {
        "loss",     "gpu_util",           "mem_percent",  "RAM %",    "vram_delta",
        "mem_free", "memory.total [MiB]", "disk_read_mb", "mb_per_s", "memory limit"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (role(levels[i]) != NAME_MEMORY)
            UNIT_FAIL("no memory: %s", levels[i]);
    }
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        if (role(noise[i]) != NAME_NOISE)
            UNIT_FAIL("not noise: %s", noise[i]);
    }
    CHECK(role("tensors") == NAME_COUNT && role("object_count") == NAME_COUNT);
    CHECK(role("foo") == NAME_OTHER && role("42") == NAME_OTHER && role("") == NAME_OTHER);
}

TEST(names__tell_kind_and_device)
{
    CHECK_TEXT(name_read("uss_mb", 6).kind, "host.private");
    CHECK_TEXT(name_read("vsz", 3).kind, "host.vsize");
    CHECK_TEXT(name_read("cuda_reserved_gb", 16).kind, "torch.reserved");
    CHECK_TEXT(name_read("used_gpu_memory [MiB]", 21).kind, "gpu.used");
    CHECK_TEXT(name_read("gpu1_mem", 8).device, "cuda:1");
    CHECK_TEXT(name_read("mem", 3).device, "");
}

TEST(when__reads_moments_and_nothing_else)
{
    struct when w;
    CHECK(when_parse("1970-01-02T00:00:01.5Z", 22, &w) && w.seconds == 86401.5);
    CHECK(when_parse("2000-03-01", 10, &w) && w.seconds == 951868800 && !w.time_of_day);
    CHECK(when_parse("13:18:20 x", 10, &w) && w.time_of_day && w.length == 8);
    CHECK(when_parse("13:18:20,250", 12, &w) && w.seconds == 47900.25);
    CHECK(when_parse("2025-10-20 13:18:20 -0530", 25, &w) && w.length == 19);
    CHECK(when_parse("Oct  2 13:18:20 host", 20, &w) && w.length == 15 && !w.time_of_day);
    CHECK(!when_parse("Oct 20", 6, &w) && !when_parse("March 2 13:18:20", 16, &w));
    CHECK(!when_parse("13:18", 5, &w) && !when_parse("99:99:99", 8, &w));
    CHECK(!when_parse("2025-13-01", 10, &w) && !when_parse("12345", 5, &w));
}

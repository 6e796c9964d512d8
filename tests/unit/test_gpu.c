/* tests/unit/test_gpu.c: GPU memory through a stand-in for NVIDIA's library. */
#include "gpu/gpu.h"
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Tests run in the build folder. */
#define STANDIN "tests/libnvml_standin.so"
#define OLD "tests/libnvml_standin_old.so"
#define BARE "tests/libnvml_standin_bare.so"
#define MB 0x1p20
#define GB 0x1p30

/* Two devices, and two processes on the first. */
#define TWO_DEVICES                                                                                \
    "device uuid=GPU-aaaa name=NVIDIA_H100 total=80G reserved=500M used=3G util=35 memutil=12\n"   \
    "process pid=300 used=1G\n"                                                                    \
    "process pid=200 used=1536M\n"                                                                 \
    "device uuid=GPU-bbbb name=NVIDIA_T4 total=16G # idle\n"

/* ---- the stand-in's file ---- */

static char path[] = "/tmp/tidemark_gpu_XXXXXX";
static bool has_path;

static void remove_file(void)
{
    unlink(path);
}

/* Writes `text` to the file that the stand-in reads. */
static void play(const char *text)
{
    if (!has_path) {
        int fd = mkstemp(path);
        if (fd < 0)
            abort();
        close(fd);
        has_path = true;
        if (atexit(remove_file) != 0)
            abort();
    }
    FILE *file = fopen(path, "we");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
    setenv("TIDEMARK_STANDIN", path, 1);
}

/* ---- a GPU for one case ---- */

static char why[GPU_WHY_LENGTH];
static int opened; /* what gpu_open() returned */

static struct gpu *open_with(const char *library, const char *text)
{
    play(text);
    setenv("TIDEMARK_NVML", library, 1);
    struct gpu *g = NULL;
    snprintf(why, sizeof why, "untouched");
    opened = gpu_open(&g, why);
    return g;
}

/* Frees `g` even if a CHECK ends the case. */
static void close_gpu(struct gpu **g)
{
    gpu_free(*g);
}
#define GPU __attribute__((cleanup(close_gpu))) struct gpu *

static struct gpu *open_standin(const char *text)
{
    return open_with(STANDIN, text);
}

static const struct gpu_process *list;
static size_t count;

static int read_list(struct gpu *g, size_t device)
{
    list = NULL;
    count = 12345;
    return gpu_read_processes(g, device, &list, &count);
}

/* The use of the only process in a file with these lines; NAN if there is not exactly one. */
static double lone_used(const char *lines)
{
    char text[1000];
    snprintf(text, sizeof text, "device uuid=GPU-a total=1G\n%s", lines);
    GPU g = open_standin(text);
    return g && read_list(g, 0) == 0 && count == 1 ? list[0].used_bytes : NAN;
}

/* ---- opening ---- */

TEST(gpu__without_a_driver_says_so_in_words)
{
    GPU g = open_with("/nonexistent", TWO_DEVICES);
    CHECK(opened == -ENOENT && !g);
    CHECK_TEXT(why, "no NVIDIA driver");
}

TEST(gpu__tells_a_library_that_cannot_be_loaded_from_none)
{
    GPU g = open_with(path, TWO_DEVICES); /* a text file */
    CHECK(opened == -ENOENT && !g);
    CHECK(strncmp(why, "the NVIDIA driver library cannot be loaded: ", 44) == 0);
}

TEST(gpu__takes_no_library_by_name_from_the_environment)
{
    GPU g = open_with("libm.so.6", TWO_DEVICES);
    CHECK(opened == -ENOENT && !g);
    CHECK(strstr(why, "TIDEMARK_NVML"));
}

TEST(gpu__says_what_the_driver_answers_when_it_does_not_start)
{
    GPU g = open_standin("driver init=9\n" TWO_DEVICES);
    CHECK(opened == -ENODEV && !g);
    CHECK_TEXT(why, "the NVIDIA driver does not answer: Driver Not Loaded");
    GPU old = open_with(OLD, "driver init=9\n" TWO_DEVICES);
    CHECK(opened == -ENODEV && !old);
    CHECK_TEXT(why, "the NVIDIA driver does not answer: unknown error");
}

TEST(gpu__says_when_there_is_no_device)
{
    GPU g = open_standin("# nothing\n");
    CHECK(opened == -ENODEV && !g);
    CHECK_TEXT(why, "no NVIDIA device");
}

TEST(gpu__says_why_the_only_device_cannot_be_had)
{
    GPU g = open_standin("device uuid=GPU-a open=15\n");
    CHECK(opened == -ENODEV && !g);
    CHECK_TEXT(why, "no NVIDIA device: GPU is lost");
}

TEST(gpu__refuses_a_library_without_the_calls_it_needs)
{
    GPU g = open_with(BARE, TWO_DEVICES);
    CHECK(opened == -ENODEV && !g);
    CHECK_TEXT(why, "the NVIDIA driver is too old: its library has no nvmlDeviceGetCount");
}

TEST(gpu__opens_and_closes_again_and_again)
{
    for (int i = 0; i < 3; i++) {
        struct gpu *g = open_standin(TWO_DEVICES);
        CHECK(opened == 0);
        CHECK(gpu_free(g) == NULL);
    }
    CHECK_TEXT(why, "untouched");
    CHECK(gpu_free(NULL) == NULL);
}

/* ---- devices ---- */

TEST(gpu__knows_its_devices)
{
    GPU g = open_standin(TWO_DEVICES);
    CHECK(g && gpu_device_count(g) == 2);
    const struct gpu_device *d = gpu_device(g, 0);
    CHECK(d->index == 0 && d->total_bytes == 80 * GB);
    CHECK_TEXT(d->uuid, "GPU-aaaa");
    CHECK_TEXT(d->name, "NVIDIA H100");
    d = gpu_device(g, 1);
    CHECK(d->index == 1 && d->total_bytes == 16 * GB);
    CHECK_TEXT(d->uuid, "GPU-bbbb");
}

TEST(gpu__leaves_out_a_device_that_cannot_be_had)
{
    GPU g = open_standin("device uuid=GPU-a\ndevice uuid=GPU-b open=4\ndevice uuid=GPU-c\n");
    CHECK(g && gpu_device_count(g) == 2);
    CHECK(gpu_device(g, 1)->index == 2);
    CHECK_TEXT(gpu_device(g, 1)->uuid, "GPU-c");
}

TEST(gpu__has_no_text_for_what_the_driver_does_not_name)
{
    GPU g = open_standin("device memory=3\n");
    CHECK(g && gpu_device_count(g) == 1);
    CHECK_TEXT(gpu_device(g, 0)->uuid, "");
    CHECK_TEXT(gpu_device(g, 0)->name, "");
    CHECK(isnan(gpu_device(g, 0)->total_bytes));
}

TEST(gpu__reads_the_load_of_a_device)
{
    GPU g = open_standin(TWO_DEVICES);
    struct gpu_load load;
    CHECK(g && gpu_read_device(g, 0, &load) == 0);
    CHECK(load.used_bytes == 3 * GB && load.total_bytes == 80 * GB);
    CHECK(load.utilization == 35 && load.memory_utilization == 12);
    CHECK(gpu_read_device(g, 1, &load) == 0);
    CHECK(load.used_bytes == 0 && isnan(load.utilization) && isnan(load.memory_utilization));
}

TEST(gpu__tells_no_memory_where_the_driver_does_not)
{
    GPU g = open_standin("device uuid=GPU-a memory=3 util=7\n");
    struct gpu_load load;
    CHECK(g && gpu_read_device(g, 0, &load) == 0);
    CHECK(isnan(load.used_bytes) && isnan(load.total_bytes));
    CHECK(load.utilization == 7);
}

TEST(gpu__reports_a_device_that_is_lost_later)
{
    GPU g = open_standin(TWO_DEVICES);
    CHECK(g != NULL);
    play("device uuid=GPU-aaaa lost\ndevice uuid=GPU-bbbb total=16G\n");
    struct gpu_load load = {.used_bytes = 42};
    CHECK(gpu_read_device(g, 0, &load) == -ENODEV);
    CHECK(load.used_bytes == 42);
    CHECK(read_list(g, 0) == -ENODEV);
    CHECK(!list && count == 12345);
    CHECK(gpu_read_device(g, 1, &load) == 0);
    CHECK(read_list(g, 1) == 0 && count == 0);
}

TEST(gpu__reports_a_device_lost_between_two_calls)
{
    GPU g = open_standin("device uuid=GPU-a total=1G utilization=15 graphics=15\n");
    struct gpu_load load;
    CHECK(g && gpu_read_device(g, 0, &load) == -ENODEV);
    CHECK(read_list(g, 0) == -ENODEV);
}

TEST(gpu__reports_other_failures_of_the_driver)
{
    GPU g = open_standin("device uuid=GPU-a memory=999 processes=999\n");
    struct gpu_load load;
    CHECK(g && gpu_read_device(g, 0, &load) == -EIO);
    CHECK(read_list(g, 0) == -EIO);
}

/* ---- processes ---- */

TEST(gpu__lists_processes_by_pid)
{
    GPU g = open_standin(TWO_DEVICES);
    CHECK(g && read_list(g, 0) == 0 && count == 2);
    CHECK(list[0].pid == 200 && list[0].used_bytes == 1536 * MB);
    CHECK(list[1].pid == 300 && list[1].used_bytes == 1024 * MB);
    CHECK(read_list(g, 1) == 0 && count == 0);
}

TEST(gpu__sees_memory_grow)
{
    GPU g = open_standin("device uuid=GPU-a\nprocess pid=self used=10M\n");
    CHECK(g && read_list(g, 0) == 0 && count == 1);
    CHECK(list[0].pid == getpid() && list[0].used_bytes == 10 * MB);
    play("device uuid=GPU-a\nprocess pid=self used=11M\n");
    CHECK(read_list(g, 0) == 0 && count == 1 && list[0].used_bytes == 11 * MB);
    struct gpu_load load;
    CHECK(gpu_read_device(g, 0, &load) == 0 && load.used_bytes == 11 * MB);
}

TEST(gpu__counts_memory_once_where_a_process_has_several_contexts)
{
    CHECK(lone_used("process pid=7 used=1M type=CG\n") == MB);
    CHECK(lone_used("process pid=7 used=1M\nprocess pid=7 used=3M type=G\n") == 3 * MB);
    CHECK(lone_used("process pid=7 used=3M type=M\nprocess pid=7 used=1M\n") == 3 * MB);
}

TEST(gpu__lists_graphics_and_mps_alone)
{
    CHECK(lone_used("process pid=7 used=1M type=G\n") == MB);
    CHECK(lone_used("process pid=7 used=2M type=M\n") == 2 * MB);
}

TEST(gpu__does_not_know_memory_that_is_not_available)
{
    GPU g = open_standin("device uuid=GPU-a\nprocess pid=7 used=N/A\n");
    CHECK(g && read_list(g, 0) == 0 && count == 1);
    CHECK(list[0].pid == 7 && isnan(list[0].used_bytes));
    CHECK(lone_used("process pid=7 used=N/A\nprocess pid=7 used=1M type=G\n") == MB);
}

TEST(gpu__passes_over_processes_without_a_pid)
{
    CHECK(lone_used("process pid=0 used=5M\nprocess pid=7 used=1M\n") == MB);
}

TEST(gpu__lists_nobody_where_the_driver_shows_nobody)
{
    GPU g = open_standin("device uuid=GPU-a total=1G used=500M\n");
    CHECK(g && read_list(g, 0) == 0 && count == 0);
}

TEST(gpu__says_when_the_driver_does_not_list_processes)
{
    GPU g = open_standin("device uuid=GPU-a processes=3\n");
    CHECK(g && read_list(g, 0) == -ENOTSUP);
    play("device uuid=GPU-a processes=4\n");
    CHECK(read_list(g, 0) == -ENOTSUP);
}

TEST(gpu__does_without_a_list_of_graphics)
{
    GPU g = open_standin("device uuid=GPU-a graphics=3\nprocess pid=7 used=1M\n");
    CHECK(g && read_list(g, 0) == 0 && count == 1);
}

TEST(gpu__asks_again_for_a_list_longer_than_expected)
{
    char text[10000] = "device uuid=GPU-a\n";
    for (int pid = 300; pid > 0; pid--) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "process pid=%d used=%dK\n", pid, pid);
    }
    GPU g = open_standin(text);
    CHECK(g && read_list(g, 0) == 0 && count == 300);
    for (int i = 0; i < 300; i++)
        CHECK(list[i].pid == i + 1 && list[i].used_bytes == (i + 1) * 1024.0);
}

TEST(gpu__gives_up_on_a_list_that_is_always_too_small)
{
    GPU g = open_standin("device uuid=GPU-a processes=7\n");
    CHECK(g && read_list(g, 0) == -EIO);
}

TEST(gpu__sees_how_long_the_entries_of_a_list_are)
{
    static const char *const drivers[] = {"entry=16", "entry=24", "entry=32"};
    for (size_t i = 0; i < 3; i++) {
        char text[500];
        snprintf(text, sizeof text, "driver %s\n" TWO_DEVICES, drivers[i]);
        GPU g = open_standin(text);
        CHECK(g && read_list(g, 0) == 0 && count == 2);
        CHECK(list[0].pid == 200 && list[0].used_bytes == 1536 * MB);
        CHECK(list[1].pid == 300 && list[1].used_bytes == 1024 * MB);
    }
}

/* ---- old drivers ---- */

TEST(gpu__takes_an_older_list_where_the_newest_has_no_function)
{
    GPU g = open_standin("driver v3=13\n" TWO_DEVICES);
    CHECK(g && read_list(g, 0) == 0 && count == 2);
    CHECK(list[0].pid == 200 && list[0].used_bytes == 1536 * MB);
}

TEST(gpu__reads_an_old_driver)
{
    GPU g = open_with(OLD, TWO_DEVICES);
    CHECK(g && gpu_device_count(g) == 2);
    struct gpu_load load;
    CHECK(gpu_read_device(g, 0, &load) == 0);
    CHECK(load.used_bytes == 3 * GB + 500 * MB && load.total_bytes == 80 * GB);
    CHECK(isnan(load.utilization) && isnan(load.memory_utilization));
    CHECK(read_list(g, 0) == 0 && count == 2);
    CHECK(list[0].pid == 200 && list[0].used_bytes == 1536 * MB);
    CHECK(list[1].pid == 300 && list[1].used_bytes == 1024 * MB);
}

/* ---- MIG ---- */

#define MIG                                                                                        \
    "device uuid=GPU-a name=NVIDIA_A100 total=40G mig\n"                                           \
    "mig uuid=MIG-1 name=NVIDIA_A100_MIG_1g.5gb total=5G gi=7 ci=0\n"                              \
    "process pid=10 used=100M\n"                                                                   \
    "process pid=11 used=30M\n"                                                                    \
    "mig uuid=MIG-2 total=5G gi=8 ci=0\n"                                                          \
    "process pid=10 used=200M\n"                                                                   \
    "device uuid=GPU-b total=40G\n"

TEST(gpu__lists_the_instances_after_their_device)
{
    GPU g = open_standin(MIG);
    CHECK(g && gpu_device_count(g) == 4);
    static const char *const uuids[] = {"GPU-a", "MIG-1", "MIG-2", "GPU-b"};
    static const unsigned indices[] = {0, 0, 0, 1};
    for (size_t i = 0; i < 4; i++) {
        CHECK_TEXT(gpu_device(g, i)->uuid, uuids[i]);
        CHECK(gpu_device(g, i)->index == indices[i]);
    }
    CHECK(gpu_device(g, 1)->total_bytes == 5 * GB);
}

TEST(gpu__reads_instances_by_themselves)
{
    GPU g = open_standin(MIG);
    struct gpu_load load;
    CHECK(g && gpu_read_device(g, 2, &load) == 0);
    CHECK(load.used_bytes == 200 * MB && isnan(load.utilization));
    CHECK(read_list(g, 1) == 0 && count == 2);
    CHECK(list[0].pid == 10 && list[0].used_bytes == 100 * MB);
    CHECK(read_list(g, 2) == 0 && count == 1);
    CHECK(list[0].pid == 10 && list[0].used_bytes == 200 * MB);
}

TEST(gpu__adds_up_what_a_process_holds_on_several_instances)
{
    GPU g = open_standin(MIG);
    CHECK(g && read_list(g, 0) == 0 && count == 2);
    CHECK(list[0].pid == 10 && list[0].used_bytes == 300 * MB);
    CHECK(list[1].pid == 11 && list[1].used_bytes == 30 * MB);
    play("device uuid=GPU-a mig\nmig uuid=MIG-1 gi=7 ci=0\nprocess pid=10 used=N/A\n"
         "mig uuid=MIG-2 gi=8 ci=0\nprocess pid=10 used=1M\n");
    CHECK(read_list(g, 0) == 0 && count == 1 && isnan(list[0].used_bytes));
}

TEST(gpu__has_no_instances_where_mig_is_disabled)
{
    GPU g = open_standin("device uuid=GPU-a\nmig uuid=MIG-1\n");
    CHECK(g && gpu_device_count(g) == 1);
    GPU old = open_with(OLD, MIG);
    CHECK(old && gpu_device_count(old) == 2);
}

TEST(gpu__reads_instances_where_the_device_is_not_for_us)
{
    GPU g = open_standin("device uuid=GPU-a memory=4 processes=4 mig\n"
                         "mig uuid=MIG-1 total=5G gi=7 ci=0\nprocess pid=10 used=1M\n");
    struct gpu_load load;
    CHECK(g && gpu_device_count(g) == 2);
    CHECK(gpu_read_device(g, 0, &load) == 0 && isnan(load.used_bytes));
    CHECK(read_list(g, 0) == -ENOTSUP);
    CHECK(read_list(g, 1) == 0 && count == 1 && list[0].used_bytes == MB);
}

/* tests/unit/test_settings.c: advice on settings, and none without a reason. */
#include "unit.h"
#include "words/settings.h"

#define MB (1024.0 * 1024)
#define GB (1024 * MB)

static struct setting_facts no_facts(void)
{
    return (struct setting_facts){
        .host_peak = 4 * GB,
        .pinned = NAN,
        .freed_by_trim = NAN,
        .freed_by_gc = NAN,
        .fall = NAN,
    };
}

/* The reason to advise a setting; NULL: it is not advised. */
static const char *advised(const struct setting_facts *f, const char *name)
{
    static char text[2048];
    struct settings s;
    settings_judge(f, &s);
    for (unsigned i = 0; i < s.count; i++) {
        struct buf why = BUF_INIT;
        if (strcmp(setting_name(s.list[i].kind), name) != 0)
            continue;
        setting_describe(&why, &s.list[i], f);
        snprintf(text, sizeof(text), "%s", buf_text(&why));
        buf_release(&why);
        return text;
    }
    return NULL;
}

static unsigned count_advised(const struct setting_facts *f)
{
    struct settings s;
    settings_judge(f, &s);
    return s.count;
}

TEST(settings__nothing_known_nothing_advised)
{
    struct setting_facts f = no_facts();
    CHECK(count_advised(&f) == 0);
    f.devices[0] = (struct device_facts){"cuda:0", GB, NAN, 8 * GB, 9 * GB, 80 * GB};
    f.device_count = 1;
    CHECK(count_advised(&f) == 0);
}

TEST(settings__workers_that_weigh_are_told)
{
    struct setting_facts f = no_facts();
    struct part_facts part = {"data worker", 4, 3 * GB, 1.5 * GB, GB, true};
    f.parts = &part;
    f.part_count = 1;
    const char *why = advised(&f, "num_workers");
    CHECK(why && strstr(why, "4 data workers have 1.00 GB of private memory (256 MB each), 25 %"));
    part.private_bytes = 100 * MB;
    CHECK(count_advised(&f) == 0);
    part.private_bytes = NAN;
    CHECK(count_advised(&f) == 0);
}

TEST(settings__compile_workers_are_told_with_what_they_hold)
{
    struct setting_facts f = no_facts();
    struct part_facts part = {"compile worker", 20, 8 * GB, 1.1 * GB, 900 * MB, true};
    f.parts = &part;
    f.part_count = 1;
    const char *why = advised(&f, "TORCHINDUCTOR_COMPILE_THREADS=1");
    CHECK(why && strstr(why, "8.00 GB by RSS, 1.10 GB by share, 900 MB of that private"));
    part.private_bytes = 10 * MB;
    CHECK(count_advised(&f) == 0);
}

TEST(settings__a_copied_dataset_takes_the_place_of_the_workers)
{
    struct setting_facts f = no_facts();
    struct part_facts part = {"data worker", 2, 3 * GB, 1.5 * GB, GB, true};
    struct copy_facts copies = {
        .parent = "trainer 7",
        .workers = 2,
        .each = 500 * MB,
        .all = 1000 * MB,
        .inherited = GB,
        .type = "list",
        .owner = "Files",
        .attribute = "samples",
        .objects = 490 * MB,
        .objects_all = 490 * MB,
    };
    f.parts = &part;
    f.part_count = 1;
    f.copies = &copies;
    const char *why = advised(&f, "dataset");
    CHECK(why && strstr(why, "Files.samples"));
    CHECK(!advised(&f, "num_workers"));
}

TEST(settings__the_hosts_memory)
{
    struct setting_facts f = no_facts();
    f.pinned = 100 * MB;
    CHECK(!advised(&f, "pin_memory"));
    f.pinned = 600 * MB;
    CHECK(strstr(advised(&f, "pin_memory"), "600 MB of pinned host memory"));
    f.freed_by_trim = 700 * MB;
    CHECK(
        strstr(advised(&f, "MALLOC_ARENA_MAX"), "first malloc_trim returned 700 MB of free heap"));
    f.freed_by_gc = 800 * MB;
    CHECK(strstr(advised(&f, "gc.collect()"), "freed 800 MB"));
}

TEST(settings__falls_at_collections_are_cycles_if_they_are_the_rule)
{
    struct setting_facts f = no_facts();
    f.falls = 4;
    f.collections = 5;
    f.fall = 300 * MB;
    CHECK(strstr(advised(&f, "gc.collect()"), "fell at 4 of 5 full collections"));
    f.collections = 20;
    CHECK(!advised(&f, "gc.collect()"));
    f.falls = f.collections = 2;
    CHECK(!advised(&f, "gc.collect()"));
}

TEST(settings__a_device_nearly_full_during_steps)
{
    struct setting_facts f = no_facts();
    f.devices[0] = (struct device_facts){"cuda:0", 20 * GB, 70 * GB, 72 * GB, 76 * GB, 80 * GB};
    f.device_count = 1;
    const char *why = advised(&f, "gradient accumulation");
    CHECK(why &&
          strstr(why, "cuda:0 is 95 % full. Tensors took 70.0 GB at the peak, 50.0 GB of that"));
    f.devices[0].used = 60 * GB;
    CHECK(count_advised(&f) == 0);
    f.devices[0].used = 76 * GB;
    f.devices[0].allocated = 65 * GB;
    CHECK(count_advised(&f) == 0);
}

TEST(settings__an_allocator_that_keeps_far_more_than_was_ever_used)
{
    struct setting_facts f = no_facts();
    f.devices[0] = (struct device_facts){"cuda:0", 10 * GB, 30 * GB, 45 * GB, 46 * GB, 80 * GB};
    f.device_count = 1;
    const char *why = advised(&f, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    CHECK(why && strstr(why, "torch reserved 45.0 GB of cuda:0") && strstr(why, "15.0 GB lie"));
    f.devices[0].reserved = 31 * GB;
    CHECK(count_advised(&f) == 0);
}

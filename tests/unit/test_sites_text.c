/* tests/unit/test_sites_text.c: sites as text, both ways. */
#include "sites/sites.h"

#include "unit.h"

#include <errno.h>
#include <stdlib.h>

static struct site_frame made_frames[] = {
    {.function = "at::empty", .file = "", .module = "/lib/libtorch.so", .offset = 0x1234},
    {.function = "tab\there", .file = "a\\b\n.py", .line = 41, .module = ""},
};

static struct site made_site = {
    .kind = SITE_PYTHON,
    .device = "",
    .frames = made_frames,
    .frame_count = 2,
    .is_truncated = true,
    .points = {{1.5, 100, 400, 1000, 50, 100}, {2.5, 200, 900, 2000, 200, 900}},
    .point_count = 2,
    .cohorts = {[3] = 50, [31] = 150},
    .samples = 7,
    .live = 3,
};

static const struct sites made = {
    .armed = 0.25,
    .seconds = 2.5,
    .interval = 65536,
    .list = &made_site,
    .count = 1,
    .points = {{1.5, 110, 400, 1000, 50, 100}, {2.5, 230, 900, 2000, 230, 900}},
    .point_count = 2,
    .others = 30,
    .not_seen = NAN,
    .samples = 10,
    .dropped = 1,
    .dropped_bytes = 77,
    .stackless = 2,
    .lost_frees = 4,
    .spent_seconds = 0.125,
    .has_native = true,
    .memories = {{SITE_DEVICE, "cuda:1", 3, 40.5, 1000, 0}, {SITE_PINNED, "", 3, 40.5, -5, 7}},
    .memory_count = 2,
    .blocks_spent_seconds = 0.5,
};

static struct sites *parsed(const char *text)
{
    struct sites *s = NULL;
    return sites_parse(text, strlen(text), &s) < 0 ? NULL : s;
}

TEST(sites__survive_being_written_and_parsed)
{
    struct buf text = BUF_INIT, again = BUF_INIT;
    sites_write(&made, &text);
    struct sites *s = parsed(buf_text(&text));
    CHECK(s && s->count == 1 && s->point_count == 2 && isnan(s->not_seen));
    CHECK(s->armed == 0.25 && s->others == 30 && s->has_native && !s->has_python);
    CHECK(s->kept == 230 && s->kept_variance == 900);
    CHECK(s->list[0].kind == SITE_PYTHON && s->list[0].frame_count == 2 && s->list[0].is_truncated);
    CHECK_TEXT(s->list[0].frames[1].function, "tab\there");
    CHECK_TEXT(s->list[0].frames[1].file, "a\\b\n.py");
    CHECK(s->list[0].frames[0].offset == 0x1234 && s->list[0].frames[1].line == 41);
    CHECK(memcmp(s->list[0].points, made_site.points, sizeof(made_site.points)) == 0);
    CHECK(memcmp(s->list[0].cohorts, made_site.cohorts, sizeof(made_site.cohorts)) == 0);
    const struct site_memory *device = sites_memory(s, SITE_DEVICE, "cuda:1");
    CHECK(s->memory_count == 2 && device && s->blocks_spent_seconds == 0.5);
    CHECK(device->armed == 3 && device->seconds == 40.5 && device->growth == 1000);
    CHECK(sites_memory(s, SITE_PINNED, "")->growth == -5);
    CHECK(!sites_memory(s, SITE_DEVICE, "cuda:0") && sites_from(s) == 0.25);
    sites_write(s, &again);
    CHECK_TEXT(buf_text(&again), buf_text(&text));
    sites_free(s);
    buf_release(&text);
    buf_release(&again);
}

TEST(sites__refuse_other_texts_and_other_versions)
{
    struct sites *s;
    const char *other = "tidemark census 2\n", *later = "tidemark sites 2\n";
    CHECK(sites_parse(other, strlen(other), &s) == -EPROTO);
    CHECK(sites_parse(other, 0, &s) == -EPROTO);
    CHECK(sites_parse(later, strlen(later), &s) == -EPROTONOSUPPORT);
    CHECK(sites_parse(later, SITES_MOST_BYTES + 1, &s) == -E2BIG);
}

TEST(sites__skip_what_they_do_not_know)
{
    struct sites *s = parsed("tidemark sites 1\n"
                             "weather\tfine\n"
                             "point\t1\t10\n"
                             "site\tcheese\t\t1\t1\t0\n"
                             "frame\tf\t\t0\t\t0\t0\n"
                             "point\t1\t99\n"
                             "site\tmapped\t\t1\t1\t0\tmore\n"
                             "point\t5\t1\npoint\t4\t2\npoint\tx\t3\npoint\t6\t-4\n");
    CHECK(s && s->count == 1 && s->list[0].kind == SITE_MAPPED);
    CHECK(s->point_count == 1 && s->kept == 10 && s->list[0].frame_count == 0);
    CHECK(s->list[0].point_count == 2);
    CHECK(s->list[0].points[1].seconds == 6 && s->list[0].points[1].bytes == 0);
    sites_free(s);
}

TEST(sites__take_no_memory_that_makes_no_sense)
{
    struct sites *s = parsed(SITES_FIRST_LINE "\nmemory\tmalloc\t\t1\t2\t3\t0\n"
                                              "memory\tdevice\tcuda:0\t2\t1\t3\t0\n"
                                              "memory\tdevice\tcuda:0\t1\t2\t\t0\n"
                                              "memory\tdevice\tcuda:0\t\t2\t3\t0\n"
                                              "memory\tdevice\tcuda:0\t5\t6\t3\t0\n");
    CHECK(s && s->memory_count == 1 && s->memories[0].armed == 5 && sites_from(s) == 5);
    sites_free(s);
    struct buf text = BUF_INIT;
    buf_adds(&text, SITES_FIRST_LINE "\n");
    for (int i = 0; i < 40; i++)
        buf_addf(&text, "memory\tdevice\tcuda:%d\t1\t2\t3\t0\n", i);
    s = parsed(buf_text(&text));
    CHECK(s && s->memory_count == SITE_MEMORIES);
    sites_free(s);
    buf_release(&text);
}

TEST(sites__that_do_not_fit_become_others)
{
    enum { MANY = 300, FRAMES = 200 };
    static struct site_frame frames[MANY * FRAMES];
    static struct site list[MANY];
    for (int i = 0; i < MANY * FRAMES; i++)
        frames[i] = (struct site_frame){.function = "a_function_with_a_name_of_some_length",
                                        .file = "/a/file.py",
                                        .line = i,
                                        .module = ""};
    for (int i = 0; i < MANY; i++) {
        list[i] = made_site;
        list[i].frames = frames + i * FRAMES;
        list[i].frame_count = FRAMES;
    }
    struct sites many = made;
    many.list = list;
    many.count = MANY;
    struct buf text = BUF_INIT;
    sites_write(&many, &text);
    CHECK(text.len <= SITES_MOST_BYTES && text.len > SITES_MOST_BYTES / 2);
    struct sites *s = parsed(buf_text(&text));
    CHECK(s && s->count > 50 && s->count < SITES_MOST);
    CHECK_NEAR(s->others, 30 + 200 * (MANY - (double) s->count), 0);
    sites_free(s);
    buf_release(&text);
}

TEST(sites__kinds_have_names)
{
    for (int kind = 0; kind < SITE_KINDS; kind++)
        CHECK(site_kind_name((enum site_kind) kind)[0]);
}

TEST(text__writes_a_frame_that_stacks_share_once)
{
    static const char text[] = SITES_FIRST_LINE "\n"
                                                "site\tmalloc\t\t1\t1\t0\t1\n"
                                                "frame\ta\tx.c\t1\t\t0\t0\n"
                                                "frame\tmain\tx.c\t9\t\t0\t0\n"
                                                "site\tmalloc\t\t1\t1\t0\t1\n"
                                                "frame\tb\tx.c\t2\t\t0\t0\n"
                                                "again\t1\t0\t7\n"
                                                "frame\tc\tx.c\t3\t\t0\t0\n";
    struct sites *s, *t;
    struct buf out = BUF_INIT;
    CHECK(sites_parse(text, strlen(text), &s) == 0 && s->count == 2);
    CHECK(s->list[1].frame_count == 4); /* there is no seventh frame */
    CHECK_TEXT(s->list[1].frames[1].function, "main");
    CHECK_TEXT(s->list[1].frames[2].function, "a");
    CHECK_TEXT(s->list[1].frames[3].function, "c");
    sites_write(s, &out);
    CHECK(strstr(buf_text(&out), "again\t1\t0\nframe\tc\t"));
    CHECK(strstr(strstr(buf_text(&out), "main") + 1, "main") == NULL);
    CHECK(sites_parse(buf_text(&out), out.len, &t) == 0 && t->list[1].frame_count == 4);
    CHECK_TEXT(t->list[1].frames[3].function, "c");
    buf_release(&out);
    sites_free(s);
    sites_free(t);
}

/* tests/unit/test_input_json_lines.c: JSON lines as series. */
#include "record.h"
#include "unit.h"

TEST(json_lines__reads_one_object_a_sample)
{
    struct record *r = record_text(
        "{\"step\": 10, \"time\": 1700000000.5, \"rss_mb\": 100.5, \"loss\": 1.0,"
        " \"gpu\": {\"allocated_bytes\": 1048576, \"util\": 50}}\n"
        "{\"step\": 20, \"time\": 1700000005.5, \"rss_mb\": \"1,024 KB\", \"loss\": 1.0,"
        " \"gpu\": {\"allocated_bytes\": 2097152, \"util\": 50}}\n");
    CHECK(r->result == 0 && r->count == 2);
    CHECK_TEXT(r->series[0].kind, "host.rss");
    CHECK_TEXT(r->series[1].name, "gpu.allocated_bytes");
    CHECK_TEXT(r->series[1].kind, "torch.allocated");
    CHECK(r->series[0].step[1] == 20 && r->series[0].seconds[1] == 5);
    CHECK(r->series[0].value[0] == 100.5 * MB && r->series[0].value[1] == MB);
    CHECK(r->series[1].value[1] == 2 * MB);
    CHECK(r->series[0].resolution == 0);
    CHECK_TEXT(r->summary.format, "JSON lines");
}

TEST(json_lines__passes_over_what_is_missing)
{
    struct record *r = record_text("{\"step\": 1, \"rss_mb\": 5, \"fds\": 3}\n"
                                   "{\"step\": 2, \"rss_mb\": null}\n"
                                   "{\"event\": \"saved\", \"list\": [{\"rss_mb\": 7}]}\n"
                                   "{\"step\": 3, \"rss_mb\": NaN}\n"
                                   "{\"step\": 4, \"rss_mb\": 6}\n");
    CHECK(r->result == 0 && r->series[0].count == 2 && r->summary.skipped == 0);
    CHECK(r->series[0].step[1] == 4);
}

TEST(json_lines__counts_lines_that_are_not_json)
{
    struct record *r = record_text("{\"step\": 1, \"rss_mb\": 5}\n{\"step\": 2, \"rss_mb\n"
                                   "Traceback (most recent call last):\n"
                                   "{\"step\": 3, \"rss_mb\": 6}\n");
    CHECK(r->result == 0 && r->series[0].count == 2);
    CHECK(r->summary.skipped == 2 && r->summary.first_skipped == 2);
}

TEST(json_lines__tells_processes_apart)
{
    struct record *r =
        record_text("{\"pid\": 1, \"process\": \"caf\\u00e9\", \"t\": 1, \"rss_mb\": 5}\n"
                    "{\"pid\": 2, \"process\": \"x\", \"t\": 1, \"rss_mb\": 6}\n");
    CHECK(r->count == 2);
    CHECK_TEXT(r->series[0].name, "caf\xc3\xa9 pid 1");
    CHECK(r->series[1].pid == 2 && r->series[1].clock == CLOCK_SECONDS);
}

TEST(json_lines__reads_an_array_of_objects)
{
    struct record *r = record_text("[\n{\"step\":1,\"mem\":5},\n{\"step\":2,\"mem\":6}\n]\n");
    CHECK(r->result == 0 && r->series[0].count == 2 && r->summary.skipped == 0);
}

TEST(json_lines__leaves_a_log_that_begins_with_its_settings_to_the_log)
{
    struct record *r =
        record_text("{\"lr\": 0.1, \"batch_size\": 5}\nStep 10: 5 MB\nStep 20: 6 MB\n");
    CHECK(r->result == 0 && r->count == 1 && r->series[0].count == 2);
    CHECK_TEXT(r->summary.format, "training log");
}

TEST(json_lines__names_the_fields_where_none_is_memory)
{
    struct record *r = record_text("{\"lr\": 0.1, \"bs\": 5}\n{\"lr\": 0.1, \"bs\": 6}\n");
    CHECK(r->result == -EINVAL);
    CHECK(strstr(r->summary.error, "'lr', 'bs'") && strstr(r->summary.error, "--value"));
}

TEST(json_lines__reads_a_whole_series_a_line)
{
    struct record *r = record_text(
        "{\"id\": \"a\", \"kind\": \"torch_alloc\", \"unit\": \"step\", \"t\": [1, 2, 3, 4],"
        " \"v\": [1.5, null, 3, 2], \"restarts\": [3], \"limit_mb\": 5, \"horizon\": null,"
        " \"epoch_len\": 82.875, \"group\": {\"x\": [1]}}\n"
        "{\"id\": \"b\", \"kind\": \"host_anon\", \"unit\": \"s\", \"t\": [0.5], \"v\": [7],"
        " \"epoch_len\": null, \"horizon\": 900, \"restarts\": [], \"limit_mb\": 8}\n");
    CHECK(r->result == 0 && r->count == 2);
    struct recorded *s = &r->series[0];
    CHECK_TEXT(s->name, "a");
    CHECK_TEXT(s->kind, "torch.allocated");
    CHECK(s->count == 3 && s->restarts == 1 && s->ended);
    CHECK(s->value[0] == 1.5 * MB && s->step[1] == 3);
    CHECK(s->hints.epoch_length == 82.875 && s->hints.horizon == 0 && s->hints.limit == 5 * MB);
    s = &r->series[1];
    CHECK_TEXT(s->kind, "host.anon");
    CHECK(s->clock == CLOCK_SECONDS && s->seconds[0] == 0.5 && isnan(s->step[0]));
    CHECK(s->hints.horizon == 900);
}

TEST(json_lines__knows_the_kinds_of_the_corpus)
{
    static const char *const kinds[][2] = {
        {"rss", "host.rss"},        {"torch_reserved", "torch.reserved"},
        {"nvml", "gpu.used"},       {"children_pss", "host.pss"},
        {"log_rounded", "memory"},  {"host.private", "host.private"},
        {"host.file", "host.file"}, {"torch.pinned", "torch.pinned"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"id\":\"x\",\"kind\":\"%s\",\"t\":[1],\"v\":[2]}\n",
                 kinds[i][0]);
        CHECK_TEXT(record_text(text)->series[0].kind, kinds[i][1]);
    }
}

TEST(json_lines__skips_malformed_series_in_a_batch)
{
    struct input_options batch = {.batch = true};
    struct record *r = record_with("{\"id\":\"a\",\"t\":[1],\"v\":[1,2]}\n"
                                   "nonsense\n"
                                   "{\"id\":\"c\",\"t\":[1,2],\"v\":[\"x\",5]}\n"
                                   "{\"id\":\"d\",\"unit\":\"km\",\"t\":[1],\"v\":[5]}\n"
                                   "{\"step\": 1, \"rss_mb\": 5}\n"
                                   "{\"id\":\"e\",\"t\":[1,2],\"v\":[4,5]} tail\n"
                                   "{\"v\":[5,6]}\n",
                                   batch);
    CHECK(r->result == 0 && r->count == 1);
    CHECK_TEXT(r->series[0].name, "line 7");
    CHECK(r->series[0].step[1] == 2);
    CHECK(r->summary.skipped == 6 && r->summary.first_skipped == 1);
    CHECK_TEXT(r->summary.skip_reason, "'t' and 'v' have different lengths");
    r = record_with("nonsense\n", batch);
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "'t' and 'v'"));
}

TEST(json_lines__announces_a_series_without_a_value)
{
    struct record *r =
        record_with("{\"id\":\"a\",\"t\":[],\"v\":[]}\n", (struct input_options){.batch = true});
    CHECK(r->result == 0 && r->count == 1 && r->series[0].count == 0 && r->series[0].ended);
}

TEST(json_lines__reads_the_last_object_of_an_array)
{
    struct record *r =
        record_text("[{\"step\": 1, \"rss_mb\": 5},\n{\"step\": 2, \"rss_mb\": 6}]\n");
    CHECK(r->result == 0 && r->series[0].count == 2 && r->summary.skipped == 0);
    r = record_text("[\n{\"step\": 1, \"rss_mb\": 5},\n{\"step\": 2, \"rss_mb\": 6}\n]\n");
    CHECK(r->result == 0 && r->series[0].count == 2 && r->summary.skipped == 0);
}

TEST(json_lines__says_how_to_get_one_object_a_line)
{
    struct record *r =
        record_text("[{\"step\": 1, \"rss_mb\": 5}, {\"step\": 2, \"rss_mb\": 6}]\n");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "jq -c '.[]'"));
    r = record_text("[\n  {\n    \"step\": 1,\n    \"rss_mb\": 5\n  }\n]\n");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "jq -c '.[]'"));
    r = record_text("{\"step\": [1, 2], \"rss_mb\": [5, 6]}\n");
    CHECK(r->result == -EINVAL && strstr(r->summary.error, "no number in any JSON object"));
}

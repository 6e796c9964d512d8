/* tests/unit/test_census.c: the text of a census, read as it was meant, and hostile or damaged
 * text. */
#include "wire/wire.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST WIRE_CENSUS_FIRST_LINE "\n"

static int parse(const char *text, struct wire_census **ret)
{
    return wire_census_parse(text, strlen(text), ret);
}

TEST(census__every_record_is_read)
{
    struct wire_census *c;
    CHECK(parse(FIRST "census\t7\t123456789\t50213\t1\n"
                      "cost\t7\t2\t4000000\t1500000\t90000000\n"
                      "types\tfloat\t1000\t24000\n"
                      "tensors\tcuda:0\t6199\t1048576\t320\t12\n"
                      "group\tcpu\tfloat32\t[64, 256]\t12\t786432\n"
                      "purpose\tparameters\tcuda:0\t320\t4096\n"
                      "large\tcpu\tfloat32\t[1024, 1024]\t4194304\t1024\tmodel.head\n"
                      "heap\t1000\t200\t300\n"
                      "arenas\t700\t90\n"
                      "graphs\t4\t77\nended\t1\n"
                      "acted\tgc\t2\t40\t5000\t1000000\n"
                      "note\tnothing else\n",
                &c) == 0);
    CHECK_NEAR(c->number, 7, 0);
    CHECK(c->time == 123456789 && c->complete);
    CHECK_NEAR(c->objects, 50213, 0);
    CHECK_NEAR(c->censuses + c->searches, 9, 0);
    CHECK_NEAR(c->pause_seconds, 0.004, 1e-12);
    CHECK_NEAR(c->longest_pause_seconds, 0.0015, 1e-12);
    CHECK_NEAR(c->child_seconds, 0.09, 1e-12);
    CHECK(c->type_count == 1 && c->tensors_count == 1 && c->group_count == 1);
    CHECK_TEXT(c->types[0].name, "float");
    CHECK_NEAR(c->types[0].bytes, 24000, 0);
    CHECK_TEXT(c->tensors[0].device, "cuda:0");
    CHECK_NEAR(c->tensors[0].grad_fn, 12, 0);
    CHECK_TEXT(c->groups[0].shape, "[64, 256]");
    CHECK_TEXT(c->purposes[0].name, "parameters");
    CHECK_NEAR(c->purposes[0].bytes, 4096, 0);
    CHECK_TEXT(c->large[0].path, "model.head");
    CHECK_NEAR(c->large[0].view_bytes, 1024, 0);
    CHECK_NEAR(c->heap_in_use + c->heap_free + c->heap_mapped, 1500, 0);
    CHECK(c->arenas_in_use == 700 && c->arenas_free == 90);
    CHECK_NEAR(c->graph_walks, 4, 0);
    CHECK(c->ended);
    CHECK_NEAR(c->graph_nodes, 77, 0);
    CHECK(c->gc.times == 2 && c->gc.objects == 40 && c->gc.bytes == 5000 && isnan(c->trim.times));
    CHECK_NEAR(c->gc.seconds, 1e-3, 1e-9);
    CHECK(c->note_count == 1);
    CHECK_TEXT(c->notes[0], "nothing else");
    wire_census_free(c);
}

/* Older probes do not report what the process requested from the kernel. */
TEST(census__what_was_asked_of_the_kernel_may_be_missing)
{
    struct wire_census *c;
    CHECK(parse(FIRST "heap\t100\t20\t30\t4000\n", &c) == 0);
    CHECK(c->heap_in_use == 100 && c->heap_mapped == 30 && c->asked == 4000);
    wire_census_free(c);
    CHECK(parse(FIRST "heap\t100\t20\t30\n", &c) == 0);
    CHECK(c->heap_in_use == 100 && isnan(c->asked));
    wire_census_free(c);
    CHECK(parse(FIRST, &c) == 0);
    CHECK(isnan(c->asked));
    wire_census_free(c);
}

TEST(census__what_grows_comes_with_its_points_and_holders)
{
    struct wire_census *c;
    CHECK(parse(FIRST "growing\t3\tcontainer\t16.5\t512\tgrad_fn,view=4096\t"
                      "100:10 200:20 300:31\n"
                      "holder\t3\t0.97\tlocal\tloss_history\ttrain\t/x/demo.py\t31\n"
                      "holder\t3\t0.03\tglobal\tbackup\t\t\t\n"
                      "growing\t4\tcontainer\t\t\tbounded=500\t1:2\n"
                      "holder\t9\t1\tlocal\tnobody\t\t\t\n",
                &c) == 0);
    CHECK(c->growing_count == 2);
    const struct wire_census_growing *g = &c->growing[0];
    CHECK(g->id == 3 && g->form == WIRE_CENSUS_CONTAINER && g->grad_fn && !g->exception);
    CHECK_NEAR(g->host_per_item, 16.5, 0);
    CHECK_NEAR(g->device_per_item, 512, 0);
    CHECK_NEAR(g->view, 4096, 0);
    CHECK(isnan(g->bound));
    CHECK(g->point_count == 3 && g->points[2].time == 300);
    CHECK_NEAR(g->points[2].count, 31, 0);
    CHECK(g->holder_count == 2 && g->holders[0].line == 31 && g->holders[1].line == 0);
    CHECK(g->holders[0].kind == WIRE_HOLDER_LOCAL);
    CHECK_TEXT(g->holders[0].path, "loss_history");
    CHECK_TEXT(g->holders[0].function, "train");
    CHECK_TEXT(g->holders[0].file, "/x/demo.py");
    CHECK_TEXT(g->holders[1].file, "");
    CHECK_NEAR(c->growing[1].bound, 500, 0);
    CHECK(isnan(c->growing[1].host_per_item));
    wire_census_free(c);
}

TEST(census__what_a_library_holds_is_added_to_in_the_file_of_its_caller)
{
    static const char growing[] =
        FIRST "census\t3\t1\t1\t1\n"
              "growing\t1\tcontainer\t8\t\t\t10:1 20:2\n"
              "holder\t1\t1.00\tclass\tfinalize._registry\t\t/lib/weakref.py"
              "\t0\n"
              "caller\t1\t4\t/x/train.py\n";
    char text[sizeof(growing) + 64];
    struct wire_census *c;
    CHECK(parse(growing, &c) == 0 && c->growing_count == 1);
    CHECK_TEXT(c->growing[0].caller, "/x/train.py");
    CHECK(c->growing[0].caller_line == 4);
    CHECK_TEXT(c->growing[0].holders[0].file, "/lib/weakref.py");
    wire_census_free(c);
    snprintf(text, sizeof(text), "%saddition\t1\t582\n", growing);
    CHECK(parse(text, &c) == 0 && c->growing[0].addition == 582);
    CHECK_TEXT(c->growing[0].holders[0].file, "/lib/weakref.py");
    wire_census_free(c);
    snprintf(text, sizeof(text), "%saddition\t1\t9\tcaller\n", growing);
    CHECK(parse(text, &c) == 0 && c->growing[0].addition == 9);
    CHECK_TEXT(c->growing[0].holders[0].file, "/x/train.py");
    wire_census_free(c);
}

TEST(census__the_name_that_the_source_adds_to_comes_first)
{
    static const char growing[] = FIRST "census\t3\t1\t1\t1\n"
                                        "growing\t1\tgraph\t\t\t\t10:1 20:2\n"
                                        "holder\t1\t1.00\tglobal\tshown\t\t/x/train.py\t0\n"
                                        "holder\t1\t1.00\tattribute\tmeter.value\tMeter"
                                        "\t/x/train.py\t3\n";
    static const char *const whose[] = {"2", "1", "3", "x"};
    for (unsigned i = 0; i < 4; i++) {
        char text[sizeof(growing) + 64];
        struct wire_census *c;
        snprintf(text, sizeof(text), "%saddition\t1\t9\t%s\n", growing, whose[i]);
        CHECK(parse(text, &c) == 0 && c->growing[0].addition == 9);
        CHECK_TEXT(c->growing[0].holders[0].path, i == 0 ? "meter.value" : "shown");
        CHECK_TEXT(c->growing[0].holders[1].path, i == 0 ? "shown" : "meter.value");
        CHECK(c->growing[0].put_first == (i == 0 ? 1 : 0));
        wire_census_free(c);
    }
}

TEST(census__what_grows_and_its_items_are_told_in_fields)
{
    struct wire_census *c;
    CHECK(parse(FIRST "growing\t3\tcontainer\t16\t0\t\t1:1\n"
                      "what\t3\tcontainer\tcollections.deque\n"
                      "item\t3\ttuple\ttuple\n"
                      "item\t3\ttensor\ttorch.Tensor\tfloat32\t2\t[64, 10]\tcuda:0\tnew\n"
                      "growing\t4\tsize\t16\t0\t\t1:1\n"
                      "item\t4\ttensor\ttorch.Tensor\tint8\t0\t[]\tcpu\n"
                      "item\t9\ttuple\ttuple\n"
                      "what\t9\ttuple\ttuple\n",
                &c) == 0);
    const struct wire_census_growing *g = c->growing;
    CHECK(g[0].what.kind == WIRE_THING_CONTAINER && g[0].item_depth == 2);
    CHECK_TEXT(g[0].what.type, "collections.deque");
    CHECK_TEXT(g[0].what.device, "");
    CHECK(g[0].what.dimensions == -1 && !g[0].what.on_device);
    CHECK(g[0].item[0].kind == WIRE_THING_TUPLE && g[0].item[1].kind == WIRE_THING_TENSOR);
    CHECK_TEXT(g[0].item[1].dtype, "float32");
    CHECK_TEXT(g[0].item[1].shape, "[64, 10]");
    CHECK_TEXT(g[0].item[1].device, "cuda:0");
    CHECK(g[0].item[1].dimensions == 2 && g[0].item[1].on_device);
    CHECK(wire_census_item_has(&g[0], WIRE_THING_TENSOR));
    CHECK(!wire_census_item_has(&g[0], WIRE_THING_LIST));
    CHECK(g[1].what.kind == WIRE_THING_OTHER && g[1].item_depth == 1);
    CHECK_TEXT(g[1].what.type, "");
    CHECK(g[1].item[0].dimensions == 0 && !g[1].item[0].on_device);
    wire_census_free(c);
}

static struct wire_census *with_names(const char *thing, const char *holder)
{
    char text[256];
    struct wire_census *c;
    snprintf(text, sizeof(text),
             FIRST "growing\t1\tsize\t\t\t\t1:1\nwhat\t1\t%s\tx\nholder\t1\t1\t%s\tp\t\t\t\n",
             thing, holder);
    return parse(text, &c) == 0 ? c : NULL;
}

TEST(census__every_kind_has_a_name_and_is_read_by_it)
{
    for (int i = 0; i < WIRE_THING_KINDS || i < WIRE_HOLDER_KINDS; i++) {
        int thing = i % WIRE_THING_KINDS, holder = i % WIRE_HOLDER_KINDS;
        struct wire_census *c = with_names(wire_thing_kind_name((enum wire_thing_kind) thing),
                                           wire_holder_kind_name((enum wire_holder_kind) holder));
        CHECK(c && (int) c->growing[0].what.kind == thing);
        CHECK((int) c->growing[0].holders[0].kind == holder);
        wire_census_free(c);
    }
}

TEST(census__a_kind_that_is_not_known_is_other)
{
    struct wire_census *c = with_names("quantum", "entangled");
    CHECK(c && c->growing[0].what.kind == WIRE_THING_OTHER);
    CHECK(c->growing[0].holder_count == 1 && c->growing[0].holders[0].kind == WIRE_HOLDER_OTHER);
    wire_census_free(c);
}

TEST(census__weights_come_with_their_intervals)
{
    struct wire_census *c;
    CHECK(parse(FIRST "growing\t1\tcontainer\t640000\t0\t\t1:1\t630000.5\t650000\t0\t0\n"
                      "growing\t2\tcontainer\t600\t512\tgrad_fn\t1:"
                      "1\t600\tinf\t512\tinf\tnew\n",
                &c) == 0);
    const struct wire_census_growing *g = c->growing;
    CHECK(g[0].point_count == 1);
    CHECK_NEAR(g[0].host_low, 630000.5, 0);
    CHECK_NEAR(g[0].host_high, 650000, 0);
    CHECK(g[0].device_low == 0 && g[0].device_high == 0);
    CHECK_NEAR(g[1].host_low, 600, 0);
    CHECK_NEAR(g[1].device_low, 512, 0);
    CHECK(isinf(g[1].host_high) && isinf(g[1].device_high));
    wire_census_free(c);
}

TEST(census__an_interval_that_is_none_is_not_known)
{
    struct wire_census *c;
    CHECK(parse(FIRST "growing\t1\tsize\t5\t5\t\t1:1\n"
                      "growing\t2\tsize\t5\t5\t\t1:1\t5\n"
                      "growing\t3\tsize\t5\t5\t\t1:1\t6\t5\t\tinf\n"
                      "growing\t4\tsize\t5\t5\t\t1:1\tinf\tinf\t-1\tinfinite\n",
                &c) == 0);
    CHECK(c->growing_count == 4);
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        CHECK(isnan(g->host_low) && isnan(g->host_high));
        CHECK(isnan(g->device_low) && isnan(g->device_high));
        CHECK_NEAR(g->host_per_item, 5, 0);
    }
    wire_census_free(c);
}

TEST(census__escapes_stand_for_what_separates)
{
    struct wire_census *c;
    CHECK(parse(FIRST "note\ta\\tb\\nc\\\\t\\\n", &c) == 0);
    CHECK_TEXT(c->notes[0], "a\tb\nc\\t\\");
    wire_census_free(c);
}

TEST(census__another_version_and_no_census_are_refused)
{
    struct wire_census *c;
    CHECK(parse("tidemark census 1\ncensus\t1\t1\t1\t1\n", &c) == -EPROTONOSUPPORT);
    CHECK(parse("tidemark census 22\n", &c) == -EPROTONOSUPPORT);
    CHECK(parse("tidemark census 2", &c) == -EPROTONOSUPPORT);
    CHECK(parse("tidemark\n", &c) == -EPROTO);
    CHECK(parse("", &c) == -EPROTO);
    char *large = calloc(1, WIRE_CENSUS_MOST_BYTES + 1);
    CHECK(large && wire_census_parse(large, WIRE_CENSUS_MOST_BYTES + 1, &c) == -E2BIG);
    free(large);
}

TEST(census__what_is_not_known_is_passed_over)
{
    struct wire_census *c;
    CHECK(parse(FIRST "novelty\t1\t2\n"
                      "types\tint\t5\t10\tmore\tand more\n"
                      "types\tstr\tmany\t-3\n"
                      "growing\t1\tcloud\t1\t1\t\t1:1\n"
                      "\n\ttypes\n"
                      "cost\n",
                &c) == 0);
    CHECK(c->type_count == 2 && c->growing_count == 0);
    CHECK(isnan(c->types[1].count) && isnan(c->types[1].bytes));
    CHECK(isnan(c->censuses) && isnan(c->objects) && isnan(c->heap_free) && isnan(c->arenas_free));
    wire_census_free(c);
}

TEST(census__points_end_where_they_make_no_sense)
{
    struct wire_census *c;
    CHECK(parse(FIRST "growing\t1\tsize\t\t\t\t5:1 6:2 6:3 7:4\n"
                      "growing\t2\tsize\t\t\t\t5:1 x:2\n"
                      "growing\t3\tsize\t\t\t\t5:1 6:\n"
                      "growing\t4\tsize\t\t\t\t99999999999999999999:1\n",
                &c) == 0);
    CHECK(c->growing[0].point_count == 2);
    CHECK(c->growing[1].point_count == 1);
    CHECK(c->growing[2].point_count == 1);
    CHECK(c->growing[3].point_count == 0);
    wire_census_free(c);
}

TEST(census__there_may_be_more_than_there_is_room_for)
{
    static char text[WIRE_CENSUS_MOST_BYTES];
    struct wire_census *c;
    size_t used = (size_t) sprintf(text, FIRST);
    for (int i = 0; i < 1000; i++)
        used += (size_t) sprintf(text + used,
                                 "growing\t%d\tsize\t1\t1\t\t1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 "
                                 "9:9 10:10 11:11 12:12 13:13 14:14 15:15 16:16 17:17\n"
                                 "holder\t%d\t1\tlocal\tp\tf\t\t\ntypes\tx\t1\t1\n",
                                 i / 8, i / 8);
    CHECK(wire_census_parse(text, used, &c) == 0);
    CHECK(c->growing_count == WIRE_CENSUS_GROWING && c->type_count == WIRE_CENSUS_TYPES);
    CHECK(c->growing[0].holder_count == WIRE_CENSUS_HOLDERS_MOST);
    CHECK(c->growing[0].point_count == WIRE_CENSUS_POINTS);
    wire_census_free(c);
}

/* tests/unit/test_serve_address.c: paths, queries, and what is where. */
#include "serve/address.h"
#include "unit.h"

#include <errno.h>

static char decoded[4096];

/* The decoded path of a target; "refused". */
static const char *path(const char *target)
{
    struct buf out = BUF_INIT;
    int r = address_path(target, &out);
    snprintf(decoded, sizeof(decoded), "%s", r == 0 ? buf_text(&out) : "refused");
    buf_release(&out);
    return decoded;
}

TEST(address__decodes_a_path_once)
{
    CHECK_TEXT(path("/runs/a%20b.tide/?x=%zz"), "/runs/a b.tide/");
    CHECK_TEXT(path("/%2525"), "/%25");
    CHECK_TEXT(path("/a+b"), "/a+b");
    CHECK_TEXT(path("/\xc3\xa9%C3%A9"), "/\xc3\xa9\xc3\xa9");
    CHECK_TEXT(path("/"), "/");
}

TEST(address__refuses_ways_out_of_a_folder)
{
    const char *const wrong[] = {
        "/..",  "/../x", "/a/../b", "/%2e%2e/x", "/%2E./x",    "/.%2e",  "/a/..",  "/./a",
        "/a/.", "/a//b", "//a",     "/a%2fb",    "/a%2F..%2f", "/a%00b", "/a%0ab", "/a%7f",
        "/%",   "/%2",   "/%zz",    "/a%2",      "a",          ""};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (strcmp(path(wrong[i]), "refused") != 0)
            UNIT_FAIL("%s is taken", wrong[i]);
    CHECK_TEXT(path("/..."), "/...");
    CHECK_TEXT(path("/..a/b.."), "/..a/b..");
}

TEST(address__encodes_what_it_decodes)
{
    struct buf out = BUF_INIT;
    for (int c = 1; c < 256; c++) {
        char text[] = {'/', 'x', (char) c, '\0'};
        buf_clear(&out);
        address_encode(&out, text);
        if (c >= ' ' && c != 0x7f && c != '/')
            CHECK_TEXT(path(buf_text(&out)), text);
    }
    buf_clear(&out);
    address_encode(&out, "a b?#%:\"<.tide");
    CHECK_TEXT(buf_text(&out), "a%20b%3F%23%25%3A%22%3C.tide");
    buf_release(&out);
}

static int parameter(const char *target, const char *name, const char *want)
{
    struct buf out = BUF_INIT;
    int r = address_parameter(target, name, &out);
    if (r == 0 && strcmp(buf_text(&out), want) != 0)
        r = 1;
    buf_release(&out);
    return r;
}

TEST(address__finds_a_parameter)
{
    CHECK(parameter("/a?token=x%2By&b", "token", "x+y") == 0);
    CHECK(parameter("/a?b=1&token=", "token", "") == 0);
    CHECK(parameter("/a?tokens=1&b=token=2", "token", "") == -ENOENT);
    CHECK(parameter("/a", "token", "") == -ENOENT);
    CHECK(parameter("/a?token=1&token=2", "token", "") == -EINVAL);
    CHECK(parameter("/a?token=%0a", "token", "") == -EINVAL);
    CHECK(parameter("/a?token=%4", "token", "") == -EINVAL);
}

static void check_route(const char *text, enum route_place place, enum route_part part,
                        const char *run)
{
    struct route route;
    route_find(text, &route);
    bool is_it = route.place == place && route.part == part;
    snprintf(decoded, sizeof(decoded), "%s", buf_text(&route.run));
    buf_release(&route.run);
    if (!is_it || strcmp(decoded, run) != 0)
        UNIT_FAIL("%s is another place, or run \"%s\"", text, decoded);
}

TEST(route__finds_every_place)
{
    check_route("/", ROUTE_RUNS, ROUTE_PAGE, "");
    check_route("/data.json", ROUTE_RUNS, ROUTE_DATA, "");
    check_route("/events", ROUTE_RUNS, ROUTE_EVENTS, "");
    check_route("/page.js", ROUTE_SCRIPT, ROUTE_PAGE, "");
    check_route("/page.css", ROUTE_STYLE, ROUTE_PAGE, "");
    check_route("/healthz", ROUTE_HEALTH, ROUTE_PAGE, "");
    check_route("/runs/a.tide/", ROUTE_RUN, ROUTE_PAGE, "a.tide");
    check_route("/runs/a.tide", ROUTE_RUN, ROUTE_SLASH, "a.tide");
    check_route("/runs/b/a.tide/data.json", ROUTE_RUN, ROUTE_DATA, "b/a.tide");
    check_route("/runs/b/a.tide/span.json", ROUTE_RUN, ROUTE_SPAN, "b/a.tide");
    check_route("/runs/b/a.tide/answer.json", ROUTE_RUN, ROUTE_ANSWER, "b/a.tide");
    check_route("/runs/b/a.tide/events", ROUTE_RUN, ROUTE_EVENTS, "b/a.tide");
}

TEST(route__knows_nothing_else)
{
    check_route("/span.json", ROUTE_NOWHERE, ROUTE_PAGE, "");
    check_route("/runs/", ROUTE_NOWHERE, ROUTE_PAGE, "");
    check_route("/runs", ROUTE_NOWHERE, ROUTE_PAGE, "");
    check_route("/favicon.ico", ROUTE_NOWHERE, ROUTE_PAGE, "");
    check_route("", ROUTE_NOWHERE, ROUTE_PAGE, "");
    check_route("/runs/data.json", ROUTE_RUN, ROUTE_SLASH, "data.json");
}

TEST(route__leads_back_to_the_top)
{
    const char *const ways[][2] = {
        {"/", ""}, {"/runs/a.tide/", "../../"}, {"/runs/x/y/a.tide/", "../../../../"}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct buf out = BUF_INIT;
        struct route route;
        route_find(ways[i][0], &route);
        route_add_up(&out, &route);
        snprintf(decoded, sizeof(decoded), "%s", buf_text(&out));
        buf_release(&out);
        buf_release(&route.run);
        CHECK_TEXT(decoded, ways[i][1]);
    }
}

TEST(span__reads_its_parameters)
{
    struct span_wanted s;
    CHECK(span_parse("/span.json?series=3&from=1.5&to=2e3&points=700", &s) == 0);
    CHECK(s.series == 3 && s.points == 700);
    CHECK_NEAR(s.from, 1.5, 0);
    CHECK_NEAR(s.to, 2000, 0);
    CHECK(span_parse("/?series=0&from=0&to=1&points=9999999", &s) == 0);
    CHECK(s.points == SPAN_POINTS_MOST);
}

TEST(span__refuses_what_is_no_span)
{
    const char *const wrong[] = {
        "/span.json",
        "/?series=1&from=0&to=1",
        "/?series=1&from=2&to=1&points=5",
        "/?series=1&from=1&to=1&points=5",
        "/?series=-1&from=0&to=1&points=5",
        "/?series=1&from=0&to=1&points=0",
        "/?series=1&from=nan&to=1&points=5",
        "/?series=1&from=0&to=inf&points=5",
        "/?series=1&from=0&to=1e999&points=5",
        "/?series=0x1&from=0&to=1&points=5",
        "/?series=1&from=0&to=1&points=5x",
        "/?series=&from=0&to=1&points=5",
        "/?series=1e300&from=0&to=1&points=5",
    };
    struct span_wanted s;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (span_parse(wrong[i], &s) != -EINVAL)
            UNIT_FAIL("%s is taken", wrong[i]);
}

/* tests/fuzz/fuzz_serve.c: any bytes as a connection's input, and what follows from a request. */
#include "require.h"
#include "serve/access.h"
#include "serve/address.h"
#include "serve/peer.h"
#include "serve/runs.h"
#include "serve/serve.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No segment leads out of a folder, and nothing ends a name early. */
static void check_path(const char *path)
{
    REQUIRE(path[0] == '/');
    for (const char *s = path; *s; s++) {
        size_t len = strcspn(s + 1, "/");
        REQUIRE((unsigned char) *s >= ' ');
        REQUIRE(*s != '/' || !(len == 1 && s[1] == '.'));
        REQUIRE(*s != '/' || !(len == 2 && s[1] == '.' && s[2] == '.'));
        REQUIRE(*s != '/' || s[1] != '/');
    }
}

/* A path that is encoded leads to the same place. */
static void check_encoding(const char *path)
{
    struct buf encoded = BUF_INIT, again = BUF_INIT;
    address_encode(&encoded, path);
    REQUIRE(address_path(buf_text(&encoded), &again) == 0);
    REQUIRE(strcmp(buf_text(&again), path) == 0);
    buf_release(&encoded);
    buf_release(&again);
}

static void check_route(const char *path)
{
    struct route route;
    struct buf up = BUF_INIT;
    route_find(path, &route);
    route_add_up(&up, &route);
    REQUIRE(route.place == ROUTE_RUN || route.run.len == 0);
    REQUIRE(route.run.len <= strlen(path));
    buf_release(&up);
    buf_release(&route.run);
}

static void check_target(const char *target)
{
    struct buf path = BUF_INIT, token = BUF_INIT;
    struct span_wanted span;
    if (address_path(target, &path) == 0) {
        check_path(buf_text(&path));
        check_encoding(buf_text(&path));
        check_route(buf_text(&path));
    }
    if (address_parameter(target, "token", &token) == 0)
        REQUIRE(token.len <= strlen(target));
    if (span_parse(target, &span) == 0)
        REQUIRE(span.from < span.to && span.points >= 1 && span.points <= SPAN_POINTS_MOST);
    buf_release(&path);
    buf_release(&token);
}

static void check_request(const struct http_request *r)
{
    struct access a = {
        .token = "0123456789abcdef", .machine = "box.example", .cookie = "tidemark-1"};
    memset(a.session, 's', ACCESS_SECRET);
    check_target(r->target);
    if (r->host)
        access_knows_host(&a, r->host);
    access_fits_origin(r->origin, r->host);
    bool has_secret = (r->authorization && strstr(r->authorization, a.token)) ||
                      (r->cookie && strstr(r->cookie, a.session));
    REQUIRE(!access_is_granted(&a, r) || has_secret);
    http_tag_matches(r->if_none_match, "\"1\"");
}

static void check_heads(const char *bytes, size_t len)
{
    static char head[HTTP_HEAD_MOST];
    size_t head_len;
    while (len > 0 && (head_len = http_head_length(bytes, len)) > 0) {
        struct http_request r;
        if (head_len <= sizeof(head)) {
            memcpy(head, bytes, head_len);
            if (http_parse(head, head_len, &r) == 0)
                check_request(&r);
        }
        bytes += head_len;
        len -= head_len;
    }
}

/* What a reader wrote that a run file has taken over. */
static void check_scan(const char *text, size_t len)
{
    struct runs runs;
    struct buf json = BUF_INIT;
    REQUIRE(runs_init(&runs, "/", "x") == 0);
    runs_take(&runs, text, len, false);
    runs_take(&runs, text, len, true);
    runs_json(&runs, &json);
    buf_release(&json);
    runs_release(&runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sockaddr_in end = {.sin_family = AF_INET};
    uid_t user;
    unsigned port;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_heads(text, size);
    check_target(text);
    check_scan(text, size);
    peer_parse(text, &end, &end, &user);
    struct buf address = BUF_INIT;
    serve_parse_address(text, &address, &port);
    buf_release(&address);
    free(text);
    return 0;
}

/* tests/unit/test_serve_http.c: heads of requests: what is read, and what is refused. */
#include "serve/http.h"
#include "unit.h"

static char head[16384];

/* Parses a head as it comes from a connection. */
static int parse(const char *text, struct http_request *ret)
{
    size_t len = strlen(text);
    memcpy(head, text, len + 1);
    if (http_head_length(head, len) != len)
        return -1;
    return http_parse(head, len, ret);
}

TEST(http__reads_a_request)
{
    struct http_request r;
    CHECK(parse("GET /a?b=c HTTP/1.1\r\nHost: localhost:8433\r\nOrigin:http://x\r\n"
                "cookie: a=b \t\r\nAuthorization: Bearer t\r\nIf-None-Match: \"1\"\r\nX: y\r\n\r\n",
                &r) == 0);
    CHECK(!r.is_head && r.keeps_open);
    CHECK_TEXT(r.target, "/a?b=c");
    CHECK_TEXT(r.host, "localhost:8433");
    CHECK_TEXT(r.origin, "http://x");
    CHECK_TEXT(r.cookie, "a=b");
    CHECK_TEXT(r.authorization, "Bearer t");
    CHECK_TEXT(r.if_none_match, "\"1\"");
}

TEST(http__finds_the_end_of_a_head)
{
    CHECK(http_head_length("GET / HTTP/1.1\r\n\r\nGET", 21) == 18);
    CHECK(http_head_length("GET / HTTP/1.1\r\n\r", 17) == 0);
    CHECK(http_head_length("", 0) == 0);
    CHECK(http_head_length("GET / HTTP/1.1\n\n", 16) == 0);
}

TEST(http__knows_when_a_connection_ends)
{
    struct http_request r;
    CHECK(parse("GET / HTTP/1.0\r\nHost: a\r\n\r\n", &r) == 0 && !r.keeps_open);
    CHECK(parse("GET / HTTP/1.1\r\nConnection: keep-alive, Close\r\n\r\n", &r) == 0);
    CHECK(!r.keeps_open);
    CHECK(parse("GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", &r) == 0 && r.keeps_open);
}

TEST(http__takes_get_and_head_alone)
{
    struct http_request r;
    CHECK(parse("HEAD / HTTP/1.1\r\n\r\n", &r) == 0 && r.is_head);
    CHECK(parse("POST / HTTP/1.1\r\n\r\n", &r) == 405);
    CHECK(parse("get / HTTP/1.1\r\n\r\n", &r) == 405);
    CHECK(parse("GETS / HTTP/1.1\r\n\r\n", &r) == 405);
    CHECK(parse(" / HTTP/1.1\r\n\r\n", &r) == 400);
    CHECK(parse("GET  / HTTP/1.1\r\n\r\n", &r) == 400);
}

TEST(http__takes_no_body)
{
    struct http_request r;
    CHECK(parse("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", &r) == 0);
    CHECK(parse("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", &r) == 413);
    CHECK(parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", &r) == 501);
    CHECK(parse("GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", &r) == 417);
}

TEST(http__refuses_what_two_readers_may_read_differently)
{
    struct http_request r;
    CHECK(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/1.1\r\nHost : a\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/1.1\nHost: a\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/1.1\rHost: a\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/1.1\r\nHost: a\001\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/1.1\r\n: a\r\n\r\n", &r) == 400);
    CHECK(parse("GET http://a/ HTTP/1.1\r\n\r\n", &r) == 400);
    CHECK(parse("GET /\001 HTTP/1.1\r\n\r\n", &r) == 400);
    CHECK(parse("GET /\r\n\r\n", &r) == 400);
    CHECK(parse("GET / HTTP/2.0\r\n\r\n", &r) == 505);
    CHECK(parse("GET / FTP/1.1\r\n\r\n", &r) == 400);
    CHECK(parse("\r\n\r\n", &r) == 400);
}

TEST(http__refuses_a_nul)
{
    struct http_request r;
    char text[] = "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n";
    *strchr(text, '?') = '\0';
    CHECK(http_parse(text, sizeof(text) - 1, &r) == 400);
}

TEST(http__bounds_the_number_of_fields)
{
    struct http_request r;
    for (unsigned count = HTTP_FIELDS_MOST; count <= HTTP_FIELDS_MOST + 1; count++) {
        struct buf text = BUF_INIT;
        buf_adds(&text, "GET / HTTP/1.1\r\n");
        buf_repeat(&text, "X: y\r\n", count);
        buf_adds(&text, "\r\n");
        int status = parse(buf_text(&text), &r);
        buf_release(&text);
        CHECK(status == (count > HTTP_FIELDS_MOST ? 431 : 0));
    }
}

TEST(http__compares_tags)
{
    CHECK(http_tag_matches("\"a\"", "\"a\""));
    CHECK(http_tag_matches("\"b\", W/\"a\"", "\"a\""));
    CHECK(http_tag_matches("*", "\"a\""));
    CHECK(!http_tag_matches("\"aa\"", "\"a\""));
    CHECK(!http_tag_matches("", "\"a\""));
    CHECK(!http_tag_matches(NULL, "\"a\""));
}

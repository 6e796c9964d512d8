/* tests/unit/test_serve_access.c: who may ask. */
#include "serve/access.h"
#include "serve/peer.h"
#include "serve/serve.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct access machine(const char *name)
{
    struct access a = {.token = NULL};
    snprintf(a.machine, sizeof(a.machine), "%s", name);
    return a;
}

TEST(host__may_be_an_address_or_a_name_of_this_machine)
{
    struct access a = machine("box.example.org");
    const char *const right[] = {"127.0.0.1",  "127.0.0.1:8433", "10.1.2.3:80",    "[::1]",
                                 "[::1]:8433", "localhost",      "LocalHost:9000", "box",
                                 "BOX:1",      "box.example.org"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        if (!access_knows_host(&a, right[i]))
            UNIT_FAIL("%s is refused", right[i]);
}

TEST(host__may_be_no_name_that_somebody_else_can_have)
{
    struct access a = machine("box.example.org"), nameless = machine("");
    const char *const wrong[] = {"",
                                 "evil.com",
                                 "localhost.evil.com",
                                 "box.evil.com",
                                 "bo",
                                 "127.0.0.1.evil.com",
                                 "127.0.0.1:",
                                 "127.0.0.1:x",
                                 "127.0.0.1:123456",
                                 "::1",
                                 "[::1",
                                 "[::1]x",
                                 "[localhost]",
                                 "user@127.0.0.1",
                                 "127.1",
                                 "0x7f.0.0.1",
                                 "localhost "};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (access_knows_host(&a, wrong[i]))
            UNIT_FAIL("%s is taken", wrong[i]);
    CHECK(!access_knows_host(&a, NULL));
    CHECK(!access_knows_host(&nameless, "box") && !access_knows_host(&nameless, ""));
}

TEST(origin__has_to_be_the_host)
{
    CHECK(access_fits_origin(NULL, "localhost:8433"));
    CHECK(access_fits_origin("http://localhost:8433", "localhost:8433"));
    CHECK(access_fits_origin("https://box", "BOX"));
    CHECK(!access_fits_origin("http://localhost:8434", "localhost:8433"));
    CHECK(!access_fits_origin("http://evil.com", "localhost:8433"));
    CHECK(!access_fits_origin("null", "localhost:8433"));
    CHECK(!access_fits_origin("", "localhost:8433"));
    CHECK(!access_fits_origin("http://", "localhost:8433"));
}

TEST(token__is_compared_whole)
{
    CHECK(access_is_same("secret", "secret"));
    CHECK(!access_is_same("secret", "secre"));
    CHECK(!access_is_same("secret", "secrets"));
    CHECK(!access_is_same("secret", "secretsecret"));
    CHECK(!access_is_same("secret", ""));
    CHECK(!access_is_same("secret", "sEcret"));
}

static bool is_granted(const struct access *a, const char *authorization, const char *cookie)
{
    struct http_request r = {.authorization = authorization, .cookie = cookie};
    return access_is_granted(a, &r);
}

TEST(token__or_session_is_required)
{
    struct access a, open;
    CHECK(access_init(&a, "0123456789abcdef", 8433) == 0);
    CHECK(access_init(&open, NULL, 8433) == 0);
    CHECK(strlen(a.session) == ACCESS_SECRET && strcmp(a.session, open.session) != 0);
    CHECK(is_granted(&open, NULL, NULL));
    CHECK(!is_granted(&a, NULL, NULL));
    CHECK(is_granted(&a, "Bearer 0123456789abcdef", NULL));
    CHECK(is_granted(&a, "bearer 0123456789abcdef", NULL));
    CHECK(!is_granted(&a, "Bearer 0123456789abcdeg", NULL));
    CHECK(!is_granted(&a, "Basic 0123456789abcdef", NULL));
    char cookie[256];
    snprintf(cookie, sizeof(cookie), "other=1; tidemark-8433=%s; z=2", a.session);
    CHECK(is_granted(&a, NULL, cookie));
    snprintf(cookie, sizeof(cookie), "tidemark-8434=%s", a.session);
    CHECK(!is_granted(&a, NULL, cookie));
    snprintf(cookie, sizeof(cookie), "tidemark-8433=%sx", a.session);
    CHECK(!is_granted(&a, NULL, cookie));
    CHECK(!is_granted(&a, NULL, "tidemark-8433="));
    CHECK(!is_granted(&a, NULL, "tidemark-8433=0123456789abcdef"));
}

/* What reading a token file of that content and mode returns. */
static int read_token(const char *text, mode_t mode)
{
    char path[] = "token-XXXXXX";
    struct buf token = BUF_INIT, why = BUF_INIT;
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
        return -EIO;
    close(fd);
    int r = serve_read_token(path, &token, &why);
    unlink(path);
    if (r == 0 && strcmp(buf_text(&token), "0123456789abcdef") != 0)
        r = 1;
    if (r < 0 && why.len == 0)
        r = 2;
    buf_release(&token);
    buf_release(&why);
    return r;
}

TEST(token_file__is_for_its_owner_alone)
{
    CHECK(read_token("0123456789abcdef\n", 0600) == 0);
    CHECK(read_token("0123456789abcdef", 0400) == 0);
    CHECK(read_token("0123456789abcdef\n", 0640) == -EPERM);
    CHECK(read_token("0123456789abcdef\n", 0604) == -EPERM);
    CHECK(read_token("0123456789abcdef\n", 0620) == -EPERM);
}

TEST(token_file__holds_one_long_word)
{
    CHECK(read_token("", 0600) == -EINVAL);
    CHECK(read_token("short\n", 0600) == -EINVAL);
    CHECK(read_token("0123456789abcdef\nanother\n", 0600) == -EINVAL);
    CHECK(read_token("0123456789 abcdef\n", 0600) == -EINVAL);
    CHECK(read_token("0123456789;abcdef\n", 0600) == -EINVAL);
    struct buf token = BUF_INIT, why = BUF_INIT;
    CHECK(serve_read_token("nowhere", &token, &why) == -ENOENT && why.len > 0);
    buf_clear(&why);
    CHECK(serve_read_token(".", &token, &why) < 0 && why.len > 0);
    buf_release(&why);
}

TEST(listen__reads_addresses_with_and_without_port)
{
    const struct {
        const char *text, *address;
        unsigned port;
    } right[] = {{"0.0.0.0", "0.0.0.0", 0},
                 {"10.0.0.5:80", "10.0.0.5", 80},
                 {"::", "::", 0},
                 {"[::1]", "::1", 0},
                 {"[fe80::1]:65535", "fe80::1", 65535}};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        struct buf address = BUF_INIT;
        unsigned port = 7;
        int r = serve_parse_address(right[i].text, &address, &port);
        bool is_it =
            r == 0 && port == right[i].port && strcmp(buf_text(&address), right[i].address) == 0;
        buf_release(&address);
        if (!is_it)
            UNIT_FAIL("%s", right[i].text);
    }
    const char *const wrong[] = {
        "",          "localhost", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536",
        "[::1]8433", "[::1",      ":8433",     "1.2.3.4:8x", "[1.2.3.4"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct buf address = BUF_INIT;
        unsigned port;
        int r = serve_parse_address(wrong[i], &address, &port);
        buf_release(&address);
        if (r != -EINVAL)
            UNIT_FAIL("%s is taken", wrong[i]);
    }
}

static struct sockaddr_in end_of(const char *address, unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    inet_pton(AF_INET, address, &a.sin_addr);
    return a;
}

TEST(peer__is_found_in_the_table_of_sockets)
{
    /* As the kernel prints it on a machine with the byte order of x86-64. */
    static const char table[] = "  sl  local_address rem_address   st tx_queue rx_queue tr "
                                "tm->when retrnsmt   uid  timeout\n"
                                "   0: 0100007F:20F1 00000000:0000 0A 00000000:00000000 "
                                "00:00000000 00000000  1000        0 1\n"
                                "   1: 0100007F:20F1 0100007F:C350 01 00000000:00000000 "
                                "00:00000000 00000000  1000        0 2\n"
                                "   2: 0100007F:C350 0100007F:20F1 01 00000000:00000000 "
                                "00:00000000 00000000  1001        0 3\n";
    struct sockaddr_in peer = end_of("127.0.0.1", 50000), own = end_of("127.0.0.1", 8433);
    uid_t user = 7;
    CHECK(peer_parse(table, &peer, &own, &user) == 0 && user == 1001);
    peer = end_of("127.0.0.1", 50001);
    CHECK(peer_parse(table, &peer, &own, &user) == -ENOENT && user == 1001);
    CHECK(peer_parse("", &peer, &own, &user) == -ENOENT);
    CHECK(peer_parse("no: table\n\n\nx", &peer, &own, &user) == -ENOENT);
}

TEST(peer__is_asked_of_the_kernel)
{
    struct serve_listener listener;
    CHECK(serve_listen("127.0.0.1", 0, &listener) == 0);
    struct sockaddr_in to = end_of("127.0.0.1", listener.port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *) &to, sizeof(to)) == 0);
    int other = accept(listener.fd, NULL, NULL);
    uid_t user = (uid_t) -2;
    CHECK(other >= 0 && peer_user(other, &user) == 0);
    CHECK(user == geteuid() && peer_is_welcome(user));
    CHECK(geteuid() == 4711 || !peer_is_welcome(4711));
    close(fd);
    close(other);
    close(listener.fd);
}

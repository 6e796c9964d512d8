/* tests/unit/test_relay.c: the relay of a real command: what it wrote, and when. */
#include "launch/launch.h"
#include "unit.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000000u

/* Starts a shell command whose relayed output goes to /dev/null. */
static struct relay *start(const char *script)
{
    char *argv[] = {"sh", "-c", (char *) script, NULL};
    struct relay_options options = {.argv = argv};
    struct relay *relay = NULL;
    int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    relay_start(&options, &relay);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(nowhere);
    return relay;
}

/* Like relay_read(), but waits until there is something. */
static ssize_t read_next(struct relay *relay, struct relay_lines *lines, int *status)
{
    ssize_t n;
    while ((n = relay_read(relay, lines, status)) == -EAGAIN) {
        struct pollfd p = {.fd = relay_fd(relay), .events = POLLIN};
        poll(&p, 1, 1000);
    }
    return n;
}

TEST(relay__lines_have_the_time_they_came_however_late_they_are_read)
{
    struct relay *relay = start("echo step 1; sleep 0.4; echo step 2; exit 3");
    CHECK(relay);
    usleep(1000000);
    struct relay_lines first, second, none;
    int status = 0;
    CHECK(read_next(relay, &first, &status) == 7 && memcmp(first.text, "step 1\n", 7) == 0);
    CHECK(read_next(relay, &second, &status) == 7 && memcmp(second.text, "step 2\n", 7) == 0);
    CHECK(read_next(relay, &none, &status) == 0 && WEXITSTATUS(status) == 3);
    CHECK(second.time - first.time > SECOND / 4);
    CHECK(wire_now() - first.time > SECOND / 2);
    relay_free(relay);
}

TEST(relay__a_watcher_that_was_held_up_gets_what_it_missed_in_larger_pieces)
{
    struct relay *relay = start("i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo step $i; done");
    CHECK(relay);
    usleep(1000000);
    struct relay_lines lines;
    int status = 0;
    unsigned pieces = 0, count = 0;
    uint64_t before = 0;
    bool in_order = true;
    for (ssize_t n; (n = read_next(relay, &lines, &status)) > 0; pieces++) {
        for (ssize_t i = 0; i < n; i++)
            count += lines.text[i] == '\n';
        in_order = in_order && lines.time >= before;
        before = lines.time;
    }
    CHECK(count == 500 && pieces < count && in_order);
    relay_free(relay);
}

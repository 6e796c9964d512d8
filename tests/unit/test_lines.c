/* tests/unit/test_lines.c: a stream of bytes as lines. */
#include "base/base.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A descriptor that delivers `text`. */
static int source(const char *text, size_t len)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, len) != (ssize_t) len || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

/* All lines as "number:text|". */
static const char *split(const char *text, size_t len)
{
    static char out[512];
    out[0] = '\0';
    int fd = source(text, len);
    struct lines *l;
    if (lines_new(fd, &l) < 0)
        abort();
    struct line line;
    while (lines_next(l, true, &line) == 1) {
        size_t n = strlen(out);
        snprintf(out + n, sizeof out - n, "%d:%s|", (int) line.number, line.text);
    }
    lines_free(l);
    close(fd);
    return out;
}

TEST(lines__splits_at_every_kind_of_line_end)
{
    CHECK_TEXT(split("a\nb\r\nc\rd\n", 9), "1:a|2:b|3:c|3:d|");
    CHECK_TEXT(split("a\n\nb", 4), "1:a|2:|3:b|");
    CHECK_TEXT(split("a\r\rb\n", 5), "1:a|1:|1:b|");
    CHECK_TEXT(split("", 0), "");
    CHECK_TEXT(split("\n", 1), "1:|");
    CHECK_TEXT(split("x\r\n", 3), "1:x|");
}

TEST(lines__drops_a_byte_order_mark)
{
    CHECK_TEXT(split("\xef\xbb\xbfstep\n\xef\xbb\xbf\n", 12), "1:step|2:\xef\xbb\xbf|");
}

TEST(lines__marks_lines_that_hold_a_nul)
{
    int fd = source("ok\na\0b\n", 7);
    struct lines *l;
    struct line line;
    CHECK(lines_new(fd, &l) == 0);
    CHECK(lines_next(l, true, &line) == 1 && !line.has_nul && line.complete);
    CHECK(lines_next(l, true, &line) == 1 && line.has_nul && line.len == 3);
    CHECK(lines_next(l, true, &line) == 0);
    lines_free(l);
    close(fd);
}

TEST(lines__keeps_an_unfinished_line_for_later)
{
    int pipe_fds[2];
    CHECK(pipe2(pipe_fds, O_NONBLOCK) == 0);
    struct lines *l;
    struct line line = {.len = 99};
    CHECK(lines_new(pipe_fds[0], &l) == 0);
    CHECK(write(pipe_fds[1], "one\ntw", 6) == 6);
    CHECK(lines_next(l, false, &line) == 1);
    CHECK(lines_next(l, false, &line) == -EAGAIN);
    CHECK(write(pipe_fds[1], "o\nthree", 7) == 7);
    CHECK(lines_next(l, false, &line) == 1);
    CHECK_TEXT(line.text, "two");
    close(pipe_fds[1]);
    CHECK(lines_next(l, false, &line) == 0);
    CHECK(lines_next(l, true, &line) == 1);
    CHECK_TEXT(line.text, "three");
    CHECK(!line.complete);
    CHECK(lines_next(l, true, &line) == 0);
    lines_free(l);
    close(pipe_fds[0]);
}

TEST(lines__grows_for_long_lines)
{
    size_t len = 1000000;
    char *text = malloc(len);
    CHECK(text);
    memset(text, 'x', len);
    text[299999] = '\n';
    int fd = source(text, len);
    struct lines *l;
    struct line line;
    CHECK(lines_new(fd, &l) == 0);
    CHECK(lines_next(l, true, &line) == 1 && line.len == 299999 && line.complete);
    CHECK(lines_next(l, true, &line) == 1 && line.len == 700000 && !line.complete);
    CHECK(line.text[line.len] == '\0' && !line.cut);
    lines_free(l);
    close(fd);
    free(text);
}

TEST(lines__cuts_lines_beyond_the_limit)
{
    int fd = memfd_create("long", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, (off_t) LINES_MAX_BYTES + 1000) == 0);
    CHECK(pwrite(fd, "\nnext\n", 6, (off_t) LINES_MAX_BYTES + 1000) == 6);
    struct lines *l;
    struct line line;
    CHECK(lines_new(fd, &l) == 0);
    CHECK(lines_next(l, true, &line) == 1);
    CHECK(line.cut && line.len == LINES_MAX_BYTES && line.number == 1);
    CHECK(lines_next(l, true, &line) == 1);
    CHECK_TEXT(line.text, "next");
    CHECK(line.number == 2 && !line.cut);
    lines_free(l);
    close(fd);
}

TEST(lines__hands_on_the_error_of_reading)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY);
    struct lines *l;
    struct line line;
    CHECK(lines_new(fd, &l) == 0);
    CHECK(lines_next(l, true, &line) == -EISDIR);
    lines_free(l);
    close(fd);
    CHECK(lines_free(NULL) == NULL);
}

/* cli/terminal.c: standard output: how it looks and how to write it. */
#include "cli/terminal.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int terminal_parse_color(const char *text, void *ret_mode)
{
    static const char *const names[] = {"auto", "always", "never"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *(enum color_mode *) ret_mode = (enum color_mode) i;
            return 0;
        }
    }
    return -EINVAL;
}

static unsigned find_width(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    return width > 0 && width < 10000 ? (unsigned) width : 80;
}

static bool find_color(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && no_color[0])
        return false;
    return isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

struct report_style terminal_style(const struct view_options *view, int fd)
{
    return (struct report_style){
        .width = view->width > 0 ? (unsigned) (view->width < 10000 ? view->width : 10000)
                                 : find_width(fd),
        .color = view->color == COLOR_ALWAYS || (view->color == COLOR_AUTO && find_color(fd)),
        .ascii = view->ascii,
        .full = view->full,
    };
}

int terminal_write(struct buf *text)
{
    fwrite(buf_text(text), 1, text->len, stdout);
    buf_clear(text);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    int error = errno;
    /* The reader has gone, so nobody would see a message. */
    if (error != EPIPE)
        cli_say("standard output: %s", error_words(error));
    return -error;
}

int terminal_print(const char *text)
{
    struct buf copy = BUF_INIT;
    buf_adds(&copy, text);
    int r = terminal_write(&copy);
    buf_release(&copy);
    return r < 0 ? STATUS_ERROR : STATUS_FINE;
}

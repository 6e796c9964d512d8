/* cli/terminal.h: how output looks, and how to write standard output. */
#ifndef TIDEMARK_CLI_TERMINAL_H
#define TIDEMARK_CLI_TERMINAL_H

#include "report/report.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* The user's options about the looks. */
struct view_options {
    double width; /* 0: find out */
    enum color_mode color;
    bool ascii;
    bool full; /* for commands with a short report */
};

/* The rows of an option table that fill a struct view_options. */
#define VIEW_OPTIONS(view)                                                                         \
    {"width", OPTION_NUMBER, &(view)->width, "a number of columns", NULL},                         \
        {"color", OPTION_PARSED, &(view)->color, "auto, always or never", terminal_parse_color},   \
    {                                                                                              \
        "ascii", OPTION_FLAG, &(view)->ascii, NULL, NULL                                           \
    }

/* The same for commands with a short report and --full. */
#define REPORT_OPTIONS(view) {"full", OPTION_FLAG, &(view)->full, NULL, NULL}, VIEW_OPTIONS(view)

/* Writes an enum color_mode. -EINVAL. */
int terminal_parse_color(const char *text, void *ret_mode);

/* The style for a descriptor at this moment: terminal or not, NO_COLOR, COLUMNS. */
struct report_style terminal_style(const struct view_options *view, int fd);

/* Writes all of `text` to standard output at once and empties it. -errno, with a message. */
int terminal_write(struct buf *text);

/* Writes one of tidemark's own texts, such as its help. Returns an exit status. */
int terminal_print(const char *text);

#endif

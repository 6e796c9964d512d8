/* input/detect.c: detects the format of a source from its first lines. */
#include "input/reader.h"

#include <string.h>

/* After this many lines, a source of no other format is read as a log. */
#define DETECT_LINES 256

static bool holds_something(const struct line *line)
{
    const char *text = line->text + strspn(line->text, " \t");
    return *text != '\0' && *text != '#';
}

/* The last line before `at` that is neither blank nor a comment; `at` itself if there is none. */
static size_t line_before(const struct line *lines, size_t at)
{
    size_t i = at;
    while (i > 0) {
        if (holds_something(&lines[--i]))
            return i;
    }
    return at;
}

static bool is_object(const struct line *line)
{
    const char *text = line->text + strspn(line->text, " \t[,");
    return text[0] == '{' && text[1 + strspn(text + 1, " ")] == '"';
}

/* A bracket alone in its line: pretty-printed JSON. */
static bool is_bracket(const struct line *line)
{
    const char *text = line->text + strspn(line->text, " \t");
    return (*text == '{' || *text == '[') && text[1 + strspn(text + 1, " \t")] == '\0';
}

static bool any_is_json(const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_object(&lines[i]) || is_bracket(&lines[i]))
            return true;
    }
    return false;
}

const struct reader *detect_format(const struct line *lines, size_t count, bool final,
                                   size_t *ret_first)
{
    if (count == 0)
        return NULL;
    size_t last = count - 1, before = line_before(lines, last);
    int table = before < last ? csv_looks_like(&lines[before], &lines[last]) : 0;
    *ret_first = last;
    if (json_lines_looks_like(&lines[last]))
        return &json_lines_reader;
    if (mprof_looks_like(&lines[last]))
        return &mprof_reader;
    bool is_log = text_log_looks_like(&lines[last]);
    /* A row below names may look like a log line; without names a log is more likely. */
    if (table == 1 || (table == 2 && !is_log)) {
        *ret_first = before;
        return &csv_reader;
    }
    *ret_first = 0;
    if (is_log)
        return &text_log_reader;
    if (!final && count < DETECT_LINES)
        return NULL;
    if (any_is_json(lines, count))
        return &json_lines_reader;
    bool is_lone_header = before == last && csv_looks_like_header(&lines[last]);
    return is_lone_header ? &csv_reader : &text_log_reader;
}

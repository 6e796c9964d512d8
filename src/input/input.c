/* input/input.c: the life of a source: detect its format, read its lines, judge the whole. */
#include "input/input.h"

#include "input/names.h"
#include "input/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines are held until the format is known; beyond this many bytes it must be decided. */
#define HELD_MAX_BYTES ((size_t) 1 << 20)

struct input {
    struct lines *lines;
    struct input_options options;
    struct input_sink sink;
    struct input_summary summary;
    struct collector collector;
    const struct reader *reader; /* NULL: the format is not known yet */
    void *state;
    struct line *held; /* each line owns its text */
    size_t held_count, held_capacity, held_bytes;
    bool ended; /* every series has ended */
};

int input_new(int fd, const struct input_options *options, const struct input_sink *sink,
              struct input **ret)
{
    enum series_unit unit;
    struct input *in = calloc(1, sizeof *in);
    if (!in)
        return -ENOMEM;
    int r = lines_new(fd, &in->lines);
    if (r < 0) {
        free(in);
        return r;
    }
    in->options = *options;
    in->sink = *sink;
    in->collector.sink = &in->sink;
    in->collector.options = &in->options;
    in->collector.summary = &in->summary;
    if (options->unit && name_unit(options->unit, &unit) <= 0)
        collect_error(&in->collector, 0,
                      "unknown unit '%.20s': expected bytes, KB, MB, GB, TB or count (--unit)",
                      options->unit);
    *ret = in;
    return 0;
}

static void drop_held(struct input *in)
{
    for (size_t i = 0; i < in->held_count; i++)
        free((char *) in->held[i].text);
    free(in->held);
    in->held = NULL;
    in->held_count = in->held_capacity = in->held_bytes = 0;
}

struct input *input_free(struct input *in)
{
    if (!in)
        return NULL;
    if (in->reader)
        in->reader->close(in->state);
    drop_held(in);
    collect_release(&in->collector);
    lines_free(in->lines);
    free(in);
    return NULL;
}

static int hold(struct input *in, const struct line *line)
{
    if (in->held_count == in->held_capacity) {
        size_t capacity = in->held_capacity ? in->held_capacity * 2 : 16;
        struct line *held = realloc(in->held, capacity * sizeof *held);
        if (!held)
            return -ENOMEM;
        in->held = held;
        in->held_capacity = capacity;
    }
    struct line copy = *line;
    char *text = malloc(line->len + 1);
    if (!text)
        return -ENOMEM;
    memcpy(text, line->text, line->len + 1);
    copy.text = text;
    in->held[in->held_count++] = copy;
    in->held_bytes += line->len;
    return 0;
}

static int start_reader(struct input *in, const struct reader *reader)
{
    int r = reader->open(&in->collector, &in->state);
    if (r < 0)
        return r;
    in->reader = reader;
    snprintf(in->summary.format, sizeof in->summary.format, "%s", reader->name);
    return 0;
}

/* Decides on the format if possible, and reads the held lines. */
static int try_detect(struct input *in, bool final)
{
    size_t first = 0;
    const struct reader *reader =
        in->options.batch ? &json_lines_reader
                          : detect_format(in->held, in->held_count,
                                          final || in->held_bytes > HELD_MAX_BYTES, &first);
    if (!reader)
        return 0;
    int r = start_reader(in, reader);
    for (size_t i = first; i < in->held_count && r >= 0; i++)
        r = reader->line(in->state, &in->held[i]);
    drop_held(in);
    return r;
}

static int refuse_binary(struct input *in, const struct line *line)
{
    bool is_utf16 = line->len >= 2 && (memcmp(line->text, "\xff\xfe", 2) == 0 ||
                                       memcmp(line->text, "\xfe\xff", 2) == 0);
    return collect_error(&in->collector, line->number,
                         is_utf16 ? "UTF-16 text: expected UTF-8; convert it with "
                                    "iconv -f UTF-16 -t UTF-8"
                                  : "binary data (a NUL byte): expected text, a table or a log");
}

static int take_line(struct input *in, const struct line *line)
{
    in->summary.lines++;
    if (in->reader)
        return in->reader->line(in->state, line);
    if (line->has_nul && !in->options.batch)
        return refuse_binary(in, line);
    int r = hold(in, line);
    return r < 0 ? r : try_detect(in, false);
}

static int read_all(struct input *in, bool partial_ok)
{
    struct line line;
    int r;
    while ((r = lines_next(in->lines, partial_ok, &line)) > 0) {
        r = take_line(in, &line);
        if (r < 0)
            return r;
    }
    return r;
}

int input_read(struct input *in)
{
    if (in->summary.error[0])
        return -EINVAL;
    return read_all(in, !in->options.follow);
}

static int explain(struct input *in)
{
    if (in->summary.error[0])
        return -EINVAL;
    if (!in->reader)
        return collect_error(&in->collector, 0,
                             "the source is empty: expected a table, JSON lines or a training log");
    return in->reader->explain(in->state);
}

int input_finish(struct input *in)
{
    if (in->summary.error[0] || in->ended)
        return in->summary.error[0] ? -EINVAL : 0;
    /* A followed source may end in the middle of a line. */
    int r = read_all(in, true);
    if (r >= 0 && !in->reader && in->summary.lines > 0)
        r = try_detect(in, true);
    if (r < 0)
        return r;
    in->ended = true;
    if (in->collector.opened == 0)
        return explain(in);
    return collect_end_all(&in->collector);
}

const struct input_summary *input_summary(const struct input *in)
{
    return &in->summary;
}

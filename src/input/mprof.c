/* input/mprof.c: the .dat files of memory_profiler's mprof. */
#include "input/reader.h"
#include "input/when.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEBIBYTE 0x1p20

struct mprof {
    struct collector *c;
    struct wall wall;
    struct buf command;
};

/* "MEM 123.4 1698.5" and "CHLD 1234 123.4 1698.5". */
struct mprof_sample {
    int64_t pid; /* 0: the main process */
    double mib, resolution, seconds;
};

static int mprof_open(struct collector *c, void **ret_state)
{
    struct mprof *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->c = c;
    *ret_state = m;
    return 0;
}

static void mprof_close(void *state)
{
    struct mprof *m = state;
    buf_release(&m->command);
    free(m);
}

/* Reads the next blank-separated number and moves *text past it. */
static bool take_number(const char **text, struct quantity *ret)
{
    const char *p = *text + strspn(*text, " \t");
    struct quantity q;
    if (quantity_parse(p, strlen(p), &q) < 0 || q.has_unit || !strchr(" \t", p[q.length]))
        return false;
    *text = p + q.length;
    *ret = q;
    return true;
}

static bool parse_sample(const char *text, struct mprof_sample *ret)
{
    struct quantity pid = {.value = 0}, mib, seconds;
    bool is_child = strncmp(text, "CHLD", 4) == 0;
    text += is_child ? 4 : 3;
    if ((is_child && !take_number(&text, &pid)) || !take_number(&text, &mib) ||
        !take_number(&text, &seconds) || text[strspn(text, " \t")] != '\0')
        return false;
    if (pid.value < 0 || pid.value > 0x1p53)
        return false;
    *ret = (struct mprof_sample){(int64_t) pid.value, mib.value, mib.resolution, seconds.value};
    return true;
}

static bool is_sample(const char *text)
{
    return strncmp(text, "MEM ", 4) == 0 || strncmp(text, "CHLD ", 5) == 0;
}

bool mprof_looks_like(const struct line *line)
{
    struct mprof_sample sample;
    return strncmp(line->text, "CMDLINE ", 8) == 0 ||
           (is_sample(line->text) && parse_sample(line->text, &sample));
}

static int find_track(struct mprof *m, const struct mprof_sample *s, struct track **ret)
{
    struct buf key = BUF_INIT, name = BUF_INIT;
    buf_addf(&key, "%" PRId64, s->pid);
    struct track *track = collect_find(m->c, buf_text(&key));
    int r = 0;
    if (!track) {
        if (s->pid)
            buf_addf(&name, "child %" PRId64, s->pid);
        else
            buf_addf(&name, "%.80s", m->command.len > 0 ? m->command.text : "main process");
        struct series_info info = {
            .name = buf_text(&name),
            .kind = "host.rss",
            .pid = s->pid,
            .unit = SERIES_BYTES,
            .clock = CLOCK_SECONDS,
            .resolution = s->resolution * MEBIBYTE,
        };
        r = collect_open(m->c, buf_text(&key), &info, NULL, &track);
    }
    buf_release(&key);
    buf_release(&name);
    if (r >= 0)
        *ret = track;
    return r;
}

static int pass_sample(struct mprof *m, const struct mprof_sample *s, uint64_t line)
{
    /* mprof keeps writing 0 for a child that has ended. */
    if (s->mib == 0)
        return 0;
    struct track *track;
    int r = find_track(m, s, &track);
    if (r == -E2BIG) {
        collect_skip(m->c, line, "more than %d series at one time", COLLECT_MAX_TRACKS);
        return 0;
    }
    if (r < 0)
        return r;
    struct when moment = {.seconds = s->seconds};
    struct position at = POSITION_NONE;
    at.seconds = wall_seconds(&m->wall, &moment);
    return collect_sample(m->c, track, at, s->mib * MEBIBYTE);
}

static int mprof_line(void *state, const struct line *line)
{
    struct mprof *m = state;
    struct mprof_sample sample;
    if (collect_skip_damaged(m->c, line))
        return 0;
    if (strncmp(line->text, "CMDLINE ", 8) == 0) {
        buf_clear(&m->command);
        buf_adds(&m->command, line->text + 8);
        return 0;
    }
    if (is_sample(line->text) && parse_sample(line->text, &sample))
        return pass_sample(m, &sample, line->number);
    bool is_known = strncmp(line->text, "FUNC ", 5) == 0 || line->text[0] == '\0';
    if (!is_known)
        collect_skip(m->c, line->number, "not an mprof line: expected 'MEM MiB seconds'");
    return 0;
}

static int mprof_explain(void *state)
{
    struct mprof *m = state;
    return collect_error(m->c, m->c->summary->first_skipped,
                         "no sample in an mprof file: expected lines 'MEM MiB seconds'");
}

const struct reader mprof_reader = {
    .name = "memory_profiler (mprof)",
    .open = mprof_open,
    .line = mprof_line,
    .explain = mprof_explain,
    .close = mprof_close,
};

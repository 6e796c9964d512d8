/* input/text_log.c: training logs as people paste them, with the Markdown around them. */
#include "input/reader.h"
#include "input/text_line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_MAX 120
#define HEADING_LEVELS 6
#define LABEL_MAX 48
#define SUMMARY_MAX_LINES 12 /* a summary's deltas follow within this many lines */

/*
 * A run is one execution of one program: "Run 2 (Process 179532):" and "[Process restarted]" begin
 * a new one and end every series. A section is the text under one heading. A step counter that
 * restarts under a new heading is another series; under the same heading it is a restart.
 */
struct text_log {
    struct collector *c;
    struct wall wall;
    struct buf clean; /* the line without escape sequences */
    char headings[HEADING_LEVELS][TITLE_MAX];
    char run_title[TITLE_MAX];
    int64_t run_pid;
    size_t run_level;    /* level of its heading; 0: none */
    uint64_t run_number; /* number of a run without a title; 0: titled, or the first */
    uint64_t runs, section;
    bool in_code; /* between ``` marks, where '#' starts no heading */
    bool has_digit;
    double epoch; /* from an earlier line "Epoch 5/10"; NAN: none */
    double last_step;
    uint64_t last_step_section; /* its section */
    double baseline_step;       /* end of epoch 1; NAN: not in this section */
    unsigned summary_lines;     /* lines left in which a delta may come */
    bool has_announced_clock;
    struct buf key, name;
    struct name_memo memo;
};

static int text_log_open(struct collector *c, void **ret_state)
{
    struct text_log *log = calloc(1, sizeof *log);
    if (!log)
        return -ENOMEM;
    log->c = c;
    log->runs = log->section = 1;
    log->epoch = log->last_step = log->baseline_step = NAN;
    *ret_state = log;
    return 0;
}

static void text_log_close(void *state)
{
    struct text_log *log = state;
    buf_release(&log->clean);
    buf_release(&log->key);
    buf_release(&log->name);
    free(log);
}

/* The line without terminal colors. */
static const char *strip_escapes(struct text_log *log, const struct line *line, size_t *ret_len)
{
    const char *p = line->text;
    *ret_len = line->len;
    if (!memchr(p, '\x1b', line->len))
        return p;
    buf_clear(&log->clean);
    while (*p) {
        size_t n = strcspn(p, "\x1b");
        buf_add(&log->clean, p, n);
        p += n;
        if (*p == '\x1b' && p[1] == '[')
            p += 2 + strspn(p + 2, "0123456789;?");
        p += *p != '\0';
    }
    *ret_len = log->clean.len;
    return buf_text(&log->clean);
}

static bool has_ascii_letter(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (isalnum((unsigned char) text[i]))
            return true;
    }
    return false;
}

/* Copies a title without emphasis and without symbols (even garbled ones) at its end. */
static void copy_title(const char *text, char *title)
{
    size_t len = 0;
    for (; *text && len < TITLE_MAX - 1; text++) {
        if (!strchr("*`#", *text))
            title[len++] = *text;
    }
    while (len > 0 && strchr(" \t:=", title[len - 1]))
        len--;
    title[len] = '\0';
    char *space = strrchr(title, ' ');
    while (space && has_ascii_letter(title, (size_t) (space - title)) &&
           !has_ascii_letter(space, strlen(space))) {
        *space = '\0';
        space = strrchr(title, ' ');
    }
}

static void begin_section(struct text_log *log)
{
    log->section++;
    log->summary_lines = 0;
    log->baseline_step = NAN;
}

/* The level of the heading above the line; 0: none. */
static size_t heading_level(const struct text_log *log)
{
    size_t level = HEADING_LEVELS;
    while (level > 0 && log->headings[level - 1][0] == '\0')
        level--;
    return level;
}

static void name_run(struct text_log *log, const char *title, int64_t pid, uint64_t number)
{
    snprintf(log->run_title, sizeof log->run_title, "%s", title);
    log->run_pid = pid;
    log->run_number = number;
    log->run_level = heading_level(log);
}

/* "## Title" outside code. A heading at or above the run's level ends the run's title. */
static bool read_heading(struct text_log *log, const char *text)
{
    size_t level = strspn(text, "#");
    if (log->in_code || level == 0 || level > HEADING_LEVELS || text[level] != ' ')
        return false;
    copy_title(text + level + strspn(text + level, " "), log->headings[level - 1]);
    for (size_t i = level; i < HEADING_LEVELS; i++)
        log->headings[i][0] = '\0';
    if (level <= log->run_level)
        name_run(log, "", 0, 0);
    begin_section(log);
    return true;
}

/* A new run of the program: ends every series. */
static int begin_run(struct text_log *log, const char *title, int64_t pid)
{
    log->runs++;
    name_run(log, title, pid, title[0] ? 0 : log->runs);
    begin_section(log);
    log->epoch = log->last_step = NAN;
    return collect_end_all(log->c);
}

/* Reads a positive number and returns its end; NULL: none here. */
static const char *take_pid(const char *text, int64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char) *text))
        return NULL;
    errno = 0;
    long long pid = strtoll(text, &end, 10);
    if (errno != 0 || pid <= 0)
        return NULL;
    *ret = pid;
    return end;
}

static bool is_only_marks(const char *text)
{
    return text[strspn(text, " \t:*=-#])>")] == '\0';
}

/* "Run 2 (Process 179532):", "Run 2:", "Process 179532:" or "PID: 179532" alone in a line. */
static bool is_run_heading(const char *text, int64_t *ret_pid)
{
    int64_t number, pid = 0;
    const char *p = text + strspn(text, " \t#*=->[");
    const char *run = text_skip_word(p, "run");
    const char *q = run ? take_pid(run + strspn(run, " #"), &number) : p;
    if (!q || (run && is_only_marks(q))) {
        *ret_pid = 0;
        return q != NULL;
    }
    q += strspn(q, " (,-");
    const char *word = text_skip_word(q, "process");
    if (!word)
        word = text_skip_word(q, "pid");
    q = word ? take_pid(word + strspn(word, " :=#"), &pid) : NULL;
    if (!q || !is_only_marks(q))
        return false;
    *ret_pid = pid;
    return true;
}

static bool is_restart_mark(const char *text)
{
    static const char *const subjects[] = {"process ", "training ", "job ", "trainer ", ""};
    const char *p = text + strspn(text, " \t[(*=->#");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        size_t n = strlen(subjects[i]);
        const char *behind =
            strncasecmp(p, subjects[i], n) == 0 ? text_skip_word(p + n, "restarted") : NULL;
        if (behind && is_only_marks(behind))
            return true;
    }
    return false;
}

/* Headings of all kinds. 1: the line was one; 0: it was not; negative: the sink's return. */
static int read_structure(struct text_log *log, const char *text)
{
    int64_t pid;
    const char *p = text + strspn(text, " \t>");
    if (strncmp(p, "```", 3) == 0) {
        log->in_code = !log->in_code;
        return 1;
    }
    if (is_restart_mark(p)) {
        int r = begin_run(log, "", 0);
        return r < 0 ? r : 1;
    }
    if (strlen(p) < TITLE_MAX && is_run_heading(p, &pid)) {
        char title[TITLE_MAX];
        copy_title(p, title);
        int r = begin_run(log, title + strspn(title, " =->["), pid);
        return r < 0 ? r : 1;
    }
    return read_heading(log, p);
}

static void add_part(struct buf *b, const char *text, const char *joint)
{
    if (text[0])
        buf_addf(b, "%s%s", b->len > 0 ? joint : "", text);
}

/* Adds the run or the heading. A deep heading ("Training Output") says little without its parent.
 * */
static void add_title(const struct text_log *log, struct buf *b)
{
    size_t level = heading_level(log);
    if (log->run_title[0]) {
        buf_adds(b, log->run_title);
        return;
    }
    if (level > 2)
        add_part(b, log->headings[1], "");
    if (level > 0)
        add_part(b, log->headings[level - 1], " / ");
    if (log->run_number > 0)
        buf_addf(b, "%srun %" PRIu64, b->len > 0 ? ", " : "", log->run_number);
}

static void build_name(struct text_log *log, const char *label)
{
    buf_clear(&log->name);
    add_title(log, &log->name);
    add_part(&log->name, label, ": ");
    if (log->name.len == 0)
        buf_adds(&log->name, "memory");
}

/* The name of a value's series within its run: "VRAM", "tensors (cpu)". */
static void build_label(const struct text_value *v, char *label)
{
    if (v->counted)
        snprintf(label, LABEL_MAX, "%s%s%s%s", v->counted, v->device ? " (" : "",
                 v->device ? v->device : "", v->device ? ")" : "");
    else
        snprintf(label, LABEL_MAX, "%.*s", (int) (v->label_len < 40 ? v->label_len : 40),
                 v->label_len > 0 ? v->label : "");
}

static enum series_clock clock_of(struct position at)
{
    return isfinite(at.step) ? CLOCK_STEP : CLOCK_SECONDS;
}

static void announce_clock(struct text_log *log, const struct text_line *line,
                           enum series_clock clock)
{
    const char *steps = isfinite(line->step) ? "steps" : "epochs (called steps from here on)";
    if (!log->has_announced_clock)
        collect_guess(log->c, "clock: %s", clock == CLOCK_STEP ? steps : "time in seconds");
    log->has_announced_clock = true;
}

/* The assumed unit of a series' plain numbers, decided by its first sample. */
static double assume_unit(struct text_log *log, const struct text_value *v, const char *label)
{
    const char *word;
    if (!v->is_plain)
        return 1;
    double unit = name_assume_unit(v->value, &word);
    collect_guess(log->c, "'%s' has no unit, taken as %s (--unit)", label, word);
    return unit;
}

static int open_track(struct text_log *log, const struct text_line *line,
                      const struct text_value *v, struct position at, const char *label,
                      struct track **ret)
{
    enum series_clock clock = clock_of(at);
    bool is_torch = line->is_trainwatch && strcmp(v->meaning.kind, "gpu.used") == 0;
    build_name(log, label);
    announce_clock(log, line, clock);
    double unit = assume_unit(log, v, label);
    const char *device = v->meaning.device[0] ? v->meaning.device : NULL;
    struct series_info info = {
        .name = buf_text(&log->name),
        .kind = is_torch ? "torch.allocated" : v->meaning.kind,
        .device = v->device ? v->device : device,
        .pid = line->pid ? line->pid : log->run_pid,
        .unit = v->unit,
        .clock = clock,
        .resolution = v->resolution * unit,
    };
    /* "Epoch 1: 12/600": known from the first line, not only at the end of the epoch. */
    struct input_hints hints = {.epoch_length = isfinite(at.epoch) && at.total > 0 ? at.total : 0};
    int r = collect_open(log->c, buf_text(&log->key), &info, &hints, ret);
    if (r >= 0)
        (*ret)->unit = v->is_plain ? unit : 0x1p20;
    return r;
}

/* The track of the sample. A counter that restarts under a new heading has another track. */
static int find_track(struct text_log *log, const struct text_line *line,
                      const struct text_value *v, struct position at, struct track **ret)
{
    enum series_clock clock = clock_of(at);
    char label[LABEL_MAX];
    build_label(v, label);
    buf_clear(&log->key);
    buf_addf(&log->key, "%d|%" PRId64 "|%s", clock, line->pid, label);
    struct track *track = collect_find(log->c, buf_text(&log->key));
    double position = clock == CLOCK_STEP ? at.step : at.seconds;
    if (track && track->section != log->section && track_fell_back(track, position)) {
        int r = collect_end(log->c, track);
        if (r < 0)
            return r;
        track = NULL;
    }
    int r = track ? 0 : open_track(log, line, v, at, label, &track);
    if (r < 0)
        return r;
    track->section = log->section;
    *ret = track;
    return 0;
}

static int pass_value(struct text_log *log, const struct text_line *line,
                      const struct text_value *v, struct position at, uint64_t number)
{
    struct track *track;
    int r = find_track(log, line, v, at, &track);
    if (r == -E2BIG) {
        collect_skip(log->c, number, "more than %d series at one time", COLLECT_MAX_TRACKS);
        return 0;
    }
    if (r < 0)
        return r;
    double value = v->is_plain ? v->value * track->unit : v->value;
    r = collect_sample(log->c, track, at, value);
    /* "Steps 10-80: 6,529 tensors": the same count at both ends. */
    if (r >= 0 && line->step_end > at.step) {
        at.step = line->step_end;
        r = collect_sample(log->c, track, at, value);
    }
    return r;
}

/* The line's position on the clock the user chose. */
static struct position position_of(struct text_log *log, const struct text_line *line)
{
    struct position at = {line->step, NAN, line->epoch, line->total};
    if (isfinite(line->total) && !isfinite(at.epoch))
        at.epoch = log->epoch;
    if (line->has_moment)
        at.seconds = wall_seconds(&log->wall, &line->moment);
    if (!isfinite(at.step) && !line->has_moment) {
        at.step = line->epoch;
        at.epoch = NAN;
    }
    if (log->c->options->clock == 2 && line->has_moment)
        at.step = NAN;
    return at;
}

static int pass_line(struct text_log *log, const struct text_line *line, uint64_t number)
{
    if (line->trouble)
        collect_skip(log->c, number, "%s", line->trouble);
    if (isfinite(line->step) && (line->count > 0 || line->is_trainwatch)) {
        log->last_step = line->step_end > line->step ? line->step_end : line->step;
        log->last_step_section = log->section;
    }
    if (line->count == 0)
        return 0;
    struct position at = position_of(log, line);
    int r = 0;
    for (size_t i = 0; i < line->count && r >= 0; i++)
        r = pass_value(log, line, &line->values[i], at, number);
    return r;
}

static bool knows_step(const struct text_log *log)
{
    return isfinite(log->last_step) && log->last_step_section == log->section;
}

static int mark_epoch(struct collector *c, struct track *t, void *context)
{
    const struct text_log *log = context;
    bool goes_on = t->clock == CLOCK_STEP && t->section == log->section && t->samples > 0;
    return goes_on ? collect_epoch(c, t, fmax(t->last, log->last_step)) : 0;
}

/* "Epoch 1 complete" or "Epoch 2 Summary:". 1: the line was one; 0: it was not; negative: the
 * sink's return. */
static int read_epoch_end(struct text_log *log, const char *text)
{
    static const char *const ends[] = {"complete", "completed", "finished", "done", "summary"};
    /* A check mark may precede it, in any encoding. */
    const char *p = text;
    while (*p && !isalnum((unsigned char) *p) && p - text < 16)
        p++;
    p = text_skip_word(p, "epoch");
    int64_t epoch;
    p = p ? take_pid(p + strspn(p, " "), &epoch) : NULL;
    const char *behind = NULL;
    for (size_t i = 0; p && !behind && i < sizeof ends / sizeof *ends; i++)
        behind = text_skip_word(p + strspn(p, " "), ends[i]);
    if (!behind)
        return 0;
    if (!knows_step(log))
        return 1;
    bool is_summary = strncasecmp(behind - strlen("summary"), "summary", 7) == 0;
    log->summary_lines = is_summary ? SUMMARY_MAX_LINES : 0;
    if (!is_summary && epoch == 1)
        log->baseline_step = log->last_step;
    int r = collect_each(log->c, mark_epoch, log);
    return r < 0 ? r : 1;
}

/* The series of a delta begins with 0 at the end of epoch 1, its baseline. */
static int open_delta(struct text_log *log, const char *label, const struct quantity *q,
                      struct track **ret)
{
    struct name_meaning m = name_read(label, strcspn(label, " "));
    build_name(log, label);
    struct series_info info = {
        .name = buf_text(&log->name),
        .kind = strcmp(m.kind, "gpu.used") == 0 ? "torch.allocated" : m.kind,
        .pid = log->run_pid,
        .unit = SERIES_BYTES,
        .clock = CLOCK_STEP,
        .resolution = q->resolution,
    };
    int r = collect_open(log->c, buf_text(&log->key), &info, NULL, ret);
    if (r < 0 || !isfinite(log->baseline_step))
        return r;
    struct position at = POSITION_NONE;
    at.step = log->baseline_step;
    r = collect_sample(log->c, *ret, at, 0);
    return r < 0 ? r : collect_epoch(log->c, *ret, at.step);
}

static int pass_delta(struct text_log *log, const char *label, const struct quantity *q)
{
    buf_clear(&log->key);
    buf_addf(&log->key, "delta|%s", label);
    struct track *track = collect_find(log->c, buf_text(&log->key));
    int r = 0;
    if (track && track->section != log->section) {
        r = collect_end(log->c, track);
        track = NULL;
    }
    bool is_new = !track;
    if (r >= 0 && is_new)
        r = open_delta(log, label, q, &track);
    if (r < 0)
        return r == -E2BIG ? 0 : r;
    track->section = log->section;
    struct position at = POSITION_NONE;
    at.step = log->last_step;
    r = collect_sample(log->c, track, at, q->value);
    /* The other series got the epoch's end when its summary began. */
    return r >= 0 && is_new ? collect_epoch(log->c, track, at.step) : r;
}

/* "   VRAM delta: +0.4MB" below a summary. 1: the line was one; 0: it was not; negative: the sink's
 * return. */
static int read_delta(struct text_log *log, const char *text)
{
    struct quantity q;
    char label[LABEL_MAX];
    const char *p = text + strspn(text, " \t"), *mark = strstr(p, " delta:");
    if (log->summary_lines == 0)
        return 0;
    log->summary_lines--;
    if (!mark || mark - p > 24)
        return 0;
    const char *number = mark + strlen(" delta:");
    number += strspn(number, " ");
    if (quantity_parse(number, strlen(number), &q) < 0 || !q.has_unit)
        return 0;
    snprintf(label, sizeof label, "%.*s delta", (int) (mark - p), p);
    int r = pass_delta(log, label, &q);
    return r < 0 ? r : 1;
}

static int text_log_line(void *state, const struct line *line)
{
    struct text_log *log = state;
    size_t len;
    if (collect_skip_damaged(log->c, line))
        return 0;
    const char *text = strip_escapes(log, line, &len);
    log->has_digit = log->has_digit || strpbrk(text, "0123456789");
    int r = read_structure(log, text);
    if (r == 0)
        r = read_epoch_end(log, text);
    if (r == 0)
        r = read_delta(log, text);
    if (r != 0)
        return r < 0 ? r : 0;
    struct text_line parsed;
    text_line_parse(text, len, log->c->options, &log->memo, &parsed);
    if (parsed.count == 0 && text_skip_word(text_skip_decoration(text), "epoch"))
        log->epoch = parsed.epoch;
    return pass_line(log, &parsed, line->number);
}

static int text_log_explain(void *state)
{
    struct text_log *log = state;
    struct input_summary *s = log->c->summary;
    if (s->skipped > 0)
        return collect_error(log->c, s->first_skipped, "no value could be read (the first: %s)",
                             s->skip_reason);
    if (log->c->options->value_columns)
        return collect_error(log->c, 0,
                             "no value called '%.40s' (--value) in a line with a step or a time",
                             log->c->options->value_columns);
    return collect_error(log->c, 0,
                         "no %s found: expected lines like 'Step 10: 5,552 MB' or "
                         "'13:18:20 6.2 GB', a CSV header, JSON lines or mprof's output",
                         log->has_digit ? "memory value with a step or a time" : "number");
}

bool text_log_looks_like(const struct line *line)
{
    static const struct input_options none;
    struct name_memo memo = {0};
    struct text_line parsed;
    text_line_parse(line->text, line->len, &none, &memo, &parsed);
    return parsed.count > 0;
}

const struct reader text_log_reader = {
    .name = "training log",
    .open = text_log_open,
    .line = text_log_line,
    .explain = text_log_explain,
    .close = text_log_close,
};

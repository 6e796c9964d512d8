/* cli/cmd_export.c: tidemark export: writes the samples of a recorded run for other programs. */
#include "cli/cli.h"
#include "cli/load_run.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark export RUN.tide --csv|--jsonl [options]\n"
    "\n"
    "Writes the samples of a recorded run for other programs. 'tidemark analyze'\n"
    "reads both forms.\n"
    "\n"
    "  --csv            one row a sample: seconds, step, pid, role, kind, device,\n"
    "                   unit, value, floor, max, count; sizes in bytes. Old samples\n"
    "                   are blocks of `count` with their mean, floor and maximum\n"
    "  --jsonl          one line a series, as analyze --batch reads it (docs/JSON.md)\n"
    "  --series NAME    the series NAME (a name, kind or pid) alone\n"
    "  --all            also what is recorded but not judged: host.rss, host.pss, ...\n"
    "  -o FILE          write to FILE instead of standard output\n"
    "\n"
    "example: tidemark export train.tide --csv -o train.csv\n";

/* Output is written in pieces of about this size. */
#define PIECE_BYTES ((size_t) 1 << 16)

#define MEGABYTE 0x1p20

struct exporter {
    bool csv, jsonl, all;
    const char *series, *output;
    const char *path;
    int fd;
    struct store *store;
    struct recording *recording;
    struct buf out;
    bool failed; /* writing failed, with a message */
};

/* ---- output ---- */

static int flush(struct exporter *x)
{
    if (x->fd == STDOUT_FILENO) {
        int r = terminal_write(&x->out);
        x->failed = r < 0;
        return r;
    }
    for (size_t done = 0; done < x->out.len;) {
        ssize_t n = write(x->fd, x->out.text + done, x->out.len - done);
        if (n < 0 && errno != EINTR) {
            int error = errno;
            cli_say("%s: %s", x->output, error_words(error));
            x->failed = true;
            return -error;
        }
        done += n > 0 ? (size_t) n : 0;
    }
    buf_clear(&x->out);
    return 0;
}

static int flush_pieces(struct exporter *x)
{
    return x->out.len < PIECE_BYTES ? 0 : flush(x);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static int open_output(struct exporter *x)
{
    x->fd = STDOUT_FILENO;
    if (!x->output || strcmp(x->output, "-") == 0)
        return 0;
    if (is_same_file(x->output, x->path)) {
        cli_say("%s: is the run file itself: choose another name", x->output);
        return -EEXIST;
    }
    x->fd = open(x->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (x->fd >= 0)
        return 0;
    int error = errno;
    cli_say("%s: cannot be written: %s", x->output, error_words(error));
    return -error;
}

/* ---- CSV ---- */

struct csv_series {
    struct exporter *x;
    const struct series_info *info;
};

/* Adds nothing if the value is not known. */
static void add_number(struct buf *out, double value)
{
    if (isfinite(value))
        buf_addf(out, "%.15g", value);
}

/* A file from outside may hold any text. */
static void add_text(struct buf *out, const char *text)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    bool quoted = strpbrk(buf_text(&clean), ",\"") != NULL;
    if (quoted)
        buf_addc(out, '"');
    for (const char *s = buf_text(&clean); *s; s++)
        buf_repeat(out, (char[]){*s, '\0'}, *s == '"' ? 2 : 1);
    buf_adds(out, quoted ? "\"," : ",");
    buf_release(&clean);
}

/* Steps between two marks are estimates, so finer digits mean nothing. */
static double rounded(double step)
{
    return round(step * 1000) / 1000;
}

static int csv_sample(void *context, double step, const struct store_sample *s)
{
    const struct csv_series *c = context;
    const struct series_info *info = c->info;
    struct buf *out = &c->x->out;
    buf_addf(out, "%.6f,", s->seconds);
    add_number(out, rounded(step));
    buf_addc(out, ',');
    if (info->pid > 0)
        buf_addf(out, "%lld", (long long) info->pid);
    buf_addc(out, ',');
    add_text(out, info->role ? info->role : "job");
    add_text(out, info->kind);
    add_text(out, info->device ? info->device : "");
    add_text(out, series_unit_name(info->unit));
    add_number(out, s->value);
    buf_addc(out, ',');
    add_number(out, s->floor);
    buf_addc(out, ',');
    add_number(out, s->max);
    buf_addf(out, ",%.0f\n", s->count);
    return flush_pieces(c->x);
}

static int csv_series(struct exporter *x, size_t index)
{
    struct csv_series c = {x, &recording_series(x->recording, index)->info};
    return recording_each_sample(x->recording, index, csv_sample, &c);
}

/* ---- JSON lines ---- */

/* The samples of a series on both clocks. */
struct samples {
    struct {
        double step, seconds, value;
    } * list;
    size_t count;
    size_t stepped; /* how many have a step */
    bool falls;     /* the step count restarted */
    double last_step;
};

static void add_sample(struct samples *s, double step, double seconds, double value)
{
    if ((s->count & (s->count - 1)) == 0) {
        s->list = reallocarray(s->list, s->count ? 2 * s->count : 1, sizeof(*s->list));
        if (!s->list)
            base_out_of_memory();
    }
    s->list[s->count].step = rounded(step);
    s->list[s->count].seconds = seconds;
    s->list[s->count++].value = value;
}

/* A block becomes its floor, its mean and its maximum, as the engine judges it. */
static int gather_sample(void *context, double step, const struct store_sample *x)
{
    struct samples *s = context;
    if (isfinite(step)) {
        s->falls = s->falls || (s->stepped > 0 && step < s->last_step);
        s->last_step = step;
        s->stepped++;
    }
    add_sample(s, step, x->seconds, x->floor);
    if (x->count > 1) {
        add_sample(s, step, x->seconds, x->value);
        add_sample(s, step, x->seconds, x->max);
    }
    return 0;
}

/* Uses steps if there are enough to judge by; a step count that restarted does not fit one line. */
static bool goes_by_steps(const struct samples *s)
{
    return s->stepped >= 3 && !s->falls;
}

static void add_positions(struct json *j, const struct samples *s, bool steps)
{
    json_array_begin(j, "t");
    for (size_t i = 0; i < s->count; i++)
        if (!steps || isfinite(s->list[i].step))
            json_number(j, NULL, steps ? s->list[i].step : s->list[i].seconds);
    json_array_end(j);
}

static void add_values(struct json *j, const struct samples *s, bool steps, double unit)
{
    json_array_begin(j, "v");
    for (size_t i = 0; i < s->count; i++)
        if (!steps || isfinite(s->list[i].step))
            json_number(j, NULL, s->list[i].value / unit);
    json_array_end(j);
}

static double known(double value)
{
    return value > 0 ? value : (double) NAN;
}

static int jsonl_series(struct exporter *x, size_t index)
{
    const struct recorded_series *series = recording_series(x->recording, index);
    const struct series_info *info = &series->info;
    const struct store_run *run = store_run(x->store);
    struct samples s = {0};
    int r = recording_each_sample(x->recording, index, gather_sample, &s);
    if (r == 0 && s.count > 0) {
        bool steps = goes_by_steps(&s);
        double unit = info->unit == SERIES_BYTES ? MEGABYTE : 1;
        struct json j;
        json_init(&j, &x->out, 0);
        json_object_begin(&j, NULL);
        json_string(&j, "id", info->name);
        json_string(&j, "kind", info->kind);
        json_string(&j, "device", info->device);
        if (info->pid > 0)
            json_integer(&j, "pid", info->pid);
        json_string(&j, "role", info->role);
        json_string(&j, "unit", steps ? "step" : "s");
        json_number(&j, "epoch_len", steps ? known(run->epoch_length) : (double) NAN);
        json_number(&j, "horizon", known(run->horizon));
        json_number(&j, "limit_mb", known(series->limit / unit));
        add_positions(&j, &s, steps);
        add_values(&j, &s, steps, unit);
        json_object_end(&j);
        buf_addc(&x->out, '\n');
        r = flush_pieces(x);
    }
    free(s.list);
    return r;
}

/* ---- the command ---- */

static bool is_chosen(const struct exporter *x, const struct recorded_series *s)
{
    if (x->series)
        return load_names_series(x->series, &s->info) &&
               (s->judged || x->all || strcasestr(x->series, s->info.kind));
    return s->judged || x->all;
}

static int export_series(struct exporter *x)
{
    size_t chosen = 0;
    int r = 0;
    if (x->csv)
        buf_adds(&x->out, "seconds,step,pid,role,kind,device,unit,value,floor,max,count\n");
    for (size_t i = 0; i < recording_count(x->recording) && r == 0; i++) {
        if (!is_chosen(x, recording_series(x->recording, i)))
            continue;
        chosen++;
        r = x->csv ? csv_series(x, i) : jsonl_series(x, i);
    }
    if (r < 0 && !x->failed)
        load_run_explain(x->path, r);
    if (r == 0 && chosen == 0 && x->series) {
        cli_say("%s: no series is called '%s'", x->path, x->series);
        return -EINVAL;
    }
    return r < 0 ? r : flush(x);
}

static int export_run(struct exporter *x)
{
    int r = load_run_open(x->path, &x->store);
    if (r < 0)
        return r;
    r = recording_new(x->store, &x->recording);
    if (r < 0)
        load_run_explain(x->path, r);
    else if ((r = open_output(x)) == 0)
        r = export_series(x);
    if (x->fd > STDERR_FILENO && close(x->fd) < 0 && r == 0) {
        r = -errno;
        cli_say("%s: %s", x->output, error_words(-r));
    }
    recording_free(x->recording);
    store_free(x->store);
    buf_release(&x->out);
    return r;
}

int cmd_export(int argc, char **argv)
{
    struct exporter x = {.fd = -1};
    const struct option_spec specs[] = {
        {"csv", OPTION_FLAG, &x.csv, NULL, NULL},
        {"jsonl", OPTION_FLAG, &x.jsonl, NULL, NULL},
        {"all", OPTION_FLAG, &x.all, NULL, NULL},
        {"series", OPTION_TEXT, &x.series, "the name, kind or pid of a series", NULL},
        {"output", OPTION_TEXT, &x.output, "a file name", NULL},
        {"o", OPTION_TEXT, &x.output, "a file name", NULL},
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0)
        return STATUS_ERROR;
    if (files != 1 || x.csv == x.jsonl) {
        cli_say("%s: expected one run file and --csv or --jsonl", argv[0]);
        return STATUS_ERROR;
    }
    x.path = argv[1];
    return export_run(&x) < 0 ? STATUS_ERROR : STATUS_FINE;
}

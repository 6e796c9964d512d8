/* cli/cmd_export.c: tidemark export: writes the samples of a recorded run for other programs. */
#include "cli/cli.h"
#include "cli/load_run.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/traced.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tidemark export RUN.tide FORM [options]\n"
    "\n"
    "Writes a recorded run for other programs, in one of these forms.\n"
    "\n"
    "Samples; 'tidemark analyze' reads both forms:\n"
    "  --csv             one row a sample: seconds, step, pid, role, kind, device,\n"
    "                    unit, value, floor, max, count; sizes in bytes. Old samples\n"
    "                    are blocks of `count` with their mean, floor and maximum\n"
    "  --jsonl           one line a series, as analyze --batch reads it\n"
    "  --series NAME     the series NAME (a name, kind or pid) alone\n"
    "  --all             also what is recorded but not judged: host.rss, ...\n"
    "\n"
    "Where a traced run allocated its memory; sampled, scaled up:\n"
    "  --pprof           for pprof: objects and bytes, allocated and in use; growth\n"
    "  --collapsed       for flamegraph.pl and others: a line a call stack\n"
    "  --speedscope      for https://www.speedscope.app/\n"
    "  --json            everything, see docs/JSON.md\n"
    "  --growth, --live, --allocated, --from, --to, --process, --kind\n"
    "                    what is written, as for 'tidemark flame'\n"
    "\n"
    "  -o, --output FILE write to FILE instead of standard output\n"
    "\n"
    "example: tidemark export train.tide --csv -o train.csv\n";

/* Output is written in pieces of about this size. */
#define PIECE_BYTES ((size_t) 1 << 16)

#define MEGABYTE 0x1p20

struct exporter {
    bool csv, jsonl, pprof, collapsed, speedscope, json;
    bool all;
    const char *series, *output;
    struct traced_options traced;
    const char *path;
    struct output to;
    struct store *store;
    struct recording *recording;
    struct buf out;
    bool failed; /* writing failed, with a message */
};

/* ---- output ---- */

static int flush(struct exporter *x)
{
    int r = output_write(&x->to, &x->out);
    x->failed = r < 0;
    return r;
}

static int flush_pieces(struct exporter *x)
{
    return x->out.len < PIECE_BYTES ? 0 : flush(x);
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

/* ---- samples ---- */

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

static int export_recording(struct exporter *x)
{
    int r = recording_new(x->store, &x->recording);
    if (r < 0)
        load_run_explain(x->path, r);
    else if ((r = output_open(&x->to, x->output, x->path)) == 0) {
        r = export_series(x);
        int closed = output_close(&x->to);
        r = r < 0 ? r : closed;
    }
    recording_free(x->recording);
    return r;
}

static int export_samples(struct exporter *x)
{
    int r = load_run_open(x->path, &x->store);
    if (r < 0)
        return r;
    r = export_recording(x);
    store_free(x->store);
    return r;
}

/* ---- traced allocations ---- */

static int render_traced(struct exporter *x, const struct report_stacks *stacks)
{
    if (x->pprof)
        return report_pprof(&x->out, stacks);
    if (x->collapsed)
        return report_collapsed(&x->out, stacks);
    if (x->speedscope)
        return report_speedscope(&x->out, stacks);
    return report_sites_json(&x->out, stacks);
}

static int write_traced(struct exporter *x)
{
    int r = output_open(&x->to, x->output, x->path);
    if (r < 0)
        return r;
    r = flush(x);
    int closed = output_close(&x->to);
    return r < 0 ? r : closed;
}

static int export_traced(struct exporter *x)
{
    struct traced *t;
    int r = traced_load(x->path, &x->traced, &t);
    if (r < 0)
        return r;
    r = render_traced(x, traced_stacks(t));
    if (r < 0)
        traced_say_nothing(t, x->path);
    else
        r = write_traced(x);
    traced_free(t);
    return r;
}

/* ---- the command ---- */

static bool writes_samples(const struct exporter *x)
{
    return x->csv || x->jsonl;
}

/* NULL: the options fit. */
static const char *find_contradiction(const struct exporter *x, int files)
{
    const struct traced_options *t = &x->traced;
    if (files != 1 || x->csv + x->jsonl + x->pprof + x->collapsed + x->speedscope + x->json != 1)
        return "expected one run file and one of --csv, --jsonl, --pprof, --collapsed,"
               " --speedscope, --json";
    if (writes_samples(x) && traced_options_given(t))
        return "--growth, --live, --allocated, --process, --kind, --from and --to choose traced"
               " allocations, not samples";
    if (!writes_samples(x) && (x->series || x->all))
        return "--series and --all choose samples, not traced allocations";
    if ((x->pprof || x->json) && (t->growth || t->live || t->allocated))
        return "--pprof and --json hold growth, live and allocated at once: leave the option out";
    return NULL;
}

int cmd_export(int argc, char **argv)
{
    struct exporter x = {.traced = TRACED_OPTIONS_INIT};
    const struct option_spec specs[] = {
        {"csv", OPTION_FLAG, &x.csv, NULL, NULL},
        {"jsonl", OPTION_FLAG, &x.jsonl, NULL, NULL},
        {"pprof", OPTION_FLAG, &x.pprof, NULL, NULL},
        {"collapsed", OPTION_FLAG, &x.collapsed, NULL, NULL},
        {"speedscope", OPTION_FLAG, &x.speedscope, NULL, NULL},
        {"json", OPTION_FLAG, &x.json, NULL, NULL},
        TRACED_OPTIONS(&x.traced),
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
    const char *wrong = find_contradiction(&x, files);
    if (wrong) {
        cli_say("%s: %s", argv[0], wrong);
        return STATUS_ERROR;
    }
    x.path = argv[1];
    r = writes_samples(&x) ? export_samples(&x) : export_traced(&x);
    buf_release(&x.out);
    return r < 0 ? STATUS_ERROR : STATUS_FINE;
}

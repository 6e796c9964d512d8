/* cli/cmd_check.c: tidemark check: a gate for CI. */
#include "cli/cli.h"
#include "cli/fail_on.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tidemark check FILE LIMIT... [options]\n"
    "\n"
    "A gate for CI. Prints one line: all limits hold, or which one broke and by how\n"
    "much. A leak within the limits passes, but its verdict, why and fix are printed;\n"
    "--fail-on leak rejects it.\n"
    "\n"
    "  --max-rate 5MB/step     growth after the warm-up (/s, /min, /h by the clock)\n"
    "  --max-rise 500MB        rise of the floor after the warm-up\n"
    "  --window 90:120         measure the rise over these steps instead\n"
    "  --max-warmup 100        the warm-up ends by this step\n"
    "  --min-steps 120         fewer steps prove nothing: exit 4\n"
    "  --fail-on WHAT[,WHAT]   exit 3 if the job's verdict is\n"
    "                          leak[:negligible|low|medium|high] or above, 4 if it is\n"
    "                          inconclusive\n"
    "  --series NAME           the series NAME (a name, kind or pid) alone\n"
    "  --epoch N, --quiet, and the options of analyze for columns, unit, clock and\n"
    "  horizon\n"
    "\n"
    "exit status: 0 all limits hold; 3 one is broken; 4 too few steps, or\n"
    "inconclusive; 1 the file could not be read\n"
    "\n"
    "example: tidemark check train.log --max-rate 5MB/step --min-steps 120\n";

/* A rate as the user wrote it. */
struct max_rate {
    double amount;
    double seconds; /* per this many seconds; 0: not per time */
    bool per_step;
};

struct check {
    struct load_options load;
    struct gate_limits limits;
    struct max_rate max_rate;
    struct fail_on fail_on;
};

static int parse_max_rate(const char *text, void *target)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"step", 0}, {"s", 1}, {"min", 60}, {"h", 3600}};

    struct max_rate rate = {0};
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t) (slash - text) : strlen(text);
    char amount[64] = "";
    if (len >= sizeof(amount))
        return -EINVAL;
    memcpy(amount, text, len);
    if (quantity_parse_size(amount, &rate.amount) < 0 || rate.amount < 0)
        return -EINVAL;
    bool known = !slash;
    for (size_t i = 0; slash && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(slash + 1, units[i].name) == 0) {
            rate.per_step = units[i].seconds == 0;
            rate.seconds = units[i].seconds;
            known = true;
        }
    }
    if (!known)
        return -EINVAL;
    *(struct max_rate *) target = rate;
    return 0;
}

/* "90:120" */
static int parse_window(const char *text, void *target)
{
    struct gate_limits *limits = target;
    char *end;
    double from = strtod(text, &end);
    if (end == text || *end != ':')
        return -EINVAL;
    const char *second = end + 1;
    double to = strtod(second, &end);
    if (end == second || *end != '\0' || !isfinite(from) || !isfinite(to) || to <= from)
        return -EINVAL;
    limits->window_from = from;
    limits->window_to = to;
    return 0;
}

static bool is_on_other_clock(const struct max_rate *rate, const struct series_info *info)
{
    return (info->clock == CLOCK_STEP && rate->seconds > 0) ||
           (info->clock == CLOCK_SECONDS && rate->per_step);
}

/* The limit on the clock of a series. -EINVAL, with a message: it was given on the other clock. */
static int rate_limit(const struct max_rate *rate, const struct series_info *info, double *ret)
{
    if (is_on_other_clock(rate, info)) {
        cli_say("check: --max-rate is per %s, but '%s' is measured in %s",
                rate->per_step ? "step" : "time", info->name,
                info->clock == CLOCK_STEP ? "steps" : "seconds");
        return -EINVAL;
    }
    *ret = rate->seconds > 0 ? rate->amount / rate->seconds : rate->amount;
    return 0;
}

static int check_series(const struct check *c, const struct report_series *s,
                        struct gate_result *ret)
{
    struct gate_limits limits = c->limits;
    if (!isnan(c->max_rate.amount)) {
        int r = rate_limit(&c->max_rate, s->info, &limits.max_rate);
        if (r < 0)
            return r;
    }
    gate_check(&limits, s->answer, s->history, s->info->unit, s->info->clock, ret);
    return 0;
}

static bool has_limit(const struct check *c)
{
    return !isnan(c->max_rate.amount) || !isnan(c->limits.max_rise) ||
           !isnan(c->limits.max_warm_up) || !isnan(c->limits.min_steps);
}

/* Adds what the report says about the whole job. Returns an exit status. */
static int check_verdict(const struct check *c, const struct judgement *j, bool limits_hold,
                         struct buf *out)
{
    const struct job_answer *a = &j->answer;
    int status = fail_on_status(&c->fail_on, a->verdict, a->severity);
    bool leaks = a->verdict == VERDICT_LEAK && a->severity > SEVERITY_NEGLIGIBLE;
    bool is_asked = c->fail_on.leak || c->fail_on.inconclusive;
    const struct report_style style = {.ascii = true, .width = FORMAT_MAX_WIDTH};
    if (leaks && (is_asked || limits_hold))
        report_opening(out, &j->job, &style);
    else if (is_asked)
        report_headline(out, &j->job, &style);
    return status;
}

/* Prints a line for each series that broke a limit; one line if all hold. */
static int check_job(const struct check *c, const struct judgement *j)
{
    int status = STATUS_FINE;
    struct buf out = BUF_INIT;
    struct gate_result result = {0};

    for (size_t i = 0; i < j->job.count; i++) {
        /* A worker that lived for a few steps or none says nothing about the job. */
        bool bystander = j->parts[i] == PART_BYSTANDER;
        if (bystander && is_on_other_clock(&c->max_rate, j->series[i].info))
            continue;
        if (check_series(c, &j->series[i], &result) < 0) {
            buf_release(&out);
            return STATUS_ERROR;
        }
        if (bystander && result.exit_status == STATUS_OPEN)
            continue;
        status = cli_worse(status, result.exit_status);
        if (result.exit_status != STATUS_FINE && j->job.count > 1)
            buf_addf(&out, "%s: ", j->series[i].info->name);
        if (result.exit_status != STATUS_FINE)
            buf_addf(&out, "%s\n", result.line);
    }
    if (status == STATUS_FINE && has_limit(c) && j->job.count == 1)
        buf_addf(&out, "%s\n", result.line);
    else if (status == STATUS_FINE && has_limit(c))
        buf_addf(&out, "all limits hold for %zu series\n", j->job.count);
    status = cli_worse(status, check_verdict(c, j, status == STATUS_FINE, &out));
    int r = terminal_write(&out);
    buf_release(&out);
    return r < 0 ? STATUS_ERROR : status;
}

static int check_usage(const struct check *c, const char *command, int files)
{
    if (files != 1) {
        cli_say("%s: got %d files, expected one", command, files);
        return -EINVAL;
    }
    if (!has_limit(c) && !c->fail_on.leak && !c->fail_on.inconclusive) {
        cli_say("%s: no limit given; expected --max-rate, --max-rise, --max-warmup, --min-steps or "
                "--fail-on",
                command);
        return -EINVAL;
    }
    if (!isnan(c->limits.window_from) && isnan(c->limits.max_rise)) {
        cli_say("%s: --window needs --max-rise, the rise allowed over it", command);
        return -EINVAL;
    }
    return 0;
}

int cmd_check(int argc, char **argv)
{
    struct check c = {
        .limits = {NAN, NAN, NAN, NAN, NAN, NAN},
        .max_rate = {.amount = NAN},
    };
    const struct option_spec specs[] = {
        LOAD_OPTIONS(&c.load),
        {"max-rate", OPTION_PARSED, &c.max_rate, "a rate such as 5MB/step or 2MB/min",
         parse_max_rate},
        {"max-rise", OPTION_SIZE, &c.limits.max_rise, "a size such as 500MB", NULL},
        {"window", OPTION_PARSED, &c.limits, "FROM:TO, such as 90:120", parse_window},
        {"max-warmup", OPTION_NUMBER, &c.limits.max_warm_up, "a number of steps above 0", NULL},
        {"min-steps", OPTION_NUMBER, &c.limits.min_steps, "a number of steps above 0", NULL},
        FAIL_ON_OPTION(&c.fail_on),
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0 || load_options_check(&c.load, argv[0]) < 0 || check_usage(&c, argv[0], files) < 0)
        return STATUS_ERROR;

    struct load *l;
    if (load_file(argv[1], &c.load, &l) < 0)
        return STATUS_ERROR;
    struct judgement j;
    judgement_init(&j, l);
    int status = check_job(&c, &j);
    judgement_release(&j);
    load_free(l);
    return status;
}

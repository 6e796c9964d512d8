/* cli/cmd_plot.c: tidemark plot: a run as one picture. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plotted.h"
#include "cli/terminal.h"
#include "plot/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark plot FILE [-o PICTURE.svg|PICTURE.png] [options]\n"
    "\n"
    "Draws a run as one picture for an issue, a pull request or a slide: the verdict,\n"
    "why and what to do, and memory with its phases, spikes, onset, alarm and\n"
    "forecast. FILE is a run file, or a log or table that 'tidemark analyze' reads.\n"
    "\n"
    "  -o, --output FILE    .svg or .png; -: standard output (default: RUN.png on a\n"
    "                       terminal, else standard output)\n"
    "  --format svg|png     the format, where no file name says it (default: svg)\n"
    "  --series NAME        a chart of the series NAME (a name, kind or pid), not of\n"
    "                       the deciding one; several times: a chart of each\n"
    "  --all                a chart of every series that needs attention\n"
    "  --steps, --time      the horizontal axis (default: the clock of the verdict)\n"
    "  --size WxH           pixels (default: 1200x675)\n"
    "  --scale N            pixels of a PNG for each of these (default: 1)\n"
    "  --dark               light on dark\n"
    "  --limit 32GB, --plan-steps N, --plan-hours H, --epoch N, --horizon N,\n"
    "  --clock COL, --value COLS, --unit MB\n"
    "                       judge the run by these, as 'tidemark analyze' does\n"
    "  --quiet              do not report what was guessed about a log\n"
    "\n"
    "example: tidemark plot train-20261115-081500.tide -o leak.png --scale 2\n";

enum format { FORMAT_UNKNOWN, FORMAT_SVG, FORMAT_PNG };

struct plot_command {
    struct plotted_options source;
    struct plot_options plot;
    enum format format;
    const char *output; /* NULL: not given */
    bool all;
};

/* ---- options ---- */

static int parse_format(const char *text, void *target)
{
    enum format *format = target;
    *format = strcasecmp(text, "svg") == 0   ? FORMAT_SVG
              : strcasecmp(text, "png") == 0 ? FORMAT_PNG
                                             : FORMAT_UNKNOWN;
    return *format == FORMAT_UNKNOWN ? -EINVAL : 0;
}

static bool is_side(double pixels)
{
    return pixels >= PLOT_LEAST && pixels <= PLOT_MOST;
}

static int parse_size(const char *text, void *target)
{
    struct plot_options *o = target;
    int width, height, used = 0;
    if (sscanf(text, "%5dx%5d%n", &width, &height, &used) != 2 || text[used] != '\0' ||
        !is_side(width) || !is_side(height))
        return -EINVAL;
    o->width = width;
    o->height = height;
    return 0;
}

static int parse_scale(const char *text, void *target)
{
    char *end;
    double scale = strtod(text, &end);
    if (end == text || *end || !(scale >= PLOT_LEAST_SCALE && scale <= PLOT_MOST_SCALE))
        return -EINVAL;
    *(double *) target = scale;
    return 0;
}

static enum format format_of_name(const char *name)
{
    const char *ending = strrchr(name, '.');
    enum format format = FORMAT_UNKNOWN;
    if (ending && !strchr(ending, '/'))
        parse_format(ending + 1, &format);
    return format;
}

static bool is_standard_output(const struct plot_command *p)
{
    return p->output ? strcmp(p->output, "-") == 0 : !isatty(STDOUT_FILENO);
}

/* Decides on the format. -EINVAL, with a message. */
static int check_format(struct plot_command *p)
{
    if (!p->output || is_standard_output(p)) {
        if (p->format == FORMAT_UNKNOWN)
            p->format = is_standard_output(p) ? FORMAT_SVG : FORMAT_PNG;
        if (p->format == FORMAT_SVG || !is_standard_output(p) || !isatty(STDOUT_FILENO))
            return 0;
        cli_say("plot: a PNG does not go to a terminal: name a file with -o leak.png");
        return -EINVAL;
    }
    enum format format = format_of_name(p->output);
    if (p->format == FORMAT_UNKNOWN)
        p->format = format;
    if (p->format == FORMAT_UNKNOWN)
        cli_say("plot: %s: ends with neither .svg nor .png; --format chooses", p->output);
    else if (format != FORMAT_UNKNOWN && format != p->format)
        cli_say("plot: %s: its ending and --format contradict each other", p->output);
    else
        return 0;
    return -EINVAL;
}

static int check_size(const struct plot_command *p)
{
    double most = fmax(p->plot.width, p->plot.height) * p->plot.scale;
    if (p->format != FORMAT_PNG || most <= PLOT_MOST)
        return 0;
    cli_say("plot: --size times --scale is %.0f pixels; a PNG has at most %.0f on a side", most,
            PLOT_MOST);
    return -EINVAL;
}

static int check_choice(const struct plot_command *p)
{
    if (!p->all || p->source.name_count == 0)
        return 0;
    cli_say("plot: --all and --series exclude each other");
    return -EINVAL;
}

/* ---- the picture ---- */

static int write_picture(const struct plot_command *p, const char *source, struct buf *picture)
{
    struct buf chosen = BUF_INIT;
    bool chooses = !p->output && !is_standard_output(p);
    if (chooses)
        output_add_name(&chosen, source, p->format == FORMAT_PNG ? ".png" : "-plot.svg");
    int r = output_put(chooses ? buf_text(&chosen) : p->output, source, picture);
    if (r == 0 && chooses)
        cli_say("%s: the picture", buf_text(&chosen));
    buf_release(&chosen);
    return r;
}

static void say_why_not(int code, const char *source)
{
    if (code == -ENOTSUP)
        cli_say("%s: --time: it has no times, only steps", source);
    else
        cli_say("%s: nothing to draw: no series has a sample", source);
}

static int draw(struct plot_command *p, const char *argument)
{
    struct plotted *material;
    struct buf picture = BUF_INIT;
    int r = plotted_load(argument, &p->source, &material);
    if (r < 0)
        return r;
    const struct plot_job *job = plotted_job(material);
    p->plot.choice = p->all                      ? PLOT_ATTENTION
                     : p->source.name_count == 0 ? PLOT_DECIDING
                                                 : PLOT_EVERY;
    r = p->format == FORMAT_PNG ? plot_png(&picture, job, &p->plot)
                                : plot_svg(&picture, job, &p->plot);
    if (r < 0)
        say_why_not(r, plotted_path(material));
    else
        r = write_picture(p, plotted_path(material), &picture);
    buf_release(&picture);
    plotted_free(material);
    return r;
}

int cmd_plot(int argc, char **argv)
{
    struct plot_command p = {.plot = PLOT_OPTIONS_INIT};
    /* The first of two rows of one name counts: several series, and a time axis for a verdict by
     * steps. */
    const struct option_spec specs[] = {
        {"output", OPTION_TEXT, &p.output, "a file name", NULL},
        {"o", OPTION_TEXT, &p.output, "a file name", NULL},
        {"format", OPTION_PARSED, &p.format, "svg or png", parse_format},
        {"series", OPTION_PARSED, &p.source, "the name, kind or pid of a series, at most 8 times",
         plotted_parse_series},
        {"all", OPTION_FLAG, &p.all, NULL, NULL},
        {"time", OPTION_FLAG, &p.plot.by_time, NULL, NULL},
        {"size", OPTION_PARSED, &p.plot, "pixels such as 1200x675, each from 200 to 8192",
         parse_size},
        {"scale", OPTION_PARSED, &p.plot.scale, "a number from 0.5 to 4", parse_scale},
        {"dark", OPTION_FLAG, &p.plot.dark, NULL, NULL},
        LOAD_OPTIONS(&p.source.load),
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0)
        return STATUS_ERROR;
    if (files != 1) {
        cli_say("%s: got %d files, expected one: a run file, a log or a table", argv[0], files);
        return STATUS_ERROR;
    }
    if (p.source.load.steps && p.plot.by_time) {
        cli_say("%s: --steps and --time exclude each other", argv[0]);
        return STATUS_ERROR;
    }
    if (load_options_check(&p.source.load, argv[0]) < 0 || check_format(&p) < 0 ||
        check_size(&p) < 0 || check_choice(&p) < 0)
        return STATUS_ERROR;
    return draw(&p, argv[1]) < 0 ? STATUS_ERROR : STATUS_FINE;
}

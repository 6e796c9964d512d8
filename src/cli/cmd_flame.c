/* cli/cmd_flame.c: tidemark flame: where a run's memory was allocated, as a picture. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/traced.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark flame RUN.tide [options]\n"
    "\n"
    "Draws where a traced run allocated its memory: a flame graph, as one SVG file\n"
    "that a browser opens, with zoom and search. The outermost call is on top, as in\n"
    "a Python traceback; a box is as wide as its memory. Sampled, scaled up.\n"
    "\n"
    "  --growth          what each call stack gained in the span (default)\n"
    "  --live            what each keeps at the end of the span\n"
    "  --allocated       what each allocated in the span, kept or not\n"
    "  --from, --to M    the span: a step such as 400, or a time since the start\n"
    "                    such as 90s, 5min, 2h (default: all that was traced)\n"
    "  --process PID     this process alone\n"
    "  --kind K[,K]      malloc, python, mapped, device, pinned alone\n"
    "  -o, --output FILE write to FILE; -: standard output (default: RUN.svg on a\n"
    "                    terminal, else standard output)\n"
    "\n"
    "'tidemark run' traces what it suspects; 'tidemark run --trace' from the start.\n"
    "'tidemark export' writes the same for pprof, speedscope and others.\n"
    "\n"
    "example: tidemark flame train-20261115-081500.tide -o leak.svg\n";

static int draw(const char *run, const char *name, const struct traced_options *options)
{
    struct traced *t;
    struct buf picture = BUF_INIT, default_name = BUF_INIT;
    int r = traced_load(run, options, &t);
    if (r < 0)
        return r;
    r = report_flame(&picture, traced_stacks(t));
    if (r < 0)
        traced_say_nothing(t, run);
    bool chooses = !name && isatty(STDOUT_FILENO);
    if (chooses)
        output_add_name(&default_name, run, ".svg");
    if (r == 0)
        r = output_put(chooses ? buf_text(&default_name) : name, run, &picture);
    if (r == 0 && chooses)
        cli_say("%s: open it in a browser", buf_text(&default_name));
    buf_release(&picture);
    buf_release(&default_name);
    traced_free(t);
    return r;
}

int cmd_flame(int argc, char **argv)
{
    struct traced_options options = TRACED_OPTIONS_INIT;
    const char *output = NULL;
    const struct option_spec specs[] = {
        TRACED_OPTIONS(&options),
        {"output", OPTION_TEXT, &output, "a file name", NULL},
        {"o", OPTION_TEXT, &output, "a file name", NULL},
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0)
        return STATUS_ERROR;
    if (files != 1) {
        cli_say("%s: expected one run file", argv[0]);
        return STATUS_ERROR;
    }
    return draw(argv[1], output, &options) < 0 ? STATUS_ERROR : STATUS_FINE;
}

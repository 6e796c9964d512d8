/* cli/main.c: tidemark: finds the command and hands over to it. */
#include "cli/cli.h"
#include "cli/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark COMMAND ...\n"
    "\n"
    "Tells whether a training job leaks memory or only warms up.\n"
    "\n"
    "  run -- COMMAND    runs a command and watches all its processes\n"
    "  watch             watches a running job: --pid N, or --find PATTERN\n"
    "  profile           what grows in a running Python job, and who holds it: --pid N\n"
    "  objects           what a running Python process holds now: --pid N\n"
    "  show RUN.tide     the report of a recorded run again\n"
    "  analyze FILE...   leak, no leak or not enough data: rate, phases, forecast\n"
    "  compare A B       two runs side by side: the same pattern or not\n"
    "  check FILE        a gate for CI: limits on rate, rise and warm-up\n"
    "  advise RUN.tide   how much memory the job takes, and what could be set\n"
    "  export RUN.tide   the samples of a recorded run as CSV or JSON lines\n"
    "  tradeoff -- CMD   what cleanup frees in a job and what it costs, measured\n"
    "  doctor            what works on this machine, what does not, and what to do\n"
    "\n"
    "  --help            this text; 'tidemark COMMAND --help' for a command's options\n"
    "  --version         the version\n"
    "\n"
    "example: tidemark run -- python train.py\n"
    "\n"
    "exit status: 0 fine; 1 usage or operational error; 3 a leak (--fail-on) or a\n"
    "broken limit; 4 not enough data\n";

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    bool keeps_signals; /* for the command it starts */
};

static const struct command commands[] = {
    {"run", cmd_run, true},          {"watch", cmd_watch, false},
    {"show", cmd_show, false},       {"export", cmd_export, false},
    {"analyze", cmd_analyze, false}, {"compare", cmd_compare, false},
    {"check", cmd_check, false},     {"tradeoff", cmd_tradeoff, true},
    {"doctor", cmd_doctor, false},   {"advise", cmd_advise, false},
    {"profile", cmd_profile, false}, {"objects", cmd_objects, false},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int unknown_command(const char *word)
{
    const char *names[COMMANDS];
    for (unsigned i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *meant = cli_suggest(word, names, COMMANDS);
    if (meant)
        cli_say("unknown command '%s'; did you mean %s?", word, meant);
    else
        cli_say("unknown command '%s'; 'tidemark --help' lists them", word);
    return STATUS_ERROR;
}

/*
 * A file opened while 0, 1 or 2 is closed would become standard input, output or error. For the
 * command of `run` they are closed as before.
 */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            _exit(STATUS_ERROR);
    }
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        cli_say("no command given; 'tidemark --help' lists them");
        return STATUS_ERROR;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return terminal_print(help);
    if (strcmp(argv[1], "--version") == 0)
        return terminal_print("tidemark " TIDEMARK_VERSION "\n");
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        /* A parent may have left it ignored; a reader that goes away shall end us without a word.
         */
        if (!commands[i].keeps_signals)
            signal(SIGPIPE, SIG_DFL);
        return commands[i].run(argc - 1, argv + 1);
    }
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    return run(argc, argv);
}

/* cli/main.c: tidemark: finds the command and runs it. */
#include "cli/cli.h"
#include "cli/terminal.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark COMMAND ...\n"
    "\n"
    "Finds out whether a training job leaks memory or only warms up, what holds the\n"
    "memory, and when it runs out.\n"
    "\n"
    "  run -- COMMAND    run a command and watch all its processes\n"
    "  watch             watch a running job: --pid N, or --find PATTERN\n"
    "  top               the same on the full screen; without a job, choose one\n"
    "  profile           what grows in a running Python job and its holder: --pid N\n"
    "  objects           what a running Python process holds now: --pid N\n"
    "  show RUN.tide     print the report of a recorded run\n"
    "  report RUN.tide   write a recorded run as a page: one HTML file, or Markdown\n"
    "  serve [FOLDER]    show recorded and running jobs in a browser, live\n"
    "  analyze FILE...   judge a log, a table or a recorded run\n"
    "  compare A B       compare two runs\n"
    "  check FILE        a gate for CI: limits on rate, rise and warm-up\n"
    "  advise RUN.tide   how much memory the job needs, and which settings would help\n"
    "  plot RUN.tide     draw a run as one picture for an issue or a slide: SVG, PNG\n"
    "  flame RUN.tide    draw where a traced run allocated its memory, as SVG\n"
    "  export RUN.tide   write a recorded run for other programs: CSV, pprof, ...\n"
    "  tradeoff -- CMD   measure what cleanup frees in a job and what it costs\n"
    "  doctor            what works on this machine, what does not, and what to do\n"
    "\n"
    "  help [COMMAND]    print this text, or a command's options\n"
    "  --version         print the version\n"
    "\n"
    "example: tidemark run -- python train.py\n"
    "\n"
    "exit status: 0 fine; 1 usage or operational error; 3 a leak (--fail-on) or a\n"
    "broken limit; 4 not enough data\n";

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    bool keeps_signals; /* for the command that it starts */
};

static const struct command commands[] = {
    {"run", cmd_run, true},          {"watch", cmd_watch, false},
    {"show", cmd_show, false},       {"export", cmd_export, false},
    {"analyze", cmd_analyze, false}, {"compare", cmd_compare, false},
    {"check", cmd_check, false},     {"tradeoff", cmd_tradeoff, true},
    {"doctor", cmd_doctor, false},   {"advise", cmd_advise, false},
    {"profile", cmd_profile, false}, {"objects", cmd_objects, false},
    {"flame", cmd_flame, false},     {"plot", cmd_plot, false},
    {"report", cmd_report, false},   {"serve", cmd_serve, false},
    {"top", cmd_top, false},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static bool ends_with(const char *word, const char *end)
{
    size_t len = strlen(word), end_len = strlen(end);
    return len > end_len && strcmp(word + len - end_len, end) == 0;
}

static bool is_in_path(const char *word)
{
    const char *path = getenv("PATH");
    while (path && *path && !strchr(word, '/')) {
        char file[PATH_MAX];
        int len = (int) strcspn(path, ":");
        int n = snprintf(file, sizeof(file), "%.*s/%s", len, path, word);
        if (n < (int) sizeof(file) && access(file, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

/* The command for a file or program given where a command is expected; NULL: none. */
static const char *command_for(const char *word)
{
    bool is_file = access(word, F_OK) == 0;
    if (ends_with(word, ".py"))
        return "run -- python";
    if (is_file && ends_with(word, ".tide"))
        return "show";
    if (is_in_path(word) || (strchr(word, '/') && access(word, X_OK) == 0))
        return "run --";
    return is_file ? "analyze" : NULL;
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS], *takes_it = command_for(word);
    for (unsigned i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *meant = cli_suggest(word, names, COMMANDS);
    if (takes_it)
        cli_say("'%s' is not a command; did you mean: tidemark %s %s?", word, takes_it, word);
    else if (meant)
        cli_say("unknown command '%s'; did you mean %s?", word, meant);
    else
        cli_say("unknown command '%s'; 'tidemark --help' lists them", word);
    return STATUS_ERROR;
}

/* "tidemark help [COMMAND]". */
static int cmd_help(int argc, char **argv)
{
    char option[] = "--help";
    char *asked[] = {argc > 1 ? argv[1] : NULL, option, NULL};
    if (argc < 2 || strcmp(argv[1], "help") == 0)
        return terminal_print(help);
    for (unsigned i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(2, asked);
    return unknown_command(argv[1]);
}

/*
 * A file opened while 0, 1 or 2 is closed would become standard input, output or error. For the
 * command of `run` they stay closed.
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
    if (strcmp(argv[1], "help") == 0)
        return cmd_help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        return terminal_print("tidemark " TIDEMARK_VERSION "\n");
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        /* A parent may have left SIGPIPE ignored. If the reader goes away, tidemark must end
         * silently. */
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

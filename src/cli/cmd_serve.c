/* cli/cmd_serve.c: tidemark serve: runs as pages in a browser, live. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/ui.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark serve [FOLDER | RUN.tide...] [options]\n"
    "\n"
    "Shows recorded runs in a browser: a list with their verdicts, one click to each.\n"
    "Runs that still go on and new ones appear by themselves. Prints the address.\n"
    "Without an argument it shows the current folder and the folders in it.\n"
    "\n"
    "  --port N              listen at this port (default: 8433, or one that is free)\n"
    "  --open                also open it in a browser\n"
    "  --listen ADDR[:PORT]  listen at another address of this machine, such as\n"
    "                        0.0.0.0; other machines can see the runs then\n"
    "  --token-file F        who wants to see the runs needs the token in F: 16\n"
    "                        characters or more that only you can read. Required\n"
    "                        with --listen\n"
    "\n"
    "Without --token-file only your own processes on this machine are served. From\n"
    "another machine: ssh -L 8433:127.0.0.1:8433 HOST, then http://127.0.0.1:8433/\n"
    "\n"
    "exit status: 0 after Ctrl-C or SIGTERM\n"
    "\n"
    "example: tidemark serve runs/ --open\n";

struct serving {
    unsigned port;
    bool open;
    const char *listen, *token_file;
    struct buf address, token, title;
};

/* ---- a browser ---- */

static int spawn_opener(char *address)
{
    char program[] = "xdg-open";
    char *arguments[] = {program, address, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    int r = posix_spawn_file_actions_init(&files);
    if (r != 0)
        return -r;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    r = posix_spawnp(&pid, program, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

/* Nobody waits for it: a browser may stay as long as it likes. */
static void open_browser(const char *address)
{
    char *copy = strdup(address);
    int r = copy ? spawn_opener(copy) : -ENOMEM;
    if (r == -ENOENT)
        cli_say("--open: no xdg-open here: open the address in a browser");
    else if (r < 0)
        cli_say("--open: xdg-open: %s", error_words(-r));
    free(copy);
}

/* ---- what is served ---- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Damaged runs are listed with what is wrong. What was never a run file is a mistake. */
static int check_file(const char *path)
{
    const char *wrong = NULL;
    if (access(path, R_OK) < 0)
        wrong = error_words(errno);
    else if (is_folder(path))
        wrong = "is a folder: give one folder, or run files";
    else if (!store_is_one(path))
        wrong = "not a run file: 'tidemark run -- COMMAND' records one";
    if (wrong)
        cli_say("%s: %s", path, wrong);
    return wrong ? -EINVAL : 0;
}

static int check_files(char **paths, int count)
{
    for (int i = 0; i < count; i++)
        if (check_file(paths[i]) < 0)
            return -EINVAL;
    return 0;
}

/* "runs/" for a folder whose whole path ends so. */
static int set_title(const char *folder, struct buf *ret)
{
    char path[PATH_MAX];
    if (!realpath(folder, path) || access(folder, R_OK | X_OK) < 0) {
        cli_say("%s: %s", folder, error_words(errno));
        return -errno;
    }
    const char *last = strrchr(path, '/') + 1;
    buf_addf(ret, "%s/", last);
    return 0;
}

/* ---- where ---- */

static int read_token(struct serving *s, const char *command)
{
    struct buf why = BUF_INIT;
    int r = s->token_file ? serve_read_token(s->token_file, &s->token, &why) : 0;
    if (r < 0)
        cli_say("%s: --token-file %s: %s", command, s->token_file, buf_text(&why));
    buf_release(&why);
    return r;
}

static int check_where(struct serving *s, const char *command)
{
    unsigned port = 0;
    if (!s->listen)
        buf_adds(&s->address, "127.0.0.1");
    else if (serve_parse_address(s->listen, &s->address, &port) < 0) {
        cli_say("%s: --listen %s: expected a numeric address, such as 0.0.0.0 or 10.0.0.5:8433",
                command, s->listen);
        return -EINVAL;
    }
    if (port != 0 && s->port != 0) {
        cli_say("%s: --listen has a port already: leave out --port", command);
        return -EINVAL;
    }
    s->port = port != 0 ? port : s->port;
    if (!s->token_file && !serve_is_loopback(buf_text(&s->address))) {
        cli_say("%s: --listen %s: other machines could see the runs: add --token-file", command,
                s->listen);
        return -EINVAL;
    }
    return read_token(s, command);
}

static int start_listening(const struct serving *s, const char *command, struct serve_listener *ret)
{
    const char *option = s->listen ? "--listen" : "--port";
    return ui_listen(command, option, buf_text(&s->address), s->port, ret);
}

/* ---- the command ---- */

static int announce(const struct serving *s, const struct serve_listener *listener)
{
    struct buf address = BUF_INIT, line = BUF_INIT;
    ui_add_address(&address, listener);
    buf_addf(&line, "%s\n", buf_text(&address));
    int r = terminal_write(&line);
    if (r == 0 && s->open)
        open_browser(buf_text(&address));
    buf_release(&address);
    buf_release(&line);
    return r;
}

static int run(const struct serving *s, const char *command, struct serve_options *o)
{
    const char *wrong;
    if (start_listening(s, command, &o->listener) < 0 || announce(s, &o->listener) < 0)
        return STATUS_ERROR;
    int r = serve(o, &wrong);
    if (r < 0)
        cli_say("%s: %s: %s", command, wrong ? wrong : "the server", error_words(-r));
    return r < 0 ? STATUS_ERROR : STATUS_FINE;
}

static int serve_operands(struct serving *s, char **argv, int count)
{
    const char *folder = count == 0 ? "." : count == 1 && is_folder(argv[1]) ? argv[1] : NULL;
    struct serve_options o = {.folder = folder};
    if (folder ? set_title(folder, &s->title) < 0 : check_files(argv + 1, count) < 0)
        return STATUS_ERROR;
    if (check_where(s, argv[0]) < 0)
        return STATUS_ERROR;
    o.title = buf_text(&s->title);
    o.token = s->token_file ? buf_text(&s->token) : NULL;
    if (!folder) {
        o.files = (const char *const *) argv + 1;
        o.file_count = (size_t) count;
    }
    return run(s, argv[0], &o);
}

int cmd_serve(int argc, char **argv)
{
    struct serving s = {.address = BUF_INIT, .token = BUF_INIT, .title = BUF_INIT};
    const struct option_spec specs[] = {
        {"port", OPTION_PARSED, &s.port, "a port from 1 to 65535", ui_parse_port},
        {"open", OPTION_FLAG, &s.open, NULL, NULL},
        {"listen", OPTION_TEXT, &s.listen, "an address of this machine", NULL},
        {"token-file", OPTION_TEXT, &s.token_file, "a file name", NULL},
    };
    int count, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &count);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    int status = r < 0 ? STATUS_ERROR : serve_operands(&s, argv, count);
    buf_release(&s.address);
    buf_release(&s.token);
    buf_release(&s.title);
    return status;
}

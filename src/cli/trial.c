/* cli/trial.c: runs a command once with a setting and measures the run. */
#include "cli/trial.h"

#include "cli/cli.h"
#include "cli/load_run.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_LINES 12u
#define LOG_BYTES 8192

/* A trial that is running. */
struct under_way {
    const struct trial_job *job;
    const struct trial *trial;
    struct buf name; /* "round 1, every 10" */
    struct buf run_file, log;
    int wait_status;
    bool interrupted;
};

/* ---- names ---- */

/* "round 1, every 10", "rehearsal". */
static void add_name(struct buf *out, const struct trial *trial)
{
    if (trial->round == 0) {
        buf_adds(out, "rehearsal");
        return;
    }
    buf_addf(out, "round %u, ", trial->round);
    tradeoff_add_name(out, trial->setting);
}

/* "FOLDER/round-1-every-10.tide". */
static void add_path(struct buf *out, const struct under_way *u, const char *ending)
{
    buf_addf(out, "%s/", u->job->folder);
    bool gap = false;
    for (const char *s = buf_text(&u->name); *s; s++) {
        if (isalnum((unsigned char) *s) || *s == '_') {
            buf_adds(out, gap ? "-" : "");
            buf_addc(out, *s);
        }
        gap = *s == ' ' || (gap && *s == ',');
    }
    buf_adds(out, ending);
}

/* The setting, as the probe in the command's processes reads it. */
static void add_variable(struct buf *out, const struct tradeoff_setting *s)
{
    const int *said = s->said;
    if (said[TRADEOFF_EVERY] != TRADEOFF_UNSAID)
        buf_addf(out, ",every=%d,gc=1,empty_cache=1,trim=1,zero_grad=safe", said[TRADEOFF_EVERY]);
    if (said[TRADEOFF_SET_TO_NONE] != TRADEOFF_UNSAID)
        buf_addf(out, ",set_to_none=%d", said[TRADEOFF_SET_TO_NONE]);
    if (said[TRADEOFF_WORKERS] != TRADEOFF_UNSAID)
        buf_addf(out, ",workers=%d", said[TRADEOFF_WORKERS]);
}

/* ---- the process ---- */

static void signals_of_the_user(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGHUP);
}

void trial_take_signals(void)
{
    sigset_t set;
    signals_of_the_user(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
}

static void set_variable(const struct tradeoff_setting *s)
{
    struct buf text = BUF_INIT;
    add_variable(&text, s);
    if (text.len > 0)
        setenv(TRIAL_VARIABLE, buf_text(&text) + 1, 1);
    else
        unsetenv(TRIAL_VARIABLE);
    buf_release(&text);
}

/* The arguments of tidemark run. The command's own arguments are not copied. */
static char **arguments_of(const struct under_way *u, char steps[static 32])
{
    size_t count = 0, n = 0;
    while (u->job->argv[count])
        count++;
    char **argv = calloc(count + 10, sizeof(*argv));
    if (!argv)
        base_out_of_memory();
    const char *own[] = {"tidemark",     "run", "--quiet",
                         "--no-inspect", "-o",  buf_text(&u->run_file)};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        argv[n++] = (char *) own[i];
    if (u->job->steps > 0) {
        snprintf(steps, 32, "%.0f", u->job->steps);
        argv[n++] = (char *) "--stop-after-steps";
        argv[n++] = steps;
    }
    argv[n++] = (char *) "--";
    memcpy(argv + n, u->job->argv, count * sizeof(*argv));
    return argv;
}

static _Noreturn void become_run(const struct under_way *u, int log)
{
    char steps[32];
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0)
        _exit(STATUS_ERROR);
    close(null);
    set_variable(u->trial->setting);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", arguments_of(u, steps));
    cli_say("/proc/self/exe: cannot be run: %s", error_words(errno));
    _exit(STATUS_ERROR);
}

/* Keys reach the command anyway. A signal sent to tidemark alone is meant for the command, so it is
 * passed on. */
static void pass_on(struct under_way *u, pid_t pid, const siginfo_t *info)
{
    u->interrupted = true;
    if (info->si_code != SI_KERNEL)
        kill(pid, info->si_signo);
}

static void wait_for(struct under_way *u, pid_t pid)
{
    sigset_t set;
    signals_of_the_user(&set);
    sigaddset(&set, SIGCHLD);
    while (waitpid(pid, &u->wait_status, WNOHANG) == 0) {
        siginfo_t info;
        int number = sigwaitinfo(&set, &info);
        if (number > 0 && number != SIGCHLD)
            pass_on(u, pid, &info);
    }
}

static int run_command(struct under_way *u)
{
    int log = open(buf_text(&u->log), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600);
    if (log < 0) {
        cli_say("tradeoff: %s: %s", buf_text(&u->log), error_words(errno));
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0)
        become_run(u, log);
    int error = errno;
    close(log);
    if (pid < 0) {
        cli_say("tradeoff: no process can be made: %s", error_words(error));
        return -error;
    }
    wait_for(u, pid);
    return 0;
}

/* ---- what went wrong ---- */

/* What tidemark itself wrote at the end of the log; empty if it did not get that far. */
static void add_headline(struct buf *out, const struct under_way *u)
{
    struct report_style style = terminal_style(&(struct view_options){0}, -1);
    struct store_error error;
    struct view view;
    struct store *store;
    if (store_open(buf_text(&u->run_file), &store, &error) < 0)
        return;
    if (load_run_recall(store, &view) == 0) {
        report_run_headline(out, &view, &style);
        view_release(&view);
    }
    store_free(store);
}

static void drop_end(struct buf *text, const struct buf *end)
{
    if (end->len == 0 || text->len < end->len ||
        memcmp(text->text + text->len - end->len, end->text, end->len) != 0)
        return;
    text->len -= end->len;
    text->text[text->len] = '\0';
}

/* Reads the end of the command's own output. */
static void read_log_end(const struct under_way *u, struct buf *ret)
{
    char bytes[LOG_BYTES];
    struct buf own = BUF_INIT;
    FILE *log = fopen(buf_text(&u->log), "re");
    if (!log)
        return;
    if (fseek(log, -(long) sizeof(bytes), SEEK_END) < 0)
        rewind(log);
    buf_add(ret, bytes, fread(bytes, 1, sizeof(bytes), log));
    fclose(log);
    add_headline(&own, u);
    drop_end(ret, &own);
    buf_release(&own);
}

/* The start of the last `lines` lines. */
static const char *last_lines(const struct buf *text, unsigned lines)
{
    const char *begin = buf_text(text), *s = begin + text->len;
    if (s > begin && s[-1] == '\n')
        s--;
    for (; s > begin; s--)
        if (s[-1] == '\n' && --lines == 0)
            break;
    return s;
}

static void say_line(const char *line, size_t len)
{
    struct buf raw = BUF_INIT, clean = BUF_INIT;
    buf_add(&raw, line, len);
    utf8_add_clean(&clean, buf_text(&raw), false);
    fprintf(stderr, "  | %s\n", buf_text(&clean));
    buf_release(&raw);
    buf_release(&clean);
}

static void say_log(const struct under_way *u)
{
    struct buf end = BUF_INIT;
    read_log_end(u, &end);
    if (u->job->keep)
        cli_say("tradeoff: what it wrote is in %s%s", buf_text(&u->log),
                end.len > 0 ? "; its last lines:" : ": nothing");
    else if (end.len == 0)
        cli_say("tradeoff: it wrote nothing");
    else
        cli_say("tradeoff: the last lines of what it wrote (--keep DIR keeps all):");
    const char *line = last_lines(&end, LOG_LINES);
    while (*line) {
        size_t len = strcspn(line, "\n");
        say_line(line, len);
        line += len + (line[len] == '\n');
    }
    buf_release(&end);
}

static void say_status(const struct under_way *u)
{
    int status = u->wait_status;
    if (WIFSIGNALED(status))
        cli_say("tradeoff: %s: the command was ended by signal %d (%s)", buf_text(&u->name),
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        cli_say("tradeoff: %s: the command failed with exit status %d", buf_text(&u->name),
                WEXITSTATUS(status));
}

/* ---- what was measured ---- */

/* Cleanup cannot act at steps that were read from the program's output. */
static bool are_optimizer_steps(const struct view *view)
{
    return view->steps_from && strcmp(view->steps_from, "output") != 0;
}

/* Checks that the run can be compared. -EINVAL, with a message. */
static int check_run(const struct under_way *u, const struct view *view,
                     const struct measured_run *run)
{
    if (!are_optimizer_steps(view)) {
        cli_say("tradeoff: %s: no steps were seen: cleanup acts at the steps of torch's "
                "optimizers; 'tidemark doctor' says whether they can be counted here",
                buf_text(&u->name));
        return -EINVAL;
    }
    if (run->steps <= 0) {
        cli_say("tradeoff: %s: the command made %.0f step%s; at least %d are needed to measure",
                buf_text(&u->name), view->steps, view->steps == 1 ? "" : "s", MEASURE_LEAST_STEPS);
        return -EINVAL;
    }
    bool cleans = u->trial->setting->said[TRADEOFF_EVERY] != TRADEOFF_UNSAID;
    if (cleans && isnan(run->values[TRADEOFF_CLEANUP_SHARE])) {
        cli_say("tradeoff: %s: no cleanup was made in %.0f steps: there is nothing to compare; "
                "cleanup acts at the steps of torch's optimizers",
                buf_text(&u->name), view->steps);
        return -EINVAL;
    }
    return 0;
}

static int measure_store(const struct under_way *u, struct store *store, struct trial_result *ret)
{
    struct recording *recording;
    struct view view = {0};
    int r = recording_new(store, &recording);
    if (r == 0) {
        r = recording_measure(recording, u->job->steps, &ret->measured);
        recording_free(recording);
    }
    if (r == 0)
        r = load_run_recall(store, &view);
    if (r == -ENODATA || r == -EINVAL)
        cli_say("tradeoff: %s: this run has no final answer", buf_text(&u->run_file));
    else if (r < 0)
        load_run_explain(buf_text(&u->run_file), r);
    if (r < 0)
        return r;
    ret->steps = view.steps;
    ret->seconds = view.seconds;
    r = check_run(u, &view, &ret->measured);
    view_release(&view);
    return r;
}

static int measure(const struct under_way *u, struct trial_result *ret)
{
    struct store *store;
    int r = load_run_open(buf_text(&u->run_file), &store);
    if (r < 0)
        return r;
    r = measure_store(u, store, ret);
    store_free(store);
    return r;
}

/* ---- the whole ---- */

static void remove_files(const struct under_way *u)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (unsigned i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        struct buf path = BUF_INIT;
        buf_addf(&path, "%s%s", buf_text(&u->run_file), endings[i]);
        unlink(buf_text(&path));
        buf_release(&path);
    }
    unlink(buf_text(&u->log));
}

static enum trial_end conclude(struct under_way *u, struct trial_result *ret)
{
    if (u->interrupted) {
        cli_say("tradeoff: interrupted in %s%s", buf_text(&u->name),
                u->trial->round == 0 ? ", before anything was measured" : "");
        return TRIAL_INTERRUPTED;
    }
    if (u->wait_status != 0)
        say_status(u);
    else if (measure(u, ret) == 0)
        return TRIAL_MEASURED;
    say_log(u);
    return TRIAL_FAILED;
}

enum trial_end trial_run(const struct trial_job *job, const struct trial *trial,
                         struct trial_result *ret)
{
    struct under_way u = {.job = job, .trial = trial};
    struct trial_result result = {0};
    add_name(&u.name, trial);
    add_path(&u.run_file, &u, ".tide");
    add_path(&u.log, &u, ".log");
    enum trial_end end = run_command(&u) < 0 ? TRIAL_FAILED : conclude(&u, &result);
    if (end == TRIAL_MEASURED)
        *ret = result;
    if (!job->keep)
        remove_files(&u);
    buf_release(&u.name);
    buf_release(&u.run_file);
    buf_release(&u.log);
    return end;
}

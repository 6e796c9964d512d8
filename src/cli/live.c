/* cli/live.c: watches a job: the loop that run and watch share. */
#include "cli/live.h"

#include "cli/attaching.h"
#include "cli/cli.h"
#include "cli/on_leak.h"
#include "cli/run_file.h"
#include "cli/signals.h"
#include "cli/ui.h"
#include "input/input.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS_SECONDS 1.0
#define STATUS_FIRST 2.0 /* a shorter command shows no status line */
#define LINE_SECONDS 5.0 /* between log lines, stretching with the run */
#define LINE_STRETCH 20.0
#define LINE_MOST 600.0

/* Seconds from SIGTERM to SIGKILL. */
#define PATIENCE_SECONDS 10.0

#define TAILS 2u

/* Seconds between two reads of steady output, stretching with the run. */
#define OUTPUT_LEAST 0.001
#define OUTPUT_MOST 1.0
#define OUTPUT_MOST_COUNTED 0.1 /* while waiting for a certain step */

/* Packets of output per read: samples are due as well. */
#define PACKETS 64

static const char options_help[] =
    "  --step-regex RE         regular expression; its first group captures the step\n"
    "                          number in the output: 'it ([0-9]+)'\n"
    "  --epoch N, --horizon N  steps of an epoch; longest harmless ramp\n"
    "  --plan-steps N, --plan-hours H, --limit 32GB\n"
    "                          how long the job will run; the memory there is\n"
    "  --interval S            seconds between samples (default: 0.02, later up to 1)\n"
    "  -o, --output FILE       the run file (default: NAME-DATE-TIME.tide)\n"
    "  --no-store              write no run file\n"
    "  --full                  report everything: all series, balance sheet, notes\n"
    "  --quiet                 report the verdict's sentence alone\n"
    "  --json FILE             write the answer as JSON; -: to standard output, which\n"
    "                          then carries nothing else\n"
    "  --print-every S         seconds between log lines (default: 5, later more)\n"
    "  --log FILE              write log lines and warnings to FILE\n"
    "  --on-leak CMD           run CMD in the shell for each leak of severity low or\n"
    "                          above; it reads the answer's JSON, and TIDEMARK_PID\n"
    "                          and TIDEMARK_KIND are set\n"
    "  --fail-on WHAT[,WHAT]   exit 3 on leak[:negligible|low|medium|high] of that\n"
    "                          severity or above (default: low), 4 on inconclusive\n"
    "  --ascii, --width N, --color auto|always|never\n";

struct live {
    const struct live_options *options;
    const struct live_job *job;
    struct watch *watch;
    struct store *store;
    char *store_path;
    struct tail *tails[TAILS];
    unsigned tail_count;
    uint64_t began; /* by wire_now() */
    int signals;
    int out; /* for reports and lines: standard error under `run` */
    int log; /* --log; -1: none */
    struct report_style style;
    bool row;         /* a status line on the terminal */
    bool row_is_ours; /* drawn here, not by the relay */
    double next_status, next_line, next_output;
    bool over;
    struct watch_end end;
    char end_text[80];
    bool ended_by_option;
    struct on_leak on_leak;      /* commands of --on-leak under way */
    double kill_at;              /* seconds; NAN: no SIGKILL is due */
    struct attaching *attaching; /* NULL: attaches to no process */
    double attached_at;          /* of the first attach, in seconds; NAN: none */
    bool refused;                /* a profile could not attach to any process */
};

static double seconds_at(const struct live *l, uint64_t time)
{
    return time > l->began ? 1e-9 * (double) (time - l->began) : 0;
}

static double now(const struct live *l)
{
    return seconds_at(l, wire_now());
}

/* ---- output ---- */

static void write_text(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return;
        }
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t) n : 0;
    }
}

/* True: there was output. */
static bool read_tails(struct live *l, double seconds)
{
    char bytes[65536];
    bool any = false;
    for (unsigned i = 0; i < l->tail_count; i++) {
        ssize_t n = sizeof(bytes);
        while (n == sizeof(bytes)) {
            n = tail_read(l->tails[i], bytes, sizeof(bytes));
            if (n > 0)
                watch_feed_output(l->watch, seconds, bytes, (size_t) n);
            any = any || n > 0;
        }
    }
    return any;
}

/* Keeps tidemark's text out of the command's output, which may go to the same file. With a display
 * only the report comes here, and then the run file is complete. */
static void write_own(struct live *l, const char *text, size_t len)
{
    if (l->tail_count > 0 && !l->job->display)
        read_tails(l, now(l));
    write_text(l->out, text, len);
    for (unsigned i = 0; i < l->tail_count; i++)
        tail_skip(l->tails[i], text, len);
}

static void clear_row(struct live *l)
{
    if (l->row && l->row_is_ours)
        write_text(l->out, "\r\033[K", 4);
}

/* Sends a line or paragraph to the log, the relay or the terminal. */
static void announce(struct live *l, const char *text)
{
    if (l->options->quiet)
        return;
    if (l->log >= 0) {
        write_text(l->log, text, strlen(text));
        return;
    }
    if (l->job->display) {
        l->job->display->announce(l->job->display->context, text);
        return;
    }
    if (l->job->relay && isatty(l->out) && relay_print(l->job->relay, text))
        return;
    clear_row(l);
    write_own(l, text, strlen(text));
}

/* `profile` attaches on request, so the line goes to standard error and is not part of the
 * report. */
static void announce_attaching(void *context, const char *line)
{
    struct live *l = context;
    struct buf clean = BUF_INIT;
    cli_add_line(&clean, line);
    if (l->job->term) {
        clear_row(l);
        write_text(STDERR_FILENO, buf_text(&clean), clean.len);
    } else {
        announce(l, buf_text(&clean));
    }
    buf_release(&clean);
}

static void show_status(struct live *l, double seconds)
{
    struct view_status status;
    struct buf line = BUF_INIT;
    l->next_status = seconds + STATUS_SECONDS;
    watch_status(l->watch, &status);
    struct report_style style = terminal_style(&l->options->view, l->out);
    report_status(&line, &status, seconds, &style);
    if (l->row_is_ours) {
        clear_row(l);
        write_text(l->out, buf_text(&line), line.len);
    } else {
        relay_show(l->job->relay, buf_text(&line));
    }
    buf_release(&line);
}

static void print_line(struct live *l, double seconds)
{
    struct view_status status;
    struct buf line = BUF_INIT;
    const struct report_style plain = {.width = 0, .ascii = l->options->view.ascii};
    double every = l->options->print_every;
    if (every == 0)
        every = fmin(fmax(LINE_SECONDS, seconds / LINE_STRETCH), LINE_MOST);
    l->next_line = seconds + every;
    watch_status(l->watch, &status);
    buf_adds(&line, "tidemark: ");
    report_status(&line, &status, seconds, &plain);
    buf_addc(&line, '\n');
    announce(l, buf_text(&line));
    buf_release(&line);
}

/* ---- news ---- */

static void announce_ended_commands(struct live *l)
{
    struct buf text = BUF_INIT;
    on_leak_reap(&l->on_leak, &text);
    if (text.len > 0)
        announce(l, buf_text(&text));
    buf_release(&text);
}

/* Announces that a series leaks, or that it does not leak after all. */
static void announce_series(struct live *l, double seconds, const struct news *news)
{
    struct view view;
    bool is_leak = news->kind == NEWS_LEAK;
    watch_view_init(l->watch, seconds, &view);
    for (size_t i = 0; i < view.count; i++) {
        const struct view_series *s = &view.series[i];
        if (s->id != news->series)
            continue;
        struct buf text = BUF_INIT;
        (is_leak ? report_alarm : report_withdrawal)(&text, &view, i, &l->style);
        announce(l, buf_text(&text));
        run_file_add_news(l->store, seconds, news->kind, buf_text(&text));
        buf_release(&text);
        if (is_leak && l->options->on_leak && s->answer.severity > SEVERITY_NEGLIGIBLE)
            on_leak_run(&l->on_leak, l->options->on_leak, &view, s);
    }
    view_release(&view);
}

static void announce_news(struct live *l, double seconds)
{
    for (;;) {
        struct news news = watch_next_news(l->watch);
        if (news.kind == NEWS_END)
            return;
        if (news.kind == NEWS_LEAK || news.kind == NEWS_WITHDRAWN) {
            announce_series(l, seconds, &news);
            continue;
        }
        struct buf sentence = BUF_INIT, text = BUF_INIT;
        buf_addf(&sentence, "%s%s", news.kind == NEWS_NEAR_LIMIT ? "MEMORY ALMOST FULL: " : "",
                 news.text);
        report_notice(&text, buf_text(&sentence), &l->style);
        announce(l, buf_text(&text));
        run_file_add_news(l->store, seconds, news.kind, news.text);
        buf_release(&sentence);
        buf_release(&text);
    }
}

/* ---- the end ---- */

static void end_watching(struct live *l, const char *by)
{
    l->over = true;
    l->end.interrupted = true;
    snprintf(l->end_text, sizeof(l->end_text), "%s", by);
    l->end.by = l->end_text;
}

/* `run` ends the job with SIGTERM; `watch` only stops watching. */
static void end_by_option(struct live *l, double seconds, const char *by)
{
    if (l->ended_by_option)
        return;
    end_watching(l, by);
    l->ended_by_option = true;
    if (!l->job->relay)
        return;
    l->over = false;
    watch_signal(l->watch, SIGTERM);
    l->kill_at = seconds + PATIENCE_SECONDS;
}

static void check_options(struct live *l, double seconds)
{
    const struct live_options *o = l->options;
    char by[80];
    if (o->duration > 0 && seconds >= o->duration) {
        snprintf(by, sizeof(by), "stopped by tidemark after %g s (--duration)", o->duration);
        end_by_option(l, seconds, by);
    }
    if (o->stop_after_steps > 0 && watch_steps(l->watch) >= o->stop_after_steps) {
        snprintf(by, sizeof(by), "stopped by tidemark after %g steps (--stop-after-steps)",
                 o->stop_after_steps);
        end_by_option(l, seconds, by);
    }
    if (seconds >= l->kill_at) {
        watch_signal(l->watch, SIGKILL);
        l->kill_at = NAN;
    }
}

/* ---- the term of a profile ---- */

static void end_term(struct live *l, const char *format, double value)
{
    char by[80];
    snprintf(by, sizeof(by), format, value);
    end_watching(l, by);
}

static void check_term(struct live *l, double seconds)
{
    const struct live_term *t = l->job->term;
    if (isnan(l->attached_at)) {
        bool is_in = attaching_count(l->attaching) > 0;
        l->refused = attaching_is_refused(l->attaching);
        l->over = l->over || l->refused;
        l->attached_at = is_in ? seconds : (double) NAN;
        return;
    }
    double since = seconds - l->attached_at, steps = watch_steps(l->watch);
    bool has_time = t->seconds == 0 || since >= t->seconds;
    bool has_steps = t->steps == 0 || steps >= t->steps ||
                     (!(steps > 0) && since >= t->seconds_without) || since >= t->seconds_most;
    if (!has_time || !has_steps)
        return;
    if (steps >= t->steps && t->steps > 0)
        end_term(l, "profiled for %.0f steps: the job goes on", steps);
    else
        end_term(l, "profiled for %.0f s: the job goes on", since);
}

/* ---- events ---- */

/* True: there was output. */
static bool read_relay(struct live *l)
{
    struct relay_lines lines;
    ssize_t n = 1;
    int status = 0;
    unsigned i = 0;
    for (; i < PACKETS && n > 0; i++) {
        n = relay_read(l->job->relay, &lines, &status);
        if (n > 0)
            watch_feed_output(l->watch, seconds_at(l, lines.time), lines.text, (size_t) n);
    }
    if (n == -EAGAIN || n > 0)
        return i > 1;
    l->over = true;
    l->end.known = n == 0;
    l->end.status = status;
    return true;
}

/*
 * A program that writes all the time must not keep tidemark busy. Output is read as often as
 * samples are taken, because that is when steps are needed.
 */
static void read_output(struct live *l, double seconds)
{
    bool any = l->job->relay && read_relay(l);
    any = read_tails(l, seconds) || any;
    if (!any)
        return;
    double interval = l->options->interval;
    double most = l->options->stop_after_steps > 0 ? OUTPUT_MOST_COUNTED : OUTPUT_MOST;
    l->next_output =
        seconds + fmin(fmax(OUTPUT_LEAST, interval > 0 ? interval : seconds / 1000), most);
}

/* The terminal sends keys to the whole group, but its hang-up only to the session leader. */
static bool only_we_have_it(const struct signalfd_siginfo *info)
{
    return info->ssi_code != SI_KERNEL || (info->ssi_signo == SIGHUP && getsid(0) == getpid());
}

/* A signal from a person or a scheduler is meant for the job. */
static void read_signals(struct live *l)
{
    struct signalfd_siginfo info;
    while (read(l->signals, &info, sizeof(info)) == sizeof(info)) {
        int number = (int) info.ssi_signo;
        if (number == SIGCHLD)
            announce_ended_commands(l);
        else if (!l->job->relay)
            end_watching(l, "the user stopped watching");
        else if (only_we_have_it(&info))
            relay_signal(l->job->relay, number);
        if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
            l->end.interrupted = true;
    }
}

/* While output is not due, its end still wakes this wait. */
static void wait_until(struct live *l, double next)
{
    int relay = l->job->relay ? relay_fd(l->job->relay) : -1;
    double seconds = now(l);
    bool rests = seconds < l->next_output;
    double left = fmin(fmax((rests ? fmin(next, l->next_output) : next) - seconds, 0), 1);
    struct timespec timeout = {.tv_sec = (time_t) left,
                               .tv_nsec = (long) ((left - floor(left)) * 1e9)};
    int display = l->job->display ? l->job->display->fd : -1;
    struct pollfd p[4 + TAILS] = {{.fd = l->signals, .events = POLLIN},
                                  {.fd = relay, .events = rests ? POLLRDHUP : POLLIN},
                                  {.fd = watch_wake_fd(l->watch), .events = POLLIN},
                                  {.fd = display, .events = POLLIN}};
    for (unsigned i = 0; i < l->tail_count; i++)
        p[4 + i] = (struct pollfd){.fd = rests ? -1 : tail_changes(l->tails[i]), .events = POLLIN};
    if (ppoll(p, 4 + l->tail_count, &timeout, NULL) <= 0)
        return;
    if (p[0].revents)
        read_signals(l);
    /* Without the relay, a signal announces the end of the command. */
    if (p[1].revents || (l->job->relay && relay < 0))
        l->next_output = 0;
}

static void loop(struct live *l)
{
    double next = 0;
    while (!l->over) {
        double seconds = now(l);
        if (seconds >= fmin(l->next_output, next))
            read_output(l, seconds);
        next = watch_tick(l->watch, seconds);
        announce_news(l, seconds);
        if (l->attaching)
            attaching_tick(l->attaching, l->watch);
        if (l->job->term)
            check_term(l, seconds);
        check_options(l, seconds);
        if (l->job->display && !l->job->display->pass(l->job->display->context, l->watch, seconds))
            end_watching(l, "the user stopped watching");
        if (l->row && !l->job->display && seconds >= l->next_status)
            show_status(l, seconds);
        if (!l->options->quiet && (!l->row || l->log >= 0) && seconds >= l->next_line)
            print_line(l, seconds);
        if (!l->job->relay && watch_alive(l->watch) == 0)
            l->over = true;
        if (!l->over)
            wait_until(l, next);
    }
}

/* ---- beginning ---- */

/* Each process keeps three files open. The command already started with the old limit. */
static void allow_many_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* The command's own output files are already open here. Another process's files need that process's
 * rights. */
static int open_output(const struct deputy *d, int fd)
{
    char path[32];
    if (d)
        return deputy_open(d, fd);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void add_tail(struct live *l, int fd, off_t from)
{
    struct tail **t = &l->tails[l->tail_count];
    if (fd < 0 || tail_open(fd, from, t) < 0)
        return;
    if (l->tail_count > 0 && tail_is_same(l->tails[0], *t))
        tail_free(*t);
    else
        l->tail_count++;
}

/* Reads output from the regular file that it goes to. */
static void open_tails(struct live *l)
{
    struct deputy *d = NULL;
    if (!l->job->relay && deputy_new(l->job->pids[0], &d, NULL) < 0)
        return;
    for (int fd = 1; fd <= 2; fd++)
        add_tail(l, open_output(d, fd), l->job->relay ? l->job->output_at[fd - 1] : TAIL_END);
    deputy_free(d);
}

/* Without the log, lines go to their usual place: that is no reason not to watch. */
static void open_log(struct live *l)
{
    if (!l->options->log)
        return;
    l->log = open(l->options->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (l->log < 0)
        cli_say("--log: %s: %s", l->options->log, error_words(errno));
}

static int start_watch(struct live *l, const char *command, const char *arguments)
{
    const struct live_options *o = l->options;
    struct watch_options options = {
        .proc_root = "/proc",
        .interval = o->interval,
        .horizon = o->horizon,
        .epoch = o->epoch,
        .plan_steps = o->plan_steps,
        .plan_seconds = o->plan_hours * 3600,
        .limit_bytes = o->limit,
        .step_regex = o->step_regex,
        .command = command,
        .arguments = arguments,
        .rings = l->job->rings,
        .speaks = !o->quiet && !o->log,
        .began = l->began,
        .hears_forks = !l->job->relay, /* the relay adopts the orphans of its command */
        .no_inspect = l->job->no_inspect,
        .no_trace = l->job->no_trace,
        .trace_bytes = l->job->trace_bytes,
        .wants = l->job->attach == LIVE_ATTACH_ALL ? WIRE_CENSUS_PROFILE : WIRE_CENSUS_NONE,
        .acts = l->job->acts,
        .note = l->job->note,
    };
    if (!o->no_store)
        cli_create_run_file(o->output, &options, &l->store, &l->store_path);
    ui_show(o, l->store_path);
    options.store = l->store;
    int r = watch_new(&options, &l->watch);
    /* If the relay was already killed, there is still an end to report. */
    if (r == 0 && l->job->relay)
        watch_add_root(l->watch, relay_pid(l->job->relay), true);
    for (size_t i = 0; r == 0 && i < l->job->pid_count; i++)
        r = watch_add_root(l->watch, l->job->pids[i], false);
    if (r < 0)
        cli_say("cannot be watched: %s", error_words(-r));
    else if (o->stop_after_steps > 0)
        watch_wake_at(l->watch, o->stop_after_steps);
    return r;
}

/* ---- the report ---- */

static bool json_is_output(const struct live_options *o)
{
    return o->json && strcmp(o->json, "-") == 0;
}

static void write_json(struct live *l, const struct view *view)
{
    const char *path = l->options->json;
    bool to_output = json_is_output(l->options);
    int fd = to_output ? l->options->json_fd
                       : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        cli_say("--json: %s: %s", path, error_words(errno));
        return;
    }
    struct buf json = BUF_INIT;
    report_run_json(&json, view);
    write_text(fd, buf_text(&json), json.len);
    buf_release(&json);
    if (!to_output)
        close(fd);
}

static void finish_run_file(struct live *l, double seconds, const struct view *view)
{
    int r = l->store ? run_file_finish(l->store, seconds, view) : 0;
    if (r < 0)
        cli_say("the run file lacks the final answer: %s", store_words(r));
    l->store = NULL;
}

static void print_report(struct live *l, const struct view *view)
{
    struct buf out = BUF_INIT;
    struct report_style style = terminal_style(&l->options->view, l->out);
    if (l->options->only_json)
        return;
    if (l->options->quiet)
        report_run_headline(&out, view, &style);
    else
        report_run_text(&out, view, l->store_path, &style);
    write_own(l, buf_text(&out), out.len);
    buf_release(&out);
}

/* A key or a signal; nothing else can happen any more. */
static void await_user(struct live *l)
{
    struct pollfd p[2] = {{.fd = l->signals, .events = POLLIN},
                          {.fd = l->job->display->fd, .events = POLLIN}};
    if (poll(p, 2, 1000) > 0 && p[0].revents)
        read_signals(l);
}

/* The job has ended: its last state stays on display until the user leaves. */
static void close_display(struct live *l, const struct view *view, double seconds)
{
    const struct live_display *d = l->job->display;
    if (!d)
        return;
    d->end(d->context, view, seconds);
    while (!l->end.interrupted && d->pass(d->context, NULL, seconds))
        await_user(l);
    d->close(d->context);
}

static int conclude(struct live *l)
{
    double seconds = now(l);
    struct view view;
    if (l->tail_count > 0)
        read_tails(l, seconds);
    watch_finish(l->watch, seconds, &l->end);
    if (l->attaching)
        attaching_end(l->attaching, l->watch);
    announce_news(l, seconds);
    clear_row(l);
    watch_view_init(l->watch, seconds, &view);
    if (!l->job->display)
        print_report(l, &view);
    if (l->options->json)
        write_json(l, &view);
    finish_run_file(l, seconds, &view);
    close_display(l, &view, seconds);
    if (l->job->display)
        print_report(l, &view);
    int status = fail_on_status(&l->options->fail_on, view.answer.verdict, view.answer.severity);
    view_release(&view);
    return status;
}

static void prepare_attaching(struct live *l)
{
    const struct live_job *job = l->job;
    if (job->attach == LIVE_NO_ATTACH)
        return;
    l->attaching =
        attaching_new(&(struct attaching_options){.all = job->attach == LIVE_ATTACH_ALL,
                                                  .only_names = job->attach == LIVE_NAME_SUSPECTS,
                                                  .patience = job->patience,
                                                  .announce = announce_attaching,
                                                  .context = l});
}

static void release(struct live *l)
{
    attaching_free(l->attaching);
    watch_free(l->watch);
    store_free(l->store);
    free(l->store_path);
    for (unsigned i = 0; i < l->tail_count; i++)
        tail_free(l->tails[i]);
    if (l->log >= 0)
        close(l->log);
    close(l->signals);
}

bool live_has_row(const struct live_options *o, int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0 && !o->quiet;
}

/* Where a size is expected and none is given. */
#define TRACE_USUAL "512KB"
#define TRACE_LEAST 0x1p12
#define TRACE_MOST 0x1p30

int live_parse_trace(const char *text, void *target)
{
    double bytes;
    if (quantity_parse_size(text[0] ? text : TRACE_USUAL, &bytes) < 0 || bytes < TRACE_LEAST ||
        bytes > TRACE_MOST)
        return -EINVAL;
    *(double *) target = bytes;
    return 0;
}

int live_print_help(const char *head, const char *tail)
{
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s%s%s", head, options_help, tail);
    int status = terminal_print(buf_text(&text));
    buf_release(&text);
    return status;
}

int live_options_check(const struct live_options *o, const char *command)
{
    struct progress *progress;
    char error[160];
    if (o->plan_steps > 0 && o->plan_hours > 0) {
        cli_say("%s: --plan-steps and --plan-hours exclude each other", command);
        return -EINVAL;
    }
    if (o->no_store && o->output) {
        cli_say("%s: --no-store and --output exclude each other", command);
        return -EINVAL;
    }
    if (progress_new(o->step_regex, error, &progress) < 0) {
        cli_say("%s: --step-regex: %s", command, error);
        return -EINVAL;
    }
    progress_free(progress);
    return 0;
}

int live_keep_output(struct live_options *o)
{
    if (!json_is_output(o))
        return 0;
    o->json_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (o->json_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        cli_say("--json -: %s", error_words(errno));
        return -errno;
    }
    return 0;
}

int live_watch(const struct live_options *o, const struct live_job *job, int *ret_status)
{
    struct live l = {.options = o, .job = job, .kill_at = NAN, .attached_at = NAN, .log = -1};
    struct buf command = BUF_INIT, arguments = BUF_INIT;
    l.began = wire_now();
    l.signals = signals_catch(job->relay != NULL);
    l.out = job->relay ? STDERR_FILENO : STDOUT_FILENO;
    l.style = terminal_style(&o->view, l.out);
    l.row = job->relay ? relay_has_row(job->relay) : live_has_row(o, l.out);
    l.row_is_ours = !job->relay && !job->display;
    l.style.color = l.style.color && !job->display;
    l.next_status = STATUS_FIRST;
    l.next_line = o->print_every > 0 ? o->print_every : LINE_SECONDS;
    allow_many_files();
    run_add_command(&command, job->argv, job->argc);
    run_add_arguments(&arguments, job->argv, job->argc);
    open_log(&l);
    int r = start_watch(&l, buf_text(&command), buf_text(&arguments));
    if (r == 0) {
        open_tails(&l);
        prepare_attaching(&l);
        loop(&l);
        r = l.refused ? STATUS_ERROR : conclude(&l);
        *ret_status = l.ended_by_option ? 0 : l.end.status;
    } else {
        r = STATUS_ERROR;
    }
    release(&l);
    buf_release(&command);
    buf_release(&arguments);
    return r;
}

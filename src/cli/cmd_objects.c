/* cli/cmd_objects.c: tidemark objects: what a running Python process holds now. */
#include "cli/attaching.h"
#include "cli/cli.h"
#include "cli/target.h"
#include "cli/terminal.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark objects (--pid N | --find PATTERN) [--json]\n"
    "\n"
    "Attaches to a running Python process, counts all its objects once, and detaches.\n"
    "Prints types by memory and by count; tensors by device, dtype and shape; the\n"
    "largest tensors; and what the memory is for. A forked copy of the process does\n"
    "the counting; an idle probe library stays loaded.\n"
    "\n"
    "  --pid N                 this process; for a wrapper (torchrun, a shell) the\n"
    "                          trainers below it\n"
    "  --find PATTERN          the trainer whose command line contains PATTERN\n"
    "  --wait                  wait until there is one\n"
    "  --json                  write JSON for programs, see docs/JSON.md\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "\n"
    "exit status: 0; 1 if tidemark cannot attach (it says what would help)\n"
    "\n"
    "example: tidemark objects --pid 4242\n";

#define PATIENCE_SECONDS 30.0
#define COUNT_SECONDS 60.0 /* after the last attach */
#define POLL_NS 20000000

struct objects {
    struct view_options view;
    bool json;
    struct watch *watch;
    struct attaching *attaching;
    struct timespec began;
    size_t attached;
    double attached_at; /* of the last attach, in seconds */
};

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    (void) number;
    is_interrupted = 1;
}

static double now(const struct objects *o)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) (t.tv_sec - o->began.tv_sec) + 1e-9 * (double) (t.tv_nsec - o->began.tv_nsec);
}

static void announce(void *context, const char *line)
{
    struct buf clean = BUF_INIT;
    (void) context;
    cli_add_line(&clean, line);
    fputs(buf_text(&clean), stderr);
    buf_release(&clean);
}

/* ---- counting ---- */

/* Whether every attached process delivered its census. */
static bool is_counted(struct objects *o)
{
    struct view view;
    bool all = true;
    watch_view_init(o->watch, now(o), &view);
    for (size_t i = 0; i < view.found.entered_count; i++)
        all = all && (view.found.entered[i].why ||
                      watch_census(o->watch, (pid_t) view.found.entered[i].pid));
    all = all && view.found.entered_count > 0;
    view_release(&view);
    return all;
}

static double deadline(struct objects *o)
{
    size_t attached = attaching_count(o->attaching);
    if (attached > o->attached) {
        o->attached = attached;
        o->attached_at = now(o);
    }
    return o->attached_at + COUNT_SECONDS + (attached > 0 ? 0 : PATIENCE_SECONDS);
}

static void count(struct objects *o)
{
    while (!is_interrupted && now(o) < deadline(o)) {
        watch_tick(o->watch, now(o));
        attaching_tick(o->attaching, o->watch);
        if (watch_alive(o->watch) == 0 || is_counted(o))
            return;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
}

/* ---- the report ---- */

static void say_uncounted(const struct attached_process *e)
{
    struct buf text = BUF_INIT;
    attached_end(&text, e);
    cli_say("objects: %s was not counted: %s", e->process, buf_text(&text));
    buf_release(&text);
}

/* Attaching may succeed and the census still be unreadable: another version's probe is loaded. */
static bool say_whys(const struct findings *f)
{
    bool said = false;
    for (size_t i = 0; i < f->entered_count; i++) {
        if (f->entered[i].why)
            cli_say("objects: %s: %s", f->entered[i].process, f->entered[i].why);
        said = said || f->entered[i].why;
    }
    return said;
}

static const char *why_nothing(const struct objects *o)
{
    if (is_interrupted)
        return "interrupted";
    if (watch_unread(o->watch) < 0)
        return error_words(-watch_unread(o->watch));
    return watch_alive(o->watch) == 0 ? "the process has ended" : "no Python was found";
}

static void say_nobody(const struct objects *o, const struct findings *f)
{
    if (attaching_is_refused(o->attaching) || say_whys(f) || attaching_count(o->attaching) > 0)
        return;
    cli_say("objects: nothing was counted: %s", why_nothing(o));
}

static int print(struct objects *o)
{
    struct view view;
    struct buf out = BUF_INIT;
    struct report_style style = terminal_style(&o->view, STDOUT_FILENO);
    size_t counted = 0;
    watch_view_init(o->watch, now(o), &view);
    struct report_objects *list = calloc(view.found.entered_count + 1, sizeof(*list));
    if (!list)
        base_out_of_memory();
    for (size_t i = 0; i < view.found.entered_count; i++) {
        const struct attached_process *e = &view.found.entered[i];
        const struct wire_census *c = watch_census(o->watch, (pid_t) e->pid);
        if (c)
            list[counted++] = (struct report_objects){c, e};
        else if (e->python)
            say_uncounted(e);
    }
    if (o->json)
        report_objects_json(&out, list, counted, &view.found);
    for (size_t i = 0; i < counted && !o->json; i++)
        report_objects_text(&out, &list[i], &style);
    int status = counted > 0 && terminal_write(&out) == 0 ? STATUS_FINE : STATUS_ERROR;
    if (counted == 0)
        say_nobody(o, &view.found);
    buf_release(&out);
    free(list);
    view_release(&view);
    return status;
}

static int count_in(struct objects *o, pid_t pid)
{
    struct watch_options options = {
        .proc_root = "/proc", .no_gpu = true, .wants = WIRE_CENSUS_WHOLE};
    clock_gettime(CLOCK_MONOTONIC, &o->began);
    options.began = (uint64_t) o->began.tv_sec * 1000000000u + (uint64_t) o->began.tv_nsec;
    int r = watch_new(&options, &o->watch);
    if (r == 0)
        r = watch_add_root(o->watch, pid, false);
    if (r < 0) {
        cli_say("objects: process %d cannot be watched: %s", (int) pid, error_words(-r));
        watch_free(o->watch);
        return STATUS_ERROR;
    }
    o->attaching = attaching_new(&(struct attaching_options){
        .all = true, .patience = PATIENCE_SECONDS, .announce = announce});
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    count(o);
    const struct watch_end end = {.interrupted = true};
    watch_finish(o->watch, now(o), &end);
    attaching_end(o->attaching, o->watch);
    int status = print(o);
    attaching_free(o->attaching);
    watch_free(o->watch);
    return status;
}

int cmd_objects(int argc, char **argv)
{
    struct objects o = {.json = false};
    struct target t = {0};
    const struct option_spec specs[] = {
        TARGET_OPTIONS(&t),
        {"json", OPTION_FLAG, &o.json, NULL, NULL},
        VIEW_OPTIONS(&o.view),
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    pid_t pid;
    struct buf arguments = BUF_INIT;
    bool is_fine = r == 0 && target_check(&t, argv[0], operands) == 0 &&
                   target_find(&t, argv[0], &pid, &arguments) == 0;
    buf_release(&arguments);
    return is_fine ? count_in(&o, pid) : STATUS_ERROR;
}

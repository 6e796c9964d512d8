/* cli/top.c: a watched job on the full screen, kept up to date. */
#include "cli/top.h"

#include "cli/cli.h"
#include "cli/signals.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVERY_SECONDS 1.0

/* A whole view may take long to make: it gets this share of the processor at most, and then it is
 * never older than this. */
#define VIEW_SHARE 0.02
#define VIEW_OLDEST 20.0

/* ---- the terminal ---- */

static bool may_have_color(const struct view_options *view)
{
    return terminal_style(view, STDOUT_FILENO).color;
}

int top_open(struct top *t, const struct view_options *view, const char *command)
{
    const char *term = getenv("TERM");
    *t = (struct top){0};
    const struct screen_options options = {.in = STDIN_FILENO,
                                           .out = STDOUT_FILENO,
                                           .ascii = view->ascii,
                                           .color = may_have_color(view),
                                           .command = command};
    int r = screen_new(&options, &t->screen);
    if (r == -ENOTSUP)
        cli_say("top: the terminal's type (TERM=%s) is unknown here, or it cannot move the cursor: "
                "set TERM to its type, such as xterm, or use 'tidemark watch'",
                term ? term : "");
    else if (r < 0)
        cli_say("top: the terminal cannot be used: %s", error_words(-r));
    return r < 0 ? STATUS_ERROR : STATUS_FINE;
}

void top_close(struct top *t)
{
    t->screen = screen_free(t->screen);
    if (t->has_view)
        view_release(&t->view);
    view_tree_release(&t->tree);
    t->has_view = false;
}

/* ---- a job ---- */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void renew_view(struct top *t, struct watch *w, double seconds)
{
    double before = cpu_seconds();
    if (t->has_view)
        view_release(&t->view);
    watch_view_init(w, seconds, &t->view);
    t->has_view = true;
    double cost = cpu_seconds() - before;
    t->next_view = seconds + fmin(fmax(EVERY_SECONDS, cost / VIEW_SHARE), VIEW_OLDEST);
}

/* The processes of a job that is ending stay on the screen. */
static void renew_tree(struct top *t, const struct watch *w)
{
    struct view_tree tree;
    watch_tree(w, &tree);
    if (tree.count == 0 && t->tree.count > 0) {
        view_tree_release(&tree);
        return;
    }
    view_tree_release(&t->tree);
    t->tree = tree;
}

static bool is_other_verdict(const struct view_status *a, const struct view_status *b)
{
    return a->verdict != b->verdict || a->severity != b->severity || a->suspect != b->suspect;
}

static void renew(struct top *t, struct watch *w, double seconds)
{
    struct view_status before = t->status;
    watch_status(w, &t->status);
    renew_tree(t, w);
    if (!t->has_view || seconds >= t->next_view || is_other_verdict(&before, &t->status))
        renew_view(t, w, seconds);
    t->next = seconds + EVERY_SECONDS;
    screen_show(t->screen,
                &(struct screen_data){
                    .view = &t->view, .tree = &t->tree, .status = &t->status, .seconds = seconds});
}

static bool pass(void *context, struct watch *w, double seconds)
{
    struct top *t = context;
    if (w && seconds >= t->next)
        renew(t, w, seconds);
    return screen_pass(t->screen);
}

/* Paragraphs begin with "tidemark: ", which the screen need not say. */
static void announce(void *context, const char *text)
{
    struct top *t = context;
    static const char name[] = "tidemark: ";
    bool has_name = strncmp(text, name, sizeof(name) - 1) == 0;
    screen_say(t->screen, has_name ? text + sizeof(name) - 1 : text);
}

static void end(void *context, const struct view *view, double seconds)
{
    struct top *t = context;
    screen_show(t->screen,
                &(struct screen_data){.view = view, .tree = &t->tree, .seconds = seconds});
}

static void close_screen(void *context)
{
    struct top *t = context;
    t->screen = screen_free(t->screen);
}

struct live_display top_display(struct top *t)
{
    return (struct live_display){.context = t,
                                 .fd = screen_fd(t->screen),
                                 .pass = pass,
                                 .announce = announce,
                                 .end = end,
                                 .close = close_screen};
}

/* ---- the choice ---- */

/* False: the user leaves. */
static bool offer(struct top *t, int signals, struct proc_match **list, pid_t *ret_pid)
{
    size_t count = 0;
    struct proc_match *fresh = NULL;
    proc_find_training("/proc", getpid(), &fresh, &count);
    screen_offer(t->screen, fresh, count);
    free(*list);
    *list = fresh;
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    do {
        struct pollfd p[2] = {{.fd = screen_fd(t->screen), .events = POLLIN},
                              {.fd = signals, .events = POLLIN}};
        if (!screen_pass(t->screen))
            return false;
        if (screen_chosen(t->screen, ret_pid))
            return true;
        if (poll(p, 2, 1000) > 0 && p[1].revents)
            return false;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < until.tv_sec);
    return true;
}

int top_choose(struct top *t, pid_t *ret_pid)
{
    struct proc_match *list = NULL;
    sigset_t before;
    sigprocmask(SIG_SETMASK, NULL, &before);
    int signals = signals_catch(false);
    *ret_pid = 0;
    bool stays = true;
    while (stays && *ret_pid == 0)
        stays = offer(t, signals, &list, ret_pid);
    free(list);
    close(signals);
    if (stays)
        return 0;
    top_close(t);
    /* A signal was noticed, not read: now it does what it would have done. */
    sigprocmask(SIG_SETMASK, &before, NULL);
    return -ECANCELED;
}

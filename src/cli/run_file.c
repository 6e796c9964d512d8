/* cli/run_file.c: the run file of a watched job: its name, its beginning, its end. */
#include "cli/run_file.h"

#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMES_TRIED 100

void run_file_add_command(struct buf *out, const struct live_job *job)
{
    for (size_t i = 0; i < job->argc; i++) {
        if (i > 0)
            buf_addc(out, ' ');
        proc_add_redacted(out, job->argv, job->argc, i);
    }
}

void run_file_add_arguments(struct buf *out, const struct live_job *job)
{
    struct json j;
    json_init(&j, out, 0);
    json_array_begin(&j, NULL);
    for (size_t i = 0; i < job->argc; i++) {
        struct buf argument = BUF_INIT;
        proc_add_redacted(&argument, job->argv, job->argc, i);
        json_string(&j, NULL, buf_text(&argument));
        buf_release(&argument);
    }
    json_array_end(&j);
}

/* What the job is called after: its script or module, else its first word. */
static void add_stem(struct buf *out, const char *command)
{
    struct buf word = BUF_INIT;
    const char *chosen = command;
    size_t len = strcspn(command, " ");
    for (const char *s = command; *s; s += strspn(s, " ")) {
        size_t n = strcspn(s, " ");
        bool is_script =
            (n > 3 && (memcmp(s + n - 3, ".py", 3) == 0 || memcmp(s + n - 3, ".sh", 3) == 0));
        bool is_module = s - command > 3 && memcmp(s - 3, "-m ", 3) == 0;
        if (is_script || is_module) {
            chosen = s;
            len = n;
            break;
        }
        s += n;
    }
    buf_add(&word, chosen, len);
    const char *base = strrchr(buf_text(&word), '/');
    base = base ? base + 1 : buf_text(&word);
    size_t stem = strcspn(base, ".");
    for (size_t i = 0; i < stem && i < 40; i++) {
        char c = base[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_';
        buf_addc(out, plain ? c : '_');
    }
    if (stem == 0)
        buf_adds(out, "run");
    buf_release(&word);
}

static int create_named(const char *path, const struct store_run *run, struct store **ret_store,
                        char **ret_path)
{
    int r = store_create(path, run, ret_store);
    if (r == 0) {
        *ret_path = strdup(path);
        if (!*ret_path)
            abort();
    }
    return r;
}

/* NAME-20261115-081500.tide; with a number behind it where there is one already. */
static int create_default(const char *command, const struct store_run *run,
                          struct store **ret_store, char **ret_path)
{
    char when[32];
    time_t now = time(NULL);
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime(&now));
    int r = -EEXIST;
    for (unsigned i = 1; i <= NAMES_TRIED && r == -EEXIST; i++) {
        struct buf path = BUF_INIT;
        add_stem(&path, command);
        buf_addf(&path, "-%s", when);
        if (i > 1)
            buf_addf(&path, "-%u", i);
        buf_adds(&path, ".tide");
        r = create_named(buf_text(&path), run, ret_store, ret_path);
        buf_release(&path);
    }
    return r;
}

static void fill_run(const struct live_options *o, const char *command, const char *json,
                     const char *host, struct store_run *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct store_run){
        .command = json,
        .title = command,
        .host = host,
        .started = (double) now.tv_sec + 1e-9 * (double) now.tv_nsec,
        .limit_bytes = o->limit > 0 ? o->limit : NAN,
        .limit_source = o->limit > 0 ? "--limit" : NULL,
        .plan_steps = o->plan_steps > 0 ? o->plan_steps : NAN,
        .plan_seconds = o->plan_hours > 0 ? o->plan_hours * 3600 : NAN,
        .horizon = o->horizon > 0 ? o->horizon : NAN,
        .epoch_length = o->epoch > 0 ? o->epoch : NAN,
    };
}

void run_file_create(const struct live_options *o, const char *command, const char *arguments,
                     struct store **ret_store, char **ret_path)
{
    struct store_run run;
    char host[128] = "";
    gethostname(host, sizeof(host) - 1);
    fill_run(o, command, arguments, host, &run);
    *ret_store = NULL;
    *ret_path = NULL;
    int r = o->output ? create_named(o->output, &run, ret_store, ret_path)
                      : create_default(command, &run, ret_store, ret_path);
    if (r == -EEXIST)
        cli_say("%s: exists already and is left alone: this run is not recorded; choose another "
                "name with -o",
                o->output);
    else if (r < 0)
        cli_say("%s: cannot be written (%s): this run is not recorded",
                o->output ? o->output : "the run file", strerror(-r));
}

void run_file_finish(struct store *store, double seconds, const struct watch_view *view,
                     const char *json)
{
    struct buf kept = BUF_INIT;
    report_keep(&kept, view);
    store_set_answer(store, json, buf_text(&kept));
    int r = store_close(store, seconds);
    if (r < 0)
        cli_say("the run file lacks the final answer: %s", strerror(-r));
    buf_release(&kept);
}

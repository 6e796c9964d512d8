/* cli/run_file.c: creates the run file of a watched job and picks its name. */
#include "cli/run_file.h"

#include "cli/cli.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAMES_TRIED 100

/* Adds the name for the job: its script or module, otherwise its first word. */
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

static int create_named(const char *path, const struct watch_options *options,
                        struct store **ret_store, char **ret_path)
{
    int r = run_file_create(path, options, ret_store);
    if (r == 0) {
        *ret_path = strdup(path);
        if (!*ret_path)
            base_out_of_memory();
    }
    return r;
}

/* NAME-20261115-081500.tide; with a number if that exists already. */
static int create_default(const struct watch_options *options, struct store **ret_store,
                          char **ret_path)
{
    char when[32];
    time_t now = time(NULL);
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime(&now));
    int r = -EEXIST;
    for (unsigned i = 1; i <= NAMES_TRIED && r == -EEXIST; i++) {
        struct buf path = BUF_INIT;
        add_stem(&path, options->command);
        buf_addf(&path, "-%s", when);
        if (i > 1)
            buf_addf(&path, "-%u", i);
        buf_adds(&path, ".tide");
        r = create_named(buf_text(&path), options, ret_store, ret_path);
        buf_release(&path);
    }
    return r;
}

void cli_create_run_file(const char *path, const struct watch_options *options,
                         struct store **ret_store, char **ret_path)
{
    *ret_store = NULL;
    *ret_path = NULL;
    int r = path ? create_named(path, options, ret_store, ret_path)
                 : create_default(options, ret_store, ret_path);
    if (r == -EEXIST)
        cli_say("%s: exists already and is left alone: this run is not recorded; choose another "
                "name with -o",
                path);
    else if (r < 0)
        cli_say("%s: cannot be written (%s): this run is not recorded",
                path ? path : "the run file", store_words(r));
}

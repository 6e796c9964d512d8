/* cli/cmd_doctor.c: tidemark doctor: what works on this machine, what does not, and what to do. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "proc/proc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark doctor [--pid N] [options]\n"
    "\n"
    "Tries everything tidemark uses on this machine, in this folder and as this user.\n"
    "Prints what works (ok), what works in part (limited), what does not (no), and\n"
    "what to do about it. Changes nothing.\n"
    "\n"
    "  --pid N          also: what can be seen of this process, and whether tidemark\n"
    "                   could attach to it\n"
    "  --json           write JSON for programs, see docs/JSON.md\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "\n"
    "exit status: 0 run and watch work, if perhaps with limits; 1 they do not\n"
    "\n"
    "example: tidemark doctor --pid $(pgrep -f train.py)\n";

#define WIDTH_LEAST 50u
#define WIDTH_MOST 100u

struct doctor_options {
    struct view_options view;
    double pid;
    bool json;
};

static const char *state_name(enum doctor_state state)
{
    static const char *const names[] = {"ok", "limited", "no"};
    return names[state];
}

/* ---- text ---- */

static unsigned count_columns(const char *text, size_t len)
{
    unsigned columns = 0;
    for (size_t i = 0; i < len; i++)
        columns += ((unsigned char) text[i] & 0xc0) != 0x80;
    return columns;
}

/* The state of wrapping text into lines from column `indent` to `width`. */
struct lines {
    struct buf *out;
    unsigned indent, width, column;
};

static void break_line(struct lines *l)
{
    buf_addc(l->out, '\n');
    buf_repeat(l->out, " ", l->indent);
    l->column = l->indent;
}

/* A word longer than a line (a path) is broken at the end of the line. */
static void add_word(struct lines *l, const char *word, size_t len)
{
    unsigned columns = count_columns(word, len);
    if (l->column > l->indent) {
        if (l->column + 1 + columns > l->width) {
            break_line(l);
        } else {
            buf_addc(l->out, ' ');
            l->column++;
        }
    }
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(word + i);
        n = n ? n : 1;
        if (l->column >= l->width)
            break_line(l);
        buf_add(l->out, word + i, n);
        l->column++;
        i += n;
    }
}

/* Begins at column `indent`, ends with a line end. */
static void add_wrapped(struct buf *out, const char *text, unsigned indent,
                        const struct report_style *style)
{
    struct buf clean = BUF_INIT;
    unsigned width = style->width < WIDTH_LEAST  ? WIDTH_LEAST
                     : style->width > WIDTH_MOST ? WIDTH_MOST
                                                 : style->width;
    struct lines lines = {out, indent, width, indent};
    utf8_add_clean(&clean, text, style->ascii);
    for (const char *s = buf_text(&clean); *s; s += strspn(s, " ")) {
        size_t len = strcspn(s, " ");
        add_word(&lines, s, len);
        s += len;
    }
    buf_addc(out, '\n');
    buf_release(&clean);
}

static void add_colored(struct buf *out, const char *color, const char *text,
                        const struct report_style *style)
{
    if (style->color)
        buf_addf(out, "\033[%sm%s\033[0m", color, text);
    else
        buf_adds(out, text);
}

static void add_check(struct buf *out, const struct doctor_check *c, unsigned title_columns,
                      const struct report_style *style)
{
    static const char *const colors[] = {"1;32", "1;33", "1;31"};
    const char *state = state_name(c->state);
    unsigned indent = 2 + 7 + 2 + title_columns + 2;
    buf_adds(out, "  ");
    add_colored(out, colors[c->state], state, style);
    buf_repeat(out, " ", 7 + 2 - strlen(state));
    buf_addf(out, "%-*s  ", (int) title_columns, c->title);
    add_wrapped(out, buf_text(&c->detail), indent, style);
    if (c->advice.len == 0)
        return;
    buf_repeat(out, " ", indent);
    buf_adds(out, style->ascii ? "-> " : "→ ");
    add_wrapped(out, buf_text(&c->advice), indent + (style->ascii ? 3 : 2), style);
}

/* "17 checks are ok, 2 limited, 1 no" */
static void add_counts(struct buf *out, const struct doctor *d)
{
    size_t counts[3] = {0};
    for (size_t i = 0; i < d->count; i++)
        counts[d->checks[i].state]++;
    buf_addf(out, "%zu check%s ok", counts[DOCTOR_OK], counts[DOCTOR_OK] == 1 ? "" : "s");
    if (counts[DOCTOR_LIMITED] > 0)
        buf_addf(out, ", %zu limited", counts[DOCTOR_LIMITED]);
    if (counts[DOCTOR_NO] > 0)
        buf_addf(out, ", %zu no", counts[DOCTOR_NO]);
}

static void add_head(struct buf *out, const struct doctor *d, const struct report_style *style)
{
    struct utsname system;
    bool works = doctor_works(d);
    add_colored(out, works ? "1;32" : "1;31",
                works ? "run and watch work here" : "run and watch do not work here", style);
    buf_adds(out, ": ");
    add_counts(out, d);
    buf_addf(out, "\ntidemark %s", TIDEMARK_VERSION);
    if (uname(&system) == 0)
        buf_addf(out, ", %s %s %s", system.sysname, system.release, system.machine);
    buf_addf(out, ", %s\n", geteuid() == 0 ? "as root" : "as an ordinary user");
}

static void add_text(struct buf *out, const struct doctor *d, const struct report_style *style)
{
    unsigned title_columns = 0;
    for (size_t i = 0; i < d->count; i++) {
        unsigned columns = (unsigned) strlen(d->checks[i].title);
        title_columns = columns > title_columns ? columns : title_columns;
    }
    add_head(out, d, style);
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_check *c = &d->checks[i];
        if (i == 0 || strcmp(c->group, d->checks[i - 1].group) != 0) {
            buf_addc(out, '\n');
            add_colored(out, "1", c->group, style);
            buf_addc(out, '\n');
        }
        add_check(out, c, title_columns, style);
    }
}

/* ---- JSON ---- */

static void add_json(struct buf *out, const struct doctor *d)
{
    struct json j;
    json_init(&j, out, 2);
    json_object_begin(&j, NULL);
    json_string(&j, "tidemark", TIDEMARK_VERSION);
    json_integer(&j, "schema", 1);
    json_bool(&j, "works", doctor_works(d));
    json_array_begin(&j, "checks");
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_check *c = &d->checks[i];
        json_object_begin(&j, NULL);
        json_string(&j, "group", c->group);
        json_string(&j, "name", c->name);
        json_string(&j, "state", state_name(c->state));
        json_string(&j, "detail", buf_text(&c->detail));
        json_string(&j, "advice", c->advice.len > 0 ? buf_text(&c->advice) : NULL);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    buf_addc(out, '\n');
}

/* ---- the command ---- */

static int check_usage(const struct doctor_options *o, const char *command, int operands)
{
    if (operands > 0) {
        cli_say("%s: takes no file or command ('tidemark doctor --help')", command);
        return -EINVAL;
    }
    if (o->pid > 0 && (o->pid != floor(o->pid) || o->pid > 4194304)) {
        cli_say("%s: --pid: got %g, expected the number of a process", command, o->pid);
        return -EINVAL;
    }
    struct proc_stat stat;
    if (o->pid > 0 && proc_stat_read("/proc", (pid_t) o->pid, &stat) == -ESRCH) {
        cli_say("%s: there is no process %.0f, or it is hidden from this user", command, o->pid);
        return -ESRCH;
    }
    return 0;
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor_options o = {0};
    const struct option_spec specs[] = {
        VIEW_OPTIONS(&o.view),
        {"pid", OPTION_NUMBER, &o.pid, "the number of a process", NULL},
        {"json", OPTION_FLAG, &o.json, NULL, NULL},
    };
    int operands, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &operands);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0 || check_usage(&o, argv[0], operands) < 0)
        return STATUS_ERROR;

    struct doctor d;
    struct buf out = BUF_INIT;
    struct report_style style = terminal_style(&o.view, STDOUT_FILENO);
    doctor_init(&d, (pid_t) o.pid);
    doctor_run(&d);
    if (o.json)
        add_json(&out, &d);
    else
        add_text(&out, &d, &style);
    bool works = doctor_works(&d);
    doctor_release(&d);
    r = terminal_write(&out);
    buf_release(&out);
    return r < 0 || !works ? STATUS_ERROR : STATUS_FINE;
}

/* screen/screen.c: a watched job on the full screen. */
#include "screen/screen.h"

#include "screen/state.h"

#include <math.h>
#include <ncursesw/curses.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

int screen_new(const struct screen_options *o, struct screen **ret)
{
    struct screen *s = calloc(1, sizeof(*s));
    if (!s)
        base_out_of_memory();
    s->options = *o;
    s->by = (struct arrangement){.sort = SORT_VERDICT, .filter = s->filter};
    int r = tty_open(&s->tty, o->in, o->out, o->ascii);
    if (r < 0) {
        free(s);
        return r;
    }
    paint_start(o->color);
    s->is_dirty = true;
    *ret = s;
    return 0;
}

struct screen *screen_free(struct screen *s)
{
    if (!s)
        return NULL;
    tty_close(&s->tty);
    arrangement_release(&s->by);
    rows_release(&s->rows);
    free(s->entries);
    free(s->items);
    for (unsigned i = 0; i < s->message_count; i++)
        free(s->messages[i]);
    free(s);
    return NULL;
}

void screen_set_command(struct screen *s, const char *command)
{
    s->options.command = command;
    s->is_dirty = true;
}

int screen_fd(const struct screen *s)
{
    return s->tty.wake;
}

struct report_style screen_style(const struct screen *s, unsigned width)
{
    return (struct report_style){.width = width, .ascii = s->tty.ascii};
}

/* ---- what is shown ---- */

static void fill_item(struct item *i, const struct entry *e)
{
    const struct view_process *p = e->process;
    *i = (struct item){.pid = p->pid, .parent = p->parent, .name = p->label, .command = p->command};
    i->keys[SORT_MEMORY] = p->memory.pss;
    i->keys[SORT_RATE] = e->series && e->series->info.unit == SERIES_BYTES
                             ? e->series->answer.rate_per_second
                             : (double) NAN;
    i->keys[SORT_VERDICT] = entry_urgency(e);
    i->keys[SORT_PID] = (double) p->pid;
}

static void fill(struct screen *s)
{
    const struct view_tree *t = s->data.tree;
    const struct view *v = s->data.view;
    s->wanted = (struct columns_wanted){0};
    for (size_t i = 0; i < t->count; i++) {
        struct entry *e = &s->entries[i];
        e->process = &t->list[i];
        view_judge_process(v, e->process->pid, &e->answer);
        e->series = e->answer.deciding < v->count ? &v->series[e->answer.deciding] : NULL;
        fill_item(&s->items[i], e);
        s->wanted.gpu = s->wanted.gpu || e->process->memory.gpu > 0;
        s->wanted.swap = s->wanted.swap || e->process->memory.swap > 0;
    }
}

const struct entry *screen_selected(const struct screen *s)
{
    return s->scroll.at < s->rows.count ? &s->entries[s->rows.list[s->scroll.at].item] : NULL;
}

/* Two columns a level, and some for what is folded. */
static void measure_names(struct screen *s)
{
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct row *r = &s->rows.list[i];
        unsigned columns = 2 * r->depth + (unsigned) strlen(s->items[r->item].name);
        columns += r->is_folded ? 5 : 0;
        s->wanted.name = columns > s->wanted.name ? columns : s->wanted.name;
    }
}

/* The first of the rows whose verdict is the most urgent, if it is any trouble. */
static void select_most_urgent(struct screen *s)
{
    double most = URGENT;
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct item *one = &s->items[s->rows.list[i].item];
        if (one->keys[SORT_VERDICT] > most) {
            most = one->keys[SORT_VERDICT];
            s->selected = one->pid;
        }
    }
}

void screen_arrange(struct screen *s)
{
    rows_release(&s->rows);
    rows_arrange(s->items, s->count, &s->by, &s->rows);
    measure_names(s);
    if (!s->has_moved)
        select_most_urgent(s);
    for (size_t i = 0; i < s->rows.count; i++)
        if (s->items[s->rows.list[i].item].pid == s->selected)
            s->scroll.at = i;
    scroll_settle(&s->scroll, s->rows.count, s->height);
    if (s->rows.count > 0)
        s->selected = s->items[s->rows.list[s->scroll.at].item].pid;
    s->is_dirty = true;
}

void screen_show(struct screen *s, const struct screen_data *d)
{
    s->data = *d;
    s->has_data = true;
    s->is_choosing = false;
    s->count = d->tree->count;
    s->entries = reallocarray(s->entries, s->count + 1, sizeof(*s->entries));
    s->items = reallocarray(s->items, s->count + 1, sizeof(*s->items));
    if (!s->entries || !s->items)
        base_out_of_memory();
    fill(s);
    screen_arrange(s);
}

/* A paragraph as one line: the pane breaks it anew. NULL: it is blank. */
static char *join_lines(const char *text)
{
    struct buf out = BUF_INIT;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        size_t len = strcspn(text, "\n");
        if (out.len > 0)
            buf_addc(&out, ' ');
        buf_add(&out, text, len);
        text += len;
    }
    char *copy = out.len > 0 ? strdup(buf_text(&out)) : NULL;
    if (out.len > 0 && !copy)
        base_out_of_memory();
    buf_release(&out);
    return copy;
}

void screen_say(struct screen *s, const char *text)
{
    char *line = join_lines(text);
    if (!line)
        return;
    if (s->message_count == MESSAGES_MOST) {
        free(s->messages[0]);
        memmove(s->messages, s->messages + 1, sizeof(s->messages) - sizeof(s->messages[0]));
        s->message_count--;
    }
    s->messages[s->message_count++] = line;
    s->has_news = s->is_dirty = true;
}

void screen_offer(struct screen *s, const struct proc_match *list, size_t count)
{
    s->offers = list;
    s->offer_count = count;
    s->is_choosing = s->is_dirty = true;
}

bool screen_chosen(const struct screen *s, pid_t *ret_pid)
{
    if (!s->has_chosen || s->choice.at >= s->offer_count)
        return false;
    *ret_pid = s->offers[s->choice.at].id.pid;
    return true;
}

/* ---- one pass ---- */

static void take_keys(struct screen *s)
{
    wint_t key;
    for (int r; (r = get_wch(&key)) != ERR;)
        if (r != KEY_CODE_YES || key != KEY_RESIZE)
            keys_take(s, (unsigned) key, r == KEY_CODE_YES);
}

static void take_aside(struct screen *s)
{
    struct buf text = BUF_INIT, line = BUF_INIT;
    tty_take_aside(&s->tty, &text);
    const char *rest = buf_text(&text);
    while (*rest) {
        size_t len = strcspn(rest, "\n");
        buf_clear(&line);
        buf_add(&line, rest, len);
        screen_say(s, buf_text(&line));
        rest += len + (rest[len] == '\n');
    }
    buf_release(&text);
    buf_release(&line);
}

static void draw(struct screen *s)
{
    erase();
    if (s->is_choosing)
        chooser_draw(s);
    else
        body_draw(s);
    refresh();
    s->is_dirty = false;
}

bool screen_pass(struct screen *s)
{
    if (!tty_take_signals(&s->tty, &s->is_dirty))
        return false;
    take_keys(s);
    take_aside(s);
    if (s->is_dirty && !s->leaves && tty_is_ready(&s->tty))
        draw(s);
    return !s->leaves;
}

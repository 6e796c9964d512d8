/* screen/keys.c: what the keys do. */
#include "screen/state.h"

#include <ncursesw/curses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ESCAPE 27u
#define CONTROL(letter) ((unsigned) (letter) &0x1f)

/* ---- the filter, as it is typed ---- */

static void drop_character(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && ((unsigned char) text[len - 1] & 0xc0) == 0x80)
        len--;
    text[len > 0 ? len - 1 : 0] = '\0';
}

static void add_character(char *text, unsigned key)
{
    char bytes[16];
    mbstate_t state = {0};
    size_t len = strlen(text), more = wcrtomb(bytes, (wchar_t) key, &state);
    if (more == (size_t) -1 || key < 0x20 || key == 0x7f || len + more >= FILTER_MOST)
        return;
    memcpy(text + len, bytes, more);
    text[len + more] = '\0';
}

static void end_filter(struct screen *s)
{
    s->types_filter = false;
    s->filter[0] = '\0';
}

static void type_filter(struct screen *s, unsigned key, bool is_code)
{
    if (is_code ? key == KEY_ENTER : key == '\r' || key == '\n')
        s->types_filter = false;
    else if (!is_code && key == ESCAPE)
        end_filter(s);
    else if (is_code ? key == KEY_BACKSPACE : key == 0x7f || key == CONTROL('H'))
        drop_character(s->filter);
    else if (!is_code && key == CONTROL('U'))
        s->filter[0] = '\0';
    else if (!is_code)
        add_character(s->filter, key);
    screen_arrange(s);
}

/* ---- the tree ---- */

static void select_row(struct screen *s, long by)
{
    scroll_move(&s->scroll, by, s->rows.count);
    s->has_moved = true;
    if (s->rows.count > 0)
        s->selected = s->items[s->rows.list[s->scroll.at].item].pid;
    s->pane_series = 0;
    s->pane_scroll = 0;
}

static void sort_by(struct screen *s, enum sort_key key)
{
    s->by.sort = key;
    s->by.reversed = false;
    screen_arrange(s);
}

static const struct row *selected_row(const struct screen *s)
{
    return s->scroll.at < s->rows.count ? &s->rows.list[s->scroll.at] : NULL;
}

static void fold(struct screen *s, bool folded)
{
    const struct row *row = selected_row(s);
    if (!row)
        return;
    s->has_moved = true;
    const struct item *i = &s->items[row->item];
    bool can_fold = row->has_children && row->is_folded != folded;
    if (can_fold)
        arrangement_fold(&s->by, i->pid, folded);
    else if (folded && i->parent > 0)
        s->selected = i->parent; /* as in file managers: to the parent first */
    screen_arrange(s);
}

static void fold_all(struct screen *s)
{
    bool any = s->by.folded_count > 0;
    arrangement_release(&s->by);
    for (size_t i = 0; !any && i < s->count; i++)
        if (s->entries[i].process->descendants > 0)
            arrangement_fold(&s->by, s->items[i].pid, true);
    screen_arrange(s);
}

/* ---- panes ---- */

static void open_pane(struct screen *s, enum pane_kind kind)
{
    s->pane = s->pane == kind ? PANE_NONE : kind;
    s->has_moved = true;
    s->pane_scroll = 0;
    s->pane_series = 0;
}

static void escape(struct screen *s)
{
    if (s->pane != PANE_NONE) {
        s->pane = PANE_NONE;
    } else if (s->filter[0]) {
        s->filter[0] = '\0';
        screen_arrange(s);
    }
}

static void show_help(struct screen *s)
{
    s->shows_help = true;
    s->pane_scroll = 0;
}

/* True: it was a key for that. */
static bool scroll_pane(struct screen *s, unsigned key)
{
    if (key == 'J')
        s->pane_scroll++;
    else if (key == 'K')
        s->pane_scroll -= s->pane_scroll > 0;
    return key == 'J' || key == 'K';
}

/* ---- all keys ---- */

/* True: it was a key that moves. */
static bool move_by_code(struct screen *s, unsigned key)
{
    long page = s->height > 1 ? (long) s->height - 1 : 1;
    switch (key) {
    case KEY_UP:
        return select_row(s, -1), true;
    case KEY_DOWN:
        return select_row(s, 1), true;
    case KEY_PPAGE:
        return select_row(s, -page), true;
    case KEY_NPAGE:
        return select_row(s, page), true;
    case KEY_HOME:
        return select_row(s, -(long) s->rows.count), true;
    case KEY_END:
        return select_row(s, (long) s->rows.count), true;
    default:
        return false;
    }
}

static void take_code(struct screen *s, unsigned key)
{
    if (move_by_code(s, key))
        return;
    if (key == KEY_LEFT || key == KEY_RIGHT)
        fold(s, key == KEY_LEFT);
    else if (key == KEY_ENTER)
        open_pane(s, PANE_CHART);
    else if (key == KEY_F(1))
        show_help(s);
    else if (key == KEY_F(10))
        s->leaves = true;
}

/* Keys that are the same as others, and those of sorting. True: it was one. */
static bool take_alias(struct screen *s, unsigned key)
{
    static const struct {
        char letter;
        unsigned code;
    } codes[] = {{'k', KEY_UP},     {'j', KEY_DOWN},   {'g', KEY_HOME},
                 {'G', KEY_END},    {'h', KEY_LEFT},   {'l', KEY_RIGHT},
                 {'\r', KEY_ENTER}, {'\n', KEY_ENTER}, {'c', KEY_ENTER}};
    static const char sorts[SORT_KEYS] = {'M', 'R', 'V', 'P'};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (key == (unsigned) codes[i].letter)
            return take_code(s, codes[i].code), true;
    for (unsigned i = 0; i < SORT_KEYS; i++)
        if (key == (unsigned) sorts[i])
            return sort_by(s, (enum sort_key) i), true;
    if (key == CONTROL('F') || key == CONTROL('B'))
        return move_by_code(s, key == CONTROL('F') ? KEY_NPAGE : KEY_PPAGE);
    return false;
}

static void change_list(struct screen *s, unsigned key)
{
    const struct row *row = selected_row(s);
    if (key == 's')
        s->by.sort = (s->by.sort + 1) % SORT_KEYS;
    else if (key == 'I')
        s->by.reversed = !s->by.reversed;
    else if (key == 't')
        s->by.flat = !s->by.flat;
    else if (key == ' ' && row && row->has_children)
        arrangement_fold(&s->by, s->items[row->item].pid, !row->is_folded);
    screen_arrange(s);
}

static void take_character(struct screen *s, unsigned key)
{
    if (take_alias(s, key) || scroll_pane(s, key))
        return;
    switch (key) {
    case 'q':
        s->leaves = true;
        break;
    case '?':
        show_help(s);
        break;
    case '/':
        s->types_filter = true;
        break;
    case 'o':
        open_pane(s, PANE_HOLDERS);
        break;
    case 'm':
        open_pane(s, PANE_MESSAGES);
        break;
    case '\t':
        s->pane_series++;
        break;
    case '*':
        fold_all(s);
        break;
    case ESCAPE:
        escape(s);
        break;
    case CONTROL('L'):
        clearok(curscr, TRUE);
        break;
    default:
        change_list(s, key);
        break;
    }
}

static void choose(struct screen *s, unsigned key, bool is_code)
{
    long by = 0;
    if (is_code ? key == KEY_UP : key == 'k')
        by = -1;
    else if (is_code ? key == KEY_DOWN : key == 'j')
        by = 1;
    else if (is_code ? key == KEY_ENTER : key == '\r' || key == '\n')
        s->has_chosen = s->offer_count > 0;
    else if (!is_code && (key == 'q' || key == ESCAPE))
        s->leaves = true;
    scroll_move(&s->choice, by, s->offer_count);
}

void keys_take(struct screen *s, unsigned key, bool is_code)
{
    s->is_dirty = true;
    s->has_news = false;
    if (s->is_choosing)
        choose(s, key, is_code);
    else if (s->shows_help)
        s->shows_help = !is_code && scroll_pane(s, key);
    else if (s->types_filter)
        type_filter(s, key, is_code);
    else if (is_code)
        take_code(s, key);
    else
        take_character(s, key);
}

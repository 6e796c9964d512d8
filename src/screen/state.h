/* screen/state.h: the state of a screen. Private to screen/. */
#ifndef TIDEMARK_SCREEN_STATE_H
#define TIDEMARK_SCREEN_STATE_H

#include "report/report.h"
#include "screen/cells.h"
#include "screen/layout.h"
#include "screen/paint.h"
#include "screen/rows.h"
#include "screen/screen.h"
#include "screen/tty.h"

#define FILTER_MOST 64
#define MESSAGES_MOST 64

enum pane_kind { PANE_NONE, PANE_CHART, PANE_HOLDERS, PANE_MESSAGES };

struct screen {
    struct screen_options options;
    struct tty tty;
    bool color;
    bool is_dirty, leaves;

    /* the job */
    struct screen_data data;
    bool has_data;
    struct entry *entries; /* one a process, in the order of the tree */
    struct item *items;    /* the same, to be arranged */
    size_t count;
    struct columns_wanted wanted;

    /* how the user wants to see it */
    struct arrangement by;
    char filter[FILTER_MOST];
    bool types_filter, shows_help;
    struct rows rows;
    struct scroll scroll;
    bool has_moved;   /* until then what matters most is selected */
    int64_t selected; /* pid; 0: none yet */
    size_t height;    /* of the list, as drawn last */
    enum pane_kind pane;
    unsigned pane_series; /* which series of the selected process */
    size_t pane_scroll;   /* first line of its text, or of the help, that is shown */

    char *messages[MESSAGES_MOST]; /* oldest first */
    unsigned message_count;
    bool has_news; /* the last message was not looked at */

    /* jobs to choose from */
    const struct proc_match *offers;
    size_t offer_count;
    bool is_choosing, has_chosen;
    struct scroll choice;
};

/* keys.c: takes one key; `is_code`: a KEY_ of ncurses, not a character. */
void keys_take(struct screen *s, unsigned key, bool is_code);

/* screen.c: sorts, filters and folds anew, and keeps the selected process selected. */
void screen_arrange(struct screen *s);
const struct entry *screen_selected(const struct screen *s); /* NULL: none */
struct report_style screen_style(const struct screen *s, unsigned width);

/* body.c: the whole screen, into ncurses' memory. */
void body_draw(struct screen *s);

/* chooser.c */
void chooser_draw(struct screen *s);

/* panes.c: the text of the open pane, as lines. */
void pane_text(const struct screen *s, unsigned width, unsigned height, struct buf *out);
/* Its heading. */
void pane_title(const struct screen *s, struct buf *out);
/* The series that the chart shows; NULL: none. */
const struct view_series *pane_series(const struct screen *s);
void help_text(struct buf *out);

#endif

/* screen/layout.c: which columns and panes fit. */
#include "screen/layout.h"

#include <limits.h>
#include <string.h>

#define GAP 1u
#define NAME_LEAST 9u
#define NAME_USUAL 20u
#define NAME_MOST 40u
#define COMMAND_LEAST 16u
#define HISTORY_MOST 48u

static const unsigned char widths[COLUMNS] = {
    [COLUMN_PROCESS] = 0, [COLUMN_MEMORY] = 8,  [COLUMN_ANON] = 8,  [COLUMN_FILE] = 8,
    [COLUMN_SHARED] = 8,  [COLUMN_SWAP] = 8,    [COLUMN_GPU] = 8,   [COLUMN_HISTORY] = 12,
    [COLUMN_KIND] = 15,   [COLUMN_FLOOR] = 8,   [COLUMN_RATE] = 14, [COLUMN_VERDICT] = 11,
    [COLUMN_LIMIT] = 8,   [COLUMN_COMMAND] = 0,
};

/* In the order of their use. */
static const enum column order[] = {
    COLUMN_RATE, COLUMN_HISTORY, COLUMN_LIMIT, COLUMN_FLOOR,  COLUMN_GPU,
    COLUMN_KIND, COLUMN_ANON,    COLUMN_FILE,  COLUMN_SHARED, COLUMN_SWAP,
};

static unsigned at_most(unsigned value, unsigned most)
{
    return value < most ? value : most;
}

static bool is_wanted(enum column column, const struct columns_wanted *wanted)
{
    return (column != COLUMN_GPU || wanted->gpu) && (column != COLUMN_SWAP || wanted->swap);
}

/* What is left goes to the names first, then to the command and the history. */
static void share_rest(unsigned rest, const struct columns_wanted *wanted, struct columns *c)
{
    unsigned name = wanted->name < NAME_MOST ? wanted->name : NAME_MOST;
    unsigned more = name > c->width[COLUMN_PROCESS] ? name - c->width[COLUMN_PROCESS] : 0;
    more = at_most(more, rest);
    c->width[COLUMN_PROCESS] += more;
    rest -= more;
    if (rest >= COMMAND_LEAST + GAP) {
        unsigned history =
            at_most((rest - COMMAND_LEAST - GAP) / 3, HISTORY_MOST - c->width[COLUMN_HISTORY]);
        c->width[COLUMN_HISTORY] += history;
        c->width[COLUMN_COMMAND] = rest - history - GAP;
    } else if (c->width[COLUMN_HISTORY] > 0) {
        c->width[COLUMN_HISTORY] += rest;
    } else {
        c->width[COLUMN_PROCESS] += rest;
    }
}

static void place(struct columns *c)
{
    unsigned at = 0;
    for (unsigned i = 0; i < COLUMNS; i++) {
        c->at[i] = at;
        at += c->width[i] > 0 ? c->width[i] + GAP : 0;
    }
}

void columns_fit(unsigned width, const struct columns_wanted *wanted, struct columns *ret)
{
    struct columns c = {0};
    unsigned used = widths[COLUMN_MEMORY] + widths[COLUMN_VERDICT] + 2 * GAP;
    unsigned least = at_most(wanted->name > NAME_LEAST ? wanted->name : NAME_LEAST, NAME_USUAL);
    unsigned name = width > used ? at_most(width - used, least) : 0;
    used += name;
    c.width[COLUMN_PROCESS] = name;
    if (used <= width) {
        c.width[COLUMN_MEMORY] = widths[COLUMN_MEMORY];
        c.width[COLUMN_VERDICT] = widths[COLUMN_VERDICT];
    } else {
        /* A terminal of a few columns: the verdict alone. */
        c.width[COLUMN_PROCESS] = 0;
        c.width[COLUMN_VERDICT] = used = at_most(width, widths[COLUMN_VERDICT]);
    }
    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        unsigned needs = widths[order[i]] + GAP;
        if (!is_wanted(order[i], wanted) || used + needs > width)
            continue;
        c.width[order[i]] = widths[order[i]];
        used += needs;
    }
    if (c.width[COLUMN_PROCESS] > 0)
        share_rest(width - used, wanted, &c);
    place(&c);
    *ret = c;
}

/* ---- from top to bottom ---- */

#define LIST_LEAST 4u
#define PANE_LEAST 7u

/* A low screen keeps the first lines of the head: the job's own and the verdict. */
static unsigned heads_for(unsigned rows, unsigned heads)
{
    unsigned most = rows >= 20 ? 7 : rows >= 16 ? 4 : rows >= 10 ? 2 : rows >= 6 ? 1 : 0;
    return at_most(heads, most);
}

/* The list keeps what it needs, and at most its share. */
static unsigned details_for(unsigned body, const struct panes_wanted *wanted)
{
    unsigned share = body - body * 3 / 5, needs = wanted->processes + 1;
    if (!wanted->pane)
        return 0;
    return body < LIST_LEAST + 1 + PANE_LEAST ? body : body - at_most(needs, share);
}

void panes_fit(unsigned rows, const struct panes_wanted *wanted, struct panes *ret)
{
    struct panes p = {.title = 0, .head = 1, .header = UINT_MAX};
    p.heads = heads_for(rows, wanted->heads);
    p.footer = rows > 1 ? rows - 1 : 0;
    unsigned top = 1 + p.heads;
    unsigned body = p.footer > top ? p.footer - top : 0;
    p.details = details_for(body, wanted);
    unsigned rest = body - p.details;
    if (rest > 1) {
        p.header = top;
        p.list = top + 1;
        p.lists = rest - 1;
    }
    p.pane = top + rest;
    *ret = p;
}

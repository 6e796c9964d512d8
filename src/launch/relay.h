/* launch/relay.h: what both sides of the relay share. Private to launch/. */
#ifndef TIDEMARK_LAUNCH_RELAY_H
#define TIDEMARK_LAUNCH_RELAY_H

#include "launch/launch.h"

#include <signal.h>
#include <sys/ioctl.h>

/*
 * Messages, one per packet: a letter and its data.
 *   relay to watcher:  STARTED struct relay_started, always the first; OUTPUT struct relay_lines,
 *                      no longer than its text; ENDED status
 *   watcher to relay:  SHOW status line; PRINT text; SIGNAL int
 */
enum relay_message {
    RELAY_STARTED = 's',
    RELAY_OUTPUT = 'o',
    RELAY_ENDED = 'e',
    RELAY_SHOW = 'l',
    RELAY_PRINT = 'p',
    RELAY_SIGNAL = 'k',
};

struct relay_started {
    pid_t command; /* negative: there is none */
    int error;     /* errno of what failed; 0: it runs */
    bool has_terminal;
};

#define RELAY_PACKET (sizeof(struct relay_lines) + 1)

/* Runs in the relay's own process; never returns. `socket` leads to the watcher; `mask` is the
 * signal mask that the command gets. */
_Noreturn void relay_main(const struct relay_options *options, int socket, const sigset_t *mask);

/* ---- the terminal's last row ---- */

/*
 * Escape sequences that put a line into the last row of a terminal and leave the cursor where it
 * is. They must follow everything that the program writes: nothing may be drawn inside a character
 * or an escape sequence, on the other screen, or between saving and restoring the cursor.
 */
struct status_row {
    struct winsize size;
    bool held;      /* the last row is kept from scrolling */
    char line[512]; /* as shown; empty: none */

    enum { ROW_TEXT, ROW_ESCAPE, ROW_DESIGNATE, ROW_CONTROL, ROW_STRING } state;
    unsigned follow;   /* bytes still missing from the character */
    char sequence[16]; /* parameters of a control sequence, as far as they fit */
    unsigned sequence_len;
    bool mid_line;
    bool other_screen, saved_cursor, own_region; /* requested by the program */
};

/* The rows that are left for the program. */
unsigned status_row_program_rows(const struct status_row *s);

/* What the program wrote. */
void status_row_feed(struct status_row *s, const char *text, size_t len);

/* Whether text may be inserted between the program's past and future output. */
bool status_row_is_between(const struct status_row *s);

void status_row_draw(struct status_row *s, struct buf *out);
void status_row_drop(struct status_row *s, struct buf *out);

#endif

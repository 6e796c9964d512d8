/* watch/relay.h: what the two sides of the relay share. Private to watch/. */
#ifndef TIDEMARK_WATCH_RELAY_H
#define TIDEMARK_WATCH_RELAY_H

#include "watch/watch.h"

#include <signal.h>
#include <sys/ioctl.h>

/*
 * Messages, one a packet: a letter and what belongs to it.
 *   relay to watcher:  STARTED pid_t; FAILED errno; OUTPUT bytes; ENDED wait status
 *   watcher to relay:  SHOW status line; PRINT text
 */
enum relay_message {
    RELAY_STARTED = 's',
    RELAY_FAILED = 'f',
    RELAY_OUTPUT = 'o',
    RELAY_ENDED = 'e',
    RELAY_SHOW = 'l',
    RELAY_PRINT = 'p',
};

#define RELAY_PACKET 4096

/* Signals that are for the command, and which neither of us may die of. */
extern const int relay_signals[];
extern const unsigned relay_signal_count;

/* How they were handled before we came: that is what the command gets. */
struct relay_dispositions {
    struct sigaction actions[16];
    sigset_t mask;
};

void relay_ignore_signals(struct relay_dispositions *ret_before);
void relay_restore_signals(const struct relay_dispositions *before);

/* Runs in the relay's own process; never returns. `socket` leads to the watcher. */
_Noreturn void relay_main(const struct relay_options *options, int socket,
                          const struct relay_dispositions *before);

/* ---- the terminal's last row ---- */

/* Escape sequences that put a line into the last row of a terminal and leave the cursor alone. */
struct status_row {
    struct winsize size;
    bool held;      /* the last row is kept from scrolling */
    char line[512]; /* as shown; empty: none */
};

/* The rows that are left for the program. */
unsigned status_row_program_rows(const struct status_row *s);

void status_row_hold(struct status_row *s, struct buf *out);
void status_row_draw(struct status_row *s, struct buf *out);
void status_row_drop(struct status_row *s, struct buf *out);

/* False: `text` ends inside an escape sequence or a character, where nothing may be put between. */
bool status_row_may_draw_after(const char *text, size_t len);

#endif

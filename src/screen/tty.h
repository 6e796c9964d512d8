/* screen/tty.h: the terminal: taken, given back, suspended, resized. Private to screen/. */
#ifndef TIDEMARK_SCREEN_TTY_H
#define TIDEMARK_SCREEN_TTY_H

#include "base/base.h"
#include "screen/guard.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

/*
 * While it is open, signals of the terminal come through a descriptor, and what anybody writes to
 * standard error is kept aside. One a process, one thread.
 */
struct tty {
    bool ascii; /* no character beyond ASCII, whatever was asked for */
    int wake;   /* readable: a key, a signal */

    int in, signals;
    FILE *file;
    void *curses; /* ncurses' SCREEN */
    struct termios modes;
    int aside, error;
    off_t seen; /* so much of `aside` was taken */
    struct guard guard;
    sigset_t ours; /* signals that are blocked for it */
};

/* `in` and `out` must be terminals. -ENOTSUP: the type of the terminal is unknown or too simple;
 * -errno. */
int tty_open(struct tty *t, int in, int out, bool ascii);
/* Gives all back, and prints what was kept aside. */
void tty_close(struct tty *t);

/* What has happened since the last call. False: the terminal is gone. */
bool tty_take_signals(struct tty *t, bool *ret_redraw);

/* What was written to standard error since the last call. */
void tty_take_aside(struct tty *t, struct buf *ret);

/* Whether it takes output now: a stopped or slow terminal must not stop the watching. */
bool tty_is_ready(const struct tty *t);

#endif

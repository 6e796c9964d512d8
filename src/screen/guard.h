/* screen/guard.h: gives the terminal back where this process cannot. Private to screen/. */
#ifndef TIDEMARK_SCREEN_GUARD_H
#define TIDEMARK_SCREEN_GUARD_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#define GUARD_TEXT 256

/*
 * A small child process that does nothing until its parent dies without having ended it: killed,
 * out of memory, a crash. Then it writes what leaves the full screen, restores the terminal's
 * modes, and copies the parent's last words to standard error.
 */
struct guard {
    int fd;               /* the terminal */
    struct termios modes; /* as they were */
    char leave[GUARD_TEXT];
    size_t leave_len;
    int aside, error; /* what was written to standard error meanwhile, and where it belongs */

    pid_t pid;            /* 0: none */
    volatile bool *is_on; /* the terminal is ours now; shared with the child; NULL: none */
};

/* The caller has set the first members. Without memory or processes there is no guard. */
void guard_start(struct guard *g);
void guard_end(struct guard *g);

#endif

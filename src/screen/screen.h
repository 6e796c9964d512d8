/*
 * screen/screen.h: a watched job on the full screen of a terminal: the tree of its processes, the
 * verdict, a chart and the holders of the selected one. Everything it shows is handed to it.
 */
#ifndef TIDEMARK_SCREEN_H
#define TIDEMARK_SCREEN_H

#include "proc/proc.h"
#include "view/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * While a screen is open, the terminal belongs to it: nobody else may print, and what anybody
 * writes to standard error becomes a message, which is printed again when the screen is closed. The
 * terminal is given back however the process ends. One a process, one thread.
 */
struct screen;

struct screen_options {
    int in, out;         /* terminals: keys, and the screen */
    bool ascii;          /* no character beyond ASCII; also where the locale has no others */
    bool color;          /* where the terminal has colours */
    const char *command; /* of the job, redacted; must outlive the screen; NULL: not known yet */
};

/* -ENOTSUP: the type of the terminal (TERM) is unknown or cannot move the cursor; -errno. */
int screen_new(const struct screen_options *o, struct screen **ret);
/* Accepts NULL, returns NULL. */
struct screen *screen_free(struct screen *s);

void screen_set_command(struct screen *s, const char *command);

/* Readable when there is something to do for screen_pass(). */
int screen_fd(const struct screen *s);

/* Takes keys, resizes, and draws if anything has changed. False: the user wants to leave, or the
 * terminal is gone. */
bool screen_pass(struct screen *s);

/* ---- a job ---- */

/* What is known now. Nothing is owned: it must stay valid until the next call replaces it. */
struct screen_data {
    const struct view *view;
    const struct view_tree *tree;
    const struct view_status *status; /* NULL: the job has ended */
    double seconds;
};

void screen_show(struct screen *s, const struct screen_data *d);

/* A message or warning: one paragraph. */
void screen_say(struct screen *s, const char *text);

/* ---- jobs to choose from ---- */

/* Offers jobs. Nothing is owned, as above. Then *ret_pid of screen_chosen() is the one that the
 * user took. False: none yet. */
void screen_offer(struct screen *s, const struct proc_match *list, size_t count);
bool screen_chosen(const struct screen *s, pid_t *ret_pid);

#endif

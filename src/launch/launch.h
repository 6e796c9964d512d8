/* launch/launch.h: starts a command, or goes into processes that run; passes on what they write. */
#ifndef TIDEMARK_LAUNCH_LAUNCH_H
#define TIDEMARK_LAUNCH_LAUNCH_H

#include "base/base.h"
#include "deputy/deputy.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- inside a command ---- */

/*
 * What lets the processes of a command tell us what they do: a directory for their rings, which the
 * environment names, and the probe, which the environment makes the loader bring into them.
 */
struct inside;

int inside_new(struct inside **ret);          /* -errno: no directory could be made */
struct inside *inside_free(struct inside *s); /* as inside_remove(); accepts NULL */

const char *inside_directory(const struct inside *s);
const char *inside_probe_copy(const struct inside *s);   /* see probe_copy.h; NULL: none was made */
char *const *inside_environment(const struct inside *s); /* for the command and nobody else */
const char *inside_why(const struct inside *s);          /* the probe is there and cannot be used */

/* For those who are left when we are gone. Does nothing where it is not there any more, or another
 * user's. The copy of the probe (NULL: none) stays while this process has children. */
void inside_remove(const char *directory, const char *probe_copy);

/* Where the probe is. -ENOENT, -EINVAL: *ret_why says it in words. */
int inside_find_probe(struct buf *ret_path, struct buf *ret_why);

/* ---- going into processes that run already ---- */

/*
 * Processes that were not started by `run` can be entered while they run (attach/attach.h): the
 * probe is brought in, and tells what it would have told from the start. A folder for their rings
 * is made where they see it, by a deputy with their user's rights (deputy/deputy.h).
 */
struct visit;

#define VISIT_MOST 64u

/* So long it is waited for the main thread of each to get to it, in seconds. */
struct visit *visit_new(double patience);
/* Waits for who is being entered, and removes the folder; accepts NULL, returns NULL. */
struct visit *visit_free(struct visit *v);

/* Makes the folder, where there is none yet. -errno: *why says it in words. */
int visit_prepare(struct visit *v, pid_t pid, struct buf *why);
/* For the rings of who is entered; wanted before anybody is. */
struct deputy_folder *visit_folder(struct visit *v);

/* Enters these, one after the other, in a thread of its own. -errno: there is none. */
int visit_enter(struct visit *v, const pid_t *pids, size_t count);
/* Some have not been tried yet, or not been asked for by visit_next(). */
bool visit_is_busy(const struct visit *v);
bool visit_has_to_wait(struct visit *v); /* it takes long; true once for each time it does */
/* Who is being entered is let go, and nobody else is tried: soon, visit_await() has no more. */
void visit_cancel(struct visit *v);

struct visit_result {
    pid_t pid;
    uid_t uid; /* for whom files were handled; meaningful where error is 0 */
    int error; /* 0, or -errno: `why` says it in words, with the way out */
    char why[400];
    char python[32];
    double stopped, longest_stop; /* seconds that it stood still */
    unsigned stops;
};

/* What came of the next. False: nothing new. */
bool visit_next(struct visit *v, struct visit_result *ret);
/* The same, and waits for it. False: all have been told. */
bool visit_await(struct visit *v, struct visit_result *ret);

/* ---- the relay ---- */

/*
 * Starts a command with a relay between it and us. The relay owns the command's terminal or pipes
 * and its wait status; it is a process of its own, so that the end of the watcher does not reach
 * the command. What is a terminal stays one for the command (of the same size), a file stays the
 * very file, a pipe stays a pipe. The command stays in the caller's session and process group:
 * keys such as Ctrl-C and Ctrl-Z reach it as they would without us.
 */
struct relay;

struct relay_options {
    char *const *argv;        /* NULL-terminated */
    bool status_line;         /* keep the last row of the terminal for relay_show() */
    char *const *environment; /* of the command; NULL: ours */
    const char *directory;    /* inside_remove() it when all is over; NULL: none */
    const char *probe_copy;   /* the same; NULL: none */
};

/* The signals that are for the command, whoever gets them. */
void relay_signal_set(sigset_t *ret);

/* 0; -errno: no process or terminal could be made. A command that cannot be executed ends with
 * status 126 or 127 as in a shell, relay_exec_error() says why. The signals that are for the
 * command are blocked in the caller from now on: it takes them from a signalfd. */
int relay_start(const struct relay_options *options, struct relay **ret);
struct relay *relay_free(struct relay *r); /* the command goes on; accepts NULL */

pid_t relay_pid(const struct relay *r); /* parent of the command, subreaper of its kin */
pid_t relay_command_pid(const struct relay *r);
int relay_fd(const struct relay *r);         /* readable when relay_read() has something; negative:
                                                the relay is gone, SIGCHLD says so instead */
int relay_exec_error(const struct relay *r); /* errno of execvp(), 0: it runs */
bool relay_has_row(const struct relay *r);   /* relay_show() shows something */

/*
 * What the command wrote since, for the step clock: whole lines, of a flood not all; nothing is
 * lost to the user if nobody reads. > 0: so many bytes; 0: the command has ended, *ret_status is
 * its wait status; -EAGAIN: nothing now; -EPIPE: nobody knows how it ended.
 */
struct relay_lines {
    uint64_t time; /* by wire_now(): when the last of them came, whenever it is read */
    char text[8192];
};

ssize_t relay_read(struct relay *r, struct relay_lines *ret_lines, int *ret_status);

/* The status line, in place of the last; empty: none. Only with `status_line` on a terminal. */
void relay_show(struct relay *r, const char *line);

/* Text for the user between the lines of the command's output. False: there is no terminal, or
 * nobody who could. */
bool relay_print(struct relay *r, const char *text);

/* A signal that came to us and is meant for the command. Not sent where the sender sent it to the
 * whole process group, and thereby to the command. */
void relay_signal(struct relay *r, int number);

/* Reads what a regular file got appended since: the output of a command that writes to one. */
struct tail;

/* Takes over the descriptor. From there on; TAIL_END: from its present end. -EINVAL: no regular
 * file. */
#define TAIL_END ((off_t) -1)
int tail_open(int fd, off_t from, struct tail **ret);
struct tail *tail_free(struct tail *t);
bool tail_is_same(const struct tail *a, const struct tail *b); /* of one file */
int tail_changes(const struct tail *t); /* readable when there is more; -1: look now and then */

/* 0: nothing new. Of a flood the last megabyte. */
ssize_t tail_read(struct tail *t, char *bytes, size_t size);

/* Passes over a text that somebody else has just written to the file, if it is there. What the
 * program wrote before it is passed over with it: read that first. */
void tail_skip(struct tail *t, const char *text, size_t len);

#endif

/* launch/launch.h: starts a command, or attaches to running processes; relays their output. */
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

/* Lets the processes of a command report to us: a directory for their rings, named by the
 * environment, and the probe, which the environment makes the loader load into them. */
struct inside;

/* `traces`: with the wrappers of malloc(), which sample allocations when the watcher wants it.
 * -errno: no directory could be made. */
int inside_new(bool traces, struct inside **ret);
struct inside *inside_free(struct inside *s); /* calls inside_remove(); accepts NULL */

const char *inside_directory(const struct inside *s);
const char *inside_probe_copy(const struct inside *s);   /* see probe_copy.h; NULL: none was made */
char *const *inside_environment(const struct inside *s); /* for the command only */
const char *inside_why(const struct inside *s); /* why the probe exists but cannot be used */

/* For whoever remains after us. Does nothing if the directory is gone, or another user's. The
 * probe's copy (NULL: none) stays while this process has children. */
void inside_remove(const char *directory, const char *probe_copy);

/* Finds the probe, with or without the wrappers of malloc(). -ENOENT, -EINVAL: *ret_why explains
 * it. */
int inside_find_probe(bool traces, struct buf *ret_path, struct buf *ret_why);

/* ---- going into processes that run already ---- */

/*
 * tidemark can attach to running processes that `run` did not start (attach/attach.h): it loads the
 * probe, which reports as it would have from the start. A deputy with their user's rights makes a
 * folder for their rings where they see it (deputy/deputy.h).
 */
struct visit;

#define VISIT_MOST 64u

/* `patience`: seconds to wait for the main thread of each process. */
struct visit *visit_new(double patience);
/* Waits for the current attach, and removes the folder; accepts NULL, returns NULL. */
struct visit *visit_free(struct visit *v);

/* Makes the folder, if there is none yet. -errno: *why explains it. */
int visit_prepare(struct visit *v, pid_t pid, struct buf *why);
/* For the rings of attached processes; needed before the first attach. */
struct deputy_folder *visit_folder(struct visit *v);

/* Attaches to these, one after the other, in a thread of its own. -errno: no thread. */
int visit_enter(struct visit *v, const pid_t *pids, size_t count);
/* Some were not tried yet, or not fetched with visit_next(). */
bool visit_is_busy(const struct visit *v);
bool visit_has_to_wait(struct visit *v); /* it takes long; true once each time */
/* Gives up on the current process, and tries no other: soon visit_await() has no more. */
void visit_cancel(struct visit *v);

struct visit_result {
    pid_t pid;
    uid_t uid; /* the user as whom files were handled; meaningful if error is 0 */
    int error; /* 0, or -errno: `why` explains it and what to do */
    char why[400];
    char python[32];
    double stopped, longest_stop; /* seconds that it was paused */
    unsigned stops;
};

/* The next result. False: nothing new. */
bool visit_next(struct visit *v, struct visit_result *ret);
/* The same, but waits. False: all were returned. */
bool visit_await(struct visit *v, struct visit_result *ret);

/* ---- the relay ---- */

/*
 * Starts a command with a relay between it and us. The relay owns the command's terminal or pipes
 * and its wait status. It is a process of its own, so that the watcher's end does not reach the
 * command. A terminal stays a terminal for the command (of the same size), a file the same file, a
 * pipe a pipe. The command stays in the caller's session and process group: keys such as Ctrl-C and
 * Ctrl-Z reach it as they would without us.
 */
struct relay;

struct relay_options {
    char *const *argv;        /* NULL-terminated */
    bool status_line;         /* keep the last row of the terminal for relay_show() */
    char *const *environment; /* of the command; NULL: ours */
    const char *directory;    /* inside_remove() it at the end; NULL: none */
    const char *probe_copy;   /* the same; NULL: none */
};

/* The signals that are meant for the command, whoever receives them. */
void relay_signal_set(sigset_t *ret);

/*
 * 0; -errno: no process or terminal could be made. A command that cannot be executed ends with
 * status 126 or 127 as in a shell; relay_exec_error() says why. From now on the signals meant for
 * the command are blocked in the caller, which takes them from a signalfd.
 */
int relay_start(const struct relay_options *options, struct relay **ret);
struct relay *relay_free(struct relay *r); /* the command continues; accepts NULL */

pid_t relay_pid(const struct relay *r); /* parent of the command, subreaper of its descendants */
int relay_fd(const struct relay *r);    /* readable when relay_read() has something; negative: the
                                           relay is gone, and SIGCHLD reports instead */
int relay_exec_error(const struct relay *r); /* errno of execvp(), 0: it runs */
bool relay_has_row(const struct relay *r);   /* relay_show() shows something */

/*
 * Reads what the command wrote since, for the step clock: whole lines, and only part of a flood.
 * The user loses nothing if nobody reads. > 0: number of bytes; 0: the command has ended,
 * *ret_status is its wait status; -EAGAIN: nothing now; -EPIPE: nobody knows how it ended.
 */
struct relay_lines {
    uint64_t time; /* by wire_now(): when the last of them arrived, whenever it is read */
    char text[8192];
};

ssize_t relay_read(struct relay *r, struct relay_lines *ret_lines, int *ret_status);

/* Replaces the status line; empty: none. Only with `status_line` on a terminal. */
void relay_show(struct relay *r, const char *line);

/* Prints text for the user between lines of the command's output. False: there is no terminal,
 * or no relay. */
bool relay_print(struct relay *r, const char *text);

/* Passes on a signal that we received for the command. Not sent if the sender sent it to the
 * whole process group, and thus to the command. */
void relay_signal(struct relay *r, int number);

/* Reads what is appended to a regular file: the output of a command that writes to one. */
struct tail;

/* Takes over the descriptor. Reads from `from` on; TAIL_END: from the present end. -EINVAL: not
 * a regular file. */
#define TAIL_END ((off_t) -1)
int tail_open(int fd, off_t from, struct tail **ret);
struct tail *tail_free(struct tail *t);
bool tail_is_same(const struct tail *a, const struct tail *b); /* of one file */
int tail_changes(const struct tail *t); /* readable when there is more; -1: poll now and then */

/* 0: nothing new. Reads only the last megabyte of a flood. */
ssize_t tail_read(struct tail *t, char *bytes, size_t size);

/* Skips a text that another writer has just added to the file, if it is there. It also skips
 * what the program wrote before it: read that first. */
void tail_skip(struct tail *t, const char *text, size_t len);

#endif

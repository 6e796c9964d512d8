/* serve/serve.h: shows runs over HTTP while they are recorded. docs/SERVER.md has the addresses. */
#ifndef TIDEMARK_SERVE_H
#define TIDEMARK_SERVE_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A server is one process with one thread, which owns the connections and opens no run file;
 * short-lived readers do (serve/reading.h). It writes nothing, anywhere. Whatever comes from a
 * connection or a run file costs bounded memory and time.
 */

#define SERVE_PORT 8433u /* "TIDE" on the keys of a telephone */

/* ---- where ---- */

struct serve_listener {
    int fd;
    unsigned port;
    bool is_usual; /* the port that was wanted first */
    char host[64]; /* as it is written in an address */
};

/*
 * Listens at a port of a numeric address ("127.0.0.1", "::"). `port` 0: SERVE_PORT, or if that is
 * taken, one of the next few, or any. -errno: -EINVAL: not an address; -EADDRINUSE.
 */
int serve_listen(const char *address, unsigned port, struct serve_listener *ret);

/* Splits "ADDR", "ADDR:PORT", "[ADDR]:PORT". *ret_port is 0 if there is none. -EINVAL. */
int serve_parse_address(const char *text, struct buf *ret_address, unsigned *ret_port);

/* Whether only this machine can reach that address, and peers there can be told apart by user. */
bool serve_is_loopback(const char *address);

/* Reads the token of a file that only its owner may read. -errno, with the reason in words that
 * follow the file's name. The caller releases both. */
int serve_read_token(const char *path, struct buf *ret_token, struct buf *ret_why);

/* ---- the server ---- */

struct serve_options {
    struct serve_listener listener; /* taken over */
    const char *folder;             /* serves the run files in it and below; NULL: `files` */
    const char *title;              /* of the folder, for people */
    const char *const *files;
    size_t file_count;
    const char *token; /* required of everybody; NULL: loopback, and processes of this user alone */
    bool ends_with_parent; /* at SIGHUP, shows the end of the run to those who watch, and ends */
};

/*
 * Serves until SIGINT or SIGTERM. 0; -errno: it could not begin, *ret_file is the file at fault or
 * NULL. The caller has one thread and no connection to a run file open.
 */
int serve(const struct serve_options *options, const char **ret_file);

/* ---- beside a watcher ---- */

/*
 * Starts a server in a child process, before the run file exists: SQLite's locks do not survive a
 * fork. It has neither the caller's terminal nor its priority. It ends with the caller, however
 * that ends: those who watch get the end of the run first, for which they have at most ten seconds.
 * The caller closes its own listener. -errno: no process. *ret is for serve_beside_show().
 */
int serve_beside_start(const struct serve_listener *listener, int *ret);

/* Tells it the run file. NULL: there is none, and the server ends. Writing to a server that has
 * ended raises SIGPIPE unless that is ignored. */
void serve_beside_show(int beside, const char *path);

#endif

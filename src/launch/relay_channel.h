/* launch/relay_channel.h: one path of output through the relay. Private to launch/. */
#ifndef TIDEMARK_LAUNCH_RELAY_CHANNEL_H
#define TIDEMARK_LAUNCH_RELAY_CHANNEL_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHANNEL_CHUNK 65536

/*
 * Passes bytes from the command's end of a pipe, socket or terminal to their destination. Nothing
 * here blocks: bytes that are not accepted at once wait, and nothing more is read until they are.
 * So a slow reader slows the command as it would without us. One owner, one thread.
 */
struct channel {
    int from; /* our end; -1: closed */
    int command_end;
    int to;            /* never blocks, or is polled for room first */
    int outer;         /* the destination that the command would have had */
    bool has_own_file; /* `to` is only ours */
    bool is_terminal, is_socket;
    bool is_for[3]; /* which descriptors of the command lead here */
    struct buf waiting;
    size_t sent;      /* part of `waiting` */
    uint64_t read_at; /* by wire_now() */
    struct buf line;  /* unfinished, or not yet reported, for the step clock */
    size_t passed;    /* bytes since the command ended */
};

/* 0, or -errno: nothing was made. */
int channel_open(struct channel *c, int outer);
void channel_close(struct channel *c);

/* Something was read and is not yet accepted. */
bool channel_is_stuck(const struct channel *c);

/* Appends text to what waits. */
void channel_add(struct channel *c, const char *text, size_t len);

/* Writes what waits, as far as it is accepted. -errno: it never will be; it is dropped. */
int channel_flush(struct channel *c);

/* Reads what the command wrote. 0: nothing now, or closed for good. At most CHANNEL_CHUNK. */
size_t channel_read(struct channel *c, char *bytes);

/* There is something to read now. */
bool channel_is_readable(const struct channel *c);

#endif

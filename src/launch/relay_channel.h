/* launch/relay_channel.h: one way the command's output goes through the relay. Private to launch/.
 */
#ifndef TIDEMARK_LAUNCH_RELAY_CHANNEL_H
#define TIDEMARK_LAUNCH_RELAY_CHANNEL_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHANNEL_CHUNK 65536

/*
 * From the command's end of a pipe, socket or terminal to where it belongs. Nothing here blocks:
 * what is not taken at once waits, and nothing more is read until it has been taken, so that a
 * slow reader slows the command as it would without us. One owner, one thread.
 */
struct channel {
    int from; /* our end; -1: closed */
    int command_end;
    int to;            /* never blocks, or is asked for room before */
    int outer;         /* where it belongs, as the command would have found it */
    bool has_own_file; /* `to` is ours alone */
    bool is_terminal, is_socket;
    bool is_for[3]; /* which descriptors of the command lead here */
    struct buf waiting;
    size_t sent;      /* of what waits */
    uint64_t read_at; /* by wire_now() */
    struct buf line;  /* begun and not ended, or not yet told, for the step clock */
    size_t passed;    /* bytes since the command ended */
};

/* 0, or -errno: nothing was made. */
int channel_open(struct channel *c, int outer);
void channel_close(struct channel *c);

/* Something has been read and not yet been taken. */
bool channel_is_stuck(const struct channel *c);

/* Puts text behind what waits. */
void channel_add(struct channel *c, const char *text, size_t len);

/* Hands on what waits, as far as it is taken. -errno: nobody takes it, ever; it is forgotten. */
int channel_flush(struct channel *c);

/* What the command wrote. 0: nothing now, or for ever and closed. At most CHANNEL_CHUNK. */
size_t channel_read(struct channel *c, char *bytes);

/* There is something to be read at this moment. */
bool channel_is_readable(const struct channel *c);

#endif

/* symbol/answer.h: what the reader of a file answers: the functions at each address, as bytes.
 * Pure. Private to symbol/.
 *
 * The reader may have been subverted: the answer is parsed as if the target had written it. */
#ifndef TIDEMARK_SYMBOL_ANSWER_H
#define TIDEMARK_SYMBOL_ANSWER_H

#include "symbol/symbol.h"

#define ANSWER_MOST_FUNCTION 256u
#define ANSWER_MOST_FILE 1024u

/* One function follows the other: this, then both texts, each with its NUL. */
struct answer_record {
    uint32_t index; /* of the address; never falls */
    int32_t line;
    uint16_t function_length, file_length;
    uint8_t is_inlined, unused[3];
};

struct answer_writer {
    uint8_t *bytes;
    size_t size, used;
};

/* Longer texts are cut. False: there is no room, and nothing was written. */
bool answer_write(struct answer_writer *w, size_t index, const struct symbol_frame *f);

/* The functions of one address. */
struct answer_entry {
    size_t first, count; /* in `frames` */
};

struct answer {
    struct answer_entry *entries; /* of each address */
    struct symbol_frame *frames;
    size_t frame_count;
    struct buf text; /* of the frames, cleaned for a terminal */
};

/* -EPROTO: not such an answer for `count` addresses; -ENOMEM. */
int answer_parse(const void *bytes, size_t size, size_t count, struct answer *ret);
void answer_release(struct answer *a);

#endif

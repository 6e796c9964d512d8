/* tests/unit/writes.h: what a call adds to a buffer. */
#ifndef TIDEMARK_TEST_WRITES_H
#define TIDEMARK_TEST_WRITES_H

#include "base/buf.h"
#include "unit.h"

/* Checks what `call`, which adds to `out`, writes. */
#define CHECK_WRITES(call, want)                                                                   \
    do {                                                                                           \
        struct buf out = BUF_INIT;                                                                 \
        call;                                                                                      \
        char text[500];                                                                            \
        snprintf(text, sizeof(text), "%s", buf_text(&out));                                        \
        buf_release(&out);                                                                         \
        CHECK_TEXT(text, want);                                                                    \
    } while (0)

#endif

/* report/protobuf.h: writes messages of Protocol Buffers, and wraps bytes as gzip. Private. */
#ifndef TIDEMARK_REPORT_PROTOBUF_H
#define TIDEMARK_REPORT_PROTOBUF_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

/* A number, left out where it is 0: readers take that as the default. */
void protobuf_add(struct buf *out, unsigned field, int64_t value);

/* A text or a message, of any bytes. */
void protobuf_add_bytes(struct buf *out, unsigned field, const char *bytes, size_t len);

/* Numbers, one after the other. */
void protobuf_add_packed(struct buf *out, unsigned field, const int64_t *values, size_t count);

/* The bytes as a gzip file, not compressed: every reader of gzip takes it, and none has to be
 * linked. */
void protobuf_add_gzip(struct buf *out, const char *bytes, size_t len);

#endif

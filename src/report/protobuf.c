/* report/protobuf.c: writes messages of Protocol Buffers, and wraps bytes as gzip (RFC 1952). */
#include "report/protobuf.h"

#define WIRE_NUMBER 0u
#define WIRE_BYTES 2u

/* A stored block of deflate (RFC 1951) has 16 bits for its length. */
#define BLOCK_BYTES ((size_t) 0xffff)

static void add_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_addc(out, (char) (value | 0x80));
    buf_addc(out, (char) value);
}

void protobuf_add(struct buf *out, unsigned field, int64_t value)
{
    if (value == 0)
        return;
    add_varint(out, field << 3 | WIRE_NUMBER);
    add_varint(out, (uint64_t) value);
}

void protobuf_add_bytes(struct buf *out, unsigned field, const char *bytes, size_t len)
{
    add_varint(out, field << 3 | WIRE_BYTES);
    add_varint(out, len);
    buf_add(out, bytes, len);
}

void protobuf_add_packed(struct buf *out, unsigned field, const int64_t *values, size_t count)
{
    struct buf numbers = BUF_INIT;
    for (size_t i = 0; i < count; i++)
        add_varint(&numbers, (uint64_t) values[i]);
    protobuf_add_bytes(out, field, buf_text(&numbers), numbers.len);
    buf_release(&numbers);
}

static uint32_t crc32_of(const char *bytes, size_t len)
{
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char) bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static void add_little_endian(struct buf *out, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        buf_addc(out, (char) (value >> 8 * i));
}

void protobuf_add_gzip(struct buf *out, const char *bytes, size_t len)
{
    /* Magic, deflate, no flags, no time, no hint, unknown system. */
    static const char head[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    size_t done = 0;
    buf_add(out, head, sizeof(head));
    do {
        size_t size = len - done < BLOCK_BYTES ? len - done : BLOCK_BYTES;
        buf_addc(out, done + size == len); /* the last block, stored */
        add_little_endian(out, (uint32_t) size, 2);
        add_little_endian(out, (uint32_t) ~size, 2);
        buf_add(out, bytes + done, size);
        done += size;
    } while (done < len);
    add_little_endian(out, crc32_of(bytes, len), 4);
    add_little_endian(out, (uint32_t) len, 4);
}

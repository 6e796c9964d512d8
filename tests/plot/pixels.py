"""A PNG's pixels, by zlib alone: an independent look at what libpng wrote."""
import struct
import zlib

BYTES = {2: 3, 6: 4}  # of a pixel, by colour type: RGB, RGBA


def chunks(data):
    """(type, content) of each; every sum of bytes has to agree."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        content = data[at + 8:at + 8 + length]
        if zlib.crc32(kind + content) != struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]:
            raise ValueError("the sum of a chunk is wrong")
        yield kind, content
        at += 12 + length


def _paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def _row(kind, row, above, step):
    """Takes the filter out of a row, in place."""
    if kind == 0:
        return
    for i, value in enumerate(row):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = _paeth(left, above[i], corner) if kind == 4 else (
            0, left, above[i], (left + above[i]) // 2)[kind]
        row[i] = (value + guess) & 0xff


def read(data):
    """(width, height, rows), each row a bytearray of three bytes a pixel."""
    found = list(chunks(data))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", dict(found)[b"IHDR"])
    if depth != 8 or interlaced or found[-1][0] != b"IEND":
        raise ValueError("another kind of PNG")
    step = BYTES[colour]
    raw = zlib.decompress(b"".join(content for kind, content in found if kind == b"IDAT"))
    if len(raw) != height * (1 + width * step):
        raise ValueError("the size is wrong")
    rows, above = [], bytearray(width * step)
    for y in range(height):
        at = y * (1 + width * step)
        row = bytearray(raw[at + 1:at + 1 + width * step])
        _row(raw[at], row, above, step)
        rows.append(row)
        above = row
    if step == 4:
        rows = [bytearray(b for i, b in enumerate(row) if i % 4 != 3) for row in rows]
    return width, height, rows


def words(data):
    """The texts that are kept with the picture."""
    for kind, content in chunks(data):
        if kind == b"iTXt":
            key, rest = content.split(b"\0", 1)
            yield key.decode(), rest[2:].split(b"\0", 2)[2].decode()

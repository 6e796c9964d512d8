"""Reads the forms that `tidemark export` writes, strictly: what is not as it should be raises."""
import base64
import gzip
import json
import pathlib
import struct

VALUE_TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "growth_space")


def base64_of(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def collapsed(path):
    """[(frames, bytes)]"""
    out = []
    for line in pathlib.Path(path).read_text().splitlines():
        frames, number = line.rsplit(" ", 1)
        if int(number) < 1 or not all(frames.split(";")):
            raise ValueError("not a stack: %r" % line)
        out.append((frames.split(";"), int(number)))
    return out


def speedscope(path):
    """The document, after what its schema requires."""
    document = json.loads(pathlib.Path(path).read_text())
    count = len(document["shared"]["frames"])
    for frame in document["shared"]["frames"]:
        if not isinstance(frame["name"], str) or set(frame) - {"name", "file", "line", "col"}:
            raise ValueError("not a frame: %r" % frame)
    for profile in document["profiles"]:
        if profile["type"] != "sampled" or profile["unit"] != "bytes":
            raise ValueError("not a profile of bytes: %r" % profile["name"])
        if len(profile["samples"]) != len(profile["weights"]):
            raise ValueError("samples and weights differ in number")
        if any(not 0 <= i < count for sample in profile["samples"] for i in sample):
            raise ValueError("no such frame")
        if profile["endValue"] - profile["startValue"] != sum(profile["weights"]):
            raise ValueError("the weights do not fill the profile")
    return document


# ---- profile.proto ----


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message; a value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("the message ends early")
        else:
            raise ValueError("wire type %d" % (key & 7))
        yield key >> 3, value


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(struct.unpack("<q", struct.pack("<Q", value))[0])
    return out


def pprof(path):
    """The values of each sample, in the order of VALUE_TYPES. Ids must exist, texts be UTF-8."""
    data = gzip.decompress(pathlib.Path(path).read_bytes())
    message = list(fields(data))
    texts = [v.decode("utf-8") for n, v in message if n == 6]
    types = [texts[dict(fields(v))[1]] for n, v in message if n == 1]
    if texts[0] != "" or tuple(types) != VALUE_TYPES:
        raise ValueError("not the values it should have: %s" % types)
    locations = [dict(fields(v))[1] for n, v in message if n == 4]
    if len(set(locations)) != len(locations) or 0 in locations:
        raise ValueError("a location's id is 0 or there twice")
    samples = []
    for number, value in message:
        if number == 2:
            sample = dict(fields(value))
            if not set(packed(sample[1])) <= set(locations):
                raise ValueError("no such location")
            samples.append(packed(sample[2]))
    return samples

"""How many objects of each type there are, and which large tensors; and what has changed."""

import collections
import gc
import typing

from tidemark import _torch

MB = 1024 * 1024
LARGE_BYTES = MB
SHOWN = 5


class Census(typing.NamedTuple):
    """At one step. Objects are those that Python's garbage collector knows, ours left out."""

    step: int
    objects: collections.Counter  # by type name
    tensors: collections.Counter  # large ones, by what they are: "float32 [768, 2304] on cuda:0"
    tensor_bytes: dict  # by the same: of one

    def total_tensor_bytes(self):
        return sum(n * self.tensor_bytes[what] for what, n in self.tensors.items())


def take(step):
    objects = gc.get_objects()
    kinds = _torch.tensor_types()
    tensors = [x for x in objects if type(x) in kinds]
    by_type = collections.Counter(map(type, objects))
    del objects
    by_name = collections.Counter()
    for kind, count in by_type.items():
        name = _type_name(kind)
        if not name.startswith("tidemark."):
            by_name[name] += count
    return Census(step, by_name, *_large(tensors))


def _type_name(kind):
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", None) else f"{module}.{kind.__qualname__}"


def _large(tensors):
    """What several views see counts once."""
    counts, sizes, seen = collections.Counter(), {}, set()
    for x in tensors:
        place, size = _torch.storage_of(x)
        if size >= LARGE_BYTES and place not in seen:
            seen.add(place)
            what = f"{str(x.dtype).rpartition('.')[2]} {list(x.shape)} on {x.device}"
            counts[what] += 1
            sizes[what] = max(size, sizes.get(what, 0))
    return counts, sizes


# ---- as text ----


def _change(count):
    return f"{count:+,}"


def _ranked(now, before):
    """Those that have grown most, then those there are most of."""
    grown = sorted(now, key=lambda name: (before[name] - now[name], -now[name]))
    return grown[:SHOWN]


def lines(now, before):
    """What there is at the end, and the change since an earlier census."""
    objects, earlier = sum(now.objects.values()), sum(before.objects.values())
    since = f"since step {before.step:,}"
    grown = [name for name in _ranked(now.objects, before.objects)
             if now.objects[name] > before.objects[name]]
    yield (f"   Objects: {objects:,} ({_change(objects - earlier)} {since})" +
           ("; those that grew most:" if grown else ""))
    for name in grown:
        n = now.objects[name]
        yield f"      {name}: {n:,} ({_change(n - before.objects[name])})"
    yield from _tensor_lines(now, before, since)


def _tensor_lines(now, before, since):
    count, size = sum(now.tensors.values()), now.total_tensor_bytes()
    earlier = sum(before.tensors.values())
    if not count and not earlier:
        yield f"   Large tensors: none of {LARGE_BYTES // MB} MB or more"
        return
    yield (f"   Large tensors: {count:,} of {LARGE_BYTES // MB} MB or more, {size / MB:,.1f} MB "
           f"({_change(count - earlier)}, {(size - before.total_tensor_bytes()) / MB:+,.1f} MB "
           f"{since})")
    for what in _ranked(now.tensors, before.tensors):
        n = now.tensors[what]
        yield (f"      {n:,} x {what}: {n * now.tensor_bytes[what] / MB:,.1f} MB "
               f"({_change(n - before.tensors[what])})")

"""The objects of this process: census(), growth(), holders(). The probe does the work in C."""

import os
import typing

from tidemark import _core

SHOWN = 8
MB = 1024 * 1024
PURPOSES = ("parameters", "gradients", "optimizer", "other")


# ---- holders ----

# kind: text before the path, text between path and function, text without a function
_WORDS = {
    "local": ("", ", local of ", ", a local variable"),
    "global": ("", ", global of ", ", a global"),
    "attribute": ("", ", attribute of ", ""),
    "class": ("", ", attribute of the class ", ", attribute of a class"),
    "closure": ("", ", closed over by ", ", in a closure"),
    "lru_cache": ("the lru_cache of ", "", ""),
    "exception": ("the traceback of the exception at ", ", raised in ", ""),
    "generator": ("", ", local of the generator ", ", local of a generator"),
    "thread": ("the thread ", " that runs ", ""),
    "default": ("", ", default argument of ", ", a default argument"),
}


class Holder(typing.NamedTuple):
    """What keeps an object alive, by a name that a person finds in the program.

    kind: "local", "global", "attribute", "class", "closure", "lru_cache", "exception", "generator",
    "thread", "default"; "native": nothing in Python; "garbage": a reference cycle that the collector
    has not freed yet. Unknown values are None.
    """

    kind: str
    path: str  # "trainer.callbacks[2].history"
    function: typing.Optional[str] = None  # for an attribute: its class
    file: typing.Optional[str] = None
    line: typing.Optional[int] = None

    @property
    def text(self):
        if self.kind in ("native", "garbage"):
            return "native code" if self.kind == "native" else "objects referenced only by each other"
        before, between, alone = _WORDS.get(self.kind, ("", "", ""))
        path = self.path if self.path.startswith("(") else f"`{self.path}`" if self.path else ""
        is_named = bool(self.function) and self.function[0] != "<" and self.function != self.path
        owner = f"{between}`{self.function}`" if is_named and between else "" if is_named else alone
        return f"{before}{path}{owner}{self._place()}"

    def _place(self):
        if not self.file:
            return ""
        here = os.path.join(os.getcwd(), "")
        file = self.file[len(here):] if self.file.startswith(here) else self.file
        return f" ({file}:{self.line})" if self.line else f" ({file})"

    def __str__(self):
        return self.text


# ---- the census ----


class TypeCount(typing.NamedTuple):
    """Objects of one type; bytes are their own, without the objects they refer to."""

    count: int = 0
    bytes: int = 0


class TensorCount(typing.NamedTuple):
    """Tensors of one kind. A storage shared by several counts once."""

    device: str
    dtype: str
    shape: str  # "[64, 256]"
    requires_grad: bool
    grad_fn: bool
    count: int
    bytes: int

    def __str__(self):
        flags = [name for name in ("requires_grad", "grad_fn") if getattr(self, name)]
        return " ".join([self.dtype, self.shape, self.device, *flags])


class DeviceCount(typing.NamedTuple):
    count: int
    bytes: int
    requires_grad: int
    grad_fn: int


class LargeTensor(typing.NamedTuple):
    """A large tensor. A view keeps its whole storage alive, however small the view."""

    device: str
    dtype: str
    shape: str
    storage_bytes: int
    view_bytes: int


class Allocator(typing.NamedTuple):
    """The C library's heap: in use, and free heap memory retained by malloc."""

    in_use: int
    free: int


class Census(typing.NamedTuple):
    """The objects of the process at one moment."""

    objects: int
    types: typing.Dict[str, TypeCount]
    devices: typing.Dict[str, DeviceCount]  # tensors by device
    tensors: typing.List[TensorCount]  # the largest first
    large: typing.List[LargeTensor]  # of 1 MB or more, the largest few
    purposes: typing.Dict[str, typing.Dict[str, int]]  # bytes, by device: "parameters", ...
    allocator: typing.Optional[Allocator]
    pause_seconds: float  # how long the program was paused

    def __str__(self):
        return "\n".join(_census_lines(self))


def size_text(size):
    for unit, name in ((MB * 1024, "GB"), (MB, "MB"), (1024, "KB")):
        if abs(size) >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,.0f} B"


def _census_lines(c):
    size = sum(t.bytes for t in c.types.values())
    yield (f"{c.objects:,} objects, {size_text(size)}; counted in "
           f"{1000 * c.pause_seconds:.0f} ms")
    for name, t in sorted(c.types.items(), key=lambda x: -x[1].bytes)[:SHOWN]:
        yield f"   {name}: {t.count:,}, {size_text(t.bytes)}"
    for device, d in c.devices.items():
        yield (f"tensors on {device}: {d.count:,}, {size_text(d.bytes)}; {d.requires_grad:,} with "
               f"requires_grad, {d.grad_fn:,} with grad_fn")
        purposes = c.purposes.get(device, {})
        if purposes:
            yield "   " + ", ".join(f"{name} {size_text(purposes[name])}"
                                    for name in PURPOSES if name in purposes)
    for t in c.tensors[:SHOWN]:
        yield f"   {t.count:,} x {t}: {size_text(t.bytes)}"
    for t in c.large:
        seen = "" if t.view_bytes == t.storage_bytes else f", {size_text(t.view_bytes)} seen"
        yield f"large: {t.dtype} {t.shape} {t.device}: {size_text(t.storage_bytes)}{seen}"
    if c.allocator:
        yield (f"malloc: {size_text(c.allocator.in_use)} in use, "
               f"{size_text(c.allocator.free)} free")


def census():
    """Counts the objects of this process: objects by type, tensors by kind and purpose.

    It runs no code of the program and keeps nothing alive; the program is paused meanwhile.
    NotImplementedError: the objects of this interpreter cannot be counted.

    >>> print(tidemark.census())
    >>> tidemark.census().types["dict"].count
    18536
    """
    return _Text(_core.census(False)).census()


def holders(obj):
    """What keeps this object alive: a list of Holder, the most useful first.

    The variable that passes it to this function is the last one.

    >>> print(*tidemark.holders(batch), sep="\\n")
    `cache[17]` (train.py)
    `batch`, local of `train_step` (train.py:31)
    """
    text = _core.holders(obj)
    return [h for _, h in _Text(text).holders()]


# ---- growth ----


class TypeGrowth(typing.NamedTuple):
    """New objects of one type; the holder is that of a sample of them."""

    name: str
    count: int
    bytes: int
    holder: typing.Optional[Holder] = None

    def __str__(self):
        return f"{self.name}: {self.count:+,}, {size_text(self.bytes)}{_held(self.holder)}"


class TensorGrowth(typing.NamedTuple):
    """New tensors of one kind."""

    device: str
    dtype: str
    shape: str
    requires_grad: bool
    grad_fn: bool
    count: int
    bytes: int
    holder: typing.Optional[Holder] = None

    def __str__(self):
        what = TensorCount(*self[:7])
        return f"{what}: {self.count:+,}, {size_text(self.bytes)}{_held(self.holder)}"


class ContainerGrowth(typing.NamedTuple):
    """A list, dict, set or deque that gained items. Bytes: the mean of its newest items, each with
    the objects that only this container keeps alive, times the number of new items."""

    type: str
    item: str  # their type: "float", "tensor float32 [] cpu"
    count: int  # number of new items
    length: int
    bytes: int
    device_bytes: int
    grad_fn: bool  # some tensors keep their graph alive, which is not in these bytes
    holder: typing.Optional[Holder] = None

    def __str__(self):
        name = self.holder or ", holder unknown"
        if self.holder and self.holder.kind in ("native", "garbage"):
            name = f"of {self.holder}"
        device = f", {size_text(self.device_bytes)} on devices" if self.device_bytes else ""
        graph = ", with the graph that made them" if self.grad_fn else ""
        return (f"{self.type} {name}".replace(" ,", ",") + f": {self.count:+,} items ({self.item}"
                f"{graph}), about {size_text(self.bytes)}{device}")


def _held(holder):
    return f", held by {holder}" if holder else ""


class Growth:
    """The growth within a block: objects created and not dropped. Empty until the block ends.

    types, tensors, containers: the largest first. before, after: both censuses.
    """

    def __init__(self):
        self.types, self.tensors, self.containers = [], [], []
        self.before = self.after = None
        self.pause_seconds = 0.0  # how long the program was paused
        self._counted = _core.Growth()
        self._pid = os.getpid()

    def __enter__(self):
        self._counted.begin()
        return self

    def __exit__(self, kind, error, traceback):  # not *args: that tuple would be counted
        if os.getpid() == self._pid:  # a forked child unwinds the block too, which is not its own
            self._compare(*map(_Text, self._counted.end()))

    def _compare(self, before, after):
        self.before, self.after = before.census(), after.census()
        self.pause_seconds = self.before.pause_seconds + self.after.pause_seconds
        found = after.growing()
        self.containers = [x for x in found if type(x) is ContainerGrowth]
        named = {x[0]: x[1] for x in found if type(x) is tuple}
        self.types = _types_grown(self.before, self.after, named)
        self.tensors = _tensors_grown(self.before, self.after, named)

    def __bool__(self):
        return bool(self.types or self.tensors or self.containers)

    def __str__(self):
        if self.after is None:
            return "the block has not ended"
        if not self:
            return "nothing grew"
        lines = []
        for name in ("containers", "tensors", "types"):
            grown = getattr(self, name)
            lines += [f"{name}:"] * bool(grown) + [f"   {x}" for x in grown[:SHOWN]]
            lines += [f"   and {len(grown) - SHOWN} more"] * (len(grown) > SHOWN)
        return "\n".join(lines)


def growth():
    """Measures the growth within a block: objects by type, tensors, containers with their holders.

    >>> with tidemark.growth() as g:
    ...     train_step(batch)
    >>> print(g)
    containers:
       list `history`, local of `train` (train.py:31): +1 items (float), about 32 B
    """
    return Growth()


def _types_grown(before, after, named):
    grown = []
    for name, now in after.types.items():
        then = before.types.get(name, TypeCount())
        if now.count > then.count:
            grown.append(TypeGrowth(name, now.count - then.count, now.bytes - then.bytes,
                                    named.get(("objects", name))))
    return sorted(grown, key=lambda t: (-t.bytes, -t.count, t.name))


def _tensors_grown(before, after, named):
    then = {t[:5]: t for t in before.tensors}
    grown = []
    for now in after.tensors:
        earlier = then.get(now[:5])
        count = now.count - (earlier.count if earlier else 0)
        if count > 0:
            size = now.bytes - (earlier.bytes if earlier else 0)
            what = f"tensor {now.dtype} {now.shape} {now.device}"
            grown.append(TensorGrowth(*now[:5], count, size, named.get(("tensors", what))))
    return sorted(grown, key=lambda t: (-t.bytes, -t.count))


# ---- changes over a training ----


LARGE_BYTES = MB
CHANGES_SHOWN = 5


def change_lines(before, step, after):
    """Lines with the objects and their change since that step. before, after: census texts."""
    then, now = _Text(before).census(), _Text(after).census()
    grown = [t for t in _types_grown(then, now, {}) if not t.name.startswith("tidemark.")]
    grown.sort(key=lambda t: -t.count)
    yield (f"   Objects: {now.objects:,} ({now.objects - then.objects:+,} since step {step:,})" +
           ("; those that grew most:" if grown else ""))
    for t in grown[:CHANGES_SHOWN]:
        yield f"      {t.name}: {now.types[t.name].count:,} ({t.count:+,})"
    yield from _large_lines(_large(then), step, _large(now))


def _large(c):
    """Count and bytes by kind, of tensors with a large storage of their own."""
    found = {}
    for t in c.tensors:
        if t.bytes >= LARGE_BYTES * t.count:
            what = f"{t.dtype} {t.shape} on {t.device}"
            count, size = found.get(what, (0, 0))
            found[what] = count + t.count, size + t.bytes
    return found


def _large_lines(then, step, now):
    (count, size), (earlier, smaller) = ([sum(x) for x in zip((0, 0), *c.values())]
                                         for c in (now, then))
    if not count and not earlier:
        yield f"   Large tensors: none of {LARGE_BYTES // MB} MB or more"
        return
    yield (f"   Large tensors: {count:,} of {LARGE_BYTES // MB} MB or more, {size / MB:,.1f} MB "
           f"({count - earlier:+,}, {(size - smaller) / MB:+,.1f} MB since step {step:,})")
    changes = {what: n - then.get(what, (0, 0))[0] for what, (n, _) in now.items()}
    for what in sorted(now, key=lambda w: (-changes[w], -now[w][0]))[:CHANGES_SHOWN]:
        n, size = now[what]
        yield f"      {n:,} x {what}: {size / MB:,.1f} MB ({changes[what]:+,})"


# ---- the text of a census ----


def _field(text):
    if "\\" not in text:
        return text
    parts = text.split("\\\\")
    return "\\".join(p.replace("\\t", "\t").replace("\\n", "\n") for p in parts)


FIRST_LINE = "tidemark census 2"


class _Text:
    """The records that src/wire/census.h describes; unknown fields are ignored."""

    def __init__(self, text):
        self._records = {}
        if text.startswith("tidemark census ") and not text.startswith(FIRST_LINE + "\n"):
            raise NotImplementedError("this process has the probe of another tidemark version "
                                      "loaded: run it under the version that it imports")
        for line in text.split("\n"):
            name, *fields = line.split("\t")
            self._records.setdefault(name, []).append([_field(f) for f in fields])

    def _of(self, name):
        return self._records.get(name, [])

    def census(self):
        types = {}
        for name, count, size, *_ in self._of("types"):
            known = types.get(name, TypeCount())
            types[name] = TypeCount(known.count + int(count), known.bytes + int(size))
        heap = self._of("heap")
        return Census(
            objects=int(self._of("census")[0][2]), types=types,
            devices={f[0]: DeviceCount(*map(int, f[1:5])) for f in self._of("tensors")},
            tensors=sorted(map(_group, self._of("group")), key=lambda t: -t.bytes),
            large=[LargeTensor(*f[:3], int(f[3]), int(f[4])) for f in self._of("large")],
            purposes=self._purposes(),
            allocator=Allocator(int(heap[0][0]), int(heap[0][1])) if heap else None,
            pause_seconds=int(self._of("cost")[0][2]) / 1e9)

    def _purposes(self):
        found = {}
        for name, device, _, size, *_ in self._of("purpose"):
            found.setdefault(device, {})[name] = int(size)
        return found

    def holders(self):
        """(number of the held item, Holder)."""
        for number, _, kind, path, function, file, line, *_ in self._of("holder"):
            yield number, Holder(kind, path, function or None, file or None, int(line) or None)

    def _items(self):
        """By the number of the growing item: "tuple of tensor float32 [64] cpu"."""
        found = {}
        for number, kind, name, *tensor in self._of("item"):
            if kind == "tensor" and len(tensor) >= 4:
                dtype, _, shape, device = tensor[:4]
                name = f"tensor {dtype} {shape} {device}"
            found.setdefault(number, []).append(name)
        return {number: " of ".join(names) for number, names in found.items()}

    def growing(self):
        """ContainerGrowth, or for others a pair: ("objects" or "tensors", its name), Holder."""
        held = {}
        for number, holder in self.holders():
            held.setdefault(number, holder)
        types = {number: name for number, _, name, *_ in self._of("what")}
        items, found = self._items(), []
        for number, form, host, device, flags, points, *_ in self._of("growing"):
            what, item = types.get(number, ""), items.get(number, "")
            first, last = (int(p.partition(":")[2]) for p in points.split())
            holder = held.get(number)
            if holder and holder.kind == "garbage" and form == "container":
                continue  # dropped in the block; its address was another object's before
            if form == "container":
                count = last - first
                found.append(ContainerGrowth(what, item, count, last,
                                             round(count * float(host or 0)),
                                             round(count * float(device or 0)),
                                             "grad_fn" in flags.split(","), holder))
            elif holder:
                found.append(((form, what if form == "objects" else item), holder))
        return found


def _group(fields):
    device, dtype, shape, count, size, requires_grad, grad_fn, *_ = fields
    return TensorCount(device, dtype, shape, requires_grad == "1", grad_fn == "1", int(count),
                       int(size))

"""Which containers grow with the steps: the lists, dicts, sets and deques a person can name.

At a few moments of a training it walks from roots (callbacks, the trainer, the model, globals)
through the attributes of instances and small containers, and notes how many items each container
has and what they may take. Nothing of the program runs: only what is in `__dict__` is looked at,
and containers are asked by the methods of their built-in type. Nothing of it is kept but numbers
and names.
"""

import collections
import functools
import inspect
import itertools
import os
import sys
import time
import types
import typing

from tidemark import _torch

LOOKS_KEPT = 4  # that a container may be missed by: a walk is cut off where there is too much
SHARE_OF_TIME = 0.0005  # for all moments but the first together
LEAST_STEPS = 20  # between two moments
MOST_VISITED = 5000  # objects, at one moment
MOST_DEPTH = 6
SMALL = 64  # items: a container is gone through to there; of a larger one some are looked at
SAMPLED = 8
MOST_POINTS = 16  # of one container
TENSOR_BYTES = 600  # beside its values: the objects of Python and of torch
BLOCK_BYTES = 512  # the least that torch's CUDA allocator gives
LEAST_SHARE = 0.25  # of a measured rate: one who holds less is not named

_SEQUENCES = (list, collections.deque)
_CONTAINERS = (*_SEQUENCES, dict, set)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray)
_NO_HOLDERS = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
               types.CodeType, types.GeneratorType, *_PLAIN)


class Holder(typing.NamedTuple):
    """A container that grows. Sizes are estimates, in bytes."""

    path: str  # "HoardMetrics.history"
    type_name: str
    items_per_step: float
    host_per_step: float
    device_per_step: float
    keeps_graph: bool  # tensors with what made them: more than the estimate
    where: typing.Optional[str]  # "train.py:12": the class whose attribute it is

    def per_step(self, is_of_device):
        return self.device_per_step if is_of_device else self.host_per_step

    def may_hold_more(self, is_of_device):
        """Graphs, whose size is not known, about one for every ten steps or more."""
        return (self.keeps_graph and self.items_per_step >= 0.1
                and (self.device_per_step > 0 or not is_of_device))


# ---- what an object is, without asking it ----

# The slots of `type` itself: a metaclass may have put its own code in their place.
_bases_of = type.__dict__["__mro__"].__get__
_dict_of_class = type.__dict__["__dict__"].__get__
_module_of = type.__dict__["__module__"].__get__


def _base(x, candidates):
    """Which of these built-in types it is, or is derived from; None: none."""
    kinds = _bases_of(type(x))
    for kind in candidates:
        if kind in kinds:
            return kind
    return None


def _attributes(x):
    """The instance's own; None: it has none that can be had without running code."""
    for kind in _bases_of(type(x)):
        found = _dict_of_class(kind).get("__dict__")
        if found is not None:
            if type(found) is not types.GetSetDescriptorType:
                return None
            attributes = found.__get__(x)
            return attributes if type(attributes) is dict else None
    return None


def _is_module_of_torch(x):
    nn = getattr(sys.modules.get("torch"), "nn", None)
    return nn is not None and nn.Module in _bases_of(type(x))


def _newest(x, base, count):
    """Some items: the last, where there is an order."""
    if base is dict:  # not by its keys, whose hash may be the program's own
        return [value for _, value in itertools.islice(reversed(dict.items(x)), count)]
    if base in _SEQUENCES:
        return list(itertools.islice(base.__reversed__(x), count))
    return list(itertools.islice(base.__iter__(x), count))


# ---- what it may take ----


class _Size:
    """Adds up what objects take; what is shared counts once."""

    def __init__(self):
        self.host = self.device = 0
        self.keeps_graph = False
        self._seen = set()

    def add(self, x, depth=4, share=1.0):
        """share: for how many others like it this one stands."""
        if id(x) in self._seen or depth == 0:
            return
        self._seen.add(id(x))
        if type(x) in _torch.tensor_types():
            self._add_tensor(x, share)
        elif type(x) in _PLAIN:
            self.host += share * sys.getsizeof(x)
        elif _is_numpy_array(x):
            self.host += share * (x.nbytes + 112)
        else:
            self._add_object(x, depth, share)

    def _add_tensor(self, x, share):
        self.host += share * TENSOR_BYTES
        self.keeps_graph = self.keeps_graph or x.grad_fn is not None
        place, size = _torch.storage_of(x)
        if place in self._seen:
            return
        self._seen.add(place)
        if x.device.type == "cpu":
            self.host += share * size
        else:
            self.device += share * -(-size // BLOCK_BYTES) * BLOCK_BYTES

    def _add_object(self, x, depth, share):
        base = _base(x, (*_CONTAINERS, tuple))
        if base is None:
            attributes = _attributes(x)
            self.host += share * (object.__sizeof__(x) + 16)
            if attributes:
                self.add(attributes, depth - 1, share)
            return
        self.host += share * (base.__sizeof__(x) + 16)
        items = _newest(x, base, SAMPLED)
        for item in items:
            self.add(item, depth - 1, share * base.__len__(x) / len(items))


def _is_numpy_array(x):
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(x) is getattr(numpy, "ndarray", None)


# ---- a moment ----


class _Item(typing.NamedTuple):
    """What a container's newest items take each, and where it is."""

    type_name: str
    host: float
    device: float
    keeps_graph: bool
    owner: typing.Optional[tuple]  # module and qualified name of the class whose attribute it is


def _item_of(x, base, owner):
    size = _Size()
    newest = _newest(x, base, SAMPLED)
    for item in newest:
        size.add(item)
    sampled = max(len(newest), 1)
    slot = base.__sizeof__(x) / max(base.__len__(x), 1)
    return _Item(base.__name__, size.host / sampled + slot, size.device / sampled,
                 size.keeps_graph, owner)


class _Walk:
    """One pass from the roots, the near before the far.

    found: called with the path, the container, its built-in type and the class that owns it.
    """

    def __init__(self, roots, found):
        self._found, self._paths = found, set()
        self._tensors = _torch.tensor_types()
        self._seen = set()
        self._queue = collections.deque()
        for path, x in roots:
            self._push(path, x, 0, None)

    def _push(self, path, x, depth, owner):
        if type(x) in _NO_HOLDERS or id(x) in self._seen or depth > MOST_DEPTH:
            return
        self._seen.add(id(x))
        self._queue.append((path, x, depth, owner))

    def go(self):
        for _ in range(MOST_VISITED):
            if not self._queue:
                break
            self._visit(*self._queue.popleft())
        self._queue.clear()

    def _visit(self, path, x, depth, owner):
        base = _base(x, _CONTAINERS)
        if base is None and (type(x) in self._tensors or _is_ours(x)
                             or _base(x, (types.ModuleType,))):
            return
        if base is not None:
            try:
                self._visit_container(path, x, base, depth, owner)
            except RuntimeError:  # another thread has changed it
                pass
        elif type in _bases_of(type(x)):
            self._visit_attributes(path, _dict_of_class(x), depth, _name_of(x))
        else:
            self._visit_attributes(path, _attributes(x), depth, _name_of(type(x)))
            if _is_module_of_torch(x):
                self._visit_children(path, x, depth)

    def _visit_attributes(self, path, attributes, depth, owner):
        for name, value in list((attributes or {}).items()):
            if type(name) is str and not name.startswith("__") and name != "_modules":
                self._push(f"{path}.{name}", value, depth + 1, owner)

    def _visit_children(self, path, module, depth):
        """Of a module of torch: by their names, and no deeper than it."""
        children = _attributes(module).get("_modules")
        for name, child in list(dict.items(children)) if _base(children, (dict,)) else ():
            self._push(f"{path}[{name}]" if name.isdigit() else f"{path}.{name}", child, depth,
                       None)

    def _visit_container(self, path, x, base, depth, owner):
        if path not in self._paths:  # an attribute of the instance hides the class's
            self._paths.add(path)
            self._found(path, x, base, owner)
        if base.__len__(x) > SMALL or base is set:
            return
        pairs = dict.items(x) if base is dict else enumerate(base.__iter__(x))
        for key, value in list(pairs):
            if type(key) in (str, int):
                self._push(f"{path}[{key!r}]", value, depth + 1, owner)


def _is_ours(x):
    return str(_module_of(type(x))).startswith("tidemark.")


def _name_of(kind):
    return str(_module_of(kind)), type.__dict__["__qualname__"].__get__(kind)


# ---- over the moments ----


class _Track:
    """A container that has more items than when it was first seen: (step, items), oldest first."""

    def __init__(self, first):
        self.points = [first]
        self.item = None  # _Item, the last time

    def add(self, step, count, item):
        if len(self.points) == MOST_POINTS:
            del self.points[1::2]
        self.points.append((step, count))
        self.item = item

    def holder(self, path):
        """None: it has not grown from the first moment to the middle, and from there to the last."""
        (first_step, first), (last_step, last) = self.points[0], self.points[-1]
        middle = self.points[len(self.points) // 2][1]
        if len(self.points) < 3 or not first < middle < last:
            return None
        rate, item = (last - first) / (last_step - first_step), self.item
        return Holder(path, item.type_name, rate, rate * item.host, rate * item.device,
                      item.keeps_graph, _place_of(item.owner))


class Holders:
    """Looks from time to time, and knows what has grown.

    roots: a function that gives pairs of a name and an object each time it is called.
    """

    def __init__(self, roots):
        self._roots = roots
        self._first = {}  # (step, items) by path: when it was first seen, or last became smaller
        self._tracks = {}  # by path
        self._met = {}  # number of the look that has met it last, by path
        self._looks = 0
        self._last_step = None
        self._began, self._spent = time.perf_counter(), 0.0

    def look_in_time(self, step):
        """Looks where the looks before are paid for by the time that has gone by."""
        if self._last_step is None or step >= self._last_step + LEAST_STEPS:
            if self._spent <= SHARE_OF_TIME * (time.perf_counter() - self._began):
                self.look(step)

    def look(self, step):
        if step == self._last_step:
            return
        begin = time.perf_counter()
        self._looks += 1
        _Walk(self._roots(), functools.partial(self._note, step)).go()
        self._forget()
        if self._last_step is not None:
            self._spent += time.perf_counter() - begin
        self._last_step = step

    def _forget(self):
        """What has not been met for some looks: it is gone."""
        for path in [p for p, look in self._met.items() if self._looks - look >= LOOKS_KEPT]:
            del self._met[path]
            self._first.pop(path, None)
            self._tracks.pop(path, None)

    def _note(self, step, path, x, base, owner):
        self._met[path] = self._looks
        count = base.__len__(x)
        first = self._first.setdefault(path, (step, count))
        track = self._tracks.get(path)
        before = track.points[-1][1] if track else first[1]
        if count < before:
            self._first[path] = step, count
            self._tracks.pop(path, None)
        elif track or count > before:
            track = self._tracks.setdefault(path, track or _Track(first))
            track.add(step, count, _item_of(x, base, owner))

    def of(self, verdict):
        """Those that hold what leaks by this verdict, the largest first; [] where none is known."""
        if verdict.answer != "leak" or not verdict.rate or not _is_bytes(verdict.kind):
            return []
        is_of_device = not verdict.kind.startswith("host.")
        growing = sorted(self.growing(), key=lambda h: -h.per_step(is_of_device))
        least = LEAST_SHARE * verdict.rate
        return ([h for h in growing if h.per_step(is_of_device) >= least] or
                [h for h in growing if h.may_hold_more(is_of_device)])

    def growing(self):
        """Every container that has grown, whatever it holds."""
        return [h for h in (track.holder(path) for path, track in self._tracks.items()) if h]


def _is_bytes(kind):
    return (kind or "").startswith(("host.", "torch.", "gpu."))


def _place_of(owner):
    """The file and line of a class, "train.py:12"; None: not known."""
    if owner is None:
        return None
    module, name = owner
    kind = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, "__dict__", {}).get(part)
    try:
        file, line = inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1]
        return f"{_short_path(file)}:{line}"
    except (TypeError, OSError):
        return None


def _short_path(file):
    here = os.path.join(os.getcwd(), "")
    return file[len(here):] if file.startswith(here) else file

"""Containers with items of known size, and what the probe's weighing says about each.

Run by tests/probe/weigh.py with every CPython: weigh_program.py LIBRARY [NAME...]. One line per
case: "ok NAME", or "FAIL NAME: the answer".
"""

import collections
import ctypes
import datetime
import gc
import io
import random
import sys
import time
import traceback
import weakref

ITEMS = 40
CASES = []
library = None
random.seed(7)
number = random.random


def case(function):
    CASES.append(function)
    return function


KINDS = ("other none number text bytes list tuple dict set container tensor array scalar function "
         "language object extension").split()


class Tensor(ctypes.Structure):
    _fields_ = [
        ("behind", ctypes.c_void_p * 3), ("sizes", ctypes.c_size_t * 2), ("device", ctypes.c_int * 2),
        ("dtype", ctypes.c_char_p), ("dims", ctypes.c_int), ("shape", ctypes.c_int64 * 8),
        ("requires_grad", ctypes.c_bool), ("graph", ctypes.c_void_p * 2),
        ("is_parameter", ctypes.c_bool)]


class Thing(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("type", ctypes.c_char * 96), ("is_read", ctypes.c_bool),
                ("facts", Tensor)]


class Weight(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in
                "host device host_low host_high device_low device_high".split()] + [
        (name, ctypes.c_bool) for name in "graph exception function foreign".split()] + [
        ("hidden", ctypes.c_double), ("tensors", ctypes.c_double), ("things", Thing * 3),
        ("depth", ctypes.c_uint)]

    what = property(lambda self: " of ".join(t.type.decode() for t in self.things[:self.depth]))

    def __repr__(self):
        return "<%.0f [%.0f, %.0f] %s>" % (self.host, self.host_low, self.host_high, self.what)


def weigh(container):
    """The description of an item, without its place in the container."""
    w = Weight()
    library.weigh_container(ctypes.py_object(container), ctypes.byref(w))
    place = sys.getsizeof(container) / len(container)
    w.host, w.host_low, w.host_high = (x - place for x in (w.host, w.host_low, w.host_high))
    return w


def own(o):
    """Rounded as by an allocator."""
    return (sys.getsizeof(o) + 15) // 16 * 16


def whole(o, seen):
    """Including everything it reaches, except `seen`."""
    if id(o) in seen:
        return 0
    seen.add(id(o))
    inside = ()
    if isinstance(o, dict):
        inside = list(o) + list(o.values())
    elif isinstance(o, (list, tuple, set, frozenset, collections.deque)):
        inside = o
    return own(o) + sum(whole(x, seen) for x in inside)


def mean(items, *common):
    """Of the items, each on its own, without the common objects."""
    items = list(items)
    return sum(whole(x, {id(c) for c in common}) for x in items) / len(items)


class Failed(Exception):
    pass


def expect(true, said):
    if not true:
        raise Failed(repr(said))


def expect_near(w, truth, part=0.001):
    expect(abs(w.host - truth) <= part * truth + 1, "%r is not %.0f" % (w, truth))


def expect_exact(w, truth):
    expect_near(w, truth)
    expect(w.host_high - w.host_low <= 1e-6 * truth, w)


def floats(count):
    return [number() for _ in range(count)]


# ---- items that are visited whole ----


@case
def a_list_of_floats():
    expect_exact(weigh(floats(1000)), own(0.5))


@case
def a_list_of_texts():
    expect_exact(weigh(["%06d" % i for i in range(1000)]), own("123456"))


@case
def records():
    items = [{"id": "%08d" % i, "score": number(), "tags": floats(8)} for i in range(ITEMS)]
    w = weigh(items)
    expect_exact(w, mean(items, "id", "score", "tags"))
    expect(w.what == "dict", w)


@case
def keys_and_values_of_a_dict():
    d = {"key %06d" % i: floats(5) for i in range(5000)}
    expect_exact(weigh(d), mean(d.values()) + own("key 123456"))
    d = {"key %06d" % i * 100: None for i in range(ITEMS)}
    w = weigh(d)
    expect(w.what == "str", w)


@case
def a_deque_and_a_set():
    expect_exact(weigh(collections.deque(floats(100))), own(0.5))
    expect_exact(weigh({(number(), number()) for i in range(100)}), mean([(number(), number())]))


@case
def items_that_differ_have_an_interval():
    found = [weigh([bytes(random.randrange(10000)) for i in range(100)]) for k in range(200)]
    inside = sum(w.host_low <= 5000 <= w.host_high for w in found) / len(found)
    expect(inside > 0.85, (inside, found[:10]))
    expect(all(1000 < w.host_high - w.host_low < 12000 for w in found), found)


@case
def few_items_are_all_that_there_are():
    items = [bytes(1000), bytes(2000), bytes(6000)]
    expect_exact(weigh(items), mean(items))
    expect_exact(weigh([floats(3)]), mean([floats(3)]))


@case
def files_in_memory():
    def written(file, piece):
        for i in range(50):
            file.write(piece)
        return file
    for file, piece in ((io.StringIO, "x" * 1000), (io.BytesIO, b"x" * 1000)):
        w = weigh([written(file(), piece) for i in range(ITEMS)])
        expect(50000 < w.host < 50500, w)


# ---- what they are ----


class Named(list):
    pass


@case
def kinds_of_items():
    for kind, item in (("none", None), ("number", 0.5), ("number", True), ("number", 1j),
                       ("text", "x"), ("bytes", bytearray(b"x")), ("list", []), ("tuple", ()),
                       ("dict", {}), ("set", frozenset([1])), ("container", Named()),
                       ("container", collections.deque()), ("container", collections.Counter()),
                       ("scalar", datetime.datetime.now()), ("function", weigh),
                       ("function", "".join), ("function", Weight.__init__.__get__(Weight())),
                       ("language", Named), ("language", weakref.ref(weigh)),
                       ("language", (lambda: item).__closure__[0]), ("object", Failed()),
                       ("object", io.StringIO())):
        w = weigh([item] * 8)
        expect(KINDS[w.things[0].kind] == kind, (kind, item, KINDS[w.things[0].kind], w))


# ---- what others hold ----


@case
def the_same_object_again_and_again():
    thing = floats(100)
    expect_exact(weigh([thing] * ITEMS), 0)
    expect_exact(weigh([(thing, number()) for i in range(ITEMS)]), own((1, 2)) + own(0.5))


@case
def what_somebody_else_holds():
    others = [bytes(50000 + i) for i in range(ITEMS)]
    expect_exact(weigh([(o, number()) for o in others]), own((1, 2)) + own(0.5))
    expect_exact(weigh([{"x": [[o]]} for o in others]), own({"x": 1}) + 2 * own([1]))


@case
def the_world_is_not_an_items_own():
    class World:
        pass
    world = World()
    world.parts = [World() for i in range(3000)]
    for part in world.parts:
        part.world, part.data = world, [part, bytes(1000)]
    world.modules = dict(sys.modules)
    expect_near(weigh([(world, number()) for i in range(ITEMS)]), own((1, 2)) + own(0.5))
    expect_near(weigh([(world.parts[i].data, number()) for i in range(ITEMS)]),
                own((1, 2)) + own(0.5))


@case
def modules_functions_and_classes():
    w = weigh([(sys, whole, Failed, None, len, i + 1000.5) for i in range(ITEMS)])
    expect_exact(w, own((1,) * 6) + own(0.5))


@case
def a_closure_keeps_its_variables():
    def make(data):
        return lambda: data
    w = weigh([make(bytes(5000)) for i in range(ITEMS)])
    expect(5000 < w.host < 5600 and w.function, w)


# ---- what neighbours share ----


def transitions(count, size=5000):
    states = [bytearray(size) for i in range(count + 1)]
    return [(states[i], i + 1000, i + 0.5, states[i + 1]) for i in range(count)]


def of_transition(size=5000):
    return own((1,) * 4) + own(1000) + own(0.5) + own(bytearray(size))


@case
def a_replay_buffer():
    w = weigh(transitions(ITEMS))
    expect_exact(w, of_transition())
    expect(w.what == "tuple of bytearray", w)


@case
def the_program_has_the_newest_state():
    memory = transitions(ITEMS)
    state = memory[-1][3]
    expect_exact(weigh(memory), of_transition())
    del state


@case
def a_short_replay_buffer():
    w = weigh(transitions(12))
    expect_near(w, of_transition(), 0.01)


@case
def states_of_four_frames():
    frames = [bytearray(3000) for i in range(ITEMS + 3)]
    items = [tuple(frames[i:i + 4]) for i in range(ITEMS)]
    del frames
    expect_exact(weigh(items), own((1,) * 4) + own(bytearray(3000)))


@case
def neighbours_in_a_dict():
    d = dict(enumerate(transitions(2000)))
    expect_exact(weigh(d), of_transition() + own(1000))


@case
def episodes_of_transitions():
    """In an item too large to visit whole."""
    items = [transitions(800) for i in range(ITEMS)]
    expect_unbiased(items, mean(items[-12:-4]), 0.05)


# ---- cycles ----


def tree_with_parents(count):
    root = {}
    root["children"] = [{"parent": root, "value": number()} for i in range(count)]
    return root


@case
def an_item_that_is_a_cycle():
    gc.disable()
    items = [tree_with_parents(20) for i in range(ITEMS)]
    expect_exact(weigh(items), mean(items, "children", "parent", "value"))


@case
def an_item_that_holds_a_cycle():
    items = [(tree_with_parents(20), 1) for i in range(ITEMS)]
    expect_exact(weigh(items), mean(items, "children", "parent", "value", 1))
    items = [(tree_with_parents(300), 1) for i in range(ITEMS)]
    expect_exact(weigh(items), mean(items, "children", "parent", "value", 1))


class Node:
    __slots__ = ("value", "parent", "children")

    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


@case
def nodes_of_a_tree():
    root = Node(0.5)
    for i in range(ITEMS):
        run = Node(i + 0.5, root)
        for k in range(20):
            Node(floats(10), run)
    items = root.children
    leaf = own(root) + own([]) + mean([floats(10)])
    expect_exact(weigh(items), own(root) + own(0.5) + own(items[0].children) + 20 * leaf)


@case
def trees_of_three_levels():
    items = []
    for i in range(ITEMS):
        run = Node(i + 0.5)
        for k in range(5):
            epoch = Node(k + 0.5, run)
            for b in range(8):
                Node(floats(20), epoch)
        items.append(run)
    node, number = own(run), own(0.5)
    truth = (node + number + own(run.children) + 5 * (node + number + own(epoch.children)) +
             40 * (node + own([]) + mean([floats(20)])))
    del run, epoch
    expect_exact(weigh(items), truth)


@case
def items_with_a_way_back():
    class Trainer:
        pass
    trainer = Trainer()
    trainer.history = []
    for i in range(700):
        record = {"trainer": trainer, "history": trainer.history, "parts": [bytes(1000)]}
        record["parts"].append(record)
        trainer.history.append(record)
    trainer.record = record
    expect_exact(weigh(trainer.history), own(record) + own(record["parts"]) + own(bytes(1000)))


@case
def a_chain_is_not_followed():
    class Node:
        pass
    last, items = None, []
    for i in range(3000):
        node = Node()
        node.before, node.data = last, bytes(1000)
        items.append(node)
        last = node
    w = weigh(items)
    expect(1000 < w.host < 1400, w)


# ---- samples ----

CHANCE = 5  # standard errors: fewer than one run in a million is further off by chance


def expect_unbiased(items, truth, part, times=60):
    """The mean of many samples is right within its error, and most intervals contain
    it."""
    found = [weigh(items) for i in range(times)]
    average = sum(w.host for w in found) / times
    error = (sum((w.host - average) ** 2 for w in found) / (times - 1) / times) ** 0.5
    expect(abs(average - truth) < max(part * truth, CHANCE * error),
           "%.0f +- %.0f on average, not %.0f: %r" % (average, error, truth, found[:5]))
    spread = sum(w.host_high - w.host_low for w in found) / times
    inside = sum(w.host_low <= truth <= w.host_high for w in found) / times
    expect(inside >= 0.8, "%.2f of the intervals have %.0f: %r" % (inside, truth, found[:5]))
    return spread / truth


@case
def lists_of_many_floats():
    """The most ordinary case: predictions."""
    items = [floats(20000) for i in range(ITEMS)]
    expect_exact(weigh(items), mean(items[:1]))


@case
def lists_of_many_records():
    items = [[{"id": "%08d" % k, "tags": floats(8), "at": (number(), number())}
              for k in range(2000)] for i in range(20)]
    width = expect_unbiased(items, mean(items[-12:-4], "id", "tags", "at"), 0.01)
    expect(width < 0.2, width)


@case
def lists_of_texts_of_many_lengths():
    items = [["x" * int(random.expovariate(0.01)) for k in range(5000)] for i in range(20)]
    width = expect_unbiased(items, mean(items[-12:-4]), 0.03)
    expect(width < 0.5, width)


@case
def periods_in_a_list():
    """Every eighth element is a thousand times as large as the others."""
    items = [[bytes(20000) if k % 8 == 3 else number() for k in range(8000)] for i in range(20)]
    expect_unbiased(items, mean(items[-12:-4]), 0.05)


@case
def deep_trees():
    def tree(depth):
        return (tree(depth - 1), tree(depth - 1)) if depth else number()
    items = [tree(11) for i in range(20)]
    expect_unbiased(items, mean(items[-12:-4]), 0.03)


@case
def uneven_trees():
    def tree(depth):
        return [tree(depth - 1) if depth and number() < 0.7 else number()
                for k in range(random.randrange(1, 8))]
    items = []
    while len(items) < 20:
        items = [t for t in items + [tree(7)] if whole(t, set()) > 100000]
    expect_unbiased(items, mean(items[-12:-4]), 0.1, 100)


@case
def large_dicts_and_sets():
    items = [{(i, k): number() for k in range(3000)} for i in range(20)]
    expect_unbiased(items, mean(items[-12:-4], *range(257)), 0.03)
    items = [{number() for k in range(3000)} for i in range(20)]
    expect_unbiased(items, mean(items[-12:-4]), 0.01)
    items = [collections.deque("%08d" % k for k in range(3000)) for i in range(20)]
    expect_unbiased(items, mean(items[-12:-4]), 0.01)


@case
def dicts_with_holes():
    items = [{k: "%09d" % k for k in range(9000)} for i in range(20)]
    for d in items:
        for k in range(0, 9000, 3):
            del d[k]
        for k in range(4000):
            d.pop(k, None)
    expect_unbiased(items, mean(items[-12:-4], *range(257)), 0.05)


@case
def subclasses_are_containers_too():
    class List(list):
        pass
    items = [List(floats(3000)) for i in range(20)]
    expect_near(weigh(items), mean(items[:1]), 0.05)
    items = [collections.defaultdict(list, {k: floats(3) for k in range(2000)}) for i in range(20)]
    expect_near(weigh(items), mean(items[:1], *range(257)), 0.05)


@case
def two_lists_of_the_same_objects():
    """In one item: both lists meet them."""
    items = []
    for i in range(20):
        objects = [bytearray(200) for k in range(3000)]
        items.append({"x": objects, "y": list(objects)})
    del objects
    expect_near(weigh(items), mean(items[:1], "x", "y"), 0.01)


@case
def lists_of_what_others_hold():
    dataset = [bytes(10000) for i in range(5000)]
    w = weigh([random.sample(dataset, 2000) for i in range(20)])
    expect_near(w, own([0] * 2000))


@case
def a_single_large_item():
    item = [bytes(random.randrange(2000)) for k in range(20000)]
    expect_unbiased([item], mean([item]), 0.03)


@case
def a_chain_too_long_to_be_followed():
    def chain():
        last = ()
        for i in range(20000):
            last = (last, number())
        return last
    w = weigh([chain() for i in range(20)])
    expect(w.host_high == float("inf") and w.host_low > 1000, w)


# ---- items with memory behind them ----


@case
def numbers_and_dates_of_extensions():
    w = weigh([datetime.datetime(2020, 1, 1) + datetime.timedelta(i) for i in range(ITEMS)])
    expect(not w.foreign and w.host_high < 200, w)


@case
def an_extensions_object_may_have_more():
    w = weigh([ctypes.create_string_buffer(10000) for i in range(ITEMS)])
    expect(w.foreign and w.host_high == float("inf") and w.host_low > 0, w)


@case
def arrays_of_numpy():
    try:
        import numpy
    except ImportError:
        return
    expect_near(weigh([numpy.zeros(1000) for i in range(ITEMS)]), own(numpy.zeros(1000)), 0.02)
    w = weigh([numpy.float64(i) for i in range(ITEMS)])
    expect(not w.foreign and w.host_high < 100, w)
    views = weigh([numpy.zeros((100, 100))[3] for i in range(ITEMS)])
    expect(80000 < views.host < 80400, views)
    large = numpy.zeros((100, 1000))
    expect(weigh([large[i] for i in range(ITEMS)]).host < 300, "views of one array")
    objects = weigh([numpy.array(["%01000d" % k for k in range(50)], dtype=object)
                     for i in range(ITEMS)])
    expect_near(objects, own(numpy.zeros(50)) + 50 * own("x" * 1000), 0.02)


# ---- cost ----


@case
def it_takes_no_long():
    """Any item takes some milliseconds at most, even on a busy machine."""
    gc.disable()
    nested = [[[floats(30) for a in range(30)] for b in range(30)] for c in range(20)]
    wide = [dict.fromkeys(range(200000)) for c in range(16)]
    items = [floats(200000) for c in range(16)]
    sets = [set(range(100000)) for c in range(16)]
    for container in (nested, wide, items, sets):
        took = []
        for i in range(5):
            library.weigh_forget()
            began = time.perf_counter()
            weigh(container)
            took.append(time.perf_counter() - began)
        expect(min(took) < 0.02, took)


def run(function):
    """Returns "" if it succeeded."""
    try:
        function()
        return ""
    except Failed as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()
    finally:
        gc.enable()


def main():
    global library
    library = ctypes.PyDLL(sys.argv[1])
    assert library.heap_learn()
    for function in CASES:
        if not sys.argv[2:] or any(name in function.__name__ for name in sys.argv[2:]):
            said = run(function).replace("\n", " | ")
            print("FAIL %s: %s" % (function.__name__, said) if said else "ok " + function.__name__,
                  flush=True)


if __name__ == "__main__":
    main()

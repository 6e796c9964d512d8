"""Objects with known holders, and what the probe's search says about each.

Run by tests/probe/holders.py with every CPython: holders_program.py LIBRARY [NAME...]. One line per
case: "ok NAME", or "FAIL NAME: the answer".
"""

import asyncio
import collections
import contextvars
import ctypes
import dataclasses
import functools
import gc
import io
import os
import sys
import threading
import time
import traceback
import types
import weakref

KINDS = ("other local global attribute class closure lru_cache exception generator thread default native "
         "garbage").split()
HERE = os.path.abspath(__file__)
library = None


class Holder(ctypes.Structure):
    _fields_ = [("kind_number", ctypes.c_int), ("share", ctypes.c_double),
                ("path_bytes", ctypes.c_char * 256), ("function_bytes", ctypes.c_char * 128),
                ("file_bytes", ctypes.c_char * 512), ("line", ctypes.c_int)]

    kind = property(lambda self: KINDS[self.kind_number])
    path = property(lambda self: self.path_bytes.decode())
    function = property(lambda self: self.function_bytes.decode())
    file = property(lambda self: self.file_bytes.decode())

    def __repr__(self):
        return "<%s %r of %r %s:%d, %.2f>" % (self.kind, self.path, self.function,
                                              os.path.basename(self.file), self.line, self.share)


def who(*addresses):
    """The holders of the objects at these addresses, the best first."""
    found = (Holder * 8)()
    count = library.holders_find((ctypes.c_void_p * len(addresses))(*addresses), len(addresses),
                                 found, 8)
    return [found[i] for i in range(count)]


class Failed(Exception):
    pass


def expect(true, said):
    if not true:
        raise Failed(repr(said))


def expect_first(holders, kind, path=None, function=None, share=1.0, file=HERE):
    """`function`: its end; up to 3.10 frames do not know the class."""
    expect(holders, "nothing was found")
    h = holders[0]
    expect(h.kind == kind and (path is None or h.path == path), holders)
    expect(function is None or h.function.split(".")[-1] == function.split(".")[-1], holders)
    expect(abs(h.share - share) < 0.01, holders)
    expect(file is None or os.path.abspath(h.file) == file, holders)
    return h


class Thing:
    """An object that the collector tracks."""


# ---- variables ----


def a_local_list():
    loss_history = [Thing() for _ in range(100)]
    line = sys._getframe().f_lineno + 1
    h = expect_first(who(id(loss_history)), "local", "loss_history", "a_local_list")
    expect(h.line == line, h)
    expect_first(who(*map(id, loss_history)), "local", "loss_history", "a_local_list")


def a_parameter_belongs_to_the_outer_function():
    history = [1.5]

    def append(log):
        return who(id(log))
    expect_first(append(history), "local", "history", "a_parameter_belongs_to_the_outer_function")


def a_variable_of_a_closure_that_runs():
    history = [[] for _ in range(9)]

    def step():
        return who(*map(id, history))
    expect_first(step(), "local", "history", "a_variable_of_a_closure_that_runs")


def make_counter():
    seen = [Thing()]

    def count():
        seen.append(Thing())
        return [id(o) for o in seen]
    return count


COUNTERS = {"count": make_counter()}


def a_closure():
    h = expect_first(who(*COUNTERS["count"]()), "closure", "seen", "count")
    expect(h.line == make_counter.__code__.co_firstlineno + 3, h)


def a_running_closure_whose_maker_is_gone():
    def make():
        kept = [Thing()]

        def step():
            return who(id(kept))
        return step
    expect_first(make()(), "closure", "kept", "step")


def a_comprehension_that_is_being_made():
    said = []

    def make(i):
        made = Thing()
        if i == 20:
            gc.collect()
            said.extend(who(*addresses))
        addresses.append(id(made))
        return made
    addresses = []
    kept = [make(i) for i in range(30)]
    expect(said and kept, said)
    expect(said[0].kind == "local" and said[0].path == "(unnamed)", said)
    expect(said[0].function.split(".")[-1] in ("<listcomp>", "a_comprehension_that_is_being_made"),
           said)


def a_name_that_is_not_ascii():
    größe_日本語 = [Thing()]
    expect_first(who(id(größe_日本語)), "local", "größe_日本語")


def a_very_long_name():
    long = "n" * 400
    space = {}
    exec("def f(who):\n    %s = [object()]\n    return who(id(%s))\n" % (long, long), space)
    h = expect_first(space["f"](who), "local", file=None)
    expect(h.path.endswith("...") and h.path.startswith("nnn") and len(h.path) < 256, h)


def a_local_of_another_thread():
    address, end, ready = [], threading.Event(), threading.Event()

    def work():
        pending = [Thing()]
        address.append(id(pending))
        ready.set()
        end.wait()
    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    time.sleep(.05)
    said = who(*address)
    end.set()
    thread.join()
    expect_first(said, "local", "pending", "work")


def deep_recursion():
    kept = [Thing()]

    def down(n):
        return down(n - 1) if n else who(id(kept))
    expect_first(down(500), "local", "kept", "deep_recursion")


# ---- modules and classes ----

CACHE = {}
REGISTRY = {"models": {7: [Thing()]}}


def a_global_dict():
    CACHE.update((i, Thing()) for i in range(50))
    expect_first(who(id(CACHE)), "global", "CACHE")
    expect_first(who(*[id(v) for v in CACHE.values()]), "global", "CACHE")
    h = expect_first(who(id(REGISTRY["models"][7])), "global", 'REGISTRY["models"][7]')
    expect(h.function == "" and h.line == 0, h)


def a_global_of_another_module():
    module = types.ModuleType("user_module")
    module.__file__ = os.path.join(os.path.dirname(HERE), "user_module.py")
    module.kept = [Thing()]
    sys.modules["user_module"] = module
    address = id(module.kept)
    del module
    expect_first(who(address), "global", "user_module.kept", file=None)
    del sys.modules["user_module"]


class Encoder:
    table = {}
    fixed = ([Thing()],)


def a_class_attribute():
    Encoder.table.update((i, Thing()) for i in range(9))
    expect_first(who(id(Encoder.table)), "class", "Encoder.table")
    expect_first(who(*[id(v) for v in Encoder.table.values()]), "class", "Encoder.table")
    expect_first(who(id(Encoder.fixed[0])), "class", "Encoder.fixed[0]")


def a_default_argument():
    def collect(item, into=[], *, also={}):
        into.append(Thing())
        also[len(also)] = Thing()
        return id(into), id(also)
    for _ in range(3):
        into, also = collect(1)
    expect_first(who(into), "default", "into", "collect")
    expect_first(who(also), "default", "also", "collect")


def an_attribute_of_a_function():
    a_global_dict.calls = [Thing()]
    expect_first(who(id(a_global_dict.calls)), "attribute", "a_global_dict.calls", "a_global_dict")
    del a_global_dict.calls


# ---- attributes ----


class Callback:
    def __init__(self):
        self.name = "progress"
        self.history = [Thing() for _ in range(20)]


class Handler:
    def __init__(self):
        self.callbacks = [Callback(), Callback(), Callback()]


class Trainer:
    def __init__(self):
        self.callback_handler = Handler()

    def train(self):
        return who(id(self.callback_handler.callbacks[2].history))


def an_attribute_path():
    trainer = Trainer()
    path = "trainer.callback_handler.callbacks[2].history"
    callbacks = id(trainer.callback_handler.callbacks)
    expect_first(trainer.train(), "attribute", path, "Callback")
    expect_first(who(callbacks), "attribute", "trainer.callback_handler.callbacks", "Handler")
    history = [id(o) for o in trainer.callback_handler.callbacks[2].history]
    expect_first(who(*history), "attribute", path, "Callback")
    every = [id(o) for c in trainer.callback_handler.callbacks for o in c.history]
    expect_first(who(*every), "attribute", "trainer.callback_handler.callbacks[...].history")


def an_attribute_with_its_dict_made():
    callback = Callback()
    vars(callback)["later"] = 1
    expect_first(who(id(callback.history)), "attribute", "callback.history", "Callback")


def self_where_there_is_no_other_name():
    expect_first(Trainer().train(), "attribute",
                 "self.callback_handler.callbacks[2].history", "Callback")


class Slotted:
    __slots__ = ("name", "items")


class Derived(Slotted):
    __slots__ = ("more",)


def slots():
    slotted = Derived()
    slotted.items, slotted.more = [Thing()], [Thing()]
    expect_first(who(id(slotted.items)), "attribute", "slotted.items", "Derived")
    expect_first(who(id(slotted.more)), "attribute", "slotted.more", "Derived")


@dataclasses.dataclass
class Batch:
    size: int
    rows: list


def a_dataclass():
    batches = [Batch(i, [Thing()]) for i in range(30)]
    expect_first(who(id(batches[4].rows)), "attribute", "batches[4].rows", "Batch")
    expect_first(who(*[id(b.rows) for b in batches]), "attribute", "batches[...].rows", "Batch")


Pair = collections.namedtuple("Pair", "first second")


def a_namedtuple():
    pair = Pair([Thing()], [Thing()])
    expect_first(who(id(pair.second)), "attribute", "pair.second", "Pair")


# ---- containers ----


class Table(dict):
    pass


class Rows(list):
    pass


def kinds_of_containers():
    window = collections.deque((Thing() for _ in range(300)), maxlen=500)
    expect_first(who(id(window)), "local", "window")
    expect_first(who(*map(id, window)), "local", "window")
    groups = collections.defaultdict(list)
    groups["a"].append(Thing())
    expect_first(who(id(groups["a"])), "local", 'groups["a"]')
    order = collections.OrderedDict((i, Thing()) for i in range(5))
    expect_first(who(*map(id, order.values())), "local", "order")
    expect_first(who(id(order[3])), "local", "order[3]")
    table = Table(key=[Thing()])
    expect_first(who(id(table["key"])), "local", 'table["key"]')
    table.extra = [Thing()]
    expect_first(who(id(table.extra)), "attribute", "table.extra", "Table")
    rows = Rows([[Thing()]])
    expect_first(who(id(rows[0])), "local", "rows[0]")
    members = {Thing() for _ in range(7)}
    expect_first(who(*map(id, members)), "local", "members")
    nested = {"a": [{"b": ([Thing()],)}]}
    expect_first(who(id(nested["a"][0]["b"][0])), "local", 'nested["a"][0]["b"][0]')


def keys_that_cannot_be_written():
    by_object = {Thing(): [Thing()], "x" * 500: [Thing()], 10 ** 40: [Thing()]}
    lists = [id(v) for v in by_object.values()]
    expect_first(who(lists[0]), "local", "by_object[...]")
    h = expect_first(who(lists[1]), "local")
    expect(h.path.startswith('by_object["xxx') and h.path.endswith('..."]'), h)
    expect_first(who(lists[2]), "local", "by_object[...]")


def things_that_the_collector_does_not_track():
    """Dicts of numbers, in an attribute that is a dict of numbers itself."""
    class Stats:
        def __init__(self):
            self.by_step = {}
    stats = Stats()
    stats.by_step.update((i, i * 1.5) for i in range(1000))
    expect_first(who(id(stats.by_step)), "attribute", "stats.by_step", "Stats")
    texts = ["%d bottles" % i for i in range(100)]
    expect_first(who(*map(id, texts)), "local", "texts")
    deep = {"losses": {"train": (1.5, "%d" % len(texts))}}
    expect_first(who(id(deep["losses"]["train"])), "local", 'deep["losses"]["train"]')


def a_container_in_itself():
    loop = [Thing()]
    loop.append(loop)
    loop.append({"self": loop})
    expect_first(who(id(loop[0])), "local", "loop[0]")
    expect_first(who(id(loop)), "local", "loop")


def a_hundred_thousand_deep():
    inner = nest = [Thing()]
    address = id(inner[0])
    for _ in range(100000):
        nest = [nest]
    expect_first(who(address), "local", "inner[0]")
    address = id(inner)
    inner = None
    expect(who(address) == [], who(address))
    while nest and isinstance(nest[0], list):
        nest = nest[0]


class Link:
    def __init__(self, before):
        self.before, self.data = before, [Thing()]


class Slotted:
    __slots__ = ("after", "data")

    def __init__(self):
        self.after, self.data = None, [Thing()]


def chains():
    """Each link holds the one before or after it. However long the chain, the name is short."""
    last, lists = None, []
    for _ in range(500):
        last = Link(last)
        lists.append(id(last.data))
    # Up to 3.10 there is a dict between two links, younger than both.
    expect_first(who(*lists[100:108]), "attribute", "last.before*.data", "Link")
    expect_first(who(id(last.before.before.before)), "attribute", "last.before*", "Link")
    expect_first(who(lists[-1]), "attribute", "last.data", "Link")
    first = end = Slotted()
    for _ in range(500):
        end.after = Slotted()
        end = end.after
    address, end = id(end.data), None
    expect_first(who(address), "attribute", "first.after*.data", "Slotted")
    cons, address = (Thing(),), None
    for _ in range(400):
        cons = ([], cons)
        address = address or id(cons[0])
    expect_first(who(address), "local", "cons[1]*[0]")
    applied, address = None, None
    for _ in range(400):
        applied = functools.partial(print, [], applied)
        address = address or id(applied.args[0])
    expect_first(who(address), "attribute", "applied.args[1]*[0]", "partial")


# ---- code that holds objects ----


@functools.lru_cache(maxsize=None)
def unbounded(n):
    return [Thing()]


@functools.lru_cache(maxsize=64)
def bounded(n):
    return [Thing()]


class Tokenizer:
    @functools.lru_cache(maxsize=None)
    def encode(self, text):
        return [Thing()]

    @functools.lru_cache(maxsize=32)
    def decode(self, text):
        return [Thing()]


def lru_caches():
    for function in unbounded, bounded:
        kept = [id(function(i)) for i in range(20)]
        h = expect_first(who(*kept), "lru_cache", function.__name__, function.__name__)
        expect(h.line == function.__wrapped__.__code__.co_firstlineno, h)
    tokenizers = [Tokenizer() for _ in range(10)]
    results = [id(t.encode("x")) for t in tokenizers] + [id(t.decode("x")) for t in tokenizers]
    owners = [id(t) for t in tokenizers]
    tokenizers = None
    expect_first(who(*results[:10]), "lru_cache", "Tokenizer.encode")
    expect_first(who(*results[10:]), "lru_cache", "Tokenizer.decode")
    expect_first(who(*owners), "lru_cache")


def fail(depth):
    batch = [Thing()]
    if depth:
        return fail(depth - 1)
    raise RuntimeError(id(batch))


def kept_exceptions():
    for depth in 0, 3, 25, 300:
        errors, addresses = [], []
        for _ in range(10):
            try:
                fail(depth)
            except RuntimeError as error:
                addresses.append(error.args[0])
                errors.append(error)
        error = None
        expect_first(who(*addresses), "exception", "errors", "kept_exceptions")
        expect_first(who(*map(id, errors)), "local", "errors")
    errors.clear()


run_log = contextvars.ContextVar("the log of a run")


def a_context_variable():
    run_log.set([Thing()])
    of_function = contextvars.ContextVar("of a function")
    of_function.set({"kept": [Thing()]})
    expect_first(who(id(run_log.get()[0])), "global", "run_log[0]")
    address = id(of_function.get()["kept"][0])
    h = who(address)[0]
    expect(h.kind == "global" and h.path == 'of a function["kept"][0]', h)
    contextvars.copy_context().run(run_log.set, [])
    expect_first(who(id(run_log.get()[0])), "global", "run_log[0]")


def an_exception_being_handled():
    try:
        fail(2)
    except RuntimeError:
        said = who(sys.exc_info()[1].args[0])
    expect_first(said, "exception", "", file=None)


def a_kept_frame():
    def inner():
        batch = [Thing()]
        return sys._getframe(), id(batch)
    frame, address = inner()
    expect_first(who(address), "local", 'frame.f_locals["batch"]')


def a_generator():
    def produce():
        buffer = []
        while True:
            buffer.append(Thing())
            yield [id(o) for o in buffer]
    producer = produce()
    for _ in range(10):
        addresses = next(producer)
    h = expect_first(who(*addresses), "generator", "buffer", "produce")
    expect(h.line == produce.__code__.co_firstlineno + 4, h)


def a_coroutine():
    async def wait_for(future):
        results = [Thing()]
        future.address = id(results)
        await future
        return results

    class Future(asyncio.Future):
        address = None

    async def main():
        future = Future()
        task = asyncio.ensure_future(wait_for(future))
        await asyncio.sleep(0)
        said = who(future.address)
        future.set_result(None)
        await task
        return said
    expect_first(asyncio.run(main()), "generator", "results", "wait_for")


def a_thread_that_has_not_begun():
    def work(items):
        pass
    threading.current_thread().waiting = threading.Thread(target=work, args=([Thing()],),
                                                          name="feeder")
    address = id(threading.current_thread().waiting._args[0])
    h = expect_first(who(address), "thread", "feeder._args[0]", "work")
    expect(h.line == work.__code__.co_firstlineno, h)
    del threading.current_thread().waiting


def partials_and_methods():
    hook = functools.partial(print, [Thing()], key=[Thing()])
    expect_first(who(id(hook.args[0])), "attribute", "hook.args[0]", "partial", file=None)
    expect_first(who(id(hook.keywords["key"])), "attribute", 'hook.keywords["key"]', file=None)
    method = Trainer().train
    address = id(method.__self__.callback_handler)
    expect_first(who(address), "attribute", "method.__self__.callback_handler", "Trainer")


def weak_references_hold_nothing():
    things = [Thing() for _ in range(5)]
    addresses = [id(t) for t in things]
    references = [weakref.ref(t) for t in things]
    table = weakref.WeakValueDictionary(enumerate(things))
    expect_first(who(*addresses), "local", "things")
    expect(len(references) == len(table) == 5, "weak")


# ---- no named holder ----


class Node:
    pass


def cycle():
    a, b = Node(), Node()
    a.other, b.other, a.items = b, a, [Thing()]
    return id(a.items), id(a)


def garbage():
    gc.disable()
    try:
        addresses = [cycle() for _ in range(20)]
        h = expect_first(who(*[a for pair in addresses for a in pair]), "garbage", "", file=None)
        expect(h.function == "" and h.file == "", h)
    finally:
        gc.enable()


def keep_in_c():
    thing, text = Thing(), "".join(["held", "by", "C"])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(text))
    return id(thing), id(text)


def what_a_class_is_made_of_is_no_garbage():
    for address in id(Encoder.__mro__), id(Derived), id(Derived.__bases__):
        said = who(address)
        expect(not said or said[0].kind not in ("garbage", "native"), said)


def held_by_c():
    addresses = keep_in_c()
    expect_first(who(*addresses), "native", "", file=None)


def pieces_of_a_text_file():
    """Up to 3.11, lists that an io.StringIO hides from the collector."""
    log, piece = io.StringIO(), "a piece " * 100
    log.write(piece)
    lists = [o for o in gc.get_objects() if type(o) is list and len(o) == 1 and o[0] is piece]
    expect(len(lists) == (sys.version_info < (3, 12)), lists)
    for found in map(id, lists):
        del lists
        expect_first(who(found), "local", None, "pieces_of_a_text_file")


def some_of_each():
    """Shares: three of four in a list, one in a dict."""
    kept, other = [Thing() for _ in range(3)], {"a": Thing()}
    said = who(*map(id, kept), id(other["a"]))
    expect_first(said, "local", "kept", share=.75)
    expect(said[1].path == 'other["a"]' and said[1].share == .25, said)


# ---- code of the program that must not run ----


class Run(Exception):
    pass


def never(*args, **kwargs):
    RAN.append(args)
    raise Run("code of the program ran")


RAN = []


class Meta(type):
    __mro__ = property(never)
    __name__ = property(never)
    __module__ = property(never)
    __dict__ = property(never)
    __getattribute__ = never
    __instancecheck__ = __subclasscheck__ = __eq__ = never
    __hash__ = type.__hash__


class Hostile(metaclass=Meta):
    __class__ = property(never)
    __dict__ = property(never)
    items = property(never)
    __getattribute__ = __getattr__ = __setattr__ = __repr__ = __str__ = __eq__ = __len__ = never
    __iter__ = __bool__ = __index__ = __get__ = never

    def __hash__(self):
        return hash("__name__") if ARMED else 7


ARMED = []


class HostileText(str):
    __eq__ = __hash__ = __str__ = __repr__ = __len__ = never


class HostileDict(dict):
    __getitem__ = __iter__ = __len__ = __repr__ = __eq__ = keys = values = items = never


def no_code_of_the_program_runs():
    hostile = Hostile()
    inside = [Thing()]
    address = id(inside)
    object.__setattr__(hostile, "kept", inside)
    inside = None
    del RAN[:]
    said = who(address)
    expect(RAN == [], RAN)
    expect_first(said, "attribute" if sys.version_info >= (3, 11) else said[0].kind)
    ARMED.append(1)
    holder = {hostile: [Thing()]}
    table = HostileDict(a=[Thing()])
    addresses = [id(v) for v in dict.values(holder)] + [id(v) for v in dict.values(table)]
    del RAN[:]
    said = [who(a) for a in addresses]
    ARMED.clear()
    expect(RAN == [], RAN)
    expect_first(said[0], "local", "holder[...]")
    expect_first(said[1], "local", 'table["a"]')


def nothing_is_changed():
    """No reference is kept, and the collector still finds everything."""
    class Gone(list):
        pass
    kept = Gone([Thing()])
    reference, counts = weakref.ref(kept), sys.getrefcount(kept)
    who(id(kept), id(kept[0]))
    expect(sys.getrefcount(kept) == counts, "references were taken")
    del kept
    expect(reference() is None, "it is still alive")
    expect(gc.isenabled(), "the collector was stopped")
    gc.disable()
    who(id(CACHE))
    expect(not gc.isenabled(), "the collector was started")
    gc.enable()


def our_own_never_appears():
    """Neither objects of our package nor values its functions work with."""
    folder = os.path.join(os.path.dirname(HERE), "tidemark")
    package = types.ModuleType("tidemark")
    package.__file__ = os.path.join(folder, "__init__.py")
    package.kept = [Thing()]
    address = id(package.kept)
    sys.modules["tidemark"] = package
    package = None
    expect(who(address) == [], who(address))
    space = {}
    exec(compile("def call(who, kept):\n    mine = [kept]\n    return who(id(kept), id(mine))\n",
                 os.path.join(folder, "callbacks.py"), "exec"), space)
    theirs = [Thing()]
    said = space["call"](who, theirs)
    expect_first(said, "local", "theirs", share=.5)
    expect(len(said) == 1, said)
    del sys.modules["tidemark"]


def modules_of_torch():
    """Their parts are written as a program writes them."""
    Module = type("Module", (), {"__module__": "torch.nn.modules.module"})

    class Net(Module):
        def __init__(self, **parts):
            self._modules, self._buffers, self.cache = parts, {"mean": [Thing()]}, [Thing()]
    model = Net(encoder=Net(**{"0": Net(), "1": Net()}))
    second = model._modules["encoder"]._modules["1"]
    addresses = id(second.cache), id(second._buffers["mean"]), id(second._buffers)
    second = None
    expect_first(who(addresses[0]), "attribute", "model.encoder[1].cache", "Net")
    expect_first(who(addresses[1]), "attribute", "model.encoder[1].mean", "Net")
    expect_first(who(addresses[2]), "attribute", "model.encoder[1]._buffers", "Net")
    other = Net(codebook=Net())  # a name as long as that of the table that has it
    expect_first(who(id(other._modules["codebook"].cache)), "attribute", "other.codebook.cache",
                 "Net")


def parameters_are_the_models():
    """The optimizer refers to them too."""
    module = types.ModuleType("torch.optim.optimizer")
    module.Optimizer = type("Optimizer", (), {})
    sys.modules["torch.optim.optimizer"] = module

    class Adam(module.Optimizer):
        def __init__(self, weights):
            self.param_groups = [{"params": weights}]
            self.state = {id(w): [Thing()] for w in weights}
    model = Handler()
    optimizer = Adam([c.history for c in model.callbacks])
    weight, average = (id(x) for x in optimizer.param_groups[0]["params"][1:2] +
                       list(optimizer.state.values())[1:2])
    expect_first(who(weight), "attribute", "model.callbacks[1].history", "Callback")
    h = expect_first(who(average), "attribute", function="Adam")
    expect(h.path.startswith("optimizer.state["), h)
    del sys.modules["torch.optim.optimizer"]


def strange_arguments():
    expect(who() == [], "none asked for")
    same = [Thing()]
    expect_first(who(id(same), id(same), id(same)), "local", "same")
    many = [Thing() for _ in range(50000)]
    expect_first(who(*map(id, many)), "local", "many")
    expect(len(who(id(None))) <= 8, "None")
    who(id(Thing), id(type), id(who), id(sys), id(sys.modules), id(1), id(""), id(()))


CASES = [a_local_list, a_parameter_belongs_to_the_outer_function, a_variable_of_a_closure_that_runs,
         a_closure, a_running_closure_whose_maker_is_gone, a_comprehension_that_is_being_made,
         a_name_that_is_not_ascii, a_very_long_name, a_local_of_another_thread, deep_recursion,
         a_global_dict, a_global_of_another_module, a_class_attribute, a_default_argument,
         an_attribute_of_a_function, an_attribute_path, an_attribute_with_its_dict_made,
         self_where_there_is_no_other_name, slots, a_dataclass, a_namedtuple, kinds_of_containers,
         keys_that_cannot_be_written, things_that_the_collector_does_not_track,
         a_container_in_itself, a_hundred_thousand_deep, chains, lru_caches, kept_exceptions,
         an_exception_being_handled, a_kept_frame, a_generator, a_coroutine, a_context_variable,
         a_thread_that_has_not_begun, partials_and_methods, weak_references_hold_nothing, garbage,
         what_a_class_is_made_of_is_no_garbage, held_by_c, pieces_of_a_text_file, some_of_each, no_code_of_the_program_runs, nothing_is_changed,
         our_own_never_appears, modules_of_torch, parameters_are_the_models, strange_arguments]


def run(case):
    """Returns "" if it succeeded."""
    try:
        case()
        return ""
    except Failed as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()


def main():
    global library
    library = ctypes.PyDLL(sys.argv[1])
    library.holders_find.restype = ctypes.c_size_t
    library.holders_find.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                     ctypes.c_size_t]
    for case in CASES:
        if not sys.argv[2:] or any(name in case.__name__ for name in sys.argv[2:]):
            said = run(case).replace("\n", " | ")
            print("FAIL %s: %s" % (case.__name__, said) if said else "ok " + case.__name__,
                  flush=True)


if __name__ == "__main__":
    main()

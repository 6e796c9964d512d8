#!/usr/bin/env python3
"""tests/probe/census.py BUILD [--every] [NAME...]: the census harms no program.

Runs programs with odd heaps and odd habits, with as many censuses and searches as possible. Each
must end as it would alone, and its objects must have been counted. Every case runs with the
interpreters of run.py: cases about torch only where it is installed, some with one of them only.
One line per case, `N passed, N failed` last.
"""

import functools
import glob
import os
import pathlib
import signal
import subprocess
import sys
import time

import run
import runner
from runner import Failed, expect

# Prepended to every program: until(N, work) works and prints until N censuses were taken and, if
# searches were requested, one has ended.
PRELUDE = """
import glob, os, sys, time

def records():
    for path in glob.glob(os.environ.get("TIDEMARK_RUN", "?") + "/%d-*.census" % os.getpid()):
        try:
            with open(path) as f:
                return [line.rstrip("\\n").split("\\t") for line in f]
        except FileNotFoundError:
            pass
    return []

def record(name):
    return next((r for r in records() if r[0] == name), None)

def census():
    found = record("census")
    return int(found[1]) if found else 0

def until(count, work=lambda: None, most=40):
    end = time.monotonic() + most
    while census() < count:
        assert time.monotonic() < end, "census %d of %d" % (census(), count)
        work()
        print("a line")
        time.sleep(.001)

leak = []
class Kept:
    pass
def grow():
    leak.append(Kept())
"""

COUNT, HOLDERS = 1, 2


class Job(run.Bench):
    """One program, with censuses in it."""

    def start(self, text, level=HOLDERS, probe=True, prelude=True, options=(), limit="", **extra):
        program = os.path.join(self.folder, "program.py")
        pathlib.Path(program).write_text((PRELUDE if prelude else "") + text)
        want = [self.build / "tests" / "want", self.rings, str(level)]
        self.want = subprocess.Popen(want, stdin=subprocess.PIPE)
        env = self.environment(probe, {"TIDEMARK_CENSUS_SHARE": "1", "OMP_NUM_THREADS": "1",
                                       "PYTHONUNBUFFERED": "1", **extra})
        command = [self.python, *options, program]
        if limit:
            command = ["bash", "-c", limit + '; exec "$@"', "-", *command]
        return subprocess.Popen(command, cwd=self.folder, text=True, env=env, errors="replace",
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def finish(self, program, timeout=int(os.environ.get("CENSUS_SECONDS", "0")) + 120):
        try:
            out, err = program.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
            raise Failed("it does not end")
        finally:
            self.want.stdin.close()
            self.want.wait()
        return subprocess.CompletedProcess([], program.returncode, out, err)

    def run(self, text, **extra):
        return self.finish(self.start(text, **extra))

    def ends_well(self, text, **extra):
        """The output without the lines printed as moments, which threads may mix."""
        done = self.run(text, **extra)
        lines = done.stdout.replace("a line", "").split("\n")
        out = "".join(line + "\n" for line in lines if line)
        expect(done.returncode == 0 and done.stderr == "",
               "exit %d\n%s%s" % (done.returncode, out[-500:], done.stderr[-2000:]))
        return out

    def records(self, name):
        """From the reports left behind."""
        texts = [pathlib.Path(p).read_text() for p in glob.glob(self.rings + "/*.census")]
        lines = [line.split("\t") for text in texts for line in text.splitlines()]
        return [line for line in lines if line[0] == name]

    def record(self, name):
        found = self.records(name)
        expect(found, "no %s in any report" % name)
        return found[0]

    def expect_holder(self, path):
        paths = [r[4] for r in self.records("holder")]
        expect(path in paths, "%s is not among %s" % (path, paths))


CASES = []


def case(on="all", torch=False):
    """on: "all" interpreters, or "one" of them."""
    def keep(function):
        CASES.append((function, on, torch))
        return function
    return keep


# ---- odd heaps ----


@case()
def finds_what_grows(b):
    """Without counts, all other cases would pass too."""
    b.ends_well("until(8, grow)\n")
    b.expect_holder("leak")


@case()
def bytes_by_the_place_that_holds_them(b):
    """Each text is small and replaced by a longer one. What is filled once is no growth."""
    b.ends_well("""
class Parts:
    def __init__(self):
        self.texts = {n: "x" * 8192 for n in range(100)}
        self.raw, self.slots, self.n = b"", [None] * 100000, 0
    def work(self):
        for n in self.texts:
            self.texts[n] += "x" * 256
        self.raw += b"x" * 32768
        self.slots[self.n], self.n = "x" * (8192 + self.n), self.n + 1
parts = Parts()
until(8, parts.work)
""")
    sizes = [r[1] for r in b.records("growing") if r[2] == "size"]
    held = {r[4] for r in b.records("holder") if r[1] in sizes}
    expect(held == {"parts.texts", "parts.raw"}, held)


@case()
def items_of_many_containers_in_one(b):
    """Numbers in lists in a dict: no list has most of them, and the collector tracks no number."""
    b.ends_well("""
class Users:
    def __init__(self):
        self.scores = {u: [] for u in range(2000)}
        self.named = {"user %d" % u: [] for u in range(50)}
        self.last = {u: [0.5 * k for k in range(u % 5)] for u in range(500)}
    def work(self):
        for u in self.scores:
            self.scores[u].append(float(len(self.scores[u])))
        for u in self.named:
            self.named[u].append(float(len(self.named[u])))
        for u in self.last:
            self.last[u] = [0.5 * k for k in range((u + len(self.scores[u])) % 5)]
users = Users()
until(8, users.work)
""")
    growing = {r[1]: [int(p.split(":")[1]) for p in r[6].split()] for r in b.records("growing")}
    gained = {r[4]: growing[r[1]][-1] - growing[r[1]][0] for r in b.records("holder")}
    expect(set(gained) == {"users.scores[...]", "users.named[...]"}, gained)
    expect(gained["users.scores[...]"] == 40 * gained["users.named[...]"], gained)


@case()
def items_of_many_objects_in_one_container(b):
    """The histories of a list of meters are one thing that grows; those of a dict of ten another."""
    b.ends_well("""
class Meter:
    def __init__(self): self.history, self.recent = [0.5] * 9, [0.5] * 9
    def work(self):
        self.history.append(0.5 * len(self.history))
        self.recent[:] = [0.5 * k for k in range(9)]
meters, layers = [Meter() for k in range(100)], {"layer %d" % k: Meter() for k in range(10)}
def work():
    for m in meters: m.work()
    for m in layers.values(): m.work()
until(8, work)
""")
    growing = {r[1]: [int(p.split(":")[1]) for p in r[6].split()] for r in b.records("growing")}
    gained = {r[4]: growing[r[1]][-1] - growing[r[1]][0] for r in b.records("holder")}
    expect(set(gained) == {"meters[...].history", "layers[...].history"}, gained)
    expect(gained["meters[...].history"] == 10 * gained["layers[...].history"], gained)


@case()
def a_registry_of_a_library_leads_to_the_program(b):
    b.ends_well("""
import weakref
class Trainer: pass
trainer = Trainer()
def release(rows):
    rows.clear()
def work():
    weakref.finalize(trainer, release, [len(leak)])
until(8, work)
""")
    b.expect_holder("finalize._registry")
    callers = [(r[2], os.path.basename(r[3])) for r in b.records("caller")]
    line = PRELUDE.count("\n") + 5  # of release()
    expect(len(callers) > 0 and set(callers) == {(str(line), "program.py")}, callers)


@case(torch=True)
def a_parameter_that_a_larger_one_replaces(b):
    """In a model with more parameters than can be followed one by one."""
    b.ends_well("""
import torch
class Book(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(100))
        self.codes = torch.nn.Parameter(torch.zeros(1024, 64))
    def work(self):
        self.codes = torch.nn.Parameter(torch.cat([self.codes, torch.zeros(64, 64)]))
book = Book()
until(8, book.work)
""")
    b.expect_holder("book.codes")


@case(torch=True)
def slots_are_a_bound_though_the_step_has_one_more(b):
    """The step's tensor alternates between two places, so it looks like one that is kept."""
    flags = b.ends_well("""
import torch
slots, n, own, seen = {k: None for k in range(1000000)}, 0, torch.zeros(64), {}
def work():
    global n, own
    slots[n] = torch.zeros(64)
    n += 1
    own = torch.zeros(64)
    grown = record("growing")
    if grown and grown[2] == "tensors":
        seen[census()] = grown[5]
until(25, work)
print(*seen.values())
""").split()
    expect(len(flags) > 4 and all("bounded=1000000" in each for each in flags), flags)


MARKED = """
ran = []
class Meta(type):
    def __repr__(c): ran.append("meta repr")
    def __eq__(c, o): ran.append("meta eq"); return True
    def __hash__(c): ran.append("meta hash"); return 1
    def __getattribute__(c, n): ran.append("meta get " + n); raise RuntimeError
    def __instancecheck__(c, o): ran.append("instance"); return True
    def __subclasscheck__(c, o): ran.append("subclass"); return True
    def mro(c): return type.mro(c)
class Broken(metaclass=Meta):
    def __init__(self, n=0): object.__setattr__(self, "n", n)
    def __repr__(self): ran.append("repr"); raise RuntimeError
    def __eq__(self, o): ran.append("eq"); raise RuntimeError
    def __hash__(self): ran.append("hash"); return hash("__module__")
    def __len__(self): ran.append("len"); raise RuntimeError
    def __iter__(self): ran.append("iter"); raise RuntimeError
    def __bool__(self): ran.append("bool"); raise RuntimeError
    def __sizeof__(self): ran.append("sizeof"); raise RuntimeError
    def __getattribute__(self, n): ran.append("get " + n); raise RuntimeError
    def __getattr__(self, n): ran.append("getattr " + n); raise RuntimeError
    def __del__(self): ran.append("del")
    @property
    def __class__(self): ran.append("class"); raise RuntimeError
    @property
    def __dict__(self): ran.append("dict"); raise RuntimeError
class List(list):
    __len__ = __getitem__ = __iter__ = __eq__ = lambda *a: ran.append("list")
class Dict(dict):
    __len__ = __getitem__ = __iter__ = __eq__ = items = keys = lambda *a: ran.append("dict")
class Set(set):
    __len__ = __iter__ = __eq__ = __contains__ = lambda *a: ran.append("set")
class Text(str):
    def __eq__(self, o): ran.append("text eq"); return True
    __hash__ = str.__hash__
keep = [List(), Dict(), Set()]
def work():
    for i in range(4):
        leak.append(Broken())
        list.append(keep[0], Broken())
        dict.__setitem__(keep[1], len(leak) * 4 + i, Broken())
        set.add(keep[2], len(leak) * 4 + i)
Odd = type("numpy.ndarray", (), {"__slots__": tuple("abcdefghij"), "__module__": Text("x")})
keep += [Odd() for i in range(100)]
for o in keep[3:]:
    o.a = o.b = "x"
vars(sys)[Text("torch.optim")] = 1
del ran[:]
"""


@case()
def runs_no_code_of_the_program(b):
    """Classes and metaclasses that record every call and fail in it."""
    out = b.ends_well(MARKED + "until(10, work)\nprint(ran)\nos._exit(0)\n")
    expect(out == "[]\n", out[:300])
    expect(b.records("holder"), "nothing was searched")


@case()
def deep_nesting(b):
    """Lists, dicts, tuples, closures and exceptions, 100,000 deep, and a cycle of them."""
    out = b.ends_well("""
a, d, t = [], {}, ()
first = a
for i in range(100000):
    a = [a]
    d = {"x": d, "y": a}
    t = (t, a)
first.append(a)
e = None
for i in range(20000):
    n = ValueError(i)
    n.__cause__ = e
    e = n
until(8, grow)
print("done")
os._exit(0)
""")
    expect(out == "done\n", out)
    b.expect_holder("leak")


@case()
def classes_made_and_dropped(b):
    """100,000 of them, some of which stay."""
    b.ends_well("""
n = 0
def work():
    global n
    for i in range(2000):
        n += 1
        c = type("C%d" % n, (), {"x": i})
        if i == 0:
            leak.append(c)
    leak.append(c())
while n < 100000:
    work()
    print("a line")
until(census() + 4, lambda: [grow() for i in range(100)])
""")
    expect(int(b.record("census")[1]) >= 4, "censuses")
    types = [r[1] for r in b.records("types")]
    expect("Kept" in types, types)


@case()
def other_threads_allocate_and_free(b):
    """Eight threads, with cycles, weak references and collections."""
    b.ends_well("""
import gc, threading, weakref
stop = False
class Node:
    def __init__(self): self.me = self; self.d = {1: [self]}; self.w = weakref.ref(self)
def churn():
    while not stop:
        x = [Node() for i in range(200)]
        y = {i: [i, str(i)] for i in range(200)}
        del x, y
        gc.collect(0)
threads = [threading.Thread(target=churn) for i in range(8)]
for t in threads: t.start()
sys.setswitchinterval(1e-5)
try:
    until(12, grow, 90)
finally:
    stop = True
for t in threads: t.join()
""")


@case()
def the_collector_in_odd_states(b):
    """Disabled, frozen, debugging, and running: its callbacks print lines."""
    b.ends_well("""
import gc
gc.disable(); gc.freeze()
until(4, grow)
gc.enable(); gc.unfreeze(); gc.set_debug(gc.DEBUG_SAVEALL)
until(8, grow)
gc.set_debug(0); gc.garbage.clear()
class Cycle:
    def __init__(self): self.me = self
    def __del__(self): print("a line")
def work():
    grow(); Cycle(); gc.collect()
gc.callbacks.append(lambda phase, info: print("a line"))
until(20, work)
assert gc.isenabled()
""")


@case()
def debugging_memory(b):
    """Every allocator that the interpreter has, and tracemalloc."""
    for allocator in ("debug", "malloc", "malloc_debug", "pymalloc_debug"):
        b.ends_well("until(8, grow)\n", PYTHONMALLOC=allocator)
        b.expect_holder("leak")
        b.forget()
    b.ends_well("until(8, grow)\n", PYTHONTRACEMALLOC="10", options=("-X", "dev"))
    b.expect_holder("leak")


@case()
def tracing(b):
    """sys.settrace() and sys.setprofile() see only the program."""
    text = """
seen = []
def on(frame, event, arg):
    seen.append((event, frame.f_code.co_name, getattr(arg, "__name__", "") if "c_" in event else ""))
    return on
def work():
    for i in range(600):
        print("a line")
        grow()
        if i %% 10 == 0: time.sleep(.003)
sys.%s(on)
work()
sys.%s(None)
print(seen.count(seen[0]), len(seen), sorted(set(seen)))
"""
    for which in ("settrace", "setprofile"):
        with_it, without = (b.ends_well(text % (which, which), probe=p) for p in (True, False))
        expect(with_it == without, "%s\n%s" % (with_it, without))
        expect(int(b.record("census")[1]) > 3, "censuses")
        b.forget()


@case(on="one")
def ten_million_objects(b):
    """A child walks the heap; the program is paused for the fork only."""
    out = b.ends_well("""
import gc
gc.disable()
big = [[] for i in range(10000000)]
began = time.monotonic()
until(6, grow, 100)
children = [int(x) for x in record("cost")[1:]]
""")
    del out
    cost = [int(x) for x in b.record("cost")[1:]]
    expect(int(b.record("census")[3]) > 10000000, "objects")
    expect(cost[3] < 1e9, "a pause of %d ms" % (cost[3] / 1e6))
    expect(cost[4] > 5 * cost[2], "children took %d ms, pauses %d" % (cost[4] / 1e6, cost[2] / 1e6))
    b.expect_holder("leak")


@case(on="one")
def what_is_cut_off_is_made_by_a_child(b):
    """At once: the pause was not wasted, and the next chance may be far away."""
    b.ends_well("""
import gc
gc.disable()
big = [[] for i in range(6000000)]
until(1)
""", level=COUNT)
    _, number, _, objects, complete, _ = b.record("census")
    expect((number, complete, b.record("cost")[1]) == ("2", "1", "1"),
           "%s, %s" % (b.record("census"), b.record("cost")))
    expect(int(objects) > 6000000, "objects")


@case(on="one")
def large_containers_do_not_stop_it(b):
    """The newest of millions of items are found from the end."""
    b.ends_well("""
import collections
big = dict.fromkeys(range(3000000)), set(range(3000000)), collections.deque(range(3000000))
n = 3000000
def work():
    global n
    for i in range(10):
        n += 1
        big[0][n] = [n]; big[1].add(n); big[2].append(n)
until(8, work)
""", level=COUNT)
    types = {r[1]: r[3] for r in b.records("what")}
    items = {types[r[1]]: r[3] for r in b.records("item")}
    expect(set(items) >= {"dict", "set", "collections.deque"}, items)
    expect(items["dict"] == "list", items)
    expect(int(b.record("cost")[4]) < 100e6, "a pause of %s ns" % b.record("cost")[4])


@case(on="one")
def a_heap_in_pieces(b):
    """Half a million free chunks: mallinfo2() is not called again and again."""
    text = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(1100 + i % 3 * 100) for i in range(1000000)]
for p in blocks[::2]: libc.free(p)
del blocks
until(30, grow)
"""
    b.ends_well(text, level=COUNT)
    cost = [int(x) for x in b.record("cost")[1:]]
    expect(cost[2] < 2 * cost[3], "pauses of %d ms, the longest %d" % (cost[2] / 1e6, cost[3] / 1e6))
    b.forget()
    b.ends_well(text)
    expect(b.records("heap"), "the heap is not known")


# ---- limits ----


@case()
def arenas_partly_in_use(b):
    """As Python reports them, in the child of a census; not if malloc() serves objects."""
    text = ("texts = [str(n) * 8 for n in range(400000)]\n"
            "few = texts[::500]\ndel texts\n"
            "until(8, grow)\n")
    b.ends_well(text)
    used, free = (int(number) for number in b.record("arenas")[1:])
    expect(used > 1e6 and 20e6 < free < 60e6, "%d used, %d free" % (used, free))
    b.forget()
    b.ends_well(text, PYTHONMALLOC="malloc")
    expect(not b.records("arenas"), "arenas without any")


@case(on="one")
def no_more_processes(b):
    """RLIMIT_NPROC: no child, but counts."""
    if os.geteuid() == 0:
        text = "import os\nos.setgid(65534); os.setuid(65534)\n"
        os.chmod(b.folder, 0o777)
        os.chown(b.rings, 65534, 65534)
    else:
        text = ""
    b.ends_well("import resource\n" + text + "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))\n"
                "os.chdir('/')\nuntil(10, grow)\n")
    cost = b.record("cost")
    expect(cost[2] == "0" and int(cost[1]) > 5, cost)
    expect("Kept" in [r[1] for r in b.records("types")], "types")


@case(on="one")
def little_memory(b):
    """RLIMIT_AS: whatever part of the probe does not fit, the program ends well."""
    for extra in (0, 1, 2, 4, 8, 16, 32, 64, 128, 300, 600):
        out = b.ends_well("""
import resource
now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + (EXTRA << 20) + (1 << 19),) * 2)
for i in range(300):
    print("a line")
    leak.append(Kept())
    time.sleep(.001)
print("done")
""".replace("EXTRA", str(extra)))
        expect(out == "done\n", out)


@case(on="one")
def folders_that_cannot_be_written(b):
    """Removed, read-only, full."""
    text = """
import shutil
until(5, grow)
%s
for i in range(300):
    print("a line")
    grow()
    time.sleep(.001)
"""
    b.ends_well(text % "shutil.rmtree(os.environ['TIDEMARK_RUN'])")
    os.makedirs(b.rings, 0o700, exist_ok=True)
    if os.geteuid() != 0:
        return
    b.ends_well(text % "os.setuid(65534); os.chmod" if False else
                text % "os.chmod(os.environ['TIDEMARK_RUN'], 0o500); os.setuid(65534)")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200k,mode=700", "none", b.rings],
                             capture_output=True).returncode == 0
    if mounted:
        try:
            b.ends_well(text % """
try:
    with open(os.environ['TIDEMARK_RUN'] + '/fill', 'wb') as f:
        while True: f.write(bytes(4096)); f.flush()
except OSError: pass
""")
        finally:
            subprocess.run(["umount", b.rings], check=True)


# ---- the child ----


@case()
def nobody_sees_the_child(b):
    """No SIGCHLD, nothing to wait for, and no handler runs in it, ours or the program's."""
    out = b.ends_well("""
import atexit, signal, subprocess, multiprocessing, threading
seen = []
mark = os.environ["TIDEMARK_RUN"] + "/mark"
def note(what):
    seen.append(what)
    with open(mark, "a") as f: f.write("%s %d\\n" % (what, os.getpid()))
signal.signal(signal.SIGCHLD, lambda *a: note("SIGCHLD"))
os.register_at_fork(before=lambda: note("before"), after_in_parent=lambda: note("parent"),
                    after_in_child=lambda: note("child"))
atexit.register(note, "exit")
def children():
    return open("/proc/self/task/%d/children" % os.getpid()).read().split()
def work():
    grow()
    for wait in (os.wait, lambda: os.waitpid(-1, os.WNOHANG),
                 lambda: os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)):
        try:
            wait()
            note("waited")
        except ChildProcessError:
            pass
    assert len(children()) <= 1, children()
until(20, work)
assert not seen, seen
print(open(mark).read() if os.path.exists(mark) else "nothing")
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
for i in range(20):
    print("a line")
    assert subprocess.run(["true"]).returncode == 0
    assert subprocess.run("exit 7", shell=True).returncode == 7
""")
    expect(out == "nothing\n", out)


@case()
def no_child_is_left(b):
    """Also if nothing is wanted any more."""
    program = b.start("""
until(6, grow)
print("now", flush=True)
time.sleep(.5)
for i in range(100):
    print("a line")
    time.sleep(.01)
print(open("/proc/self/task/%d/children" % os.getpid()).read().split())
""")
    for line in program.stdout:
        if line == "now\n":
            break
    b.want.stdin.close()
    b.want.wait()
    subprocess.run([b.build / "tests" / "want", b.rings, "0"], stdin=subprocess.DEVNULL)
    b.want = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    done = b.finish(program)
    expect(done.stdout.endswith("[]\n") and done.returncode == 0, done.stdout[-80:] + done.stderr)


SLOW_CHILD = """
big = [[i] for i in range(1500000)]
for i in range(2000):
    grow()
    print("a line")
    if census() > 2 and child(): break
    time.sleep(.001)
"""
CHILD = """
def child():
    for pid in open("/proc/self/task/%d/children" % os.getpid()).read().split():
        try:
            if open("/proc/%s/comm" % pid).read() == "tidemark-census\\n" and \
               open("/proc/%s/stat" % pid).read().split()[2] != "Z": return int(pid)
        except OSError: pass
    return 0
"""


@case()
def the_last_census_is_at_the_end(b):
    """For a run that ends after two censuses and still holds its objects."""
    b.ends_well("""
import atexit
atexit.register(lambda: seen.append("the program's own comes later, since it came first"))
seen = []
for i in range(7):
    seen.append(bytearray(5000))
    print("a line", flush=True)
    time.sleep(0.03)
    if i == 5: seen += [bytearray(5000) for _ in range(30)]
""")
    deadline = time.monotonic() + 20
    while not b.records("holder") and time.monotonic() < deadline:
        time.sleep(0.05)
    expect(b.record("census")[1] == "3", "not three: %s" % b.record("census"))
    b.expect_holder("seen")


@case(on="one")
def the_program_ends_first(b):
    """Its pipe closes with it, its locks are released, its exit status is its own."""
    program = b.start(CHILD + """
import fcntl
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
""" + SLOW_CHILD + """
print("child", child())
sys.stdout.flush()
os._exit(3)
""")
    lines = program.stdout.read().splitlines()
    ended = time.monotonic()
    pid = int(lines[-1].split()[1])
    expect(pid > 0, "no child at the end: " + lines[-1])
    expect(os.path.exists("/proc/%d" % pid) and program.wait() == 3, "the child ended first")
    taken = subprocess.run(["flock", "-n", os.path.join(b.folder, "lock"), "true"]).returncode
    alive = os.path.exists("/proc/%d" % pid)
    expect(taken == 0, "the lock is still held")
    expect(alive, "the child had ended before the lock was tried")
    while os.path.exists("/proc/%d" % pid) and time.monotonic() < ended + 30:
        time.sleep(.05)
    b.finish(program)
    expect(not os.path.exists("/proc/%d" % pid), "the child does not end")


def worked(pid):
    """CPU seconds that a process has used, however rarely it was scheduled; None: it ended."""
    try:
        words = pathlib.Path("/proc/%d/stat" % pid).read_text().split()
    except OSError:
        return None
    return None if words[2] in "ZX" else int(words[13]) / os.sysconf("SC_CLK_TCK")


@case(on="one")
def signals_to_the_group(b):
    """An interrupt ends the child with the program; other signals reach the program only."""
    for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
        program = b.start(CHILD + """
import signal
signal.signal(signal.SIGUSR1, lambda *a: os.write(2, b"usr1\\n"))
""" + SLOW_CHILD + """
print("child", child(), flush=True)
time.sleep(60 if %r != "SIGUSR1" else 1)
""" % name)
        pid = 0
        for line in program.stdout:
            if line.startswith("child"):
                pid = int(line.split()[1])
                break
        expect(pid > 0, "no child")
        os.killpg(program.pid, getattr(signal, name))
        before, deadline = worked(pid) or 0, time.monotonic() + 20
        while (now := worked(pid)) is not None and now - before < .2 and \
                time.monotonic() < deadline:
            time.sleep(.01)
        done = b.finish(program)
        if name == "SIGUSR1":
            expect(done.returncode == 0 and done.stderr == "usr1\n", done.stderr)
        else:
            expect(now is None, "the child lives on after " + name)
            expect(done.returncode in (-signal.SIGINT, -signal.SIGTERM), done.returncode)
        b.forget()


@case()
def a_killed_child_is_no_matter(b):
    """Every second child, at any time: the next one is made, and no count is half done."""
    b.ends_well(CHILD + """
import random, signal
big = [[i] for i in range(400000)]
seen = killed = last = 0
def work():
    global seen, killed, last
    grow()
    pid = child()
    if pid and pid != last:
        seen += 1
        if seen % 2:
            time.sleep(random.random() * .05)
            os.kill(pid, signal.SIGKILL)
            killed += 1
    last = pid or last
until(10, work, 90)
assert killed > 1, killed
""")
    reported = b.reported().values("sample", "py.objects")
    expect(reported and min(reported) > 400000, reported[:10])


@case(on="one")
def exec_while_a_child_works(b):
    """The new program is counted like any other."""
    out = b.ends_well(CHILD + """
if len(sys.argv) < 2:
    """ + SLOW_CHILD.replace("\n", "\n    ") + """
    assert child()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
until(6, grow)
print("done")
""")
    expect(out == "done\n", out)


@case()
def forks_of_the_program(b):
    """Workers forked during censuses are intact, and are counted themselves."""
    out = b.ends_well("""
import multiprocessing, threading
def job(n):
    mine = []
    for i in range(50):
        mine.append([i])
        print("a line")
        time.sleep(.002)
    return n
def work():
    grow()
    pid = os.fork()
    if pid == 0:
        job(1)
        os._exit(5)
    assert os.waitpid(pid, 0)[1] >> 8 == 5
until(10, work, 90)
with multiprocessing.get_context("fork").Pool(4) as pool:
    assert pool.map(job, range(8)) == list(range(8))
def in_thread():
    for i in range(5):
        pid = os.fork()
        if pid == 0: os._exit(6)
        assert os.waitpid(pid, 0)[1] >> 8 == 6
t = threading.Thread(target=in_thread)
t.start()
until(census() + 3, grow)
t.join()
print("done")
""", options=("-W", "ignore"))
    expect(out == "done\n", out)


@case(on="one")
def no_core_is_left(b):
    """However the child ends."""
    b.ends_well(CHILD + "import signal\n" + SLOW_CHILD + """
pid = child()
assert pid
os.kill(pid, signal.SIGSEGV)
until(census() + 3, grow)
assert not [f for f in os.listdir(".") if "core" in f], os.listdir(".")
""", limit="ulimit -c unlimited")


# ---- what is printed ----


@case()
def printed_from_anywhere(b):
    """Threads, signal handlers, finalizers, at the very end; faulthandler."""
    out = b.ends_well("""
import atexit, faulthandler, signal, threading
stop = False
def talk():
    while not stop: print("a line"); time.sleep(.001)
threads = [threading.Thread(target=talk) for i in range(3)]
for t in threads: t.start()
signal.signal(signal.SIGALRM, lambda *a: print("a line"))
signal.setitimer(signal.ITIMER_REAL, .003, .003)
class Says:
    def __del__(self): print("a line")
faulthandler.enable()
faulthandler.register(signal.SIGUSR2, file=open(os.devnull, "w"))
def work():
    Says(); grow()
    os.kill(os.getpid(), signal.SIGUSR2)
until(20, work, 90)
signal.setitimer(signal.ITIMER_REAL, 0)
stop = True
for t in threads: t.join()
atexit.register(lambda: [print("a line") or time.sleep(.001) for i in range(50)])
at_the_end = Says(); at_the_end.me = at_the_end
sys.stdout.at_the_end = Says()
""")
    expect(out == "", out[:300])


@case()
def odd_outputs(b):
    """Closed, replaced, binary, in pieces; also the errno of a failed write."""
    b.ends_well("""
import ctypes, errno
until(4, grow)
for i in range(50):
    os.write(1, bytes(range(256)) * 4)
    os.write(1, b"")
    time.sleep(.001)
os.write(1, b"\\n")
libc = ctypes.CDLL(None, use_errno=True)
for i in range(300):
    ctypes.set_errno(0)
    assert libc.write(77, b"x", 1) == -1 and ctypes.get_errno() == errno.EBADF
    time.sleep(.0001)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
until(8, grow)
sys.stdout.close()
os.close(1) if False else None
sys.stdout = open(os.devnull, "w")
for i in range(200):
    try: os.write(1, b"a line\\n")
    except OSError: pass
    os.write(2, b"")
    grow()
    time.sleep(.001)
""")


@case()
def a_closed_output_of_the_program(b):
    """Then our own writes use the same descriptors, and are no lines of the program."""
    b.ends_well("""
until(4, grow)
before = census()
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
os.close(0); os.close(1)
for i in range(300):
    os.write(2, b"a line\\n")
    grow()
    time.sleep(.001)
assert census() > before
os._exit(0)
""")


@case()
def exceptions_on_their_way_arrive(b):
    """Through lines printed while they are handled and unwound."""
    out = b.ends_well("""
n = 0
def f(i):
    try:
        try:
            raise KeyError(i)
        finally:
            print("a line"); time.sleep(.001)
    except KeyError as e:
        try:
            print("a line")
            raise ValueError(i) from e
        finally:
            print("a line")
for i in range(300):
    grow()
    try: f(i)
    except ValueError as e:
        assert e.args == (i,) and e.__cause__.args == (i,) and sys.exc_info()[1] is e
        n += 1
    assert sys.exc_info() == (None,) * 3
print(n)
assert census() > 3
""")
    expect(out == "300\n", out)


@case(on="one")
def programs_that_are_not_python(b):
    """write() is the library's."""
    env = b.environment(True, {})
    for command in (["sh", "-c", "echo one; echo two >&2; cat /etc/hostname | wc -l"],
                    ["bash", "-c", "for i in 1 2 3; do echo $i; done; printf x >&7"],
                    ["dd", "if=/dev/zero", "bs=1k", "count=100", "status=none"]):
        plain = {k: v for k, v in env.items() if k != "LD_PRELOAD"}
        a, c = (subprocess.run(command, capture_output=True, env=e) for e in (env, plain))
        expect((a.stdout, a.stderr, a.returncode) == (c.stdout, c.stderr, c.returncode), command)


# ---- torch ----


TRAINING = """
import torch
torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Dropout(.1),
                            torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
history = []
def step(keep=True):
    x = torch.randn(16, 32)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if keep: history.append(loss)
    return loss
"""


@case(torch=True)
def results_are_the_same(b):
    """Bit by bit."""
    text = TRAINING + """
import struct, hashlib
h = hashlib.sha256()
for i in range(4000):
    h.update(struct.pack("d", step().item()))
for p in model.parameters(): h.update(p.detach().numpy().tobytes())
h.update(torch.get_rng_state().numpy().tobytes())
print(h.hexdigest())
"""
    with_it, without = b.ends_well(text), b.ends_well(text, probe=False)
    expect(with_it == without, "%s\n%s" % (with_it, without))
    expect(int(b.record("census")[1]) > 5, "censuses")
    b.expect_holder("history")


@case(torch=True)
def torch_half_imported(b):
    """The first moments come during its import."""
    b.ends_well("""
import builtins, threading
plain = builtins.__import__
def speaks(*a, **k):
    print("a line")
    return plain(*a, **k)
builtins.__import__ = speaks
time.sleep(.02)
import torch
builtins.__import__ = plain
until(census() + 2, lambda: leak.append(torch.zeros(3)))
""")
    expect(b.records("tensors"), "no tensors in the report")


@case(torch=True)
def modes_of_torch(b):
    """Active at every moment: they notice nothing, and tensors are not counted meanwhile."""
    out = b.ends_well("""
import torch
seen = []
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Function(TorchFunctionMode):
    def __torch_function__(self, f, types, args=(), kwargs=None):
        seen.append(f); return f(*args, **(kwargs or {}))
class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        seen.append(f); return f(*args, **(kwargs or {}))
for mode in (Function, Dispatch, torch.inference_mode, torch.no_grad):
    with mode():
        until(census() + 4, grow)
try:
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        until(census() + 4, grow)
except ImportError:
    pass
print(len(seen))
until(census() + 4, lambda: leak.append(torch.zeros(3)))
""")
    expect(out == "0\n", out)
    expect(b.records("tensors"), "no tensors in the report")


@case(torch=True)
def lines_first_then_steps(b):
    """The first step comes during a census of a large heap: moments of another kind."""
    b.ends_well("""
big = [[i] for i in range(1000000)]
until(3, grow)
for i in range(30):
    print("a line"); grow(); time.sleep(.001)
""" + TRAINING + """
end = time.monotonic() + 60
before = census()
while census() < 6 or census() >= before:
    before = census()
    step()
    assert time.monotonic() < end
    if census() >= 6 and record("tensors"): break
""")


@case(torch=True)
def graphs_are_walked_with_every_census(b):
    """Without a request for holders, the growth of a graph is still measured."""
    b.ends_well(TRAINING + """
total = 0
end = time.monotonic() + 60
while census() < 12:
    assert time.monotonic() < end
    total = total + step(keep=False)
""", level=COUNT)
    walks, censuses = int(b.records("graphs")[0][1]), int(b.records("census")[0][1])
    expect(walks >= censuses - 1, (walks, censuses))  # the first census may be taken in the process
    expect([g for g in b.records("growing") if g[2] == "graph"], b.records("growing"))


@case(torch=True)
def a_graph_that_is_made_anew_is_not_carried(b):
    """It grows with every step, as with ever longer sequences, but nothing of it is kept."""
    b.ends_well(TRAINING + """
end = time.monotonic() + 60
weight, length = torch.ones(3, requires_grad=True), 0
while census() < 12:
    assert time.monotonic() < end
    out, length = weight, length + 10
    for i in range(length):
        out = out + 1
    step(keep=False)
""", level=COUNT)
    expect(int(b.records("graphs")[0][1]) > 3, b.records("graphs"))
    expect(not [g for g in b.records("growing") if g[2] == "graph"], b.records("growing"))


@case(torch=True)
def workers_have_the_tensors(b):
    """Only the probe's children go without tensor values."""
    b.ends_well(TRAINING + """
big = [torch.full((1 << 20,), float(i)) for i in range(40)]
end = time.monotonic() + 60
while census() < 12:
    assert time.monotonic() < end
    step()
    if len(history) % 20 == 0:
        pid = os.fork()
        if pid == 0:
            os._exit(sum(int(t[-1]) for t in big) != sum(range(40)))
        assert os.waitpid(pid, 0)[1] == 0
assert not [l for l in open("/proc/self/smaps") if l.startswith("VmFlags") and
            {"dc", "rd", "wr", "ac"} <= set(l.split())]
""")
    b.expect_holder("history")


WORKERS = """
import itertools
import torch
class Files(torch.utils.data.Dataset):
    def __init__(self): self.seen = []
    def __len__(self): return 16
    def __getitem__(self, i):
        self.seen.append(torch.randn(50))
        return os.getpid()
def of_worker(pid):
    for path in glob.glob(os.environ["TIDEMARK_RUN"] + "/%d-*.census" % pid):
        return open(path).read()
    return ""
loader = torch.utils.data.DataLoader(Files(), batch_size=4, num_workers=2, persistent_workers=True,
                                     multiprocessing_context=CONTEXT)
if __name__ == "__main__":
    pids, end = set(), time.monotonic() + 60
    for i, batch in enumerate(itertools.chain.from_iterable(itertools.repeat(loader))):
        assert time.monotonic() < end, [of_worker(p) for p in pids]
        pids.update(batch.tolist())
        if ENOUGH: break
"""


@case(torch=True)
def data_workers_take_censuses(b):
    """At their batches, since they neither step nor print. Each reports its growth's holder."""
    holds = "len(pids) == 2 and all('seen' in of_worker(p) for p in pids)"
    for context in ("fork", "spawn"):
        b.ends_well(WORKERS.replace("CONTEXT", repr(context)).replace("ENOUGH", holds))


@case(torch=True)
def data_workers_are_left_alone(b):
    """As long as nothing is suspected, and if the loader has no workers."""
    b.ends_well(WORKERS.replace("CONTEXT", "None").replace("ENOUGH", "i == 600") +
                "    assert not any(of_worker(p) for p in pids)\n", level=COUNT)
    b.ends_well(WORKERS.replace("CONTEXT", "None").replace("ENOUGH", "i == 600")
                .replace("num_workers=2, persistent_workers=True", "num_workers=0") +
                "    assert not any(of_worker(p) for p in pids)\n")


STRESS = TRAINING + """
import threading, random
from torch.utils.data import DataLoader, TensorDataset
stop = False
def own_training():
    m = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for i in range(20)])
    o = torch.optim.SGD(m.parameters(), lr=.001)
    while not stop:
        for p in m.parameters(): p.grad = None
        m(torch.randn(4, 8)).sum().backward()
        if random.random() < .5: o.step()
def own_allocation():
    while not stop:
        x = [torch.randn(random.randrange(1, 2000), requires_grad=True) for i in range(50)]
        y = torch.stack([t.sum() for t in x]).sum()
        y.backward()
        del x, y
threads = [threading.Thread(target=f) for f in (own_training, own_training, own_allocation)]
data = DataLoader(TensorDataset(torch.randn(64, 32)), batch_size=8, num_workers=1,
                  persistent_workers=True)
for x, in data: step() # a fork while others train may hang, with us or without
for t in threads: t.start()
end = time.monotonic() + SECONDS
while time.monotonic() < end:
    for x, in data:
        step(random.random() < .05)
        grow()
        print("a line")
    del history[:-500]
stop = True
for t in threads: t.join()
print("done")
"""


@case(torch=True)
def threads_that_train_on_their_own(b):
    """Gradients appear and vanish during censuses. CENSUS_SECONDS: run longer than 5 s."""
    out = b.ends_well(STRESS.replace("SECONDS", os.environ.get("CENSUS_SECONDS", "5")))
    expect(out == "done\n", out)
    expect(int(b.record("census")[1]) > 3, "censuses")


# ---- all of it ----


def chosen(build, every):
    found = run.interpreters(every)
    for case, on, torch in CASES:
        fit = [(v, p, r and torch) for v, p, r in found if r or not torch]
        for version, python, real in fit[:1] if on == "one" else fit:
            yield (case, functools.partial(Job, build, python, real),
                   "%-7s" % runner.text(version))


def main():
    asked = runner.arguments(__doc__)
    run.run_all(asked, chosen(pathlib.Path(asked.target), asked.every))


if __name__ == "__main__":
    main()

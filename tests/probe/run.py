#!/usr/bin/env python3
"""tests/probe/run.py BUILD [--every] [NAME...]: what the probe reports from inside real Python
programs, and that they do not notice it.

Every case runs with the system's CPython and the oldest and newest from 3.9 on found here (--every:
all of them), with a stand-in for torch if the interpreter has none; some only with the real one.
One line per case, `N passed, N failed` last.
"""

import functools
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner
from runner import Failed, expect

HERE = pathlib.Path(__file__).resolve().parent
STANDIN = HERE.parent / "standin"
PARALLEL = os.cpu_count() + 1  # they wait for half of their time


class Reported:
    """The records in the rings of a run."""

    def __init__(self, text):
        self.records = [line.split() for line in text.splitlines()]

    def values(self, kind, name="-"):
        return [float(r[3]) for r in self.records if r[1] == kind and r[4] == name]

    def steps(self):
        return self.values("reached")

    def rings(self):
        return len({r[0] for r in self.records})


class Bench:
    """One interpreter, with or without the probe in it."""

    def __init__(self, build, python, real):
        self.build, self.python, self.real = build, python, real
        self.folder = tempfile.mkdtemp(prefix="probe-")
        self.rings = os.path.join(self.folder, "rings")
        os.mkdir(self.rings, 0o700)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, probe, extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON", "TIDE"))}
        if not self.real:
            env["PYTHONPATH"] = str(STANDIN)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        if probe:
            env["LD_PRELOAD"] = str(self.build / "libtidemark_probe.so")
            env["TIDEMARK_RUN"] = self.rings
        env.update(extra)
        return env

    def run(self, text, *args, probe=True, options=(), **extra):
        """Runs the program and returns its end, with its output."""
        program = os.path.join(self.folder, "program.py")
        pathlib.Path(program).write_text(text)
        return subprocess.run([self.python, *options, program, *args], cwd=self.folder, text=True,
                              capture_output=True, timeout=120, env=self.environment(probe, extra))

    def forget(self):
        """Forgets what was reported so far."""
        for name in os.listdir(self.rings):
            os.remove(os.path.join(self.rings, name))

    def reported(self):
        dump = [self.build / "tests" / "ring_dump", self.rings]
        return Reported(subprocess.run(dump, capture_output=True, text=True, check=True).stdout)

    def reported_by(self, text, *args, **extra):
        done = self.run(text, *args, **extra)
        expect(done.returncode == 0, done.stderr)
        return self.reported()


# ---- programs ----

STANDIN_LOOP = """
import torch
from torch.utils.data import DataLoader
train, held_out = DataLoader(BATCHES), DataLoader(7)
first, second = torch.optim.SGD(), torch.optim.SGD()
for epoch in range(3):
    for i, batch in enumerate(train):
        if (i + 1) % ACCUMULATE == 0:
            assert first.step() == "made"
            second.step()
        if i == 5:
            for batch in held_out:
                pass
    for batch in held_out:
        pass
"""

TORCH_LOOP = """
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(8 * BATCHES, 4), torch.randn(8 * BATCHES, 1))
train = DataLoader(data, batch_size=8, num_workers=WORKERS)
held_out = DataLoader(data, batch_size=8)
model, critic = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
first = torch.optim.Adam(model.parameters())
second = torch.optim.SGD(critic.parameters(), lr=.1)
schedule = torch.optim.lr_scheduler.StepLR(first, 1)
for epoch in range(3):
    for i, (x, y) in enumerate(train):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        if (i + 1) % ACCUMULATE == 0:
            first.step()
            second.step()
            first.zero_grad()
        if i == 5:
            for x, y in held_out:
                model(x)
    schedule.step()
    for x, y in held_out:
        model(x)
"""


def loop(b, batches=40, accumulate=1, workers=0):
    text = TORCH_LOOP if b.real else STANDIN_LOOP
    for name, value in (("BATCHES", batches), ("ACCUMULATE", accumulate), ("WORKERS", workers)):
        text = text.replace(name, str(value))
    return text


def sgd(b):
    """How to make an optimizer."""
    real = "torch.optim.SGD([torch.nn.Parameter(torch.zeros(3))], lr=.1)"
    return real if b.real else "torch.optim.SGD()"


# ---- what it reports ----


def counts_steps_and_epochs(b):
    """Steps of the first of two optimizers; epochs of the loader that feeds them."""
    reported = b.reported_by(loop(b))
    expect(reported.steps() == [120], reported.steps())
    expect(reported.values("epoch") == [1, 2, 3], reported.values("epoch"))
    expect(set(reported.values("epoch-length")) == {40}, reported.values("epoch-length"))
    expect(all(v > 1e6 for v in reported.values("sample", "host.anon")), "host.anon")
    steps, samples = reported.values("step"), reported.values("sample", "host.anon")
    expect(len(samples) == len(steps) - 3, "one sample per reported step, none at an epoch's end")


def counts_accumulated_steps_once(b):
    """Four batches make a step: the epoch has a quarter of the steps."""
    reported = b.reported_by(loop(b, accumulate=4))
    expect(reported.steps() == [30], reported.steps())
    expect(reported.values("epoch") == [1, 2, 3], reported.values("epoch"))
    expect(set(reported.values("epoch-length")) == {10}, reported.values("epoch-length"))


def counts_before_torch_2(b):
    """The same with a torch that has no hook of its own."""
    if b.real:
        return
    reported = b.reported_by(loop(b), STANDIN_TORCH="old")
    expect(reported.steps() == [120], reported.steps())
    expect(reported.values("epoch") == [1, 2, 3], reported.values("epoch"))


def begins_where_a_resumed_training_was(b):
    """The state loaded into Adam knows its step."""
    if b.real:
        text = """
import torch
p = torch.nn.Parameter(torch.zeros(3))
adam = torch.optim.Adam([p])
state = {"step": torch.tensor(50000.), "exp_avg": torch.zeros(3), "exp_avg_sq": torch.zeros(3)}
adam.load_state_dict({"state": {0: state}, "param_groups": adam.state_dict()["param_groups"]})
for i in range(10):
    p.grad = torch.ones(3)
    adam.step()
"""
    else:
        text = """
import torch
adam = torch.optim.Adam()
adam.state["weight"] = {"step": 50000}
for i in range(10):
    adam.step()
"""
    reported = b.reported_by(text)
    expect(reported.steps() == [50010], reported.steps())


def goes_on_with_another_optimizer(b):
    """The first one is gone: the steps of its successor follow."""
    reported = b.reported_by("import torch\nfor i in range(3):\n    o = %s\n    for j in range(10):\n"
                     "        o.step()\n    del o\n" % sgd(b))
    expect(reported.steps() == [30], reported.steps())


def reports_nothing_without_torch(b):
    """No ring, no file."""
    done = b.run("import json, collections")
    expect(done.returncode == 0 and os.listdir(b.rings) == [], done.stderr)


def reads_torchs_counters(b):
    """For the devices in use, with the steps."""
    if b.real:
        return
    reported = b.reported_by("import gc, time, torch\ntorch.cuda._initialized = True\n"
                     "o = torch.optim.SGD()\nend = time.monotonic() + 1.2\n"
                     "while time.monotonic() < end:\n    o.step()\n    sum(range(2000))\n")
    allocated = reported.values("sample", "torch.allocated")
    expect(len(allocated) >= 2 and allocated == sorted(allocated), allocated)
    expect(all(r[5] == "cuda:1" for r in reported.records if r[4] == "torch.allocated"), "device")
    expect(set(reported.values("sample", "torch.reserved")) == {2097152}, "reserved")
    expect(set(reported.values("sample", "torch.peak")) == {1048576}, "peak")
    expect(set(reported.values("sample", "torch.pinned")) == {4096}, "pinned")
    expect(len(reported.values("sample", "py.collections")) >= 1, "collections")


def reads_torchs_counters_where_nobody_steps(b):
    """An evaluation prints and makes no steps. Its memory is measured all the same."""
    if b.real:
        return
    b.reported_by("import time, torch\ntorch.cuda._initialized = True\no = torch.optim.SGD()\n"
              "for i in range(60):\n    o.step()\n    print('step', i, flush=True)\n"
              "    time.sleep(.001)\nbefore = torch._C.readings\n"
              "for i in range(100):\n    print('step', i, flush=True)\n    time.sleep(.003)\n"
              "assert torch._C.readings > before + 5, (before, torch._C.readings)\n")


def sees_the_inside_of_the_first_evaluations(b):
    """They last a few milliseconds, long after a slow first step."""
    if b.real:
        return
    b.reported_by("import time, torch\ntorch.cuda._initialized = True\no = torch.optim.SGD()\n"
              "o.step(); time.sleep(1)\n"
              "for evaluation in range(4):\n"
              "    for i in range(10):\n        o.step()\n        time.sleep(.0002)\n"
              "    before = torch._C.readings\n"
              "    for i in range(30):\n        print('step', i, flush=True)\n"
              "        time.sleep(.0005)\n"
              "    assert torch._C.readings > before + 5, (before, torch._C.readings)\n")


def steps_that_vary_are_reported_as_rarely(b):
    """A slow step is no evaluation, and no reason to report more often."""
    if b.real:
        return
    reported = b.reported_by("import time, torch\no = torch.optim.SGD()\n"
                     "for i in range(1500):\n    o.step()\n"
                     "    time.sleep(.0015 if i % 2 else .0001)\n")
    expect(len(reported.values("step")) < 500, len(reported.values("step")))


def one_slow_reading_does_not_blind(b):
    """Another thread held torch's lock for long: the next counters come soon all the same."""
    if b.real:
        return
    reported = b.reported_by("import time, torch\ntorch.cuda._initialized = True\no = torch.optim.SGD()\n"
                     "read, slow = torch._C._cuda_memoryStats, [0.1]\n"
                     "def stats(device):\n    time.sleep(slow.pop() if slow else 0)\n"
                     "    return read(device)\ntorch._C._cuda_memoryStats = stats\n"
                     "end = time.monotonic() + 1.5\nwhile time.monotonic() < end:\n"
                     "    o.step()\n    time.sleep(.001)\n")
    allocated = reported.values("sample", "torch.allocated")
    expect(len(allocated) > 3, allocated)


def what_a_step_maps_for_itself_is_not_asked_for(b):
    """The kernel memory a process asked for is reported as of its step, with its heap."""
    reported = b.reported_by("import mmap, time, torch\no = %s\nkept = []\n"
                     "private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\n"
                     "for i in range(200):\n"
                     "    work = mmap.mmap(-1, (i %% 7) << 24, flags=private) if i %% 7 else None\n"
                     "    time.sleep(.002)\n"
                     "    if work: work.close()\n"
                     "    if i == 100: kept.append(mmap.mmap(-1, 1 << 30, flags=private))\n"
                     "    o.step()\n" % sgd(b))
    asked = reported.values("sample", "heap.asked")
    expect(len(asked) > 8 and len(asked) == len(reported.values("sample", "heap.free")), len(asked))
    levels = {round((value - asked[0]) / 2 ** 24) for value in asked}
    expect(levels == {0, 64}, levels)


def leaves_cuda_alone_until_it_is_used(b):
    """A program that does not use its GPU is not made to."""
    if not b.real:
        reported = b.reported_by("import torch\no = torch.optim.SGD()\nfor i in range(100):\n    o.step()")
        expect(reported.values("sample", "torch.allocated") == [], "counters were read")


def the_child_of_a_fork_has_no_cuda(b):
    """torch's counters there are its parent's, and threads that are gone may hold its locks."""
    if b.real:
        return
    reported = b.reported_by("import os, torch\nparent = os.getpid()\ntorch.cuda._initialized = True\n"
                     "torch._C._cuda_isInBadFork = lambda: os.getpid() != parent\n"
                     "o = torch.optim.SGD()\nchild = os.fork()\nif child == 0:\n    o.step()\n"
                     "else:\n    os.waitpid(child, 0)\n")
    expect(reported.steps() == [1], reported.steps())
    expect(reported.values("sample", "torch.allocated") == [], "counters were read")


def a_fork_counts_for_itself(b):
    """The child has a ring of its own, and its parent's is unchanged."""
    reported = b.reported_by("import os, torch\no = %s\nfor i in range(5):\n    o.step()\n"
                     "child = os.fork()\nfor i in range(7 if child else 20):\n    o.step()\n"
                     "if child:\n    os.waitpid(child, 0)\n" % sgd(b))
    expect(sorted(reported.steps()) == [12, 20], reported.steps())


def starts_anew_after_exec(b):
    """The new program counts its own steps."""
    reported = b.reported_by("import os, sys, torch\no = %s\nn = 5 if len(sys.argv) > 1 else 3\n"
                     "for i in range(n):\n    o.step()\nif n == 3:\n"
                     "    os.execv(sys.executable, [sys.executable, __file__, 'again'])\n" % sgd(b))
    expect(reported.steps() == [5] and reported.rings() == 1, reported.steps())


def data_workers_do_not_disturb(b):
    """Forked workers of a DataLoader report malloc's in-use bytes, and count nothing."""
    if b.real:
        reported = b.reported_by(loop(b, batches=20, workers=2))
        steps = [n for n in reported.steps() if not math.isnan(n)]
        expect(steps == [60] and reported.values("epoch") == [1, 2, 3], reported.records)
        trainer = next(r[0] for r in reported.records if r[1] == "step")
        kinds = {(r[1], r[4]) for r in reported.records if r[0] != trainer}
        heap = {("sample", "heap." + what) for what in ("used", "asked", "free")}
        expect(kinds <= heap | {("reached", "-")}, kinds)
        expect(reported.rings() == 7, reported.rings())  # two workers for each of three epochs


# ---- cleanup requested by the environment ----

ALL_ACTIONS = "every=2,gc=1,empty_cache=1,trim=1,zero_grad=safe"

# Cycles that nobody collects, and gradients that live until the next batch has come.
TRAINING = """
import gc, os, sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
gc.disable()
torch.manual_seed(1)
torch.set_num_threads(1)
data = DataLoader(TensorDataset(torch.randn(160, 64)), batch_size=8)
model = torch.nn.Linear(64, 512)
optimizer = torch.optim.SGD(model.parameters(), lr=.1, momentum=.9)
read, gone = 0.0, 0
for epoch in range(2):
    for x, in data:
        gone += model.weight.grad is None
        optimizer.zero_grad(set_to_none=True)
        model(x).pow(2).mean().backward()
        optimizer.step()
        read += model.weight.grad.norm().item()
        cycle = [bytearray(2 ** 20)]
        cycle.append(cycle)
        time.sleep(.005)
print(sum(p.sum().item() for p in model.parameters()), read)
print("gone", gone, file=sys.stderr)
"""


def cleans_up_a_job_that_does_not_know(b):
    """Cycles are collected, gradients go with the next batch, and the weights are the same."""
    if not b.real:
        return
    with_it, without = b.run(TRAINING, TIDEMARK_CLEANUP=ALL_ACTIONS), b.run(TRAINING)
    expect(with_it.returncode == 0, with_it.stderr)
    expect(with_it.stdout == without.stdout, with_it.stdout + without.stdout)
    # The first batch has none before it; the cleanup at step 2 does not know the loop's habit yet.
    expect(without.stderr == "gone 1\n" and with_it.stderr == "gone 19\n", with_it.stderr)
    reported = b.reported()
    expect(reported.values("sample", "cleanup.gc.freed")[-1] > 25 * 2 ** 20, "freed")
    expect(reported.values("sample", "cleanup.gc.seconds")[-1] > 0, "seconds")
    expect(reported.steps()[-1] == 40, reported.steps())


def cleans_up_everywhere(b):
    """With every interpreter, before and since torch 2.0; the effect is reported."""
    if b.real:
        return
    text = ("import torch, time\ntorch.cuda._initialized = True\no = torch.optim.SGD()\n"
            "for i in torch.utils.data.DataLoader(100):\n    o.step()\n    time.sleep(.002)\n")
    for age in ("", "old"):
        b.forget()
        reported = b.reported_by(text, TIDEMARK_CLEANUP=ALL_ACTIONS, STANDIN_TORCH=age)
        expect(reported.steps()[-1] == 100, reported.steps())
        for action in ("gc", "trim", "zero_grad", "empty_cache"):
            seconds = reported.values("sample", "cleanup.%s.seconds" % action)
            expect(len(seconds) > 1 and seconds == sorted(seconds), action)
        freed = [float(r[3]) for r in reported.records
                 if r[4] == "cleanup.empty_cache.freed" and r[5] == "cuda"]
        expect(freed and set(freed) == {1048576}, freed)


def actions_can_be_left_out(b):
    """Actions set to 0 are not done."""
    reported = b.reported_by("import torch\no = %s\nfor i in range(20):\n    o.step()\n" % sgd(b),
                     TIDEMARK_CLEANUP="every=5,gc=1,trim=0,empty_cache=0,zero_grad=0")
    expect({r[4] for r in reported.records if r[4].startswith("cleanup.")} ==
           {"cleanup.gc.freed", "cleanup.gc.seconds"}, reported.records)


def an_invalid_setting_is_reported(b):
    """The job runs unchanged."""
    text = "import torch\no = %s\nfor i in range(20):\n    o.step()\nprint('made')" % sgd(b)
    for wrong in ("every=0", "every=10,gc=yes", "often", "every=5,speed=3", "workers=-1"):
        b.forget()
        done = b.run(text, TIDEMARK_CLEANUP=wrong)
        expect(done.stdout == "made\n" and done.stderr == "", done.stderr)
        reported = b.reported()
        expect(reported.values("sample", "cleanup.refused")[-1:] == [1], wrong)
        expect(reported.values("sample", "cleanup.gc.seconds") == [], wrong)


def zero_grad_has_another_default(b):
    """For optimizers and modules; what the program sets itself stays."""
    if b.real:
        text = ("import torch\nm = torch.nn.Linear(2, 2)\n"
                "o = torch.optim.SGD(m.parameters(), lr=.1)\n"
                "def zero(by, *args):\n    m(torch.ones(1, 2)).sum().backward()\n"
                "    by.zero_grad(*args)\n    return m.weight.grad is None\n"
                "print(zero(o), zero(m), zero(o, False), zero(m, True))\n")
    else:
        text = ("import torch\nm, o = torch.nn.Module(), torch.optim.SGD()\n"
                "print(o.zero_grad(), m.zero_grad(), o.zero_grad(False), m.zero_grad(True))\n")
    for value, said in (("1", "True True False True\n"), ("0", "False False False True\n")):
        for more in ("", ",every=1"):
            done = b.run(text, TIDEMARK_CLEANUP="set_to_none=" + value + more)
            expect(done.stdout == said, done.stdout + done.stderr)


WORKERS = """
import sys, torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(8))
data = TensorDataset(torch.arange(32))
def workers(loader):
    got = list(loader)
    return loader.num_workers, len(got)
many = dict(num_workers=1, persistent_workers=True, prefetch_factor=4, timeout=20)
print(workers(DataLoader(data, batch_size=8)), workers(DataLoader(data, batch_size=8, **many)),
      workers(DataLoader(Stream(), batch_size=4)),
      workers(DataLoader(TensorDataset(torch.ones(0)))))
kept = DataLoader(data, batch_size=8, **many)
print(workers(kept), workers(kept))
with torch.no_grad():
    print(workers(DataLoader(data, batch_size=8)))
"""


def loaders_get_other_workers(b):
    """Loaders that feed a training; streams and evaluations are unchanged."""
    if not b.real:
        return
    for count in (0, 2):
        done = b.run(WORKERS, TIDEMARK_CLEANUP="workers=%d" % count)
        n = str(count)
        expect(done.stdout == "(N, 4) (N, 4) (0, 2) (N, 0)\n(N, 4) (N, 4)\n(0, 4)\n"
               .replace("N", n), done.stdout + done.stderr)
        expect(done.stderr == "", done.stderr)


def workers_that_cannot_be_are_none(b):
    """If processes cannot be made, the loader works as the program has asked."""
    if not b.real:
        return
    text = ("import torch, torch.multiprocessing as m\n"
            "from torch.utils.data import DataLoader, TensorDataset\n"
            "def refuse(*args, **kwargs):\n    raise OSError('no processes')\n"
            "m.Process = refuse\nloader = DataLoader(TensorDataset(torch.arange(32)))\n"
            "print(len(list(loader)), loader.num_workers)\n")
    done = b.run(text, TIDEMARK_CLEANUP="workers=2")
    expect(done.stdout == "32 0\n", done.stdout + done.stderr)


def an_interrupt_while_we_clean_goes_through(b):
    """Ctrl-C during a collection, and a signal whose handler raises an error of the program."""
    text = ("import gc, os, signal, torch\no = %s\n"
            "def handler(number, frame):\n    raise TimeoutError\n"
            "signal.signal(signal.SIGALRM, handler)\n"
            "gc.collect = lambda: os.kill(os.getpid(), signal.%%s)\ntry:\n"
            "    for i in range(5):\n        o.step()\n    print('lost')\n"
            "except %%s:\n    print('interrupted')\n" % sgd(b))
    for age in ("",) if b.real else ("", "old"):
        for what in (("SIGINT", "KeyboardInterrupt"), ("SIGALRM", "TimeoutError")):
            done = b.run(text % what, TIDEMARK_CLEANUP="every=1,trim=0,zero_grad=0",
                         STANDIN_TORCH=age)
            expect(done.stdout == "interrupted\n", done.stdout + done.stderr)
DATASETS = """
import sys, torch
import numpy as np
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
N = 200000
def forbidden(*_):
    print("code of the program ran")
class Meta(type):
    def __getattribute__(self, name):
        if name == "__name__":
            forbidden()
        return super().__getattribute__(name)
class Base(Dataset, metaclass=Meta):
    def __init__(self, **attributes):
        self.__dict__.update(attributes)
    def __len__(self):
        return 16
    def __getitem__(self, i):
        return i
class Files(Base):
    def __getattr__(self, name):
        forbidden()
        raise AttributeError(name)
class Odd(list):
    __len__ = __iter__ = __sizeof__ = forbidden
class Row:
    __len__ = __sizeof__ = __eq__ = __hash__ = forbidden
    def __init__(self, i):
        self.i = i
class Index:
    def __init__(self):
        self.by_key = {i: "label %09d" % i for i in range(N)}
def texts():
    return ["train/%09d.jpg" % i for i in range(N)]
def run(dataset, workers=1):
    for batch in DataLoader(dataset, batch_size=4, num_workers=workers):
        pass
PROGRAM
"""


def looks_at(b, program):
    # What is reported about datasets: name and MB.
    b.forget()
    reported = b.reported_by(DATASETS.replace("PROGRAM", program))
    found = [(r[4], float(r[3]) / 2**20) for r in reported.records if r[4].startswith("dataset.")]
    return dict(found)


def names_what_workers_copy(b):
    """The attribute of the dataset, with the bytes of its objects, also through wrappers."""
    if not b.real:
        return
    found = looks_at(b, "run(Files(samples=texts(), root='x'))")
    expect(list(found) == ["dataset.list.Files.samples"], found)
    # An object of 67 or 68 bytes takes 80.
    expect(14 < found["dataset.list.Files.samples"] < 17, found)
    several = "ConcatDataset([Files(samples=texts()), TensorDataset(torch.zeros(4, 1))])"
    wrapped = looks_at(b, "run(Subset(%s, [0]))" % several)
    expect(list(wrapped) == ["dataset.list.Files.samples"], wrapped)
    held = looks_at(b, "run(Files(index=Index()))")
    expect(list(held) == ["dataset.dict.Index.by_key"], held)
    shared = looks_at(b, "run(Files(rows=tuple({'n': float(i), 'of': 7} for i in range(N))))")
    # A dict and a number each; keys and small numbers exist once.
    expect(17 < shared["dataset.tuple.Files.rows"] < 20, shared)
    tensors = looks_at(b, "run(Files(rows=[torch.ones(4) for i in range(N // 8)]))")
    # Including torch's C++ objects: 520 to 970 bytes each are copied.
    expect(12 < tensors["dataset.list.Files.rows"] < 20, tensors)


def arrays_are_not_copied(b):
    """One array, a few objects, or no worker: nothing is reported."""
    if not b.real:
        return
    for silent in ("run(Files(samples=np.array(texts())))", "run(Files(samples=texts()[:1000]))",
                   "run(Files(samples=texts()), workers=0)",
                   "run(TensorDataset(torch.zeros(1000, 1000)))"):
        expect(not looks_at(b, silent), silent)


def no_code_of_a_dataset_runs(b):
    """Not of its attributes either, nor of their contents. Subclasses of list are not examined."""
    if not b.real:
        return
    text = DATASETS.replace("PROGRAM", """
rows = [Row(i) for i in range(N)]
run(Files(rows=rows, odd=Odd(texts()), many={"x" * 60: 1}))
""")
    done, without = b.run(text), b.run(text, probe=False)
    expect(done.returncode == 0 and done.stdout == without.stdout, done.stdout + done.stderr)
    expect([r[4] for r in b.reported().records if "dataset" in r[4]] == ["dataset.list.Files.rows"],
           "rows alone")


# ---- nobody notices ----

LOOK_AROUND = """
import atexit, gc, os, sys, threading
import torch
LOOP
print(sys.argv, sys.flags, sys.path, sys.meta_path, sys.path_hooks)
print(sorted(m for m in sys.modules), len(gc.callbacks), threading.enumerate())
print(sorted(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
print(sys.getprofile(), sys.gettrace(), sys.excepthook)
"""


def the_program_sees_nothing(b):
    """Arguments, flags, modules, import hooks, threads and descriptors are as without it."""
    text = LOOK_AROUND.replace("LOOP", loop(b))
    with_it, without = b.run(text, "a", "-b"), b.run(text, "a", "-b", probe=False)
    plain = [re.sub("0x[0-9a-f]+|<_MainThread.*?>", "", d.stdout) for d in (with_it, without)]
    expect(with_it.returncode == 0, with_it.stderr)
    expect(plain[0] == plain[1], "%s\n%s" % tuple(plain))


SAMPLER = """
import os, signal, torch
from torch.utils.data import DataLoader, TensorDataset
class Batches:
    asked = 0
    def __iter__(self):
        return iter([[0]] * 50)
    def __len__(self):
        Batches.asked += 1
        if ASKED:
            os.kill(os.getpid(), signal.SIGINT)
        return 50
o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(3))], lr=.1)
try:
    for epoch in range(2):
        for batch in DataLoader(TensorDataset(torch.zeros(4, 1)), batch_sampler=Batches()):
            o.step()
    print(Batches.asked)
except KeyboardInterrupt:
    print("interrupted")
"""


def a_sampler_is_asked_once_a_pass(b):
    """len() of it may take long."""
    if b.real:
        done = b.run(SAMPLER.replace("ASKED", "False"))
        expect(done.stdout == "2\n", done.stdout + done.stderr)
        expect(b.reported().values("epoch") == [1, 2], b.reported().values("epoch"))
        expect(b.reported().values("epoch-length") == [50, 50], b.reported().values("epoch-length"))


def an_interrupt_while_we_ask_goes_through(b):
    """Ctrl-C in the sampler's own code."""
    if b.real:
        done = b.run(SAMPLER.replace("ASKED", "True"))
        expect(done.stdout == "interrupted\n", done.stdout + done.stderr)


def tracebacks_are_the_same(b):
    """For an error in step(), in a loader, and in the program, byte for byte."""
    if b.real:
        wrong = ("class Wrong(torch.optim.SGD):\n    def step(self, closure=None):\n"
                 "        raise RuntimeError('in step')\n"
                 "o = Wrong([torch.nn.Parameter(torch.zeros(3))], lr=.1)\n"
                 "class Data(torch.utils.data.Dataset):\n    def __len__(self): return 3\n"
                 "    def __getitem__(self, i): raise KeyError('in the data')\n"
                 "data = torch.utils.data.DataLoader(Data())\n")
    else:
        wrong = ("class Wrong(torch.optim.SGD):\n    def step(self):\n"
                 "        raise RuntimeError('in step')\no = Wrong()\n"
                 "from torch.utils.data.dataloader import _BaseDataLoaderIter\n"
                 "class Data(_BaseDataLoaderIter):\n    def __len__(self): raise KeyError('data')\n"
                 "data = Data(3)\n")
    for what in ("o.step()", "next(iter(data))", "1/0", "raise SystemExit(7)"):
        text = "import torch\n" + wrong + what + "\n"
        with_it, without = b.run(text), b.run(text, probe=False)
        expect(with_it.stderr == without.stderr, "%s\n%s" % (with_it.stderr, without.stderr))
        expect(with_it.returncode == without.returncode != 0, "%d" % with_it.returncode)


def isolated_interpreters_are_watched_too(b):
    """-I and -S: no site, no user's settings."""
    text = "import sys\nsys.path.insert(0, %r)\n%s" % (str(STANDIN), loop(b))
    if not b.real:
        reported = b.reported_by(text, options=("-I", "-S"))
        expect(reported.steps() == [120], reported.steps())


def the_users_sitecustomize_runs(b):
    """And it notices nothing of the probe."""
    pathlib.Path(b.folder, "sitecustomize.py").write_text("import sys\nsys.mine = 5\n")
    done = b.run("import sys\nprint(sys.mine)", PYTHONPATH=b.folder)
    expect(done.stdout == "5\n", done.stderr)


def a_folder_that_is_gone_is_no_matter(b):
    """The watcher has died and its folder is gone: training goes on."""
    b.rings = os.path.join(b.folder, "gone")
    done = b.run(loop(b))
    expect(done.returncode == 0 and done.stderr == "", done.stderr)


def a_torn_down_folder_is_no_matter(b):
    """It disappears during the run."""
    text = loop(b) + "\nimport shutil, os\nshutil.rmtree(os.environ['TIDEMARK_RUN'])\n" + loop(b)
    done = b.run(text)
    expect(done.returncode == 0 and done.stderr == "", done.stderr)


def a_module_of_that_name_is_no_matter(b):
    """A module named `torch` that has nothing to do with torch."""
    folder = pathlib.Path(b.folder, "torch", "optim")
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("from torch import optim, more\n")
    (folder.parent / "more.py").write_text("")
    (folder / "__init__.py").write_text("from . import optimizer\n")
    (folder / "optimizer.py").write_text("Optimizer = register_optimizer_step_post_hook = 5\n")
    done = b.run("import torch; print(torch.optim.optimizer.Optimizer)", PYTHONPATH=b.folder)
    expect(done.stdout == "5\n" and done.stderr == "", done.stderr)


def tensors_are_read_as_they_are(b):
    """Facts read from memory against what torch says."""
    if not b.real:
        return
    library = str(b.build / "tests" / "libtensor_facts.so")
    done = b.run((HERE / "tensors.py").read_text(), library, probe=False)
    expect(done.returncode == 0 and " tensors; " in done.stdout, done.stderr)


def debugging_allocators_end_well(b):
    """The interpreter ends while the probe still waits for torch, and checks what it frees."""
    text = ("import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n"
            "import _ctypes, json.tool\n")
    done = b.run(text, PYTHONMALLOC="debug")
    expect(done.returncode == 0 and done.stderr == "", done.stderr)


def threads_may_train(b):
    """Several threads, each with an optimizer."""
    reported = b.reported_by("import threading, torch\no = [%s for i in range(4)]\n"
                     "def train(o):\n    for i in range(500):\n        o.step()\n"
                     "t = [threading.Thread(target=train, args=(x,)) for x in o]\n"
                     "[x.start() for x in t]\n[x.join() for x in t]\n" % sgd(b))
    expect(len(reported.steps()) == 1 and 500 <= reported.steps()[0] <= 2000, reported.steps())


def costs_nothing_without_torch(b):
    """Counts instructions of a program with many audit events: no more for each of them."""
    if b.real:
        return
    text = "x = object()\nfor i in range(300000):\n    id(x)\n"
    pathlib.Path(b.folder, "program.py").write_text(text)
    counts = []
    for probe in (True, False):
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", b.python,
             "program.py"], cwd=b.folder, text=True, capture_output=True, timeout=300,
            env=b.environment(probe, {"PYTHONHASHSEED": "0"}))
        counts.append(int(re.search("refs: +([0-9,]+)", done.stderr)[1].replace(",", "")))
    expect(counts[0] - counts[1] < 10 * 300000, "%d and %d instructions" % tuple(counts))


CASES = [f for f in list(globals().values()) if callable(f) and getattr(f, "__doc__", None)
         and getattr(f, "__module__", "") == "__main__" and not isinstance(f, type)]


# ---- interpreters ----


def has_torch(python):
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def interpreters(every):
    """(version, path, whether it has torch)"""
    return [(v, p, has_torch(p)) for v, p in runner.interpreters(every)]


def run_case(case, make):
    bench = make()
    try:
        case(bench)
    finally:
        bench.close()


def run_all(asked, chosen):
    """chosen: (case, function that makes its bench, text printed before its name)."""
    cases = [runner.Case("%s %s" % (where, runner.words(case.__name__)),
                         functools.partial(run_case, case, make)) for case, make, where in chosen]
    wanted = [c for c in cases if runner.is_wanted(c.name, asked.names)]
    sys.exit(runner.run_all(wanted, PARALLEL))


def chosen(build, every):
    for version, python, real in interpreters(every):
        for kind in (True, False) if real else (False,):
            where = "%s %-8s" % (runner.text(version), "torch" if kind else "stand-in")
            for case in CASES:
                yield case, functools.partial(Bench, build, python, kind), where


def main():
    asked = runner.arguments(__doc__)
    run_all(asked, chosen(pathlib.Path(asked.target), asked.every))


if __name__ == "__main__":
    main()

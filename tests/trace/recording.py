#!/usr/bin/env python3
"""tests/trace/recording.py BUILD [NAME...]: torch's recording of the memory of devices, switched on
from inside a program, as the versions of tests/standin have it.

The blocks of the stand-in lie in memory that Python does not see, as those do that only C++ holds.
One line a case, `N passed, N failed` last.
"""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner
from runner import Case, Skipped, expect
from stress import Orders, directory

STANDIN = pathlib.Path(__file__).resolve().parents[1] / "standin"
PYTHON = "/usr/bin/python3"
INTERVAL = 1 << 19
VERSIONS = ("1.13", "2.0", "2.1", "2.5", "2.9", "2.11", "2.15")
KB, MB = 1 << 10, 1 << 20

BEGIN = """
import os, signal, sys, time, threading
import torch
from torch import _blocks
torch.cuda._initialized = True
before = [_blocks.allocate(MB) for _ in range(20)]
sgd = torch.optim.SGD()
MB, KB = 1 << 20, 1 << 10
def steps(seconds, every=lambda i: None):
    end, i = time.monotonic() + seconds, 0
    while i < 40 or time.monotonic() < end:
        every(i)
        assert sgd.step() == "made"
        time.sleep(.002)
        i += 1
    return i
def settle():  # lists are made at most twice a second
    steps(1.3)
""".replace("(MB)", "(1 << 20)")

LEAK = BEGIN + """
def extension(i):
    temporary = _blocks.allocate(4 * MB)
    _blocks.allocate(256 * KB)
    _blocks.free(temporary)
settle()
made = steps(.8, extension)
settle()
print(made)
"""
LINE = LEAK[:LEAK.index("    _blocks.allocate(256 * KB)")].count("\n") + 1


class Site:
    def __init__(self, fields):
        self.kind, self.device, self.live = fields[0], fields[1], float(fields[3])
        self.frames, self.points = [], []


class Found:
    """The sites of a process, from the text of the run file."""

    def __init__(self, text):
        self.sites, self.memories, frames = [], {}, []
        for line in text.splitlines():
            name, *fields = line.split("\t")
            if name == "site":
                self.sites.append(Site(fields))
            elif name == "frame":
                frames.append((fields[0], os.path.basename(fields[1]), int(fields[2])))
                self.sites[-1].frames.append(frames[-1])
            elif name == "again":
                self.sites[-1].frames.extend(frames[int(f)] for f in fields)
            elif name == "point" and self.sites:
                self.sites[-1].points.append(float(fields[1]))
            elif name == "memory":
                self.memories[fields[0]] = {"device": fields[1], "growth": float(fields[4]),
                                            "interval": float(fields[5])}

    def of(self, kind):
        return [s for s in self.sites if s.kind == kind]


class Run:
    def __init__(self, done, calls, found):
        self.output, self.calls, self.found = done.stdout, calls, found


def run(build, text, version="2.5", blocks=1, library="libtidemark_preload.so", **extra):
    """The program with a tracer that has such orders; ends as the program alone does."""
    with directory() as folder:
        orders = Orders(folder, INTERVAL)
        orders.write(INTERVAL, blocks)
        program, calls = folder / "program.py", folder / "calls"
        program.write_text(text)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON", "TIDE"))}
        env.update(LD_PRELOAD=str(build / library), TIDEMARK_RUN=str(folder),
                   PYTHONDONTWRITEBYTECODE="1", STANDIN_CALLS=str(calls), **extra)
        if version:
            env.update(PYTHONPATH=str(STANDIN), STANDIN_RECORDING=version)
        done = subprocess.run([PYTHON, program], env=env, text=True, capture_output=True, timeout=100)
        expect(done.returncode == 0 and done.stderr == "", done.stderr)
        files = [f for f in folder.glob("*.trace")]
        text = "".join(subprocess.run([build / "tests/trace_sites", f], capture_output=True,
                                      text=True, check=False).stdout for f in files)
        return Run(done, calls.read_text().split() if calls.exists() else [], Found(text))


def expect_line(r, made):
    """Every block that was allocated since, and none of those before."""
    device = r.found.of("device")
    expect(len(device) == 1, [s.frames for s in device])
    expect(device[0].device == "cuda:1", device[0].device)
    expect(device[0].frames[0] == ("extension", "program.py", LINE), device[0].frames)
    expect(device[0].points[-1] == made * 256 * KB, device[0].points, made)
    memory = r.found.memories["device"]
    expect(memory == {"device": "cuda:1", "growth": made * 256 * KB, "interval": 0}, memory)


def finds_the_line(version):
    def case(build):
        r = run(build, LEAK, version)
        expect(r.calls == ["on"], r.calls)
        expect_line(r, int(r.output))
    case.__name__ = "finds_the_line_with_torch_%s" % version.replace(".", "_")
    return case


def stays_away_without_an_order(build):
    r = run(build, LEAK, blocks=0)
    expect(r.calls == [] and not r.found.memories, r.calls)


def never_begins_cuda(build):
    text = LEAK.replace("torch.cuda._initialized = True", "")
    r = run(build, text)
    expect(r.calls == [] and not r.found.memories, r.calls)


def leaves_the_programs_own_recording_alone(version):
    """It was on before: nothing is switched, and nothing read."""
    def case(build):
        own = {"2.0": "_cuda_recordMemoryHistory(True, True, False, 100000, True)",
               "2.5": "_cuda_record_memory_history('all', 'all', 'all', 100000)"}[version]
        text = LEAK.replace("before = [", "torch._C.%s\nbefore = [" % own)
        r = run(build, text, version)
        expect(r.calls == ["on"] and not r.found.memories, r.calls)
    case.__name__ = "leaves_the_programs_own_recording_alone_%s" % version.replace(".", "_")
    return case


def gives_way_to_a_recording_that_begins(build):
    text = LEAK.replace("made = ", "torch._C._cuda_record_memory_history('all', 'all', 'all', 9999)\n"
                                   "made = ")
    text += "torch._C._cuda_record_memory_history(None, 'all', 'all', 1)\nsettle()\n"
    r = run(build, text)
    expect(r.calls == ["on", "on", "off"], r.calls)


def gives_way_where_it_was_switched_off(build):
    text = LEAK.replace("made = ", "torch._C._cuda_record_memory_history(None, None, 'all', 1)\n"
                                   "made = ")
    r = run(build, text)
    expect(r.calls == ["on", "off"], r.calls)


def endures_an_allocator_that_refuses(build):
    r = run(build, LEAK, STANDIN_ALLOCATOR="pluggable")
    expect(r.calls == [] and not r.found.memories, r.calls)


def endures_lists_of_anything(build):
    """Another torch's list may look otherwise."""
    text = BEGIN + """
whole = torch._C._cuda_memorySnapshot()
values = [None, 7, [], {}, {"segments": 3}, {"segments": [None, 5, {}, {"blocks": 1}]},
          {"segments": [{"blocks": [None, {}, {"state": "active_allocated"},
                                    {"state": "active_allocated", "size": -5, "frames": [0, {}]},
                                    {"state": b"x", "size": "large", "frames": "none"}]}]},
          {"segments": [{"device": 1 << 70, "blocks": [{"state": "active_allocated", "size": 1 << 70,
                        "address": 5, "frames": [{"name": 5, "filename": None, "line": -1}]}]}]}]
given = iter(values)
def other():
    return next(given, whole)
torch._C._cuda_memorySnapshot = other
steps(.8 * len(values))
"""
    r = run(build, text)
    expect(r.calls[:1] == ["on"], r.calls)


def drops_exceptions_of_torch(build):
    """Those of every function it calls, at every time."""
    text = BEGIN + """
import random
random.seed(1)
for name in dir(torch._C):
    if name.startswith("_cuda"):
        def failing(*args, function=getattr(torch._C, name)):
            if random.random() < .4:
                raise random.choice([RuntimeError, TypeError, OSError])("no")
            return function(*args)
        setattr(torch._C, name, failing)
steps(4, lambda i: _blocks.allocate(KB))
"""
    for version in ("2.0", "2.5", "2.9"):
        run(build, text, version)


def switches_off_when_disarmed(build):
    text = LEAK + """
folder = os.environ["TIDEMARK_RUN"]
import struct
file = os.open(folder + "/trace.orders", os.O_RDWR)
os.pwrite(file, struct.pack("<Q", 0), 32 + 24)
os.pwrite(file, struct.pack("<I", 9), 12)
settle()
steps(.5, extension)
os.pwrite(file, struct.pack("<Q", 1), 32 + 24)
os.pwrite(file, struct.pack("<I", 10), 12)
settle()
"""
    r = run(build, text)
    expect(r.calls == ["on", "off", "on"], r.calls)
    # It began anew: what was allocated until then was there before.
    expect(r.found.memories["device"]["growth"] == 0, r.found.memories)
    expect(all(s.points[-1] == 0 for s in r.found.of("device")), r.found.of("device"))


def forgets_what_was_freed(build):
    text = LEAK + """
end = _blocks._count(0)
for number in range(20, end):
    if _blocks._record.unpack_from(_blocks._blocks, number * 24)[0] == 256 * KB:
        _blocks.free(number)
settle()
"""
    r = run(build, text)
    device = r.found.of("device")
    expect(all(s.points[-1] == 0 for s in device), [s.points for s in device])
    expect(r.found.memories["device"]["growth"] == 0, r.found.memories)


def names_no_line_where_no_python_runs(build):
    """A thread of autograd's: the block counts, without a stack."""
    text = LEAK.replace("_blocks.allocate(256 * KB)", "_blocks.allocate(256 * KB, python=False)")
    r = run(build, text)
    device = r.found.of("device")
    expect(len(device) == 1 and device[0].frames == [], [s.frames for s in device])
    expect(device[0].points[-1] == int(r.output) * 256 * KB, device[0].points)


def samples_blocks_that_do_not_fit(build):
    """Reading so many takes some seconds: 0.5 % of the time."""
    text = BEGIN + """
settle()
def small(): return [_blocks.allocate(512) for _ in range(20000)]
def large(): return [_blocks.allocate(64 * KB) for _ in range(1000)]
kept = small(), large()
whole = torch._C._cuda_memorySnapshot()
torch._C._cuda_memorySnapshot = lambda: whole
steps(14)
"""
    r = run(build, text)
    expect(r.found.memories["device"]["interval"] > 0, r.found.memories)
    bytes_of = {s.frames[1][0]: s.points[-1] for s in r.found.of("device")}
    expect(abs(bytes_of["small"] / (20000 * 512) - 1) < .15, bytes_of)
    expect(abs(bytes_of["large"] / (1000 * 64 * KB) - 1) < .15, bytes_of)
    expect(sum(s.live for s in r.found.of("device")) < 16384, r.found.memories)


def has_a_line_where_host_memory_took_all_room(build):
    """Compiling a model makes thousands of stacks."""
    text = LEAK.replace("made = ", """
def descend(path, depth):
    if depth == 0:
        return bytearray(8 * MB)
    if path & 1:
        return descend(path >> 1, depth - 1)
    return descend(path >> 1, depth - 1)
for path in range(8000):
    descend(path, 60)
made = """, 1)
    text = text.replace("def extension(i):\n", """def extension(i, depth=60):
    if depth:
        return extension(i, depth - 1)
""")
    r = run(build, text)
    frames = sum(len(s.frames) for s in r.found.sites)
    expect(frames > 5000, frames)  # of the largest
    lines = [s.frames[0] for s in r.found.of("device") if s.frames]
    expect(lines == [("extension", "program.py", LINE + 2)], r.found.of("device"))


def makes_no_list_of_too_many(build):
    """Of so many that torch's own list would take long."""
    many = """
many = {"active": {"all": {"current": 70000}}}
torch._C._cuda_memoryStats = lambda device: many
settle()
"""
    expect(run(build, BEGIN + "settle()" + many).calls == ["on", "off"])
    expect(run(build, BEGIN + many).calls == [])


def records_pinned_memory(build):
    text = LEAK.replace("_blocks.allocate(256 * KB)", "_blocks.allocate(256 * KB, pinned=True)")
    r = run(build, text, "2.15")
    pinned = r.found.of("pinned")
    expect(len(pinned) == 1 and pinned[0].frames[0] == ("extension", "program.py", LINE), pinned)
    expect(pinned[0].points[-1] == int(r.output) * 256 * KB, pinned[0].points)
    expect(r.found.memories["pinned"]["growth"] == int(r.output) * 256 * KB, r.found.memories)
    expect(not r.found.of("device"), r.found.of("device"))


def leaves_the_child_of_a_fork_alone(build):
    text = LEAK + """
torch._C._cuda_isInBadFork = lambda: os.getpid() != first
first = os.getpid()
child = os.fork()
if child == 0:
    settle()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
settle()
"""
    r = run(build, text)
    expect(r.calls == ["on"], r.calls)


def leaves_a_torch_without_cuda_alone(build):
    """The real one of this system, without CUDA."""
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        raise Skipped("no torch")
    text = """
import torch
net = torch.nn.Linear(8, 1)
sgd = torch.optim.SGD(net.parameters(), lr=.1)
import time
end = time.monotonic() + 2
while time.monotonic() < end:
    net(torch.ones(4, 8)).sum().backward()
    sgd.step()
assert not torch.cuda.is_initialized()
"""
    r = run(build, text, None)
    expect(not r.found.memories, r.found.memories)


CASES = [finds_the_line(v) for v in VERSIONS] + [
    stays_away_without_an_order,
    never_begins_cuda,
    leaves_the_programs_own_recording_alone("2.0"),
    leaves_the_programs_own_recording_alone("2.5"),
    gives_way_to_a_recording_that_begins,
    gives_way_where_it_was_switched_off,
    endures_an_allocator_that_refuses,
    endures_lists_of_anything,
    drops_exceptions_of_torch,
    switches_off_when_disarmed,
    forgets_what_was_freed,
    names_no_line_where_no_python_runs,
    samples_blocks_that_do_not_fit,
    has_a_line_where_host_memory_took_all_room,
    makes_no_list_of_too_many,
    records_pinned_memory,
    leaves_the_child_of_a_fork_alone,
    leaves_a_torch_without_cuda_alone,
]


def main():
    asked = runner.arguments(__doc__)
    build = pathlib.Path(asked.target)
    cases = [Case(runner.words(f.__name__), lambda f=f: f(build)) for f in CASES]
    return runner.run_all([c for c in cases if runner.is_wanted(c.name, asked.names)], os.cpu_count())


if __name__ == "__main__":
    sys.exit(main())

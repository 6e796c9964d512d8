#!/usr/bin/env python3
"""bench/unwind.py BUILD [--rounds N]: what one native stack costs, by our unwinder, by libunwind's
unw_backtrace() (with its per-thread cache) and by glibc's backtrace(), on the same stacks.

Rounds are interleaved; the ratio is to ours of the same round, and the table shows the median with
the least and the most. Instructions are callgrind's: of many stacks less those of few, for one. The
first stack of a process, where nothing is cached yet, is measured in processes of its own.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3"
NAMES = ["tidemark", "libunwind", "backtrace()"]
FUNCTIONS = ["take_ours", "take_libunwind", "take_glibc"]
MANY = 20000

# measure(depth) is called at the place whose stack is taken.
PLAIN = """
def place(n):
    return place(n - 1) if n else measure()
max([1], key=lambda x: place(20))
"""
TORCH = """
import torch
class Here(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        measure()
        return grad
x = torch.randn(8, requires_grad=True)
torch.nn.Sequential(torch.nn.Linear(8, 8))(Here.apply(x)).sum().backward()
"""
THREADS = """
import threading
kind = kinds[0]
measure_one = library.unwinders_measure
measure_one(kind, 10, 0)
both = threading.Barrier(65)
def stay(works):
    if works: measure_one(kind, 100, 0)
    both.wait(); both.wait()
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4
def grown(works):
    threads = [threading.Thread(target=stay, args=(works,)) for _ in range(64)]
    before = resident()
    for t in threads: t.start()
    both.wait()
    kb = resident() - before
    both.wait()
    for t in threads: t.join()
    return kb
bare = grown(False)
print(json.dumps((grown(True) - bare) / 64))
"""
STACKS = [("C, 30 frames deep", "measure()", 30), ("Python", PLAIN, 0),
          ("Python + torch, in backward()", TORCH, 0)]

BEGIN = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
library.unwinders_measure.restype = ctypes.c_double
kinds, rounds, depth, many = json.loads(sys.argv[2])
def measure():
    rows = []
    for _ in range(rounds):
        rows.append([library.unwinders_measure(kind, many, depth) for kind in kinds])
    print(json.dumps([rows, library.unwinders_found()]), flush=True)
"""


def command(build, program, kinds, rounds, depth, many):
    return [PYTHON, "-c", BEGIN + program, str(build / "tests/libunwinders.so"),
            json.dumps([kinds, rounds, depth, many])]


def times_of(build, program, depth, rounds):
    """Nanoseconds by round and unwinder, after a first round that fills caches; and the frames."""
    ran = subprocess.run(command(build, program, [0, 1, 2], rounds + 1, depth, MANY),
                         capture_output=True, text=True, timeout=900)
    if ran.returncode != 0:
        return None
    rows, frames = json.loads(ran.stdout.splitlines()[-1])
    return rows[1:], frames


def collected(build, program, kind, depth, many):
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=%s/out" % folder,
             "--toggle-collect=%s" % FUNCTIONS[kind], *command(build, program, [kind], 1, depth, many)],
            capture_output=True, text=True, timeout=1800)
    found = re.search(r"Collected *: *(\d+)", ran.stderr)
    return int(found.group(1)) if ran.returncode == 0 and found else None


def first_of(build, program, depth):
    """Nanoseconds of the first stack of a process, where nothing is cached, by unwinder."""
    firsts = []
    for kind in range(len(NAMES)):
        rows = []
        for _ in range(5):
            ran = subprocess.run(command(build, program, [kind], 1, depth, 1), capture_output=True,
                                 text=True, timeout=900)
            rows.append(json.loads(ran.stdout.splitlines()[-1])[0][0][0])
        firsts.append(statistics.median(rows))
    return firsts


def instructions_of(build, program, kind, depth):
    few, many = (collected(build, program, kind, depth, n) for n in (10, 1010))
    return None if few is None or many is None else (many - few) / 1000


def print_memory(build):
    print("Resident memory of a thread that took stacks, of 64")
    for kind, unwinder in enumerate(NAMES):
        ran = subprocess.run(command(build, THREADS, [kind], 1, 0, 1), capture_output=True,
                             text=True, timeout=900)
        if ran.returncode == 0:
            print("  %-12s %7.0f KB" % (unwinder, json.loads(ran.stdout)))


def print_stack(build, name, program, depth, rounds, counts):
    times = times_of(build, program, depth, rounds)
    if times is None:
        print("%s: cannot be measured here" % name)
        return
    rows, frames = times
    firsts = first_of(build, program, depth)
    print("%s, %d frames" % (name, frames))
    for kind, unwinder in enumerate(NAMES):
        if rows[0][kind] < 0:
            print("  %-12s not installed" % unwinder)
            continue
        ns = statistics.median(row[kind] for row in rows)
        ratios = [row[kind] / row[0] for row in rows]
        count = instructions_of(build, program, kind, depth) if counts else None
        print("  %-12s %7.0f ns   %5.1f times (%.1f-%.1f)   first %6.0f us   %s" % (
            unwinder, ns, statistics.median(ratios), min(ratios), max(ratios), firsts[kind] / 1e3,
            "%d instructions" % count if count else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    counts = shutil.which("valgrind") is not None
    for name, program, depth in STACKS:
        # Importing torch under valgrind takes minutes.
        print_stack(arguments.build, name, program, depth, arguments.rounds,
                    counts and program is not TORCH)
    print_memory(arguments.build)


if __name__ == "__main__":
    sys.exit(main())

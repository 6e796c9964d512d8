#!/usr/bin/env python3
"""tests/trace/unwinder.py BUILD: our unwinder's stacks are those of glibc's backtrace(), in a real
Python process with torch.

Every 61st malloc() of the process takes its stack by both: while libraries are loaded, in the
interpreter, in kernels, in autograd's threads, in callbacks from C. Prints "N passed, N failed" last.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3"

PLAIN = """
import ctypes, functools, gc, json, re, sqlite3, threading, weakref
libc = ctypes.CDLL(None)
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
@CALL
def order(a, b):
    json.loads('[1, [2, {"a": "%s"}]]' % ("x" * 600))
    return a[0] - b[0]
def descend(n):
    return descend(n - 1) + len(bytearray(700)) if n else 0
class Finalized:
    def __del__(self):
        json.dumps([{"k": "v" * 600}] * 3)
def work():
    numbers = (ctypes.c_int * 40)(*range(40, 0, -1))
    libc.qsort(numbers, 40, 4, order)
    db = sqlite3.connect(":memory:")
    db.create_function("f", 1, lambda x: "y" * 700 + str(x))
    db.execute("create table t(x)")
    db.executemany("insert into t values (?)", [(i,) for i in range(200)])
    db.execute("select max(f(x)) from t").fetchall()
    descend(150)
    for _ in range(50):
        cycle = [Finalized()]
        cycle.append(cycle)
    gc.collect()
    sorted(range(300), key=functools.cmp_to_key(lambda a, b: len(re.sub("a", "b", "a" * 600)) and a - b))
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
work()
for t in threads: t.join()
"""

TORCH = """
import torch, threading
from torch import nn
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
optimizer = torch.optim.Adam(model.parameters())
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad.clone() * 2
seen = []
for layer in model:
    layer.register_forward_hook(lambda m, i, o: seen.append(float(o.detach().mean())))
for p in model.parameters():
    p.register_hook(lambda g: g.clone())
class Data(torch.utils.data.Dataset):
    def __len__(self): return 24
    def __getitem__(self, i): return torch.randn(3, 16, 16), i % 10
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(Data(), batch_size=8):
        loss = nn.functional.cross_entropy(Twice.apply(model(x)), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
script = torch.jit.trace(lambda a: (a @ a).relu().sum(), torch.randn(20, 20))
for _ in range(20): script(torch.randn(20, 20))
def other():
    for _ in range(20): torch.randn(64, 64).svd()
t = threading.Thread(target=other); t.start(); other(); t.join()
"""


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def stacks_of(build, program, **more):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report"
        ran = subprocess.run([PYTHON, "-c", program], capture_output=True, text=True, timeout=600,
                             env=dict(os.environ, LD_PRELOAD=build / "tests/libunwinders.so",
                                      PYTHONMALLOC="malloc", UNWINDERS_REPORT=report, **more))
        if ran.returncode != 0 or not report.exists():
            return None, ran.stderr[-500:]
        rows = [line.split(" ", 1) for line in report.read_text().splitlines()]
    return {row[0]: row[1] for row in rows}, ""


def faults(stacks, least, deepest):
    number = {name: int(value) for name, value in stacks.items() if name != "fault"}
    if number["compared"] < least or number["deepest"] < deepest:
        yield "only %(compared)d stacks of at most %(deepest)d frames" % number
    if number["different"] or number["shorter"]:
        yield "%(different)d stacks differ, %(shorter)d are shorter" % number + ": " + stacks["fault"]
    # Longer ones are checked by nothing but the end that they reach.
    if number["longer"] * 100 > number["compared"]:
        yield "%(longer)d of %(compared)d are longer" % number
    if number["complete"] * 100 < number["compared"] * 98:
        yield "only %(complete)d of %(compared)d are complete" % number


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    programs = [("python", PLAIN, 1000, 60)]
    if has_torch():
        programs.append(("torch", TORCH, 5000, 60))
    else:
        print("skipped: no torch")
    passed = 0
    for name, program, least, deepest in programs:
        stacks, error = stacks_of(build, program)
        problem = error if stacks is None else "; ".join(faults(stacks, least, deepest))
        if stacks:
            print("  %s: %s" % (name, ", ".join("%s %s" % x for x in stacks.items() if x[1])))
        passed += not problem
        if problem:
            print("FAIL unwinder__has_the_stacks_of_backtrace_in_%s: %s" % (name, problem))
    spoilt, _ = stacks_of(build, "import json", UNWINDERS_SPOIL="1")
    finds = bool(spoilt and spoilt["different"] == spoilt["compared"] != "0" and spoilt["fault"])
    passed += finds
    if not finds:
        print("FAIL unwinder__finds_a_wrong_frame: %s" % spoilt)
    print("%d passed, %d failed" % (passed, len(programs) + 1 - passed))
    return passed < len(programs) + 1


if __name__ == "__main__":
    sys.exit(main())

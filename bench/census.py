#!/usr/bin/env python3
"""bench/census.py BUILD: how long a program stands still for a census, beside the ways in use today
to count the objects of a heap.

The same heap is made for all: OBJECTS lists, dicts and objects, each a third. tidemark's pauses are
those that its report tells, the mean of some censuses: once in the process itself, of a tenth of
the heap (larger ones are a child's work) and with all that does not depend on its size, and once by
a child, where the search for holders goes on. tracemalloc costs while the heap is made. objgraph and pympler come from PyPI
into BUILD/census-venv.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

OBJECTS = 600000
PEERS = ["objgraph", "pympler"]

HEAP = """
class Kept:
    def __init__(self): self.x = None
def make(count):
    return [f() for f in (lambda: [None], lambda: {1: []}, Kept) for i in range(count // 3)]
"""

# Prints the records of the report as JSON.
WATCHED = HEAP + """
import glob, gc, json, os, sys, time
gc.disable()
heap = make(int(sys.argv[1]))
leak = []
def records():
    for path in glob.glob(os.environ["TIDEMARK_RUN"] + "/*.census"):
        with open(path) as f: return {l.split("\\t")[0]: l.split("\\t")[1:] for l in f}
    return {}
end = time.monotonic() + 120
while int(records().get("census", [0])[0]) < 12 and time.monotonic() < end:
    leak.append(Kept())
    print("a line", file=sys.stderr, flush=True)
    time.sleep(.002)
found = records()
print(json.dumps({name: [float(x) for x in found[name]] for name in ("census", "cost")}))
"""

COMPARED = HEAP + """
import collections, gc, json, sys, time, tracemalloc
gc.disable()
def timed(f):
    begin = time.perf_counter()
    kept = f()
    return time.perf_counter() - begin
count, found = int(sys.argv[1]), {}
plain = min(timed(lambda: make(count)) for i in range(3))
tracemalloc.start()
found["tracemalloc, making the heap"] = min(timed(lambda: make(count)) for i in range(3)) - plain
heap = make(count)
found["tracemalloc, a snapshot"] = timed(tracemalloc.take_snapshot)
tracemalloc.stop()
found["gc.get_objects() and Counter"] = min(
    timed(lambda: collections.Counter(map(type, gc.get_objects()))) for i in range(3))
try:
    import objgraph
    found["objgraph.typestats()"] = min(timed(objgraph.typestats) for i in range(3))
    found["objgraph, who holds one"] = timed(
        lambda: objgraph.find_backref_chain(heap[-1], objgraph.is_proper_module))
except ImportError: pass
try:
    from pympler import muppy, summary
    found["pympler, a summary"] = timed(lambda: summary.summarize(muppy.get_objects()))
except ImportError: pass
print(json.dumps(found))
"""


def peers_python(build):
    """An interpreter that has them, if there is a way to them."""
    venv = build / "census-venv"
    python = venv / "bin" / "python"
    if not list(venv.glob("lib/python3*/site-packages/objgraph*")):
        with (build / "census-venv.log").open("w") as log:
            if subprocess.call([sys.executable, "-m", "venv", venv], stdout=log, stderr=log) == 0:
                subprocess.call([python, "-m", "pip", "install", "--disable-pip-version-check",
                                 *PEERS], stdout=log, stderr=log)
    return str(python) if python.exists() else sys.executable


def watched(build, python, count, level):
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        want = subprocess.Popen([build / "tests" / "want", folder, str(level)],
                                stdin=subprocess.PIPE)
        env = {**os.environ, "TIDEMARK_RUN": folder, "TIDEMARK_CENSUS_SHARE": "1",
               "LD_PRELOAD": str(build / "libtidemark_probe.so")}
        done = subprocess.run([python, "-c", WATCHED, str(count)], env=env, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        want.stdin.close()
        want.wait()
    report = json.loads(done.stdout)
    return report["census"][2], *report["cost"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    python = peers_python(build)
    rows = []
    objects, censuses, _, pause, longest, _ = watched(build, python, OBJECTS // 10, 1)
    rows.append(("tidemark, in the process", pause / censuses / objects, longest / objects))
    objects, censuses, searches, pause, longest, child = watched(build, python, OBJECTS, 2)
    rows.append(("tidemark, by a child", pause / censuses / objects, longest / objects))
    search = child / max(1, searches) / objects
    done = subprocess.run([python, "-c", COMPARED, str(OBJECTS)], check=True,
                          stdout=subprocess.PIPE)
    rows += [(name, 1e9 * seconds / OBJECTS, None)
             for name, seconds in json.loads(done.stdout).items()]
    print("The program stands still for a census, per million objects")
    print()
    print("%-34s %10s %10s %10s" % ("", "ms", "longest", "ratio"))
    for name, mean, longest in rows:
        print("%-34s %10.1f %10s %10.1f" % (
            name, mean, "%.1f" % longest if longest is not None else "-", mean / rows[1][1]))
    print()
    print("a child counts and searches for holders meanwhile: %.0f ms per million objects" % search)


if __name__ == "__main__":
    main()

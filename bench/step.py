#!/usr/bin/env python3
"""What Watcher.step() costs, beside TrainWatch's on the same machine.

  bench/step.py build

TrainWatch comes from PyPI into BUILD/step-venv, with psutil and NumPy, and uses the torch that is
here. Where there is none, or nothing can be installed, tidemark stands alone.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

STEPS = 100000
ROUNDS = 7
ASKED = "asked for: at most 0.3 us with a number, 2 us with a CUDA tensor"


# ---- an interpreter that has both ----


def has(python, module):
    return subprocess.call([python, "-c", f"import {module}"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL) == 0


def find_python(build):
    """The one to measure with: with torch and TrainWatch, as far as they can be had."""
    with_torch = [p for p in (sys.executable, "/usr/bin/python3") if has(p, "torch")]
    if not with_torch:
        print("no torch here: numbers alone, and without TrainWatch, which needs it\n")
        return sys.executable
    if has(with_torch[0], "trainwatch"):
        return with_torch[0]
    venv = build / "step-venv"
    python = str(venv / "bin" / "python")
    if venv.exists() and has(python, "trainwatch"):
        return python
    with (build / "step-venv.log").open("w") as log:
        make = [with_torch[0], "-m", "venv", "--system-site-packages", str(venv)]
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps",
               "trainwatch", "psutil", "numpy<2"]
        if subprocess.call(make, stdout=log, stderr=log) == 0:
            subprocess.call(pip, stdout=log, stderr=log)
    if venv.exists() and has(python, "trainwatch"):
        return python
    print(f"TrainWatch could not be installed ({log.name}): without it\n")
    return with_torch[0]


# ---- measuring ----


def seconds(step, loss):
    began = time.perf_counter()
    for _ in range(STEPS):
        step(loss)
    return (time.perf_counter() - began) / STEPS


def seconds_of_nothing():
    began = time.perf_counter()
    for _ in range(STEPS):
        pass
    return (time.perf_counter() - began) / STEPS


def microseconds(steps, loss, synchronize):
    """Of each way to make a step: (median, least, most) over the rounds, less an empty loop's."""
    took = [[] for _ in steps]
    for _ in range(ROUNDS):
        for step, all_took in zip(steps, took):
            synchronize()
            all_took.append(1e6 * (seconds(step, loss) - seconds_of_nothing()))
            synchronize()
    return [(statistics.median(t), min(t), max(t)) for t in took]


def losses():
    """(name, value, how to wait for its device)."""
    yield "a number", 0.5, lambda: None
    try:
        import torch
    except ImportError:
        return
    weight = torch.ones(1, requires_grad=True)
    yield "a CPU tensor", (weight * 2).sum(), lambda: None
    if torch.cuda.is_available():
        weight = torch.ones(1, requires_grad=True, device="cuda")
        yield "a CUDA tensor", (weight * 2).sum(), torch.cuda.synchronize


def trainwatch_ways():
    """TrainWatch's step, by the kind of loss; 0.1 wants .item() to be called."""
    try:
        import trainwatch
    except ImportError:
        return None, None, ""
    watcher = trainwatch.Watcher(print_every=10**9)
    by_hand = trainwatch.__version__.startswith("0.1")

    def with_item(loss):
        watcher.step(loss=loss.item())

    return watcher.step, with_item if by_hand else watcher.step, (
        f"TrainWatch {trainwatch.__version__}" + (" (.item())" if by_hand else ""))


def cell(times):
    return "%8.2f (%.2f-%.2f)" % times


def measure():
    import tidemark
    number_way, tensor_way, peer = trainwatch_ways()
    print(f"step() in us a call, median of {ROUNDS} rounds of {STEPS} (least-most); Python"
          f" {sys.version.split()[0]}, load average {os.getloadavg()[0]:.1f}\n")
    print("%-16s %-24s %-28s %s" % ("the loss is", "tidemark", peer, "ratio" if peer else ""))
    for name, loss, synchronize in losses():
        theirs = number_way if isinstance(loss, float) else tensor_way
        steps = [tidemark.Watcher(print_every=10**9).step] + ([theirs] if theirs else [])
        times = microseconds(steps, loss, synchronize)
        ratio = "%.1f" % (times[1][0] / times[0][0]) if theirs else ""
        print("%-16s %-24s %-28s %s" % (name, cell(times[0]), cell(times[1]) if theirs else "",
                                        ratio), flush=True)
    print(f"\n{ASKED}")


def main():
    parser = argparse.ArgumentParser(description="what Watcher.step() costs")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--measure", action="store_true", help="in this very interpreter")
    o = parser.parse_args()
    if o.measure:
        return measure()
    build = o.build.resolve()
    path = os.pathsep.join(filter(None, [str(build / "python"), os.environ.get("PYTHONPATH")]))
    return subprocess.call([find_python(build), __file__, str(build), "--measure"],
                           env={**os.environ, "PYTHONPATH": path})


if __name__ == "__main__":
    sys.exit(main())

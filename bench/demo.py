#!/usr/bin/env python3
"""bench/demo.py BUILD [--images N] [--runs N]: what `tidemark run` costs a training, in time a step.

Trains examples/cifar.py, on the GPU if there is one, with and without tidemark, in turn and repeated,
and prints the median time of a step of each, and their ratio with its spread. BUILD is a build folder
or an unpacked archive. The python that runs this needs PyTorch.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# In place of the package: only the time between two steps, the first ones left out.
PROGRAM = """
import statistics, sys, time, types

class Watcher:
    def __init__(self, **options):
        self.times = []
    def step(self, loss):
        self.times.append(time.perf_counter())
    def epoch_end(self):
        pass
    def close(self):
        steps = [b - a for a, b in zip(self.times[50:], self.times[51:])]
        print(statistics.median(steps), statistics.fmean(steps))

sys.modules["tidemark"] = types.SimpleNamespace(Watcher=Watcher)
sys.path.insert(0, %r)
import cifar
cifar.main()
"""


def seconds_a_step(prefix, program, images):
    """(median, mean) of one run."""
    command = prefix + [sys.executable, program, "--epochs", "1", "--images", str(images)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("bench/demo.py: %s" % done.stderr)
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build")
    parser.add_argument("--images", type=int, default=6400)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    watched = [str(pathlib.Path(args.build, "tidemark")), "run", "--no-store", "--quiet", "--"]
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "train.py")
        program.write_text(PROGRAM % str(ROOT / "examples"))
        for i in range(args.runs):
            order = ([], watched) if i % 2 == 0 else (watched, [])
            times = {bool(p): seconds_a_step(p, str(program), args.images) for p in order}
            pairs.append((times[False], times[True]))
    for name, k in (("median", 0), ("mean", 1)):
        plain = statistics.median(p[0][k] for p in pairs)
        under = statistics.median(p[1][k] for p in pairs)
        ratios = sorted(p[1][k] / p[0][k] - 1 for p in pairs)
        print("%-7s step: %.3f ms alone, %.3f ms under tidemark run: %+.2f %% (runs: %+.2f to %+.2f %%)"
              % (name, 1e3 * plain, 1e3 * under, 100 * statistics.median(ratios), 100 * ratios[0],
                 100 * ratios[-1]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""bench/demo.py TIDEMARK [--epochs N]: what `tidemark run` costs a training, in time a step.

Trains examples/cifar.py under `tidemark run`, on the GPU if there is one, and takes the probe's
hook out and puts it back every 25 steps: the same process, the same minute, with and without.
Prints the mean time of a step of both kinds, and the difference with its standard error. TIDEMARK
is the program; the python that runs this needs PyTorch 2.0 or later, where the hook can be taken
out.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

PROGRAM = """
import statistics, sys, time, types
import torch

BLOCK, FIRST = 25, 100
hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
kept = dict(hooks)
assert kept, "the probe is not in this process"

class Watcher:
    def __init__(self, **options):
        self.times, self.steps = ([], []), 0
    def step(self, loss):
        now = time.perf_counter()
        with_it = self.steps // BLOCK % 2
        if self.steps >= FIRST and self.steps % BLOCK:
            self.times[with_it].append(now - self.before)
        self.before = now
        self.steps += 1
        if self.steps % BLOCK == 0:
            hooks.clear()
            hooks.update(kept if self.steps // BLOCK % 2 else {})
    def epoch_end(self):
        pass
    def close(self):
        cut = [sorted(t)[: len(t) * 95 // 100] for t in self.times]  # without the machine's hiccups
        print(*[statistics.fmean(t) for t in cut],
              sum(statistics.variance(t) / len(t) for t in cut) ** 0.5, self.steps)

sys.modules["tidemark"] = types.SimpleNamespace(Watcher=Watcher)
sys.path.insert(0, EXAMPLES)
import cifar
cifar.main()
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("tidemark")
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "train.py")
        program.write_text(PROGRAM.replace("EXAMPLES", repr(str(ROOT / "examples"))))
        done = subprocess.run(
            [args.tidemark, "run", "--no-store", "--quiet", "--", sys.executable, program,
             "--epochs", str(args.epochs)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("bench/demo.py: %s" % done.stderr)
    without, with_it, error, steps = [float(w) for w in done.stdout.splitlines()[-1].split()]
    print("%d steps of examples/cifar.py: %.3f ms without the hook, %.3f ms with it: %+.2f %% "
          "(standard error %.2f %%)" % (steps, 1e3 * without, 1e3 * with_it,
                                        100 * (with_it / without - 1), 100 * error / without))
    print("asked for: at most 0.5 %")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What `tidemark run` adds to a whole training run of some seconds: the command's own wall time.

  bench/short.py build [--rounds 5]      # about two minutes

The same training alone, below `run`, and below `run --no-inspect`, one after the other and then in
the opposite order. A run of a few seconds shows most: starting, attaching hooks and the first
censuses cost the same in a run of a day. Needs the torch that /usr/bin/python3 has.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"

# About a thousand optimizer steps; keeps one number a step, as people do.
TRAINING = """\
import sys, torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)])
optimizer, losses = torch.optim.Adam(net.parameters()), []
for step in range(int(sys.argv[1])):
    loss = net(torch.randn(64, 256)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""


def seconds_of(command):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("bench/short.py: %s\n%s" % (" ".join(map(str, command)), done.stderr))
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script = folder / "train.py"
        script.write_text(TRAINING)

        def under(*options):
            run_file = folder / f"run-{time.monotonic_ns()}.tide"
            return [str(o.build / "tidemark"), "run", "-o", str(run_file), *options, "--"]

        print("%-30s %9s %9s  %s" % ("a whole run of torch", "median, s", "ratio", "(least-most)"))
        for steps in (1000, 4000):
            ways = {"alone": lambda: [], "run --no-inspect": lambda: under("--no-inspect"),
                    "run": under}
            took = {way: [] for way in ways}
            for i in range(o.rounds):
                for way in list(ways)[:: 1 if i % 2 == 0 else -1]:
                    took[way].append(seconds_of([*ways[way](), PYTHON, str(script), str(steps)]))
            for way, times in took.items():
                ratios = [t / a for t, a in zip(times, took["alone"])]
                print("%-30s %9.2f %9.3f  (%.3f-%.3f)"
                      % (f"{steps} steps, {way}", statistics.median(times),
                         statistics.median(ratios), min(ratios), max(ratios)), flush=True)


main()

#!/usr/bin/env python3
"""Truth: steps of 2 ms, and an evaluation that takes memory for a moment and gives it back, or not
all of it. The program counts its steps and tells its phases by tidemark.Watcher.

  PYTHONPATH=build/python python3 tests/workloads/evaluates.py --steps 600 --every 50 --keep-mb 10
"""

import argparse
import time

import tidemark

MB = 1 << 20


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--step-ms", type=float, default=2)
    p.add_argument("--every", type=int, default=50, help="steps between evaluations")
    p.add_argument("--mb", type=int, default=150, help="taken by each")
    p.add_argument("--seconds", type=float, default=0.3, help="for so long")
    p.add_argument("--keep-mb", type=int, default=0, help="kept of it, for ever")
    p.add_argument("--run-file")
    return p.parse_args()


def evaluate(a, kept):
    taken = bytearray(a.mb * MB)
    time.sleep(a.seconds)
    del taken
    if a.keep_mb:
        kept.append(bytearray(a.keep_mb * MB))


def main():
    a = arguments()
    kept = []
    watcher = tidemark.Watcher(print_every=0, run_file=a.run_file)
    for step in range(1, a.steps + 1):
        batch = bytearray(MB)
        time.sleep(1e-3 * a.step_ms)
        del batch
        watcher.step(1 / step)
        if step % a.every == 0:
            with watcher.phase("evaluate"):
                evaluate(a, kept)
        if step % (3 * a.every) == 0:
            watcher.phase_begin("save")
            time.sleep(0.01)
            watcher.phase_end("save")
    watcher.close()
    print(watcher.json())


if __name__ == "__main__":
    main()

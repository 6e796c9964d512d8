#!/usr/bin/env python3
"""restart.py: a supervisor that starts its trainer anew every --every steps (200).

Every trainer is a new process that warms up from nothing: 30 MB over its first 50 steps, then flat.
It says `trainer pid N`, then `step N` from 1 again, or, with --resume, from where the last one
stopped.

grows:   nothing, beyond the warm-up of each trainer. Two trainers spliced into one series would be
         a sawtooth, or a leak
verdict: no leak or inconclusive; never leak; the trainers are processes of their own. --fix does
         not warm up
"""

import os
import subprocess
import sys

import load

WARM_UP_STEPS = 50
WARM_UP_MB = 30


def train(options):
    load.say("trainer pid %d" % os.getpid())
    held = [load.take(16)]
    for n in range(1, options.every + 1):
        if n <= WARM_UP_STEPS and not options.fix:
            held.append(load.take(WARM_UP_MB / WARM_UP_STEPS))
        load.say("step %d" % (options.first + n))
        load.sleep_ms(options.step_ms)


def supervise(options):
    """Starts trainers one after another until all the steps are made."""
    for made in range(0, options.steps, options.every):
        steps = min(options.every, options.steps - made)
        command = [sys.executable, __file__, "--trainer", "--every", str(steps)]
        command += ["--step-ms", str(options.step_ms)]
        command += ["--first", str(made if options.resume else 0)]
        if options.fix:
            command.append("--fix")
        trainer = subprocess.Popen(command, preexec_fn=load.die_with_parent)
        try:
            trainer.wait()
        except load.Stopped:
            trainer.terminate()
            trainer.wait()
            raise


def main():
    parser = load.options(__doc__)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--trainer", action="store_true", help="be one")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    load.Load().run(lambda: train(options) if options.trainer else supervise(options))


if __name__ == "__main__":
    main()

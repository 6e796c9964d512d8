#!/usr/bin/env python3
"""tests/probe/holders.py BUILD [--every] [NAME...]: the probe's search for holders, in real
programs of the system's CPython and the oldest and newest found here (--every: all).

The cases are in holders_program.py. One line per case, `N passed, N failed` last.
"""

import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner

PROGRAM = pathlib.Path(__file__).resolve().parent / "holders_program.py"


def cases(python, program, library, names):
    """(name, error or None) of every case."""
    done = subprocess.run([python, "-X", "faulthandler", program, library, *names], text=True,
                          capture_output=True, timeout=300)
    for line in done.stdout.splitlines():
        name, _, said = line.split(" ", 1)[1].partition(": ")
        yield name, None if line.startswith("ok ") else said
    if done.returncode != 0 or not done.stdout:
        yield "the program ended well", "status %d\n%s" % (done.returncode, done.stderr)


def run_all(program, library, asked):
    """Runs the cases of a program with each interpreter; returns the exit status."""
    counts = [0, 0]
    for version, python in runner.interpreters(asked.every):
        for name, said in cases(python, program, library, asked.names):
            counts[said is not None] += 1
            print("%-4s  %s %s" % ("FAIL" if said else "ok", runner.text(version),
                                   name.replace("_", " ")), flush=True)
            for line in (said or "").splitlines():
                print("      | " + line, flush=True)
    print("%d passed, %d failed" % tuple(counts))
    return 1 if counts[1] or not counts[0] else 0


def main():
    asked = runner.arguments(__doc__)
    return run_all(PROGRAM, pathlib.Path(asked.target) / "tests" / "libholders.so", asked)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""tests/probe/holders.py BUILD [NAME...]: who holds an object, by the probe's search, in real
programs of every CPython from 3.9 on that is found here.

The cases are in holders_program.py. One line a case, `N passed, N failed` last.
"""

import pathlib
import subprocess
import sys

from run import interpreters

PROGRAM = pathlib.Path(__file__).resolve().parent / "holders_program.py"


def cases(python, program, library, names):
    """(name, what is wrong or None) of every case."""
    done = subprocess.run([python, "-X", "faulthandler", program, library, *names], text=True,
                          capture_output=True, timeout=300)
    for line in done.stdout.splitlines():
        name, _, said = line.split(" ", 1)[1].partition(": ")
        yield name, None if line.startswith("ok ") else said
    if done.returncode != 0 or not done.stdout:
        yield "the program ended well", "status %d\n%s" % (done.returncode, done.stderr)


def run_all(program, library, names):
    """The cases of a program that has the library, with every interpreter; the exit status."""
    counts = [0, 0]
    for version, python, _ in interpreters():
        for name, said in cases(python, program, library, names):
            counts[said is not None] += 1
            print("%-4s  %s %s" % ("FAIL" if said else "ok", ".".join(map(str, version)),
                                   name.replace("_", " ")), flush=True)
            for line in (said or "").splitlines():
                print("      | " + line, flush=True)
    print("%d passed, %d failed" % tuple(counts))
    return 1 if counts[1] or not counts[0] else 0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    library = pathlib.Path(sys.argv[1]).resolve() / "tests" / "libholders.so"
    return run_all(PROGRAM, library, sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())

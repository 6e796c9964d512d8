#!/usr/bin/env python3
"""tests/live/run.py TIDEMARK [NAME...]: `run` and `watch` with real processes and terminals.

One line a case, two at a time, and `N passed, N failed` last. These cases are about real time, and
the machine may be busy: what failed is run once more, alone, and both results are shown.
"""

import concurrent.futures
import os
import pathlib
import sys
import time

import bench
import copies
import ending
import entering
import found
import hostile
import inside
import memory
import options
import phases
import shared
import signals
import streams
import terminals
import tradeoff
import users
import watching

PARALLEL = 2
MODULES = (ending, streams, signals, terminals, options, inside, found, phases, tradeoff, watching,
           copies, shared, entering, hostile, memory, users)


def cases():
    for module in MODULES:
        for name, function in vars(module).items():
            if callable(function) and function.__module__ == module.__name__:
                if not name.startswith("_") and function.__doc__:
                    yield "%s: %s" % (module.__name__, name.replace("_", " ")), function


def run_case(tidemark, function):
    """(word, what was wrong, seconds)."""
    start = time.monotonic()
    b = bench.Bench(tidemark)
    word, said = "ok", ""
    try:
        function(b)
    except bench.Skipped as reason:
        word, said = "skip", str(reason)
    except bench.Failed as failure:
        word, said = "FAIL", "%s\n%s" % (function.__doc__.strip(), failure)
    except Exception as error:  # a case that breaks is a case that failed
        word, said = "FAIL", "%s: %s" % (type(error).__name__, error)
    finally:
        b.exits.close()
    return word, said, time.monotonic() - start


def tell(word, name, said, seconds):
    print("%-4s  %-60s %5.1f s" % (word, name, seconds), flush=True)
    for line in said.splitlines():
        print("      | " + line, flush=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    tidemark = pathlib.Path(sys.argv[1]).resolve()
    for name in ("TERM", "NO_COLOR", "COLUMNS", "LINES"):
        os.environ.pop(name, None)
    wanted = [c for c in cases() if not sys.argv[2:] or any(a in c[0] for a in sys.argv[2:])]
    counts = {"ok": 0, "skip": 0, "FAIL": 0}
    again = []
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        results = pool.map(lambda c: run_case(tidemark, c[1]), wanted)
        for case, (word, said, seconds) in zip(wanted, results):
            tell("once" if word == "FAIL" else word, case[0], said, seconds)
            if word == "FAIL":
                again.append(case)
            else:
                counts[word] += 1
    for name, function in again:
        word, said, seconds = run_case(tidemark, function)
        counts[word] += 1
        tell(word, name + ", again", said, seconds)
    print("%d passed, %d failed" % (counts["ok"], counts["FAIL"]))
    sys.exit(counts["FAIL"] > 0 or not wanted)


if __name__ == "__main__":
    main()

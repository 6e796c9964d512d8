#!/usr/bin/env python3
"""tests/live/run.py TIDEMARK [NAME...]: `run` and `watch` with real processes and terminals.

One line a case, and `N passed, N failed` last. The cases mostly wait, so several run at a time.
"""

import functools
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
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
import runner
import shared
import signals
import streams
import terminals
import tradeoff
import users
import watching

# Together they take a tenth of one processor.
PARALLEL = 5
# Those that wait longest come first, so that nothing long begins last.
MODULES = (copies, shared, entering, ending, streams, signals, terminals, options, inside, found,
           phases, tradeoff, watching, hostile, memory, users)


def cases(tidemark):
    for module in MODULES:
        for name, function in vars(module).items():
            if callable(function) and function.__module__ == module.__name__:
                if not name.startswith("_") and function.__doc__:
                    yield runner.Case("%s: %s" % (module.__name__, runner.words(name)),
                                      functools.partial(run_case, tidemark, function),
                                      turn=getattr(module, "TURN", ""))


def run_case(tidemark, function):
    b = bench.Bench(tidemark)
    try:
        return function(b)
    except bench.Failed as failure:
        raise bench.Failed("%s\n%s" % (function.__doc__.strip(), failure)) from None
    finally:
        b.exits.close()


def main():
    asked = runner.arguments(__doc__, "TIDEMARK")
    for name in ("TERM", "NO_COLOR", "COLUMNS", "LINES"):
        os.environ.pop(name, None)
    wanted = [c for c in cases(pathlib.Path(asked.target)) if runner.is_wanted(c.name, asked.names)]
    sys.exit(runner.run_all(wanted, PARALLEL))


if __name__ == "__main__":
    main()

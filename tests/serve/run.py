#!/usr/bin/env python3
"""tests/serve/run.py TIDEMARK [NAME...]: `serve`, `run --ui` and `watch --ui` over real HTTP.

One line a case, and `N passed, N failed` last. Requests go to 127.0.0.1 alone.
"""

import functools
import os
import pathlib
import resource
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import access
import hostile
import live
import pages
import runner
import server

PARALLEL = 4
MODULES = (hostile, live, pages, access)
# What measures memory, or wants the whole machine.
ALONE = {"two_hundred_viewers", "more_clients_than_there_is_room_for"}


def cases(tidemark):
    for module in MODULES:
        for name, function in vars(module).items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__:
                if not name.startswith("_") and function.__doc__:
                    yield runner.Case("%s: %s" % (module.__name__, runner.words(name)),
                                      functools.partial(run_case, tidemark, function),
                                      alone=name in ALONE)


def run_case(tidemark, function):
    desk = server.Desk(tidemark)
    try:
        return function(desk)
    except server.Failed as failure:
        raise server.Failed("%s\n%s" % (function.__doc__.strip(), failure)) from None
    finally:
        desk.exits.close()


def main():
    asked = runner.arguments(__doc__, "TIDEMARK")
    for name in ("TERM", "NO_COLOR", "COLUMNS", "LINES", "SUDO_UID"):
        os.environ.pop(name, None)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        server.record(asked.target, folder)
        wanted = [c for c in cases(asked.target) if runner.is_wanted(c.name, asked.names)]
        sys.exit(runner.run_all(wanted, PARALLEL))


if __name__ == "__main__":
    main()

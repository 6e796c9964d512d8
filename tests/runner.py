"""What the test runners share: cases side by side, a second try, and the interpreters.

A case returns a note, or None. It raises Skipped with the reason; any other exception is a failure.
Cases with real processes and real time depend on how busy the machine is. So a case that fails is
run again, alone, after all others. If it passes then, it counts as passed and is reported as flaky;
tools/lanes.py fails a run with too many of those.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import glob
import os
import signal
import subprocess
import time
import typing

OLDEST = (3, 9)
FLAKY = "flaky: "  # begins the line that names a flaky case; tools/lanes.py reads it


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(holds, what="", *more):
    if not holds:
        raise Failed("\n".join([str(what), *(str(m)[-3000:] for m in more)]))


@dataclasses.dataclass
class Case:
    name: str
    function: typing.Callable
    alone: bool = False  # not beside others of this runner
    turn: str = ""  # cases of one turn share something, and run one after another


# ---- the command line of a runner ----


def arguments(about, target="BUILD"):
    """Of the command line: .target, .names of cases (none: all), .every, .long."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", metavar=target)
    parser.add_argument("names", metavar="NAME", nargs="*", help="cases whose name contains it")
    parser.add_argument("--every", action="store_true", help="with every CPython found here")
    parser.add_argument("--long", action="store_true", help="repeat ten times as often")
    options = parser.parse_intermixed_args()
    options.target = os.path.abspath(options.target)
    return options


def words(name):
    return name.replace("_", " ")


def is_wanted(name, names):
    """Underscores and spaces are the same: as the function is called, or as it was printed."""
    return not names or any(words(n) in words(name) for n in names)


# ---- running ----


def outcome(case):
    """(word, what was said, seconds)"""
    start = time.monotonic()
    try:
        word, said = "ok", case.function() or ""
    except Skipped as reason:
        word, said = "skip", str(reason)
    except Failed as failure:
        word, said = "FAIL", str(failure)
    except Exception as error:  # a case that breaks is a case that failed
        word, said = "FAIL", "%s: %s" % (type(error).__name__, error)
    return word, said, time.monotonic() - start


def show(word, name, said, seconds):
    print("%-5s %-60s %5.1f s" % (word, name, seconds), flush=True)
    for line in said.splitlines():
        print("      | " + line, flush=True)


def side_by_side(chosen, jobs):
    """(case, outcome), as they end."""
    turns = {}
    for case in chosen:
        turns.setdefault(case.turn or id(case), []).append(case)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(lambda t=turn: [(c, outcome(c)) for c in t])
                   for turn in turns.values()]
        for future in concurrent.futures.as_completed(running):
            yield from future.result()


def run_once(chosen, jobs):
    yield from side_by_side([c for c in chosen if not c.alone], jobs)
    for case in chosen:
        if case.alone:
            yield case, outcome(case)


def run_all(chosen, jobs):
    """Prints a line a case, and `N passed, N failed` last. The exit status of the runner."""
    # A shell that starts us in the background has interrupts ignored, which programs inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    counts, again, flaky = collections.Counter(), [], []
    for case, (word, *said) in run_once(list(chosen), jobs):
        if word == "FAIL":
            again.append(case)
        counts[word] += 1
        show("once" if word == "FAIL" else word, case.name, *said)
    for case in again:
        word, *said = outcome(case)
        show("FAIL" if word == "FAIL" else "flaky", case.name + ", again", *said)
        if word != "FAIL":
            flaky.append(case.name)
    for name in flaky:
        print(FLAKY + name)
    passed, failed = counts["ok"] + len(flaky), counts["FAIL"] - len(flaky)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not counts else 0


# ---- interpreters ----


def version_of(python):
    """(major, minor, micro); None: it does not run, or is no CPython."""
    ask = "import sys; print(*sys.version_info[:3], sys.implementation.name)"
    try:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    except OSError:
        return None
    *version, name = done.stdout.split() or [""]
    return tuple(map(int, version)) if done.returncode == 0 and name == "cpython" else None


def places():
    """PYTHONS (a list of paths) replaces what is found."""
    if os.environ.get("PYTHONS"):
        return os.environ["PYTHONS"].split()
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    patterns = ("/usr/bin/python3", "/usr/bin/python3.*[0-9]", "/usr/local/bin/python3.*[0-9]",
                pyenv + "/versions/3.*/bin/python3")
    return [path for pattern in patterns for path in sorted(glob.glob(pattern))]


def interpreters(every=False):
    """(version, path) of CPythons from 3.9 on: the system's, the oldest and the newest; or every."""
    found = {}
    for path in places():
        version = version_of(path)
        if version and version >= OLDEST:
            found.setdefault((version[:2], path.startswith("/usr/bin")), (version, path))
    kept = list(found.values())
    return kept if every else [p for p in kept if p in (kept[0], min(kept), max(kept))]


def text(version):
    return ".".join(map(str, version))

#!/usr/bin/env python3
"""tests/trace/stress.py BUILD [--long] [--every] [NAME...]: the allocation tracer under programs that check
their own memory.

Each mode of trace_target allocates in its own way, in many threads, and ends with status 99 where a
block was changed. It runs with the preloaded library and orders of this test, and below `tidemark
run --trace=16KB`. Nothing may hang, change, or be found live that was freed; exit status and output
stay the program's own; so for Python programs. --long: ten times as long. --every: with every
CPython that is found. One line a case, `N passed, N failed` last.
"""

import contextlib
import glob
import json
import math
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner
from runner import Case, expect

SMALL = 16384  # bytes between two samples
THREADS = 64
PATIENCE = 100  # seconds for a program that runs for a few
ORDERS_MAGIC = 0x3173726F454D4954
HEAD, ORDER, ORDERS = struct.Struct("<QIII3I"), struct.Struct("<qQQQ"), 255
GENERATION_AT = 12


class Orders:
    """What the watcher writes, for every process."""

    def __init__(self, folder, interval):
        self.path, self.generation = folder / "trace.orders", 0
        self.path.touch(mode=0o600)
        self.file = self.path.open("r+b", buffering=0)
        self.file.truncate(HEAD.size + ORDERS * ORDER.size)
        self.write(interval)

    def write(self, interval, blocks=0):
        """The generation follows the list."""
        self.generation += 1
        os.pwrite(self.file.fileno(), ORDER.pack(0, 0, interval, blocks), HEAD.size)
        head = HEAD.pack(ORDERS_MAGIC, 1, self.generation, 1, 0, 0, 0)
        os.pwrite(self.file.fileno(), head[GENERATION_AT:], GENERATION_AT)
        os.pwrite(self.file.fileno(), head[:GENERATION_AT], 0)


@contextlib.contextmanager
def directory():
    """As `tidemark run` makes one."""
    with tempfile.TemporaryDirectory(prefix="tidemark-", dir="/dev/shm") as name:
        os.chmod(name, 0o700)
        yield pathlib.Path(name)


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


class Stress:
    def __init__(self, build, is_long):
        self.build, self.tests = build, build / "tests"
        self.seconds = 15 if is_long else 1.5
        self.times = 10000 if is_long else 1000

    def target(self, mode, seconds, threads):
        return [str(self.tests / "trace_target"), mode, str(seconds), str(threads)]

    def run(self, command, env=None, patience=PATIENCE):
        """Kills all of it where it hangs."""
        p = subprocess.Popen(command, env={**os.environ, **(env or {})}, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True, preexec_fn=no_core)
        try:
            out, err = p.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            expect(False, "%s hung" % " ".join(command), out, err)
        return p, out, err

    def dump(self, path):
        done = subprocess.run([self.tests / "trace_dump", path], capture_output=True, text=True)
        expect(done.returncode == 0, "the trace file %s is not whole" % path)
        return json.loads(done.stdout)

    def preloaded(self, folder, behind=()):
        libraries = [self.build / "libtidemark_preload.so", *(self.tests / b for b in behind)]
        return {"TIDEMARK_RUN": str(folder), "LD_PRELOAD": " ".join(map(str, libraries))}

    def traced(self, mode, threads=THREADS, behind=(), seconds=None, meanwhile=None):
        """What the program printed, and what its own trace file says."""
        with directory() as folder:
            orders = Orders(folder, SMALL)
            over = threading.Event()
            writer = threading.Thread(target=meanwhile, args=(orders, over)) if meanwhile else None
            if writer:
                writer.start()
            try:
                p, out, err = self.run(self.target(mode, seconds or self.seconds, threads),
                                       self.preloaded(folder, behind))
            finally:
                over.set()
                if writer:
                    writer.join()
            expect(p.returncode == 0 and re.search(r"^ok \d+$", out, re.M),
                   "%s: exit status %s" % (mode, p.returncode), out, err)
            files = glob.glob(str(folder / ("%d-*.trace" % p.pid)))
            expect(len(files) == 1, "no trace file of %s" % mode)
            trace = self.dump(files[0])
            trace["generation written"] = orders.generation
            return out, trace


def note(trace):
    said = "%d samples, one in %.0f KB, %d ns each" % (
        trace["samples"], trace["interval"] / 1024, trace["spent"] / max(1, trace["samples"]))
    return said + ("; %d dropped" % trace["dropped"] if trace["dropped"] else "")


# What the C library keeps for itself: buffers of output, and what the loader needs.
OWN = 4


def check(trace, live=0, claimed=0):
    """`live`: samples that may be left after everything was freed."""
    expect(trace["coverage"] == 1, "the functions are not interposed", trace)
    expect(trace["samples"] > 50, "hardly anything was sampled", trace)
    expect(trace["torn"] == 0 and trace["claimed"] <= claimed, "records are torn", trace)
    expect(trace["live"] <= live, "freed memory is live", trace)


def family(s, behind=(), mode="family"):
    out, trace = s.traced(mode, behind=behind)
    kept = int(re.search(r"^kept (\d+)$", out, re.M).group(1))
    error = math.sqrt(trace["interval"] * kept)
    expect(trace["torn"] == trace["claimed"] == trace["dropped"] == 0, "records are torn", trace)
    expect(trace["bytes"] - trace["large"] <= OWN * 4 * trace["interval"] + 1e5,
           "freed memory is live", trace)
    expect(abs(trace["large"] - kept) < 5 * error, "%.3g of %.3g bytes" % (trace["large"], kept),
           trace)
    return note(trace)


def behind_an_allocator(s):
    """Which calls other functions of the family by their names: each block is sampled once."""
    return family(s, ["libquiet_malloc.so"])


def beside(library):
    """With an allocator that the user preloads."""
    def case(s):
        found = glob.glob("/usr/lib/*/" + library)
        if not found:
            raise runner.Skipped(library + " is not installed")
        return family(s, found, "other-allocator")
    return case


def plain(mode, **options):
    def case(s):
        limits = {k: options.pop(k) for k in ("live", "claimed") if k in options}
        out, trace = s.traced(mode, **options)
        check(trace, **limits)
        return note(trace)
    return case


def mappings(s):
    """More pieces than there is room for: the rest is counted."""
    out, trace = s.traced("mappings")
    check(trace, live=OWN)
    expect(trace["dropped"] > 0 and trace["dropped_bytes"] > 0, "nothing was dropped", trace)
    return note(trace)


def arming(s):
    """A thousand times armed and disarmed; the next order may come before the last is followed."""
    changes, seconds = 2 * s.times, 4 * s.seconds

    def rewrite(orders, over):
        begin = time.monotonic()
        for i in range(changes):
            if over.wait(max(0, begin + i * seconds / changes - time.monotonic())):
                return
            orders.write(0 if i % 2 else SMALL << (i // 2 % 8))
        orders.write(SMALL)

    out, trace = s.traced("family", meanwhile=rewrite, seconds=seconds + 2)
    expect(trace["generation written"] == changes + 2, "it ended too early")
    expect(trace["generation"] == trace["generation written"] and trace["armed"] == 1,
           "the last order was not followed", trace)
    expect(trace["torn"] == trace["claimed"] == 0, "records are torn", trace)
    return note(trace)


# ---- below tidemark run ----


def below(s, mode, threads, seconds):
    command = s.target(mode, seconds, threads)
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer.json")
        p, out, err = s.run([str(s.build / "tidemark"), "run", "--trace=16KB", "--full", "--json",
                             answer, "-o", os.path.join(folder, "run.tide"), "--", *command])
        left = glob.glob("/dev/shm/tidemark-*/%d-*" % p.pid)
        expect(not left, "files are left", left)
        return p.returncode, out, err


def watched(mode, threads=16):
    def case(s):
        status, out, err = below(s, mode, threads, s.seconds + 1)
        expect(status == 0 and re.search(r"^ok \d+$", out, re.M), "exit status %d" % status, out,
               err)
        said = " ".join(err.split())
        found = re.search(r"one allocation in about [^:]*: ([\d,]+) samples took.{,80}", said)
        expect(found, "the report says nothing of the tracer", err)
        if mode == "mappings":
            expect("found no room" in found.group(0), "the report says nothing of drops", err)
        return found.group(0)[:70]
    return case


def ends(mode):
    """Exit status and output are the program's own, and the watcher reports its end."""
    def case(s):
        bare, out, err = s.run(s.target(mode, 1, 8))
        status, traced_out, traced_err = below(s, mode, 8, 1)
        expect(status == bare.returncode, "exit status %d, not %d" % (status, bare.returncode),
               traced_err)
        expect(traced_out == out, "another output", traced_out)
        word = "ended by signal %d" % -bare.returncode if bare.returncode < 0 else (
            "exited with status %d" % bare.returncode)
        expect(word in traced_err, "the watcher does not report the end", traced_err)
        return word
    return case


def untraced(s):
    """--no-trace: no function of the family leads to the tracer, and no order is followed."""
    with directory() as folder:
        Orders(folder, SMALL)
        env = {"TIDEMARK_RUN": str(folder), "LD_PRELOAD": str(s.build / "libtidemark_probe.so")}
        p, out, err = s.run(s.target("family", 0.2, 4), env)
        expect(p.returncode == 0 and not list(folder.glob("*.trace")), "it was traced", out, err)


# ---- Python ----


PROGRAM = str(pathlib.Path(__file__).resolve().parent / "program.py")
SWITCH_SECONDS = 0.02


def switch(orders, over):
    """Tracing of the interpreter's own allocators begins and ends, while objects live on."""
    i = 0
    while not over.wait(SWITCH_SECONDS):
        i += 1
        orders.write(0 if i % 3 == 0 else SMALL)


def plainly(text):
    """Threads have other numbers each time."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def in_python(s, mode, python, needs=(), switches=True):
    """Output and status are those of the bare program."""
    for module in needs:
        if subprocess.call([python, "-c", "import " + module], stderr=subprocess.DEVNULL) != 0:
            return "no " + module
    seconds = s.seconds / 2
    bare, out, err = s.run([python, PROGRAM, mode, "0.1"])
    with directory() as folder:
        orders, over = Orders(folder, SMALL), threading.Event()
        writer = threading.Thread(target=switch, args=(orders, over))
        if switches:
            writer.start()
        try:
            p, traced_out, traced_err = s.run([python, PROGRAM, mode, str(seconds)],
                                              s.preloaded(folder))
        finally:
            over.set()
            if switches:
                writer.join()
        expect((p.returncode, traced_out, plainly(traced_err)) == (
                   bare.returncode, out, plainly(err)),
               "%s of %s: exit status %s, not %s" % (mode, python, p.returncode, bare.returncode),
               traced_out, traced_err)
        files = glob.glob(str(folder / ("%d-*.trace" % p.pid)))
        expect(len(files) == 1, "no trace file")
        trace = s.dump(files[0])
        expect(trace["torn"] == 0 and trace["samples"] > 20, "records are torn", trace)
        return "%d samples" % trace["samples"]


def python_cases(every):
    modes = ["threads", "fork", "spawn", "tools", "interpreters", "daemons", "crash", "error"]
    for version, python in runner.interpreters(every):
        for mode in modes:
            yield ("Python %s, %s" % (runner.text(version), mode),
                   lambda s, m=mode, p=python: in_python(s, m, p, switches=m != "crash"))
    for mode, needs in (("numpy", ["numpy"]), ("loader", ["torch"])):
        yield ("Python, " + mode, lambda s, m=mode, n=needs: in_python(s, m, "/usr/bin/python3", n))


QUIET = ["libquiet_malloc.so"]
CASES = {
    "every function of the family": family,
    "before an allocator that calls itself by name": behind_an_allocator,
    "before jemalloc": beside("libjemalloc.so.2"),
    "before tcmalloc": beside("libtcmalloc_minimal.so.4"),
    "before mimalloc": beside("libmimalloc.so.2"),
    "mappings in pieces": mappings,
    "storms of forks": plain("forks", threads=16, live=600),
    "handlers that allocate": plain("signals", behind=QUIET, live=OWN),
    "a handler on a small stack": plain("small-stack", threads=1, live=OWN),
    "jumps out of samples": plain("jumps", behind=QUIET, threads=16, live=5000, claimed=500),
    "libraries that come and go": plain("loading", threads=32, live=OWN),
    "deep and small stacks": plain("stacks", threads=32, live=OWN),
    "coroutines": plain("coroutines", threads=16, live=300),
    "armed and disarmed 1,000 times": arming,
    "below run: every function of the family": watched("family"),
    "below run: mappings in pieces": watched("mappings", THREADS),
    "below run: storms of forks": watched("forks"),
    "below run: libraries that come and go": watched("loading"),
    "below run: coroutines": watched("coroutines"),
    "without the wrappers": untraced,
    "a stack that overflows": ends("overflow"),
    "a segmentation fault among threads": ends("segfault"),
    "abort() among threads": ends("abort"),
    "an exit status": ends("exit"),
}


def main():
    options = runner.arguments(__doc__)
    s = Stress(pathlib.Path(options.target), options.long)
    cases = {**CASES, **dict(python_cases(options.every))}
    chosen = [Case(name, lambda f=function: f(s)) for name, function in cases.items()
              if runner.is_wanted(name, options.names)]
    sys.exit(runner.run_all(chosen, 2))


if __name__ == "__main__":
    main()

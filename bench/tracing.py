#!/usr/bin/env python3
"""bench/tracing.py BUILD [--rounds N] [--only JOB]... [--no-instructions]: what the allocation
tracer costs the traced program, beside other tools on the same work in the same run.

Every program times its own work, in CPU seconds of all its threads, without its start. Rounds are
interleaved: each round runs every tool once. The first column is the least time of all rounds
against that of the bare program: what others do on the machine only adds to it. The next three are
of the ratios to the bare program of the same round: the median, the least and the most.
Instructions are callgrind's: the difference between a longer and a shorter run, so the start does
not count. MB is the memory (PSS) of the library and its file in the program at its end.

"--no-trace" is tidemark without the wrappers: it counts steps and reads counters. "idle" is the
preloaded library while nothing is suspect: what it takes more than the former is the wrappers'.
"armed" samples every 512 KiB on average
(--interval), which is what a growth of some 50 MB a horizon leads to. memray and Scalene come from
PyPI into BUILD/tracing-venv; heaptrack, jemalloc and tcmalloc are used where they are installed.
What is absent is named. --python: an interpreter with torch.
"""

import argparse
import contextlib
import glob
import os
import pathlib
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading

ORDERS_MAGIC = 0x3173726F454D4954
ORDERS_FORMAT = "<QIII3I qQQQ"
PEERS = ["memray", "scalene"]
TOOL_SECONDS = 900

# Each prints the CPU seconds of its work, and waits to be looked at; arguments: how much of it, and
# of the warm-up.
SAY = """
print(time.process_time() - begin, flush=True)
sys.stdin.read()
"""

OBJECTS = """
import gc, json, sys, time
def work(n):
    kept = []
    for i in range(n):
        record = {"id": i, "name": "item %d" % i, "tags": [str(i % 7), str(i % 11)],
                  "pair": (i, float(i))}
        text = json.dumps(record)
        kept.append(json.loads(text))
        if len(kept) > 2000:
            kept = kept[1000:]
    return kept
work(int(sys.argv[-1]))
begin = time.process_time()
work(int(sys.argv[-2]))
"""

TRAINING = """
import sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Flatten(), torch.nn.Linear(32 * 6 * 6, 10))
optimizer = torch.optim.Adam(net.parameters())
def train(steps):
    for i in range(steps):
        x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
train(int(sys.argv[-1]))
begin = time.process_time()
train(int(sys.argv[-2]))
"""


class Job:
    """A program, how much it does in a round, and what is counted of it."""

    def __init__(self, name, command, size, counted, asked, warm_ups=()):
        self.name, self.command, self.size, self.counted = name, command, size, counted
        self.asked, self.warm_ups, self.is_python = asked, warm_ups, bool(warm_ups)

    def arguments(self, size, is_counted):
        return [str(size), *map(str, self.warm_ups[is_counted:][:1])]


def jobs(build, folder, python):
    scripts = {}
    for name, text in (("objects", OBJECTS), ("training", TRAINING)):
        scripts[name] = folder / (name + ".py")
        scripts[name].write_text(text + SAY)
    malloc = str(build / "bench" / "bench_malloc")
    out = [
        Job("ping-pong malloc", [malloc, "pingpong"], 20000000, 200000,
            "asked for: idle at most 1.2"),
        Job("mixed malloc", [malloc, "mixed"], 6000000, 200000, ""),
        Job("Python, objects", [python, str(scripts["objects"])], 60000, 10000,
            "asked for: idle at most 1.005, armed at most 1.15", (2000, 2000)),
    ]
    if subprocess.call([python, "-c", "import torch"], stderr=subprocess.DEVNULL) == 0:
        out.append(Job("training, torch", [python, str(scripts["training"])], 100, 2,
                       "asked for: idle at most 1.005, armed at most 1.03", (10, 2)))
    else:
        print("absent: torch, for", python)
    return out


# ---- tools ----


def write_orders(directory, interval):
    """What the watcher writes: every process samples."""
    head = struct.pack(ORDERS_FORMAT, ORDERS_MAGIC, 1, 1, 1, 0, 0, 0, 0, 0, interval, 0)
    (directory / "trace.orders").write_bytes(head.ljust(32 + 255 * 32, b"\0"))


class Tool:
    """Runs a job's command in a way of its own."""

    only_python = False
    counts_instructions = False

    def __init__(self, name):
        self.name = name

    def command(self, job, arguments, folder):
        return [*job.command, *arguments]

    def environment(self, folder):
        return {}

    def after(self, folder):
        """What shows that the tool was at work; None: nothing was looked for."""
        return None


class Traced(Tool):
    counts_instructions = True

    def __init__(self, name, build, interval, library="libtidemark_preload.so"):
        super().__init__(name)
        self.library, self.interval = build / library, interval
        if not self.library.exists():
            sys.exit(f"bench/tracing.py: {self.library} is not there: build it first")

    def environment(self, folder):
        folder.chmod(0o700)
        if self.interval:
            write_orders(folder, self.interval)
        return {"TIDEMARK_RUN": str(folder), "LD_PRELOAD": str(self.library)}

    def after(self, folder):
        return bool(glob.glob(str(folder / "*.trace"))) if self.interval else None


class Bare(Tool):
    counts_instructions = True


class Preloaded(Tool):
    def __init__(self, name, library, variables, output=None):
        super().__init__(name)
        self.library, self.variables, self.output = library, variables, output

    def environment(self, folder):
        values = {k: v.format(folder=folder) for k, v in self.variables.items()}
        return {"LD_PRELOAD": self.library, **values}

    def after(self, folder):
        return bool(glob.glob(str(folder / self.output))) if self.output else None


class Wrapped(Tool):
    """Started by another program; of a Python job, its script alone if `is_script`."""

    def __init__(self, name, before, only_python, output=None, is_script=False):
        super().__init__(name)
        self.before, self.only_python, self.output = before, only_python, output
        self.is_script = is_script

    def command(self, job, arguments, folder):
        before = [part.format(folder=folder) for part in self.before]
        return [*before, *job.command[1 if self.is_script else 0:], *arguments]

    def after(self, folder):
        return bool(glob.glob(str(folder / self.output))) if self.output else None


class Tracemalloc(Tool):
    only_python = True

    def environment(self, folder):
        return {"PYTHONTRACEMALLOC": "1"}


def peers_python(build, system_python):
    venv = build / "tracing-venv"
    python = venv / "bin" / "python"
    have = lambda: all(list(venv.glob(f"lib/python3*/site-packages/{p}")) for p in PEERS)
    if not have():
        with (build / "tracing-venv.log").open("w") as log:
            make = [system_python, "-m", "venv", "--system-site-packages", str(venv)]
            pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *PEERS]
            if subprocess.call(make, stdout=log, stderr=log) == 0:
                subprocess.call(pip, stdout=log, stderr=log)
    return str(python) if have() else None


def library(pattern):
    found = sorted(glob.glob("/usr/lib/*/" + pattern))
    return found[0] if found else None


def own_tools(build, interval):
    """The second has the counting of steps and all else that is injected, but no wrappers."""
    return [Bare("bare"), Traced("tidemark, --no-trace", build, 0, "libtidemark_probe.so"),
            Traced("tidemark, idle", build, 0), Traced("tidemark, armed", build, interval)]


def absent(name):
    print("absent:", name)


def tools(build, interval, system_python):
    out = own_tools(build, interval)
    python = peers_python(build, system_python)
    if python:
        memray = [python, "-m", "memray", "run", "-q", "-o", "{folder}/out.memray"]
        out += [Wrapped("memray", memray, True, "out.memray", True),
                Wrapped("memray --native", [*memray, "--native"], True, "out.memray", True),
                Wrapped("memray --trace-python-allocators",
                        [*memray, "--trace-python-allocators"], True, "out.memray", True),
                Wrapped("Scalene, memory", [python, "-m", "scalene", "run", "--memory-only", "-o",
                                            "{folder}/out.json"], True, None, True)]
    else:
        absent("memray, Scalene (see BUILD/tracing-venv.log)")
    out.append(Tracemalloc("tracemalloc"))
    if shutil.which("heaptrack"):
        out.append(Wrapped("heaptrack", ["heaptrack"], False, "heaptrack.*"))
    else:
        absent("heaptrack")
    if library("libjemalloc.so.2"):
        out += [Preloaded("jemalloc", library("libjemalloc.so.2"), {}),
                Preloaded("jemalloc, profile", library("libjemalloc.so.2"),
                          {"MALLOC_CONF": "prof:true,lg_prof_sample:19,prof_final:true,"
                                          "prof_prefix:{folder}/out"}, "out*")]
    else:
        absent("jemalloc")
    if library("libtcmalloc.so.4"):
        out += [Preloaded("tcmalloc", library("libtcmalloc.so.4"), {}),
                Preloaded("tcmalloc, heap profile", library("libtcmalloc.so.4"),
                          {"HEAPPROFILE": "{folder}/out"}, "out*")]
    else:
        absent("tcmalloc")
    return out


# ---- measuring ----


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory(prefix="tidemark-", dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


def own_memory(pid):
    """PSS of the tracer's files, and of what the loader put behind its library."""
    total, is_own, was_own = 0, False, False
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            words = line.split()
            if re.match(r"[0-9a-f]+-", line):
                is_own = "tidemark" in line or (was_own and len(words) == 5)
                was_own = "libtidemark" in line
            elif words[0] == "Pss:" and is_own:
                total += 1024 * int(words[1])
    return total


def figures(process):
    """(seconds, bytes): when the work is done."""
    for line in process.stdout:
        if re.fullmatch(r"\d+(\.\d+)?(e-\d+)?\s*", line):
            return float(line), own_memory(process.pid)
    return None


def measure(tool, job):
    """CPU seconds of the job's work under the tool, and the tracer's own memory; None: it could not
    be run so."""
    with scratch() as folder:
        env = {**os.environ, **tool.environment(folder)}
        p = subprocess.Popen(tool.command(job, job.arguments(job.size, False), folder), env=env,
                             text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, cwd=folder)
        late = threading.Timer(TOOL_SECONDS, p.kill)
        late.start()
        found = figures(p)
        p.communicate()
        late.cancel()
        return found if p.returncode == 0 and tool.after(folder) is not False else None


def instructions(tool, job, size):
    with scratch() as folder:
        out = folder / "callgrind.out"
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
               **tool.environment(folder)}
        command = tool.command(job, job.arguments(size, True), folder)
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command],
                       env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        totals = re.findall(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)
        return int(totals[-1])


def instruction_ratio(tool, job, memo):
    def work(one):
        if one.name not in memo:
            memo[one.name] = (instructions(one, job, 3 * job.counted) -
                              instructions(one, job, job.counted))
        return memo[one.name]
    bare = Bare("bare")
    return work(tool) / work(bare)


def counted(tool, job, memo):
    """Text of the table; a program that callgrind cannot run has none."""
    if not tool.counts_instructions or not shutil.which("valgrind"):
        return ""
    try:
        return "%.4f" % instruction_ratio(tool, job, memo)
    except (subprocess.CalledProcessError, OSError):
        return "not counted"


def row(tool, found, bare, instruction_text):
    """`found`, `bare`: (seconds, bytes) or None for each round."""
    both = [(f, b) for f, b in zip(found, bare) if f and b]
    if not both:
        return "%-34s %8s" % (tool.name, "did not run, or its profiler did not")
    ratios = [f[0] / b[0] for f, b in both]
    least = min(f[0] for f, b in both) / min(b[0] for f, b in both)
    own = "%.1f" % (max(f[1] for f, b in both) / 1e6) if isinstance(tool, Traced) else ""
    return "%-34s %8.3f %8.3f %8.3f %8.3f %12s %8s" % (
        tool.name, least, statistics.median(ratios), min(ratios), max(ratios), instruction_text,
        own)


def bench(job, all_tools, rounds, counts):
    usable = [t for t in all_tools if job.is_python or not t.only_python]
    found = {t: [] for t in usable}
    for _ in range(rounds):
        for tool in usable:
            found[tool].append(measure(tool, job) if not found[tool] or found[tool][0] else None)
    memo = {}
    print("%-34s %8s %8s %8s %8s %12s %8s" % (job.name, "ratio", "median", "least", "most",
                                              "instructions", "MB"))
    for tool in usable:
        text = counted(tool, job, memo) if counts else ""
        print(row(tool, found[tool], found[usable[0]], text), flush=True)
    if job.asked:
        print(job.asked)
    print(flush=True)


# ---- the run file ----


def run_file_bytes(build, job, seconds, trace):
    """Bytes of the run file of so many seconds of the job."""
    with scratch() as folder:
        run = folder / "run.tide"
        command = [str(build / "tidemark"), "run", trace, "--quiet", "--duration", str(seconds),
                   "-o", str(run), "--", *job.command, *job.arguments(10**9, False)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return run.stat().st_size


def bench_run_file(build, job, interval, seconds):
    sizes = [run_file_bytes(build, job, seconds, trace)
             for trace in ("--no-trace", "--trace=%d" % interval)]
    print("%-34s %8.2f MB in the run file of %d s, %.2f MB without; asked for: 1 MB a minute" % (
        job.name + ", traced", sizes[1] / 1e6, seconds, sizes[0] / 1e6))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--interval", type=int, default=512 * 1024)
    parser.add_argument("--only", action="append", help="a job whose name begins like that")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--no-instructions", action="store_true")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--run-file-seconds", type=int, default=60, help="0: leave that out")
    a = parser.parse_args()
    build = a.build.resolve()
    all_tools = own_tools(build, a.interval) if a.without_peers else tools(build, a.interval,
                                                                           a.python)
    print("CPU time of a program's own work, against the bare program")
    print()
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        chosen = [job for job in jobs(build, pathlib.Path(folder), a.python)
                  if not a.only or any(job.name.startswith(o) for o in a.only)]
        for job in chosen:
            bench(job, all_tools, a.rounds, not a.no_instructions)
        for job in chosen:
            if job.is_python and a.run_file_seconds:
                bench_run_file(build, job, a.interval, a.run_file_seconds)


if __name__ == "__main__":
    main()

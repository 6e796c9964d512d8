#!/usr/bin/env python3
"""bench/tracing.py BUILD [--rounds N] [--only JOB]... [--no-instructions]: what the allocation
tracer costs the traced program, beside other tools on the same work in the same run.

Every program times its own work, in CPU seconds of all its threads, without its start. Rounds are
interleaved: each round runs every tool once, and the ratio is to the bare program of that round; the
table shows the median ratio, the least and the most. Instructions are callgrind's: the difference
between a longer and a shorter run, so the start does not count.

"idle" is the preloaded library while nothing is suspect; "armed" samples every 512 KiB on average
(--interval), which is what a growth of some 50 MB a horizon leads to. memray and Scalene come from
PyPI into BUILD/tracing-venv; heaptrack, jemalloc and tcmalloc are used where they are installed.
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

ROOT = pathlib.Path(__file__).resolve().parents[1]
SYSTEM_PYTHON = "/usr/bin/python3"
ORDERS_MAGIC = 0x3173726F454D4954
ORDERS_FORMAT = "<QIII3I qQQQ"
PEERS = ["memray", "scalene"]
TOOL_SECONDS = 900

# Prints the CPU seconds of its work; argument: how much of it.
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
work(2000)
begin = time.process_time()
work(int(sys.argv[1]))
print(time.process_time() - begin)
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
train(10)
begin = time.process_time()
train(int(sys.argv[1]))
print(time.process_time() - begin)
"""


class Job:
    """A program, how much it does in a round, and what is counted of it."""

    def __init__(self, name, command, size, counted, asked, is_python=True):
        self.name, self.command, self.size, self.counted = name, command, size, counted
        self.asked, self.is_python = asked, is_python


def jobs(build, folder):
    scripts = {}
    for name, text in (("objects", OBJECTS), ("training", TRAINING)):
        scripts[name] = folder / (name + ".py")
        scripts[name].write_text(text)
    malloc = str(build / "bench" / "bench_malloc")
    out = [
        Job("ping-pong malloc", [malloc, "pingpong"], 100000000, 200000,
            "asked for: idle at most 1.2", False),
        Job("mixed malloc", [malloc, "mixed"], 30000000, 200000, "", False),
        Job("Python, objects", [SYSTEM_PYTHON, str(scripts["objects"])], 300000, 2000,
            "asked for: idle at most 1.005, armed at most 1.15"),
    ]
    if subprocess.call([SYSTEM_PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL) == 0:
        out.append(Job("training, torch", [SYSTEM_PYTHON, str(scripts["training"])], 150, 4,
                       "asked for: idle at most 1.005, armed at most 1.03"))
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

    def command(self, job, size, folder):
        return [*job.command, str(size)]

    def environment(self, folder):
        return {}

    def after(self, folder):
        """What shows that the tool was at work; None: nothing was looked for."""
        return None


class Traced(Tool):
    counts_instructions = True

    def __init__(self, name, build, interval):
        super().__init__(name)
        self.library, self.interval = build / "libtidemark_preload.so", interval
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

    def command(self, job, size, folder):
        before = [part.format(folder=folder) for part in self.before]
        return [*before, *job.command[1 if self.is_script else 0:], str(size)]

    def after(self, folder):
        return bool(glob.glob(str(folder / self.output))) if self.output else None


class Tracemalloc(Tool):
    only_python = True

    def environment(self, folder):
        return {"PYTHONTRACEMALLOC": "1"}


def peers_python(build):
    venv = build / "tracing-venv"
    python = venv / "bin" / "python"
    have = lambda: all(list(venv.glob(f"lib/python3*/site-packages/{p}")) for p in PEERS)
    if not have():
        with (build / "tracing-venv.log").open("w") as log:
            make = [SYSTEM_PYTHON, "-m", "venv", "--system-site-packages", str(venv)]
            pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *PEERS]
            if subprocess.call(make, stdout=log, stderr=log) == 0:
                subprocess.call(pip, stdout=log, stderr=log)
    return str(python) if have() else None


def library(pattern):
    found = sorted(glob.glob("/usr/lib/*/" + pattern))
    return found[0] if found else None


def tools(build, interval):
    out = [Bare("bare"), Traced("tidemark, idle", build, 0),
           Traced("tidemark, armed", build, interval)]
    python = peers_python(build)
    if python:
        memray = [python, "-m", "memray", "run", "-q", "-o", "{folder}/out.memray"]
        out += [Wrapped("memray", memray, True, "out.memray", True),
                Wrapped("memray --native", [*memray, "--native"], True, "out.memray", True),
                Wrapped("memray --trace-python-allocators",
                        [*memray, "--trace-python-allocators"], True, "out.memray", True),
                Wrapped("Scalene, memory", [python, "-m", "scalene", "run", "--memory-only", "-o",
                                            "{folder}/out.json"], True, None, True)]
    out.append(Tracemalloc("tracemalloc"))
    if shutil.which("heaptrack"):
        out.append(Wrapped("heaptrack", ["heaptrack", "--record-only", "-o", "{folder}/out"], False,
                           "out*"))
    if library("libjemalloc.so.2"):
        out += [Preloaded("jemalloc", library("libjemalloc.so.2"), {}),
                Preloaded("jemalloc, profile", library("libjemalloc.so.2"),
                          {"MALLOC_CONF": "prof:true,lg_prof_sample:19,prof_final:true,"
                                          "prof_prefix:{folder}/out"}, "out*")]
    if library("libtcmalloc.so.4"):
        out += [Preloaded("tcmalloc", library("libtcmalloc.so.4"), {}),
                Preloaded("tcmalloc, heap profile", library("libtcmalloc.so.4"),
                          {"HEAPPROFILE": "{folder}/out"}, "out*")]
    return out


# ---- measuring ----


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory(prefix="tidemark-", dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


def last_number(text):
    found = re.findall(r"^(\d+\.\d+(?:e-\d+)?)\s*$", text, re.M)
    return float(found[-1]) if found else None


def seconds(tool, job):
    """CPU seconds of the job's work under the tool; None: it could not be run so."""
    with scratch() as folder:
        env = {**os.environ, **tool.environment(folder)}
        try:
            done = subprocess.run(tool.command(job, job.size, folder), env=env, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=TOOL_SECONDS, cwd=folder)
        except subprocess.TimeoutExpired:
            return None
        worked = tool.after(folder)
        return last_number(done.stdout) if done.returncode == 0 and worked is not False else None


def instructions(tool, job, size):
    with scratch() as folder:
        out = folder / "callgrind.out"
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
               **tool.environment(folder)}
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                        *tool.command(job, size, folder)], env=env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def bench(job, all_tools, rounds, counts):
    usable = [t for t in all_tools if job.is_python or not t.only_python]
    ratios = {t: [] for t in usable}
    for _ in range(rounds):
        bare = seconds(usable[0], job)
        for tool in usable:
            took = bare if tool is usable[0] else seconds(tool, job)
            if took and bare:
                ratios[tool].append(took / bare)
    memo = {}
    print("%-34s %8s %8s %8s %12s" % (job.name, "ratio", "least", "most", "instructions"))
    for tool in usable:
        if not ratios[tool]:
            print("%-34s %8s" % (tool.name, "did not run"))
            continue
        counted = "%.4f" % instruction_ratio(tool, job, memo) if (
            counts and tool.counts_instructions) else ""
        print("%-34s %8.3f %8.3f %8.3f %12s" % (tool.name, statistics.median(ratios[tool]),
                                                min(ratios[tool]), max(ratios[tool]), counted))
    if job.asked:
        print(job.asked)
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--interval", type=int, default=512 * 1024)
    parser.add_argument("--only", action="append", help="a job whose name begins like that")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--no-instructions", action="store_true")
    a = parser.parse_args()
    build = a.build.resolve()
    all_tools = tools(build, a.interval) if not a.without_peers else [
        Bare("bare"), Traced("tidemark, idle", build, 0),
        Traced("tidemark, armed", build, a.interval)]
    print("CPU time of a program's own work, against the bare program of the same round")
    print()
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        for job in jobs(build, pathlib.Path(folder)):
            if not a.only or any(job.name.startswith(o) for o in a.only):
                bench(job, all_tools, a.rounds, not a.no_instructions)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What watching costs, the watcher and the watched, beside psutil and psrecord on the same job.

  bench/watch.py build                   # what `make bench` runs: about twelve minutes
  bench/watch.py build --seconds 60      # longer windows, steadier numbers
  bench/watch.py build --only tree       # one part: tree, many, forks, instructions, relay

One job lives through all of it: 25 processes, 8 GB, every page touched. The watchers come one after
another and then again in the opposite order, between them nobody, and the job's own stop-watch says
what its steps took meanwhile. CPU time is the scheduler's, of a watcher that is warm.
psutil and psrecord come from PyPI into BUILD/bench-venv.
"""

import argparse
import ctypes
import json
import os
import pathlib
import pty
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = ["psutil", "psrecord"]

PROCESSES = 25
TREE_MB = 8192
MANY = 500
FORKS = (50, 500, 2000)  # that share a parent's memory, all of them young
FORKS_SECONDS = 60

WARM_SECONDS = 30  # what stands still is read ever more rarely
PEER_WARM_SECONDS = 3
PEER_SECONDS = 10  # what they do is the same every second
NOBODY_SECONDS = 6
PR_SET_CHILD_SUBREAPER = 36

# What is asked of tidemark (at 1 s): shown beside what was measured, asserted nowhere.
ASKED = "asked for: at most 0.5 % of a core and 30 MB, steps within noise, peers at least 20 times"


# ---- processes ----


def cpu_seconds(pid):
    """By the scheduler, in ns; by utime and stime where the kernel was built without."""
    process = pathlib.Path(f"/proc/{pid}")
    try:
        threads = (process / "task").iterdir()
        total = sum(int((t / "schedstat").read_text().split()[0]) for t in threads)
    except FileNotFoundError:
        total = 0
    if total > 0:
        return total / 1e9
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def end(process):
    """Ends one of ours kindly, the other way where that does not help."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_line(path, line, process):
    while line not in path.read_text().splitlines():
        if process.poll() is not None:
            sys.exit(f"bench/watch.py: {process.args[0]} ended with {process.returncode}")
        time.sleep(0.1)


def available_mb():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) // 1024


# ---- the others ----


def install_peers(venv):
    """The peers that are there afterwards."""
    python = venv / "bin" / "python"
    log = venv.parent / "bench-venv.log"
    have = lambda: [p for p in PEERS if list(venv.glob(f"lib/python3*/site-packages/{p}-*"))]
    if len(have()) < len(PEERS):
        with log.open("w") as f:
            make = [sys.executable, "-m", "venv", str(venv)]
            pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *PEERS]
            if subprocess.call(make, stdout=f, stderr=f) == 0:
                subprocess.call(pip, stdout=f, stderr=f)
    missing = [p for p in PEERS if p not in have()]
    if missing:
        print(f"{' and '.join(missing)} could not be installed ({log}): without them\n")
    return have()


# ---- what is compared ----


def new_run_file(folder):
    return folder / f"run-{time.monotonic_ns()}.tide"


def check_recorded(run_file):
    if not run_file.exists() or run_file.stat().st_size == 0:
        sys.exit(f"bench/watch.py: {run_file} was not recorded: the numbers would be too good")


class Watcher:
    def __init__(self, name, command, warm, seconds):
        self.name, self.command, self.warm, self.seconds = name, command, warm, seconds
        self.cpu = self.wall = self.start_cpu = self.peak = 0.0
        self.windows = []  # (from, to) in ns of CLOCK_MONOTONIC
        self.shares = []  # of a core, in each of them

    def measure(self, pid, folder):
        if not self.command:
            self.look(None)
            return
        # An existing run file is left alone, and recording is a part of the cost: a new one each.
        run_file = new_run_file(folder)
        command = [a.format(pid=pid, folder=folder, run_file=run_file) for a in self.command]
        with open(folder / "watcher.log", "a") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            time.sleep(self.warm)
            if process.poll() is not None:
                log = (folder / "watcher.log").read_text()[-2000:]
                sys.exit(f"bench/watch.py: {self.name} ended with {process.returncode}:\n{log}")
            self.look(process)
        finally:
            end(process)
        if "{run_file}" in self.command:
            check_recorded(run_file)

    def look(self, process):
        before = cpu_seconds(process.pid) if process else 0
        begin = time.monotonic_ns()
        time.sleep(self.seconds)
        now = time.monotonic_ns()
        if process:
            used = cpu_seconds(process.pid) - before
            self.cpu += used
            self.shares.append(used / ((now - begin) / 1e9))
            self.peak = max(self.peak, peak_mb(process.pid))
            self.start_cpu = max(self.start_cpu, before)
        self.wall += (now - begin) / 1e9
        self.windows.append((begin, now))

    def share(self):
        return self.cpu / self.wall


def tidemark(build, *options):
    command = [str(build / "tidemark"), "watch", "--pid", "{pid}", "-o", "{run_file}"]
    return [*command, *options]


def watchers(build, seconds, peers):
    venv = build / "bench-venv" / "bin"
    out = [
        Watcher("nobody", None, 0, NOBODY_SECONDS),
        Watcher("tidemark watch --interval 1", tidemark(build, "--interval", "1"), WARM_SECONDS,
                seconds),
        Watcher("tidemark watch", tidemark(build), WARM_SECONDS, seconds),
    ]
    if "psutil" in peers:
        script = str(ROOT / "bench" / "psutil_tree.py")
        out.append(Watcher("psutil, memory_full_info, 1 s",
                           [str(venv / "python"), script, "{pid}"], PEER_WARM_SECONDS,
                           PEER_SECONDS))
    if "psrecord" in peers:
        out.append(Watcher("psrecord, RSS alone, 1 s",
                           [str(venv / "psrecord"), "{pid}", "--include-children", "--interval",
                            "1", "--log", "{folder}/psrecord.log"], PEER_WARM_SECONDS,
                           PEER_SECONDS))
    return out


# ---- the job of 25 processes ----


def start_job(build, folder, total_mb):
    trainer_mb = total_mb // 8
    tree = [str(build / "tests/workloads/tree"), "--churn", "0", "--processes", str(PROCESSES - 1),
            "--total-mb", str(total_mb - trainer_mb), "--shared-mb", str(total_mb // 4),
            "--seconds", "3600", "--step-ms", "3600000"]
    command = [str(build / "bench/bench_trainer"), str(trainer_mb), str(folder / "times"), *tree]
    with open(folder / "job.out", "w") as out:
        job = subprocess.Popen(command, stdout=out)
    wait_for_line(folder / "job.out", "ready", job)
    return job


def step_times(path):
    return [tuple(int(x) for x in line.split()) for line in path.read_text().splitlines()]


class Steps:
    """The job's steps within a window: their median and 99th percentile, in ms; and how long it was
    held up, ms a minute, by something else than the want of a core."""

    def __init__(self, times, window):
        inside = [(took, held) for began, took, held in times if window[0] <= began < window[1]]
        took = sorted(took / 1e6 for took, _ in inside)
        self.median, self.p99 = took[len(took) // 2], took[-1 - len(took) // 100]
        minutes = (window[1] - window[0]) / 60e9
        self.held = sum(held for _, held in inside) / 1e6 / minutes


def spread(form, values):
    return f"{form} ({form}-{form})" % (statistics.mean(values), min(values), max(values))


def print_tree_table(all_watchers, times):
    steps = {w: [Steps(times, window) for window in w.windows] for w in all_watchers}
    nobody, unit = all_watchers[0], all_watchers[1]
    median = statistics.mean(s.median for s in steps[nobody])
    p99 = statistics.mean(s.p99 for s in steps[nobody])
    form = "%-30s %9s  %-19s %6s %8s %8s  %-17s %-17s %s"
    print(form % ("", "CPU s/min", "% of core", "ratio", "start, s", "peak MB",
                  "step, median", "step, p99", "held up, ms/min"))
    for w in all_watchers:
        cells = ["-"] * 5
        if w.command:
            cells = ["%.3f" % (60 * w.share()), spread("%.2f", [100 * x for x in w.shares]),
                     "%.1f" % (w.share() / unit.share()), "%.2f" % w.start_cpu, "%.1f" % w.peak]
        print(form % (w.name, *cells, spread("%.2f", [s.median / median for s in steps[w]]),
                      spread("%.2f", [s.p99 / p99 for s in steps[w]]),
                      spread("%.0f", [s.held for s in steps[w]])))
    print("\nratio: CPU against tidemark's at 1 s; start: CPU until warm (%d s, the others %d s)"
          % (WARM_SECONDS, PEER_WARM_SECONDS))
    print("step: the job's own, against nobody's (%.2f ms, p99 %.2f ms); held up: the time in which"
          % (median, p99))
    print("it neither ran nor waited for a core; (least-most): of the windows, nobody's is noise")
    print("tidemark reads shares in bursts: where its windows differ, take longer ones (--seconds)")
    print(ASKED)


def bench_tree(build, folder, seconds):
    wanted, free = TREE_MB, available_mb()
    total = wanted if free >= 1.25 * wanted else int(free / 1.5) // 64 * 64
    peers = install_peers(build / "bench-venv")
    if total < wanted:
        print(f"only {free} MB are free: a job of {total} MB instead of {wanted}\n")
    job = start_job(build, folder, total)
    try:
        print(f"Watching one job of {PROCESSES} processes and {total} MB; load average"
              f" {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n", flush=True)
        compared = watchers(build, seconds, peers)
        nobody, others = compared[0], compared[1:]
        for w in [nobody, *others, nobody, *reversed(others), nobody]:
            w.measure(job.pid, folder)
    finally:
        end(job)
    print_tree_table(compared, step_times(folder / "times"))


# ---- many processes ----


def bench_many(build, folder, seconds):
    command = [str(build / "tests/workloads/many"), "--processes", str(MANY), "--steps", "1000000",
               "--step-ms", "100"]
    with open(folder / "many.out", "w") as out:
        job = subprocess.Popen(command, stdout=out)
    try:
        wait_for_line(folder / "many.out", f"processes {MANY}", job)
        w = Watcher("tidemark watch --interval 1", tidemark(build, "--interval", "1"), WARM_SECONDS,
                    seconds / 2)
        w.measure(job.pid, folder)
    finally:
        end(job)
    print("%-30s %9s %9s %9s" % (f"{MANY} processes", "% of core", "start, s", "peak MB"))
    print("%-30s %9.2f %9.2f %9.1f" % (w.name, 100 * w.share(), w.start_cpu, w.peak))
    print("asked for: at most 100 MB")


# A process of 150 MB forks others over the first 20 s; each reads of it, which copies pages (their
# reference counts), as data workers do. What the parent gets done is the job's own stop-watch.
FORKING = """\
import os, sys, time
n, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
data, began, work = [str(i) for i in range(1_500_000)], time.monotonic(), 0
children = []
for i in range(n):
    children.append(os.fork())
    if children[-1] == 0:
        k = 0
        while time.monotonic() < end:
            sum(map(len, data[k:k + 2000]))
            k += 2000
            time.sleep(max(1, n / 100))
        os._exit(0)
    time.sleep(max(0, began + 20 * (i + 1) / n - time.monotonic()))
while time.monotonic() < end:
    sum(range(20000))
    work += 1
    time.sleep(.005)
print("work", work)
for pid in children:
    os.kill(pid, 9)
"""


def work_done(command):
    out = subprocess.run(command, capture_output=True, text=True).stdout
    return int(re.search(r"^work (\d+)", out, re.M)[1])


def bench_forks(build, folder):
    script = folder / "forking.py"
    script.write_text(FORKING)
    form = "%-30s %9s %12s %12s %10s"
    print(form % ("young forks, from the start", "CPU, s", "% of core", "held up, ms", "work"))
    for count in FORKS:
        job = [sys.executable, str(script), str(count), str(FORKS_SECONDS)]
        answer = folder / "forks.json"
        run = [str(build / "tidemark"), "run", "-o", str(new_run_file(folder)), "--json",
               str(answer), "--", *job]
        alone = work_done(job)
        watched = work_done(run)
        found = json.loads(answer.read_text())["job"]
        cpu = found["overhead"]["watcher_cpu_seconds"]
        print(form % (f"{count} processes", "%.2f" % cpu, "%.2f" % (100 * cpu / found["seconds"]),
                      "%.0f" % (1000 * found["overhead"]["target_stall_seconds"]),
                      "%.2f" % (watched / alone)), flush=True)
    print("asked for: about 1 % of a core; work: what the parent got done, against nobody's")


# ---- instructions ----

FUNCTIONS = {
    "members_tick": "a sample of all processes",
    "proc_tree_scan": "a look for new processes",
    "machine_tick": "system, cgroup, /dev/shm",
    "sheet_take": "the balance sheet",
    "store_commit": "a commit of the run file",
}


def read_callgrind(path):
    """{function: [calls, instructions with all that they call]} of what is called."""
    names, out, called = {}, {}, None
    lines = iter(path.read_text().splitlines())
    for line in lines:
        name = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line)
        if name:
            if name[3]:
                names[name[2]] = name[3]
            if name[1] == "cfn":
                called = names[name[2]]
        elif line.startswith("calls="):
            entry = out.setdefault(called, [0, 0])
            entry[0] += int(line[6:].split()[0])
            entry[1] += int(next(lines).split()[1])
    return out


def bench_instructions(build, folder):
    tree = [str(build / "tests/workloads/tree"), "--total-mb", "256", "--shared-mb", "64",
            "--churn", "0", "--seconds", "3600", "--processes", str(PROCESSES)]
    with open(folder / "small.out", "w") as out:
        job = subprocess.Popen(tree, stdout=out)
    try:
        wait_for_line(folder / "small.out", "ready", job)
        runs = []
        for i, seconds in enumerate((6, 16)):
            command = ["valgrind", "--tool=callgrind",
                       f"--callgrind-out-file={folder}/callgrind.{i}",
                       *tidemark(build, "--interval", "1", "--duration", str(seconds))]
            run_file = new_run_file(folder)
            command = [a.format(pid=job.pid, run_file=run_file) for a in command]
            runs.append(subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL))
        for r in runs:
            r.wait()
    finally:
        end(job)
    short, long = (read_callgrind(folder / f"callgrind.{i}") for i in (0, 1))
    print("%-30s %12s   %s" % (f"{PROCESSES} processes, warm", "instructions", "(callgrind)"))
    for function, what in FUNCTIONS.items():
        calls, cost = (b - a for a, b in zip(short.get(function, [0, 0]),
                                             long.get(function, [0, 0])))
        if calls > 0:
            print("%-30s %12.0f   %s()" % (what, cost / calls, function))


# ---- what `run` does to output ----


def through_pipe(command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
        subprocess.call(["cat"], stdin=writer.stdout, stdout=subprocess.DEVNULL)


def through_terminal(command):
    ours, theirs = pty.openpty()

    def read():
        try:
            while os.read(ours, 65536):
                pass
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL):
        os.close(theirs)
    reader.join()
    os.close(ours)


def timed(way, command):
    def cpu():
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime

    before, began = cpu(), time.monotonic()
    way(command)
    took = time.monotonic() - began
    # The relay outlives the watcher: it is left to us, and its time counts only once it is reaped.
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return took, cpu() - before


def bench_relay(build, folder):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    line = "step %.0f loss 0.25"
    cases = [
        ("512 MiB through a pipe", through_pipe, ["sh", "-c", "yes | head -c 512M"]),
        ("1 M lines through a pipe", through_pipe, ["seq", "-f", line, "1000000"]),
        ("300 k lines, a write each", through_pipe, ["stdbuf", "-oL", "seq", "-f", line, "300000"]),
        ("300 k lines to a terminal", through_terminal, ["seq", "-f", line, "300000"]),
    ]
    run = [str(build / "tidemark"), "run", "--log", f"{folder}/relay.log", "-o"]
    form = "%-30s %9s %9s %9s  %-17s %9s"
    print(form % ("output under `run`", "alone, s", "run, s", "ratio", "(least-most)",
                  "CPU s more"))
    for name, way, command in cases:
        alone, under = [], []
        for order in (alone, under, under, alone, alone, under):
            run_file = new_run_file(folder)
            if order is alone:
                order.append(timed(way, command))
            else:
                order.append(timed(way, [*run, str(run_file), "--", *command]))
                check_recorded(run_file)
        ratios = [u[0] / a[0] for a, u in zip(alone, under)]
        a, u = (statistics.median(x[0] for x in y) for y in (alone, under))
        more = statistics.median(x[1] for x in under) - statistics.median(x[1] for x in alone)
        print(form % (name, "%.2f" % a, "%.2f" % u, "%.2f" % (u / a),
                      "(%.2f-%.2f)" % (min(ratios), max(ratios)), "%.2f" % more), flush=True)


def main():
    parser = argparse.ArgumentParser(description="what watching costs")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=16, help="a window of tidemark (16)")
    parser.add_argument("--only", choices=["tree", "many", "forks", "instructions", "relay"])
    o = parser.parse_args()
    build = o.build.resolve()
    parts = {
        "tree": lambda folder: bench_tree(build, folder, o.seconds),
        "many": lambda folder: bench_many(build, folder, o.seconds),
        "forks": lambda folder: bench_forks(build, folder),
        "instructions": lambda folder: bench_instructions(build, folder),
        "relay": lambda folder: bench_relay(build, folder),
    }
    for i, name in enumerate([o.only] if o.only else parts):
        if i > 0:
            print()
        with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as folder:
            parts[name](pathlib.Path(folder))


if __name__ == "__main__":
    main()

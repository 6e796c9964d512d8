"""Runs steps in lanes, prints a line for each and the sum of all: for tools/test.

A lane is a list of steps that run one after another; the lanes of a stage run beside each other,
and the next stage begins when all of them have ended. A step whose last line is "N passed, N failed"
counts by that, any other counts as one. Of a step that fails, what it printed is shown, but for
the lines "ok ...". Its whole log stays in the folder of logs.
"""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

FLAKY_MOST = 2  # a run with more of them fails
FLAKY_LINE = re.compile(r"^flaky: (.+)$", re.M)
COUNTS_LINE = re.compile(r"^(\d+) passed, (\d+) failed$")


@dataclasses.dataclass
class Step:
    name: str
    command: list
    yields: str = ""  # "some": to other steps; "all": uses only what nobody else wants
    only: str = ""  # why this step is in test-all alone


@dataclasses.dataclass
class Result:
    passed: int
    failed: int
    flaky: list
    seconds: float
    cpu_seconds: float
    text: str


def judge(text, status):
    """(passed, failed)"""
    last = text.rstrip("\n").rpartition("\n")[2]
    counts = COUNTS_LINE.match(last)
    if not counts:
        return int(status == 0), int(status != 0)
    passed, failed = map(int, counts.groups())
    return passed, failed or int(status != 0)


def prefixes():
    """By how much a step yields. Where the machine has no idle class, the lowest priority."""
    idle = ["chrt", "--idle", "0"]
    try:
        works = subprocess.run([*idle, "true"], stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        works = False
    return {"": [], "some": ["nice", "-n", "5"], "all": idle if works else ["nice", "-n", "19"]}


class Run:
    def __init__(self, logs):
        self.logs = pathlib.Path(logs)
        self.logs.mkdir(parents=True, exist_ok=True)
        self.passed = self.failed = 0
        self.flaky = []
        self.running = set()
        self.lock = threading.Lock()
        self.prefixes = prefixes()

    def stage(self, *lanes):
        """False: a step of it failed."""
        before = self.failed
        threads = [threading.Thread(target=self.lane, args=(lane,), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.failed == before

    def lane(self, steps):
        for step in steps:
            result = self.run(step)
            with self.lock:
                self.report(step, result)

    def run(self, step):
        log = self.logs / (re.sub(r"[^a-zA-Z0-9]", "-", step.name) + ".log")
        start = time.monotonic()
        with open(log, "wb") as out:
            try:
                process = subprocess.Popen(
                    [*self.prefixes[step.yields], *map(str, step.command)], stdout=out, stderr=out,
                    stdin=subprocess.DEVNULL, start_new_session=True)
            except OSError as error:
                return Result(0, 1, [], 0, 0, str(error))
        self.running.add(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        self.running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        text = log.read_text(errors="replace")
        return Result(*judge(text, process.returncode), FLAKY_LINE.findall(text),
                      time.monotonic() - start, usage.ru_utime + usage.ru_stime, text)

    def report(self, step, result):
        self.passed += result.passed
        self.failed += result.failed
        self.flaky += result.flaky
        word = "FAIL" if result.failed else "flaky" if result.flaky else "ok"
        flaky = "  flaky: " + ", ".join(result.flaky) if result.flaky else ""
        print("%-5s %-36s %5d passed %3d failed %5.0f s %5.0f s CPU%s" % (
            word, step.name, result.passed, result.failed, result.seconds, result.cpu_seconds,
            flaky), flush=True)
        if result.failed:
            for line in result.text.splitlines():
                if not line.startswith("ok "):
                    print("      | " + line, flush=True)

    def sum_up(self):
        """The exit status of the run."""
        print()
        if self.flaky:
            print("flaky: " + ", ".join(self.flaky))
        if len(self.flaky) > FLAKY_MOST:
            print("FAIL  %d flaky tests; at most %d are allowed" % (len(self.flaky), FLAKY_MOST))
            self.failed += 1
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        return 1 if self.failed or not self.passed else 0

    def kill(self):
        """Ends what still runs; a step leads a session, whose group is killed."""
        for pid in list(self.running):
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

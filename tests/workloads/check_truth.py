#!/usr/bin/env python3
"""Checks the test programs themselves: that each really does what its first lines say.

  python3 tests/workloads/check_truth.py BUILD [NAME...]

Needs no tidemark: it reads /proc while they run, and looks at what they leave behind when they are
killed. Prints one line each and `N passed, N failed` last. NAME: only what contains it.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import jobs

MB = 1 << 20
STATUS = re.compile(r"^(RssAnon|RssFile|RssShmem|Threads|PPid):\s+(\d+)", re.M)
ROLLUP = re.compile(r"^(Pss|Private_Clean|Private_Dirty):\s+(\d+)", re.M)
PARALLEL = 2


def read(path):
    with open(path) as file:
        return file.read()


class Recording:
    """What /proc told of every process of one job: (seconds, value) by (pid, kind)."""

    def __init__(self):
        self.series = collections.defaultdict(list)
        self.seen = set()
        self.output = ""
        self.status = None

    def sample(self, now, mark, rollup):
        total = collections.Counter()
        for pid in jobs.marked(mark):
            try:
                values = self.read_process(pid, rollup)
            except (OSError, ProcessLookupError):
                continue
            self.seen.add(pid)
            for kind, value in values.items():
                self.series[pid, kind].append((now, value))
                total[kind] += value
            total["processes"] += 1
        total["devshm"] = sum(os.path.getsize(f) for f in jobs.glob.glob(jobs.SHM))
        for kind, value in total.items():
            self.series[0, kind].append((now, value))

    @staticmethod
    def read_process(pid, rollup):
        values = {k: int(v) << 10 for k, v in STATUS.findall(read("/proc/%d/status" % pid))}
        values["Threads"] >>= 10
        values["PPid"] >>= 10
        values["session"] = os.getsid(pid)
        values["fds"] = len(os.listdir("/proc/%d/fd" % pid))
        if rollup:
            found = dict(ROLLUP.findall(read("/proc/%d/smaps_rollup" % pid)))
            values["Pss"] = int(found["Pss"]) << 10
            values["private"] = (int(found["Private_Clean"]) + int(found["Private_Dirty"])) << 10
        return values

    def lowest(self, pid, kind, from_share, to_share):
        """The floor within a part of the process's life."""
        samples = self.series[pid, kind]
        start, end = samples[0][0], samples[-1][0]
        inside = [
            v for t, v in samples if from_share <= (t - start) / max(end - start, 1e-9) <= to_share
        ]
        return min(inside) if inside else float("nan")

    def highest(self, pid, kind):
        return max(v for _, v in self.series[pid, kind])

    def rises(self, pid, kind):
        """What the floor gained from a fifth of its life to the middle, and from there on."""
        low, middle, high = (
            self.lowest(pid, kind, a, b) for a, b in ((0.15, 0.25), (0.5, 0.6), (0.88, 0.98))
        )
        return middle - low, high - middle

    def pids(self, kind="RssAnon"):
        """The processes that lived for most of the run, oldest first."""
        longest = max(len(s) for (pid, k), s in self.series.items() if k == kind and pid)
        return sorted(
            pid
            for (pid, k), s in self.series.items()
            if pid and k == kind and len(s) > 0.8 * longest
        )

    def truth(self):
        return int(re.search(r"^truth: pid (\d+) leaks$", self.output, re.M).group(1))


def record(command, seconds=60):
    env, mark = jobs.environment()
    recording = Recording()
    with open("/tmp/%s.out" % mark, "w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=env, start_new_session=True)
        start = time.monotonic()
        turn = 0
        while process.poll() is None and time.monotonic() < start + seconds:
            recording.sample(time.monotonic() - start, mark, turn % 5 == 0)
            turn += 1
            time.sleep(0.02)
        process.poll() is None and process.kill()
        recording.status = process.wait()
        out.seek(0)
        recording.output = out.read()
    os.unlink("/tmp/%s.out" % mark)
    return recording, jobs.clean_up(mark, 0.5)


# ---- what can be said of a recording: functions that return problems ----


def grows(kind, least=4 * MB, who=None, most=float("inf")):
    """Every half of the run adds at least (and at most) so much."""

    def check(r):
        for pid in [r.pids()[0]] if who is None else who(r):
            for rise in r.rises(pid, kind):
                if not least <= rise <= most:
                    yield "%s of %d rose by %s" % (kind, pid, r.rises(pid, kind))
                    break

    return check


def flat(kind, slack=MB // 4, who=None):
    def check(r):
        for pid in [r.pids()[0]] if who is None else who(r):
            if any(abs(rise) > slack for rise in r.rises(pid, kind)):
                yield "%s of %d is not flat: %s" % (kind, pid, r.rises(pid, kind))

    return check


def flat_after(kind, share, least=4 * MB, slack=MB // 4, who=None):
    """Grows by `least` in all, and not any more after `share` of the run."""

    def check(r):
        for pid in [r.pids()[0]] if who is None else who(r):
            first = r.lowest(pid, kind, 0, 0.1)
            then = r.lowest(pid, kind, share, share + 0.08)
            last = r.lowest(pid, kind, 0.9, 0.98)
            if then - first < least or abs(last - then) > slack:
                yield "%s of %d: %d, %d, %d" % (kind, pid, first, then, last)

    return check


def spikes(kind, height):
    def check(r):
        pid = r.pids()[0]
        reached = r.highest(pid, kind) - r.lowest(pid, kind, 0.1, 0.9)
        if reached < height:
            yield "%s of %d has spikes of %d" % (kind, pid, reached)

    return check


def processes(count, at_least=False):
    def check(r):
        if len(r.pids()) != count if not at_least else len(r.seen) < count:
            yield "%d processes, %d in all, not %d" % (len(r.pids()), len(r.seen), count)

    return check


def steps(count, pattern=r"^step \d+$"):
    def check(r):
        found = len(re.findall(pattern, r.output, re.M))
        if found != count:
            yield "%d steps, not %d: %s" % (found, count, r.output[-300:])

    return check


def says(pattern):
    def check(r):
        if not re.search(pattern, r.output, re.M):
            yield "does not say %s: %s" % (pattern, r.output[-300:])

    return check


def daemon_is_alone(r):
    daemon, (command,) = r.truth(), the_others(r)
    if r.highest(daemon, "PPid") in r.seen:
        yield "the daemon has a parent in the tree"
    if r.highest(daemon, "session") == r.highest(command, "session"):
        yield "the daemon is in the command's session"


def workers(r):
    return r.pids()[1:]


def everyone(r):
    return r.pids()


def the_leaking(r):
    return [r.truth()]


def the_others(r):
    return [pid for pid in r.pids() if pid != r.truth()]


def tree(_):
    return [0]


STEPS = ["--steps", "500", "--step-ms", "6"]
N = steps(500)
EPOCHS = steps(800, r"^epoch \d+ step \d+/200$")
QUICK = ["--steps", "800", "--step-ms", "4"]

# Name, arguments, what holds.
CHECKS = [
    ("leak_heap", STEPS, [N, grows("RssAnon"), grows("private"), flat("RssFile"), flat("fds", 0)]),
    ("leak_heap", [*STEPS, "--fix"], [N, flat("RssAnon"), flat("private")]),
    ("told_census", STEPS, [N, grows("RssAnon"), flat("RssFile"), flat("fds", 0)]),
    ("told_census", [*STEPS, "--fix"], [N, flat("RssAnon"), flat("private")]),
    ("told_steps", [*STEPS, "--kb", "64"], [N, grows("RssAnon"), flat("RssFile"), flat("fds", 0)]),
    ("told_steps", [*STEPS, "--kb", "64", "--fix"], [N, flat("RssAnon"), flat("private")]),
    (
        "leak_one_of_eight",
        STEPS,
        [
            N,
            processes(9),
            grows("RssAnon", who=the_leaking),
            grows("private", who=the_leaking),
            flat("RssAnon", who=the_others),
            flat("private", who=the_others),
        ],
    ),
    (
        "leak_one_of_eight",
        [*STEPS, "--fix"],
        [N, flat("RssAnon", who=everyone), flat("private", who=everyone)],
    ),
    (
        "leak_shm",
        STEPS,
        [N, grows("devshm", who=tree), flat("RssAnon"), flat("RssShmem"), flat("fds", 0)],
    ),
    ("leak_shm", [*STEPS, "--fix"], [N, flat("devshm", who=tree), flat("RssAnon")]),
    ("leak_fds", STEPS, [N, grows("fds", 40), flat("RssAnon")]),
    ("leak_fds", [*STEPS, "--fix"], [N, flat("fds", 1), flat("RssAnon")]),
    ("leak_threads", STEPS, [N, grows("Threads", 40), grows("RssAnon", MB // 8, most=2 * MB)]),
    ("leak_threads", [*STEPS, "--fix"], [N, flat("Threads", 1), flat("RssAnon")]),
    (
        "cow_workers.py",
        STEPS,
        [
            N,
            processes(5),
            grows("private", 12 * MB, who=workers),
            flat("RssAnon", 2 * MB, who=everyone),
        ],
    ),
    (
        "cow_workers.py",
        [*STEPS, "--read-by", "0.5"],
        [N, flat_after("private", 0.65, 40 * MB, MB, who=workers)],
    ),
    (
        "cow_workers.py",
        [*STEPS, "--fix"],
        [N, flat("private", who=workers), flat("RssAnon", who=everyone)],
    ),
    ("page_cache", STEPS, [N, grows("RssFile", 80 * MB), flat("RssAnon")]),
    (
        "page_cache",
        [*STEPS, "--read-steps", "250"],
        [N, flat_after("RssFile", 0.6, 240 * MB), flat("RssAnon")],
    ),
    ("page_cache", [*STEPS, "--fix"], [N, flat("RssFile"), flat("RssAnon")]),
    ("spikes", STEPS, [N, flat("RssAnon"), spikes("RssAnon", 90 * MB)]),
    ("spikes", [*STEPS, "--leak-kb", "64"], [N, grows("RssAnon"), spikes("RssAnon", 90 * MB)]),
    ("spikes", [*STEPS, "--fix"], [N, flat("RssAnon")]),
    (
        "wrapper_trainer_workers.sh",
        STEPS,
        [
            N,
            processes(5),
            flat("RssAnon"),
            grows("RssAnon", who=lambda r: r.pids()[1:2]),
            flat("RssAnon", who=lambda r: r.pids()[2:]),
            flat("private", who=lambda r: r.pids()[2:]),
        ],
    ),
    ("wrapper_trainer_workers.sh", [*STEPS, "--fix"], [N, flat("RssAnon", who=everyone)]),
    ("retention", STEPS, [N, flat_after("RssAnon", 0.4, 40 * MB)]),
    ("cache_fill.py", QUICK, [EPOCHS, flat_after("RssAnon", 0.32, 12 * MB)]),
    ("cache_fill.py", [*QUICK, "--leak"], [EPOCHS, grows("RssAnon", 16 * MB)]),
    ("cache_fill.py", [*QUICK, "--fix"], [EPOCHS, flat("RssAnon")]),
    (
        "warmup_spikes.py",
        QUICK,
        [says(r"epoch 6 step 50/150 loss="), flat_after("RssAnon", 0.3, 25 * MB)],
    ),
    ("warmup_spikes.py", [*QUICK, "--leak"], [grows("RssAnon", 16 * MB)]),
    ("warmup_spikes.py", [*QUICK, "--fix"], [flat("RssAnon")]),
    (
        "children_short",
        ["--steps", "1000"],
        [steps(1000), processes(20, at_least=True), flat("RssAnon"), flat("private", MB)],
    ),
    (
        "many",
        ["--processes", "200", "--steps", "20", "--step-ms", "50"],
        [says("^processes 200$"), processes(200, at_least=True)],
    ),
    (
        "double_fork",
        STEPS,
        [
            N,
            processes(2),
            grows("RssAnon", who=the_leaking),
            flat("RssAnon", who=the_others),
            daemon_is_alone,
        ],
    ),
    ("double_fork", [*STEPS, "--fix"], [N, processes(2), flat("RssAnon", who=everyone)]),
    (
        "restart.py",
        ["--steps", "400", "--every", "100", "--step-ms", "6"],
        [steps(400), processes(5, at_least=True)],
    ),
    ("leak_growing_children", STEPS, [N, grows("Pss", 12 * MB, who=tree), flat("RssAnon")]),
    (
        "leak_growing_children",
        [*STEPS, "--fix"],
        [N, flat("RssAnon"), flat("processes", 1, who=tree)],
    ),
    (
        "cpu_step",
        ["--steps", "2000"],
        [steps(2000), says(r"^cpu steps 2000 mean_ns \d{5,} p50_ns \d+ p99_ns"), flat("RssAnon")],
    ),
    (
        "tree",
        ["--total-mb", "512", "--shared-mb", "128", "--seconds", "6"],
        [
            processes(25),
            says(r"^churn-3 steps \d{3,} mean_ns \d{5,}"),
            flat("Pss", 16 * MB, who=tree),
        ],
    ),
    ("tqdm_like.py", STEPS, [says(r"500/500 \["), says("^stdout no terminal$"), flat("RssAnon")]),
    ("exits", ["--steps", "3", "--state"], [steps(3), says("^stdout file$"), says("^SigBlk")]),
]


def oom_is_killed(build):
    r, left = record(jobs.command("oom", ["--step-ms", "4", "--max-mb", "128"], build))
    yield from left
    if r.status != -signal.SIGKILL or "guard" not in r.output:
        yield "ended with %s: %s" % (r.status, r.output[-200:])
    yield from grows("RssAnon", 20 * MB)(r)


def exits_with(arguments, status, build):
    got = subprocess.run(jobs.command("exits", arguments, build), capture_output=True).returncode
    if got != status:
        yield "exits %s: %d, not %d" % (arguments, got, status)


def exits_as_told(build):
    yield from exits_with(["--status", "42"], 42, build)
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        yield from exits_with(["--signal", str(int(number))], -number, build)


def ignores_interrupts(build):
    process = subprocess.Popen(
        jobs.command("exits", ["--ignore-int", "2"], build), stdout=subprocess.PIPE, text=True
    )
    for line in ("ready", "interrupt 1 ignored", "interrupt 2 ignored"):
        got = process.stdout.readline().strip()
        if got != line:
            yield "%r, not %r" % (got, line)
        process.send_signal(signal.SIGINT)
    process.stdout.close()
    if process.wait(5) != -signal.SIGINT:
        yield "ended with %d" % process.returncode


def retention_fix_falls(build):
    r, left = record(jobs.command("retention", [*STEPS, "--fix"], build))
    yield from left
    pid = r.pids()[0]
    if r.lowest(pid, "RssAnon", 0.9, 1) > r.highest(pid, "RssAnon") / 2:
        yield "RssAnon stays at %d" % r.lowest(pid, "RssAnon", 0.9, 1)


SPECIAL = {
    "oom is killed": oom_is_killed,
    "exits as told": exits_as_told,
    "exits --ignore-int": ignores_interrupts,
    "retention --fix": retention_fix_falls,
}


def killed_leaves_nothing(program, number, build):
    """Killed in the middle, it dies of that signal and leaves nothing behind."""
    env, mark = jobs.environment()
    arguments = ["--steps", "100000", "--step-ms", "5"]
    if program == "tree":
        arguments = ["--total-mb", "200", "--shared-mb", "50"]
    process = subprocess.Popen(
        jobs.command(program, arguments, build),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )
    time.sleep(1.2)
    # A terminal interrupts the whole group.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    try:
        if process.wait(5) != -number:
            yield "ended with %d" % process.returncode
    except subprocess.TimeoutExpired:
        yield "is still there 5 s after signal %d" % number
        process.kill()
        process.wait()
    left = jobs.clean_up(mark, 1.0)
    if number != signal.SIGKILL or program != "leak_shm":
        yield from left


def run_check(program, arguments, checks, build):
    recording, problems = record(jobs.command(program, arguments, build))
    if recording.status == 77:
        return ["skipped: " + recording.output]
    if recording.status != 0:
        return problems + ["ended with %d: %s" % (recording.status, recording.output[-300:])]
    for check in checks:
        problems += check(recording)
    return problems


def tasks(build):
    """(name, alone, function without arguments that returns problems)."""
    for program, arguments, checks in CHECKS:
        name = " ".join([program, *(a for a in arguments if a not in STEPS)])
        yield name, program == "leak_shm", (
            lambda p=program, a=arguments, c=checks: run_check(p, a, c, build)
        )
    for name, function in SPECIAL.items():
        yield name, False, lambda f=function: list(f(build))
    for program in sorted(({c[0] for c in CHECKS} | {"oom"}) - {"exits"}):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            yield "%s, %s" % (program, number.name), program == "leak_shm", (
                lambda p=program, n=number: list(killed_leaves_nothing(p, n, build))
            )


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = [t for t in tasks(build) if all(word in t[0] for word in sys.argv[2:])]
    failed = 0

    def report(name, problems):
        nonlocal failed
        failed += bool(problems)
        print("%-4s  %s" % ("FAIL" if problems else "ok", name), flush=True)
        for problem in problems:
            print("      | " + problem, flush=True)

    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        together = [t for t in wanted if not t[1]]
        for (name, _, _), problems in zip(together, pool.map(lambda t: t[2](), together)):
            report(name, problems)
    for name, _, function in (t for t in wanted if t[1]):
        report(name, function())
    print("%d passed, %d failed" % (len(wanted) - failed, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

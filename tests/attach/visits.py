"""Cases of tests/attach/run.py: the probe in programs that never rest, and in programs that end."""

import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

from bench import Failed, build_embedding, expect, finish

PARALLEL = 3


def threads_of_ours(pid):
    names = []
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text().strip())
    return [n for n in names if "tidemark" in n]


def wait_until_left(pid):
    end = time.monotonic() + 20
    while threads_of_ours(pid):
        expect(time.monotonic() < end, "a thread of ours stays")
        time.sleep(0.02)


def tidemark(bench, command, pid, *options):
    done = subprocess.run([str(bench.build / "tidemark"), command, "--pid", str(pid), "--json", *options],
                          text=True, capture_output=True, timeout=200)
    expect(done.returncode == 0, "%s: status %d: %s" % (command, done.returncode, done.stderr))
    return json.loads(done.stdout)


# ---- programs that never rest ----


def counts_in_a_busy_loop(bench, how):
    """objects and profile both count, and nothing but the library stays."""
    child = bench.start("spins.py", how)
    answer = tidemark(bench, "objects", child.pid)
    expect(any(t["name"] == "dict" for t in answer["processes"][0]["types"]), "no types: %s" % answer)
    expect(answer["entered"][0]["left"], "objects: not left")
    wait_until_left(child.pid)
    answer = tidemark(bench, "profile", child.pid, "--seconds", "2")
    expect(answer["entered"][0]["left"], "profile: not left")
    expect(answer.get("censuses") and answer["censuses"][0]["censuses"] > 1, "profile: no census")
    wait_until_left(child.pid)
    finish(child)


# ---- programs that end while the probe is in them ----


@contextlib.contextmanager
def watched_directory():
    """As a watcher makes it: the probe stays for as long as the fifo has a reader."""
    with tempfile.TemporaryDirectory(prefix="tidemark-", dir="/dev/shm") as directory:
        wake = os.path.join(directory, "wake")
        os.mkfifo(wake, 0o600)
        reader = os.open(wake, os.O_RDONLY | os.O_NONBLOCK)
        try:
            yield directory
        finally:
            os.close(reader)


def get_probe_in(bench, pid, directory):
    entry = bench.get_in(pid, library=str(bench.build / "libtidemark_probe.so"),
                         entry="tidemark_probe_attach", count=directory)
    expect(entry.error == 0 and entry.answer == 0, "not entered: %d %s" % (entry.answer, entry.why))


WAYS = {"normally": 0, "exit": 3, "error": 1, "at once": 5, "thread": 0, "daemon": 0, "fork": 0}
SWITCHES = (0.005, 30)  # with the second the thread of ours waits for the GIL until the very end
HAS_THREADS = ("thread", "daemon")  # which would wait for each other as long


def end_one(bench, way, switch, seconds):
    with watched_directory() as directory:
        child = bench.popen("ends.py", way, seconds, switch)
        expect(child.stdout.readline() == "ready\n", "does not begin")
        get_probe_in(bench, child.pid, directory)
        child.send_signal(signal.SIGUSR2)
        try:
            said, complained = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            raise Failed("%s hangs" % way)
    wanted = "" if way == "exit" else "done\n"
    lines = complained.splitlines()
    fine = lines[-1:] == ["SystemError: as intended"] if way == "error" else not lines
    expect(child.returncode == WAYS[way] and said == wanted and fine,
           "%s, %g s, %g: status %d, %r, %s" % (way, seconds, switch, child.returncode, said, complained))


def programs_end_unharmed(bench):
    """Whatever the thread of the probe is at when they do."""
    rounds = 10 * bench.many
    jobs = [(way, switch, random.uniform(0.05, 0.35)) for _ in range(rounds) for way in WAYS
            for switch in SWITCHES[:1 if way in HAS_THREADS else None]]
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        for done in [pool.submit(end_one, bench, *job) for job in jobs]:
            done.result()
    bench.notes.append("%d programs" % len(jobs))


def an_interpreter_ends_and_its_program_goes_on(bench):
    """Nothing of ours waits in it, and the next interpreter can be entered as well."""
    program = build_embedding(bench, "embed_twice.c")
    child = subprocess.Popen([program, "0.5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    bench.children.append(child)
    for _ in range(2):
        expect(child.stdout.readline() == "ready\n", "does not begin")
        with watched_directory() as directory:
            get_probe_in(bench, child.pid, directory)
            expect(child.stdout.readline() == "ended\n", "does not go on")
            wait_until_left(child.pid)
        child.stdin.write("\n")
        child.stdin.flush()
    expect(child.wait(20) == 0, "ended with %d" % child.returncode)


EVERYWHERE = [programs_end_unharmed]
for name in ("top", "function", "thread", "traced"):
    EVERYWHERE.append(functools.partial(counts_in_a_busy_loop, how=name))
    EVERYWHERE[-1].__name__ = "counts_in_a_busy_loop_" + name
SHARED = [an_interpreter_ends_and_its_program_goes_on]

#!/usr/bin/env python3
"""tests/attach/run.py BUILD [--every] [--long] [NAME...]: getting into running Python programs, by
their pid alone.

Every program checks its own results; getting in, or being killed on the way, must not be noticed.
With the system's CPython, the oldest and the newest that are found here (--every: with all of them).
--long: ten times as often. One line a case, `N passed, N failed` last.
"""

import functools
import glob
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner
import visits
from bench import PROGRAMS, Bench, Entry, build_embedding, expect, finish


def tail_of(child):
    return child.stdout.read()[-500:] if child.poll() is not None else ""


# ---- a case is a function: what it shows is its name ----


def enters_a_busy_loop(bench):
    child = bench.start("busy.py")
    for entry in bench.get_in(child.pid, times=10 * bench.many):
        expect(entry.error == 0 and entry.answer == 0, entry.why)
        expect(entry.python.startswith(version_of(bench.python)), entry.python)
    expect(bench.entered() == 10 * bench.many, "entered %d times" % bench.entered())
    expect(mapped(child.pid, "libguest.so") and anonymous_code(child.pid) == 0,
           "code of ours was left")
    finish(child)


def enters_what_blocks(bench, how):
    """The interrupted system call ends as if nothing had been: when, and with what."""
    child = bench.start("blocked.py", how)
    time.sleep(0.3)
    for _ in range(4 * bench.many):
        entry = bench.get_in(child.pid, seconds=20)
        expect(entry.error == 0, entry.why)
    finish(child)


def enters_threads_signals_forks(bench):
    child = bench.start("stress.py")
    entries = bench.get_in(child.pid, times=60 * bench.many)
    failed = [e for e in entries if e.error]
    expect(not failed, "%d of %d: %s" % (len(failed), len(entries), failed[0].why if failed else ""))
    expect(bench.entered() == len(entries), "entered %d times" % bench.entered())
    longest = [e.longest for e in entries]
    bench.notes.append("%d entries, stop median %.0f us, longest %.0f us"
                       % (len(entries), statistics.median(longest), max(longest)))
    pids = {l.split()[0] for l in pathlib.Path(bench.count).read_text().splitlines()}
    expect(pids == {str(child.pid)}, "entered in a child: %s" % pids)
    finish(child)


def survives_a_killed_tracer(bench):
    """Killed at any moment, in its own group with the process it traces with."""
    child = bench.start("stress.py")
    times, killed = 60 * bench.many, 0
    for _ in range(times):
        tracer = subprocess.Popen([bench.enter, str(child.pid), bench.guest, "guest_enter",
                                   bench.count, "5", "50"], stdout=subprocess.DEVNULL,
                                  start_new_session=True)
        time.sleep(random.uniform(0.0, 0.03))
        try:
            os.killpg(tracer.pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            pass
        tracer.wait()
        expect(child.poll() is None, "after %d kills the program ended with %s: %s" %
               (killed, child.returncode, tail_of(child)))
    entry = bench.get_in(child.pid)
    expect(entry.error == 0, "not entered afterwards: " + entry.why)
    bench.notes.append("%d killed" % killed)
    finish(child)


def in_a_long_call(bench, seconds):
    """A program that has begun one."""
    child = bench.start("long_call.py", seconds)
    while not is_in_a_call(child.pid):
        expect(child.poll() is None, "it ended")
    return child


def gives_up_on_a_long_call(bench):
    child = in_a_long_call(bench, 3)
    entry = bench.get_in(child.pid, seconds=1.5)
    expect(entry.error == -110 and "long call" in entry.why and entry.waited_aloud, entry.why)
    time.sleep(2.5)
    expect(bench.entered() == 0, "done all the same")
    entry = bench.get_in(child.pid, seconds=10)
    expect(entry.error == 0 and bench.entered() == 1, entry.why)
    finish(child)


def waits_for_a_long_call(bench):
    child = in_a_long_call(bench, 2)
    entry = bench.get_in(child.pid, seconds=10)
    expect(entry.error == 0 and entry.waited_aloud and bench.entered() == 1, entry.why)
    finish(child)


def survives_every_moment_of_death(bench, program="stress.py", args=()):
    """Killed before and after each single step by which it changes anything."""
    child = bench.start(program, *args)
    steps = kills = 0
    for delay in (0, 300) if bench.many == 1 else (0, 20, 50, 100, 300):
        for after in (0, 1):
            for step in range(1, 200):
                env = dict(os.environ, LD_PRELOAD=str(bench.build / "tests" / "libkiller.so"),
                           KILL_AT=str(step), KILL_AFTER=str(after), KILL_DELAY=str(delay))
                # What was queued is not waited for: the next comes while it still is.
                done = subprocess.run([bench.enter, str(child.pid), bench.guest, "guest_enter",
                                       bench.count, "0.2"], env=env, text=True, capture_output=True,
                                      timeout=60)
                expect(child.poll() is None, "killed %s step %d, the program ended with %s: %s" %
                       ("after" if after else "before", step, child.returncode, tail_of(child)))
                if "killed" not in done.stderr:
                    break
                kills += 1
            steps = max(steps, step)
    entry = bench.get_in(child.pid, seconds=20)
    expect(entry.error == 0, "not entered afterwards: %s %s %s" % (entry.why, child.poll(), tail_of(child)))
    bench.notes.append("%d steps, %d killed" % (steps, kills))
    finish(child)


def survives_every_moment_of_death_blocked(bench):
    survives_every_moment_of_death(bench, "blocked.py", ["sleep"])


def survives_every_moment_of_death_in_a_storm(bench):
    """Of signals: one waits whenever those that were held back are let through again."""
    survives_every_moment_of_death(bench, "stress.py", [0.0002])


def survives_every_moment_of_death_busy(bench):
    survives_every_moment_of_death(bench, "busy.py")


def loses_no_signal_to_a_killed_tracer(bench):
    """Killed when it was told of a signal and has not passed it on."""
    child = bench.start("counts_signals.py")
    env = dict(os.environ, LD_PRELOAD=str(bench.build / "tests" / "libkiller.so"),
               KILL_AT_SIGNAL=str(int(signal.SIGRTMIN)))
    sent = kills = 0
    until = time.monotonic() + 40 * bench.many
    while kills < 20 * bench.many and time.monotonic() < until:
        tracer = subprocess.Popen([bench.enter, str(child.pid), bench.guest, "guest_enter",
                                   bench.count, "0.2", "20"], env=env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        while tracer.poll() is None:
            for _ in range(20):
                os.kill(child.pid, signal.SIGRTMIN)
                sent += 1
                pause_until = time.perf_counter() + 20e-6
                while time.perf_counter() < pause_until:
                    pass
        kills += "killed" in tracer.stderr.read()
        tracer.stderr.close()
        expect(child.poll() is None, "ended with %s: %s" % (child.returncode, tail_of(child)))
    expect(kills > 0, "none was killed")
    child.send_signal(signal.SIGUSR2)
    out, _ = child.communicate(timeout=60)
    expect(child.returncode == 0 and out.split() == [str(sent), "right"],
           "%d sent, and the program: %s" % (sent, out))
    bench.notes.append("%d signals, %d killed" % (sent, kills))


# ---- kinds of programs ----


def enters_a_virtual_environment(bench):
    venv = os.path.join(bench.folder, "venv")
    subprocess.run([bench.python, "-m", "venv", "--without-pip", venv], check=True)
    child = bench.start("busy.py", python=os.path.join(venv, "bin", "python"))
    entry = bench.get_in(child.pid)
    expect(entry.error == 0, entry.why)
    finish(child)


def enters_a_program_whose_file_is_gone(bench):
    python = os.path.join(bench.folder, "python-copy")
    shutil.copy(os.path.realpath(bench.python), python)
    child = bench.start("busy.py", python=python)
    os.unlink(python)
    entry = bench.get_in(child.pid)
    expect(entry.error == 0, entry.why)
    finish(child)


def enters_an_embedding_program(bench):
    code, *late = build_embedding(bench), "late"
    child = bench.start("busy.py", python=code)
    entry = bench.get_in(child.pid)
    expect(entry.error == 0, entry.why)
    finish(child)
    os.unlink(bench.count)
    child = bench.start("busy.py", *late, python=code)
    expect_refused(bench, child.pid, -11, "is not running")


def can_unshare(bench, what):
    """In a chroot, say, it cannot be done."""
    done = subprocess.run(["unshare", what, "true"], text=True, capture_output=True)
    if done.returncode:
        bench.notes.append("left out: " + done.stderr.strip())
    return done.returncode == 0


def enters_another_mount_namespace(bench):
    """The library is not there; a copy is put there, and removed."""
    if not can_unshare(bench, "-m"):
        return
    hidden = os.path.join(bench.folder, "hidden")
    os.mkdir(hidden)
    library = shutil.copy(bench.guest, hidden)
    child = bench.start("busy.py", prefix=["unshare", "-m", "sh", "-c",
                                           "mount -t tmpfs none %s && exec \"$@\"" % hidden, "sh"])
    for _ in range(2):
        entry = bench.get_in(child.pid, library=library)
        expect(entry.error == 0, entry.why)
    expect(mapped(child.pid, "libtidemark_probe-"), "not the copy")
    names = {l.split()[5] for l in maps(child.pid) if "libtidemark_probe-" in l}
    expect(len(names) == 1, "loaded twice: %s" % names)
    expect(not any(os.path.exists(n) for n in names), "the copy was left")
    finish(child)


def enters_another_pid_namespace(bench):
    child = bench.start("stress.py", prefix=["unshare", "-p", "-f", "--kill-child"])
    inner = int(pathlib.Path("/proc/%d/task/%d/children" % (child.pid, child.pid)).read_text().split()[0])
    for _ in range(5):
        entry = bench.get_in(inner)
        expect(entry.error == 0, entry.why)
    expect(bench.entered() == 5, "entered %d times" % bench.entered())
    os.kill(inner, signal.SIGUSR2)
    out, _ = child.communicate(timeout=60)
    expect(child.returncode == 0 and "right" in out, out)


def survives_exec_and_short_threads(bench):
    """Whatever becomes of the attempts: the program reaches its end."""
    child = bench.start("restless.py", 0, 25)
    outcomes = {}
    begun = time.monotonic()
    while time.monotonic() - begun < 5:
        entry = bench.get_in(child.pid, seconds=1)
        outcomes[entry.error] = outcomes.get(entry.error, 0) + 1
        expect(child.poll() is None, "the program ended with %s: %s" % (child.returncode, tail_of(child)))
        expect(entry.error in (0, -3, -11, -110, -95), "%d %s" % (entry.error, entry.why))
    bench.notes.append(str(outcomes))
    expect(outcomes.get(0, 0) > 3, str(outcomes))
    finish(child)


def survives_stops_and_continues(bench):
    """Somebody stops and continues the program all the time."""
    child = bench.start("stress.py")
    stopper = subprocess.Popen([sys.executable, "-c", """
import os, random, signal, sys, time
while True:
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(random.uniform(0, 0.003))
    os.kill(int(sys.argv[1]), signal.SIGCONT)
    time.sleep(random.uniform(0, 0.01))
""", str(child.pid)], stdout=subprocess.PIPE)
    bench.children.append(stopper)
    outcomes = {}
    for _ in range(60 * bench.many):
        entry = bench.get_in(child.pid, seconds=5)
        outcomes[entry.error] = outcomes.get(entry.error, 0) + 1
        expect(child.poll() is None, "the program ended with %s: %s" % (child.returncode, tail_of(child)))
        expect(entry.error in (0, -16), "%d %s" % (entry.error, entry.why))
    stopper.kill()
    stopper.wait()
    child.send_signal(signal.SIGCONT)
    bench.notes.append(str(outcomes))
    expect(outcomes.get(0, 0) > 3, str(outcomes))
    finish(child)


def enters_from_several_sides_at_once(bench):
    child = bench.start("stress.py")
    many = [subprocess.Popen([bench.enter, str(child.pid), bench.guest, "guest_enter", bench.count, "20", "15"],
                             stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outcomes = {}
    for one in many:
        out, _ = one.communicate(timeout=100)
        for line in out.splitlines():
            if not line.startswith("waiting"):
                entry = Entry(line)
                outcomes[entry.error] = outcomes.get(entry.error, 0) + 1
                expect(entry.error in (0, -16), entry.why)
    bench.notes.append(str(outcomes))
    expect(bench.entered() == outcomes.get(0, 0) > 10, "entered %d times, %s" % (bench.entered(), outcomes))
    finish(child)


# ---- who is refused, and why ----


def expect_refused(bench, pid, error, words, prefix=()):
    entry = bench.get_in(pid, prefix=prefix)
    expect(entry.error == error and words in entry.why, "%d %s" % (entry.error, entry.why))
    told, why = bench.check(pid, prefix)
    expect(told == error and words in why, "check: %d %s" % (told, why))
    expect(bench.entered() == 0, "entered all the same")


def refuses_what_is_no_python(bench):
    child = subprocess.Popen(["sleep", "100"], stdout=subprocess.PIPE)
    bench.children.append(child)
    time.sleep(0.1)
    expect_refused(bench, child.pid, -95, "There is no Python in process %d (sleep)" % child.pid)
    child.kill()
    time.sleep(0.1)
    expect_refused(bench, child.pid, -3, "There is no process")  # a zombie
    child.wait()
    expect_refused(bench, child.pid, -3, "There is no process")
    if pathlib.Path("/proc/2/comm").exists() and pathlib.Path("/proc/2/comm").read_text() == "kthreadd\n":
        expect_refused(bench, 2, -95, "")


def refuses_old_pythons(bench):
    for python in glob.glob(os.path.expanduser("~/.pyenv/versions/[23].[78].*/bin/python")):
        child = subprocess.Popen([python, "-c", "import time; time.sleep(100)"], stdout=subprocess.PIPE)
        bench.children.append(child)
        time.sleep(0.5)
        expect_refused(bench, child.pid, -95, "older than 3.9")


def refuses_the_stopped(bench):
    child = bench.start("busy.py")
    child.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    expect_refused(bench, child.pid, -16, "kill -CONT %d" % child.pid)
    child.send_signal(signal.SIGCONT)
    finish(child)


def refuses_the_traced(bench):
    child = bench.start("busy.py")
    tracer = bench.start("traces.py", child.pid)
    expect_refused(bench, child.pid, -16, "traced by process %d" % tracer.pid)
    finish(tracer)
    finish(child)


def refuses_seccomp(bench):
    for how in ("strict", "filter"):
        child = bench.start("seccomp.py", how)
        time.sleep(0.2)
        expect_refused(bench, child.pid, -95, "seccomp")
        child.kill()


def refuses_other_users(bench):
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    mine = bench.start("busy.py")
    expect_refused(bench, mine.pid, -1, "belongs to user 0, and you are user 65534", prefix=as_nobody)
    finish(mine)
    theirs = bench.start("busy.py", prefix=as_nobody)
    entry = bench.get_in(theirs.pid, prefix=as_nobody)  # of the same user
    expect(entry.error == 0, entry.why)
    entry = bench.get_in(theirs.pid)  # root
    expect(entry.error == 0, entry.why)
    finish(theirs)


def enters_where_the_library_may_not_be_read(bench):
    """Root's own folder, and a program of another user: it gets a copy."""
    closed = os.path.join(bench.folder, "closed")
    os.mkdir(closed, 0o700)
    library = shutil.copy(bench.guest, closed)
    child = bench.start("busy.py", prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    entry = bench.get_in(child.pid, library=library)
    expect(entry.error == 0 and bench.entered() == 1, entry.why)
    finish(child)


def says_why_a_library_cannot_be_loaded(bench):
    child = bench.start("busy.py")
    entry = bench.get_in(child.pid, entry="not_there")
    expect(entry.error == -80 and "not_there" in entry.why, "%d %s" % (entry.error, entry.why))
    finish(child)


def refuses_musl(bench):
    if not shutil.which("musl-gcc"):
        bench.notes.append("no musl-gcc here")
        return
    source, program = (os.path.join(bench.folder, n) for n in ("musl.c", "musl"))
    pathlib.Path(source).write_text(
        "#include <unistd.h>\nconst unsigned long Py_Version = 0x030b02f0;\n"
        "int Py_AddPendingCall(void) { return 0; }\nint main(void) { return pause(); }\n")
    subprocess.run(["musl-gcc", "-rdynamic", source, "-o", program], check=True)
    child = subprocess.Popen([program], stdout=subprocess.PIPE)
    bench.children.append(child)
    time.sleep(0.2)
    expect_refused(bench, child.pid, -95, "musl")


# ---- help for the cases ----

def is_in_a_call(pid):
    """It sleeps, and still does a little later: it is not on its way there."""
    states = []
    for _ in range(2):
        states.append(pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0])
        time.sleep(0.02)
    return states == ["S", "S"]


def version_of(python):
    return runner.text(runner.version_of(python))


def maps(pid):
    return pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines()


def mapped(pid, name):
    return any(name in line for line in maps(pid))


def anonymous_code(pid):
    return sum(1 for l in maps(pid) if l.split()[1][2] == "x" and len(l.split()) == 5)


def has_library(python):
    ask = "import sysconfig as s; print(s.get_config_var('Py_ENABLE_SHARED'), s.get_config_var('LIBDIR'))"
    shared, libdir = subprocess.run([python, "-c", ask], text=True, capture_output=True).stdout.split()
    return shared == "1" and glob.glob(libdir + "/libpython3.*.so")


PARALLEL = 3
NEWER = (3, 14)  # from here on nobody has tried
HOW = ("sleep", "poll", "read", "futex", "epoll", "select", "wait", "condition")
EVERYWHERE = [enters_a_busy_loop, enters_threads_signals_forks, survives_a_killed_tracer,
              enters_from_several_sides_at_once, survives_every_moment_of_death, *visits.EVERYWHERE]
ONCE = [waits_for_a_long_call, gives_up_on_a_long_call, survives_every_moment_of_death_blocked, survives_every_moment_of_death_busy,
        survives_every_moment_of_death_in_a_storm, loses_no_signal_to_a_killed_tracer,
        survives_exec_and_short_threads, survives_stops_and_continues, enters_a_virtual_environment, enters_a_program_whose_file_is_gone,
        refuses_what_is_no_python, refuses_old_pythons, refuses_the_stopped, refuses_the_traced,
        refuses_seccomp, refuses_musl, says_why_a_library_cannot_be_loaded]
AS_ROOT = [enters_another_mount_namespace, enters_another_pid_namespace, refuses_other_users,
           enters_where_the_library_may_not_be_read]
SHARED = [enters_an_embedding_program, *visits.SHARED]
for name in HOW:
    ONCE.append(functools.partial(enters_what_blocks, how=name))
    ONCE[-1].__name__ = "enters_what_blocks_in_" + name


def run_case(case, build, python, long):
    bench = Bench(build, python, long)
    try:
        case(bench)
    except Exception as failure:
        raise runner.Failed("; ".join([*bench.notes, str(failure)])) from None
    finally:
        bench.close()
    return "; ".join(bench.notes)


def chosen(every):
    """(case, interpreter)"""
    pythons = [python for version, python in runner.interpreters(every) if version < NEWER]
    yield from ((c, p) for c in EVERYWHERE for p in pythons)
    yield from ((c, pythons[0]) for c in ONCE + (AS_ROOT if os.geteuid() == 0 else []))
    yield from ((c, p) for c in SHARED for p in pythons if has_library(p))


def main():
    asked = runner.arguments(__doc__)
    build = pathlib.Path(asked.target)
    cases = [runner.Case("%s %s" % (version_of(python), runner.words(case.__name__)),
                         functools.partial(run_case, case, build, python, asked.long))
             for case, python in chosen(asked.every)]
    return runner.run_all([c for c in cases if runner.is_wanted(c.name, asked.names)], PARALLEL)


if __name__ == "__main__":
    sys.exit(main())

"""Input and output go through byte for byte, and everything else is as without tidemark."""

import fcntl
import hashlib
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import threading
import time

from bench import check, equal, plain_signals, python

STATE = """
import fcntl, json, os, resource, stat, sys
def descriptor(fd):
    try:
        s = os.fstat(fd)
    except OSError:
        return None
    same = s.st_ino if stat.S_ISREG(s.st_mode) or stat.S_ISCHR(s.st_mode) else 0
    flags = fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_APPEND | os.O_NONBLOCK | os.O_ACCMODE)
    return [stat.S_IFMT(s.st_mode), same, flags if not stat.S_ISFIFO(s.st_mode) else flags & 2048]
status = dict(l.rstrip().split(":", 1) for l in open("/proc/self/status"))
mask = os.umask(0)
os.umask(mask)
group = os.getpgrp()
def read(name):
    return open("/proc/self/" + name).read()
state = {
    "descriptors": [descriptor(fd) for fd in range(3)],
    "others": sorted(f for f in map(int, os.listdir("/proc/self/fd")) if f > 3),
    "signals": [status[n] for n in ("SigBlk", "SigIgn")],
    "cwd": os.getcwd(), "umask": mask, "nice": os.nice(0),
    # But for what lets it tell its steps, see inside.py.
    "environment": {k: v for k, v in os.environ.items()
                    if k not in ("TIDEMARK_RUN", "LD_PRELOAD", "ASAN_OPTIONS")},
    "limits": read("limits"), "oom": read("oom_score_adj"), "no new": status["NoNewPrivs"],
    "affinity": sorted(os.sched_getaffinity(0)), "scheduler": os.sched_getscheduler(0),
    "session": os.getsid(0) == int(sys.argv[2]), "group": group == int(sys.argv[2]),
    "argv": sys.argv[3:],
}
open(sys.argv[1], "w").write(json.dumps(state))
"""


def _state(b, under, before=lambda: None, **streams):
    """What the program finds; `session` and `group` are those of the process that was started."""
    file = b.folder / "state.json"
    file.unlink(missing_ok=True)
    program = python(STATE, file)
    script = 'exec "$@" %s $$ "a b" "" "*"' % file
    inner = [program[0], *program[1:4]]
    command = ["sh", "-c", script, "sh", *(b.under(inner, "--quiet") if under else inner)]
    process = b.start(command, preexec_fn=before, **streams)
    equal(process.wait(20), 0, "status")
    return json.loads(file.read_text())


def _compare(b, what, **more):
    without, found = _state(b, False, **more), _state(b, True, **more)
    # What goes nowhere goes there by way of a pipe, so that the steps can be read.
    for fd in (1, 2):
        if (without["descriptors"][fd] or [])[:2] == [stat.S_IFCHR, 3]:
            equal(found["descriptors"][fd][0], stat.S_IFIFO, "%s: %d" % (what, fd))
            found["descriptors"][fd] = without["descriptors"][fd]
    for name in without:
        if name not in ("others",):
            equal(found[name], without[name], "%s: %s" % (what, name))
    equal(len(found["others"]), len(without["others"]), "%s: open descriptors" % what)


def _odd_surroundings():
    plain_signals()
    for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM})
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o27)
    os.nice(3)


def surroundings_are_the_same(b):
    """Signals, limits, descriptors, group, session and the rest, in plain and odd surroundings."""
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    _compare(b, "plain", before=plain_signals, **pipe)
    _compare(b, "odd", before=_odd_surroundings, **pipe)


def files_and_devices_stay(b):
    """A regular file is the very file with its flags; nowhere is a pipe; a closed one is closed."""
    for mode in ("wb", "ab"):
        with open(b.folder / "out", mode) as out:
            _compare(b, "file " + mode, stdout=out, stderr=out)
    _compare(b, "/dev/null", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for closed in ([0], [1], [2], [1, 2], [0, 1, 2]):

        def close(which=tuple(closed)):
            plain_signals()
            for fd in which:
                os.close(fd)

        _compare(b, "closed %s" % closed, before=close, stderr=subprocess.DEVNULL)


def a_socket_stays_one(b):
    """As programs are started by node, inetd and journald."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        _compare(b, "socket", stdout=theirs)
        process = b.start(b.under(["sh", "-c", "echo one; echo two >&2"], "--quiet"), stdout=theirs)
        process.wait(10)
        equal(ours.recv(100), b"one\n", "what came")


def random_bytes_on_two_pipes(b):
    """A megabyte each way, and every byte of it."""
    text = (
        "import os, random, sys, threading\n"
        "r = random.Random(1); a = r.randbytes(1 << 20); e = r.randbytes(1 << 20)\n"
        "t = threading.Thread(target=lambda: sys.stderr.buffer.write(e)); t.start()\n"
        "sys.stdout.buffer.write(a); t.join()\n"
    )
    without = b.run(python(text))
    done = b.run(b.under(python(text), "--log", b.folder / "log", "--json", b.folder / "json"))
    equal(hashlib.sha1(done.stdout).digest(), hashlib.sha1(without.stdout).digest(), "output")
    check(done.stderr.startswith(without.stderr), "standard error is not the same")


def one_pipe_keeps_the_order(b):
    """2>&1: lines of both come in the order in which they were written."""
    text = "import os\nfor n in range(20000): os.write(1 + n % 2, b'%d\\n' % n)\n"
    done = b.run(
        b.under(python(text), "--quiet"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = done.stdout.split(b"\n")[:20000]
    check(lines == [b"%d" % n for n in range(20000)], "the order is another", lines[:20])


def input_comes_from_a_pipe(b):
    """cat, with a megabyte and an end."""
    data = os.urandom(1 << 20)
    done = b.run(b.under(["cat"], "--quiet"), stdin=None, input=data)
    equal(done.returncode, 0, "status")
    check(done.stdout == data, "it is not what went in")


def a_reader_that_goes_away(b):
    """`| head -1` ends the command by SIGPIPE, as without."""
    for prefix in ("", "'%s' run --no-store --quiet -- " % b.tidemark):
        done = b.run(["bash", "-c", prefix + "yes | head -1; echo ${PIPESTATUS[0]}"])
        equal(done.stdout, b"y\n141\n", "output and status " + prefix)


def a_slow_reader_slows_the_command(b):
    """Nothing is lost, and no more is written ahead than pipes hold."""
    text = (
        "import os, sys\nwritten = 0\n"
        "for n in range(40000):\n"
        "    written += os.write(1, b'%099d\\n' % n)\n"
        "    if n % 100 == 0: open('written', 'w').write(str(written))\n"
    )
    process = b.start(b.under(python(text), "--quiet"), stdout=subprocess.PIPE)
    time.sleep(1)
    ahead = int((b.folder / "written").read_text())
    check(ahead < 400 << 10, "so much was written ahead", ahead)
    data = process.stdout.read()
    equal(process.wait(10), 0, "status")
    check(data == b"".join(b"%099d\n" % n for n in range(40000)), "something is lost")


def a_stuck_stream_does_not_hold_up_the_other(b):
    """Nobody reads standard output; standard error still comes, and SIGTERM ends it."""
    command = ["sh", "-c", "yes & sleep 0.5; echo alive >&2; wait"]
    process = b.start(
        b.under(command, "--quiet"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    line = []
    reader = threading.Thread(target=lambda: line.append(process.stderr.readline()), daemon=True)
    reader.start()
    reader.join(5)
    equal(line, [b"alive\n"], "what came on standard error")
    process.terminate()
    os.set_blocking(process.stdout.fileno(), False)
    end = time.monotonic() + 5
    while process.poll() is None and time.monotonic() < end:
        try:
            process.stdout.read(1 << 20)  # what is left has to go somewhere
        except OSError:
            pass
        time.sleep(0.001)
    equal(process.poll(), -signal.SIGTERM, "status")


def a_flood_is_not_slowed(b):
    """Hundreds of megabytes a second, while samples are still taken."""
    store = b.folder / "run.tide"
    command = b.under(["head", "-c", "600000000", "/dev/zero"], "--quiet", "-o", store)
    start = time.monotonic()
    process = b.start(command, stdout=subprocess.PIPE)
    reader = b.start(["wc", "-c"], stdin=process.stdout, stdout=subprocess.PIPE)
    process.stdout.close()
    equal(process.wait(20), 0, "status")
    seconds = time.monotonic() - start
    equal(reader.stdout.read(), b"600000000\n", "bytes")
    check(seconds < 6, "600 MB took %.1f s" % seconds)


def flags_of_the_outer_pipe_stay(b):
    """The open file is shared with whoever started us: it does not become non-blocking."""
    read, write = os.pipe()
    process = b.start(b.under(["sleep", "0.5"], "--quiet"), stdout=write, stderr=write)
    b.relay_of(process)
    flags = fcntl.fcntl(write, fcntl.F_GETFL)
    process.wait(5)
    os.close(read)
    os.close(write)
    check(not flags & os.O_NONBLOCK, "it is non-blocking")

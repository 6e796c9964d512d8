"""What the cases of this folder share: where things are, processes, terminals.

A case is a function of a Bench; it raises Failed, or Skipped with the reason. Its first line of
documentation says what holds.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

from runner import Failed, Skipped
from runner import expect as check
from screen import Screen

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 60  # what is slow by itself is slower on a busy machine
ROWS, COLUMNS = 24, 80


def equal(got, wanted, what, *more):
    check(got == wanted, "%s: %r, not %r" % (what, got, wanted), *more)


def python(text, *arguments):
    """A program of a few lines, given as text."""
    return [sys.executable, "-u", "-c", text, *map(str, arguments)]


def plain_signals():
    """Takes back what Python has changed for its children, and what a shell has that started the
    tests in the background."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_until(condition, what, seconds=TIMEOUT):
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        check(time.monotonic() < end, "in vain waited for " + what)
        time.sleep(0.01)


def state_of(pid):
    """The letter of /proc/PID/stat; None: there is no such process."""
    try:
        text = pathlib.Path("/proc/%d/stat" % pid).read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[0]


def children_of(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text()
        return [int(p) for p in text.split()]
    return []


def read_store(path):
    """Checks a run file; (number of samples, seconds of the last one)."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        equal(db.execute("PRAGMA integrity_check").fetchone()[0], "ok", "integrity of the run file")
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        check("sample" in tables, "the run file has no samples", tables)
        return db.execute("SELECT count(*), max(seconds) FROM sample").fetchone()


class Terminal:
    """A command on a terminal of its own, as leader of its session, and what is to be seen."""

    def __init__(self, command, rows=ROWS, columns=COLUMNS, cwd=None, env=(), **more):
        self.fd, end = os.openpty()
        self.size(rows, columns, end)
        environment = {**os.environ, "TERM": "xterm-256color", **dict(env)}
        environment = {k: v for k, v in environment.items() if v is not None}
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: (plain_signals(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
            **{"stdin": end, "stdout": end, "stderr": end, **more},
        )
        os.close(end)
        self.screen = Screen(rows, columns)
        self.data = b""

    def size(self, rows, columns, fd=None):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.fd if fd is None else fd, termios.TIOCSWINSZ, size)

    @property
    def text(self):
        return self.data.decode(errors="replace")

    def read_some(self, seconds=0.05):
        """False: nobody has it open any more."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.data += data
        self.screen.feed(data)
        return bool(data)

    def read(self, until=None, seconds=TIMEOUT):
        """Until the text matches, or to the end."""
        end = time.monotonic() + seconds
        while not (until and re.search(until, self.text, re.M)):
            check(time.monotonic() < end, "in vain waited for %r" % until, self.text)
            if not self.read_some():
                check(until is None, "ended without %r" % until, self.text)
                return self.text
        return self.text

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read_some(0.02)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        return self.process.wait(TIMEOUT)

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Bench:
    def __init__(self, tidemark):
        self.tidemark = tidemark
        self.exits = contextlib.ExitStack()
        self.folder = pathlib.Path(self.exits.enter_context(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o755)

    def workload(self, name, *arguments):
        program = self.tidemark.parent / "tests" / "workloads" / name
        if name.endswith(".py"):
            return [sys.executable, str(HERE.parent / "workloads" / name), *map(str, arguments)]
        return [str(program), *map(str, arguments)]

    def under(self, command, *options):
        store = [] if {"-o", "--no-store"} & set(options) else ["--no-store"]
        return [str(self.tidemark), "run", *store, *map(str, options), "--", *command]

    def run(self, command, **more):
        """To its end; what it wrote, as bytes."""
        more = {"stdin": subprocess.DEVNULL, "capture_output": True, **more}
        if "stdout" in more or "stderr" in more:
            del more["capture_output"]
        more.setdefault("preexec_fn", plain_signals)
        more.setdefault("timeout", TIMEOUT)
        return subprocess.run(command, cwd=self.folder, **more)

    def start(self, command, **more):
        """Goes on; whatever of it is left at the end of the case is killed."""
        null = subprocess.DEVNULL
        more = {"stdin": null, "stdout": null, "stderr": null, "cwd": self.folder, **more}
        more.setdefault("preexec_fn", plain_signals)
        process = subprocess.Popen(command, start_new_session=True, **more)
        self.exits.callback(end_session, process)
        return process

    def terminal(self, command, **more):
        terminal = Terminal(command, cwd=self.folder, **more)
        self.exits.callback(end_session, terminal.process)
        self.exits.callback(terminal.close)
        return terminal

    def shell_terminal(self, command, **more):
        """The same with a shell that waits for the command; (terminal, pid of the command)."""
        terminal = self.terminal(["sh", "-c", '"$@"; sleep 100', "sh", *command], **more)
        pid = wait_until(lambda: children_of(terminal.process.pid), "the shell's command")[0]
        return terminal, pid

    def nobody(self):
        """How to run something as an ordinary user."""
        if os.getuid() != 0:
            raise Skipped("needs root, to become nobody")
        who = {"user": 65534, "group": 65534, "extra_groups": []}
        for command in ([str(self.tidemark), "--version"], [sys.executable, "-c", ""]):
            try:
                done = self.run(command, **who)
            except OSError:
                done = None
            if not done or done.returncode != 0:
                raise Skipped("nobody cannot run %s where it is" % command[0])
        return who

    def wait_for_file(self, name):
        path = self.folder / name
        wait_until(lambda: path.exists() and path.stat().st_size > 0, name)
        return path.read_text()

    def relay_of(self, process):
        """(relay, command) of a running `tidemark run`; a process or its number."""
        watcher = getattr(process, "pid", process)

        def find():
            for relay in children_of(watcher):
                for command in children_of(relay):
                    return relay, command
            return None

        return wait_until(find, "the relay and the command")


def end_session(process):
    """Kills what is left of the session that the process leads."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(name)
            if os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


def load_json(text):
    try:
        return json.loads(text)
    except ValueError:
        raise Failed("no JSON: %r" % text[:300]) from None

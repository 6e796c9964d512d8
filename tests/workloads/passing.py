"""Checks that the command under `tidemark run` notices nothing and ends as it would without.

A check is a function of the tidemark program: (problems or None: skipped, what was said).
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

import jobs
from cases import OWN

COLUMNS, ROWS = 101, 37
TIMEOUT = 20


def under(tidemark, command, *options):
    return [str(tidemark), "run", "--no-store", *options, "--", *command]


def plain(command, **more):
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, **more
    )


# ---- exit status ----


def exit_statuses(tidemark):
    """Own status, signals, and the shell's 126 and 127."""
    build = tidemark.parent
    wanted = [
        (jobs.command("exits", [], build), 0),
        (jobs.command("exits", ["--status", "3"], build), 3),
        (jobs.command("exits", ["--status", "77"], build), 77),
        (jobs.command("exits", ["--status", "255"], build), 255),
        (["/nonexistent/program"], 127),
        ([str(jobs.HERE / "cases.py")], 126),
    ]
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT):
        wanted.append((jobs.command("exits", ["--signal", str(int(number))], build), -number))
    problems, said = [], ""
    for command, status in wanted:
        done = plain(under(tidemark, command))
        if done.returncode != status:
            problems.append("%s: %d, not %d" % (" ".join(command), done.returncode, status))
            said += done.stderr
    return problems, said


# ---- descriptors and terminals ----


def state_lines(text):
    """What must be the same: everything but the pids, without a terminal's carriage returns."""
    wanted = ("stdin ", "stdout ", "stderr ", "foreground ", "other ", "Sig", "TERM ")
    return [line for line in text.replace("\r", "").split("\n") if line.startswith(wanted)]


def compare_states(without, with_tidemark):
    if not without:
        return ["the program said nothing"]
    return [
        "%r, but without tidemark %r" % (b, a) for a, b in zip(without, with_tidemark) if a != b
    ] + (["lines are missing"] if len(without) != len(with_tidemark) else [])


def ignore_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def state_on_pipes(tidemark):
    """As it is, and under nohup."""
    command = jobs.command("exits", ["--state"], tidemark.parent)
    problems, said = [], ""
    for before in (None, ignore_hangup):
        without = plain(command, preexec_fn=before)
        done = plain(under(tidemark, command), preexec_fn=before)
        problems += compare_states(state_lines(without.stdout), state_lines(done.stdout))
        said += done.stderr
    return problems, said


def state_in_files(tidemark):
    """A regular file stays one, and holds the same bytes."""
    command = jobs.command("exits", ["--state", "--steps", "50", "--step-ms", "1"], tidemark.parent)
    texts = []
    for arguments in (command, under(tidemark, command, "--quiet")):
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            subprocess.run(
                arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=TIMEOUT
            )
            out.seek(0)
            err.seek(0)
            texts.append((out.read(), err.read()))
    problems = compare_states(state_lines(texts[0][0]), state_lines(texts[1][0]))
    lines = [[l for l in t[0].split("\n") if not l.startswith("pid ")] for t in texts]
    if lines[0] != lines[1]:
        problems.append("the output differs")
    return problems, texts[1][0] + texts[1][1]


def become_plain():
    """Takes back what Python, and whoever started it, has changed for its children."""
    os.closerange(3, 1024)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            time.sleep(0.1)  # until the size is set
            become_plain()
            os.environ["TERM"] = "xterm-256color"
            try:
                os.execv(command[0], command)
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.text = ""
        self.status = None

    def read(self, until=None):
        """Reads until the text matches, or to the end. False: neither came in time."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            if until and re.search(until, self.text, re.M):
                return True
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # EIO: nobody has it open any more
                data = b""
            if not data:
                return until is None
            self.text += data.decode(errors="replace")
        return False

    def write(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        """Waits for the command; its exit status, negative for a signal."""
        end = time.monotonic() + TIMEOUT / 2
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        while pid == 0 and time.monotonic() < end:
            time.sleep(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status) if pid else "none"


def on_terminal(command):
    terminal = Terminal(command)
    terminal.read()
    return terminal.text, terminal.close()


def less_one_row(text):
    """As it has to look with tidemark, whose status line takes the last row."""
    size = " terminal %dx%%d" % COLUMNS
    for name in ("stdout", "stderr"):
        text = text.replace(name + size % ROWS, name + size % (ROWS - 1))
    return text


def state_on_terminal(tidemark):
    command = jobs.command("exits", ["--state"], tidemark.parent)
    without, _ = on_terminal(command)
    text, status = on_terminal(under(tidemark, command))
    problems = compare_states(state_lines(less_one_row(without)), state_lines(text))
    if "stdout terminal %dx%d" % (COLUMNS, ROWS - 1) not in text:
        problems.append("it has no terminal of %dx%d" % (COLUMNS, ROWS - 1))
    if status != 0:
        problems.append("exit status %s" % status)
    return problems, text


def bar_on_terminal(tidemark):
    """tqdm's way: the bar is as wide as the terminal, and every state of it comes through."""
    command = jobs.command("tqdm_like.py", ["--steps", "60", "--step-ms", "5"], tidemark.parent)
    without, _ = on_terminal(command)
    text, status = on_terminal(under(tidemark, command))
    problems = compare_states(state_lines(less_one_row(without)), state_lines(text))
    bars = re.findall(r"\r(train: [^\r\n]*)", text)
    if len(bars) != 60 or any(len(bar) != COLUMNS - 1 for bar in bars):
        problems.append("%d bars of %s columns" % (len(bars), sorted({len(bar) for bar in bars})))
    if status != 0:
        problems.append("exit status %s" % status)
    return problems, text


# ---- signals ----


def interrupts(tidemark):
    """Ctrl-C goes to the command: it may ignore two, and tidemark stays until it has ended."""
    command = jobs.command("exits", ["--ignore-int", "2"], tidemark.parent)
    terminal = Terminal(under(tidemark, command))
    problems = []
    for line in ("ready", "interrupt 1 ignored", "interrupt 2 ignored"):
        if not problems and not terminal.read("^(\\^C)*" + line):
            problems.append("%r does not come" % line)
        terminal.write("\x03")
    terminal.read()
    status = terminal.close()
    if status != -signal.SIGINT:
        problems.append("exit status %s, not the interrupt" % status)
    return problems, terminal.text


@contextlib.contextmanager
def started(command, env):
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=env,
            start_new_session=True,
        )

        def text():
            out.seek(0)
            return out.read()

        try:
            yield process, text
        finally:
            process.kill()
            process.wait()


def terminated(tidemark):
    """SIGTERM to tidemark ends the job, workers and all, and the answer is written."""
    env, mark = jobs.environment()
    arguments = ["--steps", "100000", "--step-ms", "5"]
    command = jobs.command("leak_one_of_eight", arguments, tidemark.parent)
    problems = []
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "answer.json"
        with started(under(tidemark, command, "--json", str(file)), env) as (process, text):
            time.sleep(1.5)
            process.terminate()
            try:
                status = process.wait(5)
            except subprocess.TimeoutExpired:
                status = "none after 5 s"
            said = text()
        if status != -signal.SIGTERM:
            problems.append("exit status %s, not the signal" % status)
        if not file.exists() or "verdict" not in json.loads(file.read_text()):
            problems.append("no answer was written")
    return problems + jobs.clean_up(mark), said


# ---- the run file ----


def show_agrees(tidemark):
    """`show` says of the run file what `run` said."""
    program = jobs.command("leak_heap", ["--steps", "700", "--step-ms", "5"], tidemark.parent)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        store, file = str(folder / "run.tide"), folder / "answer.json"
        done = plain([str(tidemark), "run", "-o", store, "--json", str(file), "--", *program])
        shown = plain([str(tidemark), "show", store, "--json"])
        said = done.stderr + shown.stderr
        if done.returncode or shown.returncode:
            return ["exit status %d and %d" % (done.returncode, shown.returncode)], said
        first, second = json.loads(file.read_text()), json.loads(shown.stdout)

    def essence(answer):
        return answer.get("verdict"), sorted(
            (s.get("process", {}).get("pid", 0), s.get("kind"), s.get("verdict"), s.get("pattern"))
            for s in answer.get("series", [])
        )

    problems = [] if essence(first) == essence(second) else ["show and run differ"]
    if first.get("verdict") != "leak":
        problems.append("verdict %s, not leak" % first.get("verdict"))
    return problems, said


# ---- a memory limit ----

LIMIT_MB = 160


def memory_group():
    """(folder in which a memory cgroup can be made, file of its limit), or None."""
    paths = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path.lstrip("/")
    root = pathlib.Path("/sys/fs/cgroup")
    if "memory" in paths:
        return root / "memory" / paths["memory"], "memory.limit_in_bytes"
    parent = root / paths.get("", "")
    with contextlib.suppress(OSError):
        if "memory" in (parent / "cgroup.subtree_control").read_text().split():
            return parent, "memory.max"
    return None


@contextlib.contextmanager
def limited_group():
    """A cgroup with a memory limit, as the path of its cgroup.procs; None: cannot be made here."""
    where = memory_group()
    folder = where and where[0] / ("tidemark-test-%d" % os.getpid())
    try:
        folder.mkdir()
        (folder / where[1]).write_text(str(LIMIT_MB << 20))
    except (OSError, AttributeError):
        if folder and folder.exists():
            folder.rmdir()
        yield None
        return
    try:
        yield folder / "cgroup.procs"
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.02)


def out_of_memory(tidemark):
    """In a cgroup the kernel kills the trainer, not tidemark, which has seen it coming."""
    program = jobs.command("oom", ["--kb", "256", "--step-ms", "5"], tidemark.parent)
    with limited_group() as procs, tempfile.TemporaryDirectory() as name:
        if procs is None:
            return None, "no memory cgroup can be made here"
        file = pathlib.Path(name) / "answer.json"

        def join():
            procs.write_text(str(os.getpid()))

        done = plain(under(tidemark, program, "--json", str(file)), preexec_fn=join)
        answer = json.loads(file.read_text()) if file.exists() else {}
    problems = []
    if "guard" in done.stdout:
        return ["the kernel has not killed it"], done.stderr
    if done.returncode != -signal.SIGKILL:
        problems.append("exit status %d, not SIGKILL" % done.returncode)
    if answer.get("verdict") != "leak":
        problems.append("verdict %s, not leak" % answer.get("verdict"))
    leaking = [s.get("kind") for s in answer.get("series", []) if s.get("verdict") == "leak"]
    if not set(leaking) & set(OWN):
        problems.append("no leak of %s" % " or ".join(OWN))
    limit = answer.get("job", {}).get("limit_bytes")
    if limit != LIMIT_MB << 20:
        problems.append("job.limit_bytes is %s, not %d" % (limit, LIMIT_MB << 20))
    return problems, done.stderr


CHECKS = {
    "exit statuses": exit_statuses,
    "state on pipes": state_on_pipes,
    "state in files": state_in_files,
    "state on a terminal": state_on_terminal,
    "bar on a terminal": bar_on_terminal,
    "interrupts on a terminal": interrupts,
    "SIGTERM to tidemark": terminated,
    "show agrees with run": show_agrees,
    "out of memory in a cgroup": out_of_memory,
}
ALONE = {"interrupts on a terminal", "out of memory in a cgroup"}

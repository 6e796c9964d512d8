#!/usr/bin/env python3
"""tests/screen/run.py TIDEMARK [NAME...]: `tidemark top` in a real terminal: tmux, with real keys,
on real programs.

Every case waits for what it expects to see; none asserts a time. Without tmux they are skipped.
"""

import contextlib
import functools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import runner
from runner import Skipped
from runner import expect as check

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 60
PARALLEL = 4

HOSTILE = "\x1b[31m\x1b]0;pwned\x07\x1b[2J\r\nX\u202eevil\u200b"


class Tmux:
    """A server of its own with one window, in which a shell waits."""

    def __init__(self, folder, columns=80, rows=24, **env):
        self.socket, self.folder = tempfile.mktemp(prefix="tmux", dir=folder), folder
        self.ended = 0
        drop = {"TMUX", "TMUX_PANE", "NO_COLOR", "COLUMNS", "LINES", "LC_ALL", "LC_CTYPE"}
        self.env = {k: v for k, v in os.environ.items() if k not in drop}
        self.env.update(LANG="C.UTF-8", HOME=str(folder), PS1="$ ", **env)
        # What a case says of TERM holds in the window; tmux itself needs nothing.
        term = self.env.pop("TERM", "")
        self.run("new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "s",
                 "exec env PS1='$ ' HISTFILE= %s bash --norc --noprofile -i" %
                 ("TERM=" + term if term else ""))
        self.run("set", "-g", "status", "off")
        self.size(columns, rows)
        self.wait("the shell", r"^\$")

    def run(self, *arguments):
        done = subprocess.run(["tmux", "-f", "/dev/null", "-u", "-S", self.socket, *arguments],
                              capture_output=True, text=True, errors="replace", env=self.env,
                              timeout=TIMEOUT, cwd=self.folder)
        check(done.returncode == 0, "tmux %s: %s" % (arguments, done.stderr))
        return done.stdout

    def keys(self, *keys):
        self.run("send-keys", "-t", "s", *keys)

    def type(self, line):
        self.run("send-keys", "-t", "s", "-l", line)
        self.keys("Enter")

    def size(self, columns, rows):
        self.run("resize-window", "-t", "s", "-x", str(columns), "-y", str(rows))

    def text(self, *more):
        return self.run("capture-pane", "-p", "-t", "s", *more)

    def lines(self):
        return self.text().splitlines()

    def of(self, what):
        return self.run("display-message", "-p", "-t", "s", "#{%s}" % what).strip()

    def until(self, what, condition, seconds=TIMEOUT):
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            result = condition(text)
            if result:
                return result
            check(time.monotonic() < end, "in vain waited for " + what, text)
            time.sleep(0.05)

    def wait(self, what, pattern):
        return self.until(what, lambda text: re.search(pattern, text, re.M))

    def gone(self, what, pattern):
        self.until("the end of " + what, lambda text: not re.search(pattern, text, re.M))

    def close(self):
        with contextlib.suppress(Exception):
            self.run("kill-server")


class Bench:
    def __init__(self, tidemark):
        self.tidemark = tidemark
        self.exits = contextlib.ExitStack()
        # A socket's path is short.
        self.folder = pathlib.Path(self.exits.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))

    def tmux(self, *size, **env):
        if not shutil.which("tmux"):
            raise Skipped("there is no tmux (Debian: tmux)")
        t = Tmux(self.folder, *size, **env)
        self.exits.callback(t.close)
        return t

    def start(self, command):
        """Goes on until the case ends; its output is a file, from which steps are read."""
        with open(self.folder / "output", "wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, cwd=self.folder,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        self.exits.callback(end, process)
        return process

    def orphan(self, command):
        """No child of this test, whose own tree would be the job. Its pid."""
        start = '"$@" > output 2>&1 < /dev/null & echo $!'
        done = subprocess.run(["sh", "-c", start, "sh", *command], stdout=subprocess.PIPE,
                              cwd=self.folder, start_new_session=True)
        pid = int(done.stdout)
        self.exits.callback(os.kill, pid, signal.SIGKILL)
        return pid

    def workload(self, name, *arguments):
        program = self.tidemark.parent / "tests" / "workloads" / name
        return self.start([str(program), *map(str, arguments)])

    def eight(self, *more):
        return self.workload("leak_one_of_eight", "--steps", 100000, "--step-ms", 10, *more)

    def top(self, t, *arguments):
        """Types the command."""
        t.type(" ".join([shlex.quote(str(self.tidemark)), "top", *map(str, arguments)]))

    def watch(self, t, process, *arguments):
        """The same on a process, until its tree is there."""
        self.top(t, "--no-store", "--pid", process.pid, *arguments)
        t.wait("the tree", r"\d+ of \d+ ")


def end(process):
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(TIMEOUT)


def modes(t):
    """The terminal's modes, and whether the full screen is on. Typed into the shell."""
    t.ended += 1
    t.type("clear; stty -g; echo END %d" % t.ended)
    t.wait("stty", r"^END %d$" % t.ended)
    return next(line for line in t.lines() if line.count(":") > 10), t.of("alternate_on")


def is_clean(t, before, what):
    """The shell has its terminal back: modes, screen, cursor."""
    t.until("the prompt after " + what, lambda text: t.of("alternate_on") == "0")
    check(modes(t) == before, "after %s the terminal is not as it was" % what, before, modes(t))
    check(t.of("cursor_flag") == "1", "no cursor after " + what)
    check(t.of("keypad_flag") == "0" and t.of("keypad_cursor_flag") == "0", "keypad after " + what)


def tidemark_of(t):
    """The pid of the foreground process of the window: tidemark itself."""
    shell = int(t.of("pane_pid"))
    children = pathlib.Path("/proc/%d/task/%d/children" % (shell, shell)).read_text().split()
    check(len(children) == 1, "one child of the shell", children)
    return int(children[0])


# ---- what it shows ----


def the_tree_and_the_verdict(b):
    """Eight workers below their trainer; the one that leaks gets its verdict, rate and limit."""
    t, job = b.tmux(120, 30), b.eight()
    b.watch(t, job)
    t.wait("the trainer", r"^ trainer %d " % job.pid)
    t.wait("the workers", r"[├└]─data worker \d+ ")
    t.until("eight of them", lambda text: len(re.findall("─data worker", text)) == 8)
    t.wait("why", r"^ why: ")
    t.wait("the leak", r"^ LEAK \(\w+\): data worker (\d+) host.anon")
    row = t.wait("its row", r"─data worker (\d+) .*KB/step +LEAK \w+")
    truth = re.search(r"truth: pid (\d+) leaks", (b.folder / "output").read_text())
    check(row[1] == truth[1], "another worker", row[0], truth[0])
    t.wait("fix", r"^ fix: ")
    t.wait("the others", r"─data worker \d+ .* no leak")
    t.wait("its history", r"data worker %s .*[▁▂▃▄▅▆▇█]{8}" % truth[1])


def sorting(b):
    """s takes the next column, capitals one by name; the header marks it."""
    t, job = b.tmux(120, 30), b.eight()
    b.watch(t, job)

    def pids(text):
        return [int(p) for p in re.findall(r"─data worker (\d+)", text)]

    t.keys("P")
    t.wait("the mark", r"process\*")
    t.until("eight workers by pid", lambda s: len(pids(s)) == 8 and pids(s) == sorted(pids(s)))
    t.keys("I")
    t.until("the other way", lambda s: len(pids(s)) == 8 and pids(s) == sorted(pids(s))[::-1])
    t.keys("M")
    t.wait("the mark", r"memory\*")
    truth = re.search(r"truth: pid (\d+) leaks", (b.folder / "output").read_text())
    t.until("the largest first", lambda s: pids(s)[:1] == [int(truth[1])])
    t.keys("s")
    t.wait("the next", r"rate\*")


def folding(b):
    """A folded process shows how many it hides, their memory, and the worst of their verdicts."""
    t, job = b.tmux(120, 30), b.eight()
    b.watch(t, job)
    t.wait("the leak", r"─data worker \d+ .*LEAK")
    t.keys("g")
    t.keys("h")
    row = t.wait("the folded row", r"^ \+trainer \d+ \+8 .*")[0]
    check("LEAK" in row, "the leak is hidden", row)
    t.gone("the workers", r"─data worker")
    t.keys("l")
    t.wait("the workers", r"─data worker")
    t.keys("t")
    t.gone("the lines", r"[├└]─")
    t.wait("a plain list", r"^ data worker")


def filtering(b):
    """/ filters as it is typed; Enter keeps it, Esc ends it."""
    t, job = b.tmux(120, 30), b.eight()
    b.watch(t, job)
    truth = t.until("the truth",
                    lambda _: re.search(r"pid (\d+) leaks", (b.folder / "output").read_text()))[1]
    t.until("eight of them", lambda text: len(re.findall("─data worker", text)) == 8)
    t.keys("/")
    t.wait("the prompt", r"filter: _")
    t.run("send-keys", "-t", "s", "-l", "zz")
    t.wait("nothing", r"no process fits the filter")
    t.keys("BSpace", "BSpace")
    t.run("send-keys", "-t", "s", "-l", truth)
    t.until("one of them", lambda text: len(re.findall("─data worker", text)) == 1)
    t.keys("Enter")
    t.wait("the filter in the footer", r"filter: %s " % truth)
    t.keys("Escape")
    t.until("all of them", lambda text: len(re.findall("─data worker", text)) == 8)


def help_and_panes(b):
    """? lists the keys; Enter has the chart of the selected one, o its holders, m messages."""
    t, job = b.tmux(100, 40), b.eight()
    b.watch(t, job)
    t.keys("?")
    t.wait("the help", r"sort by the next column")
    t.keys("x")
    t.wait("the tree", r"─data worker")
    t.wait("the leak", r"─data worker \d+ .*LEAK")
    t.keys("Enter")
    t.wait("the axis", r"[└┬┴]─.*[┬┴]")
    t.wait("whose it is", r"^ data worker \d+ host.anon")
    t.wait("what it does", r"^ grows .*/step")
    t.keys("o")
    t.wait("holders", r"^ data worker \d+: holders")
    t.wait("a reason", r"holder|attach")
    t.keys("c")
    t.keys("g")
    t.wait("several series", r"^ trainer \d+ host.anon \(1 of \d+ series; Tab: the next\)")
    t.keys("Tab")
    t.wait("the next", r"^ trainer \d+ (fds|threads|host.\w+) \(2 of")
    t.keys("m")
    t.wait("messages", r"^ messages, the newest first\n LEAK \(\w+\)")
    t.keys("Escape")
    t.gone("the pane", r"^ messages, the newest")


def holders_of_a_python_program(b):
    """tidemark attaches as `watch` does, and names the list."""
    script = b.folder / "train.py"
    script.write_text("import time\nkept_by_me = []\nfor n in range(1, 10**6):\n"
                      "    kept_by_me.append(bytearray(200_000))\n"
                      "    print('step', n, flush=True)\n    time.sleep(0.02)\n"
                      "    if len(kept_by_me) > 8000: kept_by_me = []\n")
    t = b.tmux(100, 40)
    job = b.start([runner.interpreters()[0][1], str(script)])
    b.watch(t, job)
    t.keys("m")
    said = t.wait("attaching", r"attached to trainer|[Cc]ould not attach")[0]
    if "ould not" in said:
        raise Skipped("tidemark cannot attach here: " + t.text())
    t.keys("o")
    t.wait("the holder", r"kept_by_me")


# ---- the terminal ----


def resizing(b):
    """From 80x24 to 300x60, to 40x10, to 20x3 and back: it always fits."""
    t, job = b.tmux(80, 24), b.eight()
    b.watch(t, job)
    t.wait("the leak", r"LEAK")
    t.size(300, 60)
    t.wait("more columns", r"process .*memory .*anon .*file .*shmem .*series .*floor .*command")
    t.wait("the command", r"─data worker .*leak_one_of_eight --steps")
    t.size(40, 10)
    t.gone("the columns", r"history")
    t.until("ten rows", lambda text: len(text.splitlines()) == 10)
    check(all(len(line) <= 40 for line in t.lines()), "too wide", t.text())
    t.wait("the verdict", r"^ LEAK")
    t.wait("rows", r"data worker \d+ .*(LEAK|no leak)")
    t.keys("Enter")
    t.wait("a chart", r"B ┤")
    t.keys("Escape")
    t.size(20, 3)
    t.size(1, 1)
    t.size(80, 24)
    t.wait("the columns again", r"process +memory +history +rate +verdict")
    t.until("24 rows", lambda text: len(text.splitlines()) == 24 and "of 9" in text.splitlines()[-1])


def forty_by_ten(b):
    """Started there."""
    t, job = b.tmux(40, 10), b.eight()
    b.watch(t, job)
    t.wait("the leak in the list", r"data worker \d+ .*LEAK")
    for key in ("?", "?", "j", "Enter", "o", "m", "Escape", "/", "Escape", "G"):
        t.keys(key)
    t.wait("the footer", r"9 of 9")
    check(len(t.lines()) <= 10 and all(len(line) <= 40 for line in t.lines()), "size", t.text())


def monochrome(b):
    """TERM=vt100 has no colour: the words say it. NO_COLOR: no colour on any terminal."""
    job = b.eight()
    for env in ({"TERM": "vt100"}, {"NO_COLOR": "1"}):
        t = b.tmux(80, 24, **env)
        b.watch(t, job)
        t.wait("the verdict", r"^ LEAK \(\w+\):")
        t.wait("it in the list", r"data worker \d+ .*LEAK \w+")
        t.wait("the others", r"data worker \d+ .*no leak")
        colors = set(";".join(re.findall(r"\x1b\[([0-9;]*)m", t.text("-e"))).split(";"))
        check(colors <= {"", "0", "1", "2", "4", "7", "39", "49"}, "colours", sorted(colors), env)
        t.close()


def plain_ascii(b):
    """--ascii, and a locale without UTF-8: not one other character."""
    job = b.eight()
    for env, option in (({}, "--ascii"), ({"LC_ALL": "C"}, "--no-trace")):
        t = b.tmux(100, 30, **env)
        b.watch(t, job, option)
        t.wait("the tree", r"[|`]-data worker \d+ .*LEAK")
        t.keys("Enter")
        t.wait("the axis", r"\+-+")
        others = {c for c in t.text() if ord(c) > 126}
        check(not others, "other characters", others, t.text())
        t.close()


def unusable_terminals(b):
    """An unknown TERM, one that cannot move the cursor, a pipe: a sentence and status 1."""
    t, job = b.tmux(100, 24), b.eight()
    for term in ("no-such-terminal", "dumb"):
        t.type("clear; TERM=%s %s top --pid %d; echo status $?" % (term, b.tidemark, job.pid))
        t.wait("the message", r"TERM=%s\) is unknown here, or it cannot" % term)
        t.wait("the status", r"^status 1")
    for where, word in (("| cat", "output"), ("< /dev/null", "input")):
        t.type("clear; %s top --pid %d %s" % (b.tidemark, job.pid, where))
        t.wait("the message", r"standard %s is no terminal; without one, use 'tidemark watch'" % word)
    t.type("clear; %s top --json - --pid %d" % (b.tidemark, job.pid))
    t.wait("the message", r"--json takes a file")


# ---- every end leaves it clean ----


def after_q(b):
    """q prints the report below what was there; the job goes on."""
    t, job = b.tmux(100, 50), b.eight()
    before = modes(t)
    b.watch(t, job)
    t.keys("q")
    t.wait("the report", r"the user stopped watching")
    is_clean(t, before, "q")
    check(job.poll() is None, "the job has ended")


def after_signals(b):
    """Ctrl-C, SIGTERM, SIGHUP end it as q does; killed or crashed, the terminal is given back."""
    t, job = b.tmux(100, 50), b.eight()
    before = modes(t)
    b.watch(t, job)
    t.keys("C-c")
    t.wait("the report", r"the user stopped watching")
    is_clean(t, before, "Ctrl-C")
    for name in ("TERM", "HUP", "QUIT", "KILL", "SEGV", "ABRT"):
        b.watch(t, job)
        os.kill(tidemark_of(t), getattr(signal, "SIG" + name))
        is_clean(t, before, "SIG" + name)
    check(job.poll() is None, "the job has ended")


def after_suspending(b):
    """Ctrl-Z gives the terminal to the shell, fg takes it back; killed meanwhile, all is well."""
    t, job = b.tmux(100, 50), b.eight()
    before = modes(t)
    b.watch(t, job)
    t.keys("C-z")
    t.wait("the shell's word", r"Stopped")
    is_clean(t, before, "Ctrl-Z")
    t.type("fg")
    t.wait("the screen", r"\d+ of 9 ")
    check(t.of("alternate_on") == "1", "the full screen")
    t.keys("P")
    t.wait("its keys", r"process\*")
    t.keys("C-z")
    t.wait("the shell's word", r"Stopped")
    t.type("clear; kill -9 %1; wait; echo GONE")
    t.wait("its end", r"^GONE")
    is_clean(t, before, "a kill while stopped")
    b.watch(t, job)
    t.keys("C-z")
    t.wait("the shell's word", r"Stopped")
    t.type("clear; bg; sleep 0.1; echo STILL MINE")
    t.wait("the shell", r"^STILL MINE")
    is_clean(t, before, "bg")
    t.type("fg")
    t.wait("the screen", r"\d+ of 9 ")
    t.keys("q")
    is_clean(t, before, "all of that")


def the_job_ends(b):
    """Its last state stays until q; then the report says how it ended."""
    t, job = b.tmux(100, 50), b.workload("leak_one_of_eight", "--steps", 300, "--step-ms", 10)
    before = modes(t)
    b.watch(t, job)
    t.wait("the end", r"^ The job has ended.*\. q leaves and prints the report\.")
    t.wait("its processes", r"data worker \d+")
    t.keys("Enter")
    t.wait("the keys still work", r"B ┤")
    t.keys("q")
    t.wait("the report", r"LEAK|INCONCLUSIVE")
    is_clean(t, before, "the job's end")


def the_job_is_killed(b):
    """A crash of the target is no crash of the screen."""
    t, job = b.tmux(100, 50), b.eight()
    before = modes(t)
    b.watch(t, job)
    os.killpg(job.pid, signal.SIGKILL)
    t.wait("the end", r"^ The job has ended")
    t.keys("q")
    is_clean(t, before, "a killed job")


def the_terminal_goes(b):
    """The window is closed: tidemark ends, the job goes on."""
    t, job = b.tmux(100, 30), b.eight()
    b.watch(t, job)
    pid = tidemark_of(t)
    t.run("kill-window", "-t", "s:0")
    end_of = time.monotonic() + TIMEOUT
    while os.path.exists("/proc/%d" % pid):
        check(time.monotonic() < end_of, "tidemark goes on")
        time.sleep(0.05)
    check(job.poll() is None, "the job has ended")


# ---- jobs ----


def three_hundred_processes(b):
    """The end of the list is one key away, and every page in between is full."""
    t, job = b.tmux(100, 30), b.workload("many", "--processes", 300, "--steps", 1000000)
    b.watch(t, job)
    count = int(t.until("all of them", lambda s: (m := re.search(r"of (3\d\d) ", s)) and m)[1])
    t.keys("G")
    t.wait("the last", r"^ %d of %d " % (count, count))
    t.keys("PageUp")
    t.until("a page before", lambda s: (m := re.search(r"^ (\d+) of", s, re.M)) and
            count - 40 < int(m[1]) < count)
    t.keys("g")
    t.wait("the first", r"^ 1 of ")
    t.keys(*["j"] * 150)
    t.wait("the 151st", r"^ 151 of ")
    check(len(re.findall(r"[├└]─", t.text())) > 15, "the page is not full", t.text())
    t.keys("h")
    t.wait("its parent", r"^ (?!151)\d+ of %d " % count)
    t.keys("*")
    t.wait("one row", r"^ 1 of 1 ")
    t.wait("what it hides", r"^ \+trainer \d+ \+%d " % (count - 1))


def hostile_names(b):
    """Escape sequences, line ends and invisible characters in arguments do nothing."""
    program = b.folder / ("x" * 3 + "\x1b[2Jname")
    program.symlink_to("/bin/sleep")
    t = b.tmux(200, 24)
    shell = b.start(["bash", "-c", 'exec -a "$0" sleep 1000 & exec -a "$1" sleep 1000',
                     HOSTILE, "python \x1b]2;title\x07 \x9b31m"])
    b.watch(t, shell)
    t.wait("the names, cleaned", r"\?\[31m\?\]0;pwned\?")
    title = t.of("pane_title")
    check("pwned" not in title and "title" != title, "the title was set", title)
    check("\u202e" not in t.text() and "\u200b" not in t.text(), "invisible characters", t.text())
    t.wait("the header is where it was", r"^ process ")


def choosing(b):
    """Without a job: those that look like training are offered; Enter watches the selected one."""
    script = b.folder / "my_training_run.py"
    script.write_text("import time\nn = 0\nwhile True:\n    n += 1\n"
                      "    print('step', n, flush=True)\n    time.sleep(0.02)\n")
    pid = b.orphan([runner.interpreters()[0][1], str(script)])
    t = b.tmux(160, 50)
    before = modes(t)
    b.top(t, "--no-store")
    t.wait("the question", r"^ tidemark top: which job\?")
    t.wait("the job", r"^ +%d .*my_training_run.py" % pid)
    for _ in range(60):
        if re.search(r"\x1b\[[0-9;]*(44|7)m[^\n]*my_training", t.text("-e")):
            break
        t.keys("j")
        time.sleep(0.05)
    t.keys("Enter")
    t.wait("the tree", r"^ trainer %d " % pid)
    t.keys("q")
    is_clean(t, before, "q")
    for key in ("q", "C-c"):
        b.top(t, "--no-store")
        t.wait("the question", r"which job\?")
        t.keys(key)
        is_clean(t, before, key)


def a_run_file_and_alarms(b):
    """As `watch`: the run is recorded, --on-leak runs, and its output is no hole in the screen."""
    t, job = b.tmux(100, 50), b.eight()
    b.top(t, "--pid", job.pid, "-o", "run.tide", "--json", "answer.json",
          "--on-leak", shlex.quote("echo ALARM $TIDEMARK_KIND; cat > /dev/null"))
    t.wait("the leak", r"LEAK \w+")
    t.keys("m")
    t.wait("the command's output", r"ALARM host.anon")
    t.wait("the screen is whole", r"^ process ")
    t.keys("q")
    t.wait("the report", r"the user stopped watching")
    t.type("clear; %s show --quiet run.tide; grep -c verdict answer.json" % b.tidemark)
    t.wait("the recorded verdict", r"^LEAK \(\w+\): data worker")
    t.wait("the JSON", r"^\d+$")


def without_a_job(b):
    """A pid that is nobody's, and options that are wrong, are said on the terminal as it was."""
    t = b.tmux(100, 24)
    before = modes(t)
    b.top(t, "--pid", 4194304)
    t.wait("the message", r"there is no process 4194304")
    b.top(t, "--wait")
    t.wait("the message", r"expected --pid N or --find PATTERN")
    is_clean(t, before, "errors")


CASES = [the_tree_and_the_verdict, sorting, folding, filtering, help_and_panes,
         holders_of_a_python_program, resizing, forty_by_ten, monochrome, plain_ascii,
         unusable_terminals, after_q, after_signals, after_suspending, the_job_ends,
         the_job_is_killed, the_terminal_goes, three_hundred_processes, hostile_names, choosing,
         a_run_file_and_alarms, without_a_job]


def run_case(tidemark, function):
    b = Bench(tidemark)
    try:
        return function(b)
    except runner.Failed as failure:
        raise runner.Failed("%s\n%s" % (function.__doc__.strip(), failure)) from None
    finally:
        b.exits.close()


def main():
    asked = runner.arguments(__doc__, "TIDEMARK")
    tidemark = pathlib.Path(asked.target)
    cases = [runner.Case(runner.words(f.__name__), functools.partial(run_case, tidemark, f))
             for f in CASES if runner.is_wanted(f.__name__, asked.names)]
    sys.exit(runner.run_all(cases, PARALLEL))


if __name__ == "__main__":
    main()

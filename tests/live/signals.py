"""A signal reaches the command once, from wherever it comes, and the report still follows."""

import os
import re
import signal
import subprocess
import sys
import time

from bench import check, equal, python, state_of, wait_until

# Counts signals, in itself and in a child of its group, until a file `go` is there.
COUNTER = """
import os, signal, sys, time
count = {}
def on(number, frame):
    count[number] = count.get(number, 0) + 1
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
    signal.signal(number, on)
name = "parent"
if os.fork() == 0:
    name = "child"
open(name + ".pid", "w").write(str(os.getpid()))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end and not os.path.exists("go"):
    time.sleep(0.01)
open(name, "w").write(repr(sorted((int(n), c) for n, c in count.items())))
if name == "parent":
    os.wait()
    sys.exit(5)
"""


def _counts(b):
    return {name: (b.folder / name).read_text() for name in ("parent", "child")}


def _count(b, number, send, child=True):
    """How often the command and its child get a signal that `send` sends."""
    for name in ("go", "parent", "child", "parent.pid", "child.pid"):
        (b.folder / name).unlink(missing_ok=True)
    process = b.start(b.under(python(COUNTER, 10)), stderr=subprocess.PIPE)
    for name in ("parent.pid", "child.pid"):
        b.wait_for_file(name)
    time.sleep(0.1)
    send(process)
    time.sleep(0.3)
    (b.folder / "go").touch()
    _, said = process.communicate(timeout=10)
    equal(process.returncode, 5, "status", said.decode())
    once = "[(%d, 1)]" % number
    wanted = {"parent": once, "child": once if child else "[]"}
    equal(_counts(b), wanted, "signals of number %d" % number)
    check(b"INCONCLUSIVE" in said, "there is no report", said.decode())


def to_tidemark_alone(b):
    """Passed on to the command, once."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
        _count(b, number, lambda p, n=number: p.send_signal(n), child=False)


def to_the_whole_group(b):
    """As from a shell that hangs up, timeout(1), or a scheduler: not a second time."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        _count(b, number, lambda p, n=number: os.killpg(p.pid, n))


def interrupt_key(b):
    """Ctrl-C: one SIGINT for each of the group; the command goes on, and is reported on."""
    terminal = b.terminal(b.under(python(COUNTER, 10)))
    b.wait_for_file("child.pid")
    time.sleep(0.1)
    terminal.keys("\x03")
    terminal.watch(0.3)
    (b.folder / "go").touch()
    terminal.read()
    equal(terminal.status(), 5, "status", terminal.text)
    equal(_counts(b), {"parent": "[(2, 1)]", "child": "[(2, 1)]"}, "interrupts")
    check("INCONCLUSIVE" in terminal.text, "there is no report", terminal.text)


def interrupt_key_ends_a_program(b):
    """Python dies of it with its KeyboardInterrupt; tidemark reports, and dies of it too."""
    terminal = b.terminal(b.under(python("import time; print('ready'); time.sleep(100)")))
    terminal.read("ready")
    terminal.keys("\x03")
    terminal.read()
    equal(terminal.status(), -signal.SIGINT, "status", terminal.text)
    check("KeyboardInterrupt" in terminal.text, "the program said nothing", terminal.text)
    check("INCONCLUSIVE" in terminal.text, "there is no report", terminal.text)


def quit_key(b):
    """Ctrl-backslash."""
    terminal = b.terminal(b.under(["sh", "-c", "echo ready; sleep 100"]))
    terminal.read("ready")
    terminal.keys("\x1c")
    terminal.read()
    equal(terminal.status(), -signal.SIGQUIT, "status", terminal.text)


def stop_key_in_a_shell(b):
    """Ctrl-Z and fg under bash: command and tidemark stop, the last row is free, all goes on."""
    text = "import time\nfor n in range(400): print('tick', n, flush=True); time.sleep(0.02)"
    terminal = b.terminal(
        ["bash", "--norc", "--noprofile", "-i"], env={"PS1": "prompt> ", "HISTFILE": None}
    )
    terminal.read("prompt> ")
    (b.folder / "ticks.py").write_text(text)
    command = "%s run --no-store -- %s ticks.py\n" % (b.tidemark, sys.executable)
    terminal.keys(command)
    terminal.read(r"\x1b\[1;23r")  # the status line is there
    pid = wait_until(lambda: _tidemark_of(terminal.process.pid), "tidemark")
    _, job = b.relay_of(pid)
    terminal.keys("\x1a")
    terminal.read("Stopped")
    wait_until(lambda: state_of(job) == "T" and state_of(pid) == "T", "the stop")
    terminal.watch(0.3)
    equal(terminal.screen.region, (0, 23), "the scroll region")
    before = _last_tick(terminal.text)
    terminal.watch(0.3)
    equal(_last_tick(terminal.text), before, "the last tick while it is stopped")
    terminal.keys("fg\n")
    terminal.read("tick %d\r" % (before + 20))
    terminal.keys("\x03")
    terminal.read("INCONCLUSIVE")
    terminal.keys("echo status $?\n")
    terminal.read("status 130")


def _tidemark_of(shell):
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    comm, _, rest = file.read().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if comm == "tidemark" and int(rest.split()[1]) == shell:
                return int(name)
    return None


def _last_tick(text):
    return int(re.findall(r"tick (\d+)\r", text)[-1])


def _hangups(b, command, shell):
    """What the command counts when its terminal goes."""
    for name in ("go", "parent", "child", "parent.pid", "child.pid"):
        (b.folder / name).unlink(missing_ok=True)
    if shell:
        terminal = b.terminal(["bash", "--norc", "--noprofile", "-i"])
        terminal.keys(" ".join("'%s'" % c.replace("\n", "'$'\\n''") for c in command) + "\n")
    else:
        terminal = b.terminal(command)
    wait_until(lambda: terminal.read_some() and (b.folder / "child.pid").exists(), "the start")
    terminal.watch(0.2)
    terminal.close()
    return b.wait_for_file("parent")


def a_closed_terminal(b):
    """One hangup; with a shell in between one of the shell and one of the kernel, as without."""
    command = b.under(python(COUNTER, 1.5))
    equal(_hangups(b, command, False), "[(1, 1)]", "signals")
    check(_hangups(b, command, True) in ("[(1, 1)]", "[(1, 2)]"), "signals by a shell")


def under_nohup(b):
    """A command that leaves SIGHUP ignored goes on, and so does `watch`."""
    done = b.start(["nohup", *b.under(["sleep", "1"], "--quiet")])
    b.relay_of(done)
    time.sleep(0.1)
    os.killpg(done.pid, signal.SIGHUP)
    equal(done.wait(5), 0, "status of run")
    sleeper = b.start(["sleep", "100"])
    command = [str(b.tidemark), "watch", "--no-store", "--pid", str(sleeper.pid), "--duration", "1"]
    watch = b.start(["nohup", *command], stdout=subprocess.PIPE)
    time.sleep(0.4)
    watch.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    equal(watch.poll(), None, "status of watch")
    equal(watch.wait(5), 0, "status of watch")


def stopped_and_continued_from_outside(b):
    """SIGSTOP to the command: tidemark goes on watching, and it goes on as well."""
    command = python("import time\nfor n in range(40): print('step', n); time.sleep(0.02)")
    process = b.start(b.under(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, job = b.relay_of(process)
    time.sleep(0.3)
    os.kill(job, signal.SIGSTOP)
    time.sleep(1)
    check(process.poll() is None and state_of(process.pid) in "SRD", "tidemark stopped as well")
    os.kill(job, signal.SIGCONT)
    out, _ = process.communicate(timeout=10)
    equal((process.returncode, out.count(b"\n")), (0, 40), "status and lines")

"""How it ends: exit statuses, and the end of one of the three processes."""

import json
import os
import signal
import subprocess
import time

from bench import check, children_of, equal, python, read_store, state_of, wait_until

TICKS = """
import sys, time
for n in range(int(sys.argv[1])):
    print("step", n, flush=True)
    time.sleep(0.02)
sys.exit(7)
"""


def statuses_in_a_shell(b):
    """What the shell sees is what it sees without tidemark."""
    exits = b.workload("exits")[0]
    (b.folder / "no-interpreter").write_text("exit 5\n")
    (b.folder / "no-interpreter").chmod(0o755)
    (b.folder / "two words").write_text("#!/bin/sh\nexit 6\n")
    (b.folder / "two words").chmod(0o755)
    (b.folder / "plain").write_text("no program\n")
    commands = [
        "true",
        "false",
        "sh -c 'exit 255'",
        exits + " --signal 11",
        exits + " --signal 9",
        exits + " --signal 15",
        exits + " --signal 13",
        "./no-interpreter",
        "'./two words'",
        "./plain",
        "/",
        "./missing",
        "missing-word",
    ]
    tidemark = "'%s' run --no-store -- " % b.tidemark
    for command in commands:
        seen = []
        for prefix in ("", tidemark):
            done = b.run(["bash", "-c", "%s%s\necho $?" % (prefix, command)])
            seen.append(done.stdout.decode().strip().split("\n")[-1])
        equal(seen[1], seen[0], "status of " + command)


def nothing_unnecessary_is_said(b):
    """A command that cannot be run: one line. --quiet: one line."""
    done = b.run(b.under(["/nonexistent/program"]))
    equal(done.returncode, 127, "status")
    equal(done.stderr.count(b"\n"), 1, "lines", done.stderr)
    check(b"/nonexistent/program" in done.stderr, "it is not named", done.stderr)
    done = b.run(b.under(["true"], "--quiet"))
    equal((done.returncode, done.stdout, done.stderr.count(b"\n")), (0, b"", 1), "quiet")


def a_short_command_stays_short(b):
    """Watching adds milliseconds."""
    times = {}
    for name, command in (("without", ["true"]), ("with", b.under(["true"], "--quiet"))):
        took = []
        for _ in range(15):
            start = time.monotonic()
            equal(b.run(command).returncode, 0, "status")
            took.append(time.monotonic() - start)
        times[name] = sorted(took)[len(took) // 2]
    check(times["with"] - times["without"] < 0.05, "it adds too much", times)


def a_background_child_does_not_hold_it(b):
    """The command has ended, a child of it goes on writing: tidemark reports and ends."""
    command = ["sh", "-c", "(while sleep 0.01; do echo more; done) & echo first; exit 3"]
    process = b.start(b.under(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(process.wait(5), 3, "status")


def a_flooding_child_does_not_hold_it(b):
    """The same with as much output as can be had."""
    process = b.start(b.under(["sh", "-c", "yes & exit 3"]), stdout=subprocess.PIPE)
    reader = b.start(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
    equal(process.wait(5), 3, "status")
    reader.kill()


def a_stopped_watcher_learns_the_status(b):
    """However late it looks, and however much was written meanwhile."""
    command = ["sh", "-c", "sleep 0.3; yes | head -c 3000000; exit 9"]
    with open(b.folder / "out", "wb") as out:
        read, write = os.pipe()
        process = b.start(b.under(command), stdout=write, stderr=out)
        os.close(write)
        cat = b.start(["cat"], stdin=read, stdout=out)
        os.close(read)
        b.relay_of(process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        equal(process.wait(10), 9, "status")
        cat.wait(5)
    equal((b.folder / "out").read_bytes().split(b"\n").count(b"y"), 1500000, "lines")


def a_stopped_watcher_misses_no_step(b):
    """Packets for which it has no room wait for it."""
    answer = b.folder / "answer.json"
    command = python("import time; time.sleep(0.3)\n"
                     "for i in range(1, 601): print('step', i, flush=True); time.sleep(0.0005)")
    process = b.start(b.under(command, "--json", answer))
    b.relay_of(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    equal(process.wait(10), 0, "status")
    equal(json.loads(answer.read_text())["job"]["last_step"], 600, "the last step")


def _last_step(text):
    lines = [line for line in text.splitlines() if line.startswith("step ")]
    return int(lines[-1].split()[1]) if lines else -1


def the_watcher_is_killed(b):
    """The command goes on into its pipe, and the run file can be read up to the last seconds."""
    store = b.folder / "run.tide"
    command = b.under(python(TICKS, 150), "-o", store)
    process = b.start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    relay, job = b.relay_of(process)
    time.sleep(2.2)
    process.kill()
    process.wait()
    samples, last = read_store(store)
    check(samples > 20 and last > 0.9, "samples are missing", samples, last)
    check(state_of(job) in "RSD", "the command is disturbed", state_of(job))
    text = process.stdout.read().decode()
    equal(_last_step(text), 149, "the last step that came")
    equal(len(text.splitlines()), 150, "lines")
    wait_until(lambda: state_of(relay) in (None, "Z"), "the end of the relay")


def the_run_file_is_copied_without_its_log(b):
    """While it is written and after the watcher was killed: the file alone shows the run so far."""
    store, copy = b.folder / "run.tide", b.folder / "copies" / "copy.tide"
    copy.parent.mkdir()
    process = b.start(b.under(python(TICKS, 400), "-o", store), stderr=subprocess.DEVNULL)

    def is_whole():
        for path in copy.parent.iterdir():
            path.unlink()
        copy.write_bytes(store.read_bytes())
        shown = b.run([str(b.tidemark), "show", str(copy)])
        return shown.returncode == 0 and b"host.anon" in shown.stdout

    wait_until(store.exists, "the run file")
    wait_until(is_whole, "the run in the file itself", 20)
    check(process.poll() is None, "it ended before it was copied")
    process.kill()
    process.wait()
    check(is_whole(), "the file of a killed watcher")
    check(read_store(copy)[0] > 20, "samples are missing")


def the_watcher_is_killed_on_a_terminal(b):
    """Output still comes, and the last row is the program's again."""
    terminal, watcher = b.shell_terminal(b.under(python(TICKS, 150)))
    relay, _ = b.relay_of(watcher)
    terminal.read(r"\x1b\[1;23r")
    os.kill(watcher, signal.SIGKILL)
    terminal.watch(0.3)
    equal(terminal.screen.region, (0, 23), "the scroll region")
    terminal.read("step 149")
    wait_until(lambda: terminal.read_some() and state_of(relay) in (None, "Z"), "its end", 5)
    lines = [s for s in terminal.screen.everything() if s.startswith("step")]
    equal(len(lines), 150, "lines", terminal.text)


def the_relay_is_killed(b):
    """A command that writes to a file does not notice; its status and samples still come."""
    store = b.folder / "run.tide"
    with open(b.folder / "out", "w") as out, open(b.folder / "err", "w") as err:
        process = b.start(b.under(python(TICKS, 150), "-o", store), stdout=out, stderr=err)
        relay, job = b.relay_of(process)
        time.sleep(1)
        os.kill(relay, signal.SIGKILL)
        wait_until(lambda: job in children_of(process.pid), "the adoption")
        equal(process.wait(15), 7, "status", (b.folder / "err").read_text())
    equal(_last_step((b.folder / "out").read_text()), 149, "the last step")
    _, last = read_store(store)
    check(last > 2.5, "nothing was watched after the relay's end", last)


def a_killed_relay_on_a_terminal(b):
    """The terminal gets its last row back, the watcher still ends."""
    terminal = b.terminal(b.under(python(TICKS, 200)))
    relay, _ = b.relay_of(terminal.process)
    terminal.read(r"\x1b\[1;23r")
    os.kill(relay, signal.SIGKILL)
    terminal.watch(1)
    equal(terminal.screen.region, (0, 23), "the scroll region")
    check(terminal.status() != 0, "the command cannot have gone well")


def an_early_end_leaves_nothing(b):
    """SIGTERM at any moment after the start: no command is left behind."""
    for i in range(20):
        process = b.start(
            b.under(["sleep", "1000"], "--quiet"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(0.0005 * i)
        process.terminate()
        process.wait(5)
        session = process.pid
        wait_until(lambda s=session: not _members(s), "the end of what it started", 3)


def _members(session):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.getsid(int(name)) == session and state_of(int(name)) not in (None, "Z"):
                    found.append(int(name))
            except OSError:
                pass
    return found

"""What happens when tidemark itself runs out of memory, or of descriptors."""

import re
import resource
import signal

from bench import check, equal, python, wait_until

# Waits to be told, then starts more processes than the watcher has memory for. Ends as it is asked.
CROWD = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(44))
pathlib.Path("ready").write_text("yes")
while not pathlib.Path("go").exists():
    time.sleep(0.01)
children = 0
while not pathlib.Path("end").exists():
    children += 1
    if children < 1000 and os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(20)
        os._exit(0)
    time.sleep(0.001 if children < 150 else 0.05)
os._exit(int(sys.argv[1]))
"""


def a_program_says_that_memory_ran_out(b):
    """However little there is: a sentence and status 1, or the answer; never a signal."""
    lines = ('{"step": 1, "s%d_bytes": %d}\n' % (i, i << 20) for i in range(400))
    (b.folder / "many.jsonl").write_text("".join(lines))
    said = 0
    for limit in range(200 << 10, 4 << 20, 80 << 10):
        # With less the program cannot even be loaded, as the kernel or the loader says.
        if b.run(["prlimit", "--data=%d" % limit, str(b.tidemark), "--version"]).returncode != 0:
            continue
        done = b.run(["prlimit", "--data=%d" % limit, str(b.tidemark), "analyze", "many.jsonl"])
        if done.returncode != 0:
            equal(done.returncode, 1, "status with %d bytes" % limit, done.stderr)
            check(b"tidemark: " in done.stderr and b"out of memory\n" in done.stderr,
                  "with %d bytes it says" % limit, done.stderr)
            said += 1
    check(said > 5, "it ran out of memory %d times only" % said)


def _starve(b, status, *options):
    """A watcher that has lost its job for want of memory; the process."""
    said = b.folder / "said"
    with open(said, "wb") as errors:
        process = b.start(b.under(python(CROWD, status), *options), stderr=errors)
    b.wait_for_file("ready")
    resource.prlimit(process.pid, resource.RLIMIT_DATA, (1, 1))
    (b.folder / "go").touch()
    wait_until(lambda: b"unwatched\n" in said.read_bytes() or process.poll() is not None, "its end")
    equal(process.poll(), None, "status while the command runs", said.read_text())
    check("tidemark: out of memory\n" in said.read_text(), "said", said.read_text())
    return process


def the_command_goes_on_where_the_watcher_has_no_memory(b):
    """Its exit status is passed on, whatever it is; where a verdict was asked for, 0 becomes 1."""
    for status, options, seen in ((23, (), 23), (0, (), 0), (0, ("--fail-on", "leak"), 1)):
        for name in ("ready", "go", "end"):
            (b.folder / name).unlink(missing_ok=True)
        process = _starve(b, status, *options)
        (b.folder / "end").touch()
        equal(process.wait(10), seen, "status %d with %s" % (status, options))


def a_watcher_without_memory_passes_signals_on(b):
    """What a scheduler sends to it is for the command."""
    process = _starve(b, 0)
    process.send_signal(signal.SIGTERM)
    equal(process.wait(10), 44, "status")


def _with_files(b, most, arguments):
    """What it prints, on one line."""
    done = b.run(["prlimit", "--nofile=%d" % most, str(b.tidemark), *arguments])
    return re.sub(r"\s+", " ", (done.stdout + done.stderr).decode())


def too_few_descriptors_are_named(b):
    """However few there are: they are the reason, and nothing is said to have ended that has not."""
    job = b.start(python("import time\nprint(1, flush=True)\nwhile True:\n    time.sleep(0.01)"), stdout=-1)
    job.stdout.readline()
    pid = str(job.pid)
    commands = (("run", "--no-store", "--", "sleep", "0.2"), ("objects", "--pid", pid),
                ("watch", "--no-store", "--duration", "0.2", "--pid", pid))
    named = dict.fromkeys(commands, 0)
    for most in range(6, 30):
        for command in commands:
            said = _with_files(b, most, command)
            check(not re.search("(has|job) ended|there is no process|another container|Input/output", said),
                  "with %d descriptors" % most, command, said)
            named[command] += "too many open files: raise ulimit -n" in said
    check(min(named.values()) > 3, "so often they were named", named)

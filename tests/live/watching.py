"""Processes of every kind: many, short, foreign, stopped, dead, hidden; and finding them."""

import os
import pathlib
import re
import signal
import subprocess
import time

from bench import Skipped, check, children_of, equal, load_json, python, state_of, wait_until


def _watch(b, *options, **more):
    command = [str(b.tidemark), "watch", "--no-store", *map(str, options)]
    return b.run(command, **more)


def _cpu_seconds(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid):
    pages = pathlib.Path("/proc/%d/statm" % pid).read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE") / 2**20


def short_children(b):
    """Thousands of them: the watcher's memory stands still, and its CPU is a few percent."""
    loop = "while :; do /bin/true; done"
    process = b.start(b.under(["bash", "-c", loop]))
    b.relay_of(process)
    time.sleep(3)
    rss, cpu, start = _rss_mb(process.pid), _cpu_seconds(process.pid), time.monotonic()
    time.sleep(4)
    grown = _rss_mb(process.pid) - rss
    share = (_cpu_seconds(process.pid) - cpu) / (time.monotonic() - start)
    process.terminate()
    equal(process.wait(10), -signal.SIGTERM, "status")
    check(grown < 2, "the watcher has grown by %.1f MB" % grown)
    check(share < 0.15, "the watcher takes %.0f %% of a core" % (100 * share))


def many_processes(b):
    """Three hundred at once are watched at a price that can be paid."""
    answer = b.folder / "answer"
    loop = "for i in $(seq 300); do sleep 6 & done; wait"
    process = b.start(b.under(["bash", "-c", loop], "--json", answer))
    b.relay_of(process)
    time.sleep(4)
    start, cpu = time.monotonic(), _cpu_seconds(process.pid)
    time.sleep(1.5)
    share = (_cpu_seconds(process.pid) - cpu) / (time.monotonic() - start)
    equal(process.wait(20), 0, "status")
    check(share < 0.25, "the watcher takes %.0f %% of a core" % (100 * share))
    load_json(answer.read_text())


def many_forks_of_a_large_process(b):
    """Reading the shares of all of them may cost too much: the report counts their parent's memory
    once all the same, and the unread ones by their number."""
    answer = b.folder / "answer"
    program = ("import os, time\ndata, children = [str(i) for i in range(1_500_000)], []\n"
               "for i in range(300):\n"
               "    children.append(os.fork())\n"
               "    if children[-1] == 0: time.sleep(60)\n"
               "    time.sleep(0.01)\n"
               "open('pids', 'w').write(' '.join(map(str, [os.getpid(), *children])))\n"
               "time.sleep(4)\n"
               "for pid in children: os.kill(pid, 9)\n")
    done = b.run(b.under(python(program), "--json", answer))
    own = (b.folder / "pids").read_text().split()
    found = load_json(answer.read_text())
    said = done.stderr.decode()
    unread = [n for n in found["notes"] if "was not read" in n]
    check(all(re.search(r"of \d+ of \d+ processes", n) for n in unread), "note", unread)
    total = next(row for row in found["balance"] if row["role"] == "job")
    check(total["last"] < 0.1 * total["rss"], "pages counted more than once", total, said)
    # Another program may really grow meanwhile.
    named = [pid for n in found["notes"] for pid in re.findall(r"[Pp]rocess (\d+)", n)]
    check(not set(named) & set(own), "a wrong process", said)


def processes_that_become_more(b):
    """Memory stands still, and every fifth step leaves another process behind: the job is not *no
    leak*, nor are they constant overhead."""
    answer = b.folder / "answer"
    program = ("import os, signal, time\nkept = []\n"
               "for i in range(230):\n"
               "    if i % 5 == 0 and not (kept.append(os.fork()) or kept[-1]): signal.pause()\n"
               "    print('step', i, flush=True)\n    time.sleep(0.01)\n"
               "for pid in kept: os.kill(pid, 9)\n")
    done = b.run(b.under(python(program), "--json", answer))
    said = done.stderr.decode()
    told = load_json(answer.read_text())
    check(told["verdict"] != "no_leak", "verdict", said)
    check("overhead" not in said, "overhead", said)
    check("number of processes" in told["summary"], "summary", told["summary"], said)


def one_that_grew_and_ended(b):
    """It is no reason not to tell that the job, of which no process grows by itself, leaks."""
    program = ("import os, signal, time\nkept = []\n"
               "def fork(work):\n"
               "    kept.append(os.fork())\n"
               "    if kept[-1] == 0:\n        work()\n        os._exit(0)\n"
               "def grow():\n    held = []\n"
               "    for i in range(300):\n"
               "        held.append(b'x' * 100000)\n        time.sleep(0.005)\n"
               "def stay():\n    held = b'x' * 500000\n    signal.pause()\n"
               "for i in range(1300):\n"
               "    if i == 0: fork(grow)\n"
               "    if i > 320 and i % 5 == 0: fork(stay)\n"
               "    print('step', i, flush=True)\n    time.sleep(0.005)\n"
               "for pid in kept[1:]: os.kill(pid, 9)\n")
    said = b.run(b.under(python(program))).stderr.decode()
    check("tidemark: LEAK" in said and "whole job host.anon" in said.split("\n\n")[0], "alarm", said)


def a_segment_that_is_filled(b):
    """Shared memory that has its size from the beginning is no leak when it is used; what comes anew
    at every step is."""
    program = ("import sys, time\nfrom multiprocessing import shared_memory\n"
               "size, kept = 65536, []\n"
               "def make(n): kept.append(shared_memory.SharedMemory(create=True, size=n * size))\n"
               "if sys.argv[1] == 'ring': make(1000)\n"
               "for i in range(600):\n"
               "    if sys.argv[1] == 'new': make(1)\n"
               "    at = i * size if len(kept) == 1 else 0\n"
               "    kept[-1].buf[at:at + size] = b'x' * size\n"
               "    print('step', i, flush=True)\n    time.sleep(0.004)\n"
               "for s in kept: s.close(); s.unlink()\n")
    for way, verdict in ("ring", "no_leak"), ("new", "leak"):
        answer = b.folder / way
        done = b.run(b.under(python(program, way), "--json", answer))
        equal(load_json(answer.read_text())["verdict"], verdict, way, done.stderr.decode())


def launchers_that_end(b):
    """The balance sheet is of what runs now, not of the launchers that were more at the start."""
    answer = b.folder / "answer"
    program = "import time; kept = bytearray(64 << 20); kept[::4096] = b'x' * (16 << 10); time.sleep(2)"
    launcher = 'for i in 1 2 3 4; do sleep 0.7 & done; wait; exec "$@"'
    done = b.run(b.under(["bash", "-c", launcher, "launcher", *python(program)], "--json", answer))
    told = load_json(answer.read_text())
    held = sum(row["last"] for row in told["balance"] if row["kind"] == "host.pss")
    check(held > 64 << 20, "in the balance: %d" % held, done.stderr.decode())


def processes_that_are_not_there(b):
    """No such pid, a zombie: said in a line, status 1."""
    done = _watch(b, "--pid", 4194300)
    equal((done.returncode, done.stderr.count(b"\n")), (1, 1), "missing", done.stderr)
    zombie = b.start(["true"])
    wait_until(lambda: state_of(zombie.pid) == "Z", "the zombie")
    done = _watch(b, "--pid", zombie.pid)
    equal((done.returncode, done.stderr.count(b"\n")), (1, 1), "zombie", done.stderr)


def the_job_ends_while_it_is_watched(b):
    """It becomes a zombie that nobody reaps: watching ends with a report."""
    text = "import os, time\nif os.fork() == 0: time.sleep(1); os._exit(3)\ntime.sleep(30)"
    parent = b.start(python(text))
    child = wait_until(lambda: children_of(parent.pid), "the child")[0]
    done = _watch(b, "--pid", child, "--duration", 15)
    equal(done.returncode, 0, "status", done.stderr)
    check(b"watched" in done.stdout and b"as asked" not in done.stdout, "report", done.stdout)


# Starts a daemon when it is told to: fork, setsid, fork, and the one in between ends at once.
DAEMONISES = """
import os, pathlib, sys, time
while not pathlib.Path("go").exists():
    time.sleep(0.01)
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path("daemon.new").write_text(str(os.getpid()))
        os.rename("daemon.new", "daemon")
        if sys.argv[1] == "program":
            os.execv("/bin/sleep", ["sleep", "30"])
        kept = bytearray(8 << 20)
        time.sleep(30)
    os._exit(0)
os.waitpid(middle, 0)
time.sleep(30)
"""


def _daemon_is_watched(b, kind):
    """Whether `watch` has the daemon of a job that began before it."""
    for name in ("go", "daemon", "answer"):
        (b.folder / name).unlink(missing_ok=True)
    job = b.start(python(DAEMONISES, kind))
    watch = b.start([str(b.tidemark), "watch", "--no-store", "--no-inspect", "--pid", str(job.pid),
                     "--duration", "3", "--json", "answer"])
    time.sleep(1.2)
    (b.folder / "go").touch()
    daemon = int(b.wait_for_file("daemon"))
    b.exits.callback(lambda: state_of(daemon) and os.kill(daemon, signal.SIGKILL))
    equal(watch.wait(30), 0, "status")
    answer = load_json((b.folder / "answer").read_text())
    job.kill()
    os.kill(daemon, signal.SIGKILL)
    return any(s.get("process", {}).get("pid") == daemon for s in answer["series"])


def a_daemon_of_a_job(b):
    """Its parent is gone before anybody looks: it is found as a fork of the job."""
    check(_daemon_is_watched(b, "fork"), "the daemon is not watched")


def a_daemon_of_another_program(b):
    """The same where it runs another program: by what the kernel reports of forks."""
    release = tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])
    if release < (6, 6) or os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
        raise Skipped("the kernel does not report forks here")
    check(_daemon_is_watched(b, "program"), "the daemon is not watched")


def a_stopped_job(b):
    """Is watched as any other."""
    sleeper = b.start(["sleep", "100"])
    sleeper.send_signal(signal.SIGSTOP)
    answer = b.folder / "answer"
    done = _watch(b, "--pid", sleeper.pid, "--duration", 1, "--json", answer)
    equal(done.returncode, 0, "status", done.stderr)
    check(load_json(answer.read_text())["series"], "no series", answer.read_text())


def a_process_of_another_user(b):
    """What can be read is read, the rest is absent, and it is said."""
    who = b.nobody()
    sleeper = b.start(["sleep", "100"])
    done = _watch(b, "--pid", sleeper.pid, "--duration", 1.5, "--json", "-", "--quiet", **who)
    equal(done.returncode, 0, "status", done.stderr)
    text = done.stdout.decode()
    answer = load_json(text[text.index("{") :])
    kinds = {s["kind"] for s in answer["series"]}
    check("host.anon" in kinds and "host.pss" not in kinds, "kinds", kinds)
    check("fds" not in kinds, "descriptors of another user", kinds)


def a_hidden_process(b):
    """hidepid=2: a process that cannot be seen is not there; no crash, one line."""
    b.nobody()
    sleeper = b.start(["sleep", "100"])
    script = (
        "mount -t proc -o hidepid=2 proc /proc && "
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups "
        "'%s' watch --no-store --pid %d --duration 1" % (b.tidemark, sleeper.pid)
    )
    done = b.run(["unshare", "-m", "sh", "-c", script])
    if b"mount:" in done.stderr or b"unshare:" in done.stderr:
        raise Skipped("cannot mount: " + done.stderr.decode().strip())
    equal((done.returncode, done.stderr.count(b"\n")), (1, 1), "hidden", done.stderr)


def _find(b, *options):
    return _watch(b, "--find", *options, "--duration", 0.7)


def found_by_its_command(b):
    """The trainer and not its wrapper, never tidemark or the shell it was started from."""
    mark = "findme%d" % os.getpid()
    (b.folder / (mark + ".py")).write_text("import time; x = bytearray(20 << 20); time.sleep(60)")
    script = "exec 3>&1; %s %s.py & wait" % (python("")[0], mark)
    wrapper = b.start(["bash", "-c", script, mark])
    trainer = wait_until(lambda: children_of(wrapper.pid), "the trainer")[0]
    time.sleep(0.3)
    command = "'%s' watch --full --no-store --find %s --duration 0.7; exit $?" % (b.tidemark, mark)
    done = b.run(["sh", "-c", command])
    equal(done.returncode, 0, "status", done.stderr)
    check(str(trainer) in done.stdout.decode(), "the trainer is %d" % trainer, done.stdout)
    check(mark + ".py" in done.stdout.decode(), "it is not named", done.stdout)
    second = b.start([python("")[0], mark + ".py"])
    time.sleep(0.3)
    done = _find(b, mark)
    equal(done.returncode, 1, "status with two", done.stderr)
    for pid in (trainer, second.pid):
        check(str(pid) in done.stderr.decode(), "%d is not listed" % pid, done.stderr)
    done = _find(b, "nothing-is-called-so")
    equal((done.returncode, done.stderr.count(b"\n")), (1, 1), "none", done.stderr)
    done = _find(b, "a[")
    equal((done.returncode, done.stderr.count(b"\n")), (1, 1), "no expression", done.stderr)


def waited_for(b):
    """--wait: until there is one; the run under tidemark is found as well."""
    mark = "waitforme%d.py" % os.getpid()
    (b.folder / mark).write_text("import time; time.sleep(60)")
    command = [str(b.tidemark), "watch", "--no-store", "--wait", "--duration", "0.7"]
    watch = b.start([*command, "--find", mark], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.6)
    equal(watch.poll(), None, "status while there is none")
    runner = b.start(b.under([python("")[0], mark]))
    out, said = watch.communicate(timeout=15)
    _, job = b.relay_of(runner)
    equal(watch.returncode, 0, "status", said)
    check(str(job) in out.decode(), "the trainer is %d" % job, out.decode(), said.decode())


def waiting_is_ended_by_a_key(b):
    """Ctrl-C while it waits."""
    terminal = b.terminal([str(b.tidemark), "watch", "--find", "no-such-thing-at-all", "--wait"])
    terminal.read("waiting")
    terminal.keys("\x03")
    terminal.read()
    equal(terminal.status(), -signal.SIGINT, "status")

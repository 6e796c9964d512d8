#!/usr/bin/env python3
"""tests/hostile/run.py BUILD [--long] [NAME...]: root attaches to processes that turn against it.

The targets are another user's (a number alone, no account) in namespaces of their own. Whatever
they do, nothing outside them may change. Needs root and user namespaces; elsewhere it says so and
runs nothing. --long: ten times as often. One line a case, `N passed, N failed` last.
"""

import ctypes
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner
from runner import Failed, expect

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
OTHER = 48123  # a user and group that nobody is
AS_OTHER = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups"]
AS_THIRD = [word.replace(str(OTHER), str(OTHER + 1)) for word in AS_OTHER]
IN_OPEN = 0x20
libc = ctypes.CDLL(None, use_errno=True)


class Opens:
    """Counts how often a file is opened, by whomever."""

    def __init__(self, path):
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        expect(libc.inotify_add_watch(self.fd, str(path).encode(), IN_OPEN) > 0, "no inotify")

    def count(self):
        try:
            return len(os.read(self.fd, 65536)) // 16
        except BlockingIOError:
            return 0


class Bench:
    def __init__(self, build, many):
        self.tidemark, self.many = str(build / "tidemark"), many
        self.folder = tempfile.mkdtemp(prefix="hostile-")
        os.chmod(self.folder, 0o755)
        self.own = tempfile.mkdtemp(prefix="hostile-", dir="/dev/shm")
        os.chown(self.own, OTHER, OTHER)
        self.program = shutil.copy(HERE / "target.py", self.folder)
        self.victim = os.path.join(self.folder, "victim")
        os.mkdir(self.victim, 0o755)
        for name in ("file", "other"):
            path = os.path.join(self.victim, name)
            pathlib.Path(path).write_text("history = []\nhistory.append(1)\n")
            os.chmod(path, 0o600)
        long_ago = time.time() - 86400
        os.utime(self.victim, (long_ago, long_ago))
        self.before = self.look()
        self.children = []
        self.note = ""

    def look(self):
        """All that must stay as it is."""
        rows = []
        for name in [".", *sorted(os.listdir(self.victim))]:
            st = os.stat(os.path.join(self.victim, name))
            rows.append((name, oct(st.st_mode), st.st_uid, st.st_gid, st.st_mtime_ns, st.st_size))
        return rows

    def check_victim(self):
        expect(self.look() == self.before, "the victim was changed: %s" % self.look())

    def start(self, mode, *, own_namespace=True, prefix=(), env=None):
        apart = ["unshare", "-Urm"] if own_namespace else []
        child = subprocess.Popen([*AS_OTHER, *apart, *prefix, PYTHON, self.program, mode, self.own,
                                  self.victim], stdout=subprocess.PIPE, text=True, cwd="/",
                                 env=dict(os.environ, **(env or {})))
        self.children.append(child)
        expect(child.stdout.readline() == "ready\n", "the target does not begin")
        return child

    def objects(self, child, seconds=120):
        """It waits for 90 s at most: a target that never answers is no reason to wait longer."""
        try:
            return subprocess.run([self.tidemark, "objects", "--pid", str(child.pid)], text=True,
                                  capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failed("tidemark hangs")

    def profile(self, child, seconds):
        return subprocess.run([self.tidemark, "profile", "--pid", str(child.pid), "--seconds",
                               str(seconds)], text=True, capture_output=True, timeout=90)

    def watch(self, child):
        """The job of its report."""
        path = self.folder + "/watched.json"
        subprocess.run([self.tidemark, "watch", "--pid", str(child.pid), "--duration", "2", "--quiet",
                        "--no-store", "--json", path], capture_output=True, check=True, timeout=30)
        return json.loads(pathlib.Path(path).read_text())["job"]

    def close(self):
        for child in self.children:
            child.kill()
            child.wait()
            child.stdout.close()
        shutil.rmtree(self.own, ignore_errors=True)
        for entry in os.scandir("/dev/shm"):  # of deputies that were stopped
            if entry.stat(follow_symlinks=False).st_uid == OTHER:
                shutil.rmtree(entry.path, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- a case is a function: what it shows is its name ----


def attaches_to_another_users_process(bench):
    child = bench.start("plain")
    done = bench.objects(child)
    expect(done.returncode == 0 and "Python objects" in done.stdout, done.stderr)
    expect("as user %d" % OTHER in done.stderr, "it does not say for whom it acts: " + done.stderr)


def removes_no_folder_in_the_targets_namespace(bench):
    child = bench.start("left_over")
    for _ in range(25 * bench.many):
        bench.objects(child)
        bench.check_victim()
    bench.profile(child, 1)
    bench.check_victim()


def sweeps_only_folders_of_its_own_user(bench):
    path = tempfile.mkdtemp(prefix="tidemark-", dir="/dev/shm")
    try:
        pathlib.Path(path, "kept").write_text("x")
        os.chown(path, OTHER, OTHER)
        os.utime(path, (1e9, 1e9))
        subprocess.run([bench.tidemark, "run", "--", "true"], capture_output=True, check=True,
                       cwd=bench.folder)
        expect(os.path.exists(path + "/kept"), "another user's folder was swept")
        os.chown(path, 0, 0)
        os.utime(path, (1e9, 1e9))
        subprocess.run([bench.tidemark, "run", "--", "true"], capture_output=True, check=True,
                       cwd=bench.folder)
        expect(not os.path.exists(path), "a folder of its own was not swept")
    finally:
        shutil.rmtree(path, ignore_errors=True)


def gives_nothing_away_that_is_mounted_over_its_folder(bench):
    child = bench.start("mounts")
    for _ in range(25 * bench.many):
        bench.objects(child)
        bench.check_victim()


def does_not_hang_on_an_endless_file(bench):
    child = bench.start("endless")
    for _ in range(25 * bench.many):
        bench.objects(child)


def does_not_hang_on_a_stopped_deputy(bench):
    child = bench.start("stops", own_namespace=False)
    caught = 0
    for _ in range(12 * bench.many):
        caught += bench.objects(child).returncode != 0
    bench.note = "(%d times stopped)" % caught  # test_deputy makes sure that one is


def opens_no_fifo_of_the_targets_choice(bench):
    opens = Opens(bench.victim + "/file")
    child = bench.start("watched", env={"TIDEMARK_RUN": bench.own + "/run"})
    opens.count()
    bench.objects(child)
    expect(opens.count() == 0, "what lies over the fifo was opened")


def follows_no_link_out_of_the_targets_root(bench):
    """Its /dev/shm is a link which, from outside, leads to another place than from inside."""
    outside = os.path.join(bench.folder, "outside")
    root = os.path.join(bench.own, "root")
    os.mkdir(outside)
    before = os.stat(outside).st_mtime_ns
    script = ("set -e; mkdir -p {r}; mount --rbind / {r}; mount -t tmpfs none {r}/dev; "
              "touch {r}/dev/null; mount --bind /dev/null {r}/dev/null; mkdir {r}/dev/inner; "
              "ln -s {o} {r}/dev/shm; exec chroot {r} \"$@\"").format(r=root, o=outside)
    child = bench.start("plain", prefix=("sh", "-c", script, "sh"))
    bench.objects(child)
    expect(os.stat(outside).st_mtime_ns == before, "something was made outside of its root")


def reads_sources_with_the_targets_rights(bench):
    opens = Opens(bench.victim + "/file")
    child = bench.start("source", own_namespace=False)
    opens.count()
    done = bench.profile(child, 10)
    expect("history" in done.stdout, "the list was not found: " + done.stdout + done.stderr)
    expect(opens.count() == 0, "a file was opened that the target may not read")


def reads_output_with_the_targets_rights(bench):
    """O_PATH takes no right to open: what lies behind its standard output is the target's choice."""
    opens = Opens(bench.victim + "/file")
    child = bench.start("output", own_namespace=False)
    opens.count()
    bench.watch(child)
    expect(opens.count() == 0, "a file was opened that the target may not read")
    child = bench.start("steps", own_namespace=False)
    steps = bench.watch(child)["steps"]
    expect(steps and steps > 10, "the steps in its own file were not read: %s" % steps)


def stays_out_where_that_is_forbidden(bench):
    """Each way that docs/SECURITY.md names, as the user of the target and as root."""
    for name in ("tidemark", "libtidemark_probe.so"):
        shutil.copy(pathlib.Path(bench.tidemark).parent / name, bench.folder)
    entering = [bench.folder + "/tidemark", "objects", "--pid"]
    without = ["setpriv", "--bounding-set", "-sys_ptrace"]
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 none /proc && exec "$@"', "sh"]
    plain, closed = (bench.start(mode, own_namespace=False) for mode in ("plain", "closed"))
    for prefix, child, words in ((without, plain, "could not attach to process"),
                                 (AS_OTHER, closed, "could not attach to process"),
                                 ([*hidden, *AS_THIRD], plain, "there is no process")):
        done = subprocess.run([*prefix, *entering, str(child.pid)], text=True, capture_output=True,
                              timeout=90)
        expect(done.returncode == 1 and words in done.stderr, "%s: %s" % (words, done.stderr))
        expect("libtidemark" not in pathlib.Path("/proc/%d/maps" % child.pid).read_text(), "entered")


def refuses_who_has_changed_its_user_for_a_time(bench):
    program = "import os, time; os.setresuid(0, %d, 0); print('ready', flush=True); time.sleep(600)"
    child = subprocess.Popen([PYTHON, "-c", program % OTHER], stdout=subprocess.PIPE, text=True)
    bench.children.append(child)
    child.stdout.readline()
    done = bench.objects(child)
    expect(done.returncode == 1 and "effective" in done.stderr, done.stderr)


def stops_at_once_when_it_is_told_to(bench):
    """The main thread is in one long call: there is no getting in, and nobody waits for it."""
    program = "print('ready', flush=True); sum(range(10 ** 13))"
    for number in (signal.SIGTERM, signal.SIGINT):
        child = subprocess.Popen([PYTHON, "-c", program], stdout=subprocess.PIPE, text=True)
        bench.children.append(child)
        child.stdout.readline()
        watcher = subprocess.Popen([bench.tidemark, "objects", "--pid", str(child.pid)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        expect(watcher.poll() is None, "it did not wait")
        watcher.send_signal(number)
        try:
            out, err = watcher.communicate(timeout=12)
        except subprocess.TimeoutExpired:
            watcher.kill()
            raise Failed("it goes on waiting")
        expect(child.poll() is None, "the target has ended")
        expect("You stopped tidemark" in err, "%d: %s %s" % (watcher.returncode, out, err))


CASES = [f for f in list(globals().values()) if callable(f) and getattr(f, "__module__", "") == __name__
         and not isinstance(f, type) and f.__code__.co_varnames[:1] == ("bench",)]


def run_case(case, build, many):
    bench = Bench(build, many)
    try:
        case(bench)
        return bench.note
    finally:
        bench.close()


def main():
    asked = runner.arguments(__doc__)
    if os.geteuid() != 0 or subprocess.run([*AS_OTHER, "unshare", "-Urm", "true"]).returncode != 0:
        print("skipped: it takes root and user namespaces")
        return 0
    cases = [runner.Case(runner.words(case.__name__), functools.partial(
        run_case, case, pathlib.Path(asked.target), 10 if asked.long else 1)) for case in CASES]
    return runner.run_all([c for c in cases if runner.is_wanted(c.name, asked.names)], 1)


sys.exit(main())

"""What the cases of this folder share: a program that is to be entered, and who enters it.

A case is a function of a Bench: what it shows is its name. It raises Failed.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from runner import Failed, expect

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


class Entry:
    """What `enter` tells of one attempt."""

    def __init__(self, text):
        self.waited_aloud = "waiting: " in text
        line = [l for l in text.splitlines() if not l.startswith("waiting: ")][-1]
        fields = line.split(" ", 7)
        self.error, self.answer, self.python = int(fields[0]), int(fields[1]), fields[2]
        self.stopped, self.longest = float(fields[3]), float(fields[4])
        self.stops, self.waited = int(fields[5]), float(fields[6])
        self.why = fields[7] if len(fields) > 7 else ""


class Bench:
    def __init__(self, build, python, long):
        self.build, self.python, self.many = build, python, 10 if long else 1
        self.folder = tempfile.mkdtemp(prefix="attach-")
        os.chmod(self.folder, 0o777)
        self.count = os.path.join(self.folder, "count")
        self.enter = str(build / "tests" / "enter")
        self.guest = str(build / "tests" / "libguest.so")
        self.children = []
        self.notes = []

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for pipe in (child.stdout, child.stderr):
                if pipe:
                    pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, program, *args, python=None, prefix=()):
        """A program of ours, once it says that it is ready."""
        child = self.popen(program, *args, python=python, prefix=prefix, stderr=subprocess.STDOUT)
        expect(child.stdout.readline() == "ready\n", "%s does not begin" % program)
        return child

    def popen(self, program, *args, python=None, prefix=(), stderr=subprocess.PIPE):
        env = dict(os.environ, PYTHONPATH=str(PROGRAMS), PYTHONDONTWRITEBYTECODE="1")
        child = subprocess.Popen([*prefix, python or self.python, str(PROGRAMS / program), *map(str, args)],
                                 stdout=subprocess.PIPE, stderr=stderr, text=True,
                                 cwd=self.folder, env=env)
        self.children.append(child)
        return child

    def get_in(self, pid, *, seconds=10, times=1, library=None, entry="guest_enter", prefix=(), count=None):
        done = subprocess.run([*prefix, self.enter, str(pid), library or self.guest, entry,
                               count or self.count, str(seconds), str(times)],
                              text=True, capture_output=True, timeout=100 + seconds * times)
        expect(done.stdout, "enter died: %d %s" % (done.returncode, done.stderr))
        return Entry(done.stdout) if times == 1 else [
            Entry(l) for l in done.stdout.splitlines() if not l.startswith("waiting")]

    def check(self, pid, prefix=()):
        done = subprocess.run([*prefix, self.enter, "--check", str(pid)], text=True,
                              capture_output=True, timeout=20)
        code, _, why = done.stdout.strip().partition(" ")
        return int(code), why

    def entered(self):
        try:
            return len(pathlib.Path(self.count).read_text().splitlines())
        except FileNotFoundError:
            return 0


def finish(child, seconds=60):
    """The program, asked to end, says that all its results were right."""
    child.send_signal(signal.SIGUSR2)
    try:
        out, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed("the program hangs")
    expect(child.returncode == 0 and out.splitlines()[-1:] == ["right"],
           "the program ended with %d: %s" % (child.returncode, out[-500:]))


def build_embedding(bench, source="embed.c"):
    ask = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('LIBDIR'), s.get_config_var('LDVERSION'))"
    include, libdir, version = subprocess.run([bench.python, "-c", ask], text=True, capture_output=True).stdout.split()
    program = os.path.join(bench.folder, "embed")
    subprocess.run(["gcc", str(PROGRAMS / source), "-I", include, "-L", libdir, "-Wl,-rpath," + libdir,
                    "-lpython" + version, "-o", program], check=True)
    return program

"""Processes of the job, and other users, that do with the rings whatever they can do."""

import os
import pathlib
import re
import subprocess
import sys

from bench import Skipped, check, equal, load_json, python, wait_until

STANDIN = pathlib.Path(__file__).resolve().parents[1] / "standin"

# A child tells its steps and is stopped: to lose its own ring would be its own end. Then something
# is made of the ring while the watcher reads it. The command ends with a status of its own.
SPOILER = """\
import ctypes, glob, os, random, signal, subprocess, sys, time
place, mode = os.environ["TIDEMARK_RUN"], sys.argv[1]
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
def ring():
    return next(iter(glob.glob("%s/%d-*.ring" % (place, child.pid))), None)
while not ring():
    time.sleep(.01)
time.sleep(.7)
child.send_signal(signal.SIGSTOP)
path, end = ring(), time.monotonic() + 2.5
size = os.path.getsize(path)
fd = os.open(path, os.O_RDWR)
if mode == "cut":
    os.ftruncate(fd, 0)
elif mode == "holes":
    libc = ctypes.CDLL(None, use_errno=True)
    zero, whole = ctypes.c_long(0), ctypes.c_long(size)
    assert libc.fallocate(fd, 3, zero, whole) == 0
elif mode == "names":
    census = path[:-5] + ".census"
    for name in (path, census):
        if os.path.exists(name):
            os.unlink(name)
    os.symlink("/dev/zero", census)
    for n, make in enumerate((lambda p: os.symlink("/dev/zero", p), os.mkfifo, os.mkdir,
                              lambda p: open(p, "w").write("no ring"))):
        make("%s/%d-%d.ring" % (place, child.pid, n))
    os.unlink(place + "/wake")
    os.symlink("/dev/zero", place + "/wake")
while time.monotonic() < end:
    if mode == "cut and back":
        os.ftruncate(fd, 0)
        os.ftruncate(fd, size)
    elif mode == "scribble":
        os.pwrite(fd, random.randbytes(512), random.randrange(0, size - 512))
        os.pwrite(fd, random.randbytes(64), random.randrange(24, 128))
    elif mode == "flood":
        wake = os.open(place + "/wake", os.O_RDWR | os.O_NONBLOCK)
        try:
            while time.monotonic() < end:
                os.write(wake, bytes(4096))
        except BlockingIOError:
            pass
        os.close(wake)
    else:
        time.sleep(.01)
child.kill()
child.wait()
sys.exit(33)
"""


def _spoil(b, mode):
    job = python(SPOILER, mode, *b.workload("told_steps", "--steps", 100000, "--step-ms", 2))
    done = b.run(b.under(job, "--json", "answer.json"))
    equal(done.returncode, 33, "status of the command", done.stderr.decode())
    return load_json((b.folder / "answer.json").read_text())


def a_ring_that_is_cut_does_not_end_the_watch(b):
    """The command's own status is passed on, and there is a report."""
    _spoil(b, "cut")


def a_ring_that_is_cut_again_and_again_does_not_end_the_watch(b):
    """Whatever its size was when it was last looked at."""
    _spoil(b, "cut and back")


def a_ring_with_holes_does_not_end_the_watch(b):
    """It has its size, and nothing is in it."""
    _spoil(b, "holes")


def files_that_are_something_else_do_not_end_the_watch(b):
    """Links, fifos and folders in the place of rings, census and fifo are neither followed nor
    waited for."""
    _spoil(b, "names")


def a_ring_that_is_scribbled_on_does_not_end_the_watch(b):
    """Any bytes anywhere, as fast as they can be written."""
    _spoil(b, "scribble")


def a_flood_of_wakings_does_not_hold_the_watch(b):
    """It takes its turn, and most of the time none: the job is sampled as ever."""
    answer = _spoil(b, "flood")
    own = answer["job"]["overhead"]["watcher_cpu_seconds"]
    check(own < 0.5 * answer["job"]["seconds"], "processor time of the watcher", own)


# ---- other users ----

# Goes on when its watch has ended: at a sign it becomes another program, which trains.
SURVIVOR = """\
import os, subprocess, sys, time
if os.fork():
    time.sleep(.5)
    os._exit(0)
os.setsid()
here = os.getcwd()
child = os.fork()
if child == 0:
    open(here + "/pid", "w").write(str(os.getpid()))
    while not os.path.exists(here + "/go"):
        time.sleep(.01)
    os.execv(sys.executable, [sys.executable, here + "/train.py"])
status = os.waitpid(child, 0)[1]
open(here + "/status.new", "w").write(str(status))
os.rename(here + "/status.new", here + "/status")
"""

TRAIN = """\
import os, sys, time, torch
optimizer = torch.optim.SGD()
def step():
    assert optimizer.step() == "made"
    time.sleep(.002)
for i in range(50):
    step()
open("training", "w").write("x")
while not os.path.exists("cut"):
    step()
for i in range(100):
    step()
child = os.fork()  # it has a ring of its own
if child == 0:
    for i in range(100):
        step()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""

# Makes the directory again, and lays out what was a ring once under the names given.
PLANTER = """\
import os, sys
place, ring, names = sys.argv[1], sys.argv[2], sys.argv[3:]
os.umask(0)
os.mkdir(place, 0o777)
os.mkfifo(place + "/wake", 0o666)
text = open(ring, "rb").read()
for name in names:
    with open(place + "/" + name, "wb") as f:
        f.write(text)
    os.chmod(place + "/" + name, 0o666)
"""

CUTTER = """\
import os, sys
for name in os.listdir(sys.argv[1]):
    if name.endswith(".ring"):
        os.truncate(sys.argv[1] + "/" + name, 0)
"""


def _interpreter(b, who):
    """One that other users can run, too."""
    for path in (sys.executable, "/usr/bin/python3"):
        try:
            if b.run([path, "-c", ""], **who).returncode == 0:
                return path
        except OSError:
            continue
    raise Skipped("no other user can run a Python here")


def _as_user(b, number, interpreter, text, *arguments):
    done = b.run([interpreter, "-c", text, *map(str, arguments)], user=number, group=number, extra_groups=[])
    equal(done.returncode, 0, "the other user's program", done.stderr.decode())


def _start_of(pid):
    return int(pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[19])


def _take_a_ring(b):
    """The bytes of any ring, for everybody to read."""
    code = "import glob, os, time\ntime.sleep(.5)\nd = os.environ['TIDEMARK_RUN']\n" \
           "open('ring', 'wb').write(open(glob.glob(d + '/*.ring')[0], 'rb').read())"
    told = " ".join(b.workload("told_steps", "--steps", 1000, "--step-ms", 2))
    done = b.run(b.under(["sh", "-c", "%s > told & %s -c \"%s\"; kill $!" %
                          (told, sys.executable, code)]))
    check((b.folder / "ring").exists(), "no ring", done.stderr.decode())
    return b.folder / "ring"


def rings_that_another_user_plants_are_not_mapped(b):
    """A process of a watch that has ended lives on, whatever is made in the place of its ring."""
    if os.getuid() != 0:
        raise Skipped("needs root, to become two other users")
    who = {"user": 65534, "group": 65534, "extra_groups": []}
    interpreter = _interpreter(b, who)
    ring = _take_a_ring(b)
    ring.chmod(0o644)
    job = b.folder / "job"
    job.mkdir()
    os.chown(job, who["user"], who["group"])
    (job / "train.py").write_text(TRAIN)
    (job / "survive.py").write_text("import os\nopen('place', 'w').write("
                                    "os.environ['TIDEMARK_RUN'])\n" + SURVIVOR)
    env = {**os.environ, "PYTHONPATH": str(STANDIN), "PYTHONDONTWRITEBYTECODE": "1"}
    command = b.under([interpreter, "survive.py"])
    watch = b.start(command, env=env, cwd=job, **who)
    equal(watch.wait(30), 0, "status of the watch")
    place = (job / "place").read_text()
    wait_until(lambda: not os.path.exists(place), "the directory to be removed")
    pid = int(wait_until(lambda: (job / "pid").exists() and (job / "pid").read_text(), "a survivor"))
    try:
        name = "%d-%d.ring" % (pid, _start_of(pid))
        _as_user(b, 65533, interpreter, PLANTER, place, ring, name)
        (job / "go").touch()
        wait_until(lambda: (job / "training").exists() or (job / "status").exists(), "training")
        maps = pathlib.Path("/proc/%d/maps" % pid).read_text()
        _as_user(b, 65533, interpreter, CUTTER, place)
        (job / "cut").touch()
        status = int(wait_until(lambda: (job / "status").exists() and
                                (job / "status").read_text(), "the survivor's end"))
        equal(status, 0, "status of the survivor")
        check(place not in maps, "what another user made is mapped", maps)
    finally:
        subprocess.run(["rm", "-rf", place], check=False)


# ---- other versions ----

FOREIGN = """\
import os, struct, time
start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
path = os.environ["TIDEMARK_RUN"] + "/%d-%d.ring" % (os.getpid(), start)
head = struct.pack("QIIqQ", 0x314b5249544d5454, 3, 4096, os.getpid(), start)
fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT, 0o600)
os.write(fd, head + bytes(150000))
os.rename(path + ".new", path)
time.sleep(2)
"""


def a_ring_of_another_version_is_reported(b):
    """A process with an old probe tells nothing that can be read, and the report says why."""
    done = b.run(b.under(python(FOREIGN), "--no-inspect"))
    equal(done.returncode, 0, "status", done.stderr.decode())
    said = re.sub(r"\s+", " ", done.stderr.decode())
    check("still has the probe of another tidemark version loaded. Restart it" in said, "report",
          done.stderr.decode())

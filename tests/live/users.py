"""A job of root's whose processes run as other users, with a probe that those cannot read."""

import fcntl
import os
import pathlib
import shutil
import stat

from bench import Skipped, check, equal, python, wait_until

PROBE = "libtidemark_preload.so"
COPY = "libtidemark_probe.so"  # what a copy of it is called
COPIES = "tidemark_probe-"
OTHER = ["setpriv", "--reuid", "48123", "--regid", "48123", "--clear-groups"]
SHOW = "import os; print(os.environ['LD_PRELOAD'])"


def _closed(b):
    """A program in a folder that only root can enter; how to run something below it."""
    if os.getuid() != 0:
        raise Skipped("needs root, to become another user")
    folder = b.folder / "closed"
    folder.mkdir(mode=0o700)
    for name in ("tidemark", PROBE):
        shutil.copy(b.tidemark.parent / name, folder / name)
    return [str(folder / "tidemark"), "run", "--no-store", "--quiet", "--"]


def _is_gone(path):
    return not pathlib.Path(path).parent.exists()


def processes_of_other_users_are_left_in_peace(b):
    """Their loader does not complain; the copy is root's alone to write, and gone afterwards."""
    run = _closed(b)
    done = b.run([*run, *OTHER, "sh", "-c", "/bin/true; cat /proc/self/maps; echo $LD_PRELOAD"])
    equal(done.returncode, 0, "status", done.stderr)
    check(b"ld.so" not in done.stderr, "said", done.stderr)
    lines = done.stdout.decode().splitlines()
    check(any(line.endswith(lines[-1]) for line in lines[:-1]), "it is not loaded", lines)
    wait_until(lambda: _is_gone(lines[-1]), "the copy to be removed")
    text = ("import os, sys\np = os.environ['LD_PRELOAD']\nfor f in (p, os.path.dirname(p)):\n"
            "    s = os.stat(f); print(s.st_uid, s.st_mode)")
    modes = [line.split() for line in b.run([*run, *python(text)]).stdout.decode().splitlines()]
    equal([(int(u), stat.S_IMODE(int(m))) for u, m in modes], [(0, 0o444), (0, 0o755)], "modes")


def a_run_of_root_within_another(b):
    """Has the same copy: the probe is in no process twice."""
    run = _closed(b)
    text = SHOW + "\nimport subprocess, sys\nsys.stdout.flush()\nsubprocess.run(sys.argv[1:])"
    done = b.run([*run, *python(text, *run, *python(SHOW))])
    outer, within = done.stdout.decode().split()
    equal(within, outer, "LD_PRELOAD", done.stderr)
    check(COPIES in outer and ":" not in outer, "LD_PRELOAD", outer)


def a_process_that_outlives_the_run_keeps_the_copy(b):
    """Its children load it, as another user too; a later run removes it when the last has ended."""
    run = _closed(b)
    daemon = "until [ -e go ]; do sleep 0.02; done; %s true; touch done; until [ -e end ]; do " \
             "sleep 0.02; done" % " ".join(OTHER)
    text = "setsid sh -c '%s' </dev/null >/dev/null 2>said & echo $LD_PRELOAD" % daemon
    b.exits.callback((b.folder / "end").touch)
    # No pipe, which the relay would wait for.
    with open(b.folder / "out", "wb") as out:
        equal(b.run([*run, "sh", "-c", text], stdout=out, stderr=out).returncode, 0, "status")
    copy = (b.folder / "out").read_text().split()[0]
    os.utime(os.path.dirname(copy), (1, 1))
    b.run([*run, "true"])
    check(not _is_gone(copy), "the copy of a process that runs is gone")
    (b.folder / "go").touch()
    wait_until((b.folder / "done").exists, "the daemon's child")
    equal((b.folder / "said").read_text(), "", "said in the daemon")
    (b.folder / "end").touch()
    os.utime(os.path.dirname(copy), (1, 1))
    wait_until(lambda: b.run([*run, "true"]) and _is_gone(copy), "the copy to be swept")


def copies_that_are_left_over(b):
    """Go with the next run; not while their run holds the lock, nor within the first minute."""
    run = _closed(b)
    copy = b.run([*run, *python(SHOW)]).stdout.decode().strip()
    place = pathlib.Path(copy).parents[1]
    old, held, new = (place / (COPIES + "test-%d-%d" % (os.getpid(), i)) for i in range(3))
    for path in (old, held, new):
        b.exits.callback(shutil.rmtree, path, True)
        path.mkdir()
        (path / COPY).write_text("x")
    for path in (old, held):
        os.utime(path, (1, 1))
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    equal(b.run([*run, "true"]).returncode, 0, "status")
    check(not old.exists() and held.exists() and new.exists(), "left: %s" % os.listdir(place))
    os.close(lock)
    equal(b.run([*run, "true"]).returncode, 0, "status")
    check(not held.exists() and new.exists(), "left: %s" % os.listdir(place))

"""Starting the test programs and finding what they left behind: for run.py and check_truth.py."""

import glob
import os
import pathlib
import signal
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
MARK = "TIDEMARK_WORKLOAD"
SHM = "/dev/shm/tidemark-test-*"


def command(program, arguments, build):
    """The command line of a program: a script of this folder, or what was built from it."""
    script = HERE / program
    if not script.suffix:
        return [str(build / "tests" / "workloads" / program), *arguments]
    interpreter = "/usr/bin/python3" if script.suffix == ".py" else "bash"
    return [interpreter, str(script), *arguments]


def environment():
    """An environment that marks every process of one job, and the mark."""
    mark = uuid.uuid4().hex
    return {**os.environ, MARK: mark, "PYTHONDONTWRITEBYTECODE": "1"}, mark


def marked(mark):
    """The live processes of a job, wherever they have gone."""
    wanted = ("%s=%s" % (MARK, mark)).encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def clean_up(mark, grace=2.0):
    """Ends what is left of a job. What that was, as sentences."""
    until = time.monotonic() + grace
    while marked(mark) and time.monotonic() < until:
        time.sleep(0.02)
    problems = ["process %d was left behind" % pid for pid in marked(mark)]
    for pid in marked(mark):
        _kill(pid)
    return problems + clean_up_shm()


def clean_up_shm():
    """Removes shared memory whose program has ended."""
    left = [f for f in glob.glob(SHM) if not os.path.exists("/proc/" + f.split("-")[2])]
    for file in left:
        os.unlink(file)
    return ["%d files were left in /dev/shm" % len(left)] if left else []

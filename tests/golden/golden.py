"""The reports of thirteen kinds of run, as a person sees them: to the letter, at 80 and 200 columns.

golden.py TIDEMARK [NAME...]             shows each recording, and compares with NAME.WIDTH.txt
golden.py TIDEMARK --update [NAME...]    writes those files anew
golden.py TIDEMARK --record [NAME...]    runs the programs of RECORDED and keeps their run files

Most recordings are those of tests/recordings; their final answers are gone, so that every report is
judged, put into words and laid out by the program under test. The others are made here, from real
runs. Beside being what was written, a report has to fit: see bounds(). Exit status 1: one does not.
"""
import argparse
import contextlib
import difflib
import lzma
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
STAGE = pathlib.Path("/tmp/recorded")  # programs are recorded from here: no path of a machine is kept
PYTHON = "/usr/bin/python3"
WIDTHS = (80, 200)
SCREEN = 24
OOM_MB = 96

# kind: the recording
KINDS = {
    "healthy": "plain_training",
    "warm_up": "caches_of_the_first_epoch",
    "spikes": "evaluations",
    "leak_python": "loss_in_list",
    "leak_native": "native_leak",
    "leak_worker": "worker_keeps",
    "leak_rank": "",
    "leak_gpu": "",
    "leak_device": "",
    "leak_shm": "",
    "inconclusive": "05_ctx_output_cycle",
    "failed": "",
    "oom_killed": "",
}
HEALTHY = ("healthy", "warm_up", "spikes")


class Recorded:
    """How a recording of this folder is made. An answer that is kept has what no sample tells: how
    the command ended."""

    def __init__(self, *command, keep_answer=False, limit_mb=0, environment=None, files=None,
                 beside=None):
        self.command, self.keep_answer, self.limit_mb = command, keep_answer, limit_mb
        self.beside = beside  # a folder of tests that the program needs beside it
        self.environment, self.files = environment or {}, files or {}


def recorded(build):
    gpus = {"TIDEMARK_NVML": str(build / "tests/libnvml_standin.so"), "TIDEMARK_STANDIN": "gpus.txt"}
    return {
        "leak_rank": Recorded(PYTHON, "ranks.py"),
        "leak_gpu": Recorded(PYTHON, "gpu.py", environment=gpus,
                             files={"gpus.txt": "driver\ndevice uuid=GPU-0 total=80G used=400M\n"}),
        "leak_device": Recorded(PYTHON, "device.py", beside="standin/torch",
                                environment={"STANDIN_RECORDING": "2.5"}),
        "leak_shm": Recorded(str(build / "tests/workloads/leak_shm"), "--steps", "600", "--step-ms", "5"),
        "failed": Recorded(PYTHON, "fails.py", keep_answer=True),
        "oom_killed": Recorded(str(build / "tests/workloads/oom"), "--kb", "128", "--step-ms", "4",
                               keep_answer=True, limit_mb=OOM_MB),
    }


@contextlib.contextmanager
def limited(megabytes):
    """A call for the child that puts it into a cgroup with that limit; needs cgroups of version 1,
    and root."""
    if not megabytes:
        yield None
        return
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    path = next(x.split(":", 2)[2] for x in lines if x.split(":", 2)[1] == "memory")
    folder = pathlib.Path("/sys/fs/cgroup/memory") / path.lstrip("/") / ("golden-%d" % os.getpid())
    folder.mkdir()
    (folder / "memory.limit_in_bytes").write_text(str(megabytes << 20))
    try:
        yield lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        for _ in range(100):  # the kernel lets go of it a little after the last process
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.05)


def record(tidemark, name, how):
    shutil.rmtree(STAGE, ignore_errors=True)
    STAGE.mkdir()
    for program in HERE.glob("*.py"):
        shutil.copy(program, STAGE)
    for path, text in how.files.items():
        (STAGE / path).write_text(text)
    if how.beside:
        shutil.copytree(TESTS / how.beside, STAGE / pathlib.Path(how.beside).name)
    command = list(how.command)
    if "/" in command[0] and command[0] != PYTHON:
        shutil.copy(command[0], STAGE)
        command[0] = str(STAGE / os.path.basename(command[0]))
    run_file = STAGE / (name + ".tide")
    with limited(how.limit_mb) as join:
        subprocess.run([tidemark, "run", "--quiet", "-o", str(run_file), "--", *command], cwd=STAGE,
                       stdout=subprocess.DEVNULL, preexec_fn=join,
                       env={**os.environ, **how.environment, "OMP_NUM_THREADS": "1"})
    with sqlite3.connect(run_file) as file:
        file.executescript("" if how.keep_answer else "DELETE FROM answer;")
        file.executescript("UPDATE run SET host = NULL; VACUUM;")
    with lzma.open(HERE / (name + ".tide.xz"), "wb", preset=9) as kept:
        kept.write(run_file.read_bytes())


def show(tidemark, name, width):
    recording = KINDS[name]
    source = (TESTS / "recordings" / recording if recording else HERE / name).with_suffix(".tide.xz")
    with tempfile.TemporaryDirectory() as folder:
        with lzma.open(source) as kept:
            (pathlib.Path(folder) / (name + ".tide")).write_bytes(kept.read())
        done = subprocess.run([tidemark, "show", "--width", str(width), "--color", "never", name + ".tide"],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"})
    return done.stdout.decode()


def bounds(name, width, report):
    """What holds for every report of its kind, whatever it says."""
    lines = report.strip("\n").split("\n")
    most = 2 if name == "failed" else 10 if name in HEALTHY else 30
    if len(report.splitlines()) > most:
        yield "%d lines, at most %d are wanted" % (len(report.splitlines()), most)
    if max(map(len, lines)) > width:
        yield "a line of %d columns" % max(map(len, lines))
    if len(lines) <= 2:
        return
    first, last = lines[0], lines[-1]
    if last.split(":")[0] != first.split(":")[0]:
        yield "the last line does not repeat the verdict: " + last
    if not any(line.startswith("why: ") for line in lines[1:3]):
        yield "no why in the opening"
    if not any(line.startswith(("fix: ", "next: ")) for line in lines[2:6]):
        yield "no fix in the opening"
    place = next((x for x in lines if x.startswith("fix: `")), None)
    if place and place.split("`")[1] not in last:
        yield "the last line names another holder: " + last


def compare(name, width, report):
    path = HERE / ("%s.%d.txt" % (name, width))
    wanted = path.read_text(encoding="utf-8") if path.exists() else ""
    yield from difflib.unified_diff(wanted.splitlines(), report.splitlines(), path.name, "now", lineterm="")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    a.add_argument("tidemark", type=os.path.abspath)
    a.add_argument("names", nargs="*")
    way = a.add_mutually_exclusive_group()
    way.add_argument("--update", action="store_true")
    way.add_argument("--record", action="store_true")
    options = a.parse_intermixed_args()
    failed = passed = 0
    if options.record:
        for name, how in recorded(pathlib.Path(options.tidemark).parent).items():
            if not options.names or name in options.names:
                record(options.tidemark, name, how)
        return 0
    for name in options.names or KINDS:
        for width in WIDTHS:
            report = show(options.tidemark, name, width)
            if options.update:
                (HERE / ("%s.%d.txt" % (name, width))).write_text(report, encoding="utf-8")
            problems = [*bounds(name, width, report), *compare(name, width, report)]
            for problem in problems:
                print("%s at %d columns: %s" % (name, width, problem))
            failed += bool(problems)
            passed += not problems
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

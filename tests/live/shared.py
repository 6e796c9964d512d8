"""/dev/shm, which all jobs of a machine share: whose is what grows there, and what stays."""

import contextlib
import os
import pathlib

from bench import Skipped, check, equal, load_json, python

TURN = "shm"  # one after another: each weighs what all of the machine grows by
SHM = pathlib.Path("/dev/shm")

# One segment a step: kept, unlinked and kept, of a memfd; or closed, and left where it is.
FILLER = """
import mmap, os, sys, time
how, steps, mark = sys.argv[1], int(sys.argv[2]), sys.argv[3]
kept, size = [], 1 << 17
for i in range(steps):
    name = "/dev/shm/%s.%x.x" % (mark, 0xabcdef00 + i)
    fd = os.memfd_create("x") if how == "memfd" else os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(fd, size)
    segment = mmap.mmap(fd, size)
    segment[:] = b"x" * size
    os.close(fd)
    if how == "unlinked":
        os.unlink(name)
    if how == "left":
        segment.close()
    else:
        kept.append(segment)
    print("step", i, flush=True)
    time.sleep(0.008)
"""

# Trains, and has no part in it.
INNOCENT = """
import sys, time
for i in range(int(sys.argv[1])):
    print("step", i, flush=True)
    time.sleep(0.008)
"""


@contextlib.contextmanager
def _swept(b):
    """The beginning of the names of this case's files, which are gone at the end."""
    mark = "tidemark_test.%s" % b.folder.name.replace("_", "x")
    if not os.access(SHM, os.W_OK):
        raise Skipped("no /dev/shm")
    try:
        yield mark
    finally:
        for file in SHM.glob(mark + "*"):
            file.unlink()


def _watched(b, *command):
    answer = b.folder / "answer.json"
    done = b.run(b.under(list(command), "--json", answer, "--fail-on", "leak"))
    return load_json(answer.read_text()), done


def _shared(answer):
    return [s for s in answer["series"] if s["kind"] == "host.shmem"]


def _beside_a_neighbour(b, how):
    with _swept(b) as mark:
        neighbour = b.start(python(FILLER, how, 1200, mark))
        answer, done = _watched(b, *python(INNOCENT, 900))
        neighbour.kill()
        neighbour.wait()
    grown = answer["system"]["shm_last"] - answer["system"]["shm_first"]
    check(how == "memfd" or grown > 20 << 20, "the neighbour did nothing", answer["system"])
    equal((done.returncode, answer["verdict"]), (0, "no_leak"), "status, verdict",
          done.stderr.decode())
    for s in _shared(answer):
        check(s["max"] < 8 << 20, "it is this job's", s)
    return answer


def segments_that_a_neighbour_maps(b):
    """They are its own: not in this job's series, no leak, status 0."""
    _beside_a_neighbour(b, "kept")


def segments_without_a_name_that_a_neighbour_maps(b):
    """The same of what was unlinked as soon as it was made."""
    _beside_a_neighbour(b, "unlinked")


def memory_files_of_a_neighbour(b):
    """The same of memfd."""
    _beside_a_neighbour(b, "memfd")


def segments_that_a_neighbour_leaves_behind(b):
    """Nobody holds them, and this job cannot have written as much."""
    answer = _beside_a_neighbour(b, "left")
    check(not [n for n in answer["notes"] if "of this job" in n], "left by this job", answer["notes"])


def segments_of_the_job(b):
    """Mapped by it, with and without a name: its leak."""
    for how in ("kept", "unlinked"):
        with _swept(b) as mark:
            answer, done = _watched(b, *python(FILLER, how, 900, mark))
        equal((done.returncode, answer["verdict"]), (3, "leak"), how, done.stderr.decode())
        device = [s for s in _shared(answer) if s.get("device") == "/dev/shm"]
        equal([s["verdict"] for s in device], ["leak"], how, done.stderr.decode())


def files_that_nobody_was_seen_to_hold(b):
    """Written and closed at once, by a name that tells nothing: the job's leak where nobody else can
    have written as much, else they count for none and that is said; never both."""
    text = FILLER.replace("    os.ftruncate(fd, size)\n", "    os.write(fd, bytes(size)); os.close(fd)\n")
    text = text[:text.index("    segment =")] + text[text.index("    print("):]
    with _swept(b) as mark:
        answer, done = _watched(b, *python(text, "left", 900, mark))
    open_notes = [n for n in answer["notes"] if "are not counted" in n]
    check((answer["verdict"] == "leak") != bool(open_notes) or answer["verdict"] == "inconclusive",
          "verdict and notes", answer["verdict"], answer["notes"])


def segments_that_the_job_leaves_behind(b):
    """A leak, and the report names what lies there and that nobody maps it any more."""
    with _swept(b) as mark:
        # Its number in the name says whose they are, however busy the machine is.
        text = "import os, sys\nsys.argv[3] += '.%d' % os.getpid()\n" + FILLER
        answer, done = _watched(b, *python(text, "left", 900, mark))
    equal((done.returncode, answer["verdict"]), (3, "leak"), "status", done.stderr.decode())
    notes = [n for n in answer["notes"] if "behind in /dev/shm" in n]
    check(len(notes) == 1 and "/dev/shm/" + mark in notes[0], "note", answer["notes"])

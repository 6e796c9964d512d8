"""Data workers: what they copy of their parent, with real DataLoaders; and what is advised."""

import contextlib
import functools
import json
import re
import sqlite3
import subprocess
import sys

from bench import TIMEOUT, Skipped, check, equal, load_json, python, wait_until

# A dataset of 300,000 objects, or of as many in one array; a worker that hoards what it made.
PROGRAM = """
import os, sys, time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset, Subset
how, workers, steps, method = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
N = 300000
class Files(Dataset):
    def __init__(self):
        rows = (("train/%09d.jpg" % i, i) for i in range(N))
        if how == "dicts":
            self.samples = [{"path": path, "label": label} for path, label in rows]
        elif how in ("tuples", "wrapped", "ordered", "epochs"):
            self.samples = list(rows)
        else:
            self.samples = np.arange(N * 4)
        self.kept = []
    def __len__(self):
        return N
    def __getitem__(self, i):
        if how == "dicts":
            sample = self.samples[i]
            return sample["label"] + len(sample["path"])
        if how in ("tuples", "wrapped", "ordered", "epochs"):
            path, label = self.samples[i]
            return label + len(path)
        if how == "leaks":
            self.kept.append(bytearray(8192))
        return int(self.samples[i])
def train():
    dataset = Files()
    if how == "wrapped":
        dataset = Subset(dataset, np.arange(N))
    more = {"multiprocessing_context": method} if workers else {}
    if how in ("ordered", "epochs"):
        loader = DataLoader(dataset, batch_size=512 if how == "ordered" else 2048,
                            num_workers=workers, shuffle=how == "epochs",
                            persistent_workers=how == "ordered", **more)
        for epoch in range(steps):
            for batch in loader:
                print("batch", flush=True)
                time.sleep(0.003)
        return
    sampler = torch.utils.data.RandomSampler(dataset, True, 256 * steps)
    loader = DataLoader(dataset, batch_size=256, sampler=sampler, num_workers=workers, **more)
    for i, batch in enumerate(loader, 1):
        print("step", i, flush=True)
        time.sleep(0.003)
        if os.path.exists("enough"):
            break
if __name__ == "__main__":
    train()
"""

TURN = "copies"  # one after another: workers that have no time read less, and copy less
MB = 2**20
TOLD = r"data workers? of trainer \d+ (?:has|have) copied"


@functools.lru_cache(None)
def _has_torch():
    return subprocess.run(python("import torch")).returncode == 0


def _watched(b, how, workers=2, steps=700, method="fork", until=None):
    """(the answer, what was said, the run file); with until(file, what was said) the job trains on
    until that holds."""
    if not _has_torch():
        raise Skipped("no torch")
    program, file = b.folder / "program.py", b.folder / "run.tide"
    program.write_text(PROGRAM)
    answer = b.folder / "answer.json"
    command = [sys.executable, program, how, workers, steps, method]
    said = b.folder / "said"
    with open(said, "wb") as output:
        run = b.start(b.under([str(c) for c in command], "--json", answer, "-o", file),
                      stderr=output)
        if until:
            wait_until(lambda: run.poll() is not None or until(file, said.read_text()),
                       "what the job trains for", 2 * TIMEOUT)
            (b.folder / "enough").touch()
        equal(run.wait(TIMEOUT), 0, "status", said.read_text())
    return load_json(answer.read_text()), said.read_text(), file


def _has_copied(least):
    """Was each of two workers seen with more MB of copies than that, and is it said? Where the
    machine is busy, they are read seldom."""
    def is_so(file, said):
        if not re.search("(?m)^tidemark: 2 " + TOLD, said):
            return False
        with contextlib.closing(sqlite3.connect(file)) as db:
            most = db.execute("SELECT max(value) FROM sample JOIN series ON series.id = series"
                              " WHERE kind = 'host.copied' GROUP BY series").fetchall()
        return sum(m > least * MB for (m,) in most) == 2
    return is_so


def _advice(b, file, *options):
    done = b.run([str(b.tidemark), "advise", str(file), "--json", *options])
    equal(done.returncode, 0, "status of advise", done.stderr.decode())
    return json.loads(done.stdout)


def _notes(answer):
    return [n for n in answer["notes"] if re.search(TOLD, n)]


def _is_told(b, how, type_name, least, most):
    answer, said, file = _watched(b, how, steps=100000, until=_has_copied(least))
    equal(answer["verdict"], "no_leak", "verdict", said)
    (note,) = _notes(answer)
    check("Files.samples, a %s with about" % type_name in note, "the attribute", note)
    check("not a leak" in note and "self.samples: one array for each field" in note,
          "the end and the fix", note)
    copies = _advice(b, file)["copies"]
    equal((copies["workers"], copies["attribute"]), (2, "samples"), "whose", copies)
    check(least < copies["each"] / 2**20 < most, "copied by each", copies)
    check(copies["each"] < copies["inherited"], "more than it had", copies)
    return note, file


def a_list_of_dicts_is_copied(b):
    """By each worker, as measured; the report, the run file and advise name the attribute."""
    note, file = _is_told(b, "dicts", "list", 40, 75)
    shown = b.run([str(b.tidemark), "show", str(file), "--json"]).stdout.decode()
    check(note in load_json(shown)["notes"], "show", shown)


def a_list_of_tuples_is_copied(b):
    """The same of tuples, whose texts and numbers are objects of their own."""
    _is_told(b, "tuples", "list", 40, 75)


def a_dataset_inside_another_is_found(b):
    """Through torch's Subset."""
    _is_told(b, "wrapped", "list", 40, 75)


def reading_in_order_copies_a_part(b):
    """Each of two workers reads every other batch, again and again, and copies its part: no more
    is said to come once it stands."""
    _, said, file = _watched(b, "ordered", steps=2)
    copies = _advice(b, file)["copies"]
    equal((copies["workers"], copies["attribute"]), (2, "samples"), "whose", said)
    objects, each = copies["objects"], copies["each"]
    check(each < 0.8 * objects, "a part", copies)
    if copies["grows"]:
        check(copies["ends_at"] > objects, "the bound", copies)
    else:
        check("ends_at" not in copies, "what stands", copies)


def workers_that_follow_each_other_are_counted_once(b):
    """New ones for every epoch: two at a time."""
    _, said, file = _watched(b, "epochs", steps=3)
    copies = _advice(b, file)["copies"]
    equal(copies["workers"], 2, "workers at a time", copies, said)


def a_run_that_failed_supports_no_size(b):
    """The peak is told, and that nothing follows from it; steps are those of the report."""
    program = "for i in range(1000):\n print('step', i, flush=True)\n time.sleep(0.002)\n"
    for end, failed in (("raise SystemExit(3)", True), ("", False)):
        file = b.folder / ("failed.tide" if failed else "whole.tide")
        done = b.run(b.under(python("import time\n" + program + end), "-o", file))
        equal(done.returncode, 3 if failed else 0, "status", done.stderr.decode())
        advice = _advice(b, file)
        equal(advice["supported"], not failed, "supported", advice)
        equal(advice.get("failed"), "exited with status 3" if failed else None, "failed", advice)
        (host,) = advice["memory"]
        equal("minimum" in host, not failed, "a minimum", host)
        shown = load_json(b.run([str(b.tidemark), "show", str(file), "--json"]).stdout.decode())
        equal(advice["steps"], shown["job"]["steps"], "steps")
        text = b.run([str(b.tidemark), "advise", str(file)]).stdout.decode()
        equal("the command failed (exited with status 3)" in " ".join(text.split()), failed, text)


def one_array_is_shared(b):
    """The same numbers as one array: nothing is told, and nothing is to be changed."""
    answer, said, file = _watched(b, "array")
    equal((answer["verdict"], _notes(answer)), ("no_leak", []), "answer", said)
    check(not re.search(TOLD, said), "told", said)
    advice = _advice(b, file)
    check("copies" not in advice and advice["settings"] == [], "advice", advice)


def without_workers_nothing_is_told(b):
    """The list is there, and nobody forks."""
    answer, said, file = _watched(b, "tuples", workers=0)
    equal(_notes(answer), [], "notes", said)
    check("copies" not in _advice(b, file), "advice")


# A child that sleeps, and a parent that frees what they share, writes to it, or sleeps as well while
# the child writes.
TAKEN = """
import os, sys, time
kept = [bytearray(b"x" * (1 << 20)) for _ in range(150)]
child = os.fork()
if child == 0 and sys.argv[1] == "child":
    time.sleep(1)
    for block in kept:
        block[::4096] = b"y" * 256
        time.sleep(0.01)
if child == 0:
    time.sleep(60)
time.sleep(1)
if sys.argv[1] == "frees":
    while kept:
        kept.pop()
        time.sleep(0.01)
if sys.argv[1] == "writes":
    for block in kept:
        block[::4096] = b"y" * 256
        time.sleep(0.01)
for i in range(400):
    print("step", i, flush=True)
    time.sleep(0.01)
os.kill(child, 9)
os.wait()
"""


def _taken(b, how):
    """(the answer, the most of a counter of the child in MB by its name)."""
    answer, file = b.folder / "answer.json", b.folder / "run.tide"
    done = b.run(b.under(python(TAKEN, how), "--json", answer, "-o", file))
    equal(done.returncode, 0, "status", done.stderr.decode())
    with contextlib.closing(sqlite3.connect(file)) as db:
        most = dict(db.execute("SELECT kind, max(value) / 1048576.0 FROM sample JOIN series ON"
                               " series.id = sample.series WHERE kind IN ('host.copied', 'host.left')"
                               " GROUP BY kind"))
    return load_json(answer.read_text()), most


def what_the_parent_gives_up_is_not_copied(b):
    """Its sleeping child has it for itself then: no word of copies, and no series of them."""
    for how in ("frees", "writes"):
        answer, most = _taken(b, how)
        check(most["host.copied"] < 10 and most["host.left"] > 120, how, most)
        equal((answer["verdict"], _notes(answer)), ("no_leak", []), how)
        names = [p["pattern"] for p in answer.get("patterns", [])]
        check("copy-on-write" not in names, how, answer.get("patterns"))
        check(all(s["kind"] != "host.private" for s in answer["series"]), how)


def what_the_child_writes_to_is_copied(b):
    """The same memory, and none of it was left to it."""
    answer, most = _taken(b, "child")
    check(most["host.copied"] > 120 and most.get("host.left", 0) < 10, "whose", most)
    equal(len(_notes(answer)), 1, "notes")


def a_worker_that_leaks_leaks(b):
    """What it hoards itself is no copy of anything."""
    answer, said, file = _watched(b, "leaks", steps=900)
    equal(answer["verdict"], "leak", "verdict", said)
    roles = {s["process"]["role"] for s in answer["series"] if s["verdict"] == "leak"
             and "process" in s}
    equal((roles, _notes(answer)), ({"data worker"}, []), "who leaks", said)
    (host,) = _advice(b, file)["memory"]
    check(host["verdict"] == "leak" and "minimum" not in host, "advice", host)
    check("lasts_until_step" in host, "how long it lasts", host)


def spawned_workers_have_copies_of_their_own(b):
    """From the start, and of all they were given."""
    answer, said, file = _watched(b, "tuples", method="spawn")
    notes = [n for n in answer["notes"] if "were spawned, not forked" in n]
    check(len(notes) == 1 and "Files.samples" in notes[0], "note", answer["notes"], said)
    copies = _advice(b, file)["copies"]
    equal((copies["workers"], copies["spawned"]), (2, True), "whose", copies)
    for worker in answer["series"]:
        if worker["kind"] == "host.anon" and worker.get("process", {}).get("role") == "data worker":
            check(worker["max"] <= copies["all"] - copies["objects"], "of both", copies, worker)
